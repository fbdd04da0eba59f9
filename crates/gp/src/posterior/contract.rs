//! The interface that every form of posterior implements.

use super::Visits;
use crate::score::{Basis, Change, Moments, ScoreModel, lowest_within_tie};

/// A posterior over a finite domain, as a policy holds it.
pub trait Posterior: ScoreModel {
    /// Assigns the next point index to the play with these rows, one per axis (product domains).
    fn define(&mut self, _rows: &[u32]) {}

    /// Adds one observation of `point`.
    fn observe(&mut self, point: usize, reward: f64);

    /// Tells the exploration factor of the coming round, by which a posterior may prepare for the points that it chooses.
    ///
    /// No result depends on it.
    fn expect(&mut self, _beta: f64) {}

    /// Returns what the last observation changed, for a backend.
    ///
    /// The change is `Rebuild` if more than one observation was made since [`Posterior::screened`] was last called.
    fn change(&self) -> Change<'_>;

    /// Records that a backend has applied the change.
    fn screened(&mut self);

    /// Returns the posterior mean of one point, without computing its variance.
    ///
    /// The result has the same bits as the mean of [`ScoreModel::exact`].
    fn mean(&self, point: usize) -> f64;

    /// Returns the posterior means of the visited points, in their order.
    ///
    /// They are those of [`Posterior::mean`] up to rounding, some 1e-16 of the largest average reward.
    fn visited_means(&self) -> Vec<f64> {
        self.visits().points.iter().map(|&point| self.mean(point as usize)).collect()
    }

    /// Returns the visited point with the highest posterior mean; ties go to the lowest index.
    ///
    /// `None` before the first observation, and where a mean is NaN or the highest is infinite.
    fn recommend(&self) -> Option<usize> {
        let means: Vec<(u32, f64)> = self.visits().points.iter().copied().zip(self.visited_means()).collect();
        lowest_within_tie(&means).map(|point| point as usize)
    }

    /// Returns the realised information gain `½ ln det(I + K_t / ridge)` of all observations.
    fn information_gain(&self) -> f64;

    /// Returns the visited points with their counts and sums of rewards.
    fn visits(&self) -> &Visits;

    /// Returns the basis that a backend opens for this posterior.
    fn basis(&self) -> Basis;

    /// Returns the posterior mean and variance of every point of the domain.
    fn all_moments(&self) -> Vec<Moments> {
        (0..self.basis().n_points()).map(|point| self.exact(point)).collect()
    }
}
