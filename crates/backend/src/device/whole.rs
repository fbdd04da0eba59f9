//! Defines the plain data of lanes that play whole rounds of trials on a device.
//!
//! A lane plays rounds by a posterior of its own and names an action only where the model that decides must choose the same one
//! (`docs/derivations/device-loop.md`).

use crate::BackendError;
use privateer_gp::score::FactorGrowth;
use privateer_gp::{FunctionValues, KernelSum};
use std::sync::Arc;

/// Largest number of rounds of a job.
pub const MOST_ROUNDS: usize = 64;

/// Largest number of streaks that a lane plays.
pub(crate) const MOST_STREAKS: usize = 1024;

/// A round of a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LaneRound {
    /// The host has decided it.
    Forced {
        /// The point.
        point: u32,
        /// Its reward as released.
        reward: f64,
    },
    /// The lane decides it.
    Open {
        /// Exploration factor at no information gain, at least 0.
        least: f64,
        /// What is added to the function before a reward is clipped.
        noise: f64,
        /// What is added after.
        added: f64,
    },
}

/// The next rounds of a lane.
#[derive(Debug, Clone)]
pub struct LaneJob {
    /// The lane.
    pub lane: usize,
    /// The function, for a trial that begins.
    pub function: Option<FunctionValues>,
    /// Ridge of the trial's model, above 0.
    pub ridge: f64,
    /// How the exploration factor grows.
    pub growth: FactorGrowth,
    /// Range to which rewards are clipped.
    pub clip: (f64, f64),
    /// The rounds, at most [`MOST_ROUNDS`]; those that the host has decided come first.
    pub rounds: Vec<LaneRound>,
    /// Bits of the rounds after which the lane names the recommended point; the lowest one stands for the first round.
    pub recorded: u64,
}

/// What a lane played.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneAnswer {
    /// The points of its first rounds: certified, or as forced.
    pub actions: Vec<u32>,
    /// The recommended points after those rounds of `actions` for which they were asked; `None` where not certain.
    pub recommended: Vec<Option<u32>>,
    /// Whether it must leave later rounds to the host for good.
    pub is_unbounded: bool,
    /// Whether it ended before a round that it has not decided yet, only because it had worked enough.
    pub is_paused: bool,
    /// Tiles that were scored.
    pub tiles: u32,
}

/// Where a sum of kernels may be largest or least, as a device has evaluated it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionEnds {
    /// Largest and least value by the device.
    pub values: [f64; 2],
    /// Bound on the distance of a value from the host's.
    pub error: f64,
    /// All points whose value by the host may be the largest or the least.
    pub points: Vec<u32>,
}

impl FunctionEnds {
    /// Returns the first point of the largest and of the least value by the host.
    ///
    /// # Errors
    /// if the device's values are not within their bound.
    pub fn settled(&self, sum: &KernelSum) -> Result<[usize; 2], BackendError> {
        let mut points: Vec<usize> = self.points.iter().map(|&point| point as usize).collect();
        points.sort_unstable();
        let first = |better: fn(f64, f64) -> bool| {
            points.iter().copied().reduce(|best, point| if better(sum.at(point), sum.at(best)) { point } else { best })
        };
        let near = |point: usize, value: f64| (sum.at(point) - value).abs() <= self.error;
        match [first(|a, b| b < a), first(|a, b| a < b)] {
            [Some(most), Some(least)] if near(most, self.values[0]) && near(least, self.values[1]) => Ok([most, least]),
            _ => Err(BackendError::untrusted(format!("evaluated a function from {:?} to {:?}", self.values[1], self.values[0]))),
        }
    }
}

/// A basis on a device that plays whole rounds.
pub trait DeviceRounds: Send + Sync {
    /// Evaluates sums of kernels at every point, and keeps the values for lanes that begin with them; `None` for a sum that the
    /// host must evaluate.
    ///
    /// # Errors
    /// if the device has no memory left or is lost.
    fn evaluate(&self, sums: &[Arc<KernelSum>]) -> Result<Vec<Option<FunctionEnds>>, BackendError> {
        Ok(vec![None; sums.len()])
    }

    /// Allocates lanes for trials of at most this many streaks; `None` where so many do not fit.
    ///
    /// # Errors
    /// if the device has no memory left or is lost.
    fn lanes(&self, n_lanes: usize, n_streaks: usize) -> Result<Option<Box<dyn DeviceLanes>>, BackendError>;
}

/// Lanes on a device.
pub trait DeviceLanes: Send {
    /// Starts jobs of ascending lanes in one submission, and returns before they are done.
    ///
    /// # Errors
    /// if the device is lost or out of memory.
    fn send(&mut self, jobs: &[LaneJob]) -> Result<(), BackendError>;

    /// Waits for the jobs and returns an answer to each.
    ///
    /// # Errors
    /// if the device is lost, or returns what no lane can play.
    fn receive(&mut self) -> Result<Vec<LaneAnswer>, BackendError>;

    /// Returns the bytes sent to the device and received from it so far.
    fn bytes(&self) -> (u64, u64);
}
