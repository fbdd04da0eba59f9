//! Draws exact choices: one bit for a clipped number, and the exponential mechanism.
//! Proofs: `docs/proofs/discrete.md`.

use super::{Release, ReleaseError, ReleaseLedger};
use crate::accounting::{Composition, Loss};
use crate::noise::{Entropy, Grid, SamplerLaw, Words, below, bernoulli_exp};
use crate::planted::{self, PlantedFault};
use crate::{Adversary, Epsilon, Growth, Neighbours, Provenance, Raw, ThreatModel, Unit};

/// Unit of tanh values; the probabilities of a bit are multiples of 2^-53.
pub(super) const WHOLE: u64 = 1 << 52;
/// Largest epsilon of the releases with integer weights.
pub(super) const GREATEST_EPSILON: f64 = 20.0;

pub(super) fn checked(epsilon: Epsilon) -> Result<f64, ReleaseError> {
    if (1e-6..=GREATEST_EPSILON).contains(&epsilon.get()) {
        return Ok(epsilon.get());
    }
    Err(ReleaseError::Range(format!("epsilon {} (1e-6 to 20)", epsilon.get())))
}

/// Clips a number and maps it to [-1, 1].
pub(super) fn to_unit(number: f64, (lo, hi): (f64, f64)) -> Result<f64, ReleaseError> {
    if !number.is_finite() {
        return Err(ReleaseError::NotFinite);
    }
    let (centre, half) = (0.5 * lo + 0.5 * hi, 0.5 * (hi - lo));
    if planted::is(PlantedFault::ReleasedUnitClip) {
        return Ok((number - centre) / half);
    }
    Ok(((number.clamp(lo, hi) - centre) / half).clamp(-1.0, 1.0))
}

pub(super) fn proper(lo: f64, hi: f64) -> Result<(f64, f64), ReleaseError> {
    let half = 0.5 * (hi - lo);
    if lo < hi && half.is_normal() { Ok((lo, hi)) } else { Err(ReleaseError::Range(format!("the clip range [{lo}, {hi}]"))) }
}

/// Releases one bit for a clipped number (Duchi2018); the output has two values, hence no low bits.
#[derive(Debug)]
pub struct BitRelease {
    /// tanh(epsilon/2) in units of 2^-52, rounded down.
    tau: u64,
    clip: (f64, f64),
    ledger: ReleaseLedger,
}

impl BitRelease {
    /// Calibrates for a number clipped to [lo, hi] and an epsilon from 1e-6 to 20.
    ///
    /// # Errors
    /// An empty range, or an epsilon outside these limits.
    pub fn calibrated(epsilon: Epsilon, lo: f64, hi: f64) -> Result<Self, ReleaseError> {
        let (value, clip) = (checked(epsilon)?, proper(lo, hi)?);
        // Rounded down by more than the error of tanh: (1 + tau)/(1 - tau) <= e^epsilon. Near 1 the distance to 1 decides.
        let lie = 2.0 / (1.0 + libm::exp(value));
        let tau = (libm::tanh(0.5 * value) * (1.0 - 1e-14)).min(1.0 - lie * (1.0 + 1e-14));
        let ledger = ReleaseLedger {
            mechanism: "bit".to_owned(),
            threat_model: ThreatModel::released_number(lo, hi),
            epsilon: value,
            delta: 0.0,
            noise: "one of two values, by an exact coin".to_owned(),
            grid: None,
            composition: Composition::of(Loss::Response { epsilon: value }),
            provenance: Provenance::Released,
        };
        // One unit less covers the rounding of the distance to 1 at large epsilon.
        Ok(Self { tau: ((tau * WHOLE as f64).floor() as u64).saturating_sub(1), clip, ledger })
    }

    /// Returns what the exact sampler is given.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        vec![SamplerLaw::Bit { upper: self.weight(1.0), lower: self.weight(-1.0), total: 2 * WHOLE }]
    }

    /// Clips the number and answers, unbiased for the clipped number.
    ///
    /// # Errors
    /// A number that is not finite; no entropy.
    pub fn release(self, number: Raw<f64>) -> Result<Release<f64>, ReleaseError> {
        let unit = to_unit(number.open(), self.clip)?;
        let value = self.answer(unit, &mut Entropy::fresh()?);
        let (centre, half) = (0.5 * self.clip.0 + 0.5 * self.clip.1, 0.5 * (self.clip.1 - self.clip.0));
        Ok(Release::new(centre + half * value, self.ledger))
    }

    /// Returns `2^53` times the probability of the upper value.
    pub(super) fn weight(&self, unit: f64) -> u64 {
        let tilt = self.tau as f64 / WHOLE as f64;
        // The planted fault uses tanh(epsilon) instead of tanh(epsilon/2).
        let share = if planted::is(PlantedFault::ReleasedBitNoise) { 2.0 / (1.0 + tilt * tilt) } else { 1.0 };
        let most = if planted::is(PlantedFault::ReleasedUnitClip) { WHOLE as f64 } else { share * self.tau as f64 };
        let lean = (unit * (share * self.tau as f64)).clamp(-most, most).round() as i64;
        WHOLE.saturating_add_signed(lean)
    }

    pub(super) fn answer(&self, unit: f64, words: &mut impl Words) -> f64 {
        let bound = WHOLE as f64 / self.tau as f64;
        if (words.word() >> 11) < self.weight(unit) { bound } else { -bound }
    }
}

/// Applies the exact exponential mechanism (McSherryTalwar2007) to finitely many scores.
/// Larger scores are preferred.
#[derive(Debug)]
pub struct ChoiceRelease {
    step: f64,
    /// Scale of the noise, in grid steps.
    scale: u64,
    options: usize,
    ledger: ReleaseLedger,
}

impl ChoiceRelease {
    /// Calibrates for `options >= 1` scores whose range changes by at most `range > 0`.
    ///
    /// The range of the change is the largest difference between two scores' changes, not the change of one score (erratum E27,
    /// `docs/privacy.md`); `neighbours` states the relation in words.
    ///
    /// # Errors
    /// Sizes beyond exact arithmetic.
    pub fn calibrated(epsilon: Epsilon, range: f64, options: usize, neighbours: &str) -> Result<Self, ReleaseError> {
        // Rounding moves each score of two neighbours by at most half a step, hence the range by at most two steps.
        let grid = Grid::new(range, 1.0 / epsilon.get(), 2.0, 24)?;
        if options == 0 {
            return Err(ReleaseError::Range("a choice between no options".to_owned()));
        }
        let ledger = ReleaseLedger {
            mechanism: "exponential".to_owned(),
            threat_model: ThreatModel {
                neighbours: Neighbours::Stated { relation: neighbours.to_owned() },
                ..ThreatModel::replaced(Adversary::Observer, Unit::Scores { range }, Growth::SeparateReleases)
            },
            epsilon: epsilon.get(),
            delta: 0.0,
            noise: format!("one option of {options}, weights e^(score/scale), scale {} steps", grid.noise),
            grid: Some(grid.step),
            composition: Composition::of(Loss::Choice { epsilon: epsilon.get() }),
            provenance: Provenance::Released,
        };
        Ok(Self { step: grid.step, scale: grid.noise, options, ledger })
    }

    /// Returns what the exact sampler is given.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        vec![SamplerLaw::Choice { scale: self.scale(), step: self.step }]
    }

    fn scale(&self) -> u64 {
        if planted::is(PlantedFault::ReleasedChoiceNoise) { self.scale / 2 } else { self.scale }
    }

    /// Returns the index of the chosen option.
    ///
    /// # Errors
    /// A wrong number of scores, scores that are not finite or that overflow f64 in grid steps; no entropy.
    pub fn release(self, scores: Raw<Vec<f64>>) -> Result<Release<usize>, ReleaseError> {
        let scores = scores.open();
        if scores.len() != self.options {
            return Err(ReleaseError::Length { expected: self.options });
        }
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(ReleaseError::NotFinite);
        }
        if scores.iter().any(|score| !(score / self.step).is_finite()) {
            return Err(ReleaseError::Range("a score, in steps of the noise's grid,".to_owned()));
        }
        let value = self.chosen(&scores, &mut Entropy::fresh()?);
        Ok(Release::new(value, self.ledger))
    }

    pub(super) fn chosen(&self, scores: &[f64], words: &mut impl Words) -> usize {
        let steps: Vec<f64> = scores.iter().map(|score| (score / self.step).round()).collect();
        let best = steps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        loop {
            let candidate = below(self.options as u64, words) as usize;
            // Differences of integers, exact up to 2^52; larger differences count as 2^52, with a weight below e^(-2^26).
            let gap = (best - steps[candidate]).min((1_u64 << 52) as f64) as u128;
            if bernoulli_exp(gap, u128::from(self.scale()), words) {
                return candidate;
            }
        }
    }
}
