//! Compares what a deployment states with the exact losses of what was released.

use super::exact;
use super::fact::{Fact, Law, ReadPart};
use privateer_privacy::odometer::{DeploymentLedger, RecordChange, is_same_column};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Share of an epsilon below the exact one that is rounding.
const ROUNDING: f64 = 1e-6;

/// What one file, or several together, state.
#[derive(Debug)]
pub struct StatedFile {
    /// Name of the file.
    pub name: String,
    /// What it states.
    pub ledger: DeploymentLedger,
    /// Changes for which its budget is kept.
    pub held: Vec<RecordChange>,
    /// Epsilon and delta that a single release claims for the change that it names.
    pub claim: Option<(RecordChange, f64, f64)>,
    /// What was released, whoever counts it.
    pub facts: Vec<Fact>,
}

/// One stated epsilon beside the exact one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatedLoss {
    /// The file, and whether a line, a budget or a claim states it.
    pub name: String,
    /// The change of a record, in words.
    pub change: String,
    /// Stated epsilon; `None` where nothing is bounded.
    pub stated: Option<f64>,
    /// The delta at which it is stated.
    pub delta: f64,
    /// Epsilon of the worst pair of tables, never above the exact one but for rounding; `None` where it is infinite or unknown.
    pub exact: Option<f64>,
    /// Whether all releases are Gaussian, so that `exact` is exact.
    pub is_gaussian: bool,
    /// Whether the statement holds, as far as the exact loss is known.
    pub holds: bool,
}

/// Compares every line, budget and claim of a file.
pub fn check(file: &StatedFile) -> Vec<StatedLoss> {
    let mut found = Vec::new();
    let mut compare = |what: &str, change: &RecordChange, stated: f64, delta: f64, of_record: Option<Option<u64>>| {
        let (exact, is_gaussian) = largest(&file.facts, change, delta, of_record);
        found.push(StatedLoss {
            name: format!("{}: {what}", file.name),
            change: change.to_string(),
            stated: stated.is_finite().then_some(stated),
            delta,
            exact: exact.filter(|exact| exact.is_finite()),
            is_gaussian,
            holds: !stated.is_finite() || exact.is_none_or(|exact| exact <= stated * (1.0 + ROUNDING) + 1e-9),
        });
    };
    for line in file.ledger.total.iter().chain(&file.ledger.changes) {
        compare("largest", &line.change, line.largest.epsilon, line.largest.delta, None);
        for record in &line.records {
            compare(&format!("record {}", record.record), &line.change, record.epsilon, record.delta, Some(Some(record.record)));
        }
    }
    if let Some(budget) = file.ledger.budget {
        for change in &file.held {
            compare("budget", change, budget.epsilon.get(), budget.delta.map_or(0.0, privateer_privacy::Delta::get), None);
        }
    }
    if let Some((change, epsilon, delta)) = &file.claim {
        compare("claim of the release", change, *epsilon, *delta, None);
    }
    found
}

/// Returns the loss of the record that lost most, or of one record; `None` where a release is unknown.
fn largest(facts: &[Fact], change: &RecordChange, delta: f64, of_record: Option<Option<u64>>) -> (Option<f64>, bool) {
    let records: BTreeSet<Option<u64>> = match of_record {
        Some(record) => BTreeSet::from([record]),
        None => facts.iter().map(|fact| fact.record).chain([None]).collect(),
    };
    let mut most = (Some(0.0), true);
    for record in records {
        let Some(laws) = laws(facts.iter().filter(|fact| fact.is_about(record)), change) else { return (None, false) };
        let exact = exact::epsilon(&laws, delta);
        most.1 &= laws.iter().all(|law| matches!(law, Law::Gaussian(_)));
        most.0 = most.0.map(|known: f64| known.max(exact));
    }
    most
}

/// Returns the laws of the releases whose outputs differ between the two rows of the worst pair of a change.
fn laws<'a>(facts: impl Iterator<Item = &'a Fact>, change: &RecordChange) -> Option<Vec<Law>> {
    let mut laws = Vec::new();
    let mut streams: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for fact in facts {
        match &fact.part {
            ReadPart::Unknown => return None,
            ReadPart::Sums { mu } => {
                let (known, count) = streams.entry(&fact.source).or_default();
                (*known, *count) = (known.max(*mu), *count + 1.0);
            }
            ReadPart::Value { column, width, law, stream } => {
                let moved = match change {
                    RecordChange::Record => *width,
                    RecordChange::Values { columns } if columns.iter().any(|name| is_same_column(name, column)) => *width,
                    RecordChange::Values { .. } => 0.0,
                    RecordChange::InputsWithin { radius, space } => {
                        space.scale(column).map_or(0.0, |scale| width.min(radius * scale))
                    }
                };
                match law {
                    _ if moved == 0.0 => {}
                    Law::Gaussian(mu) if *stream => {
                        let share = if moved == *width { 1.0 } else { moved / width };
                        let (known, count) = streams.entry(&fact.source).or_default();
                        (*known, *count) = (known.max(mu * share), *count + 1.0);
                    }
                    _ if moved == *width => laws.push(law.clone()),
                    Law::Gaussian(mu) => laws.push(Law::Gaussian(mu * moved / width)),
                    Law::Laplace(distance) => laws.push(Law::Laplace(distance * moved / width)),
                    // A randomiser loses at most the whole for a part of the way; how much is not computed here.
                    Law::Atoms(_) => laws.push(Law::Atoms(vec![(1.0, 0.0)])),
                }
            }
            ReadPart::Rows { axes, bound, sigma, stretch } => {
                let moved = match change {
                    RecordChange::Record => f64::INFINITY,
                    RecordChange::Values { columns } if columns.iter().any(|column| fact.part.scale(column).is_some()) => {
                        f64::INFINITY
                    }
                    RecordChange::Values { .. } => 0.0,
                    // A move along one column reaches the radius in both spaces' units.
                    RecordChange::InputsWithin { radius, space } => {
                        let along = |(column, own): &(String, f64)| space.scale(column).map_or(0.0, |scale| radius * scale / own);
                        axes.iter().map(along).fold(0.0, f64::max)
                    }
                };
                laws.push(Law::Gaussian(moved.min(2.0 * bound) * stretch / sigma));
            }
        }
    }
    laws.extend(streams.values().map(|(mu, count)| Law::Gaussian(mu * count)));
    Some(laws)
}
