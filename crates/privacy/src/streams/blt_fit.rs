//! Fits the buffers of a Toeplitz matrix.
//!
//! The rational function `c(x) = prod (1 - zero_i x)/(1 - pole_i x)`, with interlaced zeros and poles in (0, 1), is chosen to
//! minimise sensitivity times largest standard deviation. Both norms have closed forms as sums of positive terms, so the time
//! of a fit does not grow with the stream.

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
    fn objective(&self, rounds: f64) -> f64 {
        let (theta, omega): (Vec<f64>, Vec<f64>) = (self.poles().collect(), self.omega());
        let column = 1.0 + sum_of_squares(&theta, &omega, rounds - 1.0);
        // The prefix response is 1/((1 - x) c(x)): a constant, and decays at the rates of the zeros.
        let zero: Vec<f64> = self.zeros().collect();
        let weight: Vec<f64> = residues(self.zeros(), self.poles()).iter().zip(&zero).map(|(r, z)| -r / z).collect();
        let constant: f64 = self.poles().zip(self.zeros()).map(|(pole, zero)| pole / zero).product();
        let cross: f64 = zero.iter().zip(&weight).map(|(z, w)| w * geometric(*z, rounds)).sum();
        let prefix = rounds * constant * constant + 2.0 * constant * cross + sum_of_squares(&zero, &weight, rounds);
        libm::log(column) + libm::log(prefix)
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

/// Returns the best zeros and poles found, by quasi-Newton steps from evenly spaced ones.
pub(super) fn fit(rounds: u64, n_buffers: usize) -> Poles {
    let (n, length) = (2 * n_buffers, rounds as f64);
    let even = (libm::log(length) + 1.5) / (n as f64 + 0.5);
    let mut at = vec![libm::log(even); n];
    at[0] = libm::log(0.4 * even);
    let value = |gaps: &[f64]| {
        // Steps that are too long would overflow f64.
        if gaps.iter().any(|gap| 3.5 < *gap) { f64::INFINITY } else { Poles::of_gaps(gaps).objective(length) }
    };
    let gradient = |at: &[f64]| -> Vec<f64> {
        let mut moved = at.to_vec();
        (0..n)
            .map(|i| {
                let step = 1e-5;
                moved[i] = at[i] + step;
                let above = value(&moved);
                moved[i] = at[i] - step;
                let below = value(&moved);
                moved[i] = at[i];
                (above - below) / (2.0 * step)
            })
            .collect()
    };
    let (mut best, mut slope) = (value(&at), gradient(&at));
    let mut inverse = identity(n);
    for _ in 0..300 {
        let mut direction: Vec<f64> = inverse.iter().map(|row| -dot(row, &slope)).collect();
        if 0.0 <= dot(&direction, &slope) {
            inverse = identity(n);
            direction = slope.iter().map(|s| -s).collect();
        }
        let longest = direction.iter().fold(0.0_f64, |longest, d| longest.max(d.abs()));
        let mut length = if longest < 1.0 { 1.0 } else { 1.0 / longest };
        let fall = dot(&direction, &slope);
        let found = (0..40).find_map(|_| {
            let next: Vec<f64> = at.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            let reached = value(&next);
            let enough = reached <= best + 1e-4 * length * fall;
            length *= 0.5;
            enough.then_some((next, reached))
        });
        let Some((next, reached)) = found else { break };
        let next_slope = gradient(&next);
        let step: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
        let gained = best - reached;
        (at, best, slope) = (next, reached, next_slope);
        update(&mut inverse, &step, &change);
        if gained < 1e-10 {
            break;
        }
    }
    Poles::of_gaps(&at)
}

fn identity(n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Applies the BFGS update to an inverse Hessian.
fn update(inverse: &mut [Vec<f64>], step: &[f64], change: &[f64]) {
    let curvature = dot(step, change);
    if curvature <= 1e-14 {
        return;
    }
    let turned: Vec<f64> = inverse.iter().map(|row| dot(row, change)).collect();
    let scale = (1.0 + dot(change, &turned) / curvature) / curvature;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry += scale * step[i] * step[j] - (turned[i] * step[j] + step[i] * turned[j]) / curvature;
        }
    }
}
