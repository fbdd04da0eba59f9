//! Scores a model that changes completely every round, by f32 products with its factor.
//!
//! The products give mean and posterior variance of all points, a tile of points at a time: the tile's sums stay in registers and
//! each entry of the factor is used for all of its points. The band is that of a device slot reset to a factor in f32 (`lane`): it
//! holds for products in any order, with or without fused operations.

use super::path::MOST_COLUMN_BYTES;
use crate::device::{DeviceBand, Precision};
use crate::playable::playable;
use crate::scale::Scale;
use crate::slot::{SlotBasis, SlotState};
use privateer_gp::score::{Candidates, Factor, FeatureTable, GramSource, TrialScore, VarianceForm};
use privateer_numerics::{linalg::Columns, vectorised};
use pulp::Simd;
use std::collections::BTreeMap;

/// Points of a tile, a multiple of [`VECTORS`] of the widest SIMD vectors.
const POINTS: usize = 48;
/// SIMD vectors of points whose sums stay in registers.
const VECTORS: usize = 3;
/// Rows of a factor in a group: as many have sums in registers where there are 32 of these, else half of them.
const ROWS: usize = 8;
/// Fewest candidates in f32 that are compared again in f64: a SIMD vector of them.
const REFINED: usize = 8;
/// Most points whose moments are computed together in f64.
const TOGETHER: usize = 1024;

/// One number of each point of a tile.
pub type Tile = [f32; POINTS];

/// Where the basis functions of a point come from: a table and its [`feature_tiles`], or covariances.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    Table(&'a FeatureTable, &'a [Tile]),
    Gram(&'a dyn GramSource),
}

/// Returns the features of all points tile by tile, feature by feature; the last tile ends with zeros.
pub fn feature_tiles(table: &FeatureTable) -> Vec<Tile> {
    let m = table.n_features;
    let mut tiles = vec![[0.0; POINTS]; table.n_points.div_ceil(POINTS) * m];
    for point in 0..table.n_points {
        let row = table.row(point);
        let features = tiles[point / POINTS * m..].iter_mut().zip(&*row);
        features.for_each(|(feature, &value)| feature[point % POINTS] = value as f32);
    }
    tiles
}

/// Scratch memory for the products of one trial.
#[derive(Debug, Default)]
pub struct FactorScreen {
    /// Groups of the factor's rows, column by column, each up to its last column that is not zero.
    rows: Vec<[f32; ROWS]>,
    weights: Vec<f32>,
    /// Covariances of basis points with all points, by trial (0 where trials share the covariance) and basis point.
    columns: BTreeMap<(usize, u32), Vec<Tile>>,
    column: Vec<f64>,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl FactorScreen {
    /// Writes the candidates; false if the numbers do not fit f32, so that points need exact scores.
    pub fn candidates(
        &mut self,
        request: &TrialScore<'_>,
        factor: &Factor<'_>,
        source: Source<'_>,
        scale: &Scale,
        answer: &mut Candidates,
    ) -> bool {
        let screened = Screened { request, factor, scale };
        let Some(band) = screened.band(Precision::F32) else { return false };
        let (points, k): (Vec<u32>, _) = (playable(scale.prior.len(), request.subset).collect(), factor.weights.len());
        // Columns of all points do not pay for a set of them.
        let holds = request.subset.is_none() && size_of::<f32>() * points.len() * k <= MOST_COLUMN_BYTES;
        answer.points = if matches!(source, Source::Gram(_)) && !holds {
            points
        } else {
            self.load(factor);
            self.multiply_all(request, source, &points);
            let moments = self.mean.iter().zip(&self.square).map(|(&mean, &square)| (f64::from(mean), f64::from(square)));
            screened.survivors(&band, points.into_iter().zip(moments))
        };
        if let Source::Gram(gram) = source
            && REFINED <= answer.points.len()
        {
            answer.points = screened.refined(gram, &answer.points);
        }
        !answer.points.is_empty()
    }

    /// Rounds weights and rows.
    fn load(&mut self, factor: &Factor<'_>) {
        self.weights.clear();
        self.weights.extend(factor.weights.iter().map(|&value| value as f32));
        self.rows.clear();
        let k = self.weights.len();
        for first in (0..k).step_by(ROWS) {
            let row = |column: usize, r: usize| if first + r < k { factor.rows[(first + r) * k + column] as f32 } else { 0.0 };
            self.rows.extend((0..k.min(first + ROWS)).map(|column| std::array::from_fn(|r| row(column, r))));
        }
    }

    /// Computes the columns of basis points that are not held.
    fn hold(&mut self, trial: usize, basis: &[u32], gram: &dyn GramSource) {
        let n = gram.n_points();
        let missing = basis.iter().filter(|&&point| !self.columns.contains_key(&(trial, point))).count();
        if MOST_COLUMN_BYTES < size_of::<f32>() * n * (self.columns.len() + missing) {
            self.columns.clear();
        }
        self.column.resize(n, 0.0);
        for &point in basis {
            self.columns.entry((trial, point)).or_insert_with(|| {
                gram.column(point as usize, 0, &mut self.column);
                let mut tiles = vec![[0.0; POINTS]; n.div_ceil(POINTS)];
                let entries = tiles.as_flattened_mut().iter_mut().zip(&self.column);
                entries.for_each(|(entry, &value)| *entry = value as f32);
                tiles
            });
        }
    }

    /// Computes mean and `|R h|²` of these points: the whole domain, or a set over a table.
    fn multiply_all(&mut self, request: &TrialScore<'_>, source: Source<'_>, points: &[u32]) {
        let (basis, k, n_tiles) = (request.model.basis_points(), self.weights.len(), points.len().div_ceil(POINTS));
        let mut tile = vec![[0.0; POINTS]; k];
        self.mean.clear();
        self.square.clear();
        match source {
            Source::Table(_, tiles) if request.subset.is_none() => {
                (0..n_tiles).for_each(|at| self.multiply(&tiles[at * k..(at + 1) * k]));
            }
            Source::Table(table, _) => {
                for part in points.chunks(POINTS) {
                    for (at, &point) in part.iter().enumerate() {
                        tile.iter_mut().zip(&*table.row(point as usize)).for_each(|(to, &value)| to[at] = value as f32);
                    }
                    self.multiply(&tile);
                }
            }
            Source::Gram(gram) => {
                let trial = if request.model.own_gram().is_some() { request.trial } else { 0 };
                self.hold(trial, basis, gram);
                let all = std::mem::take(&mut self.columns);
                let columns: Vec<&[Tile]> = basis.iter().map(|&point| &*all[&(trial, point)]).collect();
                for at in 0..n_tiles {
                    tile.iter_mut().zip(&columns).for_each(|(to, column)| *to = column[at]);
                    self.multiply(&tile);
                }
                self.columns = all;
            }
        }
    }

    /// Appends mean and `|R h|²` of a tile's points.
    fn multiply(&mut self, tile: &[Tile]) {
        let mut out = [[0.0; POINTS]; 2];
        products(&self.rows, &self.weights, tile, &mut out);
        self.mean.extend_from_slice(&out[0]);
        self.square.extend_from_slice(&out[1]);
    }
}

/// A request with its factor and the scale of its domain.
struct Screened<'a> {
    request: &'a TrialScore<'a>,
    factor: &'a Factor<'a>,
    scale: &'a Scale,
}

impl Screened<'_> {
    /// Returns the band of moments by products of this precision; `None` if the numbers do not fit it.
    fn band(&self, precision: Precision) -> Option<DeviceBand> {
        let (mut lane, state) = (SlotState::new(0), self.request.model.state_error());
        let prior = self.request.model.prior_variance_bound();
        let basis = SlotBasis { scale: self.scale, prior, kernel_error: 0.0, precision };
        lane.start_factor(self.factor, &basis, &state).then(|| {
            lane.follow(&state);
            lane.band(self.request.beta, &state, precision)
        })
    }

    /// Returns the points that may be the best, given each with its mean and `|R h|²`.
    fn survivors(&self, band: &DeviceBand, moments: impl Iterator<Item = (u32, (f64, f64))>) -> Vec<u32> {
        let interval = |(place, (mean, square)): (u32, (f64, f64))| {
            let point = place as usize;
            let variance = match self.factor.variance {
                VarianceForm::Added => self.scale.residual(point) + square,
                VarianceForm::Removed => self.scale.prior[point] - square,
            };
            let e = band.c0 + band.c2 * variance.abs() + band.c3 * variance.max(0.0).sqrt();
            let half_width = |variance: f64| self.request.beta * variance.max(0.0).sqrt();
            (place, mean - band.c + half_width(variance - e), mean + band.c + half_width(variance + e))
        };
        let intervals: Vec<(u32, f64, f64)> = moments.map(interval).collect();
        let best = intervals.iter().map(|&(_, lower, _)| lower).fold(f64::NEG_INFINITY, f64::max);
        intervals.iter().filter(|&&(_, _, upper)| best <= upper).map(|&(point, ..)| point).collect()
    }

    /// Returns those of the points that may be the best by moments in f64; all of them if the factor leaves the range of f64.
    ///
    /// Over a smooth kernel hundreds of points nearly tie in f32, and an exact score takes as long as the moments of several.
    fn refined(&self, gram: &dyn GramSource, points: &[u32]) -> Vec<u32> {
        let Some(band) = self.band(Precision::F64) else { return points.to_vec() };
        let (k, mut moments) = (self.factor.weights.len(), Vec::with_capacity(points.len()));
        for part in points.chunks(TOGETHER) {
            let mut h = Columns::zeros(k, part.len());
            for (i, &basis) in self.request.model.basis_points().iter().enumerate() {
                h.row_mut(i).copy_from_slice(&gram.entries(part, basis as usize));
            }
            let [mut means, mut squares, mut product] = [(); 3].map(|()| vec![0.0; h.stride()]);
            h.combine(&self.factor.weights, &mut means);
            for row in self.factor.rows.chunks_exact(k.max(1)) {
                h.combine(row, &mut product);
                squares.iter_mut().zip(&product).for_each(|(square, y)| *square += y * y);
            }
            moments.extend(part.iter().copied().zip(means.into_iter().zip(squares)));
        }
        self.survivors(&band, moments.into_iter())
    }
}

vectorised! {
    /// Computes `weights · h` and `|R h|²` of a tile's points.
    fn products(rows: &[[f32; ROWS]], weights: &[f32], tile: &[Tile], out: &mut [Tile; 2]) where simd: S {
        for first in (0..POINTS / S::F32_LANES).step_by(VECTORS) {
            let mut means = [simd.splat_f32s(0.0); VECTORS];
            for (&weight, values) in weights.iter().zip(tile) {
                let values = S::as_simd_f32s(values).0;
                for (v, mean) in means.iter_mut().enumerate() {
                    *mean = simd.mul_add_e_f32s(simd.splat_f32s(weight), values[first + v], *mean);
                }
            }
            let squares = if 32 <= S::REGISTER_COUNT {
                squares::<S, ROWS>(simd, rows, tile, first)
            } else {
                squares::<S, { ROWS / 2 }>(simd, rows, tile, first)
            };
            for (out, found) in out.iter_mut().zip([means, squares]) {
                S::as_mut_simd_f32s(out).0[first..][..VECTORS].copy_from_slice(&found);
            }
        }
    }
}

/// Computes `|R h|²` of some SIMD vectors of a tile, `R` rows at a time.
#[inline(always)]
fn squares<S: Simd, const R: usize>(simd: S, rows: &[[f32; ROWS]], tile: &[Tile], first: usize) -> [S::f32s; VECTORS] {
    let mut totals = [simd.splat_f32s(0.0); VECTORS];
    let mut rest = rows;
    for end in (ROWS..tile.len() + ROWS).step_by(ROWS) {
        let (group, after) = rest.split_at(end.min(tile.len()));
        rest = after;
        for from in (0..ROWS).step_by(R) {
            let mut sums = [[simd.splat_f32s(0.0); VECTORS]; R];
            for (row, values) in group.iter().zip(tile) {
                let values = &S::as_simd_f32s(values).0[first..][..VECTORS];
                for r in 0..R {
                    let weight = simd.splat_f32s(row[from + r]);
                    for v in 0..VECTORS {
                        sums[r][v] = simd.mul_add_e_f32s(weight, values[v], sums[r][v]);
                    }
                }
            }
            for sums in &sums {
                for v in 0..VECTORS {
                    totals[v] = simd.mul_add_e_f32s(sums[v], sums[v], totals[v]);
                }
            }
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_a_triangular_factor() {
        let value = |i: usize, j: usize| libm::sin((31 * i + 7 * j) as f64);
        for k in (0..20).chain([64, 100]) {
            let rows: Vec<f64> = (0..k * k).map(|at| if at % k <= at / k { value(at / k, at % k) } else { 0.0 }).collect();
            let weights: Vec<f64> = (0..k).map(|j| value(k, j)).collect();
            let factor = Factor::new((&weights).into(), (&rows).into(), VarianceForm::Added);
            let mut screen = FactorScreen::default();
            screen.load(&factor);
            let tile: Vec<Tile> = (0..k).map(|j| std::array::from_fn(|x| value(x, j + 3) as f32)).collect();
            screen.multiply(&tile);
            for x in 0..POINTS {
                let product = |row: &[f64]| -> f64 { row.iter().enumerate().map(|(j, r)| r * value(x, j + 3)).sum() };
                let square: f64 = rows.chunks_exact(k.max(1)).map(|row| product(row) * product(row)).sum();
                assert!((f64::from(screen.mean[x]) - product(&weights)).abs() < 1e-4, "{k} {x}");
                assert!((f64::from(screen.square[x]) - square).abs() < 1e-5 * (1.0 + square), "{k} {x}");
            }
        }
    }
}
