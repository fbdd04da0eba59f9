//! Tests the bounds with and without blocks, and that blocks with bounds too small are detected.

use super::*;
use crate::cpu::pivots::FINE_OF_LANES;
use crate::cpu::pivots::tests::{Draws, N, PlainScoreModel, best, made_to, smooth};
use privateer_gp::score::{Basis, Change, ScoreModel};
use privateer_numerics::linalg::{TILE, narrow_place, sum_of_squares};
use std::sync::Arc;

/// Interleaved factors, as reported by a model that keeps them interleaved.
struct TestLanes {
    rows: Vec<Sixteen>,
    weights: Vec<Sixteen>,
    norms: [LaneNorms; LANES],
}

impl TestLanes {
    fn of(models: &[PlainScoreModel], m: usize) -> Self {
        let mut lanes = Self {
            rows: vec![Sixteen::ZERO; narrow_place(m.div_ceil(TILE))],
            weights: vec![Sixteen::ZERO; m],
            norms: [LaneNorms::default(); LANES],
        };
        for (lane, model) in models.iter().enumerate() {
            for i in 0..m {
                lanes.weights[i].0[lane] = model.weights[i] as f32;
                for j in 0..=i {
                    lanes.rows[narrow_place(i / TILE) + TILE * j + i % TILE].0[lane] = model.rows[i * m + j] as f32;
                }
            }
            lanes.norms[lane] = norms(model, m);
        }
        lanes
    }
}

/// Computes exact norms about the mean of the diagonal.
fn norms(model: &PlainScoreModel, m: usize) -> LaneNorms {
    let centre = (0..m).map(|i| model.rows[i * m + i]).sum::<f64>() / m as f64;
    let column = |j: usize| (0..m).map(move |i| model.rows[i * m + j]);
    let (mut rows, mut form) = (0.0, 0.0);
    for i in 0..m {
        for j in 0..m {
            let s = if i == j { centre } else { 0.0 };
            let entry: f64 = column(i).zip(column(j)).map(|(a, b)| a * b).sum();
            rows += (model.rows[i * m + j] - s) * (model.rows[i * m + j] - s);
            form += (entry - centre * s) * (entry - centre * s);
        }
    }
    let [rows, form, weights] = [rows, form, sum_of_squares(&model.weights)].map(|square| square.sqrt() * (1.0 + 1e-12));
    LaneNorms { centre, rows, form, weights }
}

/// Counts scores and intervals outside their bounds, and tiles with blocks; returns candidates.
fn outside(table: &LaneTable, by: &Interpolation, parts: &[&[PlainScoreModel]], beta: f64) -> (usize, Vec<Candidates>) {
    let features = Arc::clone(&parts[0][0].table);
    let scale = Scale::of(&Basis::Table(Arc::clone(&features)));
    let tables = LaneTables { by, lanes: table, features: &features, scale: &scale };
    let lanes: Vec<TestLanes> = parts.iter().map(|models| TestLanes::of(models, features.n_features)).collect();
    let asked: Vec<AskedLane<'_>> = parts
        .iter()
        .zip(&lanes)
        .flat_map(|(models, lanes)| {
            let TestLanes { rows, weights, norms } = lanes;
            let factor = FactorLanes { n_features: weights.len(), rows, weights, norms };
            let request = move |model| TrialScore::new(0, Change::Factor, beta, model);
            models.iter().enumerate().map(move |(lane, model)| AskedLane { request: request(model), lanes: factor, lane })
        })
        .collect();
    let mut out = vec![Candidates::default(); asked.len()];
    let mut screen = LaneScreen::default();
    let mut wrong = screen.round(tables, &asked, &mut out) as usize;
    for (group, models) in screen.groups.iter().zip(parts) {
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
            let asked = AskedLane { request: TrialScore::new(0, Change::Factor, beta, model), lane, ..asked[0] };
            let lanes = TestLanes::of(models, features.n_features);
            let factor = FactorLanes { rows: &lanes.rows, weights: &lanes.weights, norms: &lanes.norms, ..asked.lanes };
            let asked = AskedLane { lanes: factor, ..asked };
            let alone = group.alone(tables, &asked).expect("in use");
            for point in 0..N {
                let (lower, upper) = alone.at(point as u32).interval();
                wrong += usize::from(!(lower <= exact(point) && exact(point) <= upper));
            }
        }
    }
    (wrong, out)
}

#[test]
fn scores_side_by_side_hold_exact_ones() {
    let table = Arc::new(smooth());
    let by = made_to(FINE_OF_LANES, &table);
    let mut draws = Draws(11);
    let (blocks, direct) =
        (LaneTable::with_blocks_below(f64::INFINITY, &by, &table), LaneTable::with_blocks_below(0.0, &by, &table));
    assert!(blocks.blocks.iter().any(|block| 0 < block.chosen) && direct.blocks.iter().all(|block| block.chosen == 0));
    let mut several = 0;
    for (weights, rows, beta) in
        [(1.0, 0.1, 2.0), (0.0, 1.0, 1.0), (1e4, 1e-6, 1.0), (1e-9, 1e5, 30.0), (1.0, 1.0, 0.0), (1e-30, 1e-30, 1.0)]
    {
        // Two groups that share a table and one that does not; some SIMD lanes are unused.
        let parts: Vec<Vec<PlainScoreModel>> =
            [16, 3, 1].map(|n| (0..n).map(|_| PlainScoreModel::draw(&table, &mut draws, weights, rows)).collect()).into();
        let parts: Vec<&[PlainScoreModel]> = parts.iter().map(Vec::as_slice).collect();
        for lanes in [&blocks, &direct] {
            let (wrong, found) = outside(lanes, &by, &parts, beta);
            assert_eq!(wrong, 0, "{weights} {rows} {beta}");
            for (model, found) in parts.iter().copied().flatten().zip(&found) {
                assert!(found.points.is_sorted_by(|a, b| a < b));
                assert!(found.points.contains(&best(model, beta, None)), "{weights} {rows} {beta}: {found:?}");
                several += usize::from(weights == 1.0 && 0.0 < beta && 1 < found.points.len());
            }
        }
    }
    assert!(several <= 8, "{several} of 40 rounds of ordinary scale have several candidates");
    let huge = [PlainScoreModel::draw(&table, &mut draws, 1e30, 1.0), PlainScoreModel::draw(&table, &mut draws, 1.0, 0.1)];
    let (wrong, found) = outside(&direct, &by, &[&huge], 1.0);
    assert!(wrong == 0 && found[0].points.is_empty() && !found[1].points.is_empty(), "numbers beyond f32 go another way");
}

/// Damage to a matrix within blocks, and to that of the whole domain, is detected.
#[test]
fn damaged_tables_are_caught() {
    let table = Arc::new(smooth());
    let by = made_to(FINE_OF_LANES, &table);
    let mut draws = Draws(13);
    let models: Vec<PlainScoreModel> = (0..16).map(|_| PlainScoreModel::draw(&table, &mut draws, 1.0, 0.3)).collect();
    let sound = LaneTable::with_blocks_below(f64::INFINITY, &by, &table);
    let mut inner = sound.clone();
    inner.inner.iter_mut().for_each(|u| *u *= 1.01);
    let mut outer = sound;
    outer.outer.iter_mut().for_each(|c| *c *= 1.01);
    for damaged in [inner, outer] {
        let (wrong, _) = outside(&damaged, &by, &[&models], 2.0);
        assert!(20 < wrong, "{wrong}");
    }
}
