//! Bounds the spectrum of the noise on released sums, and repairs indefinite precision matrices.
//!
//! The bounds are those in which Theorem 1 \[Dubey2021\] is stated. All of them are independent of the data.

use privateer_config::params::Args;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::sums::{Spectrum, Sums, SumsFacts};

/// States the repair of the noisy Gram matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RepairPlan {
    /// Adds `2 Lambda · multiple` to its diagonal (erratum E11, `docs/privacy.md`).
    Shift {
        /// Multiple of `2 Lambda`; the papers use 1, which is the default.
        multiple: Option<f64>,
    },
    /// Raises its eigenvalues to `2 Lambda · multiple`, after which the ridge is added.
    Clip {
        /// Multiple of `2 Lambda`; 0 raises negative eigenvalues to zero.
        multiple: Option<f64>,
    },
    /// Leaves the matrix unchanged.
    None,
}

/// Selects the bound Lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Lambda of lemmas 3 and 6, the same for all rounds.
    Printed,
    /// This project's bound, from the standard deviation of the current release (E11).
    Tight,
}

/// Holds the keys of the repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumPlan {
    repair: RepairPlan,
    bound: Option<Bound>,
}

impl SpectrumPlan {
    /// Reads the key `repair`.
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "what keeps the noisy Gram matrix positive: `multiple` of 2 Lambda on its diagonal, eigenvalues raised to that, or nothing";
        args.documents("repair.multiple", "a number >= 0 and <= 1e6: 1 unless given");
        args.documents(
            "repair.spectrum",
            "`as-printed` or `tight`: whose Lambda bounds the noise; that of the calibration unless given",
        );
        let nothing = Self { repair: RepairPlan::Shift { multiple: None }, bound: None };
        let Some(variant) = args.variant("repair", doc, &["shift", "clip", "none"], Some("shift")) else { return nothing };
        let nested = &variant.args;
        let multiple =
            |meaning: &str| nested.number("multiple", "multiple of 2 Lambda").at_least(0.0).at_most(1e6).optional(meaning);
        let repair = match variant.kind.as_str() {
            "clip" => RepairPlan::Clip { multiple: multiple("1") },
            "none" => RepairPlan::None,
            _ => RepairPlan::Shift { multiple: multiple("1") },
        };
        let bound = nested.has("spectrum").then(|| {
            match nested.word("spectrum", "whose Lambda bounds the noise", &["as-printed", "tight"], Some("tight")) {
                "as-printed" => Bound::Printed,
                _ => Bound::Tight,
            }
        });
        nested.finish();
        Self { repair, bound }
    }

    /// Returns the bounds for one release over `m` features of norm at most 1.
    ///
    /// The bounds fail with probability at most `failure_prob`.
    ///
    /// * `reward` — `B`, which bounds the function
    pub fn at(&self, facts: &SumsFacts, sums: &Sums, m: usize, (ridge, reward): (f64, f64), failure_prob: f64) -> NoiseBounds {
        let rounds = sums.horizon;
        let bound = self.bound.unwrap_or(if facts.calibration.redesigns() { Bound::Tight } else { Bound::Printed });
        let (lambda, vector) = match (bound, facts.spectrum) {
            // Sums of rewards alone have no matrix.
            (_, Spectrum::None | Spectrum::Shuffled { .. }) => (0.0, 0.0),
            (Bound::Tight, _) => (
                dubey2021::tight_spectrum(sums.gram_std, m, rounds, failure_prob),
                dubey2021::vector_norm(sums.moment_std, m, rounds, failure_prob),
            ),
            // sigma sqrt(n) is `std`: the formula for one node of that standard deviation.
            (Bound::Printed, Spectrum::Joint { gram, moment }) => {
                (dubey2021::spectrum(gram, 1, m, rounds, failure_prob), dubey2021::vector_norm(moment, m, rounds, failure_prob))
            }
            (Bound::Printed, Spectrum::Moments { std }) => (0.0, dubey2021::vector_norm(std, m, rounds, failure_prob)),
            (Bound::Printed, Spectrum::Local { gram, moment }) => {
                let vector = if !facts.calibration.corrects() {
                    moment * libm::sqrt(m as f64 * rounds as f64)
                } else {
                    // Includes the deviation term that lemma 6 omits (erratum E15, `docs/privacy.md`).
                    dubey2021::vector_norm(moment * libm::sqrt(rounds as f64), m, rounds, failure_prob)
                };
                (gram * dubey2021_local::spectrum(m, rounds, failure_prob), vector)
            }
        };
        // Without noise on the matrix, the sum of B sqrt(shift) and of kappa is least where the shift is |h|/B.
        let whole = if matches!(facts.spectrum, Spectrum::Moments { .. }) { vector / reward } else { 2.0 * lambda };
        let of = |multiple: Option<f64>| whole * multiple.unwrap_or(1.0);
        let (shift, floor) = match self.repair {
            RepairPlan::Shift { multiple } => (of(multiple), 0.0),
            RepairPlan::Clip { multiple } => (0.0, of(multiple)),
            RepairPlan::None => (0.0, 0.0),
        };
        let least = match self.repair {
            RepairPlan::Clip { .. } => floor,
            _ => (shift - lambda).max(0.0),
        };
        // The papers bound |h| in the norm of the noise alone; with the ridge the bound also holds for a least eigenvalue of 0.
        let below = if !facts.calibration.corrects() && 0.0 < least { least } else { least + ridge };
        NoiseBounds {
            shift,
            floor,
            clips: matches!(self.repair, RepairPlan::Clip { .. }),
            least,
            greatest: shift.max(floor) + lambda,
            kappa: vector / libm::sqrt(below),
            below,
        }
    }
}

/// Bounds on the noise of one release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseBounds {
    /// Amount added to the diagonal.
    pub shift: f64,
    /// Least eigenvalue of the matrix before the ridge, where eigenvalues are clipped.
    pub floor: f64,
    /// Whether eigenvalues are clipped.
    pub clips: bool,
    /// `lambda_min`: least eigenvalue of the shifted noise, at least 0.
    pub least: f64,
    /// `lambda_max`: greatest eigenvalue of the shifted noise.
    pub greatest: f64,
    /// `kappa`: bound on the moment vector's noise in the norm of the inverse precision matrix.
    pub kappa: f64,
    /// The denominator under the roots of kappa and of the features' error.
    ///
    /// It is `lambda_min`, plus the ridge except where the as-printed calibration leaves it out.
    pub below: f64,
}
