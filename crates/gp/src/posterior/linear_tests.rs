//! Compares both forms of a linear model and tests the change from one to the other.

use super::linear::LinearModel;
use super::visited::VisitedModel;
use super::weights::WeightModel;
use super::{FeaturePosterior, Posterior, Visits};
use crate::Plays;
use crate::score::{Change, FeatureTable, ScoreModel};
use privateer_numerics::linalg::{add_scaled, dot};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

const N: usize = 60;
const M: usize = 12;

fn stream() -> Stream {
    Streams::new(5, "linear").of(0, Purpose::Noise)
}

/// Returns features of close points on a line: their Gram matrix has numerical rank far below `M`.
fn table() -> Arc<FeatureTable> {
    let value = |i: usize| {
        let (x, j) = ((i / M) as f64 / N as f64, i % M);
        libm::cos((j / 2) as f64 * x + 0.5 * std::f64::consts::PI * (j % 2) as f64) / (1.0 + j as f64)
    };
    let values = (0..N * M).map(value).collect();
    Arc::new(FeatureTable { n_points: N, n_features: M, values, residual: vec![0.0; N], kernel_error: 0.0, form: None })
}

/// Draws plays with streaks: new points, points played before, and the last point again.
fn plays(rounds: usize, most: usize, draws: &mut Stream) -> Vec<(usize, f64)> {
    let mut point = 0;
    (0..rounds)
        .map(|_| {
            if draws.uniform() < 0.5 {
                point = draws.index(most);
            }
            (point, draws.normal())
        })
        .collect()
}

#[test]
fn the_span_gives_the_moments_of_the_weights() {
    let (table, source) = (table(), Plays::new(table(), None));
    let (mut span, mut weights, mut visits) = (VisitedModel::new(0.01, M), WeightModel::new(0.01, M), Visits::default());
    for (point, reward) in plays(400, N, &mut stream()) {
        let (slot, _) = visits.add(point, reward);
        let one = span.observe(slot, &visits, &source, reward);
        let other = weights.observe(point as u64, &table.row(point), reward);
        assert!(one.repeated == other.repeated && (one.scale / other.scale - 1.0).abs() < 1e-9, "{one:?} {other:?}");
        let off = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
        assert!(span.direction.iter().zip(&weights.direction).all(|(a, b)| off(*a, *b)));
        let mut sum = vec![0.0; M];
        for (weight, &point) in span.row.iter().zip(&visits.points) {
            add_scaled(&mut sum, *weight, &table.row(point as usize));
        }
        assert!(span.row.len() == visits.n_distinct() && sum.iter().zip(&span.direction).all(|(a, b)| off(*a, *b)));
    }
    assert!(2 * M < visits.n_distinct(), "more points than coordinates are part of this");
    assert!((span.gain() / weights.gain() - 1.0).abs() < 1e-9);
    for point in 0..N {
        let c = &*table.row(point);
        let (one, other) = (span.moments(c, dot(c, c), &visits, &source), weights.moments(c));
        assert!((one.mean - other.mean).abs() < 1e-9 && (one.variance - other.variance).abs() < 1e-12, "{one:?} {other:?}");
        assert_eq!(one.mean.to_bits(), span.mean(c).to_bits());
    }
}

/// Checks that the reported changes add up to the model, within its rounding errors.
///
/// The check starts again at the one rebuild, in which the model outgrows the dual form.
fn changes_add_up(ridge: f64, rounds: usize, pattern: impl Fn(usize, usize) -> usize) -> usize {
    let table = table();
    let mut posterior = FeaturePosterior::new(Arc::clone(&table), ridge);
    let mut found: Vec<[f64; 2]> = (0..N).map(|point| [0.0, dot(&table.row(point), &table.row(point))]).collect();
    let (mut own, mut trace, mut n) = ([0.0; 2], 0.0, vec![0.0; M * M]);
    for (round, (point, reward)) in plays(rounds, N, &mut stream()).into_iter().enumerate() {
        posterior.observe(pattern(round, point), reward);
        let Change::Row { row, scale, mean_step, repeated, rebuilt } = posterior.change() else {
            panic!("one observation is one row")
        };
        for (x, [mean, variance]) in found.iter_mut().enumerate() {
            let p = dot(row, &table.row(x));
            *mean += mean_step * p;
            *variance -= scale * p * scale * p;
        }
        // The form N subtracted from the variance: its norm is at most the root of its trace.
        trace += scale * scale * dot(row, row);
        n.chunks_exact_mut(M).zip(row).for_each(|(out, u)| add_scaled(out, scale * scale * u, row));
        // A sum of M products here rounds as those of the model do; the variance falls by no more than the prior
        // variance.
        let rounded = M as f64 * f64::EPSILON * (dot(row, row) * posterior.prior_variance_bound()).sqrt();
        own[0] += mean_step.abs() * rounded;
        let (prior, error) = (posterior.prior_variance_bound(), posterior.row_error());
        own[1] += 2.0 * scale * (rounded + error.row + error.share * prior.sqrt()) * prior.sqrt();
        own[1] += if repeated { 0.0 } else { error.of_closed(prior) };
        posterior.screened();
        if rebuilt {
            assert_eq!(posterior.visits().n_distinct(), 2 * M + 1);
            (0..N).zip(&mut found).for_each(|(x, found)| *found = [posterior.exact(x).mean, posterior.exact(x).variance]);
            own = [0.0; 2];
        }
        assert!(dot(&n, &n).sqrt() <= trace.sqrt() * (1.0 + 1e-6), "round {round}: {} of {trace}", dot(&n, &n));
        let error = posterior.state_error();
        for (x, [mean, variance]) in found.iter().enumerate() {
            let exact = posterior.exact(x);
            let off = ((exact.mean - mean).abs(), (exact.variance - variance).abs());
            assert!(
                off.0 <= error.mean + own[0] && off.1 <= error.of_variance(exact.variance) + own[1],
                "round {round}, point {x}: {off:?} of {error:?}, {own:?}"
            );
        }
        let visited = posterior.visited().expect("there are visits");
        assert_eq!(visited.row.is_some(), visited.points.len() <= 2 * M, "{}", visited.points.len());
    }
    posterior.visits().n_distinct()
}

#[test]
fn changes_add_up_to_the_model() {
    for ridge in [1e-2, 1e-4, 1e-6, 1e-8] {
        // First: ever more points. Second: most observations at three of them. Third: only four neighbours, often.
        let more = |round: usize, point: usize| point % (5 + round / 8).min(N);
        assert!(2 * M < changes_add_up(ridge, 1500, more));
        assert!(
            2 * M < changes_add_up(ridge, 1500, |round, point| if round % 7 == 3 { more(round, point) } else { 30 + point % 3 })
        );
        assert_eq!(changes_add_up(ridge, 4000, |_, point| 30 + point % 4), 4);
    }
}

#[test]
fn factors_say_the_same_model() {
    let table = table();
    let prior = Plays::new(Arc::clone(&table), None).prior_bound();
    let source = Plays::new(Arc::clone(&table), None);
    for ridge in [1e-1, 1e-3, 1e-5, 1e-7] {
        let (mut model, mut visits) = (LinearModel::new(ridge, M, prior), Visits::default());
        for (round, (point, reward)) in plays(1000, 20, &mut stream()).into_iter().enumerate() {
            let (slot, _) = visits.add(point, reward);
            model.observe(slot, &visits, &source, reward);
            if round % 90 != 9 {
                continue;
            }
            let (theta, rows) = model.factor(&visits, &source).expect("the model has a factor");
            let (error, [constant, deviation]) = (model.state_error(prior, &source), model.factor_error(prior, &source));
            for point in 0..N {
                let c = &*table.row(point);
                let variance: f64 = rows.chunks_exact(M).map(|row| dot(row, c)).map(|along| along * along).sum();
                let moments = model.moments(c, &visits, &source);
                let off = ((dot(&theta, c) - moments.mean).abs(), (variance - moments.variance).abs());
                let bound = error.of_variance(moments.variance) + constant + deviation * moments.variance.sqrt();
                assert!(off.0 <= error.mean && off.1 <= bound, "ridge {ridge}, round {round}: {off:?} of {error:?}");
            }
        }
        assert!(matches!(model, LinearModel::Span(_)), "this tests the span");
    }
}

#[test]
fn rebuilding_changes_little() {
    let table = table();
    let (mut model, mut visits) =
        (LinearModel::new(0.05, M, Plays::new(Arc::clone(&table), None).prior_bound()), Visits::default());
    let source = Plays::new(Arc::clone(&table), None);
    for (point, reward) in plays(60, 9, &mut stream()) {
        let (slot, _) = visits.add(point, reward);
        model.observe(slot, &visits, &source, reward);
    }
    let before: Vec<_> = (0..N as u32).map(|point| model.moments(&table.row(point as usize), &visits, &source)).collect();
    assert!(model.rebuild(&visits, &source) && model.since_rebuild() == 0);
    for (point, before) in (0..N as u32).zip(before) {
        let after = model.moments(&table.row(point as usize), &visits, &source);
        assert!((after.mean - before.mean).abs() < 1e-11 && (after.variance - before.variance).abs() < 1e-12, "{point}");
    }
}
