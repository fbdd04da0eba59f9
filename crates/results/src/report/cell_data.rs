//! Holds the data of cells for the report, and finds cells by what they have in common.

use super::curves::Curve;
use super::stats::SampleMoments;
use crate::record::{CellInfo, Quantity, is_privacy_key};
use privateer_config::params::Scalar;
use privateer_privacy::{Guarantee, Ledger};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Holds the last recorded round of one trial.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReportTrialEnd {
    pub(super) trial: u32,
    /// The measured quantities, in the order of the cell's columns.
    pub(super) values: Box<[f64]>,
}

/// Holds one cell, reduced to the data of the report.
#[derive(Clone, Debug)]
pub(super) struct CellData {
    pub(super) info: Arc<CellInfo>,
    /// As those of `info`, or for a reference at another sweep point those of that point.
    pub(super) swept: Arc<[(Arc<str>, Scalar)]>,
    /// The last rounds of the trials, in their order.
    pub(super) ends: Arc<[ReportTrialEnd]>,
    pub(super) last_round: u32,
    pub(super) curve: Arc<Curve>,
    pub(super) exponent: Option<f64>,
}

impl CellData {
    /// Returns a quantity at the last round of each trial, without NaN; empty if the run does not measure it.
    pub(super) fn finals(&self, quantity: Quantity) -> Vec<f64> {
        self.ends.iter().map(|end| self.at_end(end, quantity)).filter(|value| !value.is_nan()).collect()
    }

    #[cfg(test)]
    pub(super) fn info_mut(&mut self) -> &mut CellInfo {
        Arc::make_mut(&mut self.info)
    }

    pub(super) fn moments(&self, quantity: Quantity) -> Option<SampleMoments> {
        SampleMoments::of(&self.finals(quantity))
    }

    /// Returns a quantity at the last round of a trial; NaN if the run does not measure it.
    pub(super) fn at_end(&self, end: &ReportTrialEnd, quantity: Quantity) -> f64 {
        let column = self.info.measures.columns().iter().position(|known| *known == quantity);
        column.and_then(|column| end.values.get(column).copied()).unwrap_or(f64::NAN)
    }

    /// Returns a quantity at the last round of this cell and of another one, for their common trials.
    pub(super) fn pairs(&self, other: &Self, quantity: Quantity) -> Vec<(f64, f64)> {
        let mut others = other.ends.iter().peekable();
        let mut pairs = Vec::with_capacity(self.ends.len());
        for end in self.ends.iter() {
            while others.next_if(|other| other.trial < end.trial).is_some() {}
            if let Some(found) = others.next_if(|other| other.trial == end.trial) {
                pairs.push((self.at_end(end, quantity), other.at_end(found, quantity)));
            }
        }
        pairs
    }

    /// Returns the last round, and the bits of a quantity at it in every trial.
    pub(super) fn result_bits(&self, quantity: Quantity) -> (u32, Vec<u64>) {
        (self.last_round, self.ends.iter().map(|end| self.at_end(end, quantity).to_bits()).collect())
    }

    /// Returns the stated budget: of the inputs if only they are protected, else of the rewards.
    pub(super) fn epsilon(&self) -> Option<f64> {
        let ledger = &self.info.ledger;
        ledger.reward.epsilon.or_else(|| ledger.inputs.as_ref()?.epsilon)
    }

    /// Returns a text that two cells share exactly where they promise the same: the budgets and threat models of their ledgers.
    pub(super) fn promise(&self) -> String {
        let of = |ledger: &Ledger| format!("{:?}", (ledger.epsilon, ledger.delta, &ledger.threat_model));
        self.ledgers().map(of).collect::<Vec<_>>().join("; ")
    }

    /// Returns whether the policy plays at random and learns nothing.
    pub(super) fn plays_at_random(&self) -> bool {
        let kind = self.info.resolved["policy"]["kind"].as_str().unwrap_or(&self.info.policy);
        ["uniform", "random-arm"].contains(&kind)
    }

    /// Returns whether the cell is private and its guarantee is known to hold, rather than claimed by a plug-in.
    pub(super) fn is_protected(&self) -> bool {
        let known = |ledger: &Ledger| matches!(ledger.guarantee, Guarantee::Holds | Guarantee::NotPrivate);
        !self.is_not_private() && self.ledgers().all(known)
    }

    fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        std::iter::once(&self.info.ledger.reward).chain(self.info.ledger.inputs.as_deref())
    }

    pub(super) fn swept(&self, key: &str) -> Option<&Scalar> {
        self.swept.iter().find(|(known, _)| **known == *key).map(|(_, value)| value)
    }

    /// Returns whether one of the cell's ledgers states that its claim does not hold.
    pub(super) fn has_no_guarantee(&self) -> bool {
        self.ledgers().any(|ledger| matches!(ledger.guarantee, Guarantee::NoGuarantee { .. }))
    }

    /// Returns whether the cell claims no privacy at all, neither of rewards nor of inputs.
    pub(super) fn is_not_private(&self) -> bool {
        self.info.ledger.reward.guarantee == Guarantee::NotPrivate && self.info.ledger.inputs.is_none()
    }
}

/// A report holds all cells, so a cell of one trial must be small.
const _: () = assert!(size_of::<CellData>() <= 72 && size_of::<CellInfo>() <= 160 && size_of::<ReportTrialEnd>() <= 24);

/// Finds cells without a walk over all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct CellIndex {
    /// The cells of each sweep point, which differ only in the policy, in canonical order.
    pub(super) points: Vec<Vec<usize>>,
    /// Number of the sweep point of each cell.
    pub(super) point_of: Vec<usize>,
    /// Policies of which a cell claims privacy that does not hold.
    pub(super) unguaranteed: BTreeSet<Arc<str>>,
    pub(super) nothing_is_private: bool,
    /// Cells without privacy that learn, by their [`problem_of`].
    pub(super) open: BTreeMap<String, Vec<usize>>,
    /// The first cell that plays at random, by its [`problem_of`].
    pub(super) guessing: BTreeMap<String, usize>,
}

impl CellIndex {
    pub(super) fn of(cells: &[CellData]) -> Self {
        let point = |cell: &CellData| format!("{:?}", (&cell.info.environment, &cell.swept));
        let (points, mut point_of) = (grouped(cells.iter().map(point).zip(0..)), vec![0; cells.len()]);
        for (number, cells) in points.iter().enumerate() {
            cells.iter().for_each(|&cell: &usize| point_of[cell] = number);
        }
        let nothing_is_private = cells.iter().all(CellData::is_not_private);
        let mut index = Self { points, point_of, nothing_is_private, ..Self::default() };
        for (cell_idx, cell) in cells.iter().enumerate() {
            if cell.has_no_guarantee() {
                index.unguaranteed.insert(Arc::clone(&cell.info.policy));
            }
            if cell.plays_at_random() {
                index.guessing.entry(problem_of(cell)).or_insert(cell_idx);
            } else if cell.is_not_private() {
                index.open.entry(problem_of(cell)).or_default().push(cell_idx);
            }
        }
        index
    }
}

/// Returns what a cell has in common with those that differ in policy and privacy alone, as a key.
pub(super) fn problem_of(cell: &CellData) -> String {
    let outside: Vec<_> = cell.swept.iter().filter(|(key, _)| !is_privacy_key(key)).collect();
    format!("{:?}", (&cell.info.environment, outside))
}

/// Groups items by their keys, in order of first appearance.
pub(super) fn grouped<K: Ord, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<Vec<T>> {
    let (mut groups, mut group_of): (Vec<Vec<T>>, _) = (Vec::new(), BTreeMap::new());
    for (key, item) in items {
        let next = groups.len();
        match groups.get_mut(*group_of.entry(key).or_insert(next)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Returns each item once, in order of first appearance.
pub(super) fn once_each<T: Ord + Clone>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = BTreeSet::new();
    items.into_iter().filter(|item| !known.contains(item) && known.insert(item.clone())).collect()
}
