//! Implements `expected-improvement` \[Mockus1978\]: the point with the largest expected gain over the best point so far.
//!
//! With posterior mean mu, standard deviation s and `z = (mu - m)/s` the gain is `s (z Phi(z) + phi(z))`. Rewards are noisy, so that
//! m is the largest posterior mean of a point that was played. Points where s is 0 gain nothing.

use super::gp_policy::Ridge;
use super::posterior_plan::PreparedPosterior;
use super::{
    InputNoiseModel, Policy, PolicyMaker, PolicyPlan, PolicyStreams, PosteriorPlan, Problem, Proposal, RandomSource, Setting,
};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_gp::posterior::Posterior;
use privateer_gp::score::Moments;
use privateer_numerics::vectorised;
use privateer_privacy::{Released, Signal};

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let ridge = Ridge::parse(args, Ridge::Mechanism);
    PolicyPlan::new(move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let posterior = PosteriorPlan::Exact(InputNoiseModel::Modelled).prepare(problem)?;
        Ok(Box::new(ImprovementMaker { posterior, ridge, n_points: problem.n_points(), rounds: problem.rounds }))
    })
}

struct ImprovementMaker {
    posterior: PreparedPosterior,
    ridge: Ridge,
    n_points: usize,
    rounds: u64,
}

impl PolicyMaker for ImprovementMaker {
    fn own_bytes(&self) -> f64 {
        let n = self.n_points as f64;
        let k = n.min(self.rounds as f64);
        8.0 * (n * k + 3.0 * n + 2.5 * k * k)
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let posterior = self.posterior.prior(setting, self.ridge.value(setting).map_err(Error::input)?)?;
        Ok(Box::new(Improvement { posterior, n_points: self.n_points, bounds: Vec::new() }))
    }

    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        self.ridge.fact(setting).into_iter().collect()
    }
}

struct Improvement {
    posterior: Box<dyn Posterior>,
    n_points: usize,
    /// Memory that is used again.
    bounds: Vec<f64>,
}

/// The point with the largest expected improvement so far.
struct Best {
    point: usize,
    gain: f64,
    deviation: f64,
    z: f64,
}

impl Best {
    fn consider(&mut self, point: usize, incumbent: f64, Moments { mean, variance }: Moments) {
        let deviation = libm::sqrt(variance);
        let z = (mean - incumbent) / deviation;
        // The gain grows with both.
        if deviation == 0.0 || (deviation <= self.deviation && z <= self.z) {
            return;
        }
        let gain = deviation * standard_gain(z);
        if self.gain < gain {
            *self = Self { point, gain, deviation, z };
        }
    }

    /// Considers all points whose gain can be the largest, in their order.
    ///
    /// * `bounds` — memory that is used again
    fn consider_all(&mut self, incumbent: f64, means: &[f64], variances: &[f64], bounds: &mut Vec<f64>) {
        bounds.resize(means.len(), 0.0);
        bound_gains(means, variances, incumbent, bounds);
        let promising =
            bounds.iter().enumerate().fold(0, |best, (point, bound)| if bounds[best] < *bound { point } else { best });
        let deviation = libm::sqrt(variances[promising]);
        let known = deviation * standard_gain((means[promising] - incumbent) / deviation);
        // A point without deviation has no gain; where gains are as small as this, bounds lose digits.
        let least = known.max(self.gain);
        let least = if 1e-140 < least { least * (1.0 - 1e-9) } else { 0.0 };
        for (point, bound) in bounds.iter().enumerate() {
            if *bound < least {
                continue;
            }
            self.consider(point, incumbent, Moments { mean: means[point], variance: variances[point] });
        }
    }
}

vectorised! {
    /// Writes upper bounds of the gains, which are at most 1.13 times as large down to z = -3.
    ///
    /// For z <= 0 the gain is `s (phi(x) - x Q(x))` with `x = -z`, and `Q(x) >= 2 phi(x)/(x + r)`, `r = sqrt(x² + 4)` [Birnbaum1942], so
    /// that it is at most `4 s phi(x)/(x + r)²`. For z > 0 it is `mean - incumbent` more than at -z. `exp(x²/4)` is at least its series,
    /// and 0.398943 is above 1/sqrt(2 pi) by more than all roundings.
    fn bound_gains(means: &[f64], variances: &[f64], incumbent: f64, bounds: &mut [f64]) {
        for ((bound, mean), variance) in bounds.iter_mut().zip(means).zip(variances) {
            let rise = mean - incumbent;
            let (square, deviation) = (rise * rise, variance.sqrt());
            let q = 0.25 * square / variance;
            let series = 1.0 + q * (1.0 + q / 2.0 * (1.0 + q / 3.0 * (1.0 + q / 4.0 * (1.0 + q / 5.0))));
            let share = 2.0 * deviation / ((rise.abs() + (square + 4.0 * variance).sqrt()) * series);
            let above = if 0.0 < rise { rise } else { 0.0 };
            *bound = if *variance == 0.0 { 0.0 } else { above + 0.398943 * deviation * share * share };
        }
    }
}

/// Returns `z Phi(z) + phi(z)`.
fn standard_gain(z: f64) -> f64 {
    let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
    (z * 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2) + density).max(0.0)
}

impl Policy for Improvement {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        let Some(incumbent) = self.posterior.recommend() else {
            return Proposal::Random { source: RandomSource::Design, n_points: self.n_points };
        };
        let incumbent_mean = self.posterior.mean(incumbent);
        let mut best = Best { point: incumbent, gain: 0.0, deviation: 0.0, z: 0.0 };
        best.consider(incumbent, incumbent_mean, self.posterior.exact(incumbent));
        match self.posterior.table() {
            Some(table) => best.consider_all(incumbent_mean, table.means, table.variances, &mut self.bounds),
            None => {
                for (point, moments) in self.posterior.all_moments().into_iter().enumerate() {
                    best.consider(point, incumbent_mean, moments);
                }
            }
        }
        Proposal::Play(best.point)
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        if let Some(reward) = signal.reward() {
            self.posterior.observe(point, reward);
        }
    }

    fn recommend(&self) -> Option<usize> {
        self.posterior.recommend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the closed form, by integration of max(z + x, 0) over the normal law.
    #[test]
    fn the_gain_is_the_mean_of_the_improvement() {
        for z in [-6.0, -5.0, -4.0, -3.0, -2.5, -2.0, -1.0, 0.0, 0.7, 3.0] {
            let cell = |i: i32| 1e-3 * (f64::from(i) + 0.5);
            let mean = |x: f64| (z + x).max(0.0) * libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * std::f64::consts::PI);
            let expected: f64 = (-10_000..10_000).map(|i| 1e-3 * mean(cell(i))).sum();
            let found = standard_gain(z);
            let (deviation, mut bound) = (0.3, [0.0]);
            bound_gains(&[1.0 + z * deviation], &[deviation * deviation], 1.0, &mut bound);
            let looseness = bound[0] / (deviation * found);
            assert!(1.0 <= looseness && (z < -3.0 || looseness <= 1.13), "{z}: {looseness}");
            assert!((found - expected).abs() < 1e-6 * expected + 1e-13, "{z}: {found}, {expected}");
        }
    }

    /// Points are left out as if each had been considered, wherever the best one is.
    #[test]
    fn bounds_change_no_choice() {
        for seed in 0..500 {
            let number = |i: usize| libm::sin(0.7 * (i + 31 * seed) as f64 * (1.0 + (i % 5) as f64)).abs();
            let n = 300 + seed % 90;
            let spread = libm::pow(10.0, -((seed % 11) as f64));
            let above = (seed % 3) as f64;
            let means: Vec<f64> = (0..n).map(|i| 1.0 + spread * (above - number(i) - (i % 7) as f64)).collect();
            let variances: Vec<f64> =
                (0..n).map(|i| if i % 13 == 0 { 0.0 } else { number(3 * i) * libm::pow(0.5, (i % 9) as f64) }).collect();
            let start = || Best { point: seed % n, gain: 0.0, deviation: 0.0, z: 0.0 };
            let (mut by_bounds, mut one_by_one) = (start(), start());
            by_bounds.consider_all(1.0, &means, &variances, &mut Vec::new());
            let all = means.iter().zip(&variances).enumerate();
            all.for_each(|(point, (&mean, &variance))| one_by_one.consider(point, 1.0, Moments { mean, variance }));
            assert_eq!((by_bounds.point, by_bounds.gain), (one_by_one.point, one_by_one.gain), "{seed}");
            // The largest gain of all, whatever was left out.
            let gain = |i: usize| libm::sqrt(variances[i]) * standard_gain((means[i] - 1.0) / libm::sqrt(variances[i]));
            let largest = (0..n).filter(|&i| 0.0 < variances[i]).map(gain).fold(0.0, f64::max);
            assert_eq!(by_bounds.gain, largest, "{seed}");
        }
    }
}
