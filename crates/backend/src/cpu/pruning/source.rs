//! Evaluates a feature table's kernel `phi(x) · phi(x')` with as few multiply-adds as possible.

use super::kernels::{fused_dot, multiply_sum, weighted_sum};
use super::lattice::Lattice;
use super::order::BlockOrder;
use super::products::{AxisProducts, Frequency};
use super::vectors::{BlockVectors, VectorRows};
use crate::cpu::vector::U;
use privateer_gp::score::{FeatureTable, FourierForm};
use privateer_numerics::linalg::dot;
use std::sync::Arc;

/// A kernel as a product of sums over short vectors, one per factor and point.
#[derive(Debug)]
pub struct Source {
    factors: Vec<BlockVectors>,
    /// The tensor structure whose axes are the factors, for features of a plane.
    tensor: Option<Tensor>,
    /// Bound on `|computed k(x, x') - phi(x) · phi(x')|` over all pairs.
    pub error: f64,
}

/// A kernel along one axis: `sum c cos(w d)`, as pairs of w and c.
pub type Cosines = Vec<(f64, f64)>;

impl Source {
    /// Builds the kernel of a table in blocks of this order, without reference points yet.
    ///
    /// `norm` bounds `|phi|`.
    pub fn of(table: &Arc<FeatureTable>, order: &BlockOrder, norm: f64) -> Self {
        let prior = norm * norm;
        let tensor = table.form.as_ref().and_then(Tensor::of);
        if let Some(tensor) = tensor {
            let points = table.form.as_ref().map_or(&[][..], |form| &form.points);
            let [first, second] = [0, 1].map(|axis| tensor.axis(axis, points));
            let distance = tensor.distance(table, &first, &second);
            // |phi·phi' - psi·psi'| <= 2 |phi| d + d² for |phi - psi| <= d; psi·psi' is the product of two sums of q terms.
            let error = 2.0 * norm * distance + distance * distance;
            let rounded = 4.0 * (tensor.first.len() as f64 + tensor.second.len() as f64 + 8.0) * U * prior;
            if error < 64.0 * table.n_features as f64 * U * prior {
                let factors = [(tensor.first.len(), first), (tensor.second.len(), second)];
                let factors =
                    factors.into_iter().map(|(n, rows)| BlockVectors::of(2 * n, VectorRows::Own(rows), order)).collect();
                return Self { factors, tensor: Some(tensor), error: error + rounded };
            }
        }
        let m = table.n_features;
        let factors = vec![BlockVectors::of(m, VectorRows::Table(Arc::clone(table)), order)];
        let by_axis = table.grid().map_or(0.0, |grid| 4.0 * grid.dimension() as f64);
        Self { factors, tensor: None, error: 2.0 * (m as f64 + 8.0 + by_axis) * U * prior }
    }

    /// Takes points of the domain as reference points.
    pub fn reference_point_at_points(&mut self, points: &[u32]) {
        for factor in &mut self.factors {
            let rows: Vec<f64> = points.iter().flat_map(|&point| factor.row(point as usize).into_owned()).collect();
            factor.take_reference_points(&rows);
        }
    }

    /// Takes the corners of a lattice as reference points; returns their features, row-major.
    ///
    /// Returns `None` unless the kernel is a product over axes.
    pub fn reference_point_at(&mut self, lattice: &Lattice) -> Option<Vec<f64>> {
        let coordinates = &lattice.coordinates[..];
        let ([one, other], Some(tensor)) = (self.factors.as_mut_slice(), &self.tensor) else { return None };
        let [first, second] = [0, 1].map(|axis| tensor.axis(axis, coordinates));
        let (n, m) = (coordinates.len() / 2, 2 * tensor.frequencies.len());
        one.take_reference_points(&first);
        other.take_reference_points(&second);
        let mut features = vec![0.0; n * m];
        for (at, features) in features.chunks_exact_mut(m).enumerate() {
            let (a, b) = (&first[at * 2 * tensor.first.len()..], &second[at * 2 * tensor.second.len()..]);
            tensor.features(a, b, |feature, value, _| features[feature] = value);
        }
        Some(features)
    }

    /// Returns the kernel along each axis; `None` unless it is a product over the axes of a plane.
    pub fn cosines(&self) -> Option<[Cosines; 2]> {
        let tensor = self.tensor.as_ref()?;
        let along = |magnitudes: &[(f64, f64)], scale: f64| magnitudes.iter().map(|&(w, a)| (w, scale * a * a)).collect();
        // The first axis carries the factor sqrt(2) from the two signs.
        Some([along(&tensor.first, 2.0), along(&tensor.second, 1.0)])
    }

    /// Returns the components of the features at these coordinates along the axes, each as a list over the coordinates.
    ///
    /// `None` unless the kernel is a product over the axes of a plane.
    pub fn components_at(&self, coordinates: &[Vec<f64>; 2]) -> Option<[Vec<f64>; 2]> {
        let (tensor, [one, other]) = (self.tensor.as_ref()?, self.factors.as_slice()) else { return None };
        Some([0, 1].map(|axis: usize| {
            let q = [one.q, other.q][axis];
            let twice: Vec<f64> = coordinates[axis].iter().flat_map(|&x| [x, x]).collect();
            let vectors = tensor.axis(axis, &twice);
            (0..q).flat_map(|c| vectors.iter().skip(c).step_by(q)).copied().collect()
        }))
    }

    /// Returns the product structure of the features; `None` unless the kernel is a product over the axes of a plane.
    pub fn products(&self) -> Option<AxisProducts> {
        let Tensor { first, second, frequencies } = self.tensor.as_ref()?;
        Some(AxisProducts {
            frequencies: frequencies.clone(),
            magnitudes: [first.len(), second.len()],
            scale: std::f64::consts::FRAC_1_SQRT_2,
        })
    }

    /// Returns the multiply-adds of one value.
    pub fn work(&self) -> usize {
        self.factors.iter().map(|factor| factor.q).sum()
    }

    pub fn entry(&self, a: usize, b: usize) -> f64 {
        self.factors.iter().map(|factor| dot(&factor.row(a), &factor.row(b))).product()
    }

    /// Returns the number of reference points, padded to a whole number of SIMD lanes.
    pub fn padded_reference_points(&self) -> usize {
        self.factors.first().map_or(0, BlockVectors::padded_reference_points)
    }

    /// Writes `k(point, x)` for the points of a block; `out` has one entry per point.
    #[inline(always)]
    pub fn column<const FUSED: bool>(&self, point: usize, block: usize, order: &BlockOrder, out: &mut [f64]) {
        let size = out.len();
        if let [factor] = self.factors.as_slice()
            && !factor.is_by_block()
        {
            let row = &*factor.row(point);
            let points = &order.points[block * size..][..size];
            if let Some(grid) = factor.grid() {
                grid.products(row, points, out);
                return;
            }
            for (out, &x) in out.iter_mut().zip(points) {
                *out = fused_dot::<FUSED>(row, &factor.row(x as usize));
            }
            return;
        }
        self.product::<FUSED>(point, |factor| factor.block(block, size), out);
    }

    /// Writes `k(point, a)` for the reference points, padded.
    #[inline(always)]
    pub fn at_reference_points<const FUSED: bool>(&self, point: usize, out: &mut [f64]) {
        self.product::<FUSED>(point, |factor| &factor.reference_points, out);
    }

    #[inline(always)]
    fn product<const FUSED: bool>(&self, point: usize, columns: impl Fn(&BlockVectors) -> &[f64], out: &mut [f64]) {
        for (i, factor) in self.factors.iter().enumerate() {
            if i == 0 {
                weighted_sum::<FUSED>(&factor.row(point), columns(factor), out);
            } else {
                multiply_sum::<FUSED>(&factor.row(point), columns(factor), out);
            }
        }
    }
}

/// Half of a grid of frequencies in two dimensions.
///
/// Every pair of a first and a second magnitude occurs with both signs of their product.
#[derive(Debug)]
struct Tensor {
    /// Magnitudes along each axis, with their factors of the amplitude.
    first: Vec<(f64, f64)>,
    second: Vec<(f64, f64)>,
    frequencies: Vec<Frequency>,
}

impl Tensor {
    fn of(form: &FourierForm) -> Option<Self> {
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
        let mut frequencies = Vec::with_capacity(form.amplitudes.len());
        let mut signs = vec![[0u32; 2]; first.len() * second.len()];
        let mut amplitude = vec![0.0; first.len() * second.len()];
        for (w, &a) in form.frequencies.chunks_exact(2).zip(&form.amplitudes) {
            let (i, j) = (nearest(&first, w[0])?, nearest(&second, w[1])?);
            signs[i * second.len() + j][usize::from(w[0] * w[1] < 0.0)] += 1;
            amplitude[i * second.len() + j] = a;
            frequencies.push(Frequency { places: [i, j], signs: [w[0].signum(), w[1].signum()] });
        }
        // The cross terms of both signs cancel, so that the kernel is a product.
        if signs.iter().any(|signs| *signs != [1, 1]) || amplitude.first().is_none_or(|&a| a <= 0.0) {
            return None;
        }
        let root = amplitude[0].sqrt();
        let first = first.into_iter().enumerate().map(|(i, w)| (w, amplitude[i * second.len()] / root)).collect();
        let second = second.into_iter().enumerate().map(|(j, w)| (w, amplitude[j] / root)).collect();
        Some(Self { first, second, frequencies })
    }

    /// Returns the vectors of an axis at points of the plane, row-major: cosines, then sines.
    ///
    /// Those of the first axis carry the factor sqrt(2) from the two signs.
    fn axis(&self, axis: usize, coordinates: &[f64]) -> Vec<f64> {
        let (magnitudes, scale) = if axis == 0 { (&self.first, std::f64::consts::SQRT_2) } else { (&self.second, 1.0) };
        let mut rows = Vec::with_capacity(coordinates.len() * magnitudes.len());
        for x in coordinates.chunks_exact(2) {
            rows.extend(magnitudes.iter().map(|&(w, a)| scale * a * libm::cos(w * x[axis])));
            rows.extend(magnitudes.iter().map(|&(w, a)| scale * a * libm::sin(w * x[axis])));
        }
        rows
    }

    /// Calls `with` for each feature of the vectors a and b: index, value and rounding error bound.
    fn features(&self, a: &[f64], b: &[f64], mut with: impl FnMut(usize, f64, f64)) {
        let (n, q1, q2) = (self.frequencies.len(), self.first.len(), self.second.len());
        let scale = std::f64::consts::FRAC_1_SQRT_2;
        for (f, &Frequency { places: [i, j], signs: [si, sj] }) in self.frequencies.iter().enumerate() {
            let cosine = a[i] * b[j] - si * sj * a[q1 + i] * b[q2 + j];
            let sine = si * a[q1 + i] * b[j] + sj * a[i] * b[q2 + j];
            let rounded = 6.0 * U * (a[i].abs() + a[q1 + i].abs()) * (b[j].abs() + b[q2 + j].abs());
            with(f, scale * cosine, rounded);
            with(n + f, scale * sine, rounded);
        }
    }

    /// Bounds `|phi(x) - psi(x)|` over the points, with psi the features of the axes' vectors.
    fn distance(&self, table: &FeatureTable, first: &[f64], second: &[f64]) -> f64 {
        let (n, q1, q2) = (self.frequencies.len(), self.first.len(), self.second.len());
        if table.n_features != 2 * n || first.len() != table.n_points * 2 * q1 {
            return f64::INFINITY;
        }
        let mut most = 0.0f64;
        for point in 0..table.n_points {
            let (phi, a, b) = (table.row(point), &first[point * 2 * q1..][..2 * q1], &second[point * 2 * q2..][..2 * q2]);
            let mut square = 0.0;
            self.features(a, b, |feature, value, rounded| {
                let off = (value - phi[feature]).abs() + rounded;
                square += off * off;
            });
            most = most.max(square);
        }
        most.sqrt() * (1.0 + 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::BlockCoordinates;
    use super::*;
    use crate::device::tables::{Chunk, Extent, feature_columns, features_base};
    use crate::reference::cases::{CaseDraws, TestBasis};
    use crate::scale::Scale;
    use privateer_gp::score::Basis;

    /// A large table, whose vectors are not held by block, gives the same kernel values; so does the padded last block.
    #[test]
    fn columns_by_row_are_those_by_block() {
        for (n, m) in [(70, 3), (100, 32), (330, 75), (5, 200)] {
            let values = (0..n * m).map(|at| libm::sin((at * at % 1009) as f64)).collect();
            let table =
                FeatureTable { n_points: n, n_features: m, values, residual: vec![0.0; n], kernel_error: 0.0, form: None };
            let order = BlockOrder::halved(n, BlockOrder::size_for(n), BlockCoordinates::of(&table));
            let norm = (m as f64).sqrt();
            let by_block = Source::of(&Arc::new(table.clone()), &order, norm);
            let mut by_row = Source::of(&Arc::new(table), &order, norm);
            by_row.factors[0].keep_rows_alone();
            for block in 0..order.points.len() / order.size {
                for point in [0, n / 2, n - 1] {
                    let [mut expected, mut plain, mut fused] = [(); 3].map(|()| vec![f64::NAN; order.size]);
                    by_block.column::<false>(point, block, &order, &mut expected);
                    by_row.column::<false>(point, block, &order, &mut plain);
                    by_row.column::<true>(point, block, &order, &mut fused);
                    for (at, &x) in order.points[block * order.size..].iter().take(order.size).enumerate() {
                        let near = |value: f64| (value - expected[at]).abs() <= by_row.error;
                        assert!(near(plain[at]) && near(fused[at]), "{n} {m} {point} {x}");
                        assert!((by_row.entry(point, x as usize) - expected[at]).abs() <= by_row.error);
                    }
                }
            }
        }
    }

    /// Rows that are computed where they are read give the bits of a table of the same rows, and columns within their bound.
    #[test]
    fn computed_rows_are_those_of_a_table() {
        let table = TestBasis::by_axis(&mut CaseDraws(3), 20, 9).table();
        let values = (0..table.n_points).flat_map(|point| table.row(point).into_owned()).collect();
        let order = BlockOrder::halved(table.n_points, 32, BlockCoordinates::of(&table));
        let stored = Arc::new(FeatureTable { values, form: None, ..FeatureTable::clone(&table) });
        let [by_axis, by_row] = [&table, &stored].map(|table| {
            let Scale { prior, largest, norm, .. } = Scale::of(&Basis::Table(Arc::clone(table)));
            let chunk = Chunk { first: 100, len: 256 };
            let sent = (feature_columns::<f64>(table, chunk), features_base::<f64>(table, Extent::new(400)));
            let mut source = Source::of(table, &order, norm);
            source.factors[0].keep_rows_alone();
            (source, prior, largest, norm, sent)
        });
        assert!((&by_axis.1, &by_axis.2, by_axis.3, &by_axis.4) == (&by_row.1, &by_row.2, by_row.3, &by_row.4));
        let mut columns = [vec![0.0; order.size], vec![0.0; order.size]];
        for block in 0..order.n_blocks() {
            let point = 7 * block + 3;
            by_axis.0.column::<true>(point, block, &order, &mut columns[0]);
            by_row.0.column::<false>(point, block, &order, &mut columns[1]);
            assert!(columns[0].iter().zip(&columns[1]).all(|(a, b)| (a - b).abs() <= by_axis.0.error));
            assert_eq!(by_axis.0.entry(block, point), by_row.0.entry(block, point));
        }
    }
}
