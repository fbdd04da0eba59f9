//! What every form of posterior offers.

use super::Visits;
use crate::score::{Basis, Change, Moments, ScoreModel};

/// A posterior over a finite domain that a policy can hold, whatever its form.
pub trait Posterior: ScoreModel {
    /// Over a product domain: gives the next number to the play of these rows, one of each axis.
    fn define(&mut self, rows: &[u32]) {
        let _ = rows;
    }

    /// Adds one observation of `point`.
    fn observe(&mut self, point: usize, reward: f64);

    /// What the last observation changed, for a backend; `Rebuild` if more than one observation came since
    /// [`Posterior::screened`].
    fn change(&self) -> Change<'_>;

    /// Says that a backend has taken the change.
    fn screened(&mut self);

    /// Posterior mean of one point: the bits of [`ScoreModel::exact`], without the price of the variance.
    fn mean(&self, point: usize) -> f64;

    /// Realised information gain `½ ln det(I + K_t / ridge)` of the observations so far.
    fn information_gain(&self) -> f64;

    /// The points visited, with counts and sums of rewards.
    fn visits(&self) -> &Visits;

    /// The basis that a backend opens for this posterior.
    fn basis(&self) -> Basis;

    /// The state as plain data with a version, to be given back to the form's own `restore`.
    fn save(&self) -> serde_json::Value;

    /// Posterior mean and variance of every point of the domain.
    fn all_moments(&self) -> Vec<Moments> {
        (0..self.basis().n_points()).map(|point| self.exact(point)).collect()
    }
}
