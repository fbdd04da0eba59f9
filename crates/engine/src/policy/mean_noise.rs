//! States the noise on a mean of rewards of one point: of the rewards themselves, and of the sum that a trusted server releases.

use super::noise_scale::{NoiseScale, sub_gaussian};
use super::{ReleasedFacts, Setting};
use privateer_config::error::Diagnostic;
use privateer_privacy::sums::Spectrum;

/// Holds the noise on the mean of n rewards of one point: variance `reward / n + (sum / n)²`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanNoise {
    /// Variance of one reward, with its mechanism where each reward has its own.
    pub reward: f64,
    /// Variance of what a user adds to their answer to a shuffler, part of `reward`; 0 without a shuffler.
    pub answer: f64,
    /// Least number of rewards of which a mean is released.
    pub least: u64,
    /// Standard deviation of the noise on a sum that a server releases; 0 where rewards arrive one by one.
    pub sum: f64,
    /// Half of the length of the range to which a server clips rewards; infinite where rewards arrive one by one.
    half: f64,
    /// Whether a server releases sums.
    pub is_batched: bool,
    /// Variance proxy of rewards without Laplace noise, over `reward`; where a reward has none that is proved, its variance counts.
    proxy: f64,
    /// Largest scale of Laplace noise on a reward or a sum; 0 without any.
    laplace: f64,
}

/// The batches of [`MeanNoise::users`] are at least this many.
const LEAST_BATCHES: u64 = 32;

/// The clip range is taken to hold at least this many standard deviations of the function.
const DEVIATIONS: f64 = 8.0;

impl MeanNoise {
    /// Returns the noise of sums that a server releases; `None` where rewards arrive one by one.
    pub fn of_sums(setting: &Setting) -> Option<Self> {
        let (sums, facts) = (setting.sums?, &setting.facts);
        let (sum, (answer, answer_proxy), least) = match sums.spectrum {
            Spectrum::Moments { std } => (std, (0.0, 0.0), 1),
            Spectrum::Shuffled { variance, proxy, users } => (0.0, (variance, proxy), users),
            Spectrum::None | Spectrum::Joint { .. } | Spectrum::Local { .. } => (0.0, (0.0, 0.0), 1),
        };
        let half = sums.clip.map_or(f64::INFINITY, |(lo, hi)| 0.5 * (hi - lo));
        // A clipped reward lies in an interval, and its variance is at most the square of half of its length.
        let alone = facts.noise_variance.or(facts.noise_bound.map(|bound| bound * bound)).unwrap_or(half * half);
        let clipped = ReleasedFacts { clip: sums.clip, mechanism_scale: Some(0.0), ..setting.released };
        // An answer varies around its reward, and the reward around its mean: their proxies add up.
        let own = proxy(setting, clipped, alone);
        let proxy = if 0.0 < answer { (answer_proxy + own * alone) / (answer + alone) } else { own };
        // Where the noise is normal this is more than its tails need.
        Some(Self {
            reward: alone + answer,
            answer,
            least,
            sum,
            half,
            is_batched: true,
            proxy,
            laplace: sum / std::f64::consts::SQRT_2,
        })
    }

    /// Returns the noise of sums or of rewards one by one.
    ///
    /// # Errors
    /// If the variance of a reward is not known to be finite.
    pub fn of(setting: &Setting) -> Result<Self, Diagnostic> {
        let single = || {
            let (deviation, released) = (NoiseScale::deviation(setting)?.value, setting.released);
            let reward = deviation * deviation;
            let laplace = released.laplace_scale.unwrap_or(0.0);
            let scale = if 0.0 < laplace { Some(0.0) } else { released.mechanism_scale };
            let proxy = proxy(setting, ReleasedFacts { mechanism_scale: scale, ..released }, reward);
            Some(Self { reward, answer: 0.0, least: 1, sum: 0.0, half: f64::INFINITY, is_batched: false, proxy, laplace })
        };
        Self::of_sums(setting).or_else(single).ok_or_else(|| {
            Diagnostic::new("the policy needs the variance of a reward, and the noise has neither a bound nor a variance")
                .hint("use noise with more than 2 degrees of freedom, or a mechanism that clips rewards")
        })
    }

    /// Returns the noise with this variance of a reward, if its own is less.
    #[must_use]
    pub fn at_least(self, reward: f64) -> Self {
        if self.reward < reward { Self { reward, ..self } } else { self }
    }

    pub fn variance(&self, n: f64) -> f64 {
        self.reward / n + (self.sum / n) * (self.sum / n)
    }

    /// Returns the number of users of a batch from public numbers: `docs/proofs/batches.md`.
    pub fn users(&self, prior_variance: f64, rounds: u64) -> u64 {
        let most = (rounds / LEAST_BATCHES).max(1) as f64;
        let deviation = libm::sqrt(prior_variance).min(2.0 * self.half / DEVIATIONS);
        let users = (self.sum * self.sum / self.reward).min(self.sum / deviation);
        (libm::ceil(users).clamp(1.0, most) as u64).max(self.least)
    }

    /// Returns a factor for which `factor sqrt(variance(n))` bounds the noise on a mean of n rewards, on either side.
    ///
    /// The bound fails with a probability of at most `2 exp(-log)`. It holds for weighted sums of means of at least n rewards too:
    /// `docs/proofs/batches.md`.
    pub fn factor(&self, log: f64, n: f64) -> f64 {
        let (normal, laplace) = self.factors(log);
        normal.max(laplace / (n * libm::sqrt(self.variance(n))))
    }

    /// Returns the two bounds of [`MeanNoise::factor`]: that of normal tails, and n standard deviations times that of Laplace tails.
    pub fn factors(&self, log: f64) -> (f64, f64) {
        let proxy = if 0.0 < self.laplace { self.proxy.max(2.0 * std::f64::consts::LN_2) } else { self.proxy };
        (libm::sqrt(2.0 * log * proxy), 2.0 * std::f64::consts::SQRT_2 * log * self.laplace)
    }
}

/// Returns the squared sub-Gaussian scale of a reward over its variance.
fn proxy(setting: &Setting, released: ReleasedFacts, variance: f64) -> f64 {
    let scale = sub_gaussian(&Setting { released, ..setting.clone() });
    scale.filter(|_| 0.0 < variance).map_or(1.0, |scale| scale * scale / variance)
}
