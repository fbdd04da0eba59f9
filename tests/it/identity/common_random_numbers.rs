//! Common random numbers: policies and budgets meet the same function, noise and starting point.

use crate::support::{opened, prepared, ran, stream};
use privateer::engine::Quantity;
use privateer::env::DataFolder;
use privateer_numerics::rng::Purpose;
use privateer_privacy::{Query, Raw};

fn spec(rest: &str) -> String {
    format!(
        "seed = 9\nrounds = 120\ntrials = 4\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"gp-sample\"\n\
         domain = {{ kind = \"grid\", points = 50 }}\nkernel = {{ kind = \"matern\", nu = 1.5, lengthscale = 0.2 }}\n\
         noise = {{ kind = \"uniform\", bound = 1.0 }}\n{rest}"
    )
}

const TWO: &str = "[privacy]\nmechanism = \"laplace\"\n[[policy]]\nkind = \"igp-ucb\"\n[[policy]]\nkind = \"gp-ucb\"\n\
     [sweep.product]\n\"privacy.epsilon\" = [0.5, 4.0]\n";

#[test]
fn every_cell_has_the_same_functions_and_noise() {
    prepared(&spec(TWO), &DataFolder::default(), |sweep, preparation| {
        let seen: Vec<Vec<u64>> = sweep
            .cells
            .iter()
            .map(|plan| {
                let cell = preparation.cell(plan).expect("a cell");
                let mut bits = Vec::new();
                for trial in 0..4 {
                    let ready = cell.trial(trial).expect("a trial");
                    bits.extend((0..50).map(|point| ready.instance.mean(point).to_bits()));
                    let (mut noise, mut start) = (cell.streams.of(trial, Purpose::Noise), cell.streams.of(trial, Purpose::Start));
                    bits.extend((0..20).map(|_| opened(ready.instance.observe(7, &mut noise)).to_bits()));
                    bits.push(start.word());
                }
                bits
            })
            .collect();
        assert_eq!(seen.len(), 7, "three references among them");
        assert!(seen.iter().all(|bits| *bits == seen[0]));
    });
}

/// Whole runs: all cells start at the same point of the same function.
#[test]
fn runs_start_alike() {
    let found = ran(&spec(TWO));
    let starts = |cell: u32| {
        let rows = found.cell(cell);
        let first = (0..rows.round.len()).filter(|&i| rows.round[i] == 1);
        first.map(|i| (rows.point[i], rows[Quantity::Regret][i].to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(starts(0).len(), 4);
    assert!((1..4).all(|cell| starts(cell) == starts(0)));
    assert!((1..4).any(|trial| starts(0)[trial] != starts(0)[0]), "trials start apart");
    assert_ne!(found.cell(0).point, found.cell(2).point, "and then the budget matters");
}

/// The same policy under two labels differs in its mechanism's noise alone: without a mechanism not at all.
#[test]
fn labels_move_the_mechanism_and_nothing_else() {
    let twice = |privacy: &str| {
        let policy = "kind = \"igp-ucb\"\nbeta = { kind = \"order\" }";
        let found = ran(&spec(&format!("[privacy]\n{privacy}\n[[policy]]\n{policy}\n[[policy]]\n{policy}\nlabel = \"again\"\n")));
        (found.cell(0).clone(), found.cell(1).clone())
    };
    let (first, again) = twice("mechanism = \"none\"");
    assert_eq!(first, again);
    let (first, again) = twice("mechanism = \"laplace\"\nepsilon = 1.0");
    assert_ne!(first.point, again.point);
}

/// A policy that looks at no reward plays alike whatever the budget, and mechanism noise scales with it.
#[test]
fn budgets_share_their_luck() {
    let found = ran(&spec(
        "[privacy]\nmechanism = \"laplace\"\n[[policy]]\nkind = \"uniform\"\n[sweep.product]\n\"privacy.epsilon\" = [0.5, 8.0]\n",
    ));
    assert_eq!(found.cell(0).point, found.cell(1).point);
    prepared(&spec(TWO), &DataFolder::default(), |sweep, preparation| {
        let noise = |cell: usize| {
            let cell = preparation.cell(&sweep.cells[cell]).expect("a cell");
            let mechanism = cell.trial(0).expect("a trial").mechanism;
            let scale = mechanism.rewards().and_then(|rewards| rewards.laplace_scale()).expect("Laplace");
            let (mut privatizer, mut random) = (mechanism.privatizer(), stream("laplace"));
            let released =
                privatizer.release(&Query::default(), Raw::seal(0.0), (&mut random).into()).reward().expect("a reward");
            (released / scale, scale)
        };
        // Cells 0 and 2 are one policy at epsilon 0.5 and 4.
        let ((low, wide), (high, narrow)) = (noise(0), noise(2));
        assert!((low - high).abs() <= 1e-12 * low.abs(), "{low} {high}");
        assert!((wide / narrow - 8.0).abs() < 1e-12);
    });
}

/// With a budget beyond reason the mechanism's noise vanishes, and the choices are those without privacy.
#[test]
fn an_absurd_budget_is_no_privacy() {
    let played = |privacy: &str| {
        let policy = "kind = \"igp-ucb\"\nbeta = { kind = \"constant\", value = 1.0 }";
        ran(&spec(&format!("[privacy]\n{privacy}\n[[policy]]\n{policy}\n"))).cell(0).point.clone()
    };
    assert_eq!(played("mechanism = \"laplace\"\nepsilon = 1e13"), played("mechanism = \"none\""));
}
