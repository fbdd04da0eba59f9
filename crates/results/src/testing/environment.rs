//! The contract of an environment.

use super::runs::{run, same, verdict};
use privateer_engine::registry::Registry;

/// Tests an environment over points: it runs with and without privacy, its bits are the same again, for batches and threads of
/// any size, and its rewards do not depend on the policies beside one.
///
/// * `environment` — the lines of an environment's table, with its `kind` and whatever keys it needs
///
/// # Errors
/// Every broken promise, one on each line.
pub fn environment_contract(registry: &Registry, environment: &str) -> Result<(), String> {
    let mut faults = Vec::new();
    for privacy in ["mechanism = \"none\"", "mechanism = \"laplace\"\nepsilon = 1.0"] {
        let alone = format!(
            "seed = 5\nrounds = 30\ntrials = 9\n[environment]\n{environment}\n[privacy]\n{privacy}\n[[policy]]\nkind = \"uniform\"\n"
        );
        let at = privacy.replace('\n', ", ");
        let first = match run(registry, &alone, Some(9), 1) {
            Ok(first) => first,
            Err(why) => {
                faults.push(format!("{at}: {why}"));
                continue;
            }
        };
        let trace = &first.traces[0];
        if trace.measured().iter().flatten().any(|value| !value.is_finite()) {
            faults.push(format!("{at}: a regret is not finite"));
        }
        let beside = format!("{alone}[[policy]]\nkind = \"uniform\"\nlabel = \"another\"\n");
        for (what, text, batch, threads) in [
            ("the same run again", &alone, 9, 1),
            ("batches of 2 on two threads", &alone, 2, 2),
            ("beside another policy", &beside, 9, 1),
        ] {
            match run(registry, text, Some(batch), threads) {
                Ok(again) if same(trace, &again.traces[0]) => {}
                Ok(_) => faults.push(format!("{at}: {what}: other bits")),
                Err(why) => faults.push(format!("{at}: {what}: {why}")),
            }
        }
    }
    verdict(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_engine::env::FnEnvironment;
    use std::sync::atomic::{AtomicU32, Ordering};

    static CALLS: AtomicU32 = AtomicU32::new(0);

    fn registry(reward: fn(&[f64], &mut privateer_numerics::rng::Stream) -> f64) -> Registry {
        Registry::builtin().with_environment("mine", "a line", move |args| {
            FnEnvironment::new(1, vec![0.0, 0.5, 1.0], reward).with_range(-2.0, 3.0).read(args)
        })
    }

    const SPEC: &str = "kind = \"mine\"\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.5 }";

    #[test]
    fn functions_keep_the_contract() {
        let drawn = |x: &[f64], random: &mut privateer_numerics::rng::Stream| {
            // Another number of draws at each point: later rounds must not notice.
            (0..1 + (2.0 * x[0]) as u32).map(|_| random.uniform()).sum::<f64>()
        };
        environment_contract(&registry(drawn), SPEC).expect("the contract");
    }

    #[test]
    fn planted_faults_are_caught() {
        let counted = registry(|x, _| x[0] + f64::from(CALLS.fetch_add(1, Ordering::Relaxed) % 11));
        assert!(environment_contract(&counted, SPEC).expect_err("a counter").contains("the same run again: other bits"));
        let broken = environment_contract(&registry(|_, _| f64::NAN), SPEC).expect_err("not a number");
        assert!(broken.contains("the reward NaN at point 0, [0.0]"), "{broken}");
    }
}
