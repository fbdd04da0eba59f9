//! Tests the bounds with and without blocks, and that blocks with bounds too small are detected.

use super::*;
use crate::cpu::pivots::FINE_OF_LANES;
use crate::cpu::pivots::lanes::factors::block_place;
use crate::cpu::pivots::tests::{Draws, N, PlainScoreModel, best, made_to, smooth};
use privateer_gp::score::{Basis, Change, ScoreModel};
use std::sync::Arc;

/// Counts scores and intervals outside their bounds, and tiles with blocks; returns candidates.
fn outside(table: &LaneTable, by: &Interpolation, models: &[PlainScoreModel], beta: f64) -> (usize, Vec<Candidates>) {
    let features = Arc::clone(&models[0].table);
    let scale = Scale::of(&Basis::Table(Arc::clone(&features)));
    let tables = LaneTables { by, lanes: table, features: &features, scale: &scale };
    let asked: Vec<AskedTrial<'_>> = models
        .iter()
        .map(|model| AskedTrial {
            request: TrialScore::new(0, Change::Factor, beta, model),
            factor: model.factor().expect("a factor"),
        })
        .collect();
    let mut out = vec![Candidates::default(); asked.len()];
    let mut screen = LaneScreen::default();
    let mut wrong = screen.round(tables, &asked, &mut out) as usize;
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
        // Two groups that share the loads of a table and one that does not; some SIMD lanes of it are unused.
        let models: Vec<PlainScoreModel> =
            (0..2 * LANES + 3).map(|_| PlainScoreModel::draw(&table, &mut draws, weights, rows)).collect();
        for lanes in [&blocks, &direct] {
            let (wrong, found) = outside(lanes, &by, &models, beta);
            assert_eq!(wrong, 0, "{weights} {rows} {beta}");
            for (model, found) in models.iter().zip(&found) {
                assert!(found.points.is_sorted_by(|a, b| a < b));
                assert!(found.points.contains(&best(model, beta, None)), "{weights} {rows} {beta}: {found:?}");
                several += usize::from(weights == 1.0 && 0.0 < beta && 1 < found.points.len());
            }
        }
    }
    assert!(several <= 14, "{several} of 70 rounds of ordinary scale have several candidates");
    let huge = [PlainScoreModel::draw(&table, &mut draws, 1e30, 1.0), PlainScoreModel::draw(&table, &mut draws, 1.0, 0.1)];
    let (wrong, found) = outside(&direct, &by, &huge, 1.0);
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
        let (wrong, _) = outside(&damaged, &by, &models, 2.0);
        assert!(20 < wrong, "{wrong}");
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
