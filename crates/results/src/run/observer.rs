//! Defines the reports of a run to its caller.

#[cfg(feature = "report")]
use crate::record::{Count, OpenedFolder};
use privateer_privacy::ReleaseCounts;

/// Receives progress reports and notices of a run; `()` ignores them.
pub trait RunObserver: Sync {
    /// Reports that this number of trial-rounds is done; called from worker threads.
    fn progressed(&self, trial_rounds: u64) {
        let _ = trial_rounds;
    }

    /// Reports that the pilot trials of one of `factors` exploration factors are done; called from worker threads.
    fn tuned(&self, factors: u64) {
        let _ = factors;
    }

    /// Reports a stage or an unusual event.
    fn notice(&self, notice: Notice<'_>) {
        let _ = notice;
    }
}

impl RunObserver for () {}

/// A stage of a run, or an event that the user should know of.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// The folder is open, and the simulation starts.
    #[cfg(feature = "report")]
    Opened {
        /// The folder as it was found, with warnings about its files.
        folder: &'a OpenedFolder,
        /// Blocks of this run that an earlier run finished.
        n_done: usize,
        /// Blocks of this run.
        n_blocks: usize,
        /// Trial-rounds that remain.
        trial_rounds: u64,
    },
    /// An earlier run has finished everything, and the folder is left as it is.
    #[cfg(feature = "report")]
    Whole {
        /// Blocks of the run, each as it was written.
        n_blocks: usize,
    },
    /// Settings of the spec mislead; one line for each.
    Misleading {
        /// The lines.
        lines: &'a [String],
    },
    /// The simulation has ended, complete or not.
    Simulated,
    /// The device returned wrong results, so the blocks that this run had finished were removed.
    Withdrawn {
        /// Number of removed blocks.
        n_blocks: usize,
    },
    /// The device screened no round: the processor did everything.
    DeviceUnused,
    /// Scores left their error band, so ties may be broken differently than on other backends.
    BandViolations {
        /// Number of points.
        n_points: u64,
    },
    /// The choices of screens were compared with the best of all points in f64.
    Verified {
        /// Number of choices.
        choices: u64,
        /// Choices that were not the best.
        wrong: u64,
        /// Choices among several points within the tie tolerance.
        ties: u64,
    },
    /// What the privatizers released in this run.
    Released {
        /// The label and the counts of each cell that has some, in the order of cells.
        cells: &'a [(String, ReleaseSummary)],
    },
}

/// Counts of the privatizers of sums in one cell, and of the repairs of their servers, in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseSummary {
    /// Counts of the privatizers.
    pub counts: ReleaseCounts,
    /// Rounds in which noise had left a released matrix indefinite, for policies that do not raise eigenvalues in every round.
    pub repaired: u64,
}

impl ReleaseSummary {
    /// Returns the share of the rewards that were outside of the clip range, in [0, 1].
    pub fn clipped_share(&self) -> f64 {
        self.counts.clipped as f64 / self.counts.rewards.max(1) as f64
    }

    /// Returns the share of the releases that left an indefinite matrix, in [0, 1].
    pub fn repaired_share(&self) -> f64 {
        self.repaired as f64 / self.counts.releases.max(1) as f64
    }

    /// Returns the counts as they appear in `run.json`.
    #[cfg(feature = "report")]
    pub(super) fn count(&self) -> Count {
        let ReleaseCounts { rewards, clipped, shortened, releases } = self.counts;
        let counts = [
            ("rewards", rewards),
            ("rewards_clipped", clipped),
            ("features_shortened", shortened),
            ("releases", releases),
            ("rounds_repaired", self.repaired),
        ];
        Count::named(counts.map(|(name, count)| (name, Count::Number(count))))
    }
}
