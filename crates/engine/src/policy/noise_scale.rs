//! Measures the noise of a released reward for exploration factors: observation and mechanism.

use super::exploration_factor::NoiseMeasure;
use super::{ExplorationFactor, Setting};
use privateer_config::error::Diagnostic;
use privateer_config::facts::Fact;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseScale {
    /// The scale, in units of the reward.
    pub value: f64,
    pub source: &'static str,
}

impl NoiseScale {
    const UNUSED: Self = Self { value: 0.0, source: "" };

    pub fn of(beta: ExplorationFactor, setting: &Setting) -> Result<Self, Diagnostic> {
        let found = match beta {
            ExplorationFactor::Constant { .. } => return Ok(Self::UNUSED),
            ExplorationFactor::Theory { .. } => {
                let proved =
                    sub_gaussian(setting).map(|value| Self { value, source: "proved sub-Gaussian scale of a released reward" });
                proved.or_else(|| Self::deviation(setting))
            }
            ExplorationFactor::Order { noise: NoiseMeasure::Deviation, .. } => Self::deviation(setting),
            ExplorationFactor::Order { noise: NoiseMeasure::Range, .. } => {
                range(setting).map(Self::of_range).or_else(|| Self::deviation(setting))
            }
        };
        found.ok_or_else(|| {
            Diagnostic::new("beta needs a noise scale, but the environment's noise has neither a bound nor a variance")
                .hint("use `gp-ucb` with `beta = \"theory\"`, `tgp-ucb` with `moment`, a `constant` beta, or noise with more than 2 degrees of freedom")
        })
    }

    /// Returns the standard deviation of a released reward; `None` if it is not known to be finite.
    pub fn deviation(setting: &Setting) -> Option<Self> {
        let (facts, released) = (&setting.facts, &setting.released);
        // The variance of bounded noise is at most its squared bound; that of a clipped reward, the squared end of its range.
        let bounded = facts.noise_bound.or(released.clipped_bound.filter(|_| 0.0 < released.mechanism_variance));
        let own = facts.noise_variance.or(bounded.map(|bound| bound * bound))?;
        let value = libm::sqrt(own + released.mechanism_variance);
        Some(Self { value, source: "standard deviation of a released reward, a heuristic" })
    }

    pub fn of_range(value: f64) -> Self {
        Self { value, source: "range of a released reward" }
    }

    /// Returns the manifest's entry; `None` where the factor uses no scale.
    pub fn fact(self) -> Option<Fact> {
        (!self.source.is_empty()).then(|| ("noise scale of beta", format!("{:.6}: {}", self.value, self.source).into()))
    }
}

/// Returns the bound of a released reward, or without a mechanism that of its noise.
fn range(setting: &Setting) -> Option<f64> {
    setting.released.output_bound().or(setting.facts.noise_bound.filter(|_| setting.released.mechanism_variance == 0.0))
}

/// Returns the least proved sub-Gaussian scale of a released reward.
///
/// Proof: docs/proofs/sub-gaussian.md.
pub fn sub_gaussian(setting: &Setting) -> Option<f64> {
    let (facts, released) = (&setting.facts, &setting.released);
    // Clipping is a contraction: it keeps the scale of normal noise, and noise within [-R, R] in an interval of length 2 R.
    let own = match released.clip {
        Some((lo, hi)) if facts.noise_bound.is_none_or(|noise| lo > -(facts.bound + noise) || facts.bound + noise > hi) => {
            let half = 0.5 * (hi - lo);
            Some(facts.noise_bound.or(setting.noise_scale).map_or(half, |scale| scale.min(half)))
        }
        _ => setting.noise_scale,
    };
    let sum = own.zip(released.mechanism_scale).map(|(own, mechanism)| libm::hypot(own, mechanism));
    // Hoeffding's lemma on the range of releases.
    let bounded = released.output_range.map(|(lo, hi)| 0.5 * (hi - lo));
    match (sum, bounded) {
        (Some(sum), Some(bounded)) => Some(sum.min(bounded)),
        (sum, bounded) => sum.or(bounded),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReleasedFacts;
    use super::*;
    use privateer_privacy::RewardFacts;

    /// Noise on |f| <= 1, and normal noise of deviation `sigma` on the clipped reward.
    fn setting(noise_bound: Option<f64>, noise_scale: Option<f64>, clip: Option<(f64, f64)>, sigma: f64) -> Setting {
        let noise_variance = noise_scale.map(|scale| scale * scale);
        let facts = RewardFacts { bound: 1.0, noise_bound, range: None, noise_variance, rounds: 10 };
        let released = ReleasedFacts {
            mechanism_variance: sigma * sigma,
            mechanism_scale: Some(sigma),
            clip,
            ..ReleasedFacts::unchanged(None)
        };
        Setting { facts, released, sums: None, noise_scale, train: None, released_inputs: None }
    }

    #[test]
    fn the_least_proved_scale_is_taken() {
        let third = libm::sqrt(1.0 / 3.0);
        let close = |setting: &Setting, expected: f64| {
            let found = sub_gaussian(setting).expect("a scale");
            assert!((found - expected).abs() < 1e-15 * (1.0 + expected), "{found} for {expected}");
        };
        // Without a mechanism, and with one whose clip never acts.
        close(&setting(Some(1.0), Some(third), None, 0.0), third);
        close(&setting(Some(1.0), Some(third), Some((-2.0, 2.0)), 1.5), libm::hypot(third, 1.5));
        // A clip that acts: the bound of the noise, or half of the range.
        close(&setting(Some(1.0), Some(third), Some((-1.5, 2.0)), 0.0), 1.0);
        close(&setting(Some(1.0), Some(third), Some((0.0, 0.5)), 0.0), 0.25);
        // Normal and heavy-tailed noise.
        close(&setting(None, Some(0.3), Some((-2.0, 2.0)), 0.4), 0.5);
        close(&setting(None, None, Some((-2.0, 4.0)), 4.0), 5.0);
        assert_eq!(sub_gaussian(&setting(None, None, None, 0.4)), None);
        // Half of the range of releases, where that is less.
        let mut bounded = setting(None, Some(3.0), Some((1.0, 9.0)), 4.0);
        bounded.released.output_range = Some((-1.0, 5.0));
        close(&bounded, 3.0);
        // Laplace noise.
        bounded.released.output_range = None;
        bounded.released.mechanism_scale = None;
        assert_eq!(sub_gaussian(&bounded), None);
    }

    /// The moment generating function of clipped normal noise, by integration, keeps to the scale.
    #[test]
    fn clipped_normal_noise_keeps_its_scale() {
        for (lo, hi) in [(-0.5, 0.5), (-1.0, 3.0), (0.5, 4.0), (-6.0, 6.0)] {
            let scale = sub_gaussian(&setting(None, Some(1.0), Some((lo, hi)), 0.0)).expect("a scale");
            // Midpoints of 4000 cells of [-10, 10].
            let cells = (0..4000).map(|i| 0.005 * (f64::from(i) + 0.5) - 10.0);
            let law: Vec<(f64, f64)> = cells.map(|z| (z.clamp(lo, hi), libm::exp(-0.5 * z * z))).collect();
            let total: f64 = law.iter().map(|(_, weight)| weight).sum();
            let mean = law.iter().map(|(y, weight)| y * weight).sum::<f64>() / total;
            for x in (-30..=30).map(|i| 0.2 * f64::from(i)) {
                let mgf = law.iter().map(|(y, weight)| libm::exp(x * (y - mean)) * weight).sum::<f64>() / total;
                assert!(mgf <= libm::exp(0.5 * x * x * scale * scale) * (1.0 + 1e-9), "[{lo}, {hi}], {x}: {mgf}");
            }
        }
    }

    #[test]
    fn order_takes_the_deviation_or_the_range_and_says_so() {
        let mut bounded = setting(None, Some(3.0), Some((-2.0, 2.0)), 4.0);
        bounded.released.output_range = Some((-9.0, 9.0));
        let of = |noise| NoiseScale::of(ExplorationFactor::Order { factor: 0.5, noise }, &bounded).expect("known");
        let (deviation, range) = (of(NoiseMeasure::Deviation), of(NoiseMeasure::Range));
        assert_eq!((deviation.value, range.value), (5.0, 9.0));
        let (_, fact) = deviation.fact().expect("a fact");
        assert_eq!(fact.as_str(), Some("5.000000: standard deviation of a released reward, a heuristic"));
        let theory = NoiseScale::of(ExplorationFactor::Theory { factor: 1.0 }, &bounded).expect("proved");
        assert_eq!((theory.value, theory.source), (libm::hypot(2.0, 4.0), "proved sub-Gaussian scale of a released reward"));
        assert_eq!(
            NoiseScale::of(ExplorationFactor::Constant { value: 1.0 }, &setting(None, None, None, 0.0)).map(NoiseScale::fact),
            Ok(None)
        );
    }
}
