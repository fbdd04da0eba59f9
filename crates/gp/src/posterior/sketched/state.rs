//! Saves and reads the state of a sketched posterior.

use crate::posterior::Visits;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// Number of observations between two recomputations of the updated numbers from the interactions.
pub const ANEW_EVERY: u32 = 1024;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SketchState {
    /// Counts of interactions; their sums of rewards are not used.
    pub visits: Visits,
    /// Points, ascending.
    pub dictionary: Vec<u32>,
    /// Numbers that would round differently if they were recomputed.
    pub followed: Option<TrackedMoments>,
}

/// Numbers that are updated with each interaction while a dictionary lives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrackedMoments {
    /// Observations since these numbers were computed from the interactions.
    pub since: u32,
    /// `V`, `m x m` row-major.
    pub precision: Vec<f64>,
    /// `V^{-1}`, `m x m` row-major.
    pub inverse: Vec<f64>,
    /// `c^T V^{-1} c` of every column.
    pub leverages: Vec<f64>,
}

impl SketchState {
    /// Reads a saved state over a domain of `n_points`, and its updated numbers.
    ///
    /// The updated numbers are present exactly if `follows`, that is, if dictionaries are long-lived.
    pub fn read(
        saved: serde_json::Value,
        n_points: usize,
        follows: bool,
    ) -> Result<(Self, Option<TrackedMoments>), serde_json::Error> {
        let mut state: Self = serde_json::from_value(saved)?;
        state.visits.check(n_points).map_err(serde_json::Error::custom)?;
        let ascending = state.dictionary.is_sorted_by(|a, b| a < b);
        if !ascending || state.dictionary.iter().any(|&point| n_points <= point as usize) {
            return Err(serde_json::Error::custom("the dictionary is not an ascending list of points of the domain"));
        }
        let followed = state.followed.take();
        if followed.is_some() != follows {
            return Err(serde_json::Error::custom("the dictionary lives for another time than the spec says"));
        }
        Ok((state, followed))
    }
}

impl TrackedMoments {
    /// Checks that the numbers fit `m` features and `n` columns.
    pub fn check(&self, m: usize, n: usize) -> Result<(), serde_json::Error> {
        let sized = [self.precision.len(), self.inverse.len()] == [m * m; 2] && self.leverages.len() == n;
        let finite = self.precision.iter().chain(&self.inverse).all(|x| x.is_finite());
        let positive = self.leverages.iter().all(|x| x.is_finite() && 0.0 <= *x);
        if sized && finite && positive && self.since < ANEW_EVERY {
            return Ok(());
        }
        Err(serde_json::Error::custom("what was followed does not fit the dictionary and the visits"))
    }
}
