//! Defines the interface of every reward mechanism, and its entry in the registry.

use crate::noise::{ReleaseError, SamplerLaw};
use crate::privatizer::sealed::Sealed;
use crate::{Calibrated, Ledger, Privatizer, Request, RewardFacts};
use privateer_numerics::rng::Stream;
use std::fmt;

/// Provides a calibrated mechanism, shared by all trials of a cell.
/// All quantities are in units of the reward.
///
/// Real releases rely on its ledger and on its noise, so that no other crate implements it; an
/// [`OutsideMechanism`](super::outside::OutsideMechanism) may be added, and has no exact noise:
///
/// ```compile_fail,E0277
/// use privateer_privacy::noise::{ReleaseError, SamplerLaw};
/// use privateer_privacy::{Ledger, Privatizer, RewardMechanism};
///
/// #[derive(Debug)]
/// struct Liar;
///
/// impl RewardMechanism for Liar {
///     fn privatizer(&self) -> Box<dyn Privatizer> {
///         unimplemented!()
///     }
///     fn noise_variance(&self) -> f64 {
///         0.0
///     }
///     fn clip(&self) -> Option<(f64, f64)> {
///         None
///     }
///     fn ledger(&self) -> Ledger {
///         unimplemented!()
///     }
///     fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
///         Ok(Vec::new())
///     }
/// }
/// ```
pub trait RewardMechanism: Sealed + Send + Sync + fmt::Debug {
    /// Makes a new privatizer for one trial.
    fn privatizer(&self) -> Box<dyn Privatizer>;

    /// Returns the range of released rewards, whose ends extreme draws attain; `None` if unbounded.
    fn output_range(&self) -> Option<(f64, f64)> {
        None
    }

    /// Returns the variance of the mechanism's own noise at the worst clipped reward.
    /// 0 for a mechanism without noise.
    fn noise_variance(&self) -> f64;

    /// Returns a proved sub-Gaussian scale s of the mechanism's own noise; `None` without one, as for Laplace noise, whose moment
    /// generating function is infinite from 1/scale on.
    /// `E exp(x noise) <= exp(x² s²/2)` for every x and every clipped reward. Proof: `docs/proofs/sub-gaussian.md`.
    fn sub_gaussian_scale(&self) -> Option<f64> {
        None
    }

    /// Returns the range to which rewards are clipped; `None` if they are not clipped.
    fn clip(&self) -> Option<(f64, f64)>;

    /// Returns the scale of the Laplace noise (`L` in [Zhou2021, curator 1]).
    /// `None` for other noise.
    fn laplace_scale(&self) -> Option<f64> {
        None
    }

    /// Draws what the next simulated releases add to clipped rewards, whatever these are; false unless a release is that sum.
    fn added(&self, _stream: &mut Stream, _out: &mut [f64]) -> bool {
        false
    }

    /// Returns the ledger: claimed and delivered loss.
    fn ledger(&self) -> Ledger;

    /// Returns what the exact samplers are given for one reward of a real person; empty without noise.
    /// The privatizers draw from them where their noise is exact.
    ///
    /// # Errors
    /// A mechanism without an exact sampler, or parameters beyond its range.
    fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError>;
}

/// Describes one mechanism in the registry.
#[derive(Debug, Clone, Copy)]
pub struct MechanismEntry {
    /// Name in specs.
    pub name: &'static str,
    /// One-line summary for listings.
    pub summary: &'static str,
    /// Key of the paper.
    pub paper: &'static str,
    /// Calibrates the mechanism for a request and the public facts on the reward.
    /// The request has the name of the entry, not `auto`.
    pub build: fn(&Request, &RewardFacts) -> Calibrated<dyn RewardMechanism>,
}
