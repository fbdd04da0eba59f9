//! How noise on released sums is kept from making the precision matrix indefinite, and the bounds on its spectrum that
//! Theorem 1 \[Dubey2021\] is stated in. All of it is data independent.

use privateer_config::params::Args;
use privateer_privacy::Calibration;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::sums::{Spectrum, Sums, SumsFacts};

/// What is done to the noisy Gram matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RepairPlan {
    /// `2 Lambda · multiple` is added to its diagonal (E11).
    Shift {
        /// 1 is the papers'.
        multiple: Option<f64>,
    },
    /// Its eigenvalues are raised to `2 Lambda · multiple`, after which the ridge is added.
    Clip {
        /// 0: to zero.
        multiple: Option<f64>,
    },
    /// Nothing.
    None,
}

/// Whose Lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Lemmas 3 and 6, for all rounds alike.
    Printed,
    /// Ours, from the standard deviation of the release at hand (E11).
    Tight,
}

/// The keys of the repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumPlan {
    repair: RepairPlan,
    bound: Option<Bound>,
}

impl SpectrumPlan {
    /// Reads the key `repair`.
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "what keeps the noisy Gram matrix positive: `multiple` of 2 Lambda on its diagonal, eigenvalues raised to that, or nothing";
        args.documents("repair.multiple", "a number >= 0: 1 unless given");
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

    /// The bounds for one release over `m` features of norm at most 1, with probability `failure_prob`.
    #[must_use]
    pub fn at(&self, facts: &SumsFacts, sums: &Sums, m: usize, ridge: f64, failure_prob: f64) -> NoiseBounds {
        let rounds = sums.horizon;
        let bound = self.bound.unwrap_or(if facts.calibration == Calibration::Tight { Bound::Tight } else { Bound::Printed });
        let (lambda, vector) = match (bound, facts.spectrum) {
            (_, Spectrum::None) => (0.0, 0.0),
            (Bound::Tight, _) => (
                dubey2021::tight_spectrum(sums.gram_std, m, rounds, failure_prob),
                dubey2021::vector_norm(sums.moment_std, m, rounds, failure_prob),
            ),
            // sigma sqrt(n) is `std`: the formula for one node of that much.
            (Bound::Printed, Spectrum::Joint { std }) => {
                (dubey2021::spectrum(std, 1, m, rounds, failure_prob), dubey2021::vector_norm(std, m, rounds, failure_prob))
            }
            (Bound::Printed, Spectrum::Local { gram, moment }) => {
                let vector = if facts.calibration == Calibration::AsPrinted {
                    moment * libm::sqrt(m as f64 * rounds as f64)
                } else {
                    // The deviation that lemma 6 leaves out (E15).
                    dubey2021::vector_norm(moment * libm::sqrt(rounds as f64), m, rounds, failure_prob)
                };
                (gram * dubey2021_local::spectrum(m, rounds, failure_prob), vector)
            }
        };
        let of = |multiple: Option<f64>| 2.0 * lambda * multiple.unwrap_or(1.0);
        let (shift, floor) = match self.repair {
            RepairPlan::Shift { multiple } => (of(multiple), 0.0),
            RepairPlan::Clip { multiple } => (0.0, of(multiple)),
            RepairPlan::None => (0.0, 0.0),
        };
        let least = match self.repair {
            RepairPlan::Clip { .. } => floor,
            _ => (shift - lambda).max(0.0),
        };
        // The papers bound |h| in the norm of the noise alone; with the ridge the bound holds for a least eigenvalue of 0 too.
        let below = if facts.calibration == Calibration::AsPrinted && 0.0 < least { least } else { least + ridge };
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
    /// Added to the diagonal.
    pub shift: f64,
    /// Least eigenvalue of the matrix before the ridge, where eigenvalues are clipped.
    pub floor: f64,
    /// Whether they are.
    pub clips: bool,
    /// `lambda_min` of the shifted noise, at least 0.
    pub least: f64,
    /// `lambda_max`.
    pub greatest: f64,
    /// `kappa`.
    pub kappa: f64,
    /// What stands below the roots of kappa and of the error of the features: `lambda_min`, with the ridge where the paper leaves
    /// it out.
    pub below: f64,
}
