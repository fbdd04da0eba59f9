//! Computes means, intervals, quantiles and one fitted slope.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Holds mean, standard deviation and 95 % interval; `None` for numbers that need two trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleMoments {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n - 1).
    pub sd: Option<f64>,
    /// Standard error of the mean.
    pub se: Option<f64>,
    /// Half the width of the 95 % Student-t interval with n - 1 degrees of freedom.
    pub half: Option<f64>,
}

/// Returns the numbers of a sample without NaN, the value of a replay before any matching row.
pub(super) fn known(sample: &[f64]) -> Vec<f64> {
    sample.iter().copied().filter(|x| !x.is_nan()).collect()
}

impl SampleMoments {
    /// Computes the moments of a sample, summed in its order.
    ///
    /// `None` for an empty sample, or if the mean is not finite.
    pub fn of(sample: &[f64]) -> Option<Self> {
        let n = sample.len();
        let mean = sample.iter().sum::<f64>() / n as f64;
        if !mean.is_finite() {
            return None;
        }
        if n < 2 {
            return Some(Self { mean, sd: None, se: None, half: None });
        }
        let squares: f64 = sample.iter().map(|x| (x - mean) * (x - mean)).sum();
        let sd = (squares / (n - 1) as f64).sqrt();
        let se = sd / (n as f64).sqrt();
        Some(Self { mean, sd: Some(sd), se: Some(se), half: Some(t_975(n - 1) * se) })
    }

    /// Returns the two-sided p-value of "the mean is zero"; 1 if it cannot be tested.
    pub(super) fn p_value(&self, n: usize) -> f64 {
        match self.se {
            Some(se) if 0.0 < se => {
                let t = StudentsT::new(0.0, 1.0, (n - 1) as f64);
                let tail = t.map_or(1.0, |t| 2.0 * t.sf((self.mean / se).abs()));
                // Rounded, so that it is the same number on every platform.
                (tail * 1e12).round() / 1e12
            }
            Some(_) if self.mean != 0.0 => 0.0,
            _ => 1.0,
        }
    }

    /// Returns the lower end of the 95 % interval.
    pub fn low(&self) -> Option<f64> {
        self.half.map(|half| self.mean - half)
    }

    /// Returns the upper end of the 95 % interval.
    pub fn high(&self) -> Option<f64> {
        self.half.map(|half| self.mean + half)
    }
}

/// Holds the 5, 25, 50, 75 and 95 % quantiles.
///
/// They interpolate linearly between order statistics (type 7 of Hyndman and Fan).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles(pub [f64; 5]);

impl Quantiles {
    /// The levels of the quantiles.
    pub const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

    /// Computes the quantiles of a sample; `None` if it is empty or contains a non-finite number.
    pub fn of(sample: &[f64]) -> Option<Self> {
        if sample.is_empty() || sample.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self(Self::LEVELS.map(|level| {
            let at = level * (sorted.len() - 1) as f64;
            let below = at.floor() as usize;
            let above = (below + 1).min(sorted.len() - 1);
            sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
        })))
    }

    /// Returns the median.
    pub fn median(&self) -> f64 {
        self.0[2]
    }
}

fn t_975(degrees: usize) -> f64 {
    t_quantile(degrees, 0.975)
}

/// Widens a 95 % interval of a mean of n trials to one of which `pairs` hold together.
pub fn widened((low, high): (f64, f64), n: usize, pairs: usize) -> (f64, f64) {
    let at = |probability| t_quantile(n.saturating_sub(1).max(1), probability);
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low) * at(1.0 - 0.025 / pairs.max(1) as f64) / at(0.975));
    (middle - half, middle + half)
}

/// Returns a quantile of Student's t, rounded to nine decimals, so that it is the same number on every platform.
fn t_quantile(degrees: usize, probability: f64) -> f64 {
    let quantile = StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::NAN, |t| t.inverse_cdf(probability));
    (quantile * 1e9).round() / 1e9
}

/// Holds a ratio of two means over the same trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Mean of the numerator over the mean of the denominator.
    pub value: f64,
    /// Fieller's interval; `None` with fewer than two trials, or if the denominator cannot be told from zero.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Computes the ratio of two losses, as [`Ratio::signed`] does; `None` unless both means are positive.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let ratio = Self::signed(pairs).filter(|ratio| 0.0 < ratio.value)?;
        Some(Self { interval: ratio.interval.map(|(low, high)| (low.max(0.0), high)), ..ratio })
    }

    /// Computes the ratio over pairs `(numerator, denominator)` with Fieller's 95 % interval.
    ///
    /// The interval holds every r for which the paired t-test does not reject "numerator minus r times denominator has mean
    /// zero" \[Fieller, J. R. Stat. Soc. B 16, 1954\]. `None` unless the denominator's mean is positive.
    pub(super) fn signed(pairs: &[(f64, f64)]) -> Option<Self> {
        let n = pairs.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
        if !(0.0 < y && (x / y).is_finite()) {
            return None;
        }
        let value = x / y;
        if pairs.len() < 2 {
            return Some(Self { value, interval: None });
        }
        let t = t_975(pairs.len() - 1);
        // Variances and covariance of the means, times the square of the quantile.
        let spread = |of: &dyn Fn(&(f64, f64)) -> f64| t * t * pairs.iter().map(of).sum::<f64>() / (n - 1.0) / n;
        let (xx, yy) = (spread(&|pair| (pair.0 - x) * (pair.0 - x)), spread(&|pair| (pair.1 - y) * (pair.1 - y)));
        let xy = spread(&|pair| (pair.0 - x) * (pair.1 - y));
        let (a, b, c) = (y * y - yy, x * y - xy, x * x - xx);
        let root = (b * b - a * c).max(0.0).sqrt();
        let interval = (0.0 < a).then(|| ((b - root) / a, (b + root) / a));
        Some(Self { value, interval })
    }

    pub(super) fn percent(self) -> (f64, Option<(f64, f64)>) {
        (100.0 * self.value, self.interval.map(|(low, high)| (100.0 * low, 100.0 * high)))
    }
}

/// Returns which hypotheses Holm's method rejects, so that a false rejection among all has probability at most `level`.
pub(super) fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut rejected = vec![false; p_values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if level < p_values[at] * (p_values.len() - rank) as f64 {
            break;
        }
        rejected[at] = true;
    }
    rejected
}

/// Returns the exponent b of `regret ≈ a · round^b`, by least squares of ln regret on ln round.
///
/// The fit uses rounds from a tenth of the last on. `None` with fewer than three of these rounds with positive regret.
pub(super) fn exponent(rounds: &[u32], mean_regret: &[f64]) -> Option<f64> {
    let last = f64::from(*rounds.last()?);
    let logs: Vec<(f64, f64)> = rounds
        .iter()
        .zip(mean_regret)
        .filter(|(round, regret)| last <= 10.0 * f64::from(**round) && 0.0 < **regret && regret.is_finite())
        .map(|(round, regret)| (libm::log(f64::from(*round)), libm::log(*regret)))
        .collect();
    if logs.len() < 3 {
        return None;
    }
    let n = logs.len() as f64;
    let (x_mean, y_mean) = (logs.iter().map(|l| l.0).sum::<f64>() / n, logs.iter().map(|l| l.1).sum::<f64>() / n);
    let above: f64 = logs.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let below: f64 = logs.iter().map(|(x, _)| (x - x_mean) * (x - x_mean)).sum();
    (0.0 < below).then_some(above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_match_closed_forms_and_tables() {
        // One degree is Cauchy: tan(pi (p - 1/2)); two degrees: (2p - 1) sqrt(2 / (4 p (1 - p))).
        let p = 0.975_f64;
        assert!((t_975(1) - (std::f64::consts::PI * (p - 0.5)).tan()).abs() < 1e-8);
        assert!((t_975(2) - (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt()).abs() < 1e-8);
        for (degrees, tabled) in [(4, 2.776_445_105), (9, 2.262_157_163), (49, 2.009_575_237), (999, 1.962_341_461)] {
            assert!((t_975(degrees) - tabled).abs() < 2e-9, "{degrees}: {}", t_975(degrees));
        }
    }

    #[test]
    fn moments_of_a_small_sample() {
        let m = SampleMoments::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("a sample");
        assert_eq!((m.mean, m.sd), (3.0, Some(2.5_f64.sqrt())));
        assert!((m.half.expect("half") - 2.776_445_105 * (0.5_f64).sqrt()).abs() < 1e-8);
        assert!(m.low().is_some_and(|low| 0.0 < low));
        let one = SampleMoments::of(&[7.0]).expect("one trial");
        assert_eq!((one.mean, one.sd, one.low()), (7.0, None, None));
        assert_eq!(SampleMoments::of(&[]), None);
        assert_eq!(SampleMoments::of(&[1.0, f64::NAN]), None);
        assert_eq!(SampleMoments::of(&known(&[1.0, f64::NAN, 3.0])), SampleMoments::of(&[1.0, 3.0]));
    }

    #[test]
    fn ratios_have_fiellers_interval() {
        // A constant ratio has no spread.
        let exact = Ratio::of(&[(20.0, 10.0), (22.0, 11.0), (24.0, 12.0)]).expect("positive");
        assert_eq!(
            (exact.value, exact.interval.map(|(low, high)| (low - 2.0).abs() + (high - 2.0).abs() < 1e-6)),
            (2.0, Some(true))
        );
        // At its ends the paired difference just excludes zero.
        let pairs = [(4.0, 1.0), (5.0, 1.3), (3.0, 0.9), (4.5, 0.8)];
        let (low, high) = Ratio::of(&pairs).and_then(|ratio| ratio.interval).expect("bounded");
        for end in [low, high] {
            let gap = SampleMoments::of(&pairs.map(|(x, y)| x - end * y)).expect("a sample");
            assert!((gap.half.expect("half") - gap.mean.abs()).abs() < 1e-9);
        }
        assert!(low < 4.25 && 4.25 < high);
        assert_eq!(Ratio::of(&[(1.0, 0.0), (2.0, 5.0)]).expect("positive").interval, None);
        assert_eq!(Ratio::of(&[(1.0, 0.0), (2.0, 0.0)]), None);
    }

    /// By hand: means -2 and 10, variances of the means 1/3, no covariance, t² = 3.182446²; the ends solve
    /// (100 - t²/3) r² + 40 r + 4 - t²/3 = 0.
    #[test]
    fn signed_ratios_are_not_clamped() {
        let ratio = Ratio::signed(&[(-1.0, 9.0), (-1.0, 11.0), (-3.0, 9.0), (-3.0, 11.0)]).expect("positive denominator");
        let (low, high) = ratio.interval.expect("bounded");
        assert!((ratio.value + 0.2).abs() + (low + 0.397_739).abs() + (high + 0.016_237).abs() < 3e-6, "{ratio:?}");
        assert_eq!(Ratio::of(&[(-1.0, 9.0), (-1.0, 11.0)]), None);
        assert_eq!(Ratio::signed(&[(1.0, -9.0), (1.0, 5.0)]), None);
    }

    /// Of 4000 samples of six pairs with ratio 0.6, 5 % miss it: 200 ± 55 (four standard deviations, one false alarm in 16 000 seeds).
    #[test]
    fn fiellers_interval_covers_as_stated() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // A sum of twelve uniform numbers is normal enough.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut missed = 0;
        for _ in 0..4000 {
            let pairs: [(f64, f64); 6] = std::array::from_fn(|_| {
                let (shared, own) = (normal(), normal());
                (6.0 + shared + own, 10.0 + 2.0 * shared)
            });
            let (low, high) = Ratio::signed(&pairs).and_then(|ratio| ratio.interval).expect("far from zero");
            missed += i32::from(0.6 < low || high < 0.6);
        }
        assert!((missed - 200).abs() < 55, "{missed}");
    }

    #[test]
    fn holm_rejects_step_by_step() {
        assert_eq!(holm(&[0.04, 0.01, 0.03, 0.005], 0.05), [false, true, false, true]);
        assert_eq!(holm(&[0.02, 0.02], 0.05), [true, true]);
        let p = SampleMoments::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("a sample").p_value(5);
        assert!((p - 0.013_235_599).abs() < 1e-8, "{p}");
    }

    #[test]
    fn quantiles_interpolate() {
        let q = Quantiles::of(&[4.0, 1.0, 3.0, 2.0, 5.0]).expect("a sample");
        assert_eq!(q.0, [1.2, 2.0, 3.0, 4.0, 4.8]);
        assert_eq!(Quantiles::of(&[2.0]).expect("one").0, [2.0; 5]);
        assert_eq!(Quantiles::of(&[]), None);
    }

    #[test]
    fn the_exponent_of_a_power_is_found() {
        let rounds: Vec<u32> = (1..=1000).collect();
        // The first tenth does not follow the law and must be ignored.
        let regret: Vec<f64> = rounds.iter().map(|&t| if t < 100 { 1e6 } else { 3.0 * f64::from(t).powf(0.62) }).collect();
        assert!((exponent(&rounds, &regret).expect("fitted") - 0.62).abs() < 1e-12);
        assert_eq!(exponent(&[100, 1000], &[1.0, 2.0]), None);
        assert_eq!(exponent(&[8, 9, 10], &[0.0, 0.0, 0.0]), None);
        assert_eq!(exponent(&[], &[]), None);
    }
}
