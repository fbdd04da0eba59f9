//! A linear model in either form: in the span of the points visited while these are few, over the coordinates once they are many.

use super::streak::Observed;
use super::weights::lower_root;
use super::{FeatureDualForm, Visits, WeightModel};
use crate::score::Moments;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Distinct points for each coordinate up to which a model stays in their span: a change of point takes K² and K n multiply-adds there, and 2.5 n² over
/// the coordinates; a backend that follows the visited points needs the former anyway.
const MOST_POINTS: usize = 2;

/// Smallest ridge, as a share of the prior variance, of a model in a span: below, `ridge / count` comes near to what covariances round off.
const LEAST_RIDGE: f64 = 1e-10;

/// The state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LinearModel {
    /// See [`FeatureDualForm`].
    Span(FeatureDualForm),
    /// See [`WeightModel`].
    Weights(WeightModel),
}

impl LinearModel {
    /// A model in `n` coordinates for points of prior variance at most `prior`; `ridge > 0`.
    #[must_use]
    pub fn new(ridge: f64, n: usize, prior: f64) -> Self {
        if ridge < LEAST_RIDGE * prior { Self::over_coordinates(ridge, n) } else { Self::Span(FeatureDualForm::new(ridge, n)) }
    }

    /// The same in the form that says the moments of a few coordinates for less.
    #[must_use]
    pub fn over_coordinates(ridge: f64, n: usize) -> Self {
        Self::Weights(WeightModel::new(ridge, n))
    }

    /// See [`FeatureDualForm::check`].
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check<'c>(&self, visits: &Visits, coordinates: impl Fn(u32) -> &'c [f64] + Copy) -> Result<(), &'static str> {
        match self {
            Self::Span(model) => model.check(visits, |slot| coordinates(visits.points[slot])),
            Self::Weights(model) => model.check(),
        }
    }

    /// The regularizer.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        match self {
            Self::Span(model) => model.ridge(),
            Self::Weights(model) => model.ridge(),
        }
    }

    /// Number of coordinates.
    #[must_use]
    pub fn n(&self) -> usize {
        match self {
            Self::Span(model) => model.n(),
            Self::Weights(model) => model.n(),
        }
    }

    /// Realised information gain `½ ln det(V / ridge)`.
    #[must_use]
    pub fn gain(&self) -> f64 {
        match self {
            Self::Span(model) => model.gain(),
            Self::Weights(model) => model.gain(),
        }
    }

    /// Observations since the state was last rebuilt.
    #[must_use]
    pub fn since_rebuild(&self) -> u64 {
        match self {
            Self::Span(model) => model.since_rebuild(),
            Self::Weights(model) => model.since_rebuild(),
        }
    }

    /// The direction `u` of the open streak.
    #[must_use]
    pub fn direction(&self) -> &[f64] {
        match self {
            Self::Span(model) => model.direction(),
            Self::Weights(model) => model.direction(),
        }
    }

    /// The same over the visited points, where the model has it and there is an open streak.
    #[must_use]
    pub fn row(&self) -> Option<&[f64]> {
        match self {
            Self::Span(model) => Some(model.row()).filter(|row| !row.is_empty()),
            Self::Weights(_) => None,
        }
    }

    /// Adds an observation of a point; `visits` do not count it yet, and `coordinates` are those of a point.
    pub fn observe<'c>(
        &mut self,
        point: u32,
        visits: &Visits,
        coordinates: impl Fn(u32) -> &'c [f64] + Copy,
        reward: f64,
    ) -> Observed {
        match self {
            Self::Span(model) => {
                let slot = visits.slot(point as usize).unwrap_or(visits.n_distinct());
                let of_slot = |slot: usize| coordinates(visits.points.get(slot).copied().unwrap_or(point));
                model.observe(slot, visits, of_slot, reward)
            }
            Self::Weights(model) => model.observe(u64::from(point), coordinates(point), reward),
        }
    }

    /// `theta · c` and `ridge c^T V^{-1} c` (at least 0).
    #[must_use]
    pub fn moments<'c>(&self, c: &[f64], visits: &Visits, coordinates: impl Fn(u32) -> &'c [f64] + Copy) -> Moments {
        match self {
            Self::Span(model) => model.moments(c, |slot| coordinates(visits.points[slot])),
            Self::Weights(model) => model.moments(c),
        }
    }

    /// As [`LinearModel::moments`] of coordinates `c` in this range and zeros elsewhere, where that is less work.
    #[must_use]
    pub fn moments_within(&self, c: &[f64], range: Range<usize>) -> Option<Moments> {
        match self {
            Self::Span(_) => None,
            Self::Weights(model) => Some(model.moments_within(c, range)),
        }
    }

    /// The mean alone, for less.
    #[must_use]
    pub fn mean(&self, c: &[f64]) -> f64 {
        match self {
            Self::Span(model) => model.mean(c),
            Self::Weights(model) => model.mean(c),
        }
    }

    /// See [`WeightModel::factor`].
    #[must_use]
    pub fn factor<'c>(&self, visits: &Visits, coordinates: impl Fn(u32) -> &'c [f64] + Copy) -> Option<(Vec<f64>, Vec<f64>)> {
        match self {
            Self::Span(model) => {
                let (n, (theta, form)) = (model.n(), model.form(|slot| coordinates(visits.points[slot])));
                Some((theta, lower_root(n, |i, j| form[i * n + j])?))
            }
            Self::Weights(model) => model.factor(),
        }
    }

    /// Whether the last new point was one too many for this form: a rebuild takes the other.
    #[must_use]
    pub fn is_outgrown(&self, n_distinct: usize) -> bool {
        matches!(self, Self::Span(model) if MOST_POINTS * model.n() + 1 == n_distinct)
    }

    /// Rebuilds the state from the visits. Returns false, changing nothing, if the factorization fails.
    pub fn rebuild<'c>(&mut self, visits: &Visits, coordinates: impl Fn(u32) -> &'c [f64] + Copy) -> bool {
        if let Self::Span(model) = self
            && MOST_POINTS * model.n() < visits.n_distinct()
            && let Some(weights) = WeightModel::of(model, groups(visits, coordinates))
        {
            *self = Self::Weights(weights);
            return true;
        }
        match self {
            Self::Span(model) => model.rebuild(visits, |slot| coordinates(visits.points[slot])),
            Self::Weights(model) => model.rebuild(groups(visits, coordinates)),
        }
    }

    /// See [`FeatureDualForm::state_error`].
    #[must_use]
    pub fn state_error(&self, prior: f64, visits: &Visits) -> Moments {
        match self {
            Self::Span(model) => model.state_error(prior, visits.largest_count()),
            Self::Weights(model) => model.state_error(prior),
        }
    }
}

/// Collapsed visits: coordinates, count and sum of rewards.
fn groups<'c>(visits: &Visits, coordinates: impl Fn(u32) -> &'c [f64]) -> impl Iterator<Item = (&'c [f64], f64, f64)> {
    (visits.points.iter().zip(&visits.counts).zip(&visits.sums))
        .map(move |((&point, &count), &sum)| (coordinates(point), count as f64, sum))
}
