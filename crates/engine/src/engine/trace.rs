//! Defines the recorded rows of a unit, as columns.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut, Range};

/// The quantities that a run measures: the columns after `point`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// Bandit runs.
    #[default]
    Regret,
    /// Contextual runs.
    Contextual,
    /// Replays of a log.
    Replay,
    /// Online convex runs.
    Risk,
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Regret of the round.
    Regret,
    /// Sum of the regrets so far, unrecorded rounds included.
    CumulativeRegret,
    /// Regret of the best point played so far.
    SimpleRegret,
    /// Regret of the point the policy would recommend.
    RecommendedRegret,
    /// Share of the rounds so far in which the best arm was played.
    BestShare,
    /// Number of log rows that the policy has learned from.
    Taken,
    /// Estimate of the policy's mean reward so far; NaN before any row matched.
    Value,
    /// Standard error of that estimate.
    StandardError,
    /// Risk of the learner's answer.
    Risk,
    /// Remaining share of the starting point's excess risk.
    Suboptimality,
}

impl Measures {
    /// All kinds of run.
    pub const ALL: [Self; 4] = [Self::Regret, Self::Contextual, Self::Replay, Self::Risk];

    /// Returns the measured columns, in order.
    pub fn columns(self) -> &'static [Quantity] {
        match self {
            Self::Regret => &[Quantity::Regret, Quantity::CumulativeRegret, Quantity::SimpleRegret, Quantity::RecommendedRegret],
            Self::Contextual => &[Quantity::Regret, Quantity::CumulativeRegret, Quantity::BestShare],
            Self::Replay => &[Quantity::Taken, Quantity::Value, Quantity::StandardError],
            Self::Risk => &[Quantity::Risk, Quantity::Suboptimality],
        }
    }
}

impl Quantity {
    /// Returns the name of the column in recorded parts.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// Returns what the quantity is, in one sentence without a full stop.
    pub fn meaning(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Regret => ("regret", "regret of the round: best mean less the mean of the point or arm played"),
            Self::CumulativeRegret => ("cumulative_regret", "sum of the regrets so far, unrecorded rounds included"),
            Self::SimpleRegret => ("simple_regret", "regret of the best point played so far"),
            Self::RecommendedRegret => ("recommended_regret", "regret of the point that the policy would recommend"),
            Self::BestShare => ("best_arm_share", "share of the rounds so far in which the best arm was played"),
            Self::Taken => ("taken", "number of log rows that the policy has learned from"),
            Self::Value => ("value", "estimate of the policy's mean reward so far; NaN before any row matched"),
            Self::StandardError => ("standard_error", "standard error of that estimate"),
            Self::Risk => ("risk", "risk of the learner's answer"),
            Self::Suboptimality => ("suboptimality", "remaining share of the starting point's excess risk"),
        }
    }
}

/// The recorded rows of a unit, ordered by trial, then round, as columns of equal length.
///
/// `trace[Quantity::Regret]` is a measured column; it panics if the trace measures something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Trial, 0-based, numbered over the whole cell.
    pub trial: Vec<u32>,
    /// Round, 1-based; recorded rounds may have gaps, the last round is always there.
    pub round: Vec<u32>,
    /// Point played, if the domain has numbered points.
    pub point: Vec<Option<i64>>,
    measures: Measures,
    measured: Vec<Vec<f64>>,
}

impl Trace {
    /// Creates a trace without rows.
    pub fn new(measures: Measures) -> Self {
        let measured = vec![Vec::new(); measures.columns().len()];
        Self { trial: Vec::new(), round: Vec::new(), point: Vec::new(), measures, measured }
    }

    /// Returns which quantities are measured.
    pub fn measures(&self) -> Measures {
        self.measures
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.trial.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.trial.is_empty()
    }

    /// Appends a row; `measured` holds its values in the order of [`Measures::columns`].
    pub fn push(&mut self, trial: u64, round: u64, point: Option<usize>, measured: impl IntoIterator<Item = f64>) {
        self.trial.push(trial as u32);
        self.round.push(round as u32);
        self.point.push(point.map(|point| point as i64));
        for (column, value) in self.measured.iter_mut().zip(measured) {
            column.push(value);
        }
    }

    /// Appends the rows of another trace with the same measures; an empty trace takes those of the other.
    pub fn extend(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        debug_assert_eq!(self.measures, other.measures);
        self.trial.extend(other.trial);
        self.round.extend(other.round);
        self.point.extend(other.point);
        for (column, values) in self.measured.iter_mut().zip(other.measured) {
            column.extend(values);
        }
    }

    /// Returns the memory of the rows, in bytes.
    pub fn n_bytes(&self) -> usize {
        self.len() * (2 * size_of::<u32>() + size_of::<Option<i64>>() + self.measured.len() * size_of::<f64>())
    }

    /// Returns the first rows, at most `n_rows`.
    pub fn first_rows(&self, n_rows: usize) -> Self {
        self.rows(0..n_rows.min(self.len()))
    }

    /// Returns these rows; panics if there are fewer.
    pub fn rows(&self, rows: Range<usize>) -> Self {
        Self {
            trial: self.trial[rows.clone()].to_vec(),
            round: self.round[rows.clone()].to_vec(),
            point: self.point[rows.clone()].to_vec(),
            measures: self.measures,
            measured: self.measured.iter().map(|column| column[rows.clone()].to_vec()).collect(),
        }
    }

    /// Returns the measured columns, in the order of [`Measures::columns`].
    pub fn measured(&self) -> &[Vec<f64>] {
        &self.measured
    }

    /// Returns the measured columns, to fill them.
    pub fn measured_mut(&mut self) -> &mut [Vec<f64>] {
        &mut self.measured
    }

    /// Returns whether this quantity is measured.
    pub fn has(&self, column: Quantity) -> bool {
        self.measures.columns().contains(&column)
    }

    fn place(&self, column: Quantity) -> usize {
        let place = self.measures.columns().iter().position(|found| *found == column);
        place.unwrap_or_else(|| panic!("{:?} runs do not measure {column:?}", self.measures))
    }

    /// Returns whether all columns are equally long.
    pub fn is_rectangular(&self) -> bool {
        let n_rows = self.len();
        self.measured.iter().all(|column| column.len() == n_rows) && self.round.len() == n_rows && self.point.len() == n_rows
    }
}

impl Default for Trace {
    /// Creates an empty trace, for [`Trace::extend`].
    fn default() -> Self {
        Self::new(Measures::default())
    }
}

impl Index<Quantity> for Trace {
    type Output = Vec<f64>;

    fn index(&self, column: Quantity) -> &Vec<f64> {
        &self.measured[self.place(column)]
    }
}

impl IndexMut<Quantity> for Trace {
    fn index_mut(&mut self, column: Quantity) -> &mut Vec<f64> {
        let place = self.place(column);
        &mut self.measured[place]
    }
}
