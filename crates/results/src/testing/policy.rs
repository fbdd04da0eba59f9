//! The contract of a policy.

use super::runs::{run, same, verdict};
use privateer_engine::registry::Registry;
use privateer_engine::spec::Task;
use privateer_privacy::{Guarantee, Protection};

/// Tests a policy over points: it runs on every kind of domain, with and without privacy; its bits are the same again, for batch
/// sizes 1, 7 and 32 and for two threads (unless it takes whole blocks); and it changes nothing for the policies beside it.
///
/// * `policy` — a name, or the lines of a policy's table with its `kind` and whatever keys it needs
///
/// # Errors
/// Every broken promise, one on each line.
pub fn policy_contract(registry: &Registry, policy: &str) -> Result<(), String> {
    let table = if policy.contains('=') { policy.to_owned() } else { format!("kind = \"{policy}\"") };
    let mut faults = Vec::new();
    let (mut plays_sets, mut protection) = (true, Protection::Rewards);
    for (domain, environment) in ENVIRONMENTS {
        if !plays_sets && environment.contains("sets = ") {
            continue;
        }
        for privacy in ["mechanism = \"none\"", "mechanism = \"laplace\"\nepsilon = 1.0"] {
            let with = |trials: u32| {
                format!(
                    "seed = 5\nrounds = 30\ntrials = {trials}\nblock = 64\nrecord = {{ rounds = \"all\" }}\n[environment]\n{environment}\n[privacy]\n{privacy}\n\
                     [[policy]]\nkind = \"uniform\"\nlabel = \"beside\"\n"
                )
            };
            let mechanism = match protection {
                _ if privacy.contains("none") => "",
                Protection::Rewards => "",
                Protection::Batches => "batch-laplace",
                Protection::Answer => "exponential",
                Protection::Sums => "tree",
                Protection::LocalSums => "local-gaussian",
            };
            let own = format!("privacy = {{ mechanism = \"{mechanism}\", epsilon = 1.0, delta = 1e-3 }}");
            let own = if mechanism.is_empty() { "" } else { own.as_str() };
            let spec = |trials: u32| format!("{}[[policy]]\n{own}\n{table}\n", with(trials));
            let at = format!("{domain}, {}", privacy.replace('\n', ", "));
            let first = match run(registry, &spec(33), Some(32), 1) {
                Ok(first) => first,
                Err(why) => {
                    faults.push(format!("{at}: {why}"));
                    continue;
                }
            };
            let mut compared = |what: &str, text: &str, batch: usize, threads: usize, trials: usize| match run(
                registry,
                text,
                Some(batch),
                threads,
            ) {
                Err(why) => faults.push(format!("{at}: {what}: {why}")),
                Ok(again) => {
                    let rows = trials * 30;
                    if !same(&first.traces[1].first_rows(rows), &again.traces[1].first_rows(rows)) {
                        faults.push(format!("{at}: {what}: other bits"));
                    }
                }
            };
            compared("the same run again", &spec(33), 32, 1, 33);
            let mut block_bound = false;
            for cell in registry.parse("contract.toml", &spec(1), &[]).map(|sweep| sweep.cells).unwrap_or_default().iter() {
                if let Task::Bandit(bandit) = &cell.task {
                    block_bound |= bandit.policy_plan.depends_on_block;
                    plays_sets &= bandit.policy_plan.plays_sets;
                    protection = bandit.policy_plan.protection;
                }
            }
            if !block_bound {
                compared("batches of 1", &spec(33), 1, 1, 33);
                compared("batches of 7 on two threads", &spec(33), 7, 2, 33);
                compared("3 trials in place of 33", &spec(3), 32, 1, 3);
            }
            match run(registry, &with(33), Some(32), 1) {
                Ok(alone) if same(&alone.traces[0], &first.traces[0]) => {}
                Ok(_) => faults.push(format!("{at}: another policy plays differently beside it")),
                Err(why) => faults.push(format!("{at}: {why}")),
            }
            let stated = &first.cells[1].ledger.reward.guarantee;
            let expected = if privacy.contains("laplace") { Guarantee::Holds } else { Guarantee::NotPrivate };
            if *stated != expected {
                faults.push(format!("{at}: the ledger states `{stated}`"));
            }
        }
    }
    verdict(faults)
}

/// Kinds of domain that a policy meets.
const ENVIRONMENTS: [(&str, &str); 3] = [
    (
        "a line",
        "kind = \"rkhs\"\nlabel = \"line\"\nbound = 2.0\ndomain = { kind = \"grid\", points = 40 }\n\
         kernel = { kind = \"squared-exponential\", lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 0.5 }",
    ),
    (
        "a square",
        "kind = \"gp-sample\"\nlabel = \"square\"\nbound = 3.0\ndomain = { kind = \"grid\", dimension = 2, points = 6 }\n\
         kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.4 }\nnoise = { kind = \"uniform\", bound = 0.2 }",
    ),
    (
        "sets that change every round",
        "kind = \"rkhs\"\nlabel = \"sets\"\nbound = 2.0\ndomain = { kind = \"grid\", points = 40 }\n\
         sets = { kind = \"random\", points = 5 }\nkernel = { kind = \"squared-exponential\", lengthscale = 0.2 }\n\
         noise = { kind = \"uniform\", bound = 0.5 }",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_engine::policy::{BatchPolicy, OwnPolicy, PolicyFailure, Release, ToldReward, TrialPolicy, TrialView};
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct FirstAllowed;

    impl TrialPolicy for FirstAllowed {
        fn ask(&mut self, trial: &mut TrialView<'_>) -> usize {
            match trial.allowed {
                Some(allowed) => allowed[trial.random.index(allowed.len())] as usize,
                None => trial.random.index(36),
            }
        }

        fn tell(&mut self, _point: usize, _released: f64) {}

        fn learn(&mut self, _released: Release<'_>) -> Result<(), PolicyFailure> {
            Ok(())
        }
    }

    /// Chooses by the number of trials beside it, by a counter that all runs share, or by nothing.
    struct Faulty(Fault);

    #[derive(Clone, Copy)]
    enum Fault {
        Neighbours,
        Shared,
        Outside,
        Panics,
    }

    static CALLS: AtomicUsize = AtomicUsize::new(0);

    impl BatchPolicy for Faulty {
        fn ask(&mut self, trials: &mut [TrialView<'_>]) -> Result<Vec<usize>, PolicyFailure> {
            let point = match self.0 {
                Fault::Neighbours => trials.len() % 30,
                Fault::Shared => CALLS.fetch_add(1, Ordering::Relaxed) % 29,
                Fault::Outside => 1_000_000,
                Fault::Panics => panic!("on purpose"),
            };
            let own = |trial: &TrialView<'_>| trial.allowed.map_or(point, |allowed| allowed[point % allowed.len()] as usize);
            Ok(trials.iter().map(own).collect())
        }

        fn tell(&mut self, _told: &[ToldReward]) -> Result<(), PolicyFailure> {
            Ok(())
        }
    }

    #[test]
    fn own_policies_keep_the_contract() {
        let plain = || OwnPolicy::per_trial(|_, _| Ok(FirstAllowed));
        let registry = Registry::builtin()
            .with_policy("plain", "told rewards", move |_| plain())
            .with_policy("batched", "told means", move |_| plain().in_batches(None))
            .with_policy("summed", "told sums", move |args| plain().over_sums(args, 3))
            .with_policy("chosen", "told a choice", move |_| plain().by_choice(5, 4));
        for policy in ["plain", "batched", "summed", "chosen", "kind = \"igp-ucb\"\nfeatures = \"exact\""] {
            policy_contract(&registry, policy).expect("the contract");
        }
    }

    #[test]
    fn planted_faults_are_caught() {
        let caught = |fault: Fault, independent: bool| {
            let registry = Registry::builtin().with_policy("faulty", "chooses wrongly", move |_| {
                let plan = OwnPolicy::batched(move |_| Ok(Faulty(fault)));
                if independent { plan.independent() } else { plan }
            });
            policy_contract(&registry, "faulty").err().unwrap_or_default()
        };
        let neighbours = caught(Fault::Neighbours, true);
        assert!(neighbours.contains("batches of 1: other bits") && neighbours.contains("3 trials in place"), "{neighbours}");
        assert_eq!(caught(Fault::Neighbours, false), "", "a whole block is always the same");
        assert!(caught(Fault::Shared, false).contains("the same run again: other bits"));
        let outside = caught(Fault::Outside, false);
        assert!(
            outside.contains("policy `faulty` failed in round 1: in trial 0 it chose point 1000000, and the last is"),
            "{outside}"
        );
        assert!(caught(Fault::Panics, false).contains("it panicked: on purpose"));
    }
}
