//! Defines the interface of the mechanisms for sums.
//! A server states what to sum; a mechanism states its public constants; the registry lists the mechanisms by name.

use crate::accounting::sensitivity::Participation;
use crate::noise::{ReleaseError, SamplerLaw};
use crate::privatizer::sealed::Sealed;
use crate::{Calibrated, Calibration, Ledger, Privatizer, Protection, Refusal, Request, RewardFacts};
use std::fmt;
use std::sync::Arc;

/// States what a server needs; all of it is public and fixed before the first round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SumsNeed {
    /// Number m of features of a point, which the server scales so that `|phi| <= 1`; 0 for sums of rewards alone.
    pub n_features: usize,
    /// Largest number of releases, at least 1; the number of rounds only where each round has a release of its own.
    /// The rounds between two releases enter the later one together.
    pub releases: u64,
    /// Horizon: the number of users, one per round.
    pub rounds: u64,
    /// How a stream of unknown length is cut into epochs.
    pub epochs: Epochs,
    /// Whose formula the as-printed calibration uses.
    /// True for linear bandits (ShariffSheffet2018), false for others \[Dubey2021\].
    pub linear: bool,
    /// Number of users whose rewards are released together, where sums of batches are released and the policy states it.
    pub batch: Option<u64>,
    /// Whether rewards alone are protected: points and features are public, and sums of features need no noise.
    pub rewards_alone: bool,
}

impl SumsNeed {
    /// Returns how often one user takes part, in releases of one epoch.
    ///
    /// Where releases are longer than a round, or epochs follow each other, all of a user's rounds may enter one.
    pub fn in_releases(&self, participation: Participation) -> Participation {
        let whole = self.releases == self.rounds && self.epochs == Epochs::One;
        if participation.is_once() { Participation::ONCE } else { participation.in_rows_of(if whole { 1 } else { u64::MAX }) }
    }

    /// Refuses to protect rewards alone by the noise of a paper.
    pub(super) fn refuse_rewards_of_papers(&self, calibration: Calibration) -> Result<(), Refusal> {
        if !self.rewards_alone || calibration.redesigns() {
            return Ok(());
        }
        let message = "the paper's noise protects decision sets too";
        Err(Refusal::new("protects", message, "`contexts and rewards`, or no `protects`")
            .hint("`calibration = \"tight\"` has noise that protects rewards alone"))
    }

    /// Returns the need of a server that asks for sums of rewards alone, with at most one release after each round.
    pub fn of_rewards(rounds: u64, batch: Option<u64>) -> Self {
        Self { batch, ..Self::of_features(0, rounds, rounds) }
    }

    /// Returns the need of a server that asks for sums of `n_features` features and of rewards, `releases` times in one epoch of these
    /// rounds.
    pub fn of_features(n_features: usize, releases: u64, rounds: u64) -> Self {
        Self { n_features, releases, rounds, epochs: Epochs::One, linear: false, batch: None, rewards_alone: false }
    }
}

/// Says how a stream of unknown length is cut into epochs [Dubey2021, remark 5].
/// Epochs end at rounds 1, 2, 4, 8, …, each with noise for its own length. Every user is in one epoch only, so each epoch may
/// spend the whole budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epochs {
    /// The horizon is known: one epoch.
    One,
    /// Every epoch starts from zero.
    Restart,
    /// Every epoch adds to the last release of the previous epoch, whose noise stays in the sum.
    Carry,
}

/// States the public constants of a calibrated mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SumsFacts {
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// Range to which rewards are clipped; `None` if they are not clipped.
    pub clip: Option<(f64, f64)>,
    /// Public centre that is subtracted from every reward.
    pub centre: f64,
    /// What the papers' bounds on the noise are computed from.
    pub spectrum: Spectrum,
}

/// Holds what the printed bounds on the noise's spectrum are computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spectrum {
    /// No noise.
    None,
    /// Lemma 3: `sigma sqrt(n)` of matrix and vector, with `n` the number of nodes of a tree.
    /// Other factorisations use their largest standard deviation here.
    Joint {
        /// Largest standard deviation of an entry of the matrix, off its diagonal.
        gram: f64,
        /// Largest standard deviation of an entry of the vector.
        moment: f64,
    },
    /// Sums of rewards alone, or beside a matrix of public features, which has no noise.
    Moments {
        /// Largest standard deviation of an entry.
        std: f64,
    },
    /// Each of at least `users` users of a batch adds noise of their own.
    Shuffled {
        /// Largest variance of one user's noise.
        variance: f64,
        /// Bound on its sub-Gaussian variance proxy.
        proxy: f64,
        /// Least number of users of a batch.
        users: u64,
    },
    /// Lemma 6: the standard deviations of one user's item.
    /// Sums of `rounds` items are printed with this noise in each item.
    Local {
        /// Standard deviation of an entry of the matrix.
        gram: f64,
        /// Standard deviation of an entry of the vector.
        moment: f64,
    },
}

/// Provides a calibrated mechanism for sums, shared by all trials of a cell.
///
/// As with [`RewardMechanism`](crate::RewardMechanism), no other crate implements it.
pub trait SumsMechanism: Sealed + Send + Sync + fmt::Debug {
    /// Makes a new privatizer for one trial.
    fn privatizer(&self) -> Box<dyn Privatizer>;

    /// Returns the public constants.
    fn facts(&self) -> SumsFacts;

    /// Returns the ledger: claimed and delivered loss.
    fn ledger(&self) -> Ledger;

    /// Estimates how many numbers a privatizer holds between rounds.
    fn state(&self) -> f64;

    /// Returns the same mechanism with exact noise, for real people.
    ///
    /// # Errors
    /// A calibration that is not that of one joint Gaussian mechanism, or sizes beyond exact arithmetic.
    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError>;

    /// Returns what the exact samplers are given, in each epoch; empty where the noise is not exact.
    fn laws(&self) -> Vec<SamplerLaw>;
}

/// Describes one mechanism in the registry.
#[derive(Debug, Clone, Copy)]
pub struct SumsEntry {
    /// Name in specs.
    pub name: &'static str,
    /// One-line summary for listings.
    pub summary: &'static str,
    /// Key of the paper.
    pub paper: &'static str,
    /// The kind of policy that it serves.
    pub serves: Protection,
    /// Calibrates the mechanism for a request, the public facts on the reward and what the server needs.
    /// The request has the name of the entry, not `auto`.
    pub build: fn(&Request, &RewardFacts, SumsNeed) -> Calibrated<dyn SumsMechanism>,
}
