//! The visited points, with the number of plays and the sum of rewards of each.

use crate::score::lowest_within_tie;
use std::collections::BTreeMap;

/// Visited points in the order of their first interactions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visits {
    /// Points, in the order of their first interactions.
    pub points: Vec<u32>,
    /// Number of observations of each point.
    pub counts: Vec<u64>,
    /// Sum of the rewards at each point.
    pub sums: Vec<f64>,
    slots: BTreeMap<u32, u32>,
}

impl Visits {
    /// Returns the slot of a point, if it was visited.
    pub fn slot(&self, point: usize) -> Option<usize> {
        self.slots.get(&(point as u32)).map(|&slot| slot as usize)
    }

    /// Returns the number of distinct points.
    pub fn n_distinct(&self) -> usize {
        self.points.len()
    }

    /// Returns the number of observations.
    pub fn n_observations(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the point with the highest average reward, the lowest index among ties; `None` before the first observation.
    pub fn best_average(&self) -> Option<usize> {
        let average = |slot: usize| (self.points[slot] as usize, self.sums[slot] / self.counts[slot] as f64);
        lowest_within_tie(&(0..self.n_distinct()).map(average).collect::<Vec<_>>())
    }

    /// Counts one observation; returns the point's slot and whether the point is new.
    pub fn add(&mut self, point: usize, reward: f64) -> (usize, bool) {
        self.add_likely(point, reward, None)
    }

    /// Counts one observation as [`Visits::add`] does, and tries the slot `likely` first.
    pub fn add_likely(&mut self, point: usize, reward: f64, likely: Option<usize>) -> (usize, bool) {
        let is_likely = |&slot: &usize| self.points.get(slot) == Some(&(point as u32));
        if let Some(slot) = likely.filter(is_likely).or_else(|| self.slot(point)) {
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
