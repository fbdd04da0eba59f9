//! Fits the buffers of a Toeplitz matrix.
//!
//! The rational function `c(x) = prod (1 - zero_i x)/(1 - pole_i x)`, with interlaced zeros and poles in (0, 1), is chosen to
//! minimise sensitivity times largest standard deviation. Both norms have closed forms as sums of positive terms, so the time
//! of a fit does not grow with the stream; it grows with the rounds of one user.

use super::minimise::minimise;
use crate::accounting::sensitivity::Participation;

/// Zeros and poles as distances from 1, a zero first, strictly decreasing.
#[derive(Debug, Clone)]
pub(super) struct Poles(Vec<f64>);

impl Poles {
    /// Makes zeros and poles from the logarithms of the gaps between the distances' logarithms.
    fn of_gaps(log_gaps: &[f64]) -> Self {
        let mut depth = 0.0;
        let distances = log_gaps.iter().map(|gap| {
            depth += libm::exp(*gap);
            libm::exp(-depth)
        });
        Self(distances.collect())
    }

    fn zeros(&self) -> impl Iterator<Item = f64> + Clone {
        self.0.iter().step_by(2).copied()
    }

    fn poles(&self) -> impl Iterator<Item = f64> + Clone {
        self.0.iter().skip(1).step_by(2).copied()
    }

    /// Returns the decay rates.
    pub(super) fn theta(&self) -> Vec<f64> {
        self.poles().map(|distance| 1.0 - distance).collect()
    }

    /// Returns the weights, positive because zeros and poles interlace.
    /// They are `prod_j (theta_i - zero_j) / prod_(j != i) (theta_i - theta_j)`.
    pub(super) fn omega(&self) -> Vec<f64> {
        residues(self.poles(), self.zeros())
    }

    /// Returns the logarithm of (sensitivity times largest standard deviation)².
    fn objective(&self, rounds: f64, participation: Participation) -> f64 {
        let columns = if participation.is_once() {
            let pole: Vec<f64> = self.poles().collect();
            1.0 + sum_of_squares(&pole, &self.omega(), rounds - 1.0)
        } else {
            self.columns(rounds, participation)
        };
        // The prefix response is 1/((1 - x) c(x)): a constant, and decays at the rates of the zeros.
        let zero: Vec<f64> = self.zeros().collect();
        let weight: Vec<f64> = residues(self.zeros(), self.poles()).iter().zip(&zero).map(|(r, z)| -r / z).collect();
        let constant: f64 = self.poles().zip(self.zeros()).map(|(pole, zero)| pole / zero).product();
        let cross: f64 = zero.iter().zip(&weight).map(|(z, w)| w * geometric(*z, rounds)).sum();
        let prefix = rounds * constant * constant + 2.0 * constant * cross + sum_of_squares(&zero, &weight, rounds);
        libm::log(columns) + libm::log(prefix)
    }

    /// Returns the squared norm of the sum of one user's columns, the first and those at the least separation after it.
    ///
    /// The column that starts d separations b before another has with it the product
    /// `c_db + sum_(u >= 1) c_u c_(u + db)` over the rounds of the later one, a sum of geometric series.
    fn columns(&self, rounds: f64, Participation { count, separation }: Participation) -> f64 {
        let (pole, omega): (Vec<f64>, Vec<f64>) = (self.poles().collect(), self.omega());
        let apart = separation as f64;
        let step: Vec<f64> = pole.iter().map(|pole| libm::exp(apart * libm::log1p(-pole))).collect();
        // The power of a decay rate over the distance to the column under way, and the sum of these powers over all before.
        let (mut power, mut earlier) = (vec![1.0; pole.len()], vec![0.0; pole.len()]);
        let mut norm = 0.0;
        for at in 0..count {
            let left = rounds - at as f64 * apart;
            if left < 1.0 {
                break;
            }
            norm += 1.0;
            for (q, weight) in omega.iter().enumerate() {
                norm += 2.0 * weight * earlier[q] / (1.0 - pole[q]);
                let both = |p: usize| omega[p] * geometric(pole[p] + pole[q] - pole[p] * pole[q], left - 1.0);
                norm += weight * (1.0 + 2.0 * earlier[q]) * (0..pole.len()).map(both).sum::<f64>();
                power[q] *= step[q];
                earlier[q] += power[q];
            }
        }
        norm
    }
}

/// Returns `prod_j (a_i - b_j) / prod_(j != i) (a_i - a_j)`, from distances to 1.
fn residues(a: impl Iterator<Item = f64> + Clone, b: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let of = |(i, here): (usize, f64)| {
        let above: f64 = b.clone().map(|other| other - here).product();
        let below: f64 = a.clone().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other - here).product();
        above / below
    };
    a.clone().enumerate().map(of).collect()
}

/// Returns `sum over k < n of (1 - distance)^k`.
fn geometric(distance: f64, n: f64) -> f64 {
    if distance <= 0.0 { n } else { -libm::expm1(n * libm::log1p(-distance)) / distance }
}

/// Returns `sum over k < n of (sum_i weight_i (1 - distance_i)^k)²`.
fn sum_of_squares(distance: &[f64], weight: &[f64], n: f64) -> f64 {
    let pairs = distance.iter().zip(weight).flat_map(|(a, v)| distance.iter().zip(weight).map(move |(b, w)| (a, b, v * w)));
    pairs.map(|(a, b, product)| product * geometric(a + b - a * b, n)).sum()
}

/// Returns the number of buffers for a stream of this length.
/// It brings the noise to within about one part in a thousand of the best.
pub(super) fn buffers(rounds: u64) -> usize {
    match rounds {
        0..=3 => 1,
        4..=31 => 2,
        32..=511 => 3,
        512..=16_383 => 4,
        16_384..=262_143 => 5,
        262_144..=8_388_607 => 6,
        _ => 8,
    }
}

/// Most rounds of one user that a fit counts one by one.
const MOST_COUNTED: u64 = 256;

/// Returns the best zeros and poles found, by quasi-Newton steps from evenly spaced ones.
///
/// Of more than 256 rounds of a user, several in a row are taken as one of their weight.
pub(super) fn fit(rounds: u64, n_buffers: usize, Participation { count, separation }: Participation) -> Poles {
    let (n, length) = (2 * n_buffers, rounds as f64);
    let together = count.min(rounds.div_ceil(separation.max(1))).div_ceil(MOST_COUNTED).max(1);
    let participation = Participation { count: count.div_ceil(together), separation: separation.saturating_mul(together) };
    let even = (libm::log(length) + 1.5) / (n as f64 + 0.5);
    let mut at = vec![libm::log(even); n];
    at[0] = libm::log(0.4 * even);
    // Steps that are too long would overflow f64.
    let value = |gaps: &[f64]| {
        if gaps.iter().any(|gap| 3.5 < *gap) { f64::INFINITY } else { Poles::of_gaps(gaps).objective(length, participation) }
    };
    Poles::of_gaps(&minimise(at, value))
}

#[cfg(test)]
mod tests {
    use super::super::blt::Blt;
    use super::*;
    use crate::streams::Factorisation;

    /// A fit saves at least as much as an independent program finds from the same start (BFGS of SciPy, by the entries).
    #[test]
    fn fits_follow_the_rounds_of_one_user() {
        for (rounds, count, separation, least) in [(1024, 4, 256, 7.675_6), (1024, 16, 64, 21.629_9), (2048, 6, 342, 10.728_9)] {
            let participation = Participation { count, separation };
            let error = |of: Participation| {
                let matrix = Blt::fitted(rounds, of);
                matrix.sensitivity(participation) * libm::sqrt(matrix.variance(rounds))
            };
            let fitted = error(participation);
            assert!(fitted < 1.0005 * least && fitted < 0.97 * error(Participation::ONCE), "{rounds} {count}: {fitted}");
        }
    }

    /// The closed forms are the norms of the matrix itself, for the poles that were fitted and for others.
    #[test]
    fn closed_forms_are_the_norms_of_the_matrix() {
        for (rounds, count, separation) in [(64, 1, 1), (64, 4, 16), (100, 4, 30), (100, 9, 10), (37, 37, 1), (1024, 16, 64)] {
            let participation = Participation { count, separation };
            let fitted = fit(rounds, 3, participation);
            for poles in [fitted, Poles::of_gaps(&[-1.0, 0.2, 0.5, -0.3, 0.1, 0.4])] {
                let matrix = Blt::made(poles.theta(), poles.omega(), rounds);
                let error = matrix.sensitivity(participation) * libm::sqrt(matrix.variance(rounds));
                let stated = libm::exp(0.5 * poles.objective(rounds as f64, participation));
                assert!((stated / error - 1.0).abs() < 1e-9, "{rounds} {count} {separation}: {stated} and {error}");
            }
        }
    }
}
