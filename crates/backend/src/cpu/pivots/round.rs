//! Runs a round of interleaved trials and computes its error bounds.

use super::factors::{FactorLanes, FactorNorms, LANES, Sixteen, usable};
use super::kernels::{self, LaneEnds, POINTS, Products, Scores, lane_forms, largest_of_lanes};
use super::refine::{Alone, Fine, PivotTables};
use super::table::PivotTable;
use crate::playable::playable;
use privateer_gp::score::{Candidates, Factor, TIE_TOLERANCE, TrialScore};

/// Unit roundoff of f32.
const U: f64 = f32::EPSILON as f64 / 2.0;
/// Factor for bounds that are computed in f64 and used in f32.
const ROUNDED_UP: f64 = 1.0 + 1e-5;
/// Numbers beyond this stay out of f32 arithmetic, so that their squares and sums cannot overflow.
const LARGEST: f64 = 1e15;
/// Bound on a number that was flushed to zero.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Trial rounds of a screen between comparisons with exact scores, and points per comparison.
const CHECK_EVERY: u32 = 256;
const CHECKED_POINTS: usize = 4;

/// Groups of sixteen trials that share the loads of a table.
const SHARING: usize = 2;

/// Scratch memory for rounds.
#[derive(Debug, Default)]
pub struct PivotScreen {
    groups: Vec<LaneGroup>,
    since_check: u32,
    next_checked: usize,
}

/// Sixteen interleaved trials.
#[derive(Debug, Default)]
struct LaneGroup {
    factors: FactorLanes,
    forms: Vec<Sixteen>,
    ends: LaneEnds,
    best_lower: Sixteen,
    /// Of each SIMD lane in use.
    fine: [Option<Fine>; LANES],
    kept: Vec<CandidateTile>,
}

/// A tile that may hold the best point of a trial.
#[derive(Debug)]
struct CandidateTile {
    tile: usize,
    upper: Sixteen,
    scores: [Sixteen; POINTS],
}

pub struct AskedTrial<'a> {
    pub request: TrialScore<'a>,
    pub factor: Factor<'a>,
}

impl PivotScreen {
    /// Finds the candidates of each trial; returns the number of points outside their intervals.
    ///
    /// An answer stays empty where the numbers do not fit f32.
    pub fn round(&mut self, tables: PivotTables<'_>, asked: &[AskedTrial<'_>], out: &mut [Candidates]) -> u64 {
        let n_groups = asked.len().div_ceil(LANES);
        self.groups.resize_with(n_groups.max(self.groups.len()), LaneGroup::default);
        let groups = &mut self.groups[..n_groups];
        for (group, part) in groups.iter_mut().zip(asked.chunks(LANES)) {
            group.at_pivots(tables, part);
        }
        // Points of decision sets are scored one by one.
        let mut whole: Vec<&mut LaneGroup> = groups
            .iter_mut()
            .zip(asked.chunks(LANES))
            .filter(|(_, part)| part.iter().any(|asked| asked.request.subset.is_none()))
            .map(|(group, _)| group)
            .collect();
        for groups in whole.chunks_mut(SHARING) {
            match groups {
                [a, b] => multiply(tables.table, [a, b]),
                [a] => multiply(tables.table, [a]),
                _ => {}
            }
        }
        let mut violations = 0;
        for (i, (asked, out)) in asked.iter().zip(out).enumerate() {
            let (group, lane) = (&self.groups[i / LANES], i % LANES);
            group.candidates(tables, &asked.request, lane, out);
            self.since_check += 1;
            if self.since_check % CHECK_EVERY == 1 {
                violations += group.violations(tables, &asked.request, lane, self.next_checked);
                self.next_checked += CHECKED_POINTS;
            }
        }
        violations
    }
}

impl LaneGroup {
    /// Interleaves the factors, computes forms at the pivots and the coefficients of the intervals.
    fn at_pivots(&mut self, tables: PivotTables<'_>, part: &[AskedTrial<'_>]) {
        let table = tables.table;
        let factors: Vec<&Factor<'_>> = part.iter().map(|asked| &asked.factor).collect();
        self.factors.fill(&factors, table.n_features);
        self.forms.resize(table.pivots.len() / table.columns, Sixteen::ZERO);
        lane_forms(&self.factors.rows, &table.pivots, table.columns, &mut self.forms);
        // An unused SIMD lane is never the best.
        self.best_lower = Sixteen([f32::INFINITY; LANES]);
        self.fine = [None; LANES];
        self.kept.clear();
        // The largest form of each SIMD lane; NaN if one of them is NaN.
        let mut largest = [0.0f32; LANES];
        for forms in &self.forms[..table.rank] {
            for (most, &form) in largest.iter_mut().zip(&forms.0) {
                *most = if *most < form || form.is_nan() { form } else { *most };
            }
        }
        for (lane, asked) in part.iter().enumerate() {
            if let Some(fine) = self.bound(tables, asked, lane, f64::from(largest[lane])) {
                self.fine[lane] = Some(fine);
                self.best_lower.0[lane] = f32::NEG_INFINITY;
            }
        }
    }

    /// Computes the bounds of a trial; `None` if its numbers do not fit f32.
    ///
    /// The names are those of `docs/derivations/pivot-interpolation.md`.
    fn bound(&mut self, tables: PivotTables<'_>, asked: &AskedTrial<'_>, lane: usize, form: f64) -> Option<Fine> {
        let PivotTables { by, table, scale, .. } = tables;
        let (m, beta, h) = (table.n_features, asked.request.beta, scale.norm);
        if !usable(&asked.factor, m) {
            return None;
        }
        let FactorNorms { centre, rows, form: apart, weights } = self.factors.norms[lane];
        let trace = centre * centre;
        let fits = |value: f64| value.abs() <= LARGEST;
        if ![centre, rows, weights, h, (centre + rows) * h, weights * h, beta, form].into_iter().all(fits) {
            return None;
        }
        // Entry by entry `|R| <= s I + |N|`, so the norm of `|R| |phi|` is at most `(s + |N|_F) |phi|`.
        let (largest, at_pivot) = form_errors(form, centre + rows, h, m);
        let sum = gamma(kernels::product_depth(table.rank));
        let state = asked.request.model.state_error();
        let size = table.largest_size.max(by.largest_size);
        let variance = size * largest + by.largest_residual;
        let score = weights * h + beta * variance.sqrt();
        let tiny = (m as f64 + table.rank as f64 + 8.0) * TINY;
        let c = state.mean + TIE_TOLERANCE * (1.0 + score) + beta * (tiny * (1.0 + size)).sqrt() + tiny;
        let e = state.variance + tiny;
        let numbers = [
            (&mut self.ends.beta, beta),
            (&mut self.ends.c, ROUNDED_UP * (c + 8.0 * U * score)),
            (&mut self.ends.c_size, ROUNDED_UP * (gamma(kernels::product_depth(m)) * weights * h + tiny)),
            (&mut self.ends.c_delta, ROUNDED_UP * weights),
            (&mut self.ends.e, ROUNDED_UP * (e + 4.0 * U * by.largest_residual)),
            (&mut self.ends.e_size, ROUNDED_UP * (at_pivot + (sum + 4.0 * U) * largest + tiny)),
            (&mut self.ends.e_rho, ROUNDED_UP * apart),
            (&mut self.ends.e_trace, ROUNDED_UP * trace),
        ];
        for (to, number) in numbers {
            to.0[lane] = number as f32;
        }
        // In f64 the remaining error is the rounding of the numbers themselves: coefficients, weights and the residual.
        // Sums in f64 have errors far below the share by which these are rounded up, except for means of neighbours, whose
        // own rounding is small.
        let summed = (m as f64 + 8.0) * f64::EPSILON * weights * h;
        let fine = Fine {
            beta,
            c: ROUNDED_UP * (c + summed),
            c_apart: ROUNDED_UP * 2.0 * U * weights,
            c_weights: ROUNDED_UP * 2.0 * U * weights * h,
            e: ROUNDED_UP * (e + 2.0 * U * by.largest_residual),
            e_size: ROUNDED_UP * (2.0 * U * largest + tiny),
            e_apart: ROUNDED_UP * (at_pivot + tiny),
            e_rho: ROUNDED_UP * apart,
            e_trace: ROUNDED_UP * trace,
        };
        [variance, score, apart, trace, e].into_iter().all(fits).then_some(fine)
    }

    /// Extracts a trial for f64 refinement; `None` if it is not in use.
    fn alone<'a>(&self, tables: PivotTables<'a>, lane: usize) -> Option<Alone<'a>> {
        Some(Alone::new(tables, self.fine[lane]?, lane, &self.forms[..tables.by.rank], &self.factors.weights))
    }

    /// Returns how many of some points have exact scores outside their intervals.
    fn violations(&self, tables: PivotTables<'_>, request: &TrialScore<'_>, lane: usize, first: usize) -> u64 {
        let n = tables.features.n_points;
        let first = first % request.subset.map_or(n, <[u32]>::len);
        let points = playable(n, request.subset).skip(first).take(CHECKED_POINTS);
        let Some(alone) = self.alone(tables, lane) else { return 0 };
        let outside = |&point: &u32| {
            let exact = request.model.exact(point as usize).upper(request.beta);
            // A NaN is inside every interval; the decision reports it.
            let (lower, upper) = alone.at(point).interval();
            exact < lower || upper < exact
        };
        points.filter(outside).count() as u64
    }

    fn candidates(&self, tables: PivotTables<'_>, request: &TrialScore<'_>, lane: usize, out: &mut Candidates) {
        out.points.clear();
        if self.fine[lane].is_none() {
            return;
        }
        let n = tables.features.n_points;
        match request.subset {
            Some(_) => out.points.extend(playable(n, request.subset)),
            None => {
                let best = self.best_lower.0[lane];
                for kept in self.kept.iter().filter(|kept| best <= kept.upper.0[lane]) {
                    // The best of the tile is below its upper end by the half-width, which all points of the tile share.
                    let most = kept.scores.iter().fold(f32::NEG_INFINITY, |most, score| most.max(score.0[lane]));
                    let half = kept.upper.0[lane] - most;
                    let slack = 4.0 * U as f32 * (kept.upper.0[lane].abs() + half.abs());
                    let points = kept.scores.iter().zip(&tables.table.points[kept.tile]);
                    let reached = points.filter(|(score, _)| best <= score.0[lane] + half + slack);
                    out.points.extend(reached.map(|(_, &point)| point));
                }
                out.points.sort_unstable();
                out.points.dedup();
            }
        }
        if 1 < out.points.len()
            && let Some(alone) = self.alone(tables, lane)
        {
            alone.retain(&mut out.points);
        }
    }
}

/// Scores all points for `V` groups and keeps the tiles that may hold a best point.
fn multiply<const V: usize>(table: &PivotTable, groups: [&mut LaneGroup; V]) {
    let arch = pulp::Arch::new();
    let (of_outer, of_features) = (table.rank * POINTS, table.n_features * POINTS);
    let mut kept: [Vec<CandidateTile>; V] = std::array::from_fn(|v| std::mem::take(&mut groups[v].kept));
    let forms: [&[Sixteen]; V] = std::array::from_fn(|v| &groups[v].forms[..table.rank]);
    let weights: [&[Sixteen]; V] = std::array::from_fn(|v| &groups[v].factors.weights[..]);
    let mut best_lower: [Sixteen; V] = std::array::from_fn(|v| groups[v].best_lower);
    let [mut found, mut means] = [[[Sixteen::ZERO; POINTS]; V]; 2];
    let mut scores = [Sixteen::ZERO; POINTS];
    // Forms and means at the chosen points of a block.
    let most = table.blocks.iter().map(|block| block.outer.len()).max().unwrap_or(0);
    let mut chosen: [[Vec<[Sixteen; POINTS]>; V]; 2] =
        std::array::from_fn(|_| std::array::from_fn(|_| vec![[Sixteen::ZERO; POINTS]; most]));
    for block in &table.blocks {
        let mut inner = [[Sixteen::ZERO; 2]; V];
        for (number, tile) in block.outer.clone().enumerate() {
            let coefficients = &table.outer[tile * of_outer..][..of_outer];
            let features = &table.features[tile * of_features..][..of_features];
            if block.chosen == 0 {
                arch.dispatch(Products { coefficients, values: forms, out: found.each_mut() });
                arch.dispatch(Products { coefficients: features, values: weights, out: means.each_mut() });
            } else {
                let [found, means] = &mut chosen;
                let [found, means] = [found, means].map(|chosen| chosen.each_mut().map(|tiles| &mut tiles[number]));
                arch.dispatch(Products { coefficients, values: forms, out: found });
                arch.dispatch(Products { coefficients: features, values: weights, out: means });
            }
        }
        if 0 < block.chosen {
            let share = (ROUNDED_UP * 1.25 * (kernels::product_depth(block.chosen) + 3.0) * U) as f32;
            for (what, chosen) in chosen.iter().enumerate() {
                for (inner, values) in inner.iter_mut().zip(chosen) {
                    largest_of_lanes(&values.as_flattened()[..block.chosen], share, &mut inner[what]);
                }
            }
        }
        for (number, tile) in block.scored.clone().enumerate() {
            if 0 < block.chosen {
                let length = block.chosen * POINTS;
                let coefficients = &table.inner[block.inner + number * length..][..length];
                let of = |what: usize| chosen[what].each_ref().map(|values| &values.as_flattened()[..block.chosen]);
                arch.dispatch(Products::<V> { coefficients, values: of(0), out: found.each_mut() });
                arch.dispatch(Products::<V> { coefficients, values: of(1), out: means.each_mut() });
            }
            for v in 0..V {
                let mut upper = Sixteen::ZERO;
                let reached = arch.dispatch(Scores {
                    forms: &found[v],
                    means: &means[v],
                    residual: &table.residual[tile],
                    ends: &groups[v].ends,
                    bounds: table.bounds[tile],
                    inner: &inner[v],
                    scores: &mut scores,
                    upper: &mut upper,
                    best_lower: &mut best_lower[v],
                });
                if reached {
                    kept[v].push(CandidateTile { tile, upper, scores });
                }
            }
        }
    }
    for ((group, kept), best_lower) in groups.into_iter().zip(kept).zip(best_lower) {
        (group.kept, group.best_lower) = (kept, best_lower);
    }
}

/// Returns the relative rounding error of a sum of this depth, per unit of its terms' magnitudes.
fn gamma(depth: f64) -> f64 {
    1.25 * (depth + 3.0) * U
}

/// Returns a bound on the largest form `|R phi|²` at the pivots, and one on the error of a form.
///
/// They follow from the largest computed form, `|R|_F` and a bound `h` on `|phi|`, of this number of features.
fn form_errors(form: f64, rows: f64, h: f64, n_features: usize) -> (f64, f64) {
    // |ŷ - y| <= e_y, and the sum |ŷ|² has a relative rounding error.
    let e_y = gamma(kernels::row_depth(n_features)) * rows * h;
    let share = gamma(kernels::square_depth(n_features));
    let root = (form * (1.0 + 2.0 * share)).sqrt() + e_y;
    let largest = root * root;
    (largest, 2.0 * e_y * root + e_y * e_y + 2.0 * share * largest)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
