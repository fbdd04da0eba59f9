//! Defines the plain data of lanes that play whole rounds of trials on a device.
//!
//! A lane plays rounds by a posterior of its own and names an action only where the model that decides must choose the same one
//! (`docs/derivations/device-loop.md`).

use crate::BackendError;

/// Largest number of rounds of a job.
pub const MOST_ROUNDS: usize = 64;

/// Largest number of streaks that a lane plays.
pub const MOST_STREAKS: usize = 1024;

/// A round that a lane may play.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneRound {
    /// Exploration factor, at least 0.
    pub beta: f64,
    /// The point of a round that the host has decided.
    pub forced: Option<u32>,
    /// What is added to the function before and after a reward is clipped.
    pub noise: f64,
    /// See `noise`.
    pub added: f64,
}

/// A trial that begins in a lane.
#[derive(Debug, Clone, Copy)]
pub struct LaneStart<'a> {
    /// The function at every point.
    pub function: &'a [f64],
}

/// The next rounds of a lane, at most [`MOST_ROUNDS`].
#[derive(Debug, Clone)]
pub struct LaneJob<'a> {
    pub lane: usize,
    pub start: Option<LaneStart<'a>>,
    /// Ridge of the trial's model, above 0.
    pub ridge: f64,
    /// Range to which rewards are clipped.
    pub clip: (f64, f64),
    pub rounds: &'a [LaneRound],
}

/// What a lane played.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneAnswer {
    /// The points of its first rounds: certified, or as forced.
    pub actions: Vec<u32>,
    /// Whether it must leave later rounds to the host for good.
    pub is_unbounded: bool,
    /// Whether it ended before a round that it has not decided yet, only because it had worked enough.
    pub is_paused: bool,
    /// Tiles that were scored.
    pub tiles: u32,
}

/// Lanes on a device.
pub trait DeviceLanes: Send {
    /// Returns the number of lanes.
    fn n_lanes(&self) -> usize;

    /// Starts jobs of ascending lanes in one submission, and returns before they are done.
    ///
    /// # Errors
    /// if the device is lost or out of memory.
    fn send(&mut self, jobs: &[LaneJob<'_>]) -> Result<(), BackendError>;

    /// Waits for the jobs and returns an answer to each.
    ///
    /// # Errors
    /// if the device is lost, or returns what no lane can play.
    fn receive(&mut self) -> Result<Vec<LaneAnswer>, BackendError>;

    /// Returns the bytes sent to the device and received from it so far.
    fn bytes(&self) -> (u64, u64);
}
