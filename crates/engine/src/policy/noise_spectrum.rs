//! Bounds the spectrum of the noise on released sums, and repairs indefinite precision matrices.
//!
//! The bounds are those in which Theorem 1 \[Dubey2021\] is stated. All of them are independent of the data.

use privateer_config::params::Args;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::sums::{Spectrum, Sums, SumsFacts};

/// States the repair of the noisy Gram matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RepairPlan {
    /// Adds `multiple` of a whole shift to its diagonal: of `2 Lambda` (erratum E11, `docs/privacy.md`), or of `|h|/B` where the
    /// matrix has no noise.
    Shift {
        /// Multiple of the whole shift; the papers use 1, which is the default.
        multiple: Option<f64>,
    },
    /// Raises its eigenvalues to `multiple` of a whole shift, after which the ridge is added.
    Clip {
        /// Multiple of the whole shift; 0 raises negative eigenvalues to zero.
        multiple: Option<f64>,
    },
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumPlan {
    repair: RepairPlan,
    bound: Option<Bound>,
}

impl SpectrumPlan {
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "what is done to the released Gram matrix: `multiple` of 2 Lambda is added to its diagonal, its eigenvalues are raised to that, \
                   or nothing; where a server protects rewards alone, `multiple` of |h|/B, the bound on the vector's noise over that on the function; nothing \
                   where everybody releases the reward alone";
        args.documents("repair.multiple", "a number >= 0 and <= 1e6: 1 unless given");
        args.documents(
            "repair.spectrum",
            "`as-printed` or `tight`: whose Lambda bounds the noise; that of the calibration unless given",
        );
        let nothing = Self { repair: RepairPlan::Shift { multiple: None }, bound: None };
        let Some(variant) = args.variant("repair", doc, &["shift", "clip", "none"], Some("shift")) else { return nothing };
        let nested = &variant.args;
        let multiple = |meaning: &str| {
            nested
                .number("multiple", "multiple of 2 Lambda, or of |h|/B where rewards alone are protected")
                .at_least(0.0)
                .at_most(1e6)
                .optional(meaning)
        };
        let repair = match variant.kind.as_str() {
            "clip" => RepairPlan::Clip { multiple: multiple("1") },
            "none" => RepairPlan::None,
            _ => RepairPlan::Shift { multiple: multiple("1") },
        };
        let options = [("as-printed", Bound::Printed), ("tight", Bound::Tight)];
        let bound = nested.has("spectrum").then(|| nested.choice("spectrum", "whose Lambda bounds the noise", &options, "tight"));
        nested.finish();
        Self { repair, bound }
    }

    /// Returns the bounds for one release over `m` features of norm at most 1.
    ///
    /// The bounds fail with probability at most `failure_prob`.
    ///
    /// * `reward` — `B >= 0`, which bounds the function
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
        // Without noise on the matrix, |h|/B is a rule (`docs/proofs/sums.md`); a function that is zero needs no shift.
        let whole = match facts.spectrum {
            Spectrum::Moments { .. } if 0.0 < reward => vector / reward,
            Spectrum::Moments { .. } => 0.0,
            _ => 2.0 * lambda,
        };
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseBounds {
    /// Amount added to the diagonal.
    pub shift: f64,
    /// Least eigenvalue of the matrix before the ridge, where eigenvalues are clipped.
    pub floor: f64,
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

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_privacy::Calibration;

    /// Where rewards alone are protected, the shift is a multiple of the bound on the vector's noise over B, not of
    /// `2 Lambda`, which is 0. Clipped eigenvalues reach the same multiple; B = 0 leaves all bounds finite.
    #[test]
    fn exact_matrices_are_shifted_by_the_noise_of_the_vector() {
        let (m, rounds, failure, ridge, std) = (5, 100, 0.1, 0.5, 3.0);
        let sums = Sums { moment_std: std, gram_std: 0.0, ..Sums::empty(m, rounds) };
        let h = dubey2021::vector_norm(std, m, rounds, failure);
        for (calibration, bound, reward) in [
            (Calibration::Tight, None, 2.0),
            (Calibration::Tight, Some(Bound::Printed), 4.0),
            (Calibration::Tight, None, 0.0),
            (Calibration::Tight, Some(Bound::Printed), 0.0),
        ] {
            let facts = SumsFacts { calibration, clip: Some((0.0, 1.0)), centre: 0.5, spectrum: Spectrum::Moments { std } };
            let at = |repair| SpectrumPlan { repair, bound }.at(&facts, &sums, m, (ridge, reward), failure);
            for multiple in [None, Some(0.0), Some(1.0), Some(2.5)] {
                let expected = if reward == 0.0 { 0.0 } else { multiple.unwrap_or(1.0) * h / reward };
                let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
                let (shifted, clipped) = (at(RepairPlan::Shift { multiple }), at(RepairPlan::Clip { multiple }));
                assert!(near(shifted.shift, expected) && shifted.floor == 0.0 && !shifted.clips, "{shifted:?} {expected}");
                assert!(near(clipped.floor, expected) && clipped.shift == 0.0 && clipped.clips, "{clipped:?} {expected}");
                for found in [shifted, clipped] {
                    // Without noise on the matrix both ends of its spectrum are the shift.
                    assert!(near(found.least, expected) && near(found.greatest, expected), "{found:?} {expected}");
                    assert!(near(found.below, expected + ridge) && near(found.kappa, h / (expected + ridge).sqrt()), "{found:?}");
                }
            }
            assert_eq!(at(RepairPlan::None).greatest, 0.0);
        }
    }
}
