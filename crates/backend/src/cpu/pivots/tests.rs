//! Tests the bounds against exact values, and that bounds which are too small are detected.

use super::*;
use crate::Backend;
use crate::cpu::Cpu;
use crate::cpu::path::{dense_work, setup_work};
use crate::cpu::pivots::choose::{Growing, PivotGrowth};
use crate::cpu::pivots::factors::block_place;
use crate::cpu::pivots::interpolation::{Errors, Interpolation};
use crate::device::tables::{Chunk, feature_columns};
use crate::scale::Scale;
use privateer_gp::score::{Basis, Change, FeatureTable, Moments, ScoreModel, StateError, VarianceForm};
use privateer_numerics::linalg::dot;
use std::sync::Arc;

/// Numbers in [-1, 1) from a multiplicative generator, for test matrices.
struct Draws(pub u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

const N: usize = 700;
/// Frequencies per axis; the number of features is twice its square.
const AXIS: usize = 4;

/// Cosines and sines of points in the unit square: smooth, so of small rank.
fn smooth() -> FeatureTable {
    let n_features = 2 * AXIS * AXIS;
    let mut draws = Draws(1);
    let mut values = Vec::with_capacity(N * n_features);
    for _ in 0..N {
        let x = [draws.next(), draws.next()].map(|x| 0.5 + 0.5 * x);
        for f in 0..AXIS * AXIS {
            let t = 0.9 * (f / AXIS) as f64 * x[0] + 0.9 * ((f % AXIS) as f64 - 1.3) * x[1];
            let amplitude = libm::exp(-0.1 * f as f64);
            values.extend([amplitude * libm::cos(t), amplitude * libm::sin(t)]);
        }
    }
    let residual = (0..N).map(|point| if point % 2 == 0 { 0.0 } else { 1e-3 }).collect();
    FeatureTable { n_points: N, n_features, values, residual, kernel_error: 0.0, form: None }
}

fn columns(table: &FeatureTable) -> Vec<f64> {
    feature_columns(table, Chunk { first: 0, len: table.n_points })
}

fn made(table: &Arc<FeatureTable>) -> Arc<Interpolation> {
    let columns = columns(table);
    PivotGrowth::new(table).grow(f64::INFINITY, || &columns).expect("it pays")
}

/// A model that is defined by its factor.
struct PlainScoreModel {
    table: Arc<FeatureTable>,
    weights: Vec<f64>,
    rows: Vec<f64>,
}

impl PlainScoreModel {
    fn draw(table: &Arc<FeatureTable>, draws: &mut Draws, weights: f64, rows: f64) -> Self {
        let m = table.n_features;
        Self {
            weights: (0..m).map(|_| weights * draws.next()).collect(),
            // Diagonals dominate, as in the inverse of a factor.
            rows: (0..m * m)
                .map(|e| match e % m {
                    column if column < e / m => 0.1 * rows * draws.next(),
                    column if column == e / m => rows * (1.5 + draws.next()),
                    _ => 0.0,
                })
                .collect(),
            table: Arc::clone(table),
        }
    }
}

impl ScoreModel for PlainScoreModel {
    fn exact(&self, point: usize) -> Moments {
        let phi = &*self.table.row(point);
        let squares = self.rows.chunks_exact(phi.len()).map(|row| dot(row, phi)).map(|y| y * y);
        Moments { mean: dot(&self.weights, phi), variance: self.table.residual[point] + squares.sum::<f64>() }
    }

    fn prior_variance_bound(&self) -> f64 {
        f64::INFINITY
    }

    /// Errors of a sum of some tens of products in f64.
    fn state_error(&self) -> StateError {
        let squares = dot(&self.rows, &self.rows);
        StateError { mean: 1e-13 * dot(&self.weights, &self.weights).sqrt(), variance: 1e-13 * squares, deviation: 0.0 }
    }

    fn n_observations(&self) -> u64 {
        1
    }

    fn factor(&self) -> Option<Factor<'_>> {
        Some(Factor::new((&self.weights[..]).into(), (&self.rows[..]).into(), VarianceForm::Added))
    }
}

/// Returns each model's candidates, the violations that the screen noticed, and the number of scores and intervals outside their
/// bounds.
fn round(
    table: &PivotTable,
    by: &Interpolation,
    models: &[PlainScoreModel],
    beta: f64,
    subset: Option<&[u32]>,
) -> (Vec<Candidates>, u64, usize) {
    let features = Arc::clone(&models[0].table);
    let scale = Scale::of(&Basis::Table(Arc::clone(&features)));
    let tables = PivotTables { by, table, features: &features, scale: &scale };
    let asked: Vec<AskedTrial<'_>> = models
        .iter()
        .map(|model| AskedTrial {
            request: TrialScore { subset, ..TrialScore::new(0, Change::Factor, beta, model) },
            factor: model.factor().expect("a factor"),
        })
        .collect();
    let mut out = vec![Candidates::default(); asked.len()];
    let mut screen = PivotScreen::default();
    let noticed = screen.round(tables, &asked, &mut out);
    let mut wrong = 0;
    for (group, models) in screen.groups.iter().zip(models.chunks(LANES)) {
        for (lane, model) in models.iter().enumerate().filter(|(lane, _)| group.fine[*lane].is_some()) {
            let exact = |point: usize| model.exact(point).upper(beta);
            for kept in &group.kept {
                // The half-width of the interval is the same for the whole tile.
                let most = kept.scores.iter().map(|score| score.0[lane]).fold(f32::NEG_INFINITY, f32::max);
                let half = f64::from(kept.upper.0[lane] - most) * (1.0 + 1e-5) + 2e-7 * f64::from(most.abs());
                for (score, &point) in kept.scores.iter().zip(&table.points[kept.tile]) {
                    wrong += usize::from(half < (f64::from(score.0[lane]) - exact(point as usize)).abs());
                }
            }
            let alone = group.alone(tables, lane).expect("in use");
            for point in 0..N {
                let (lower, upper) = alone.at(point as u32).interval();
                wrong += usize::from(!(lower <= exact(point) && exact(point) <= upper));
            }
        }
    }
    (out, noticed, wrong)
}

fn best(model: &PlainScoreModel, beta: f64, subset: Option<&[u32]>) -> u32 {
    let playable: Vec<u32> = subset.map_or_else(|| (0..N as u32).collect(), <[u32]>::to_vec);
    let score = |point: u32| model.exact(point as usize).upper(beta);
    playable
        .into_iter()
        .fold(None, |best: Option<u32>, point| match best {
            Some(best) if score(point) <= score(best) => Some(best),
            _ => Some(point),
        })
        .expect("a point")
}

#[test]
fn the_proved_errors_hold() {
    let table = Arc::new(smooth());
    let by = made(&table);
    let m = table.n_features;
    assert!(by.rank < m * (m + 1) / 2 && by.rank < N / 4);
    for point in 0..N {
        let c: Vec<f64> = by.row(point).iter().map(|&c| f64::from(c)).collect();
        let pivots: Vec<_> = by.pivots.iter().map(|&pivot| table.row(pivot)).collect();
        let phi = &*table.row(point);
        let mut rho = 0.0;
        for a in 0..m {
            for b in 0..m {
                let left = phi[a] * phi[b] - (0..by.rank).map(|j| c[j] * pivots[j][a] * pivots[j][b]).sum::<f64>();
                rho += left * left;
            }
        }
        // The matrix was rounded to f32 after its error was bounded: by 2^-24 relative to |c|_1 and the largest |phi|².
        let largest = (0..N).map(|point| table.square(point)).fold(0.0, f64::max);
        let rounded = f64::from(f32::EPSILON) / 2.0 * f64::from(by.size[point]);
        assert!(rho.sqrt() <= f64::from(by.rho[point]) + rounded * largest, "{point}: {} {}", rho.sqrt(), by.rho[point]);
    }
}

/// With factors and weights of very different size, every interval holds the exact score, and the best point is a candidate.
#[test]
fn intervals_hold_exact_scores() {
    let table = Arc::new(smooth());
    let by = made(&table);
    let mut draws = Draws(11);
    let (blocks, direct) =
        (PivotTable::with_blocks_below(f64::INFINITY, &by, &table), PivotTable::with_blocks_below(0.0, &by, &table));
    assert!(blocks.blocks.iter().any(|block| 0 < block.chosen) && direct.blocks.iter().all(|block| block.chosen == 0));
    let every_third: Vec<u32> = (0..N as u32).step_by(3).collect();
    let mut several = 0;
    for (weights, rows, beta) in
        [(1.0, 0.1, 2.0), (0.0, 1.0, 1.0), (1e4, 1e-6, 1.0), (1e-9, 1e5, 30.0), (1.0, 1.0, 0.0), (1e-30, 1e-30, 1.0)]
    {
        // Two groups that share the loads of a table and one that does not; some SIMD lanes of it are unused.
        let models: Vec<PlainScoreModel> =
            (0..2 * LANES + 3).map(|_| PlainScoreModel::draw(&table, &mut draws, weights, rows)).collect();
        for (lanes, subset) in [(&blocks, None), (&direct, None), (&blocks, Some(&every_third[..]))] {
            let (found, noticed, wrong) = round(lanes, &by, &models, beta, subset);
            assert_eq!((noticed, wrong), (0, 0), "{weights} {rows} {beta}");
            for (model, found) in models.iter().zip(&found) {
                assert!(found.points.is_sorted_by(|a, b| a < b));
                assert!(found.points.contains(&best(model, beta, subset)), "{weights} {rows} {beta}: {found:?}");
                several += usize::from(subset.is_none() && weights == 1.0 && 0.0 < beta && 1 < found.points.len());
            }
        }
    }
    assert!(several <= 14, "{several} of 70 rounds of ordinary scale have several candidates");
    let huge = [PlainScoreModel::draw(&table, &mut draws, 1e30, 1.0), PlainScoreModel::draw(&table, &mut draws, 1.0, 0.1)];
    let (found, _, wrong) = round(&direct, &by, &huge, 1.0, None);
    assert!(wrong == 0 && found[0].points.is_empty() && !found[1].points.is_empty(), "numbers beyond f32 go another way");
}

/// A copy of the best point that differs by no more than a tie is a candidate too; a better one always is.
#[test]
fn planted_near_ties_are_both_candidates() {
    for hair in [0.0, 1e-13, 1e-10, 1e-8, -1e-8] {
        let mut table = smooth();
        let m = table.n_features;
        let copy: Vec<f64> = table.row(14).iter().map(|value| value * (1.0 + hair)).collect();
        table.values[600 * m..601 * m].copy_from_slice(&copy);
        table.residual.fill(0.0);
        let table = Arc::new(table);
        let by = made(&table);
        let mut model = PlainScoreModel::draw(&table, &mut Draws(3), 0.0, 1e-3);
        // All features have the same norm at every point: the mean is largest there.
        model.weights = table.row(14).iter().map(|value| 5.0 * value).collect();
        let (found, violations, outside) = round(&PivotTable::new(&by, &table), &by, std::slice::from_ref(&model), 0.5, None);
        assert_eq!((violations, outside), (0, 0), "{hair}");
        let (best, other) = if hair < 0.0 { (14, 600) } else { (600, 14) };
        assert!(found[0].points.contains(&best), "{hair}: {found:?}");
        assert!(1e-9 < hair.abs() || found[0].points.contains(&other), "{hair}: {found:?}");
    }
}

/// Exact scores detect an interpolation with too few pivots, and damage to a matrix of the domain or of blocks.
#[test]
fn bounds_that_are_too_small_are_caught() {
    let table = Arc::new(smooth());
    let columns = columns(&table);
    let few = |honest: bool| {
        let mut growth = PivotGrowth::new(&table);
        // Work for 12 pivots and no more.
        assert!(growth.grow(setup_work(N, table.n_features, 12), || &columns).is_none());
        let Growing { pivots, columns: of_pivots, residual, .. } = growth.grown().expect("growing");
        assert_eq!(pivots.len(), 12);
        let residual = if honest { residual } else { vec![0.0; N] };
        let mut by = Interpolation::new(&table, pivots, of_pivots, &residual, Errors::default());
        if !honest {
            by.trace.fill(0.0);
        }
        by
    };
    let mut draws = Draws(9);
    let models: Vec<PlainScoreModel> = (0..4).map(|_| PlainScoreModel::draw(&table, &mut draws, 1.0, 0.3)).collect();
    let through = |by: &Interpolation| round(&PivotTable::new(by, &table), by, &models, 2.0, None);
    let (_, noticed, wrong) = through(&few(true));
    assert_eq!((noticed, wrong), (0, 0), "wide intervals, and right");
    let (_, noticed, wrong) = through(&few(false));
    assert!(N < wrong && 0 < noticed, "{wrong} scores outside, {noticed} seen");
    // The matrix itself is damaged after its error was bounded.
    let mut damaged = Interpolation::clone(&made(&table));
    damaged.rows.iter_mut().for_each(|c| *c *= 1.01);
    assert!(0 < through(&damaged).1);
    let by = made(&table);
    let sound = PivotTable::with_blocks_below(f64::INFINITY, &by, &table);
    let (mut inner, mut outer) = (sound.clone(), sound);
    inner.inner.iter_mut().for_each(|u| *u *= 1.01);
    outer.outer.iter_mut().for_each(|c| *c *= 1.01);
    for damaged in [inner, outer] {
        let (_, _, wrong) = round(&damaged, &by, &models, 2.0, None);
        assert!(5 < wrong, "{wrong}");
    }
}

/// The choice is a function of the table and of the counted work alone.
#[test]
fn set_up_waits_for_work_that_pays_for_it() {
    let table = Arc::new(smooth());
    let columns = columns(&table);
    let rank = made(&table).rank;
    let enough = setup_work(N, table.n_features, rank);
    let mut growth = PivotGrowth::new(&table);
    assert!(growth.grow(0.0, || panic!("no work, no need of columns")).is_none());
    assert!(growth.grow(0.5 * enough, || &columns).is_none());
    let found = growth.grow(enough, || &columns).expect("ready");
    assert!(growth.grow(0.99 * enough, || &columns).is_none(), "as if nobody else had asked");
    assert_eq!(*found, *made(&table), "in one go or two");
    assert!(enough < 100.0 * dense_work(N, table.n_features), "a few rounds pay for it");
}

/// Random features span all products, so interpolation would cost more than dense products.
#[test]
fn tables_without_structure_stay_dense() {
    let mut table = smooth();
    let mut draws = Draws(5);
    table.values.iter_mut().for_each(|value| *value = draws.next());
    let columns = columns(&table);
    let table = Arc::new(table);
    assert!(PivotGrowth::new(&table).grow(f64::INFINITY, || &columns).is_none());
    for value in [0.0, f64::NAN, f64::INFINITY, 1e200] {
        let table = FeatureTable { values: vec![value; N * table.n_features], ..FeatureTable::clone(&table) };
        let found = PivotGrowth::new(&Arc::new(table)).grow(f64::INFINITY, || &columns);
        assert!(found.is_none(), "{value}");
    }
}

/// Norms of interleaved factors are upper bounds about a multiple of the identity, close ones; entries are the rounded ones.
#[test]
fn interleaved_factors_are_bounded_about_their_diagonals() {
    let table = Arc::new(smooth());
    let mut draws = Draws(17);
    let m = table.n_features;
    let models: Vec<PlainScoreModel> = (0..3).map(|_| PlainScoreModel::draw(&table, &mut draws, 1.0, 0.3)).collect();
    let factors: Vec<Factor<'_>> = models.iter().map(|model| model.factor().expect("a factor")).collect();
    let mut lanes = FactorLanes::default();
    lanes.fill(&factors.iter().collect::<Vec<_>>(), m);
    for (lane, model) in models.iter().enumerate() {
        let FactorNorms { centre, rows, form, .. } = lanes.norms[lane];
        let (mut about, mut apart) = (0.0, 0.0);
        for i in 0..m {
            for j in 0..m {
                let s = if i == j { centre } else { 0.0 };
                let entry: f64 = (0..m).map(|k| model.rows[k * m + i] * model.rows[k * m + j]).sum();
                about += (model.rows[i * m + j] - s) * (model.rows[i * m + j] - s);
                apart += (entry - centre * s) * (entry - centre * s);
                if j <= i {
                    let found = lanes.rows[block_place(i / 4) + 4 * j + i % 4].0[lane];
                    assert_eq!(found, model.rows[i * m + j] as f32, "{i} {j}");
                }
            }
        }
        assert!(0.0 < centre && about.sqrt() <= rows && rows < about.sqrt() * (1.0 + 1e-8));
        assert!(apart.sqrt() <= form && form < 3.0 * apart.sqrt(), "{form} {apart}");
    }
}

/// Between two changes of a model its candidates are repeated or found again, and hold the best point for each exploration factor.
#[test]
fn unchanged_models_are_answered_without_a_new_screen() {
    let table = Arc::new(smooth());
    let mut draws = Draws(29);
    let domain = Cpu::default().prepare(&Basis::Table(Arc::clone(&table))).expect("a domain");
    let mut screen = domain.open(LANES);
    let mut out = vec![Candidates::default(); LANES];
    let mut play = |models: &[PlainScoreModel], change: Change<'_>, beta: f64| {
        let asked: Vec<_> = (models.iter().enumerate()).map(|(i, model)| TrialScore::new(i, change, beta, model)).collect();
        screen.finish(&asked, &mut out).expect("scored");
        for (model, found) in models.iter().zip(&out) {
            let upper = |point: u32| model.exact(point as usize).upper(beta);
            let best = (0..N as u32).max_by(|&a, &b| upper(a).total_cmp(&upper(b))).expect("points");
            assert!(found.points.contains(&best), "{beta}: {best} is not in {found:?}");
        }
        let counters = screen.counters();
        (counters.interpolated, counters.violations, out.clone())
    };
    let mut expected = 0;
    // Of the rounds with other exploration factors the first five are scored by pivots, none after a span of more than six.
    for (span, scored) in [(9, 5), (3, 0), (3, 2), (7, 5), (1, 0)] {
        let models: Vec<_> = (0..LANES).map(|_| PlainScoreModel::draw(&table, &mut draws, 1.0, 0.3)).collect();
        let (_, _, first) = play(&models, Change::Factor, 2.0);
        expected += LANES as u64;
        let (interpolated, _, same) = play(&models, Change::None, 2.0);
        assert_eq!((interpolated, same), (expected, first), "nothing is scored");
        for round in 1..span {
            play(&models, Change::None, 0.3 * f64::from(round));
        }
        expected += LANES as u64 * scored;
        let (interpolated, violations, _) = play(&models, Change::None, 0.3 * f64::from(span - 1));
        assert_eq!((interpolated, violations), (expected, 0), "{span}");
    }
}
