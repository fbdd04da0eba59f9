//! Released parameters: they give the model back at the points of the domain, and hold nothing but released values.

use super::policies::{Way, policy_streams, privacies, regret_after, spec};
use crate::support::prepared;
use privateer::env::DataFolder;
use privateer_config::facts::FactValue;
use privateer_gp::score::Moments;
use privateer_numerics::rng::Purpose;

const POLICIES: [(&str, &str); 6] = [
    ("jdp-gp-ucb", "features = { kind = \"exact\", tolerance = 1e-4 }\n"),
    ("jdp-gp-ucb", "features = { kind = \"nystrom\", size = 9 }\nrelease = \"count\"\n"),
    ("jdp-gp-ucb", "features = { kind = \"random-fourier\", features = 12 }\nrepair = \"clip\"\n"),
    ("jdp-gp-ucb", "features = { kind = \"quadrature-fourier\", nodes = 12 }\nepochs = \"carry\"\n"),
    ("local-jdp-gp-ucb", "features = { kind = \"exact\", tolerance = 1e-4 }\nrelease = { kind = \"interval\", rounds = 5 }\n"),
    ("jdp-linucb", ""),
];

#[test]
fn they_give_the_model_back() {
    for (name, keys) in POLICIES {
        for privacy in privacies(name) {
            let policy = format!("kind = \"{name}\"\n{keys}beta = \"order\"\n");
            let text = spec(&policy, &privacy);
            let cell =
                prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
            let trial = cell.trial(0).expect("a trial");
            let points = cell.environment.points.as_ref().expect("coordinates").clone();
            let n = points.n_points();
            let mut way = Way::new(trial.policy, policy_streams(&cell.streams), cell.domain.as_ref());
            let (mut privatizer, mut noise) = (trial.mechanism.privatizer(), cell.streams.of(0, Purpose::Noise));
            let mut mechanism = cell.streams.of(0, Purpose::Mechanism("p"));
            for _ in 0..60 {
                let (point, _) = way.next(n);
                let reward = trial.instance.observe(point, &mut noise);
                let signal = privatizer.release(&way.policy.query(point), reward, (&mut mechanism).into());
                way.policy.update(point, &signal);
            }
            let parameters = way.policy.server().expect("a server").parameters();
            let all: Vec<f64> = (0..n).flat_map(|i| points.point(i).to_vec()).collect();
            let dimension = points.dimension();
            let found = cell.maker.predict(&trial.setting, &parameters, dimension, &all).expect("moments");
            let centre = trial.setting.sums.map_or(0.0, |sums| sums.centre);
            let model = way.policy.scores().expect("a model");
            for (point, Moments { mean, variance }) in found.into_iter().enumerate() {
                let exact = model.exact(point);
                let scale = 1e-7 * (1.0 + exact.mean.abs());
                assert!((mean - centre - exact.mean).abs() < scale, "{name} {keys}: {mean} {exact:?}");
                assert!((variance - exact.variance).abs() < 1e-7, "{name} {keys}: {variance} {exact:?}");
            }
            // Nothing of the points played, and nothing that is not a number of the release.
            let FactValue::Table(table) = &parameters else { panic!("{parameters} is no table") };
            assert!(table.keys().eq(["entries", "gram_std", "horizon", "moment_std", "users"]), "{parameters}");
            for (bad, points) in [
                (parameters.clone(), vec![0.5; dimension + 1]),
                (FactValue::of(&serde_json::json!({"entries": [1.0]})), vec![0.5; dimension]),
                (FactValue::Missing, vec![0.5; dimension]),
            ] {
                assert!(cell.maker.predict(&trial.setting, &bad, points.len(), &points).is_err(), "{bad}");
            }
        }
    }
}

/// A policy whose model is made of the points played has none to give out.
#[test]
fn others_have_none() {
    let text = spec("kind = \"igp-ucb\"\n", "mechanism = \"none\"");
    let cell = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
    let mut trial = cell.trial(0).expect("a trial");
    assert!(trial.policy.server().is_none());
    let error = cell.maker.predict(&trial.setting, &FactValue::Missing, 1, &[0.5]).expect_err("no parameters");
    assert!(error.to_string().contains("jdp-gp-ucb"), "{error}");
}

/// A linear model learns a linear function, with and without privacy.
#[test]
fn linear_models_learn_linear_functions() {
    let regret = |policy: &str, privacy: &str| {
        let text = spec(policy, privacy)
            .replace(
                "domain = { kind = \"grid\", points = 50 }",
                "domain = { kind = \"grid\", dimension = 2, points = 9, lo = -1.0 }",
            )
            .replace("kernel = { kind = \"squared-exponential\", lengthscale = 0.2 }", "kernel = \"linear\"")
            .replace("rounds = 60", "rounds = 600\ntrials = 4");
        regret_after(&text, 600, 4)
    };
    let linear = "kind = \"jdp-linucb\"\nbeta = { kind = \"order\", factor = 1.5 }\n";
    let (chance, plain) = (regret("kind = \"uniform\"\n", "mechanism = \"none\""), regret(linear, "mechanism = \"none\""));
    let private = regret(linear, "epsilon = 4.0\ndelta = 1e-3");
    assert!(plain < 0.1 * chance && private < 0.5 * chance, "chance {chance}, plain {plain}, private {private}");
}
