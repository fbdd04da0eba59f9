//! Problems, sets, losses and learners of online convex optimization.

use super::cuts;
use crate::support::{prepared, ran, run_all, stream, sweep};
use privateer::engine::{Options, Quantity};
use privateer::env::DataFolder;
use privateer::oco::learner::{GradientRequest, LearnerStreams, PreparedLearner, Setting};
use privateer::oco::problem::ProblemContext;
use privateer::registry::{GRADIENT_NOISES, LEARNERS, LOSSES, PROBLEMS, SETS, names};
use privateer::spec::{Sweep, Task};
use privateer_backend::Cpu;
use privateer_config::facts::FactValue;
use privateer_numerics::rng::Streams;
use privateer_privacy::gradients::Sample;
use privateer_privacy::{Calibration, Guarantee, Raw};

/// Sets on which each learner runs, all in two dimensions or more.
pub fn sets(learner: &str) -> Vec<&'static str> {
    const BALL: &str = "{ kind = \"lp-ball\", p = 1.5, radius = 2.0 }";
    const CUBE: &str = "{ kind = \"lp-ball\", p = \"inf\" }";
    const CROSS: &str = "{ kind = \"lp-ball\", p = 1, radius = 2.0 }";
    const HULL: &str = "{ kind = \"polytope\", vertices = [1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1] }";
    match learner {
        "dp-pofw" => vec![CROSS, "\"simplex\"", HULL],
        "local-md" => vec![BALL, "{ kind = \"lp-ball\", p = 2 }"],
        _ => vec![BALL, CUBE, CROSS, "\"simplex\"", HULL],
    }
}

pub fn spec(problem: &str, set: &str, loss: &str, privacy: &str, learner: &str) -> String {
    format!(
        "rounds = 40\ntrials = 4\nblock = 4\nrecord = {{ rounds = \"all\" }}\n[problem]\nkind = \"{problem}\"\ndimension = 3\n\
         set = {set}\nloss = \"{loss}\"\ntest_samples = 50\n[privacy]\n{privacy}\n[[learner]]\n{learner}"
    )
}

/// Setting, and the prepared learner, of the first cell at this learning rate.
fn check_first_cell(sweep: &Sweep, rate: f64, check: impl FnOnce(&Setting, &PreparedLearner, &GradientRequest)) {
    let Task::Online(online) = &sweep.cells[0].task else { panic!("an online cell") };
    let streams = Streams::new(1, "contract");
    let context = ProblemContext { streams: &streams, rounds: sweep.cells[0].rounds, memory_bytes: 1e9 };
    let problem = (online.problem)(&context).expect("a problem");
    let prepared = (online.learner.prepare)(&problem.setting, &online.privacy.request, rate).expect("a learner");
    check(&problem.setting, &prepared, &online.privacy.request);
}

#[test]
fn every_set_and_loss_has_its_setting_here() {
    let used: String = LEARNERS.iter().flat_map(|entry| sets(entry.name)).collect();
    assert!(names(SETS).iter().all(|name| used.contains(name)), "{used}");
    assert_eq!(names(LOSSES), ["squared", "logistic", "smoothed-absolute"]);
    assert_eq!(names(PROBLEMS), ["linear-regression", "logistic-regression"]);
}

/// Answers stay in the set, whatever comes: NaN, infinite and huge samples, wrong lengths.
#[test]
fn answers_never_leave_the_set() {
    let bad: Vec<(Vec<f64>, f64)> = vec![
        (vec![f64::NAN; 3], 1.0),
        (vec![1.0; 3], f64::NAN),
        (vec![f64::INFINITY, 0.0, 0.0], 0.0),
        (vec![1e300; 3], -1e300),
        (vec![1.0], 1.0),
        (vec![], 0.0),
    ];
    for entry in LEARNERS {
        for set in sets(entry.name) {
            for loss in names(LOSSES) {
                let sweep = sweep(&spec("linear-regression", set, loss, "epsilon = 1.0", &format!("kind = \"{}\"", entry.name)));
                check_first_cell(&sweep, 1.0, |setting, prepared, _| {
                    // The second trial sees good samples alone.
                    let mut learners = (prepared.make)(2);
                    let of_trial = || LearnerStreams::new(stream("mechanism"), stream("own"));
                    let mut streams = [of_trial(), of_trial()];
                    let mut random = stream("samples");
                    for round in 0..setting.rounds {
                        let good = (vec![random.normal(), random.normal(), random.normal()], random.normal());
                        let (x, y) = bad.get(round as usize / 2).filter(|_| round % 2 == 0).unwrap_or(&good);
                        let samples = [(x, y), (&good.0, &good.1)].map(|(x, y)| Raw::seal(Sample { x, y: *y }));
                        learners.observe_all(samples.into(), &mut streams).expect("a round");
                        for theta in [0, 1].map(|trial| learners.iterate_of(trial)) {
                            assert!(
                                theta.iter().all(|x| x.is_finite()) && setting.set.contains(theta, 1e-6),
                                "{} on {set}, {loss}, round {round}: {theta:?}",
                                entry.name
                            );
                        }
                    }
                });
            }
        }
    }
}

/// A longer step than 2/beta parts the iterates of neighbouring data, which the price of a hidden descent leaves out.
#[test]
fn hidden_steps_are_at_most_two_over_the_smoothness() {
    for kind in ["phased-sgd", "snowball-sgd", "noisy-giga"] {
        // beta = 2 in the dual norm: 2 times 3^(1/3) in the Euclidean one at p = 3/2.
        for (p, longest) in [("2", 1.0), ("1.5", libm::pow(3.0, -1.0 / 3.0))] {
            let set = format!("{{ kind = \"lp-ball\", p = {p} }}");
            let sweep = sweep(&spec("linear-regression", &set, "squared", "epsilon = 1.0", &format!("kind = \"{kind}\"")));
            check_first_cell(&sweep, 1e9, |_, prepared, _| {
                let step = prepared.facts.get("step").and_then(FactValue::as_f64);
                // The regulariser of `noisy-giga` is as small as the rate is large.
                assert!(step.is_some_and(|step| (step - longest).abs() < 1e-7), "{kind}, p = {p}: {step:?}");
            });
        }
    }
}

/// Tight and corrected runs deliver what they claim or less; printed ones without a clip promise nothing; baselines claim nothing.
#[test]
fn ledgers_tell_the_truth() {
    for entry in LEARNERS {
        for set in sets(entry.name) {
            let sound = ["tight", "corrected"].into_iter().flat_map(|known| [0.1, 1.0, 8.0].map(|epsilon| (epsilon, known)));
            for (epsilon, calibration) in sound.chain([(1.0, "as-printed")]) {
                let privacy = format!("epsilon = {epsilon:?}\ncalibration = \"{calibration}\"");
                let text = spec("linear-regression", set, "squared", &privacy, &format!("kind = \"{}\"", entry.name));
                let facts = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.facts(&sweep.cells[0]));
                if ["phased-sgd", "snowball-sgd", "noisy-giga"].contains(&entry.name) && calibration != "tight" {
                    assert!(facts.is_err_and(|error| error.to_string().contains("calibration")), "{}", entry.name);
                    continue;
                }
                let ledger = facts.expect("facts").ledger.reward;
                let shown = format!("{} on {set} at {epsilon} {calibration}: {}", entry.name, ledger.guarantee);
                let private = !["ofw", "projected-sgd"].contains(&entry.name);
                match (private, ledger.calibration) {
                    (false, _) => assert_eq!(ledger.guarantee, Guarantee::NotPrivate, "{shown}"),
                    (true, Calibration::AsPrinted) => {
                        assert!(
                            matches!(ledger.guarantee, Guarantee::NoGuarantee { .. }) && ledger.delivered_epsilon.is_none(),
                            "{shown}"
                        );
                    }
                    (true, _) => {
                        assert_eq!(ledger.guarantee, Guarantee::Holds, "{shown}");
                        let delivered = ledger.delivered_epsilon.expect("finite");
                        assert!(delivered <= epsilon * (1.0 + 1e-9), "{shown}: {delivered}");
                        // Tight noise spends the budget.
                        assert!(ledger.calibration != Calibration::Tight || 0.98 * epsilon < delivered, "{shown}: {delivered}");
                    }
                }
            }
        }
    }
}

/// Under a clip, misprints are priced: the Gamma scale (E23), the exponent (E22), the first gradient (E28).
#[test]
fn misprints_are_priced() {
    let delivered = |set: &str, privacy: &str, learner: &str| {
        let text = spec("linear-regression", set, "squared", privacy, learner);
        let facts = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.facts(&sweep.cells[0]));
        facts.expect("facts").ledger.reward
    };
    let printed = "epsilon = 1.0\ncalibration = \"as-printed\"\nclip = \"on\"";
    let cube = delivered("{ kind = \"lp-ball\", p = \"inf\" }", printed, "kind = \"dp-tofw\"");
    assert!(1.0 < cube.delivered_epsilon.expect("finite") && cube.guarantee.to_string().contains("E23"), "{}", cube.guarantee);
    let ball = delivered("{ kind = \"lp-ball\", p = 1.5 }", printed, "kind = \"dp-tofw\"");
    assert!(ball.delivered_epsilon.is_none() && ball.guarantee.to_string().contains("E22"), "{}", ball.guarantee);
    // At epsilon = 4 the whole first gradient breaks the promise where L > beta D.
    let small = "epsilon = 4.0\ncalibration = \"as-printed\"\nclip = \"on\"";
    let cross = delivered("{ kind = \"lp-ball\", p = 1, radius = 0.05 }", small, "kind = \"dp-pofw\"");
    assert!(4.0 < cross.delivered_epsilon.expect("finite") && cross.guarantee.to_string().contains("E28"), "{}", cross.guarantee);
}

/// Same bits for any number of threads and trials side by side, and for shards.
#[test]
fn bits_do_not_depend_on_how_a_run_is_cut() {
    for entry in LEARNERS {
        let text =
            spec("linear-regression", sets(entry.name)[0], "squared", "epsilon = 1.0", &format!("kind = \"{}\"", entry.name))
                .replace("block = 4", "block = 2");
        let cuts = [(3, None), (2, Some(1)), (2, Some(7))];
        let whole = cuts::whole(entry.name, &sweep(&text), &DataFolder::default(), &cuts);
        assert!(
            whole.rows.values().all(|rows| rows[Quantity::Risk].len() == 80 && !rows.has(Quantity::Regret)),
            "{}",
            entry.name
        );
    }
}

/// Nine trials of more rounds than a block of the square-root noise has, for each factorisation.
#[test]
fn trials_in_lockstep_do_not_mix() {
    let factorisations = ["tree", "honaker", "blt", "sqrt-toeplitz"];
    let learners = ["dp-tofw\"", "dp-ftrl\"", "dp-ftrl\"\npasses = 2"];
    for (factorisation, learner) in factorisations.into_iter().flat_map(|of| learners.map(|learner| (of, learner))) {
        let sweep = sweep(&format!(
            "seed = 3\nrounds = 700\ntrials = 9\naccepted_warnings = [\"delta\"]\n[problem]\nkind = \"linear-regression\"\ndimension = 3\n\
             set = {{ kind = \"lp-ball\", p = 1.5, radius = 2.0 }}\n[privacy]\nepsilon = 1.0\ndelta = 1e-3\nfactorisation = \"{factorisation}\"\n[[learner]]\nkind = \"{learner}\n"
        ));
        let cuts = [1, 2, 4, 9].map(|batch| (2, Some(batch)));
        cuts::whole(&format!("{factorisation}, {learner}"), &sweep, &DataFolder::default(), &cuts);
    }
}

/// Budgets and learners share samples and truth: the risk of zero and of the truth are the same, so that differences are paired.
#[test]
fn learners_share_their_luck() {
    let learners = "kind = \"ofw\"\n[[learner]]\nkind = \"ofw\"\nlabel = \"again\"\n[[learner]]\nkind = \"dp-tofw\"";
    // A loss without a clip of its own, as baselines do not clip.
    let rows = ran(&spec("linear-regression", "{ kind = \"lp-ball\" }", "smoothed-absolute", "epsilon = 1e7", learners));
    assert_eq!(rows.cell(0)[Quantity::Risk], rows.cell(1)[Quantity::Risk]);
    // With a budget of ten millions hardly any noise is left, on the first releases too.
    let gap =
        rows.cell(0)[Quantity::Risk].iter().zip(&rows.cell(2)[Quantity::Risk]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(0.0 < gap && gap < 0.05, "{gap}");
}

/// The moments of the squared loss give the risk that rows give, and suboptimality is 1 at the start and 0 at the truth.
#[test]
fn risk_by_moments_is_risk_by_rows() {
    use privateer::oco::loss::{Loss, squared::Squared};
    use privateer::oco::problem::{Evaluation, Score};
    use std::sync::Arc;
    let mut random = stream("risk");
    let (d, n) = (4, 60);
    let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
    let e: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let mean = |of: &dyn Fn(usize) -> f64| (0..n).map(of).sum::<f64>() / n as f64;
    let second = (0..d * d).map(|at| mean(&|i| x[i * d + at / d] * x[i * d + at % d])).collect();
    let cross = (0..d).map(|j| mean(&|i| e[i] * x[i * d + j])).collect();
    let moments = Evaluation::Moments { second, cross, noise: mean(&|i| e[i] * e[i]) };
    let loss: Arc<dyn Loss> = Arc::new(Squared { clip: f64::INFINITY });
    let rows = Evaluation::Rows { x, e, law: |z, e| z + e, loss };
    let truth = Arc::new(vec![0.3, -0.2, 0.9, 0.0]);
    let (moments, rows) = (Score::new(Arc::new(moments), Arc::clone(&truth)), Score::new(Arc::new(rows), Arc::clone(&truth)));
    for theta in [vec![0.0; d], vec![1.0, 2.0, -1.0, 0.5], truth.to_vec()] {
        let (a, b) = (moments.risk(&theta), rows.risk(&theta));
        assert!((a - b).abs() < 1e-12 * (1.0 + b), "{theta:?}: {a} {b}");
    }
    assert_eq!((rows.suboptimality(rows.risk(&vec![0.0; d])), rows.suboptimality(rows.risk(&truth))), (1.0, 0.0));
}

/// The learning rate that validation chooses is one of the grid, does not depend on the test data's trials, and its choice is told.
#[test]
fn rates_are_chosen_on_data_of_their_own() {
    let learner = "kind = \"dp-tofw\"\nlearning_rates = [0.01, 1.0]";
    let text = spec("linear-regression", "{ kind = \"lp-ball\" }", "squared", "epsilon = 1.0", learner);
    let chosen = |trials: u64| {
        let text = text.replace("trials = 4", &format!("trials = {trials}"));
        let facts = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.facts(&sweep.cells[0]));
        let facts = facts.expect("facts");
        assert!(facts.ledger.reward.notes.iter().any(|note| note.contains("validation data")));
        facts.facts.get("learning rate").expect("a rate").clone()
    };
    assert_eq!(chosen(4), chosen(1));
    assert!([0.01, 1.0].contains(&chosen(4).as_f64().expect("a number")));
}

/// Every noise is taken by some learner and refused by another, with a refusal and never a panic; corners d = 1 and 2, p near 1.
#[test]
fn noises_and_corners() {
    for noise in names(GRADIENT_NOISES) {
        for entry in LEARNERS {
            for (d, p) in [(1, "1.0001"), (2, "1.5"), (2, "\"inf\""), (5, "1.0001"), (2, "1")] {
                for calibration in Calibration::NAMES {
                    let set = format!("{{ kind = \"lp-ball\", p = {p} }}");
                    let privacy = format!("epsilon = 1.0\nmechanism = \"{noise}\"\ncalibration = \"{calibration}\"");
                    let text = spec("logistic-regression", &set, "logistic", &privacy, &format!("kind = \"{}\"", entry.name))
                        .replace("dimension = 3", &format!("dimension = {d}"));
                    let sweep = sweep(&text);
                    match run_all(&sweep, &DataFolder::default(), &Cpu::default(), Options::default()) {
                        Ok(ran) => assert!(ran.cell(0)[Quantity::Risk].iter().all(|risk| risk.is_finite()), "{text}"),
                        Err(error) => assert!(error.to_string().contains("expected"), "{error}\n{text}"),
                    }
                }
            }
        }
    }
}
