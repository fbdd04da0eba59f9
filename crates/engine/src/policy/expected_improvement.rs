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
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::posterior::{MovedMoments, Posterior};
use privateer_gp::score::Moments;
use privateer_numerics::vectorised;
use privateer_privacy::{Released, Signal};

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
        8.0 * (n * k + 5.0 * n + 2.5 * k * k)
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let posterior = self.posterior.prior(setting, self.ridge.value(setting).map_err(Error::input)?)?;
        let moved = if posterior.table().is_some() { None } else { MovedMoments::new(&*posterior) };
        Ok(Box::new(Improvement { posterior, moved, n_points: self.n_points, bounds: Vec::new(), found: Vec::new() }))
    }

    fn facts(&self, setting: &Setting) -> Facts {
        self.ridge.fact(setting).into_iter().collect()
    }
}

struct Improvement {
    posterior: Box<dyn Posterior>,
    /// The moments of all points, where the posterior has no table of them.
    moved: Option<MovedMoments>,
    n_points: usize,
    /// Memory that is used again.
    bounds: Vec<f64>,
    found: Vec<usize>,
}

/// The point with the largest expected improvement so far.
#[derive(Debug, Clone, Copy)]
struct Best {
    point: usize,
    gain: f64,
    deviation: f64,
    z: f64,
}

impl Best {
    fn at(point: usize, incumbent: f64, Moments { mean, variance }: Moments) -> Self {
        let deviation = libm::sqrt(variance);
        Self { point, gain: 0.0, deviation, z: (mean - incumbent) / deviation }
    }

    fn with_gain(self) -> Self {
        Self { gain: if self.deviation == 0.0 { 0.0 } else { self.deviation * standard_gain(self.z) }, ..self }
    }

    /// Returns whether a point cannot gain more, since the gain grows with both.
    fn covers(&self, other: &Self) -> bool {
        other.deviation == 0.0 || (other.deviation <= self.deviation && other.z <= self.z)
    }

    fn consider(&mut self, other: Self) {
        if !self.covers(&other) {
            self.take(other.with_gain());
        }
    }

    fn take(&mut self, other: Self) {
        if self.gain < other.gain {
            *self = other;
        }
    }

    /// Considers the exact gains of the points whose moved moments gain nearly as much as the best does.
    ///
    /// * `bounds`, `found` — memory that is used again
    fn consider_moved(
        &mut self,
        incumbent: f64,
        moved: &MovedMoments,
        posterior: &dyn Posterior,
        bounds: &mut Vec<f64>,
        found: &mut Vec<usize>,
    ) {
        let mut best = *self;
        let (means, variances) = moved.all();
        best.consider_all(incumbent, means, variances, bounds, found);
        let floor = if SMALLEST_MOVED < best.gain { best.gain * (1.0 - DRIFT) } else { 0.0 };
        list_from(bounds, floor, found);
        for &point in &*found {
            if floor <= Self::at(point, incumbent, moved.of(point)).with_gain().gain {
                self.consider(Self::at(point, incumbent, posterior.exact(point)));
            }
        }
    }

    /// Considers all points whose gain can be the largest, in their order.
    fn consider_all(&mut self, incumbent: f64, means: &[f64], variances: &[f64], bounds: &mut Vec<f64>, found: &mut Vec<usize>) {
        bounds.resize(means.len(), 0.0);
        let largest = bound_gains(means, variances, incumbent, bounds);
        let at = |point: usize| Self::at(point, incumbent, Moments { mean: means[point], variance: variances[point] });
        list_from(bounds, largest, found);
        let Some(&promising) = found.first() else { return };
        let known = at(promising).with_gain();
        // Where gains are as small as this, they lose digits.
        let least = known.gain.max(self.gain);
        list_from(bounds, if 1e-140 < least { least * (1.0 - 1e-9) } else { 0.0 }, found);
        for &point in &*found {
            if point != promising {
                self.consider(at(point));
            } else if !self.covers(&known) {
                self.take(known);
            }
        }
    }
}

/// Share by which the gain of moved moments may differ from the exact one, a hundred times the largest in tests.
const DRIFT: f64 = 1e-6;

/// Smallest gain of moved moments that decides which points are considered; below it all are.
const SMALLEST_MOVED: f64 = 1e-100;

const LANES: usize = 32;

/// The slope of a tangent of sqrt(x² + 4), at 4: 2/sqrt(5).
const STEEP: f32 = 0.894_427_2;

vectorised! {
    /// Writes upper bounds of the gains, at most 1.2 times as large down to z = -3, and returns the largest.
    ///
    /// For z <= 0 the gain is `s (phi(x) - x Q(x))` with `x = -z`, and `Q(x) >= 2 phi(x)/(x + r)`, `r = sqrt(x² + 4)` [Birnbaum1942], so
    /// that it is at most `4 s phi(x)/(x + r)²`. For z > 0 it is `mean - incumbent` more than at -z. `r` is at least its tangents,
    /// here those at 0, 1.5 and 4, and `exp(x²/4)` is at least its series. `x` and what follows from it are in single precision: some
    /// forty roundings, and .3991 is above 1/sqrt(2 pi) by six thousand. Beyond its range there is no bound; where the last division
    /// loses digits, x > 37, a gain is 0.
    fn bound_gains(means: &[f64], variances: &[f64], incumbent: f64, bounds: &mut [f64]) -> f64 {
        for ((bound, mean), &variance) in bounds.iter_mut().zip(means).zip(variances) {
            let rise = mean - incumbent;
            let deviation = (variance as f32).sqrt();
            let x = rise.abs() as f32 / deviation;
            let (near, far) = (0.6 * x + 1.6, STEEP * x + STEEP);
            let r = if near < 2.0 { 2.0 } else { near };
            let r = if r < far { far } else { r };
            let q = 0.25 * x * x;
            let series = 1.0 + q * (1.0 + q * (1.0 / 2.0 + q * (1.0 / 6.0 + q * (1.0 / 24.0 + q * (1.0 / 120.0)))));
            let share = f64::from(2.0 / ((x + r) * series));
            let above = if 0.0 < rise { rise } else { 0.0 };
            let within = above + 0.3991 * f64::from(deviation) * share * share;
            let is_within = 1e-30 < variance && variance < 1e30;
            *bound = if is_within { within } else { f64::INFINITY };
            *bound = if variance == 0.0 { 0.0 } else { *bound };
        }
        let (blocks, rest) = bounds.as_chunks::<LANES>();
        let mut largest = [0.0; LANES];
        for block in blocks {
            for lane in 0..LANES {
                largest[lane] = if largest[lane] < block[lane] { block[lane] } else { largest[lane] };
            }
        }
        largest.iter().chain(rest).copied().fold(0.0, f64::max)
    }
}

vectorised! {
    /// Lists the numbers that are at least `least`, by their places, ascending.
    fn list_from(numbers: &[f64], least: f64, found: &mut Vec<usize>) {
        found.clear();
        for (at, block) in numbers.chunks(LANES).enumerate() {
            if block.iter().fold(false, |any, number| any | (least <= *number)) {
                found.extend((at * LANES..).zip(block).filter(|(_, number)| least <= **number).map(|(place, _)| place));
            }
        }
    }
}

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
        let mut best = Best::at(incumbent, incumbent_mean, self.posterior.exact(incumbent)).with_gain();
        let (bounds, found) = (&mut self.bounds, &mut self.found);
        match (self.posterior.table(), &self.moved) {
            (Some(table), _) => best.consider_all(incumbent_mean, table.means, table.variances, bounds, found),
            (None, Some(moved)) => best.consider_moved(incumbent_mean, moved, &*self.posterior, bounds, found),
            (None, None) => {
                for (point, moments) in self.posterior.all_moments().into_iter().enumerate() {
                    best.consider(Best::at(point, incumbent_mean, moments));
                }
            }
        }
        Proposal::Play(best.point)
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        if let Some(reward) = signal.reward() {
            self.posterior.observe(point, reward);
            if let Some(moved) = &mut self.moved {
                moved.follow(&mut *self.posterior);
            }
        }
    }

    fn recommend(&self) -> Option<usize> {
        self.posterior.recommend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_gp::kernel::Lengthscales;
    use privateer_gp::kernel::squared_exponential::SquaredExponential;
    use privateer_gp::posterior::ExactPosterior;
    use privateer_gp::score::{GramSource, ScoreModel};
    use privateer_gp::{KernelGram, Points};
    use std::sync::Arc;

    #[test]
    fn moved_moments_change_no_choice() {
        let gram = |lengthscale: f64, points: Points| {
            let kernel = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(lengthscale), 1.0));
            Arc::new(KernelGram::new(kernel, points))
        };
        let line = gram(0.05, Points::grid(1, 100, 0.0, 1.0));
        let plane = gram(0.5, Points::grid(2, 10, 0.0, 1.0));
        let cases = [(1e-3, 4000), (0.1, 300), (10.0, 300), (4e-4, 2500), (1e-4, 1500), (1e-5, 500)];
        for (gram, (ridge, rounds)) in
            cases.map(|case| (&line, case)).into_iter().chain(cases[3..].iter().map(|&case| (&plane, case)))
        {
            let mut posterior = ExactPosterior::new(Arc::clone(gram) as Arc<dyn GramSource>, ridge);
            let mut moved = MovedMoments::new(&posterior).expect("covariances");
            let mut point = 7;
            for round in 0..rounds {
                let noise = libm::sqrt(ridge) * libm::sin(1.7 * f64::from(round));
                posterior.observe(point, libm::sin(0.05 * point as f64) + noise);
                moved.follow(&mut posterior);
                let incumbent = posterior.recommend().expect("an observation");
                let mean = posterior.mean(incumbent);
                let start = Best::at(incumbent, mean, posterior.exact(incumbent)).with_gain();
                let mut by_moved = start;
                by_moved.consider_moved(mean, &moved, &posterior, &mut Vec::new(), &mut Vec::new());
                point = by_moved.point;
                if 200 < round && round < rounds - 200 {
                    continue;
                }
                let mut one_by_one = start;
                for (point, moments) in posterior.all_moments().into_iter().enumerate() {
                    one_by_one.consider(Best::at(point, mean, moments));
                    let (exact, about) =
                        [moments, moved.of(point)].map(|moments| Best::at(point, mean, moments).with_gain().gain).into();
                    assert!((about - exact).abs() <= 1e-2 * DRIFT * by_moved.gain, "{ridge}, {round}, {point}: {about}, {exact}");
                }
                assert_eq!((by_moved.point, by_moved.gain), (one_by_one.point, one_by_one.gain), "{ridge}, {round}");
            }
        }
        assert!(MovedMoments::new(&ExactPosterior::new(line, 9e-6)).is_none());
    }

    /// Values of the closed form, by integration of max(z + x, 0) over the normal law.
    #[test]
    fn the_gain_is_the_mean_of_the_improvement() {
        for z in [-6.0, -5.0, -4.0, -3.0, -2.5, -2.0, -1.0, 0.0, 0.7, 3.0] {
            let cell = |i: i32| 1e-3 * (f64::from(i) + 0.5);
            let mean = |x: f64| (z + x).max(0.0) * libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * std::f64::consts::PI);
            let expected: f64 = (-10_000..10_000).map(|i| 1e-3 * mean(cell(i))).sum();
            let found = standard_gain(z);
            assert!((found - expected).abs() < 1e-6 * expected + 1e-13, "{z}: {found}, {expected}");
        }
    }

    #[test]
    fn gains_are_bounded_from_above() {
        let zs: Vec<f64> = (-600..300).map(|i| f64::from(i) / 100.0).collect();
        for deviation in [1e-14, 0.3, 1e14, 1e-30, 1e30] {
            let (means, mut bounds) = (zs.iter().map(|z| z * deviation).collect::<Vec<f64>>(), vec![0.0; zs.len()]);
            let largest = bound_gains(&means, &vec![deviation * deviation; zs.len()], 0.0, &mut bounds);
            assert_eq!(largest, bounds.iter().copied().fold(0.0, f64::max));
            for (z, bound) in zs.iter().zip(&bounds) {
                let looseness = bound / (deviation * standard_gain(*z));
                let is_tight = *z < -3.0 || looseness <= 1.2 || looseness == f64::INFINITY;
                assert!(1.0 <= looseness && is_tight, "{deviation}, {z}: {looseness}");
                assert_eq!(looseness == f64::INFINITY, deviation == 1e-30 || deviation == 1e30);
            }
        }
    }

    /// Points are left out as if each had been considered, wherever the best one is.
    #[test]
    fn bounds_change_no_choice() {
        for seed in 0..500 {
            let number = |i: usize| libm::sin(0.7 * (i + 31 * seed) as f64 * (1.0 + (i % 5) as f64)).abs();
            let n = 300 + seed % 90;
            let spread = libm::pow(10.0, -((seed % 11) as f64));
            let (above, scale) = ((seed % 3) as f64, [1.0, 1e-20, 1e20][seed / 3 % 3]);
            let means: Vec<f64> = (0..n).map(|i| 1.0 + scale * spread * (above - number(i) - (i % 7) as f64)).collect();
            let variances: Vec<f64> = (0..n)
                .map(|i| if i % 13 == 0 { 0.0 } else { scale * scale * number(3 * i) * libm::pow(0.5, (i % 9) as f64) })
                .collect();
            let start = || Best { point: seed % n, gain: 0.0, deviation: 0.0, z: 0.0 };
            let (mut by_bounds, mut one_by_one) = (start(), start());
            by_bounds.consider_all(1.0, &means, &variances, &mut Vec::new(), &mut Vec::new());
            let all = means.iter().zip(&variances).enumerate();
            all.for_each(|(point, (&mean, &variance))| one_by_one.consider(Best::at(point, 1.0, Moments { mean, variance })));
            assert_eq!((by_bounds.point, by_bounds.gain), (one_by_one.point, one_by_one.gain), "{seed}");
            // The largest gain of all, whatever was left out.
            let gain = |i: usize| libm::sqrt(variances[i]) * standard_gain((means[i] - 1.0) / libm::sqrt(variances[i]));
            let largest = (0..n).filter(|&i| 0.0 < variances[i]).map(gain).fold(0.0, f64::max);
            assert_eq!(by_bounds.gain, largest, "{seed}");
        }
    }
}
