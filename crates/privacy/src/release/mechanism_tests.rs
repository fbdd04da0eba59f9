//! Tests what the releases add, guarantee and refuse.

use super::choice::WHOLE;
use super::{
    BitRelease, ChoiceRelease, DensityRelease, LaplaceRelease, ReleaseError, RowsRelease, TreeRelease, VectorRelease, publish,
};
use crate::accounting::sensitivity::{Participation, Relation};
use crate::noise::{self, Grid, Seeded, clipped, fits};
use crate::{Delta, Epsilon, Raw, gdp_mu};

fn e(value: f64) -> Epsilon {
    Epsilon::try_from(value).expect("a budget")
}

fn d(value: f64) -> Delta {
    Delta::try_from(value).expect("a probability")
}

/// Returns whether noise on this grid is `mu`-Gaussian at `distance`, rounding included.
/// Derived here independently, from the grid's own numbers.
fn keeps(mu: f64, distance: f64, norm: f64, dimension: usize, grid: Grid) -> bool {
    (distance + grid.step * libm::sqrt(dimension as f64)) * norm <= mu * grid.noise as f64 * grid.step
}

#[test]
fn grids_pay_for_their_rounding_and_little_more() {
    for (epsilon, delta, distance, dimension) in [(1.0, 1e-5, 2.0, 1), (0.1, 1e-9, 1e-3, 100), (8.0, 0.01, 1e6, 10_000)] {
        let mu = gdp_mu(e(epsilon), d(delta));
        let grid = Grid::new(distance, 1.0 / mu, libm::sqrt(dimension as f64), 19).expect("a grid");
        assert!(keeps(mu, distance, 1.0, dimension, grid));
        assert!((grid.noise as f64) * grid.step < 1.01 * distance / mu, "{grid:?}");
        assert!(grid.step.log2().fract() == 0.0 && (1 << 19..1 << 21).contains(&grid.noise));
        // Planted faults: half of the noise; values rounded to a coarser grid than the calibration covered.
        assert!(!keeps(mu, distance, 1.0, dimension, Grid { noise: grid.noise / 2, ..grid }));
        assert!(!keeps(mu, distance, 1.0, dimension, Grid { step: 4096.0 * grid.step, noise: grid.noise / 4096 }));
    }
}

#[test]
fn vectors_are_clipped_values_and_exact_noise() {
    let mechanism = VectorRelease::calibrated(e(1.0), d(1e-5), 1.0, 3, Relation::Replace).expect("a mechanism");
    let input = clipped(vec![3.0, 0.0, -4.0], 3, 1.0).expect("finite");
    assert!((input[0] - 0.6).abs() < 1e-15 && (input[2] + 0.8).abs() < 1e-15);
    let mut words = Seeded::new(9);
    let n = 40_000;
    let (mut square, mut mean) = (0.0, 0.0);
    for _ in 0..n {
        let value = mechanism.noised(&input, &mut words);
        mean += value[0] - input[0];
        square += (value[0] - input[0]).powi(2);
    }
    let variance = (2.0 / gdp_mu(e(1.0), d(1e-5))).powi(2);
    // Five standard errors: a false alarm of 6e-7 each.
    let n = f64::from(n);
    assert!((mean / n).abs() < 5.0 * (variance / n).sqrt());
    assert!((square / n - variance).abs() < 5.0 * variance * (2.0 / n).sqrt());
    let release = mechanism.release(Raw::seal(vec![3.0, 0.0, -4.0])).expect("a release");
    let step = release.ledger().grid.expect("a grid");
    assert!(release.value().iter().all(|x| (x / step).fract() == 0.0), "values lie on the grid");
    let text = publish(&release);
    assert!(text.contains("\"provenance\":\"released\"") && text.contains("\"mu\":"), "{text}");
}

/// Checks that every prefix is the sum of the rounded leaves and of its nodes.
/// Its nodes are those of its binary expansion.
#[test]
fn prefixes_are_sums_and_their_nodes() {
    let terms = (Relation::Replace, Participation::ONCE);
    let make = || TreeRelease::calibrated((e(1.0), d(1e-5)), 1.0, 2, 20, terms).expect("a stream");
    let mut tree = make();
    let step = tree.add(Raw::seal(vec![0.0, 0.0])).expect("a release").ledger().grid.expect("a grid");
    let (mut tree, mut words) = (make(), Seeded::new(4));
    let noise = 2.0 * libm::sqrt(5.0) / gdp_mu(e(1.0), d(1e-5)) / step;
    let mut released = Vec::new();
    let mut raw = [0_i64; 2];
    let mut sums = vec![raw];
    for t in 0..20 {
        let item = [f64::from(t) * 0.01, -0.3];
        raw = [raw[0] + (item[0] / step).round() as i64, raw[1] + (item[1] / step).round() as i64];
        sums.push(raw);
        released.push(tree.noised(&item, &mut words));
    }
    // The same nodes drawn once more, in their order.
    let mut again = Seeded::new(4);
    let sigma = tree.ledger_noise();
    assert!((1.0..1.001).contains(&(sigma as f64 / noise)), "{sigma} {noise}");
    let nodes: Vec<[i64; 2]> =
        (0..20).map(|_| [noise::gaussian(sigma, &mut again), noise::gaussian(sigma, &mut again)]).collect();
    let expected = |k: usize, entry: usize, reuse: bool| {
        let (mut prefix, mut sum) = (k, sums[k][entry]);
        while prefix != 0 {
            // Planted fault: the first node of each level is reused.
            let node = if reuse { 1 << prefix.trailing_zeros() } else { prefix };
            sum += nodes[node - 1][entry];
            prefix &= prefix - 1;
        }
        sum as f64 * step
    };
    let agree = |reuse: bool| (1..=20).all(|k| (0..2).all(|i| released[k - 1][i] == expected(k, i, reuse)));
    assert!(agree(false) && !agree(true));
}

#[test]
fn what_is_not_finite_is_refused_and_spends_nothing() {
    let terms = (Relation::AddRemove, Participation { count: 2, separation: 1 });
    let mut tree = TreeRelease::calibrated((e(1.0), d(1e-5)), 1.0, 1, 2, terms).expect("a stream");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(tree.add(Raw::seal(vec![bad])).map(|_| ()), Err(ReleaseError::NotFinite));
        let vector = VectorRelease::calibrated(e(1.0), d(0.1), 1.0, 1, Relation::Replace).expect("a mechanism");
        assert_eq!(vector.release(Raw::seal(vec![bad])).map(|_| ()), Err(ReleaseError::NotFinite));
        let laplace = LaplaceRelease::calibrated(e(1.0), -1.0, 1.0).expect("a mechanism");
        assert_eq!(laplace.release(Raw::seal(bad)).map(|_| ()), Err(ReleaseError::NotFinite));
        let bit = BitRelease::calibrated(e(1.0), -1.0, 1.0).expect("a mechanism");
        assert_eq!(bit.release(Raw::seal(bad)).map(|_| ()), Err(ReleaseError::NotFinite));
        let density = DensityRelease::calibrated(e(1.0), -1.0, 1.0).expect("a mechanism");
        assert_eq!(density.release(Raw::seal(bad)).map(|_| ()), Err(ReleaseError::NotFinite));
        let choice = ChoiceRelease::calibrated(e(1.0), 1.0, 2, "any").expect("a mechanism");
        let said = choice.release(Raw::seal(vec![bad, 0.5])).map(|_| ()).map_err(|error| error.to_string());
        assert!(said.is_err_and(|said| !said.contains("0.5") && said.contains("not finite")));
    }
    assert_eq!(tree.add(Raw::seal(vec![0.0; 3])).map(|_| ()), Err(ReleaseError::Length { expected: 1 }));
    assert!(tree.add(Raw::seal(vec![0.5])).is_ok() && tree.add(Raw::seal(vec![0.5])).is_ok());
    assert_eq!(tree.add(Raw::seal(vec![0.5])).map(|_| ()), Err(ReleaseError::Exhausted { rounds: 2 }));
    assert!(LaplaceRelease::calibrated(e(1.0), 1.0, 1.0).is_err() && BitRelease::calibrated(e(21.0), 0.0, 1.0).is_err());
    assert!(VectorRelease::calibrated(e(1.0), d(0.1), f64::INFINITY, 1, Relation::Replace).is_err());
}

#[test]
fn laplace_noise_is_pure_on_its_grid() {
    for (epsilon, lo, hi) in [(1.0, -1.0, 1.0), (0.01, 0.0, 0.3), (10.0, -1e4, 7.0)] {
        let mechanism = LaplaceRelease::calibrated(e(epsilon), lo, hi).expect("a mechanism");
        let text = format!("{mechanism:?}");
        let grid = Grid::new(hi - lo, 1.0 / epsilon, 1.0, 24).expect("a grid");
        assert!(text.contains(&format!("noise: {}", grid.noise)));
        let far = grid.steps(hi) - grid.steps(lo);
        assert!(far as f64 / grid.noise as f64 <= epsilon && epsilon * 0.999 < far as f64 / grid.noise as f64);
        let released = mechanism.release(Raw::seal(1e9)).expect("a release");
        assert!(released.value().is_finite() && released.ledger().delta == 0.0);
    }
}

#[test]
fn one_bit_is_private_and_unbiased() {
    for epsilon in [1e-6, 0.1, 1.0, 5.0, 12.0, 20.0] {
        let bit = BitRelease::calibrated(e(epsilon), -1.0, 1.0).expect("a mechanism");
        let (high, low) = (bit.weight(1.0), 2 * WHOLE - bit.weight(1.0));
        let loss = libm::log1p((high - low) as f64 / low as f64);
        assert!(loss <= epsilon * (1.0 + 2e-16) && epsilon * (1.0 - 1e-6) < loss, "{epsilon}: {loss}");
        assert_eq!(bit.weight(-1.0), low);
        for unit in [-1.0, -0.4, 0.0, 0.9] {
            let p = bit.weight(unit) as f64 / (2 * WHOLE) as f64;
            let bound = bit.answer(1.0, &mut Seeded::new(1)).abs();
            assert!(((2.0 * p - 1.0) * bound - unit).abs() < 1e-9, "{epsilon} {unit}");
        }
    }
    let bit = BitRelease::calibrated(e(1.0), -1.0, 1.0).expect("a mechanism");
    let mut words = Seeded::new(8);
    let ups = (0..100_000).filter(|_| 0.0 < bit.answer(0.5, &mut words)).count() as u64;
    let p = bit.weight(0.5) as f64 / (2 * WHOLE) as f64;
    assert!(fits(&[ups, 100_000 - ups], &[p, 1.0 - p]));
    assert!(!fits(&[ups, 100_000 - ups], &[p + 0.02, 0.98 - p]), "a planted lean is caught");
}

#[test]
fn densities_on_a_grid_are_private_and_unbiased() {
    for epsilon in [1e-6, 1.9e-6, 1e-5, 0.1, 1.0, 2.0, 4.0, 20.0] {
        let density = DensityRelease::calibrated(e(epsilon), -1.0, 1.0).expect("a mechanism");
        let loss = libm::log1p((density.high - density.low) as f64 / density.low as f64);
        assert!(loss <= epsilon * (1.0 + 1e-15) && epsilon * (1.0 - 1e-4) < loss, "{epsilon}: {loss}");
        // Mean and variance of the law, computed from its weights for an input on a grid position.
        let moments = |first: u64| {
            let (mut mean, mut square) = (0.0, 0.0);
            for cell in 0..4096 {
                let raised = (first..first + density.window).contains(&cell);
                let p = if raised { density.high } else { density.low } as f64 / density.total() as f64;
                mean += p * density.value(cell);
                square += p * density.value(cell).powi(2);
            }
            (mean, square)
        };
        let last = 4096 - density.window;
        assert!((moments(last).0 - 1.0).abs() < 1e-9 && (moments(0).0 + 1.0).abs() < 1e-9);
        // Variance of the continuous density at the ends of the range: t²/(s - 1) + (s + 3)/(3 (s - 1)²).
        let s = libm::exp(0.5 * epsilon);
        let worst = 1.0 / (s - 1.0) + (s + 3.0) / (3.0 * (s - 1.0) * (s - 1.0));
        let found = moments(last).1 - 1.0;
        assert!(20.0 <= epsilon || (found / worst - 1.0).abs() < 0.01, "{epsilon}: {found} {worst}");
    }
    let density = DensityRelease::calibrated(e(2.0), -1.0, 1.0).expect("a mechanism");
    let mut words = Seeded::new(12);
    // An input on a grid position: 16 groups of cells.
    let places = 4096 - density.window;
    let (first, mut counts, mut shares) = (places / 4, vec![0_u64; 16], vec![0.0; 16]);
    let unit = 2.0 * first as f64 / places as f64 - 1.0;
    (0..200_000).for_each(|_| counts[(density.cell(unit, &mut words) / 256) as usize] += 1);
    for cell in 0..4096_u64 {
        let raised = (first..first + density.window).contains(&cell);
        shares[(cell / 256) as usize] += if raised { density.high } else { density.low } as f64 / density.total() as f64;
    }
    assert!(fits(&counts, &shares), "{counts:?}");
}

/// Checks that scores which overflow f64 in grid steps are refused.
/// Their draw would never end. The largest scores that do not overflow are accepted.
#[test]
fn scores_beyond_the_grid_are_refused() {
    let make = || ChoiceRelease::calibrated(e(1.0), 1.0, 2, "any two").expect("a mechanism");
    for far in [1e302, -1e302, f64::MAX] {
        let refused = make().release(Raw::seal(vec![far, 0.0])).map(|_| ());
        assert!(matches!(refused, Err(ReleaseError::Range(_))), "{far}: {refused:?}");
    }
    for far in [1e299, 1e18, 1e9] {
        assert_eq!(make().release(Raw::seal(vec![-far, 0.0])).map(|choice| *choice.value()), Ok(1));
    }
}

/// Checks that rows are refused beyond a bound of 10^8 radii.
/// Up to that bound the noise covers the rounding of f64.
#[test]
fn bounds_beyond_what_doubles_hold_are_refused() {
    let make = |bound: f64, columns: usize| RowsRelease::calibrated(e(1.0), d(1e-5), 1.0, bound, columns);
    assert!(matches!(make(5.6e14, 2), Err(ReleaseError::Range(said)) if said.contains("times the radius")));
    assert!(make(1.01e8, 2).is_err() && make(1e8, 2).is_ok());
    let share = |bound: f64| make(bound, 1000).expect("a mechanism").sigma() / make(1.0, 1000).expect("a mechanism").sigma();
    assert!(1.0 + 1e-5 < share(1e8) && share(1e8) < 1.0001 && share(1e2) == 1.0, "{} {}", share(1e8), share(1e2));
}

#[test]
fn choices_follow_their_weights() {
    let mechanism = ChoiceRelease::calibrated(e(1.0), 0.5, 4, "one record replaced").expect("a mechanism");
    let scores = [0.0, 1.0, 1.5, -2.0];
    let mut words = Seeded::new(6);
    let mut counts = [0_u64; 4];
    (0..200_000).for_each(|_| counts[mechanism.chosen(&scores, &mut words)] += 1);
    let shares = |scale: f64| {
        let weights = scores.map(|score| libm::exp(score / scale));
        weights.map(|w| w / weights.iter().sum::<f64>())
    };
    assert!(fits(&counts, &shares(0.5)), "{counts:?}");
    assert!(!fits(&counts, &shares(0.25)), "half of the noise is caught");
    assert!(mechanism.release(Raw::seal(scores.to_vec())).is_ok_and(|choice| *choice.value() < 4));
}
