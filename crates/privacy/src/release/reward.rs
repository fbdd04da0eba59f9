//! Releases one real reward by the mechanism that a ledger names.

use super::{BitRelease, DensityRelease, LaplaceRelease, ReleaseError, SamplerLaw, VectorRelease};
use crate::accounting::sensitivity::Relation;
use crate::{Delta, Epsilon, Guarantee, Ledger, Raw, Released, Signal};

/// Releases rewards one by one, each with fresh noise from the operating system's entropy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RewardRelease {
    kind: RewardReleaseKind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum RewardReleaseKind {
    /// The reward unchanged: the ledger says that nothing is protected.
    Clear,
    Noisy {
        noise: RewardReleaseNoise,
        epsilon: Epsilon,
        lo: f64,
        hi: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum RewardReleaseNoise {
    Laplace,
    Bit,
    Density,
    Hybrid,
    Gaussian(Delta),
}

/// Holds the calibrated release of one reward.
enum RewardSampler {
    Laplace(LaplaceRelease),
    Bit(BitRelease),
    Density(Box<DensityRelease>),
    Gaussian(VectorRelease),
}

impl RewardRelease {
    /// Builds the mechanism of a ledger, with its epsilon, delta and clip range.
    ///
    /// # Errors
    /// A ledger whose claim does not hold, or a mechanism without an exact sampler or beyond its range.
    pub fn of(ledger: &Ledger) -> Result<Self, ReleaseError> {
        if ledger.guarantee == Guarantee::NotPrivate {
            return Ok(Self { kind: RewardReleaseKind::Clear });
        }
        let named = || format!("mechanism `{}` ({})", ledger.mechanism, ledger.guarantee);
        let (Guarantee::Holds, Some(Ok(epsilon)), Some([lo, hi])) =
            (&ledger.guarantee, ledger.epsilon.map(Epsilon::try_from), ledger.clip)
        else {
            return Err(ReleaseError::Range(named()));
        };
        let noise = match ledger.mechanism.as_str() {
            "laplace" => RewardReleaseNoise::Laplace,
            "duchi" => RewardReleaseNoise::Bit,
            "piecewise" => RewardReleaseNoise::Density,
            "hybrid" => RewardReleaseNoise::Hybrid,
            "gaussian" => RewardReleaseNoise::Gaussian(Delta::try_from(ledger.delta).map_err(|_| ReleaseError::Range(named()))?),
            _ => return Err(ReleaseError::Range(named())),
        };
        let made = Self { kind: RewardReleaseKind::Noisy { noise, epsilon, lo, hi } };
        // Faults appear here at set-up, not with the first user's reward.
        made.noised(Raw::seal(lo))?;
        Ok(made)
    }

    /// Returns whether noise is added.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.kind != RewardReleaseKind::Clear
    }

    /// Clips the reward and adds fresh exact noise.
    ///
    /// The result must be stored: a second draw for the same reward would spend the budget again.
    ///
    /// # Errors
    /// A reward that is not finite; no entropy.
    pub fn release(&self, reward: Raw<f64>) -> Result<Released<Signal>, ReleaseError> {
        self.noised(reward).map(|value| Released::mark(Signal::Reward(value)))
    }

    fn noised(&self, reward: Raw<f64>) -> Result<f64, ReleaseError> {
        let RewardReleaseKind::Noisy { noise, epsilon, lo, hi } = self.kind else {
            let value = reward.open();
            return if value.is_finite() { Ok(value) } else { Err(ReleaseError::NotFinite) };
        };
        match Self::sampler(noise, epsilon, (lo, hi))? {
            RewardSampler::Laplace(mechanism) => mechanism.release(reward).map(|release| *release.value()),
            RewardSampler::Bit(mechanism) => mechanism.release(reward).map(|release| *release.value()),
            RewardSampler::Density(mechanism) => mechanism.release(reward).map(|release| *release.value()),
            RewardSampler::Gaussian(mechanism) => {
                let middle = lo + 0.5 * (hi - lo);
                let centred = Raw::seal(vec![reward.open() - middle]);
                mechanism.release(centred).map(|release| release.value()[0] + middle)
            }
        }
    }

    /// Calibrates the release of one reward, which consumes it.
    fn sampler(noise: RewardReleaseNoise, epsilon: Epsilon, (lo, hi): (f64, f64)) -> Result<RewardSampler, ReleaseError> {
        Ok(match noise {
            RewardReleaseNoise::Laplace => RewardSampler::Laplace(LaplaceRelease::calibrated(epsilon, lo, hi)?),
            RewardReleaseNoise::Bit => RewardSampler::Bit(BitRelease::calibrated(epsilon, lo, hi)?),
            RewardReleaseNoise::Density => RewardSampler::Density(DensityRelease::dense(epsilon, lo, hi)?.into()),
            RewardReleaseNoise::Hybrid => RewardSampler::Density(DensityRelease::calibrated(epsilon, lo, hi)?.into()),
            RewardReleaseNoise::Gaussian(delta) => {
                RewardSampler::Gaussian(VectorRelease::calibrated(epsilon, delta, 0.5 * (hi - lo), 1, Relation::Replace)?)
            }
        })
    }

    /// Returns what the exact samplers are given for one reward; empty without noise.
    ///
    /// # Errors
    /// Parameters beyond the samplers' range.
    pub fn laws(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        let RewardReleaseKind::Noisy { noise, epsilon, lo, hi } = self.kind else { return Ok(Vec::new()) };
        Ok(match Self::sampler(noise, epsilon, (lo, hi))? {
            RewardSampler::Laplace(mechanism) => mechanism.laws(),
            RewardSampler::Bit(mechanism) => mechanism.laws(),
            RewardSampler::Density(mechanism) => mechanism.laws(),
            RewardSampler::Gaussian(mechanism) => mechanism.laws(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{duchi, gaussian, hybrid, laplace, none, piecewise};
    use crate::{Budget, Calibration, MechanismEntry, Request, RewardFacts, RewardMechanism};
    use std::sync::Arc;

    fn mechanism(entry: &MechanismEntry, epsilon: f64) -> Arc<dyn RewardMechanism> {
        let facts = RewardFacts { bound: 1.0, noise_bound: Some(0.5), range: None, noise_variance: None, rounds: 10 };
        let request = Request {
            mechanism: entry.name,
            calibration: Calibration::Tight,
            budget: Budget::new(Some(epsilon), Some(1e-3)).expect("a budget"),
            clip: Some((-1.0, 3.0)),
        };
        (entry.build)(&request, &facts).expect("a mechanism")
    }

    fn ledger(entry: &MechanismEntry, epsilon: f64) -> Ledger {
        mechanism(entry, epsilon).ledger()
    }

    /// Checks that the exact side has the variance that policies are told.
    /// At the reward with the largest variance (the centre, or an end of the range for the density) it must agree to within 0.3
    /// of that variance: five standard errors at a kurtosis of 6 or more, a false alarm at most once in a million. If the
    /// hybrid's coin were tossed twice, the variance at epsilon 3 would be 1.4 times as large; with a hybrid instead of the
    /// density, twice as large.
    #[test]
    fn the_exact_side_has_the_variance_that_policies_are_told() {
        for entry in [laplace::ENTRY, duchi::ENTRY, piecewise::ENTRY, hybrid::ENTRY, gaussian::ENTRY] {
            for epsilon in [0.5, 3.0] {
                let mechanism = mechanism(&entry, epsilon);
                let release = RewardRelease::of(&mechanism.ledger()).expect("exact noise");
                let reward = if entry.name == "piecewise" { 3.0 } else { 1.0 };
                let draws: Vec<f64> =
                    (0..2000).map(|_| release.release(Raw::seal(reward)).expect("entropy").reward().expect("a reward")).collect();
                let n = draws.len() as f64;
                let mean = draws.iter().sum::<f64>() / n;
                let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                let told = mechanism.noise_variance();
                assert!((variance / told - 1.0).abs() < 0.3, "{} at {epsilon}: {variance} for {told}", entry.name);
            }
        }
    }

    /// Checks that draws differ and that their mean is the clipped reward.
    /// Five standard errors: a false alarm once in a million and a half.
    #[test]
    fn every_mechanism_has_an_exact_side() {
        for entry in [laplace::ENTRY, duchi::ENTRY, piecewise::ENTRY, hybrid::ENTRY, gaussian::ENTRY] {
            for epsilon in [0.5, 3.0] {
                let release = RewardRelease::of(&ledger(&entry, epsilon)).expect("exact noise");
                assert!(release.is_private());
                let draws: Vec<f64> =
                    (0..2000).map(|_| release.release(Raw::seal(0.4)).expect("entropy").reward().expect("a reward")).collect();
                let n = draws.len() as f64;
                let mean = draws.iter().sum::<f64>() / n;
                let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                assert!((mean - 0.4).abs() < 5.0 * (variance / n).sqrt(), "{}: {mean}", entry.name);
                assert!(1e-3 < variance, "{}", entry.name);
            }
            let release = RewardRelease::of(&ledger(&entry, 1.0)).expect("exact noise");
            assert_eq!(release.release(Raw::seal(f64::NAN)), Err(ReleaseError::NotFinite), "{}", entry.name);
        }
        let clear = RewardRelease::of(&ledger(&none::ENTRY, 1.0)).expect("nothing to add");
        assert_eq!(clear.release(Raw::seal(7.5)).expect("a reward").value(), &Signal::Reward(7.5));
        assert!(!clear.is_private() && clear.release(Raw::seal(f64::INFINITY)).is_err());
        let mut broken = ledger(&laplace::ENTRY, 1.0);
        broken.guarantee = Guarantee::NoGuarantee { reason: "clip".to_owned(), erratum: "E3".to_owned() };
        assert!(RewardRelease::of(&broken).is_err());
    }
}
