//! Gathers the jobs of lanes that play whole rounds, so that those of many trials share a submission.

use crate::device::whole::{DeviceLanes, LaneAnswer, LaneJob};
use crate::{BackendError, Counters};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lanes in which a device plays whole rounds of trials ahead of the host.
///
/// A submission is: [`Ahead::add`] of any lanes, [`Ahead::send`], [`Ahead::receive`], [`Ahead::take`] of the same lanes.
pub struct Ahead(Mutex<AheadState>);

struct AheadState {
    lanes: Box<dyn DeviceLanes>,
    /// Jobs of the next submission, and lanes of the one in flight.
    waiting: BTreeMap<usize, LaneJob>,
    in_flight: Vec<usize>,
    answers: BTreeMap<usize, LaneAnswer>,
    failure: Option<BackendError>,
    counters: Counters,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

impl Ahead {
    pub(crate) fn new(lanes: Box<dyn DeviceLanes>) -> Self {
        Self(Mutex::new(AheadState {
            lanes,
            waiting: BTreeMap::new(),
            in_flight: Vec::new(),
            answers: BTreeMap::new(),
            failure: None,
            counters: Counters::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, AheadState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a lane's job to the next submission.
    pub fn add(&self, job: LaneJob) {
        self.state().waiting.insert(job.lane, job);
    }

    /// Sends the jobs that were added.
    pub fn send(&self) {
        let mut state = self.state();
        if state.waiting.is_empty() || state.failure.is_some() {
            return;
        }
        let jobs: Vec<LaneJob> = std::mem::take(&mut state.waiting).into_values().collect();
        state.in_flight = jobs.iter().map(|job| job.lane).collect();
        state.counters.submissions += 1;
        state.counters.lanes += jobs.len() as u64;
        state.failure = state.lanes.send(&jobs).err();
    }

    /// Waits for the jobs that were sent.
    pub fn receive(&self) {
        let mut state = self.state();
        let lanes = std::mem::take(&mut state.in_flight);
        if lanes.is_empty() || state.failure.is_some() {
            return;
        }
        match state.lanes.receive() {
            Ok(answers) => state.answers.extend(lanes.into_iter().zip(answers)),
            Err(error) => state.failure = Some(error),
        }
    }

    /// Returns the answer to a lane's job.
    ///
    /// # Errors
    /// If the device failed, or the job was not sent.
    pub fn take(&self, lane: usize) -> Result<LaneAnswer, BackendError> {
        let mut state = self.state();
        if let Some(answer) = state.answers.remove(&lane) {
            return Ok(answer);
        }
        Err(state.failure.clone().unwrap_or_else(|| BackendError::lost("the rounds of a lane were not sent")))
    }

    /// Returns the counts of submissions and bytes so far.
    pub fn counters(&self) -> Counters {
        let state = self.state();
        let (sent, received) = state.lanes.bytes();
        Counters { sent, received, ..state.counters }
    }
}
