//! The answers of `dp-ftrl`, `phased-sgd`, `snowball-sgd` and `noisy-giga` on stored samples and draws are those of a NumPy program, `data/numpy_learners.py`.
//! So are the choices over features from outside, by `data/numpy_choices.py`.

use crate::support::*;
use privateer::contracts::{FeaturesPlan, Problem};
use privateer::gp::score::FeatureTable;
use privateer::oco::learner::dp_ftrl::Ftrl;
use privateer::oco::learner::snowball_sgd::Snowball;
use privateer::oco::learner::{LearnerBatch, LearnerStreams, PrefixLearner, noisy_giga, phased_sgd};
use privateer::oco::loss::{LinearModel, squared::Squared};
use privateer::oco::problem::ProblemContext;
use privateer::oco::set::{ConstraintSet, LpBall};
use privateer::spec::Task;
use privateer::{Error, FnEnvironment, Registry, RunOptions, run_in_memory};
use privateer_numerics::linalg::Norm;
use privateer_privacy::Raw;
use privateer_privacy::gradients::{HiddenDescent, PrefixGradients, Projection, Sample, Start, VectorNoise};
use privateer_privacy::quote;
use privateer_privacy::streams::{Factorisation, blt::Blt};

const D: usize = 3;
const N: u32 = 12;
/// As the program prints them with NumPy 2; of a prefix learner the mean iterate and the last one.
const ANSWERS: [(&str, [f64; D]); 16] = [
    ("tree, mean", [0.06436313987152024, 0.013589467021717441, -0.04877743650668152]),
    ("tree, last", [0.583141090817106, -0.008995548109907638, -0.41710386367562213]),
    ("honaker, mean", [0.03126451060280126, -0.05292010153349177, 0.00853223920774196]),
    ("honaker, last", [0.43275085018947657, -0.40936381140271455, -0.09148433443936022]),
    ("blt, mean", [0.04816857870692164, 0.012216304979956287, -0.05459785868754923]),
    ("blt, last", [0.5403858989218309, -0.07203030023297965, -0.44711130088443707]),
    ("sqrt-toeplitz, mean", [0.05396701673705567, 0.011394658812133867, -0.05545470181150142]),
    ("sqrt-toeplitz, last", [0.5495760022461988, -0.11212154250692513, -0.41834001317521163]),
    ("two passes, mean", [0.10801208990271931, -0.18137440527632576, 0.07512023405301861]),
    ("two passes, last", [-0.09222947062611057, -0.1488500441806611, 0.24252220057435767]),
    ("phased", [-0.15261343623278575, -0.017593369294634054, 0.21830087813706406]),
    ("snowball", [0.12347246859168126, 0.2683042676415094, -0.4582913741519643]),
    ("phased, exact", [0.0858048573470789, -0.12067633012716894, 0.03604109301713643]),
    ("snowball, exact", [0.03291164310565664, 0.11945459117274859, -0.15352401316591827]),
    ("giga", [-0.03366069525033548, 0.11590705818274087, -0.07899447215353522]),
    ("giga, exact", [-0.014582237487698328, 0.08406513076479145, -0.07029767011086702]),
];

fn assert_near(name: &str, found: &[f64]) {
    let (_, expected) = ANSWERS.iter().find(|(of, _)| *of == name).expect("an answer");
    assert_eq!(found.len(), D);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{name}: {found} {expected}");
    }
}

/// The draws of the program, one after the other.
#[derive(Debug)]
struct StoredDraws(u32);

impl VectorNoise for StoredDraws {
    fn draw(&mut self, _stream: &mut Stream, out: &mut [f64]) {
        self.0 += 1;
        let draw = self.0;
        (0..).zip(out).for_each(|(j, out)| *out = 0.3 * (5.1 * f64::from(draw) + 1.7 * f64::from(j)).sin());
    }
}

/// Features and response of round t, from 1.
fn sample(t: u32) -> ([f64; D], f64) {
    ([0, 1, 2].map(|j| (1.3 * f64::from(t) + 2.1 * f64::from(j) + 0.4).sin()), 0.5 * (0.7 * f64::from(t)).cos())
}

/// Shows these samples to one trial; returns its answer.
fn learned(learner: &mut dyn LearnerBatch, rounds: u32) -> Vec<f64> {
    let mut streams = [LearnerStreams::new(stream("mechanism"), stream("own"))];
    for (x, y) in (1..=rounds).map(sample) {
        learner.observe_all(vec![Raw::seal(Sample { x: &x, y })], &mut streams).expect("a round");
    }
    learner.iterate_of(0).to_vec()
}

#[test]
fn every_factorisation_gives_the_iterates_of_numpy() {
    // Columns of one norm are no Toeplitz matrix: that rows of B times those of C give sums is a test of the streams.
    for name in quote::FACTORISATIONS.into_iter().filter(|name| *name != "normalised-toeplitz") {
        let factorisation: Arc<dyn Factorisation> = match name {
            "blt" => Arc::new(Blt::stated(&[0.9, 0.5], &[0.4, 0.2], u64::from(N)).expect("a matrix")),
            _ => quote::factorisation(name, u64::from(N), Default::default()).expect("a factorisation"),
        };
        let answer = |answers_mean: bool| {
            let gradient = Arc::new(LinearModel { loss: Arc::new(Squared { clip: f64::INFINITY }) });
            let noise = Some((factorisation.as_ref(), Box::new(StoredDraws(0)) as Box<dyn VectorNoise>));
            let sums = PrefixGradients::new(1, gradient, D, Start::Never, None, noise);
            let set = Arc::new(LpBall::new(Norm::of(1.5).expect("a norm"), 0.8, D));
            let server = Box::new(Ftrl::of_trials(set, 1, 0.8, answers_mean));
            learned(&mut PrefixLearner::new(sums, server, D), N)
        };
        // Without users who return, the band is the whole square root.
        let name = if name == "banded-toeplitz" { "sqrt-toeplitz" } else { name };
        assert_near(&format!("{name}, mean"), &answer(true));
        assert_near(&format!("{name}, last"), &answer(false));
    }
}

/// By the learner of a spec, which computes the step from the constants that the spec states.
#[test]
fn two_passes_give_the_iterates_of_numpy() {
    for of in ["mean", "last"] {
        let answer = from_spec(6, &format!("kind = \"dp-ftrl\"\npasses = 2\nanswer = \"{of}\""));
        assert_near(&format!("two passes, {of}"), &answer);
    }
}

/// What the learner of a spec answers after these rounds, without noise.
fn from_spec(rounds: u32, learner: &str) -> Vec<f64> {
    let sweep = sweep(&format!(
        "rounds = {rounds}\n[problem]\nkind = \"linear-regression\"\ndimension = 3\nset = {{ kind = \"lp-ball\", p = 1.5, radius = 0.8 }}\n\
         test_samples = 50\n[[learner]]\n{learner}\n"
    ));
    let Task::Online(online) = &sweep.cells[0].task else { panic!("an online cell") };
    let streams = Streams::new(1, "numpy");
    let problem = (online.problem)(&ProblemContext { streams: &streams, rounds: u64::from(rounds), memory_bytes: 1e9 });
    let prepared =
        (online.learner.prepare)(&problem.expect("a problem").setting, &online.privacy.request, 1.0).expect("a learner");
    learned((prepared.make)(1).as_mut(), rounds)
}

#[derive(Debug)]
struct Ball(LpBall);

impl Projection for Ball {
    fn project(&self, theta: &mut [f64]) {
        self.0.project(theta);
    }
}

#[test]
fn hidden_descents_release_the_points_of_numpy() {
    let n = u64::from(N);
    for (name, steps) in [
        ("phased", phased_sgd::phases(n, 0.6, 1.5)),
        ("snowball", Snowball::of(n, 2.9).steps(0.6, 1.5)),
        ("giga", noisy_giga::steps(n, 0.3, 0.6, 1.5)),
    ] {
        let gradient = Arc::new(LinearModel { loss: Arc::new(Squared { clip: f64::INFINITY }) });
        let ball = Arc::new(Ball(LpBall::new(Norm::of(1.5).expect("a norm"), 0.8, D)));
        let mut descent = HiddenDescent::new(gradient, vec![0.0; D], None, ball, steps, Box::new(StoredDraws(0)));
        let (mut stream, mut last) = (stream("mechanism"), Vec::new());
        for (x, y) in (1..=N).map(sample) {
            if let Some(released) = descent.release(Raw::seal(Sample { x: &x, y }), &mut stream) {
                last = released.value().to_vec();
            }
        }
        assert_near(name, &last);
    }
    for (name, kind) in [("phased", "phased-sgd"), ("snowball", "snowball-sgd"), ("giga", "noisy-giga")] {
        assert_near(&format!("{name}, exact"), &from_spec(N, &format!("kind = \"{kind}\"")));
    }
}

const FEATURES: usize = 16;
const SPEC: &str = r#"
    rounds = 60
    trials = 1
    record = { rounds = "all" }
    environment = { kind = "waves", kernel = { kind = "squared-exponential", lengthscale = 0.3 } }
    policy = [{ kind = "igp-ucb", features = "cosines", ridge = 0.1, initial = "lowest-index", beta = { kind = "constant", value = 6.0 } }]
"#;
/// As the program prints them with NumPy 2.4.
const CHOICES: [i64; 60] = [
    113, 371, 143, 380, 0, 99, 19, 200, 399, 47, 139, 120, 220, 100, 139, 100, 99, 120, 0, 140, 159, 140, 79, 200, 120, 169, 120,
    100, 179, 120, 120, 180, 99, 100, 100, 120, 120, 180, 159, 100, 100, 99, 120, 160, 100, 100, 160, 179, 100, 100, 160, 99,
    100, 100, 160, 102, 100, 160, 100, 100,
];

#[derive(Debug)]
struct Cosines;

impl FeaturesPlan for Cosines {
    fn build(&self, _problem: &Problem) -> Result<FeatureTable, Error> {
        let cosine = |x: &[f64], k: u32| {
            let phase = x[0] * f64::from(1 + k % 5) + x[1] * f64::from(1 + k % 7) + 0.3 * f64::from(k);
            (2.0 / FEATURES as f64).sqrt() * phase.cos()
        };
        let points = grid();
        let values = points.chunks(2).flat_map(|x| (0..FEATURES as u32).map(move |k| cosine(x, k))).collect();
        let n_points = points.len() / 2;
        Ok(FeatureTable { n_points, n_features: FEATURES, values, residual: vec![0.0; n_points], kernel_error: 0.0, form: None })
    }
}

fn grid() -> Vec<f64> {
    (0..400_u32).flat_map(|point| [point / 20, point % 20].map(|step| f64::from(step) / 19.0)).collect()
}

#[test]
fn choices_over_features_are_those_of_numpy() {
    let value = |x: &[f64]| (5.0 * x[0]).sin() + (7.0 * x[1]).cos();
    let registry = Registry::builtin().with_features("cosines", "sixteen cosines", |_| Cosines).with_environment(
        "waves",
        "a sum of two waves",
        move |args| FnEnvironment::new(2, grid(), move |x, _| value(x)).with_mean(value).read(args),
    );
    let sweep = registry.parse("numpy.toml", SPEC, &[]).expect("a spec");
    let trace = run_in_memory(&sweep, &RunOptions::default(), &Stop::new(), &()).expect("a run").traces.remove(0);
    let points: Vec<i64> = trace.point.iter().map(|point| point.expect("a point")).collect();
    assert_eq!(points, CHOICES);
}
