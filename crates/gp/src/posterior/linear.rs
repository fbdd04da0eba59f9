//! A linear model in the dual form (few visited points) or over the coordinates (many).

use super::Visits;
use super::streak::StreakUpdate;
use super::visited::VisitedModel;
use super::weights::{WeightModel, lower_root};
use crate::Plays;
use crate::score::{Moments, RowError, StateError};
use privateer_numerics::linalg::{Columns, dot};
use std::borrow::Cow;
use std::ops::Range;

/// Number of distinct points per coordinate up to which a model stays in the dual form.
///
/// A change of point costs K² and K n multiply-adds in the dual form, and 2.5 n² over the coordinates. A backend that
/// tracks the visited points needs the dual form anyway.
const MOST_POINTS: usize = 2;

/// Smallest ridge, as a share of the prior variance, of a model in the dual form.
///
/// Below it, `ridge / count` approaches the rounding errors of the covariances.
const LEAST_RIDGE: f64 = 1e-10;

/// A linear model in either form; methods without a comment are those of both forms, which change nothing where they fail.
#[derive(Debug, Clone, PartialEq)]
pub enum LinearModel {
    /// The dual form, see [`VisitedModel`].
    Span(VisitedModel),
    /// The form over coordinates, see [`WeightModel`].
    Weights(WeightModel),
}

/// Evaluates an expression of the model in either form.
macro_rules! either {
    ($self:ident, $model:ident => $value:expr) => {
        match $self {
            Self::Span($model) => $value,
            Self::Weights($model) => $value,
        }
    };
}

impl LinearModel {
    /// Creates a model in `n` coordinates for prior variances of at most `prior`; `ridge > 0`.
    pub fn new(ridge: f64, n: usize, prior: f64) -> Self {
        if ridge < LEAST_RIDGE * prior {
            Self::Weights(WeightModel::new(ridge, n))
        } else {
            Self::Span(VisitedModel::new(ridge, n))
        }
    }

    pub fn ridge(&self) -> f64 {
        either!(self, model => model.ridge)
    }

    pub fn gain(&self) -> f64 {
        either!(self, model => model.gain())
    }

    pub fn since_rebuild(&self) -> u64 {
        either!(self, model => model.since_rebuild)
    }

    pub fn direction(&self) -> &[f64] {
        either!(self, model => &model.direction)
    }

    pub fn weights(&self) -> Vec<f64> {
        either!(self, model => model.weights())
    }

    /// Returns the direction over the visited points; `None` over coordinates or without a streak.
    pub fn row(&self) -> Option<&[f64]> {
        match self {
            Self::Span(model) => Some(&model.row[..]).filter(|row| !row.is_empty()),
            Self::Weights(_) => None,
        }
    }

    pub fn observe(&mut self, slot: usize, visits: &Visits, plays: &Plays, reward: f64) -> StreakUpdate {
        match self {
            Self::Span(model) => model.observe(slot, visits, plays, reward),
            Self::Weights(model) => model.observe(slot as u64, &plays.features(visits.points[slot] as usize), reward),
        }
    }

    /// Returns `theta · c` and `ridge c^T V^{-1} c` (at least 0).
    pub fn moments(&self, c: &[f64], visits: &Visits, plays: &Plays) -> Moments {
        match self {
            Self::Span(model) => model.moments(c, dot(c, c), visits, plays),
            Self::Weights(model) => model.moments(c),
        }
    }

    /// Returns [`LinearModel::moments`] of coordinates `c` in `range` and zeros elsewhere.
    ///
    /// `None` in the dual form, where the restriction to a range saves no work.
    pub fn moments_within(&self, c: &[f64], range: Range<usize>) -> Option<Moments> {
        match self {
            Self::Span(_) => None,
            Self::Weights(model) => Some(model.moments_within(c, range)),
        }
    }

    /// Returns [`LinearModel::moments_within`] of many columns of coordinates, then of the columns' padding.
    ///
    /// `None` in the dual form, and before the first change of point.
    pub fn moments_within_each(&self, range: Range<usize>, columns: &Columns) -> Option<Vec<Moments>> {
        match self {
            Self::Span(_) => None,
            Self::Weights(model) => model.moments_within_each(range, columns),
        }
    }

    pub fn mean(&self, c: &[f64]) -> f64 {
        either!(self, model => model.mean(c))
    }

    pub fn open_slot(&self) -> Option<usize> {
        either!(self, model => model.open_slot())
    }

    /// Returns weights and a triangular factor, see [`WeightModel::factor`].
    pub fn factor(&self, visits: &Visits, plays: &Plays) -> Option<(Vec<f64>, Vec<f64>)> {
        match self {
            Self::Span(model) => {
                let (n, (theta, form)) = (model.theta.len(), model.form(visits, plays));
                Some((theta, lower_root(n, |i, j| form[i * n + j])?))
            }
            Self::Weights(model) => model.factor(),
        }
    }

    /// Returns whether the last new point exceeded the dual form; the next rebuild replaces it.
    pub fn is_outgrown(&self, n_distinct: usize) -> bool {
        matches!(self, Self::Span(model) if MOST_POINTS * model.theta.len() + 1 == n_distinct)
    }

    pub fn rebuild(&mut self, visits: &Visits, plays: &Plays) -> bool {
        if let Self::Span(model) = self
            && MOST_POINTS * model.theta.len() < visits.n_distinct()
            && let Some(weights) = WeightModel::of(model, groups(visits, plays))
        {
            *self = Self::Weights(weights);
            return true;
        }
        match self {
            Self::Span(model) => model.rebuild(visits, plays),
            Self::Weights(model) => model.rebuild(groups(visits, plays)),
        }
    }

    pub fn state_error(&self, prior: f64, plays: &Plays) -> StateError {
        match self {
            Self::Span(model) => model.state_error(prior, plays),
            Self::Weights(model) => model.state_error(prior),
        }
    }

    /// Bounds the rounding errors of the current row; [`WeightModel`] stores the rows that it reports.
    pub fn row_error(&self, prior: f64, plays: &Plays) -> RowError {
        match self {
            Self::Span(model) => model.row_error(prior, plays),
            Self::Weights(_) => RowError::default(),
        }
    }

    /// Bounds the error of the variance of [`LinearModel::factor`], see [`crate::score::Factor::error`].
    pub fn factor_error(&self, prior: f64, plays: &Plays) -> [f64; 2] {
        match self {
            Self::Span(model) => model.factor_error(prior, plays),
            Self::Weights(model) => [model.factor_error(prior), 0.0],
        }
    }
}

/// Returns coordinates, count and sum of rewards of each distinct visited point.
fn groups<'c>(visits: &Visits, plays: &'c Plays) -> impl Iterator<Item = (Cow<'c, [f64]>, f64, f64)> {
    (visits.points.iter().zip(&visits.counts).zip(&visits.sums))
        .map(move |((&point, &count), &sum)| (plays.features(point as usize), count as f64, sum))
}
