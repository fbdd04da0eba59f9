//! The exact loss of independent releases between two tables: Gaussian parts in closed form, discrete ones by enumeration.

use super::fact::Law;
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Cells of the grid to which sums of losses are rounded, always down.
const CELLS: f64 = 20_000.0;
/// Intervals into which the outputs of Laplace noise are put: telling them apart no further makes the loss no larger.
const BINS: u32 = 200;

/// Returns the least epsilon at `delta` of the releases together; infinite where no epsilon does.
///
/// Never above the exact one but for rounding.
pub fn epsilon(laws: &[Law], delta: f64) -> f64 {
    let mut squares = 0.0;
    let mut discrete: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut most = 0.0;
    for law in laws {
        match law {
            Law::Gaussian(mu) => squares += mu * mu,
            Law::Laplace(distance) => discrete.push(binned(*distance)),
            Law::Atoms(atoms) => discrete.push(atoms.clone()),
        }
        most += match law {
            Law::Gaussian(_) => 0.0,
            Law::Laplace(distance) => *distance,
            Law::Atoms(atoms) => atoms.iter().fold(0.0, |most, (_, loss)| f64::max(most, *loss)),
        };
    }
    if delta == 0.0 {
        return if squares == 0.0 { most } else { f64::INFINITY };
    }
    let mu = f64::sqrt(squares);
    // Parts that lose nothing leave no step of a grid, and change no sum.
    let discrete = discrete.iter().filter(|_| 0.0 < most);
    let losses = discrete.fold(vec![(1.0, 0.0)], |all, part| summed(&all, part, most / CELLS));
    let exceeds = |epsilon: f64| delta < losses.iter().map(|(p, loss)| p * gaussian(epsilon - loss, mu)).sum::<f64>();
    if !exceeds(0.0) {
        return 0.0;
    }
    let (mut no, mut yes) = (0.0, most + mu * (0.5 * mu + 40.0) + 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (no + yes);
        if exceeds(middle) { no = middle } else { yes = middle }
    }
    no
}

/// The sums of independent losses, merged on a grid.
fn summed(all: &[(f64, f64)], part: &[(f64, f64)], step: f64) -> Vec<(f64, f64)> {
    let mut sums: Vec<(f64, f64)> =
        all.iter().flat_map(|(p, a)| part.iter().map(move |(q, b)| (p * q, ((a + b) / step + 1e-9).floor() * step))).collect();
    sums.sort_by(|a, b| a.1.total_cmp(&b.1));
    sums.dedup_by(|next, kept| {
        let is_same = next.1 == kept.1;
        if is_same {
            kept.0 += next.0;
        }
        is_same
    });
    sums
}

/// Laplace noise of scale 1 around 0 against noise around `distance`, with the outputs between the two centres in intervals.
fn binned(distance: f64) -> Vec<(f64, f64)> {
    let mut atoms = vec![(0.5, distance), (0.5 * libm::exp(-distance), -distance)];
    for bin in 0..BINS {
        let (from, to) = (distance * f64::from(bin) / f64::from(BINS), distance * f64::from(bin + 1) / f64::from(BINS));
        let first = 0.5 * (libm::exp(-from) - libm::exp(-to));
        let second = 0.5 * (libm::exp(to - distance) - libm::exp(from - distance));
        atoms.push((first, libm::log(first / second)));
    }
    atoms
}

/// Returns `P(L > epsilon) - e^epsilon Q(L > epsilon)` of `N(mu, 1)` against `N(0, 1)`, at any epsilon.
fn gaussian(epsilon: f64, mu: f64) -> f64 {
    if mu == 0.0 {
        return (1.0 - libm::exp(epsilon)).max(0.0);
    }
    let (near, far) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
    libm::exp(log_tail(near)) - libm::exp(epsilon + log_tail(far))
}

/// Returns the logarithm of the probability that a standard normal number exceeds `x`.
fn log_tail(x: f64) -> f64 {
    if x < 10.0 {
        return libm::log(0.5 * libm::erfc(x * FRAC_1_SQRT_2));
    }
    let square = 1.0 / (x * x);
    let series = 1.0 - square * (1.0 - 3.0 * square * (1.0 - 5.0 * square * (1.0 - 7.0 * square)));
    -0.5 * x * x - libm::log(x * libm::sqrt(TAU)) + libm::log(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(epsilon: f64) -> Law {
        let rare = 1.0 / (1.0 + f64::exp(epsilon));
        Law::Atoms(vec![(1.0 - rare, epsilon), (rare, -epsilon)])
    }

    /// Two responses by hand, a Gaussian of the literature, and a Laplace law by its own formula.
    #[test]
    fn losses_that_are_known() {
        // Two responses at ln 3: probabilities 9, 6, 1 of 16 with ratios 9, 1, 1/9; delta at e^epsilon = 3 is 9/16 - 3/16.
        let found = epsilon(&[response(3f64.ln()), response(3f64.ln())], 6.0 / 16.0);
        assert!((found - 3f64.ln()).abs() < 2e-3, "{found}");
        assert_eq!(epsilon(&[response(1.0), response(0.5)], 0.0), 1.5);
        assert_eq!(epsilon(&[response(1.0), Law::Gaussian(1.0)], 0.0), f64::INFINITY);
        // Balle & Wang 2018: sigma = 3.7304 at epsilon = 1, delta = 1e-5 [the analytic Gaussian mechanism].
        let found = epsilon(&[Law::Gaussian(1.0 / 3.730_631_634_815_942)], 1e-5);
        assert!((found - 1.0).abs() < 1e-6, "{found}");
        // delta(epsilon) = 1 - exp((epsilon - distance)/2) of Laplace noise.
        for (distance, at) in [(1.0, 0.5), (2.0, 0.1), (0.3, 0.25)] {
            let delta = 1.0 - f64::exp(0.5 * (at - distance));
            let found = epsilon(&[Law::Laplace(distance)], delta);
            assert!(found <= at + 1e-9 && at - 0.01 * distance < found, "{found} {at}");
        }
        let large = epsilon(&[Law::Gaussian(38.3)], 1e-6);
        assert!((large - (0.5 * 38.3 * 38.3 + 4.73 * 38.3)).abs() < 3.0, "{large}");
    }

    /// Adding a release never lowers the loss, and a Gaussian part is one of the sum of squares.
    #[test]
    fn losses_grow_with_releases() {
        let mut laws = Vec::new();
        let mut before = 0.0;
        for law in [Law::Gaussian(0.5), response(0.4), Law::Laplace(0.7), Law::Gaussian(1.2)] {
            laws.push(law);
            let now = epsilon(&laws, 1e-4);
            assert!(before < now, "{laws:?}: {before} {now}");
            before = now;
        }
        // A part that loses nothing beside a Gaussian one.
        let nothing = Law::Atoms(vec![(1.0, 0.0)]);
        assert_eq!(epsilon(&[Law::Gaussian(1.2), nothing], 1e-4), epsilon(&[Law::Gaussian(1.2)], 1e-4));
        let (two, one) = (epsilon(&[Law::Gaussian(0.6), Law::Gaussian(0.8)], 1e-6), epsilon(&[Law::Gaussian(1.0)], 1e-6));
        assert!((two - one).abs() < 1e-9);
    }
}
