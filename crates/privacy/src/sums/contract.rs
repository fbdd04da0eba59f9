//! What a server asks a privatizer to sum, what is public about the answer, and the mechanisms by name.

use super::user::Clipping;
use crate::accounting::sensitivity::{Relation, gram_and_reward};
use crate::streams::{Factorisation, Shape};
use crate::{Calibration, Delta, Epsilon, Ledger, Privatizer, Refusal, Request};
use std::fmt;
use std::sync::Arc;

/// What a server asks for. All of it is public and fixed before the first round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SumsNeed {
    /// `m`: features of a point, scaled by the server so that `|phi| <= 1`.
    pub n_features: usize,
    /// Most releases, at least 1; rounds between two of them enter the later one together.
    pub releases: u64,
    /// Horizon: users, one a round.
    pub rounds: u64,
    /// How the horizon is met.
    pub epochs: Epochs,
    /// Whose formula the as-printed calibration takes: linear bandits have (ShariffSheffet2018), others \[Dubey2021\].
    pub linear: bool,
}

/// How a stream of unknown length is cut [Dubey2021, remark 5]: into epochs that end at rounds 1, 2, 4, 8, …, each with noise for
/// its own length. Everybody is in one epoch only, so each may spend the whole budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epochs {
    /// The horizon is known: one epoch.
    One,
    /// Every epoch starts from nothing.
    Restart,
    /// Every epoch adds to the last release of the one before; its noise stays in.
    Carry,
}

/// A request as a spec states it, for these sums.
#[derive(Debug, Clone, PartialEq)]
pub struct SumsRequest {
    /// Mechanism, calibration, budget, clip range, facts.
    pub spec: Request,
    /// What the server needs.
    pub need: SumsNeed,
}

/// One release: sums over `users` rounds with their noise. Entries are of features scaled to `|phi| <= 1` and of rewards less
/// the centre of the mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    /// `m (m + 1) / 2`: upper triangle of `sum phi phi^T`, packed row by row, then `m`: `sum y phi`.
    pub entries: Vec<f64>,
    /// Rounds that are in.
    pub users: u64,
    /// Standard deviation of the noise on an entry of the matrix, off its diagonal.
    pub gram_std: f64,
    /// Standard deviation of the noise on an entry of the vector.
    pub moment_std: f64,
    /// The horizon that the noise was made for: `rounds`, or the end of the epoch.
    pub horizon: u64,
}

impl Sums {
    /// Nothing summed, no noise.
    #[must_use]
    pub fn empty(n_features: usize, horizon: u64) -> Self {
        let entries = vec![0.0; n_features * (n_features + 1) / 2 + n_features];
        Self { entries, users: 0, gram_std: 0.0, moment_std: 0.0, horizon }
    }

    /// The packed matrix and the vector.
    #[must_use]
    pub fn parts(&self, n_features: usize) -> (&[f64], &[f64]) {
        self.entries.split_at(n_features * (n_features + 1) / 2)
    }
}

/// Public constants of a calibrated mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SumsFacts {
    /// Which calibration.
    pub calibration: Calibration,
    /// Range to which rewards are clipped; `None` if they are not.
    pub clip: Option<(f64, f64)>,
    /// What is subtracted from every reward: public.
    pub centre: f64,
    /// How the papers bound the noise.
    pub spectrum: Spectrum,
}

/// What the printed bounds on the noise's spectrum are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spectrum {
    /// No noise.
    None,
    /// Lemma 3: `sigma sqrt(n)` of the matrix and of the vector, `n` the nodes of a tree; other factorisations have their
    /// largest standard deviation here.
    Joint {
        /// Largest standard deviation of an entry.
        std: f64,
    },
    /// Lemma 6: sigma of one user's item; sums of `rounds` items are printed as if each had as many.
    Local {
        /// Of an entry of the matrix.
        gram: f64,
        /// Of an entry of the vector.
        moment: f64,
    },
}

/// A calibrated mechanism, shared by all trials of a cell.
pub trait SumsMechanism: Send + Sync + fmt::Debug {
    /// A fresh privatizer for one trial.
    fn privatizer(&self) -> Box<dyn Privatizer>;

    /// The privatizer whose state was saved.
    ///
    /// # Errors
    /// What is wrong with the state, in words.
    fn restore(&self, state: serde_json::Value) -> Result<Box<dyn Privatizer>, String>;

    /// Public constants.
    fn facts(&self) -> SumsFacts;

    /// What is claimed and what is delivered.
    fn ledger(&self) -> Ledger;

    /// Numbers that a privatizer holds between rounds, about.
    fn state(&self) -> f64;

    /// What an exact release of the same sums is made of; none where the calibration is not that of one joint Gaussian mechanism.
    fn exact(&self) -> Option<ExactSums> {
        None
    }
}

/// Sums for an exact release: one Gaussian mechanism over matrix and vector, at the least noise for the budget.
#[derive(Debug, Clone)]
pub struct ExactSums {
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) need: SumsNeed,
    pub(crate) clipping: Clipping,
    /// Largest |reward less centre|.
    pub(crate) reach: f64,
    /// Whether everybody adds their own noise.
    pub(crate) local: bool,
    pub(crate) epochs: Vec<ExactEpoch>,
}

/// What is summed in one go.
#[derive(Debug, Clone)]
pub(crate) struct ExactEpoch {
    /// Users in it.
    pub(crate) rounds: u64,
    /// The horizon that it supposes.
    pub(crate) horizon: u64,
    /// None in the local model.
    pub(crate) factorisation: Option<Arc<dyn Factorisation>>,
}

impl ExactSums {
    pub(crate) fn shape(&self) -> Shape {
        Shape::Bordered(self.need.n_features)
    }

    /// How far one user moves an item where the noise is isotropic (E7).
    pub(crate) fn rewards_distance(&self) -> f64 {
        gram_and_reward(self.reach, Relation::Replace)
    }
}

/// One line of the registry.
#[derive(Debug, Clone, Copy)]
pub struct SumsEntry {
    /// Name in a spec.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Key of the source.
    pub paper: &'static str,
    /// Whether everybody adds their own noise.
    pub local: bool,
    /// Calibrates the mechanism for a request.
    pub build: fn(&SumsRequest) -> Result<Arc<dyn SumsMechanism>, Refusal>,
}

/// The mechanism that `auto` stands for: the paper's own where the paper is followed, the least noise otherwise.
#[must_use]
pub fn resolve_auto(calibration: Calibration, local: bool) -> &'static str {
    match (local, calibration) {
        (true, _) => "local-gaussian",
        (false, Calibration::AsPrinted | Calibration::Corrected) => "tree",
        (false, Calibration::Tight) => "blt",
    }
}
