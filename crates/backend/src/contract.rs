//! Defines the backend traits.

use privateer_config::error::Error;
use privateer_gp::score::{Basis, Candidates, TrialScore};
use std::fmt;
use std::sync::Arc;

/// A device or path that screens scores.
pub trait Backend: Send + Sync + fmt::Debug {
    /// Name for the manifest.
    fn name(&self) -> &'static str;

    /// The device behind it, for the manifest; `None` for the processor.
    fn adapter(&self) -> Option<String> {
        None
    }

    /// Makes what all trials over one basis share (tables, resident on the device).
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::Device`] if the tables do not fit.
    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, Error>;
}

/// A basis made ready: shared by all trials and threads.
pub trait Domain: Send + Sync {
    /// Most trials that a batch may have; more do not fit.
    fn most_in_batch(&self) -> usize {
        usize::MAX
    }

    /// How many trials with models of this kind of update the backend wants in lockstep.
    fn batch(&self, update_kind: UpdateKind) -> usize;

    /// Into how many screens a batch is best split, so that one is scored while the trials of another are updated.
    fn in_flight(&self) -> usize {
        1
    }

    /// Opens screens for `n_trials` trials in lockstep.
    fn open(&self, n_trials: usize) -> Box<dyn Screen>;
}

/// The screens of some trials in lockstep.
pub trait Screen: Send {
    /// Starts a round: takes each trial's change. Work may go on in the background until [`Screen::finish`].
    ///
    /// # Errors
    /// [`Error::Device`]: the device failed; the trials' states are unchanged and can be given to another backend.
    /// [`Error::Untrusted`]: the device gave back what cannot be; whatever it answered before may be wrong as well.
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), Error>;

    /// Ends the round that was begun with these very requests: writes, for each trial, every point that could be its best,
    /// ascending, at least one. `out[i]` answers `trials[i]`.
    ///
    /// # Errors
    /// As [`Screen::begin`].
    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), Error>;

    /// A whole round.
    ///
    /// # Errors
    /// As [`Screen::begin`].
    fn round(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), Error> {
        self.begin(trials)?;
        self.finish(trials, out)
    }

    /// What happened so far.
    fn counters(&self) -> Counters;
}

/// How models change from round to round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    /// One row an observation: a rank-one update.
    RankOne,
    /// The whole model changes every round.
    Full,
}

/// Counts of one or several screens; they go to the manifest, never into parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Trial-rounds screened.
    pub rounds: u64,
    /// Candidates handed back.
    pub candidates: u64,
    /// Trial-rounds with more than one candidate.
    pub ambiguous: u64,
    /// Trial-rounds in which a whole factor was scored by interpolation from pivots.
    pub interpolated: u64,
    /// Trial-rounds screened block by block, and the blocks that were scored in them.
    pub pruned: u64,
    /// See `pruned`.
    pub blocks: u64,
    /// Screens rebuilt from the f64 state.
    pub rebuilds: u64,
    /// Trial-rounds in which every point was scored in f64, because more could be the best than a device hands back.
    pub scans: u64,
    /// Screens that went on in f64, as f32 had named too many candidates.
    pub doubled: u64,
    /// Bytes of rounds sent to a device, without its tables.
    pub sent: u64,
    /// Screens that left a failing device for the CPU.
    pub fallbacks: u64,
    /// Points found outside their band at a rebuild: must stay 0.
    pub violations: u64,
}

impl Counters {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.candidates += other.candidates;
        self.ambiguous += other.ambiguous;
        self.interpolated += other.interpolated;
        self.pruned += other.pruned;
        self.blocks += other.blocks;
        self.rebuilds += other.rebuilds;
        self.scans += other.scans;
        self.doubled += other.doubled;
        self.sent += other.sent;
        self.fallbacks += other.fallbacks;
        self.violations += other.violations;
    }
}

/// How wide the band around a screened score is taken. Anything but `Proved` is for tests of the contract itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// The error bound.
    Proved,
    /// No band and no tie tolerance: hands back the screen's own argmax. Breaks the contract.
    Zero,
    /// Bounds of blocks that are not looked at move by nothing. Breaks the contract.
    Stale,
    /// Every point is a candidate. Slow, and must change no byte.
    Infinite,
}
