//! The kernel of a feature table, `k(x, x') = phi(x) · phi(x')`, by as few multiply-adds as its form allows.

use super::kernels::{LANES, multiply_sum, weighted_sum};
use super::order::Order;
use crate::linalg::dot;
use crate::score::{FeatureTable, FourierForm};
use std::sync::Arc;

/// Unit roundoff of f64.
const U: f64 = f64::EPSILON / 2.0;

/// A kernel as a product of sums over short vectors, one of each factor for every point.
#[derive(Debug)]
pub struct Source {
    factors: Vec<Factor>,
    /// Bound on `|computed k(x, x') - phi(x) · phi(x')|` over all pairs.
    pub error: f64,
}

/// The vectors of one factor.
#[derive(Debug)]
struct Factor {
    /// Their length.
    q: usize,
    /// `n_points x q`, row-major.
    rows: Vectors,
    /// `n_blocks x q x size`: the same by block, each component of all points of a block contiguous.
    blocks: Vec<f64>,
    /// `q x padded`: the same of the centres.
    centres: Vec<f64>,
}

/// Where the vectors of points are.
#[derive(Debug)]
enum Vectors {
    Own(Vec<f64>),
    /// They are the features.
    Table(Arc<FeatureTable>),
}

impl Vectors {
    fn all(&self) -> &[f64] {
        match self {
            Self::Own(values) => values,
            Self::Table(table) => &table.values,
        }
    }
}

impl Factor {
    fn of(q: usize, vectors: Vectors, order: &Order, centres: &[u32]) -> Self {
        let rows = vectors.all();
        let mut blocks = vec![0.0; order.n_blocks() * q * order.size];
        for (block, values) in order.points.chunks_exact(order.size).zip(blocks.chunks_exact_mut(q * order.size)) {
            for (at, &point) in block.iter().enumerate() {
                for (component, &value) in rows[point as usize * q..][..q].iter().enumerate() {
                    values[component * order.size + at] = value;
                }
            }
        }
        let padded = centres.len().next_multiple_of(LANES);
        let mut of_centres = vec![0.0; q * padded];
        for (at, &point) in centres.iter().enumerate() {
            for (component, &value) in rows[point as usize * q..][..q].iter().enumerate() {
                of_centres[component * padded + at] = value;
            }
        }
        Self { q, rows: vectors, blocks, centres: of_centres }
    }

    fn row(&self, point: usize) -> &[f64] {
        &self.rows.all()[point * self.q..][..self.q]
    }
}

impl Source {
    /// The kernel of a table in blocks of this order, with these centres; `norm` bounds `|phi|`.
    pub fn of(table: &Arc<FeatureTable>, order: &Order, centres: &[u32], norm: f64) -> Self {
        let prior = norm * norm;
        let tensor = table.form.as_ref().and_then(Tensor::of);
        if let Some(tensor) = tensor {
            let [first, second] = tensor.axes(table.n_points);
            let distance = tensor.distance(table, &first, &second);
            // |phi·phi' - psi·psi'| <= 2 |phi| d + d² for |phi - psi| <= d; psi·psi' is the product of two sums of q terms.
            let error = 2.0 * norm * distance + distance * distance;
            let rounded = 4.0 * (tensor.first.len() as f64 + tensor.second.len() as f64 + 8.0) * U * prior;
            if error < 64.0 * table.n_features as f64 * U * prior {
                let factors = [(tensor.first.len(), first), (tensor.second.len(), second)];
                let factors =
                    factors.into_iter().map(|(n, rows)| Factor::of(2 * n, Vectors::Own(rows), order, centres)).collect();
                return Self { factors, error: error + rounded };
            }
        }
        let m = table.n_features;
        Self {
            factors: vec![Factor::of(m, Vectors::Table(Arc::clone(table)), order, centres)],
            error: 2.0 * (m as f64 + 8.0) * U * prior,
        }
    }

    /// Multiply-adds of one value.
    pub fn work(&self) -> usize {
        self.factors.iter().map(|factor| factor.q).sum()
    }

    /// `k(a, b)`.
    pub fn entry(&self, a: usize, b: usize) -> f64 {
        self.factors.iter().map(|factor| dot(factor.row(a), factor.row(b))).product()
    }

    /// Centres, and zeros to a whole number of lanes.
    pub fn padded_centres(&self) -> usize {
        self.factors.first().map_or(0, |factor| factor.centres.len() / factor.q.max(1))
    }

    /// Writes `k(point, x)` for the points of a block; `out` is a block long.
    #[inline(always)]
    pub fn column(&self, point: usize, block: usize, out: &mut [f64]) {
        let size = out.len();
        for (i, factor) in self.factors.iter().enumerate() {
            let columns = &factor.blocks[block * factor.q * size..][..factor.q * size];
            if i == 0 {
                weighted_sum::<false>(factor.row(point), columns, out);
            } else {
                multiply_sum(factor.row(point), columns, out);
            }
        }
    }

    /// Writes `k(point, c)` for the centres, padded.
    #[inline(always)]
    pub fn at_centres(&self, point: usize, out: &mut [f64]) {
        for (i, factor) in self.factors.iter().enumerate() {
            if i == 0 {
                weighted_sum::<false>(factor.row(point), &factor.centres, out);
            } else {
                multiply_sum(factor.row(point), &factor.centres, out);
            }
        }
    }
}

/// A half grid of frequencies in two dimensions: for every pair of a first and a second magnitude, both signs of their product.
struct Tensor<'a> {
    form: &'a FourierForm,
    /// Magnitudes along each axis, with the factor of the amplitude.
    first: Vec<(f64, f64)>,
    second: Vec<(f64, f64)>,
    /// Of each frequency: its place along the axes, and its signs.
    places: Vec<(usize, usize, f64, f64)>,
}

impl<'a> Tensor<'a> {
    fn of(form: &'a FourierForm) -> Option<Self> {
        if form.dimension != 2 || form.frequencies.contains(&0.0) {
            return None;
        }
        let magnitudes = |axis: usize| {
            let mut all: Vec<f64> = form.frequencies.chunks_exact(2).map(|w| w[axis].abs()).collect();
            all.sort_unstable_by(f64::total_cmp);
            all.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * b.abs());
            all
        };
        let (first, second) = (magnitudes(0), magnitudes(1));
        let nearest =
            |all: &[f64], w: f64| (0..all.len()).min_by(|&i, &j| (all[i] - w.abs()).abs().total_cmp(&(all[j] - w.abs()).abs()));
        let mut places = Vec::with_capacity(form.amplitudes.len());
        let mut signs = vec![[0u32; 2]; first.len() * second.len()];
        let mut amplitude = vec![0.0; first.len() * second.len()];
        for (w, &a) in form.frequencies.chunks_exact(2).zip(&form.amplitudes) {
            let (i, j) = (nearest(&first, w[0])?, nearest(&second, w[1])?);
            signs[i * second.len() + j][usize::from(w[0] * w[1] < 0.0)] += 1;
            amplitude[i * second.len() + j] = a;
            places.push((i, j, w[0].signum(), w[1].signum()));
        }
        // The cross terms of both signs cancel: that makes the kernel a product.
        if signs.iter().any(|signs| *signs != [1, 1]) || amplitude.first().is_none_or(|&a| a <= 0.0) {
            return None;
        }
        let root = amplitude[0].sqrt();
        let first = first.into_iter().enumerate().map(|(i, w)| (w, amplitude[i * second.len()] / root)).collect();
        let second = second.into_iter().enumerate().map(|(j, w)| (w, amplitude[j] / root)).collect();
        Some(Self { form, first, second, places })
    }

    /// The vectors of both axes, row-major: cosines, then sines. Those of the first carry the root of 2 that both signs make.
    fn axes(&self, n_points: usize) -> [Vec<f64>; 2] {
        let along = |axis: usize, magnitudes: &[(f64, f64)], scale: f64| {
            let mut rows = Vec::with_capacity(n_points * 2 * magnitudes.len());
            for x in self.form.points.chunks_exact(2) {
                rows.extend(magnitudes.iter().map(|&(w, a)| scale * a * libm::cos(w * x[axis])));
                rows.extend(magnitudes.iter().map(|&(w, a)| scale * a * libm::sin(w * x[axis])));
            }
            rows
        };
        [along(0, &self.first, std::f64::consts::SQRT_2), along(1, &self.second, 1.0)]
    }

    /// A bound on `|phi(x) - psi(x)|` over the points, psi the features that the vectors of both axes stand for.
    fn distance(&self, table: &FeatureTable, first: &[f64], second: &[f64]) -> f64 {
        let (n, q1, q2) = (self.places.len(), self.first.len(), self.second.len());
        if table.n_features != 2 * n || first.len() != table.n_points * 2 * q1 {
            return f64::INFINITY;
        }
        let mut most = 0.0f64;
        for point in 0..table.n_points {
            let (phi, a, b) = (table.row(point), &first[point * 2 * q1..][..2 * q1], &second[point * 2 * q2..][..2 * q2]);
            let mut square = 0.0;
            for (f, &(i, j, si, sj)) in self.places.iter().enumerate() {
                let (cosine, sine) =
                    (a[i] * b[j] - si * sj * a[q1 + i] * b[q2 + j], si * a[q1 + i] * b[j] + sj * a[i] * b[q2 + j]);
                let scale = std::f64::consts::FRAC_1_SQRT_2;
                // What this line rounds off, of both.
                let rounded = 6.0 * U * (a[i].abs() + a[q1 + i].abs()) * (b[j].abs() + b[q2 + j].abs());
                let squared = |value: f64, feature: f64| {
                    let off = (scale * value - feature).abs() + rounded;
                    off * off
                };
                square += squared(cosine, phi[f]) + squared(sine, phi[n + f]);
            }
            most = most.max(square);
        }
        most.sqrt() * (1.0 + 1e-9)
    }
}
