//! Mechanisms, policies and environments from outside: in specs, in messages, in ledgers, under attack.

use crate::support::*;
use privateer::audit::{Settings, Verdict, of_runs};
use privateer::engine::Place;
use privateer::oco::learner::dp_ftrl::Ftrl;
use privateer::privacy::{Guarantee, Ledger, Query, Released, Signal};
use privateer::{
    BatchPolicy, Counters, Error, FnContexts, FnEnvironment, LearnerFailure, MemoryRun, Observer, OutsideMechanism, OwnLearner,
    OwnPolicy, PolicyFailure, PolicyStart, Registry, Release, RunOptions, Simulator, SumsLearner, ThreadSetup, ToldReward, Trace,
    TrialFacts, TrialPolicy, TrialView, Unit, run_in_memory, run_to_folder,
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Laplace noise of a stated scale.
#[derive(Debug)]
struct Noisy(f64);

impl OutsideMechanism for Noisy {
    fn release(&self, reward: f64, random: &mut Stream) -> f64 {
        reward + random.laplace(self.0)
    }

    fn noise_variance(&self) -> f64 {
        2.0 * self.0 * self.0
    }
}

/// Plays points by the trial's own stream.
struct Random(usize);

impl TrialPolicy for Random {
    fn ask(&mut self, trial: &mut TrialView<'_>) -> usize {
        trial.random.index(self.0)
    }

    fn tell(&mut self, _point: usize, _released: f64) {}
}

/// A mechanism with the noise that its claim needs, and one with a quarter of it.
fn registry() -> Registry {
    let with = |registry: Registry, name: &str, share: f64| {
        registry.with_reward_mechanism(name, "Laplace noise from outside", "page 3 of our notes", move |budget| {
            Ok(Noisy(share * (budget.clip.1 - budget.clip.0) / budget.epsilon))
        })
    };
    let registry = with(with(Registry::builtin(), "sound-noise", 1.0), "weak-noise", 0.25);
    registry
        .with_policy("my-elimination", "a policy of ours", |_| OwnPolicy::per_trial(|start, _| Ok(Random(start.n_points))))
        .with_contextual_environment("my-visitors", "users of ours", |args| {
            FnContexts::new(3, 2, (0.0, 1.0), |x, random| x.fill_with(|| random.uniform()), |x, arm| x[arm % 2]).read(args)
        })
}

fn spec(mechanism: &str, policy: &str) -> String {
    format!(
        "seed = 2\nrounds = 12\ntrials = 4\n[environment]\nkind = \"rkhs\"\nbound = 2.0\ndomain = {{ kind = \"grid\", points = 20 }}\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 0.2 }}\nnoise = {{ kind = \"uniform\", bound = 0.5 }}\n\
         [privacy]\nmechanism = \"{mechanism}\"\nepsilon = 1.0\n[[policy]]\nkind = \"{policy}\"\n"
    )
}

fn parsed(registry: &Registry, text: &str) -> Sweep {
    registry.parse("outside.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a spec, or says why it cannot be.
fn tried(registry: &Registry, text: &str) -> Result<MemoryRun, String> {
    let run = |sweep| run_in_memory(&sweep, &RunOptions::default(), &Stop::new(), &());
    registry.parse("outside.toml", text, &[]).and_then(run).map_err(|error| error.to_string())
}

fn ran(registry: &Registry, text: &str) -> MemoryRun {
    tried(registry, text).unwrap_or_else(|error| panic!("{error}"))
}

/// Fails unless a spec is refused or its run fails, with all of these words.
fn fails(registry: &Registry, text: &str, words: &[&str]) {
    let error = tried(registry, text).map(drop).expect_err("a failure");
    assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
}

#[test]
fn claims_from_outside_are_attacked_like_ours() {
    let settings = Settings { samples: 4000, seed: 3, ..Settings::default() };
    let audited = |mechanism: &str| {
        let sweep = parsed(&registry(), &spec(mechanism, "igp-ucb"));
        let audit = of_runs(&sweep, &DataFolder::default(), &Cpu::default(), settings, &|_| ()).expect("an audit");
        assert!(!audit.findings.is_empty(), "{:?}", audit.passed_over);
        audit.findings.iter().any(|finding| finding.verdict == Verdict::Refuted)
    };
    assert!(!audited("sound-noise"));
    assert!(audited("weak-noise"), "a quarter of the noise that the claim needs");
}

#[test]
fn ledgers_say_who_claims() {
    let run = |mechanism: &str, policy: &str| ran(&registry(), &spec(mechanism, policy)).cells[0].ledger.reward.clone();
    let foreign = run("sound-noise", "igp-ucb");
    assert_eq!(foreign.guarantee.to_string(), "claimed by sound-noise, not verified (page 3 of our notes)");
    assert_eq!(foreign.delivered, "not verified");
    let own = run("laplace", "my-elimination");
    assert_eq!(own.guarantee, Guarantee::Holds);
    let note = "the policy is foreign code: it received released rewards alone";
    assert!(own.notes.iter().any(|found| found.contains(note)), "{own:?}");
}

#[test]
fn added_names_are_suggested_and_reported() {
    fails(&registry(), &spec("laplace", "my-eliminaton"), &["did you mean `my-elimination`?"]);
    fails(&registry(), &spec("sound-noize", "igp-ucb"), &["did you mean `sound-noise`?"]);
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = parsed(&registry(), &spec("sound-noise", "my-elimination"));
    let done = run_to_folder(&sweep, folder.path(), &RunOptions::default(), &Stop::new(), &()).expect("a run");
    let page = std::fs::read_to_string(done.report.expect("a report").report_path).expect("the page");
    assert!(page.contains("my-elimination") && page.contains("claimed by sound-noise, not verified"), "the page names both");
    let visitors = "seed = 1\nrounds = 20\ntrials = 3\nenvironment = { kind = \"my-visitors\", noise = { kind = \"uniform\", bound = 0.1 } }\n\
                    policy = [{ kind = \"linucb\" }]\n";
    let run = ran(&registry(), visitors);
    assert!(run.traces[0].measured().iter().flatten().all(|value| value.is_finite()));
}

struct Failing(u32);

impl BatchPolicy for Failing {
    fn ask(&mut self, trials: &mut [TrialView<'_>]) -> Result<Vec<usize>, PolicyFailure> {
        self.0 += 1;
        if self.0 == 3 { Err("the disk of the policy is full".into()) } else { Ok(vec![0; trials.len()]) }
    }

    fn tell(&mut self, _told: &[ToldReward]) -> Result<(), PolicyFailure> {
        Ok(())
    }
}

#[test]
fn failures_name_policy_and_round() {
    let registry = registry().with_policy("failing", "fails", |_| OwnPolicy::batched(|_| Ok(Failing(0))));
    let failure = "policy `failing` failed in round 3: the disk of the policy is full";
    fails(&registry, &spec("laplace", "failing"), &[failure]);
}

type Means = BTreeMap<u64, Vec<f64>>;

/// Plays point 3 for as many users as `users` and its trial's number say, and keeps the means that it is told.
struct Streaks(u64, u64, Arc<Mutex<Means>>);

impl TrialPolicy for Streaks {
    fn ask(&mut self, trial: &mut TrialView<'_>) -> usize {
        assert_eq!((trial.round - 1) % self.users().max(1), 0, "asked within a batch");
        3
    }

    fn tell(&mut self, point: usize, released: f64) {
        assert_eq!(point, 3);
        self.2.lock().expect("no panic").entry(self.1).or_default().push(released);
    }

    fn users(&self) -> u64 {
        if self.0 == 0 { 1 } else { self.0 + self.1 }
    }
}

/// What `streaks` is told in four trials of twelve rounds with batches of `users` and more, and the ledger.
fn streaks(mechanism: &str, users: u64, least: Option<u64>, epsilon: f64) -> (Result<Ledger, String>, Means) {
    let heard = Arc::new(Mutex::new(Means::new()));
    let kept = Arc::clone(&heard);
    let registry = Registry::builtin().with_policy("streaks", "batches", move |_| {
        let kept = Arc::clone(&kept);
        OwnPolicy::per_trial(move |_, trial| Ok(Streaks(users, trial.trial, Arc::clone(&kept)))).in_batches(least)
    });
    let text = format!("references = false\n{}", spec(mechanism, "streaks"));
    let text = text.replace("epsilon = 1.0", &format!("epsilon = {epsilon:?}\ndelta = 1e-2"));
    let ledger = tried(&registry, &text).map(|run| run.cells[0].ledger.reward.clone());
    (ledger, std::mem::take(&mut *heard.lock().expect("no panic")))
}

/// Without privacy the mean of a batch is that of its rewards; a server's has its noise, once a batch and never before.
#[test]
fn batches_from_outside_are_told_their_means() {
    let (single, plain) = (streaks("none", 0, None, 1.0).1, streaks("none", 2, None, 1.0).1);
    let exact = streaks("batch-laplace", 2, None, 1e9).1;
    let (ledger, noisy) = streaks("batch-laplace", 2, None, 1.0);
    for trial in 0..4 {
        let rewards = &single[&trial];
        assert_eq!(rewards.len(), 12);
        // The horizon cuts a batch of five off: it is never told. A server clips each reward to bound and noise.
        let means = |range: f64| -> Vec<f64> {
            let batches = rewards.chunks_exact(2 + trial as usize);
            batches.map(|batch| batch.iter().map(|y| y.clamp(-range, range)).sum::<f64>() / batch.len() as f64).collect()
        };
        let (clipped, noisy) = (means(2.5), &noisy[&trial]);
        for (found, right) in [(&plain[&trial], &means(f64::INFINITY)), (&exact[&trial], &clipped)] {
            assert_eq!(found.len(), right.len());
            assert!(found.iter().zip(right).all(|(found, right)| (found - right).abs() < 1e-6), "{found:?} {right:?}");
        }
        assert!(noisy.len() == clipped.len() && noisy.iter().zip(&clipped).all(|(noisy, mean)| 1e-3 < (noisy - mean).abs()));
    }
    let ledger = ledger.expect("a run");
    assert_eq!((ledger.guarantee, ledger.epsilon), (Guarantee::Holds, Some(1.0)));
}

#[test]
fn batches_from_outside_that_cannot_be_are_refused() {
    for (mechanism, least, cause) in [
        ("batch-shuffle", Some(4), "users, and the least is 4"),
        ("laplace", None, "sums over batches of rewards"),
        ("batch-laplace", Some(13), "at least 13 users"),
    ] {
        let (refused, told) = streaks(mechanism, 2, least, 1.0);
        assert!(refused.is_err_and(|error| error.contains(cause)), "{mechanism}: {cause}");
        // Trials with enough users may have been played beside the one that was refused.
        assert!(told.keys().all(|trial| least.is_some_and(|least| least <= 2 + trial)), "{mechanism}: {told:?}");
    }
    assert!(streaks("batch-laplace", 2, Some(0), 1.0).0.is_ok());
    // Decision sets change within a batch.
    let registry = Registry::builtin()
        .with_policy("streaks", "batches", |_| OwnPolicy::per_trial(|_, trial| Ok(Streaks(2, trial.trial, Arc::default()))));
    let text = spec("laplace", "streaks").replace("noise = ", "sets = { kind = \"random\", points = 20 }\nnoise = ");
    fails(&registry, &text, &["its batch has 2 users, in an environment with decision sets"]);
}

/// Released sums, by trial and round.
type Sums = BTreeMap<(u64, u64), Vec<f64>>;

/// Plays these points in each trial, and keeps the sums and the choice that it is told; then it plays the choice.
struct Followed(Vec<usize>, Arc<Mutex<Sums>>, u64, u64);

impl TrialPolicy for Followed {
    fn ask(&mut self, trial: &mut TrialView<'_>) -> usize {
        self.3 = trial.round;
        self.0[(trial.round as usize - 1).min(self.0.len() - 1)]
    }

    fn tell(&mut self, _point: usize, _released: f64) {
        panic!("no reward is released");
    }

    fn learn(&mut self, released: Release<'_>) -> Result<(), PolicyFailure> {
        match released {
            Release::Sums(sums) => {
                self.1.lock().expect("no panic").insert((self.2, self.3), sums.entries.clone());
            }
            Release::Choice { point, .. } => self.0 = vec![point],
            _ => {}
        }
        Ok(())
    }
}

/// Keeps the sums that are released to a policy of the program.
#[derive(Default)]
struct Kept(Mutex<Sums>);

impl Observer for Kept {
    fn released(&self, at: Place, _query: &Query<'_>, signal: &Released<Signal>) {
        if let Signal::Sums(sums) = signal.value() {
            self.0.lock().expect("no panic").insert((at.trial, at.round), sums.entries.clone());
        }
    }

    fn finished(&self, _unit: Unit, _rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        Ok(())
    }
}

/// A trusted server tells an algorithm from outside the sums that it tells `jdp-gp-ucb` for the same plays, bit by bit.
#[test]
fn sums_from_outside_are_those_of_the_program() {
    for (release, every) in [("\"every-round\"", 1), ("{ kind = \"interval\", rounds = 5 }", 5)] {
        let (heard, told) = (Kept::default(), Arc::new(Mutex::new(Sums::new())));
        // Noise is that of the label.
        let text = spec("tree", "jdp-gp-ucb").replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-3");
        let text = text.replace("trials = 4", "trials = 1");
        let keys = format!("label = \"one\"\nbeta = {{ kind = \"constant\", value = 1.0 }}\nrelease = {release}\n");
        let text = format!("references = false\nrecord = {{ rounds = \"all\" }}\n{text}{keys}");
        let sweep = parsed(&Registry::builtin(), &text);
        let run = ran(&Registry::builtin(), &text);
        let (data, backend) = (DataFolder::default(), Cpu::default());
        let preparation = Preparation::new(&sweep, &data, &backend);
        privateer::run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::new(), &heard).expect("a run");
        let played: Vec<usize> = (0..12).map(|round| run.traces[0].point[round].expect("a point") as usize).collect();
        let kept = Arc::clone(&told);
        let ours = Registry::builtin().with_policy("ours", "plays the same points", move |args| {
            let (played, kept) = (played.clone(), Arc::clone(&kept));
            let begin = move |start: &PolicyStart, trial: &TrialFacts| {
                let features = start.features.as_ref().ok_or("no features")?;
                let lengths = (0..start.n_points).map(|point| features.row(point).iter().map(|x| x * x).sum::<f64>());
                assert!((lengths.fold(0.0, f64::max) - 1.0).abs() < 1e-12);
                assert!(trial.sums.is_some() && trial.batches.is_none());
                Ok(Followed(played.clone(), Arc::clone(&kept), trial.trial, 0))
            };
            OwnPolicy::per_trial(begin).over_sums(args, every)
        });
        let text = text.split("kind = \"jdp-gp-ucb\"").next().expect("a spec").to_owned() + "kind = \"ours\"\nlabel = \"one\"\n";
        let own = ran(&ours, &text);
        let (heard, told) = (heard.0.into_inner().expect("no panic"), told.lock().expect("no panic"));
        assert_eq!(heard.len(), if every == 1 { 12 } else { 4 });
        assert_eq!(heard, *told);
        assert_eq!(own.traces[0].point, run.traces[0].point);
        let (mut ledger, theirs) = (own.cells[0].ledger.reward.clone(), &run.cells[0].ledger.reward);
        assert!(ledger.notes.iter().any(|note| note.contains("it received released sums alone")), "{ledger:?}");
        ledger.notes.retain(|note| !note.contains("foreign code"));
        assert_eq!(ledger, *theirs);
    }
}

/// A server chooses among the points that an algorithm from outside has played first as it does for `fixed-design`.
#[test]
fn a_choice_from_outside_is_that_of_the_program() {
    let with = |policy: &str, mechanism: &str, rounds: u64| {
        let registry = Registry::builtin()
            .with_policy("ours", "four points", |_| {
                // Asked once for each candidate, at rounds 1, 4, 7 and 10.
                let points: Vec<usize> = (1..=12).map(|round| (round - 1) / 3 * 5).collect();
                OwnPolicy::per_trial(move |_, trial| Ok(Followed(points.clone(), Arc::default(), trial.trial, 0))).by_choice(4, 3)
            })
            .with_policy("too-many", "more users than rounds", |_| {
                OwnPolicy::per_trial(|_, _| Ok(Followed(vec![0], Arc::default(), 0, 0))).by_choice(4, 30)
            });
        let keys = if policy == "fixed-design" { "candidates = 4\npulls = 3\n" } else { "" };
        let text = format!("references = false\n{}label = \"one\"\n{keys}", spec(mechanism, policy));
        let text = text.replace("rounds = 12", &format!("rounds = {rounds}\nrecord = {{ rounds = \"all\" }}"));
        tried(&registry, &text)
    };
    // Without rounds after the choice it is recommended alone.
    for (mechanism, rounds) in [("exponential", 20), ("exponential", 12), ("none", 20), ("none", 12)] {
        let [ours, theirs] = ["ours", "fixed-design"].map(|policy| with(policy, mechanism, rounds).expect("a run"));
        assert_eq!(ours.traces[0].point, theirs.traces[0].point);
        let last = |run: &MemoryRun| finals(&run.traces[0], Quantity::RecommendedRegret);
        assert_eq!((last(&ours), last(&ours).len()), (last(&theirs), 4));
        assert_eq!(ours.cells[0].ledger.reward.epsilon, (mechanism == "exponential").then_some(1.0));
    }
    let error = with("too-many", "exponential", 20).map(drop).expect_err("too long");
    assert!(error.contains("4 candidates with 30 users each need more than 20 rounds"), "{error}");
    // What has no `learn` is told so.
    let without = Registry::builtin()
        .with_policy("rewards-only", "learns rewards", |args| OwnPolicy::per_trial(|_, _| Ok(Random(20))).over_sums(args, 1));
    let cause = "it asks for sums or a choice and has no `learn` that takes them";
    fails(&without, &spec("none", "rewards-only"), &[cause]);
}

/// Says points outside of the set, or too few of them, or panics.
struct Faulty(Vec<f64>, u32);

impl SumsLearner for Faulty {
    fn points(&self) -> &[f64] {
        &self.0
    }

    fn learn(&mut self, _sums: &[f64]) -> Result<(), LearnerFailure> {
        self.1 -= 1;
        if self.1 == 0 { Err("its disk is full".into()) } else { Ok(()) }
    }
}

#[test]
fn a_learner_from_outside_sees_noisy_sums() {
    let registry = Registry::builtin()
        .with_learner("ours", "the program's own", |_| OwnLearner::of_sums(|start| Ok(Ftrl::new(start, true))))
        .with_learner("far", "points outside", |_| OwnLearner::of_sums(|start| Ok(Faulty(vec![9.0; 2 * start.n_trials], 100))))
        .with_learner("fails", "an error", |_| OwnLearner::of_sums(|start| Ok(Faulty(vec![0.0; 2 * start.n_trials], 3))))
        .with_learner("few", "a number too few", |_| OwnLearner::of_sums(|_| Ok(Faulty(vec![0.0], 100))))
        .with_learner("panics", "a panic", |_| OwnLearner::of_sums(|_| -> Result<Faulty, _> { panic!("no licence") }));
    // Noise is that of the label.
    let text = |kind: &str| {
        format!(
            "seed = 3\nrounds = 20\ntrials = 3\nreferences = false\nproblem = {{ kind = \"linear-regression\", dimension = 2, \
             set = {{ kind = \"lp-ball\", p = 2.0, radius = 1.0 }} }}\nprivacy = {{ epsilon = 1.0, delta = 1e-2 }}\n\
             [[learner]]\nkind = \"{kind}\"\nlabel = \"one\"\n"
        )
    };
    let [own, ours, far] = ["dp-ftrl", "ours", "far"].map(|kind| ran(&registry, &text(kind)));
    assert_eq!(own.traces[0].measured(), ours.traces[0].measured());
    assert!(far.traces[0].measured().iter().flatten().all(|value| value.is_finite()));
    let notes = |run: &MemoryRun| run.cells[0].ledger.reward.notes.join("; ");
    assert!(notes(&ours).contains("the learner is foreign code") && !notes(&own).contains("foreign"));
    for (kind, why) in
        [("fails", "its disk is full"), ("few", "its points are 1 numbers, expected 2"), ("panics", "it panicked: no licence")]
    {
        fails(&registry, &text(kind), &["a learner from outside failed in round ", why]);
    }
}

/// A function over three points that returns NaN from a draw on; the first twelve draws estimate its means.
fn failing_function(draw: usize) -> String {
    let drawn = Arc::new(AtomicUsize::new(0));
    let registry = Registry::builtin().with_environment("fails", "returns NaN", move |args| {
        let drawn = Arc::clone(&drawn);
        FnEnvironment::new(1, vec![0.0, 0.5, 1.0], move |x, _| {
            let number = 1 + drawn.fetch_add(1, Ordering::SeqCst);
            if draw <= number { f64::NAN } else { x[0] }
        })
        .with_samples(4)
        .read(args)
    });
    let text = "rounds = 12\ntrials = 4\npolicy = [{ kind = \"uniform\" }]\n\
                environment = { kind = \"fails\", kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 } }\n";
    tried(&registry, text).map(drop).expect_err("a failure")
}

#[test]
fn a_reward_that_is_not_finite_is_named_with_its_point() {
    let before = failing_function(7);
    let expected = "error: the function of the environment returned the reward NaN at point 1, [0.5], in draw 3 of 4 before the first round\n";
    assert!(before.starts_with(expected) && before.contains(" --> outside.toml:4:") && !before.contains("table"), "{before}");
    let within = failing_function(20);
    let words = [
        "error: the function of the environment returned the reward NaN at point ",
        "], in round ",
        " of trial ",
        " of `uniform`\nhint: return a finite",
    ];
    assert!(words.iter().all(|word| within.contains(word)) && !within.contains("panicked"), "{within}");
}

#[test]
fn a_program_surrounds_the_work_of_its_threads() {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
    let thread_setup = ThreadSetup::around(move |work| {
        begins.fetch_add(1, Ordering::SeqCst);
        work();
        ends.fetch_add(1, Ordering::SeqCst);
    });
    let sweep = parsed(&Registry::builtin(), &spec("laplace", "uniform"));
    let options = RunOptions { threads: Some(3), thread_setup, ..RunOptions::default() };
    let rows = |options: &RunOptions| run_in_memory(&sweep, options, &Stop::new(), &()).expect("a run").traces;
    assert_eq!(rows(&options), rows(&RunOptions::default()));
    // Threads begin and end in the background.
    let started = std::time::Instant::now();
    while ended.load(Ordering::SeqCst) < 3 && started.elapsed().as_secs() < 60 {
        std::thread::yield_now();
    }
    assert_eq!((begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (3, 3));
}

#[test]
fn a_simulator_replays_what_a_run_played() {
    let sweep = parsed(&Registry::builtin(), &spec("laplace", "uniform")).to_builder().record_all().build().expect("a spec");
    let run = run_in_memory(&sweep, &RunOptions::default(), &Stop::new(), &()).expect("a run");
    let (data, backend) = (DataFolder::default(), Cpu::default());
    let preparation = Preparation::new(&sweep, &data, &backend);
    let mut simulator = Simulator::new(&preparation, &sweep.cells[0], 0).expect("a trial");
    let trace = &run.traces[0];
    let regrets: Vec<f64> =
        (0..12).map(|i| simulator.step(trace.point[i].expect("a point") as usize).expect("a step").regret).collect();
    assert_eq!(regrets, trace[Quantity::Regret][..12]);
    assert!(simulator.is_over() && simulator.step(0).is_err());
    let mut other = Simulator::new(&preparation, &sweep.cells[0], 1).expect("a trial");
    assert!(other.step(20).map(drop).expect_err("no such point").to_string().contains("a number from 0 to 19"));
    assert_eq!(other.round(), 1);
}
