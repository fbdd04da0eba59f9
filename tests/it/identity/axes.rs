//! Domains that cannot be listed: the best row of each axis, in f64, the same on every backend.

use super::backends::{on, same_bytes};
use super::one_trial::{exact_features, refusal};
use crate::backends::reference_backends;
use crate::support::{prepared, ran};
use privateer::engine::{Quantity, decide_by_axis};
use privateer::env::DataFolder;
use privateer_backend::Cpu;
use privateer_gp::Plays;
use privateer_gp::posterior::{FeaturePosterior, Posterior};
use privateer_gp::score::{AxisFeatures, FeatureTable, ScoreModel};
use privateer_numerics::linalg::{cholesky, dot, inverse_spd};
use privateer_numerics::rng::{Purpose, Streams};
use std::sync::Arc;

/// Three axes of 4, 2 and 5 rows with 3, 1 and 2 features.
fn table() -> (Arc<FeatureTable>, Arc<[AxisFeatures]>) {
    let shape = [(0..4, 0..3), (4..6, 3..4), (6..11, 4..6)];
    let mut random = Streams::new(4, "axes").shared(Purpose::Features);
    let mut values = vec![0.0; 11 * 6];
    for (rows, features) in &shape {
        for row in rows.clone() {
            features.clone().for_each(|feature| values[row * 6 + feature] = random.normal());
        }
    }
    let table = exact_features(6, values);
    let axes = shape.into_iter().map(|(rows, features)| AxisFeatures::of(&table, rows, features)).collect();
    (table, axes)
}

/// Means and spreads of rows, and the plays chosen from them, against the same with every matrix written out; a state that was
/// saved goes on the same.
#[test]
fn the_best_row_of_each_axis_by_hand() {
    let (table, axes) = table();
    let (ridge, beta) = (0.3, 1.7);
    let mut posterior = FeaturePosterior::new(Arc::clone(&table), ridge).over_axes(Arc::clone(&axes));
    let mut plays = Plays::new(Arc::clone(&table), Some(Arc::clone(&axes)));
    let mut random = Streams::new(4, "axes").of(0, Purpose::Noise);
    let (mut v, mut moment) = (vec![0.0; 36], [0.0; 6]);
    (0..6).for_each(|i| v[7 * i] = ridge);
    let mut known: Vec<Vec<u32>> = Vec::new();
    for round in 0..40 {
        let rows = decide_by_axis(&axes, &posterior, beta, &mut Vec::new()).expect("finite");
        let mut factor = v.clone();
        cholesky(&mut factor, 6).expect("positive definite");
        let inverse = inverse_spd(&factor, 6);
        let theta: Vec<f64> = (0..6).map(|i| dot(&inverse[6 * i..6 * i + 6], &moment)).collect();
        for (axis, &chosen) in axes.iter().zip(&rows) {
            let score = |row: usize| {
                let phi = &*table.row(row);
                let form: f64 = (0..6).map(|i| phi[i] * dot(&inverse[6 * i..6 * i + 6], phi)).sum();
                let found = posterior.exact_within(row, axis.features.clone());
                assert!((found.variance - ridge * form).abs() < 1e-12 && (found.mean - dot(&theta, phi)).abs() < 1e-12);
                dot(&theta, phi) + beta * (ridge * form).sqrt()
            };
            let best = axis.rows.clone().map(score).fold(f64::MIN, f64::max);
            assert!(best - score(chosen as usize) < 1e-9, "round {round}");
        }
        let number = known.iter().position(|one| *one == rows).unwrap_or_else(|| {
            posterior.define(&rows);
            plays.define(&rows);
            known.push(rows.clone());
            known.len() - 1
        });
        let phi: Vec<f64> = (0..6).map(|i| rows.iter().map(|&row| table.row(row as usize)[i]).sum()).collect();
        assert_eq!(plays.features(number), phi);
        let reward = random.normal();
        posterior.observe(number, reward);
        for i in 0..6 {
            moment[i] += reward * phi[i];
            (0..6).for_each(|j| v[6 * i + j] += phi[i] * phi[j]);
        }
    }
    assert!(3 < known.len(), "{known:?}");
}

fn spec(function: &str, policies: &str) -> String {
    format!(
        "seed = 3\nrounds = 150\ntrials = 3\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"{function}\"\nvariant = \"scaled\"\n\
         domain = {{ kind = \"axes\", points = 33 }}\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\n\
         kernel = {{ kind = \"additive\", part = {{ kind = \"squared-exponential\", lengthscale = 0.2 }} }}\n{policies}"
    )
}

const POLICIES: &str = "[[policy]]\nkind = \"uniform\"\n[[policy]]\nkind = \"qff-gp-ucb\"\nridge = 0.0025\n\
     features = { kind = \"quadrature-fourier\", nodes = 12 }\nbeta = { kind = \"constant\", value = 0.05 }\n\
     initial = { kind = \"random\", points = 40 }\n";

/// Twenty coordinates of 33 points each: no list holds them. In 150 rounds, 40 of them random, the best play is better by far than the
/// best of 150 random ones, regret is to the best of all 33^20, and batches and backends change no byte.
#[test]
fn twenty_coordinates() {
    for (function, largest) in [("styblinski-tang", 0.99), ("michalewicz", 0.9)] {
        let text = spec(function, POLICIES);
        let found = ran(&text);
        let last = |cell: u32, trial: usize| found.cell(cell)[Quantity::SimpleRegret][trial * 150 + 149];
        let total = |cell: u32| -> f64 { (0..3).map(|trial| last(cell, trial)).sum() };
        assert!(total(1) < 0.75 * total(0), "{function}: {} {}", total(1), total(0));
        for cell in 0..2 {
            let rows = found.cell(cell);
            assert!(rows.point.iter().all(Option::is_none), "a play has no index");
            assert!(rows[Quantity::Regret].iter().all(|regret| (0.0..2.0).contains(regret)));
        }
        prepared(&text, &DataFolder::default(), |sweep, preparation| {
            let environment = preparation.cell(&sweep.cells[0]).expect("a cell").environment;
            let best = (environment.draw)(0).expect("a function").best_mean();
            assert!((largest..=1.0 + 1e-12).contains(&best), "{function}: {best}");
        });
        let expected = on(&Cpu::default(), &text).expect("a run").bits();
        assert_eq!(found.bits(), expected, "{function}: another batch");
        same_bytes(&reference_backends()[..1], [text]);
    }
}

#[test]
fn what_needs_a_list_is_refused() {
    for policy in ["gp-ucb\"", "gp-ucb\"\nfeatures = \"nystrom\"", "ata-gp-ucb\"", "rff-gp-ucb\""] {
        let text = spec("styblinski-tang", &format!("[[policy]]\nkind = \"{policy}\n"));
        let message = refusal(&text).to_string();
        assert!(message.contains("cannot be listed") && message.contains("qff-gp-ucb"), "{message}");
    }
    let kernel = |text: &str| text.replace("kind = \"additive\", part", "kind = \"additive\", group_size = 2, part");
    let text = kernel(&spec("styblinski-tang", "[[policy]]\nkind = \"qff-gp-ucb\"\n"));
    let message = refusal(&text).to_string();
    assert!(message.contains("a sum over single coordinates") && message.contains("group_size = 1"), "{message}");
}
