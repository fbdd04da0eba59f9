//! Attacks curators of inputs: one row moves by the radius, and all released inputs are seen.

use super::rewards::{claim, refused};
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::curator::{Curator, CuratorEntry, Inputs, InputsNeed, PUBLIC_SEED, public_projection};
use privateer_privacy::release::{ReleaseError, RowsRelease};
use privateer_privacy::{Budget, Calibration, Delta, Epsilon, Raw, Request};
use std::sync::Arc;

/// Number of columns of the inputs.
const COLUMNS: usize = 3;
/// Seed of the public projection.
const SEED: u64 = 5;
const SOURCE: &str = "docs/proofs/rows.md";

/// Returns the attacks on noise in every row: all columns, and fewer after the public projection.
pub fn cases(entry: &CuratorEntry) -> Result<Vec<Case>, Error> {
    let whole = built(entry, Calibration::Tight, (4.0, 1e-3), None)?;
    let narrow = built(entry, Calibration::Tight, (4.0, 1e-3), Some(1))?;
    let along = along(PUBLIC_SEED);
    Ok(vec![
        of_row(entry.name.to_owned(), whole, vec![1.0, 0.0, 0.0], vec![1.0, 0.0, 0.0]),
        of_row(format!("{}, one column of {COLUMNS}", entry.name), narrow, along, vec![1.0]),
    ])
}

/// Returns the unit vector along the public projection to one column.
fn along(seed: u64) -> Vec<f64> {
    let direction = public_projection(COLUMNS, 1, seed);
    let length = libm::sqrt(direction.iter().map(|x| x * x).sum());
    direction.iter().map(|x| x / length).collect()
}

/// Attacks the first of three rows: it moves by one along `step`, its release moves along `seen`.
fn of_row(name: String, curator: Arc<dyn Curator>, step: Vec<f64>, seen: Vec<f64>) -> Case {
    let ledger = curator.ledger(3, COLUMNS);
    let attack = move |side: Side, stream: &mut Stream| {
        let mut rows = vec![0.0; 3 * COLUMNS];
        rows[COLUMNS..].fill(0.5);
        rows.iter_mut().zip(&step).for_each(|(entry, step)| *entry = side.pick(0.5, -0.5) * step);
        match curator.release(Raw::seal(Inputs::new(COLUMNS, Arc::new(rows))), stream) {
            Ok(released_inputs) => released_inputs.value().values.iter().zip(&seen).map(|(released, seen)| released * seen).sum(),
            Err(_) => f64::NAN,
        }
    };
    Case::new(name, claim(&ledger), "one of three rows moves by 1, the radius", "its released row along the move", attack)
        .gaussian()
        .source(SOURCE)
}

/// Returns the attacks on the release of real rows: all columns, and one after a public projection.
pub fn released() -> Vec<Case> {
    const BUDGET: Claim = Claim { epsilon: 4.0, delta: 1e-3 };
    let attack = |step: Vec<f64>, mechanism: fn((Epsilon, Delta)) -> Result<RowsRelease, ReleaseError>| {
        move |side: Side, _: &mut Stream| {
            let budget = Epsilon::try_from(BUDGET.epsilon).ok().zip(Delta::try_from(BUDGET.delta).ok());
            let Some(Ok(mechanism)) = budget.map(mechanism) else { return f64::NAN };
            let mut rows = vec![0.5; 3 * COLUMNS];
            rows.iter_mut().zip(&step).for_each(|(entry, step)| *entry = side.pick(0.5, -0.5) * step);
            mechanism.release(Raw::seal(rows)).map_or(f64::NAN, |released| released.rows.value()[0])
        }
    };
    // The radius is twice the bound: the row is replaced by any other.
    let far = attack(vec![1e6, 0.0, 0.0], |(epsilon, delta)| RowsRelease::calibrated(epsilon, delta, 2.0, 1.0, COLUMNS));
    let beyond = "one of three rows is 10^6 e1 against -10^6 e1, moved to norm 1; the radius is 2";
    let whole = attack(vec![1.0, 0.0, 0.0], |(epsilon, delta)| RowsRelease::calibrated(epsilon, delta, 1.0, 2.0, COLUMNS));
    let narrow = attack(along(SEED), |budget| RowsRelease::projected(budget, 1.0, 2.0, COLUMNS, (1, SEED)));
    let (pair, score) = ("one of three rows moves by 1, the radius", "the first number of its released row");
    let name = "discrete-gaussian-rows";
    vec![
        Case::new(name, BUDGET, pair, score, whole).gaussian().source(SOURCE),
        Case::new(format!("{name}, one column of {COLUMNS}"), BUDGET, pair, score, narrow).gaussian().source(SOURCE),
        Case::new(format!("{name}, outside"), BUDGET, beyond, score, far).gaussian().source(SOURCE),
    ]
}

/// Builds a curator for neighbours at distance 1.
pub fn built(
    entry: &CuratorEntry,
    calibration: Calibration,
    budget: (f64, f64),
    columns: Option<usize>,
) -> Result<Arc<dyn Curator>, Error> {
    let budget = Budget::new(Some(budget.0), Some(budget.1)).map_err(refused)?;
    let request = Request { mechanism: entry.name, calibration, budget, clip: None };
    (entry.build)(&request, InputsNeed { radius: Some(1.0), columns }).map_err(refused)
}
