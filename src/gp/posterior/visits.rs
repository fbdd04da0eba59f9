//! Which points were visited, how often, with what sum of rewards.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Visited points in the order of their first visit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Visits {
    /// Points, in order of first visit.
    pub points: Vec<u32>,
    /// How often each was observed.
    pub counts: Vec<u64>,
    /// Sum of the rewards at each.
    pub sums: Vec<f64>,
    /// Slot of each point.
    slots: BTreeMap<u32, u32>,
}

impl Visits {
    /// The slot of a point, if it was visited.
    #[must_use]
    pub fn slot(&self, point: usize) -> Option<usize> {
        self.slots.get(&(point as u32)).map(|&slot| slot as usize)
    }

    /// Number of distinct points.
    #[must_use]
    pub fn n_distinct(&self) -> usize {
        self.points.len()
    }

    /// Number of observations.
    #[must_use]
    pub fn n_observations(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Counts one observation; returns the point's slot and whether it is new.
    pub fn add(&mut self, point: usize, reward: f64) -> (usize, bool) {
        if let Some(slot) = self.slot(point) {
            self.counts[slot] += 1;
            self.sums[slot] += reward;
            return (slot, false);
        }
        let slot = self.points.len();
        self.points.push(point as u32);
        self.counts.push(1);
        self.sums.push(reward);
        self.slots.insert(point as u32, slot as u32);
        (slot, true)
    }
}
