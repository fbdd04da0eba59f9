//! Compares the bounds of rounding errors with 200-bit arithmetic.
//!
//! Every change that a model reports is summed at 200 bits. The exact scores must differ from the sums by at most
//! `ScoreModel::state_error`, at every point.

use super::{ExactPosterior, FeaturePosterior, Posterior, Repair, SumsPosterior, SumsUpdate};
use crate::score::{Basis, Change, FeatureTable, GramSource, RowError, ScoreModel};
use crate::{Plays, TableGram};
use dashu_float::{FBig, round::mode::HalfEven};
use privateer_numerics::rng::{Purpose, Streams};
use std::sync::Arc;

/// A binary number of 200 bits.
type Big = FBig<HalfEven, 2>;

fn big(x: f64) -> Big {
    Big::try_from(x).expect("finite").with_precision(200).value()
}

fn dot_big(a: &[Big], b: &[Big]) -> Big {
    a.iter().zip(b).fold(big(0.0), |sum, (x, y)| sum + x * y)
}

fn apart(f64: f64, exact: &Big) -> f64 {
    (big(f64) - exact).to_f64().value().abs()
}

/// The sums of reported changes, and the bound of their errors in the variance of each point.
struct Sums {
    mean: Vec<Big>,
    variance: Vec<Big>,
    error: Vec<f64>,
    p: Vec<Big>,
    steps: Big,
    squares: Big,
    row: RowError,
}

impl Sums {
    /// Starts from the prior variances.
    fn new(variance: Vec<Big>) -> Self {
        let n = variance.len();
        let (mean, p) = (vec![big(0.0); n], vec![big(0.0); n]);
        Self { mean, variance, error: vec![0.0; n], p, steps: big(0.0), squares: big(0.0), row: RowError::default() }
    }

    /// Adds the streak that ends.
    fn settle(&mut self) {
        let squares = self.squares.to_f64().value();
        for (x, p) in self.p.iter().enumerate() {
            let before = self.variance[x].to_f64().value().max(0.0).sqrt();
            let (size, e) = (p.to_f64().value().abs(), self.row.row + self.row.share * before);
            self.error[x] += squares * (2.0 * size * e + e * e);
            self.mean[x] += &self.steps * p;
            self.variance[x] -= &self.squares * (p * p);
        }
        (self.steps, self.squares) = (big(0.0), big(0.0));
    }

    /// Returns the largest ratios of error to bound, of means and of variances.
    fn compare(&mut self, model: &dyn Posterior) -> [f64; 2] {
        self.settle();
        let state = model.state_error();
        let mut most = [0.0f64; 2];
        for x in 0..self.mean.len() {
            let exact = model.exact(x);
            let variance = self.error[x] + state.of_variance(exact.variance);
            most[0] = most[0].max(apart(exact.mean, &self.mean[x]) / state.mean);
            most[1] = most[1].max(apart(exact.variance, &self.variance[x]) / variance);
        }
        most
    }
}

/// Plays points by a pattern; returns the largest ratios of error to bound.
///
/// * `h` — coordinates of every point at 200 bits: features, or covariances with all points
fn largest_ratios(model: &mut dyn Posterior, h: &[Vec<Big>], rounds: usize, pattern: impl Fn(usize, usize) -> usize) -> [f64; 2] {
    let gram = matches!(model.basis(), Basis::Gram(_));
    let n = h.len();
    let mut sums = Sums::new((0..n).map(|x| if gram { h[x][x].clone() } else { dot_big(&h[x], &h[x]) }).collect());
    let mut draws = Streams::new(7, "rounding").of(0, Purpose::Noise);
    let mut most = [0.0f64; 2];
    for round in 0..rounds {
        model.observe(pattern(round, draws.index(n)), draws.normal());
        let Change::Row { row, scale, mean_step, repeated, rebuilt } = model.change() else { panic!("one row") };
        if !repeated {
            sums.settle();
            sums.row = model.row_error();
            let row: Vec<Big> = row.iter().map(|&entry| big(entry)).collect();
            let basis = model.basis_points();
            for (x, own) in h.iter().enumerate() {
                sums.error[x] += sums.row.of_closed(sums.variance[x].to_f64().value().max(0.0));
                sums.p[x] = if gram {
                    (row.iter().zip(basis)).fold(big(0.0), |p, (r, &b)| p + r * &h[b as usize][x])
                } else {
                    dot_big(&row, own)
                };
            }
        }
        sums.steps += big(mean_step);
        sums.squares += big(scale) * big(scale);
        model.screened();
        if rebuilt {
            // Screens start again from the exact scores.
            let moments = model.all_moments();
            sums = Sums::new(moments.iter().map(|moments| big(moments.variance)).collect());
            sums.mean = moments.iter().map(|moments| big(moments.mean)).collect();
        }
        if round % 60 == 59 || round + 1 == rounds {
            let found = sums.compare(model);
            most.iter_mut().zip(found).for_each(|(most, found)| *most = most.max(found));
        }
    }
    most
}

/// Returns features of points on a line, the second half next to the first at a distance of `close`.
fn features(n: usize, m: usize, close: f64) -> Arc<FeatureTable> {
    let value = |at: usize| {
        let (i, j) = (at / m, at % m);
        let x = (i % (n / 2)) as f64 / (n / 2) as f64 + if i < n / 2 { 0.0 } else { close };
        libm::cos((j / 2) as f64 * 2.0 * x + 0.5 * std::f64::consts::PI * (j % 2) as f64) / (1.0 + j as f64)
    };
    let values = (0..n * m).map(value).collect();
    Arc::new(FeatureTable { n_points: n, n_features: m, values, residual: vec![0.0; n], kernel_error: 0.0, form: None })
}

/// Plays of all points, of one point with others between, of two near points in turn, and of neighbours in order.
type Pattern = fn(usize, usize) -> usize;
const PATTERNS: [Pattern; 4] = [
    |round, drawn| if round % 3 == 0 { drawn } else { round % 7 },
    |round, drawn| if round % 40 == 0 { drawn } else { 5 },
    |round, _| if (round / 5).is_multiple_of(2) { 3 } else { 23 },
    |round, drawn| if round < 20 { round } else { drawn % 20 + 20 * (round % 2) },
];

/// The largest ratios over patterns and distances, of each ridge.
fn ratios(make: impl Fn(f64, f64) -> (Box<dyn Posterior>, Vec<Vec<Big>>)) -> Vec<[f64; 2]> {
    let of_ridge = |ridge: f64| {
        let mut most = [0.0f64; 2];
        for close in [0.01, 1e-5] {
            for pattern in PATTERNS {
                let (mut model, h) = make(ridge, close);
                let found = largest_ratios(model.as_mut(), &h, 240, pattern);
                most.iter_mut().zip(found).for_each(|(most, found)| *most = most.max(found));
            }
        }
        most
    };
    [1e-2, 1e-4, 1e-6].map(of_ridge).to_vec()
}

/// Checks that errors are below their bounds, and that bounds a thousand times smaller would not pass.
fn check(name: &str, ratios: &[[f64; 2]]) {
    println!(
        "{name}: largest error / bound of means and variances at ridge 1e-2, 1e-4, 1e-6: {}",
        ratios.iter().map(|[mean, variance]| format!("{mean:.1e} {variance:.1e}")).collect::<Vec<_>>().join(", ")
    );
    assert!(ratios.iter().flatten().all(|&ratio| ratio <= 1.0), "{name}: {ratios:?}");
    assert!(ratios.iter().flatten().any(|&ratio| 1e-3 < ratio), "{name}: {ratios:?}");
}

/// A posterior over `m` features, and its features at 200 bits.
fn over_features(m: usize) -> impl Fn(f64, f64) -> (Box<dyn Posterior>, Vec<Vec<Big>>) {
    move |ridge, close| {
        let table = features(40, m, close);
        let h = (0..40).map(|x| table.row(x).iter().map(|&value| big(value)).collect()).collect();
        (Box::new(FeaturePosterior::new(table, ridge)), h)
    }
}

#[test]
fn errors_of_the_dual_form_over_features_are_bounded() {
    check("features", &ratios(over_features(24)));
}

#[test]
fn errors_of_the_form_over_coordinates_are_bounded() {
    // More than two points per feature: the model changes its form.
    check("coordinates", &ratios(over_features(5)));
}

#[test]
fn errors_of_the_exact_posterior_are_bounded() {
    let make = |ridge: f64, close: f64| -> (Box<dyn Posterior>, Vec<Vec<Big>>) {
        let x = |i: usize| (i % 20) as f64 / 20.0 + if i < 20 { 0.0 } else { close };
        let entry = |e: usize| libm::exp(-8.0 * (x(e / 40) - x(e % 40)) * (x(e / 40) - x(e % 40)));
        let gram: Arc<dyn GramSource> = Arc::new(TableGram::new(40, (0..1600).map(entry).collect()));
        let h = (0..40).map(|a| (0..40).map(|b| big(gram.entry(a, b))).collect()).collect();
        (Box::new(ExactPosterior::new(gram, ridge)), h)
    };
    check("exact", &ratios(make));
}

/// The factor is given, so the sums of its products at 200 bits are the reference.
#[test]
fn errors_of_sums_are_bounded() {
    let (table, mut most) = (features(40, 24, 1e-5), [0.0f64; 2]);
    for ridge in [1e-2, 1e-4, 1e-6] {
        let mut draws = Streams::new(8, "rounding").of(0, Purpose::Noise);
        let (mut gram, mut moment) = (Vec::new(), vec![0.0; 24]);
        for (i, moment) in moment.iter_mut().enumerate() {
            gram.extend((i..24).map(|j| (0..40).map(|x| 7.0 * table.row(x)[i] * table.row(x)[j]).sum::<f64>()));
            *moment = draws.normal();
        }
        let mut model = SumsPosterior::new(Arc::clone(&table), Plays::new(Arc::clone(&table), None).prior_bound(), 1.0, ridge);
        let sums = SumsUpdate { gram: &gram, moment: &moment, diagonal: ridge, repair: Repair { always: false, floor: ridge } };
        assert_eq!(model.take(sums), Ok(false));
        let factor = model.factor().expect("a factor");
        let of = |values: &[f64]| values.iter().map(|&value| big(value)).collect::<Vec<Big>>();
        for x in 0..40 {
            let (phi, error, exact) = (of(&table.row(x)), model.state_error(), model.exact(x));
            let variance = factor.rows.chunks(24).fold(big(0.0), |sum, row| {
                let along = dot_big(&of(row), &phi);
                sum + &along * &along
            });
            most[0] = most[0].max(apart(exact.mean, &dot_big(&of(&factor.weights), &phi)) / error.mean);
            most[1] = most[1].max(apart(exact.variance, &variance) / error.variance);
        }
    }
    check("sums", &[most]);
}
