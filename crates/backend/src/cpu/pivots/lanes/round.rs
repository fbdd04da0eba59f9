//! Runs a round of interleaved trials and computes its error bounds.

use super::kernels::{self, LaneEnds, LaneForms, LargestOfLanes, POINTS, Products, Scores};
use super::refine::{Alone, Fine};
use super::table::LaneTable;
use crate::cpu::pivots::round::{CHECK_EVERY, CHECKED_POINTS, FormErrors, LARGEST, ROUNDED_UP, TINY, U, gamma};
use crate::cpu::pivots::table::Interpolation;
use crate::playable::playable;
use crate::scale::Scale;
use privateer_gp::score::{Candidates, FactorLanes, FeatureTable, LANES, LaneNorms, Sixteen, TIE_TOLERANCE, TrialScore};

/// Groups of sixteen trials that share the loads of a table.
const SHARING: usize = 2;

/// Scratch memory for rounds.
#[derive(Debug, Default)]
pub struct LaneScreen {
    groups: Vec<LaneGroup>,
    since_check: u32,
    next_checked: usize,
}

/// Sixteen interleaved trials.
#[derive(Debug)]
struct LaneGroup {
    /// Forms at the pivots.
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

/// A trial of a round: its request, and its factor among the interleaved ones.
#[derive(Clone, Copy)]
pub struct AskedLane<'a> {
    /// The request.
    pub request: TrialScore<'a>,
    /// The factors.
    pub lanes: FactorLanes<'a>,
    /// SIMD lane of the trial in `lanes`.
    pub lane: usize,
}

/// The tables of a screen.
#[derive(Clone, Copy)]
pub struct LaneTables<'a> {
    pub by: &'a Interpolation,
    pub lanes: &'a LaneTable,
    pub features: &'a FeatureTable,
    pub scale: &'a Scale,
}

impl Default for LaneGroup {
    fn default() -> Self {
        let zero = Sixteen::ZERO;
        let ends =
            LaneEnds { beta: zero, c: zero, c_size: zero, c_delta: zero, e: zero, e_size: zero, e_rho: zero, e_trace: zero };
        Self { forms: Vec::new(), ends, best_lower: zero, fine: [None; LANES], kept: Vec::new() }
    }
}

impl LaneScreen {
    /// Finds the candidates of each trial; returns the number of points outside their intervals.
    ///
    /// An answer stays empty where the numbers do not fit f32.
    pub fn round(&mut self, tables: LaneTables<'_>, asked: &[AskedLane<'_>], out: &mut [Candidates]) -> u64 {
        let same = |a: &AskedLane<'_>, b: &AskedLane<'_>| std::ptr::eq(a.lanes.rows, b.lanes.rows);
        let parts: Vec<&[AskedLane<'_>]> = asked.chunk_by(same).collect();
        self.groups.resize_with(parts.len().max(self.groups.len()), LaneGroup::default);
        for (group, part) in self.groups.iter_mut().zip(&parts) {
            group.at_pivots(tables, part);
        }
        for (groups, parts) in self.groups.chunks_mut(SHARING).zip(parts.chunks(SHARING)) {
            match (groups, parts) {
                ([a, b], [of_a, of_b]) => multiply(tables.lanes, [a, b], [of_a[0].lanes, of_b[0].lanes]),
                ([a, ..], [of_a]) => multiply(tables.lanes, [a], [of_a[0].lanes]),
                _ => {}
            }
        }
        let mut out = out.iter_mut();
        let mut violations = 0;
        for (group, part) in self.groups.iter().zip(&parts) {
            for asked in *part {
                let Some(out) = out.next() else { break };
                group.candidates(tables, asked, out);
                self.since_check += 1;
                if self.since_check % CHECK_EVERY == 1 {
                    violations += group.violations(tables, asked, self.next_checked);
                    self.next_checked += CHECKED_POINTS;
                }
            }
        }
        violations
    }
}

impl LaneGroup {
    /// Computes forms at the pivots, and the coefficients of the intervals.
    fn at_pivots(&mut self, tables: LaneTables<'_>, part: &[AskedLane<'_>]) {
        let LaneTables { by, lanes: table, scale, .. } = tables;
        let lanes = part[0].lanes;
        self.forms.resize(table.pivots.len() / table.columns, Sixteen::ZERO);
        let forms = LaneForms { rows: lanes.rows, features: &table.pivots, columns: table.columns, out: &mut self.forms };
        pulp::Arch::new().dispatch(forms);
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
        for asked in part {
            let lane = asked.lane;
            if let Some(fine) = self.bound(by, table, scale, asked, f64::from(largest[lane])) {
                self.fine[lane] = Some(fine);
                self.best_lower.0[lane] = f32::NEG_INFINITY;
            }
        }
    }

    /// Computes the bounds of a trial; `None` if its numbers do not fit f32.
    ///
    /// The names are those of `docs/derivations/pivot-interpolation.md`.
    fn bound(&mut self, by: &Interpolation, table: &LaneTable, scale: &Scale, asked: &AskedLane<'_>, form: f64) -> Option<Fine> {
        let (m, lane, beta, h) = (table.n_features, asked.lane, asked.request.beta, scale.norm);
        let LaneNorms { centre, rows, form: apart, weights } = asked.lanes.norms[lane];
        let trace = centre * centre;
        let fits = |value: f64| value.abs() <= LARGEST;
        if ![centre, rows, weights, h, (centre + rows) * h, weights * h, beta, form].into_iter().all(fits) {
            return None;
        }
        // Entry by entry `|R| <= s I + |N|`, so the norm of `|R| |phi|` is at most `(s + |N|_F) |phi|`.
        let FormErrors { largest, at_pivot } =
            FormErrors::of(form, centre + rows, h, kernels::row_depth(m), kernels::square_depth(m));
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
    pub(super) fn alone<'a>(&self, tables: LaneTables<'a>, asked: &AskedLane<'_>) -> Option<Alone<'a>> {
        let fine = self.fine[asked.lane]?;
        Some(Alone::new(tables, fine, asked.lane, &self.forms[..tables.by.rank], asked.lanes.weights))
    }

    /// Returns how many of some points have exact scores outside their intervals.
    fn violations(&self, tables: LaneTables<'_>, asked: &AskedLane<'_>, first: usize) -> u64 {
        let (n, request) = (tables.features.n_points, &asked.request);
        let first = first % request.subset.map_or(n, <[u32]>::len);
        let points = playable(n, request.subset).skip(first).take(CHECKED_POINTS);
        let Some(alone) = self.alone(tables, asked) else { return 0 };
        let outside = |&point: &u32| {
            let exact = request.model.exact(point as usize).upper(request.beta);
            // A NaN is inside every interval; the decision reports it.
            let (lower, upper) = alone.at(point).interval();
            exact < lower || upper < exact
        };
        points.filter(outside).count() as u64
    }

    /// Writes the candidates of a trial.
    fn candidates(&self, tables: LaneTables<'_>, asked: &AskedLane<'_>, out: &mut Candidates) {
        out.points.clear();
        let lane = asked.lane;
        if self.fine[lane].is_none() {
            return;
        }
        let n = tables.features.n_points;
        match asked.request.subset {
            Some(_) => out.points.extend(playable(n, asked.request.subset)),
            None => {
                let best = self.best_lower.0[lane];
                for kept in self.kept.iter().filter(|kept| best <= kept.upper.0[lane]) {
                    // The best of the tile is below its upper end by the half-width, which all points of the tile share.
                    let most = kept.scores.iter().fold(f32::NEG_INFINITY, |most, score| most.max(score.0[lane]));
                    let half = kept.upper.0[lane] - most;
                    let slack = 4.0 * U as f32 * (kept.upper.0[lane].abs() + half.abs());
                    let points = kept.scores.iter().zip(&tables.lanes.points[kept.tile]);
                    let reached = points.filter(|(score, _)| best <= score.0[lane] + half + slack);
                    out.points.extend(reached.map(|(_, &point)| point));
                }
                out.points.sort_unstable();
                out.points.dedup();
            }
        }
        if 1 < out.points.len()
            && let Some(alone) = self.alone(tables, asked)
        {
            alone.retain(&mut out.points);
        }
    }
}

/// Scores all points for `V` groups and keeps the tiles that may hold a best point.
fn multiply<const V: usize>(table: &LaneTable, groups: [&mut LaneGroup; V], lanes: [FactorLanes<'_>; V]) {
    let arch = pulp::Arch::new();
    let (of_outer, of_features) = (table.rank * POINTS, table.n_features * POINTS);
    let mut kept: [Vec<CandidateTile>; V] = std::array::from_fn(|v| std::mem::take(&mut groups[v].kept));
    let forms: [&[Sixteen]; V] = std::array::from_fn(|v| &groups[v].forms[..table.rank]);
    let weights: [&[Sixteen]; V] = lanes.map(|lanes| lanes.weights);
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
                    arch.dispatch(LargestOfLanes {
                        values: &values.as_flattened()[..block.chosen],
                        share,
                        out: &mut inner[what],
                    });
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
