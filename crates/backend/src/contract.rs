//! Defines the backend traits.

use crate::cpu::screens_set;
use crate::{Ahead, BackendError};
use privateer_gp::KernelSum;
use privateer_gp::score::{Basis, Candidates, TrialScore};
use std::fmt;
use std::sync::Arc;

/// A device or path that screens scores.
pub trait Backend: Send + Sync + fmt::Debug {
    /// Returns the name for the manifest.
    fn name(&self) -> &'static str;

    /// Returns the device's description for the manifest; `None` for the processor.
    fn adapter(&self) -> Option<String> {
        None
    }

    /// Prepares the data that all trials over one basis share (tables, resident on the device).
    ///
    /// # Errors
    /// If the tables do not fit.
    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, BackendError>;

    /// Returns whether the points of a decision set of this size are screened with the whole domain, and not scored one by one.
    fn screens_set(&self, basis: &Basis, size: usize, rounds: u64, update_kind: UpdateKind) -> bool {
        screens_set(basis, size, rounds, update_kind)
    }
}

/// A prepared basis, shared by all trials and threads.
pub trait Domain: Send + Sync {
    /// Returns the largest number of trials that fit in a batch.
    fn most_in_batch(&self) -> usize {
        usize::MAX
    }

    /// Returns how many trials in lockstep the backend prefers for models of this update kind.
    fn batch(&self, update_kind: UpdateKind) -> usize;

    /// Returns the best number of screens per batch, one scored while others' trials are updated.
    fn in_flight(&self) -> usize {
        1
    }

    /// Opens screens for `n_trials` trials in lockstep.
    fn open(&self, n_trials: usize) -> Box<dyn Screen>;

    /// Opens lanes in which a device plays whole rounds ahead of the host; `None` where it screens every round.
    ///
    /// * `n_rounds` — most rounds of a trial
    fn open_ahead(&self, _n_lanes: usize, _n_rounds: u64) -> Option<Arc<Ahead>> {
        None
    }

    /// Draws sums of kernels, if it can evaluate any, and returns where each is largest and least, for lanes that begin with them later.
    ///
    /// # Errors
    /// If a device gives wrong values.
    fn ends_of(&self, _draw: &dyn Fn() -> Option<Vec<Arc<KernelSum>>>) -> Result<Vec<SumEnds>, BackendError> {
        Ok(Vec::new())
    }

    /// Opens a screen on the processor for one trial, for rounds that lanes leave to the host.
    fn open_on_host(&self) -> Box<dyn Screen> {
        self.open(1)
    }

    /// Returns how many trials should share a submission, where trials of any cell over this basis can.
    ///
    /// `None` without submissions: the trials of a cell then run in batches of [`Domain::batch`].
    fn lanes(&self, _update_kind: UpdateKind) -> Option<usize> {
        None
    }

    /// Opens screens that send their rounds together; `sizes` are their numbers of trials.
    ///
    /// Their models change by `update_kind`, or by `Full` if kinds are mixed.
    ///
    /// Each round is: [`Together::prepare`], [`Screen::begin`] of any screens, [`Together::send`], [`Together::receive`],
    /// [`Screen::finish`] of the same screens. The next round may be prepared before, and begun by each screen after its
    /// finish.
    fn open_together(&self, sizes: &[usize], _: UpdateKind) -> (Vec<Box<dyn Screen>>, Arc<dyn Together>) {
        (sizes.iter().map(|&n_trials| self.open(n_trials)).collect(), Arc::new(Apart))
    }
}

/// A sum of kernels, and the first points of its largest and of its least value; `None` for one that the host must evaluate.
pub type SumEnds = (Arc<KernelSum>, Option<[usize; 2]>);

/// What screens opened by [`Domain::open_together`] share; a failure is returned by their next calls.
pub trait Together: Send + Sync {
    /// Prepares the next round.
    fn prepare(&self) {}

    /// Sends the rounds that screens began since the last call.
    fn send(&self) {}

    /// Waits for what was sent.
    fn receive(&self) {}

    /// Returns the counts of events so far that are not any one screen's.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// What screens share that share nothing.
pub(crate) struct Apart;

impl Together for Apart {}

/// Screens of trials in lockstep.
pub trait Screen: Send {
    /// Starts a round with each trial's change; work may continue until [`Screen::finish`].
    ///
    /// # Errors
    /// If [`BackendError::can_be_replaced`], the trials' states are unchanged and another backend can take over.
    /// [`BackendError::Untrusted`]: the device returned impossible data; its earlier answers may be wrong as well.
    fn begin(&mut self, _trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        Ok(())
    }

    /// Ends the round that was begun with the same requests; writes each trial's candidates.
    ///
    /// These are all points that could be the trial's best, at least one, in ascending order. `out[i]` answers `trials[i]`.
    ///
    /// # Errors
    /// See [`Screen::begin`].
    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError>;

    /// Runs a whole round.
    ///
    /// # Errors
    /// See [`Screen::begin`].
    fn round(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        self.begin(trials)?;
        self.finish(trials, out)
    }

    /// Returns whether rounds go to a device, together with those of other screens.
    ///
    /// Where they do not, nothing is gained by playing trials of several screens in turn, and their screens take memory.
    fn is_on_device(&self) -> bool {
        false
    }

    /// Returns the counts of events so far.
    fn counters(&self) -> Counters;
}

/// Kind of change of a model from round to round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    /// One row per observation: a rank-one update.
    RankOne,
    /// The whole model changes every round.
    Full,
}

/// Declares the counts, each with its name in `run.json`.
macro_rules! counters {
    ($($(#[$doc:meta])* $count:ident = $name:literal,)*) => {
        /// Event counts of one or several screens; they go to `run.json`, never into parts.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $count: u64,)*
        }

        impl Counters {
            /// Adds the counts of another screen.
            pub fn add(&mut self, other: &Self) {
                $(self.$count += other.$count;)*
            }

            /// Returns the counts with their names in `run.json`.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$count)),*]
            }

            /// Creates counts from those of these names in `run.json`.
            pub fn of_names(count: impl Fn(&str) -> u64) -> Self {
                Self { $($count: count($name)),* }
            }
        }
    };
}

counters! {
    /// Screened rounds, summed over trials.
    rounds = "rounds_screened",
    /// Returned candidates.
    candidates = "candidates",
    /// Trial rounds with more than one candidate.
    ambiguous = "rounds_with_several_candidates",
    /// Trial rounds in which a full factor was scored by interpolation from pivots.
    interpolated = "rounds_interpolated",
    /// Factors from sums that were computed together with those of other trials.
    together = "factors_made_together",
    /// Trial rounds with block pruning; `blocks` counts the blocks that were scored in them.
    pruned = "rounds_pruned",
    /// See `pruned`.
    blocks = "blocks_scored",
    /// Blocks bounded from an interpolation grid in them.
    bounded = "blocks_bounded_by_interpolation",
    /// Screens rebuilt from the f64 state.
    rebuilds = "screens_rebuilt",
    /// Trial rounds with f64 scores of every point, because a device reports fewer candidates.
    scans = "scans_in_f64",
    /// Screens that moved to f64, because f32 produced too many candidates.
    doubled = "screens_that_went_on_in_f64",
    /// Submissions of rounds to a device, and the trials in them.
    submissions = "submissions_to_a_device",
    /// See `submissions`.
    lanes = "rounds_screened_by_a_device",
    /// Bytes of rounds sent to a device, without its tables.
    sent = "bytes_sent_to_a_device",
    /// Bytes of answers received from a device.
    received = "bytes_received_from_a_device",
    /// Microseconds of CPU time of the engine's own threads in rounds on a device, where they are measured.
    host_us = "host_cpu_us_of_rounds_on_a_device",
    /// Screens that moved from a failing device to the CPU.
    fallbacks = "screens_given_to_the_cpu",
    /// Points found outside their band: must stay 0.
    violations = "band_violations",
    /// Choices that were compared with the best of all points in f64, on request.
    verified = "choices_verified",
    /// Those of them that were not the best: must stay 0.
    wrong = "choices_beside_the_best",
    /// Those of them with several points within the tie tolerance, of which the lowest is chosen.
    ties = "choices_among_ties",
}

impl Counters {
    /// Returns the share of the counts of submissions that falls to the items `from..to` of `all`; shares add up exactly.
    pub fn share(&self, from: u64, to: u64, all: u64) -> Self {
        let up_to = |count: u64, item: u64| (u128::from(count) * u128::from(item) / u128::from(all.max(1))) as u64;
        let of = |count: u64| up_to(count, to) - up_to(count, from);
        Self {
            submissions: of(self.submissions),
            lanes: of(self.lanes),
            sent: of(self.sent),
            received: of(self.received),
            host_us: of(self.host_us),
            ..Self::default()
        }
    }
}

/// Kind of error band around a screened score; all but `Proved` are for tests of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// The proved error bound.
    Proved,
    /// No band and no tie tolerance: returns the screen's own argmax. Breaks the contract.
    Zero,
    /// Bounds of unscored blocks stay constant. Breaks the contract.
    Stale,
    /// Every point is a candidate. Slow, and must not change any recorded byte.
    Infinite,
}
