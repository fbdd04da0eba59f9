//! Environments: optimum, regret, repeatable draws, rewards around the mean.

use crate::support::{opened, prepared, stream};
use privateer::env::DataFolder;
use privateer::registry::{ENVIRONMENTS, NOISES, names};
use privateer_numerics::rng::Purpose;
use std::fmt::Write;
use tempfile::TempDir;

/// Data files as small as they can be, generated here.
pub fn tables() -> (TempDir, DataFolder) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = stream("tables");
    for (name, rows) in [("train.csv", 30), ("test.csv", 20)] {
        let mut text = "a,b,c,d\n".to_owned();
        for _ in 0..rows {
            let level = random.normal();
            let [a, b, c, d] = [1.0, 3.0, 2.0, 0.5].map(|mean| mean + level + 0.5 * random.normal());
            writeln!(text, "{a},{b},{c},{d}").expect("text");
        }
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let mut text = "x,y,price,name\n".to_owned();
    for i in 0..25 {
        writeln!(text, "{},{},{},home {i}", random.uniform(), random.uniform(), 100.0 + random.normal()).expect("text");
    }
    std::fs::write(folder.path().join("points.csv"), text).expect("written");
    let data = DataFolder::new(Some(folder.path().to_owned()));
    (folder, data)
}

const FUNCTION: &str = "domain = { kind = \"grid\", points = 40 }\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }";
const BALL: &str = "domain = { kind = \"ball\", dimension = 2, points = 300, radius = 2.0 }\nkernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\ncentres = 4\nweights = \"simplex\"\noutput = \"peak\"\nnoise = \"bernoulli\"";
const POINTS: &str = "file = \"points.csv\"\ninputs = [\"x\", \"y\"]\nvalue = \"price\"\nkernel = { kind = \"squared-exponential\", lengthscale = 0.5 }\nnoise = { kind = \"gaussian\", sd = 0.3 }";

/// `[environment]` tables of each environment.
pub fn settings(name: &str) -> Vec<String> {
    match name {
        "rkhs" => vec![
            format!("{FUNCTION}\nnoise = {{ kind = \"uniform\", bound = 1.0 }}"),
            format!("{FUNCTION}\nnoise = \"bernoulli\"\noutput = \"unit\""),
            // Decision sets, small ones and ones that are screened.
            format!("{BALL}\nsets = {{ kind = \"gap\", points = 12 }}"),
            format!("{BALL}\nsets = {{ kind = \"random\", points = 100 }}"),
        ],
        "gp-sample" => vec![
            format!("{FUNCTION}\nnoise = {{ kind = \"student-t\", dof = 3.0 }}"),
            format!("{FUNCTION}\nnoise = {{ kind = \"pareto\", shape = 5.0 }}"),
            "domain = { kind = \"grid\", dimension = 3, points = 7 }\nkernel = { kind = \"squared-exponential\", lengthscale = 0.4 }\nnoise = { kind = \"gaussian\", sd = 0.5 }".to_owned(),
        ],
        "arms-table" => {
            vec![
                "train = \"train.csv\"\ntest = \"test.csv\"".to_owned(),
                "train = \"train.csv\"\ntest = \"test.csv\"\ncolumns = [\"c\", \"a\", \"b\"]".to_owned(),
                "synthetic = true".to_owned(),
            ]
        }
        "points-table" => {
            vec![
                POINTS.to_owned(),
                format!("{POINTS}\ngoal = \"minimise\"\nlog = true\nstandardise = false\nregret = \"raw\""),
                format!("{POINTS}\nlog = true\nsynthetic = true\nsynthetic_rows = 60\nhyperparameters = \"fitted\""),
            ]
        }
        "branin" | "camelback" | "styblinski-tang" | "michalewicz" | "hartmann-6" | "ackley" | "levy" => {
            let domain = "domain = { kind = \"random\", points = 60 }";
            let rest = "kernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\nnoise = { kind = \"gaussian\", sd = 0.5 }";
            vec![format!("{domain}\n{rest}"), format!("{domain}\n{rest}\nvariant = \"scaled\"")]
        }
        other => panic!("no settings for the environment `{other}`: add them here"),
    }
}

/// A noise with the key that it requires.
pub fn noise(name: &str) -> String {
    let required = match name {
        "uniform" => ", bound = 0.5",
        "gaussian" => ", sd = 0.5",
        "student-t" => ", dof = 3.0",
        "pareto" => ", shape = 5.0",
        "sub-weibull" => ", tail_parameter = 1.0",
        "bernoulli" | "none" => "",
        other => panic!("no keys for the noise `{other}`: add them here"),
    };
    format!("{{ kind = \"{name}\"{required} }}")
}

pub fn spec(name: &str, setting: &str) -> String {
    format!("seed = 5\nrounds = 100\n[environment]\nkind = \"{name}\"\n{setting}\n[[policy]]\nkind = \"uniform\"\n")
}

/// A spec for every setting of every environment, with the environment's name.
fn specs() -> impl Iterator<Item = (&'static str, String)> {
    let of = |name: &'static str| settings(name).into_iter().map(move |setting| (name, spec(name, &setting)));
    names(ENVIRONMENTS).into_iter().flat_map(of)
}

#[test]
fn optimum_regret_and_draws() {
    let (_kept, data) = tables();
    for (name, text) in specs() {
        let means = |trial: u64| {
            let cell = prepared(&text, &data, |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
            let environment = cell.environment;
            let n = environment.gram.n_points();
            assert!(environment.points.as_ref().is_none_or(|points| points.n_points() == n));
            let instance = (environment.draw)(trial).expect("a function");
            let means: Vec<f64> = (0..n).map(|point| instance.mean(point)).collect();
            let best = instance.best();
            assert_eq!(instance.regret(best), 0.0, "{name}");
            for point in 0..n {
                assert!(means[point] <= means[best] + 1e-10 * (1.0 + means[best].abs()), "{name}: point {point}");
                let regret = instance.regret(point);
                assert!(0.0 <= regret && regret.is_finite(), "{name}: {regret}");
                // In its unit, regret is the gap to the best mean.
                let unit = if name == "arms-table" { means[best] } else { 1.0 };
                assert!((regret * unit - (means[best] - means[point])).abs() <= 1e-9 * (1.0 + means[best].abs()));
                assert!(means[point].abs() <= instance.facts().bound * (1.0 + 1e-12), "{name}: B");
            }
            assert_eq!(instance.facts().rounds, 100);
            means.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        };
        assert_eq!(means(3), means(3), "{name}: a trial has one function");
        let random = matches!(name, "rkhs" | "gp-sample");
        assert_eq!(means(3) != means(4), random, "{name}: trials differ where functions are drawn");
    }
}

/// Means of 20000 rewards within five standard errors: false alarm below 1e-6 a figure, fixed seeds.
#[test]
fn rewards_scatter_around_the_mean() {
    let (_kept, data) = tables();
    let n = 20_000;
    for (name, text) in specs() {
        let cell = prepared(&text, &data, |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
        let instance = (cell.environment.draw)(1).expect("a function");
        let facts = instance.facts().clone();
        for point in [0, instance.best(), cell.environment.gram.n_points() - 1] {
            let mut random = cell.streams.of(1, Purpose::Noise);
            let rewards: Vec<f64> = (0..n).map(|_| opened(instance.observe(point, &mut random))).collect();
            let mean = rewards.iter().sum::<f64>() / f64::from(n);
            let variance = facts.noise_variance.expect("finite here");
            let error = libm::sqrt(variance / f64::from(n));
            assert!((mean - instance.mean(point)).abs() <= 5.0 * error + 1e-9, "{name} point {point}: {mean}");
            for reward in rewards {
                let noise = (reward - instance.mean(point)).abs();
                assert!(facts.noise_bound.is_none_or(|bound| noise <= bound * (1.0 + 1e-12)), "{name}: R");
                assert!(facts.range.is_none_or(|(lo, hi)| (lo..=hi).contains(&reward)), "{name}: range");
            }
        }
    }
}

/// Whatever was played before, the noise of a round comes from the same words of the stream.
#[test]
fn noise_does_not_depend_on_what_was_played() {
    let (_kept, data) = tables();
    for (name, text) in specs() {
        let cell = prepared(&text, &data, |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
        let instance = (cell.environment.draw)(0).expect("a function");
        let n = cell.environment.gram.n_points();
        let after = |plays: &dyn Fn(usize) -> usize| {
            let mut random = cell.streams.of(0, Purpose::Noise);
            for round in 0..50 {
                instance.observe(plays(round), &mut random);
            }
            opened(instance.observe(1, &mut random)).to_bits()
        };
        assert_eq!(after(&|_| 0), after(&|round| (7 * round + 3) % n), "{name}");
    }
}

/// Every noise can be named by an environment over a domain.
#[test]
fn every_noise_serves() {
    for name in names(NOISES) {
        let text = spec("rkhs", &format!("{FUNCTION}\noutput = \"unit\"\nnoise = {}", noise(name)));
        let cell = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0]));
        let trial = cell.and_then(|cell| cell.trial(0)).expect("a trial");
        let (best, mut random) = (trial.instance.best(), stream("noise"));
        assert!((0..100).all(|_| opened(trial.instance.observe(best, &mut random)).is_finite()), "{name}");
    }
}
