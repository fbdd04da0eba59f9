//! The choices over features from outside are those of a NumPy program, `data/numpy_choices.py`.

use privateer::contracts::{FeaturesPlan, Problem};
use privateer::gp::score::FeatureTable;
use privateer::{Error, FnEnvironment, Registry, RunOptions, Stop, run_in_memory};

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

/// Sixteen cosines of a point.
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

/// Returns the coordinates of 20 x 20 points.
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
