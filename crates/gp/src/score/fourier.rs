//! Fourier features as a formula, and random ones over a large grid, whose rows are computed where they are read.

use privateer_numerics::linalg::dot_rows;
use privateer_numerics::vectorised;
use std::sync::Arc;

/// Largest table of random Fourier features over a grid that is stored, in bytes.
const MOST_STORED_BYTES: usize = 1 << 28;

/// Fourier features as a formula: `a_i cos(t_i)` for all `i`, then `a_i sin(t_i)`, `t_i = w_i · x`.
#[derive(Debug, Clone, PartialEq)]
pub struct FourierForm {
    /// Number of coordinates.
    pub dimension: usize,
    /// `n_points x dimension`, row-major.
    pub points: Arc<[f64]>,
    /// `n_frequencies x dimension`, row-major: the `w_i`.
    pub frequencies: Vec<f64>,
    /// `n_frequencies`: the `a_i`.
    pub amplitudes: Vec<f64>,
    /// The features by axis, of a large table over a grid, which holds no values.
    pub grid: Option<GridFeatures>,
}

/// Random Fourier features of a grid, held as cosines and sines along each axis.
///
/// By the addition theorem, `exp(i w·x)` is the product of `exp(i w_j x_j)` over the coordinates. With 100 frequencies on 1000 x 1000
/// points the axes take 3 MB, a table 1.6 GB. A row has the same bits wherever it is read; a stored table has cosine and sine of
/// `w·x` itself, and differs from it by roundings.
#[derive(Debug, Clone, PartialEq)]
pub struct GridFeatures {
    /// At least two, first coordinate first.
    axes: Vec<GridAxis>,
}

#[derive(Debug, Clone, PartialEq)]
struct GridAxis {
    /// Points from a value to the next one.
    stride: usize,
    n_values: usize,
    /// `n_values x 2m`: of each value, the cosines, then the sines; those of the first axis with the amplitudes.
    exponentials: Vec<f64>,
}

impl GridFeatures {
    /// Returns the features of a large table; `None` if the table is to be stored: if it is not large, or its points are no grid.
    pub fn of_large(form: &FourierForm) -> Option<Self> {
        let bytes = form.points.len() / form.dimension.max(1) * 16 * form.amplitudes.len();
        if bytes <= MOST_STORED_BYTES { None } else { Self::of(form) }
    }

    /// Returns the features of points that are a grid, row-major as [`crate::Points::grid`], with two values on each axis at least.
    pub fn of(form: &FourierForm) -> Option<Self> {
        let d = form.dimension;
        let n = form.points.len().checked_div(d).filter(|&n| 0 < n)?;
        let value = |point: usize, axis: usize| form.points[point * d + axis];
        let mut axes = Vec::new();
        let mut stride = 1;
        for axis in (0..d).rev() {
            // The first value comes again after all others.
            let places = n / stride;
            let is_first = |place: usize| value(place * stride, axis) == value(0, axis);
            let n_values = (1..places).find(|&place| is_first(place)).unwrap_or(places);
            axes.push(GridAxis { stride, n_values, exponentials: Vec::new() });
            stride *= n_values;
        }
        axes.reverse();
        let is_value = |point: usize, (axis, along): (usize, &GridAxis)| value(point, axis) == value(along.start(point), axis);
        let is_grid = |point: usize| axes.iter().enumerate().all(|axis| is_value(point, axis));
        if d < 2 || stride != n || axes.iter().any(|axis| axis.n_values < 2) || !(0..n).all(is_grid) {
            return None;
        }
        for (axis, along) in axes.iter_mut().enumerate() {
            for place in 0..along.n_values {
                let x = value(place * along.stride, axis);
                let mut write = |part: fn(f64) -> f64| {
                    let of = |(w, a): (&[f64], &f64)| if axis == 0 { a * part(w[axis] * x) } else { part(w[axis] * x) };
                    along.exponentials.extend(form.frequencies.chunks_exact(d).zip(&form.amplitudes).map(of));
                };
                write(libm::cos);
                write(libm::sin);
            }
        }
        Some(Self { axes })
    }

    /// Computes the features of a point.
    pub fn row(&self, point: usize) -> Vec<f64> {
        let Some((first, others)) = self.axes.split_first() else { return Vec::new() };
        let mut row = first.exponentials(point).to_vec();
        others.iter().for_each(|axis| multiply(&mut row, axis.exponentials(point), 1.0));
        row
    }

    /// Writes `weights · phi(x)` for these points; neighbours along the last axis share what they have in common.
    ///
    /// For each frequency, this and a product with [`GridFeatures::row`] differ by at most `6 (d - 1)` roundoffs of the amplitude times
    /// the length of its two weights, besides the roundings of a sum.
    pub fn products(&self, weights: &[f64], points: &[u32], out: &mut [f64]) {
        let Some((last, others)) = self.axes.split_last() else { return };
        let (mut turned, mut rest) = (Vec::new(), out);
        let along = |point: u32| point as usize / last.n_values;
        for neighbours in points.chunk_by(|&a, &b| along(a) == along(b)) {
            turned.clear();
            turned.extend_from_slice(weights);
            others.iter().for_each(|axis| multiply(&mut turned, axis.exponentials(neighbours[0] as usize), -1.0));
            let (out, after) = rest.split_at_mut(neighbours.len());
            dot_rows(&turned, |i| last.exponentials(neighbours[i] as usize), out);
            rest = after;
        }
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.axes.len()
    }
}

impl GridAxis {
    /// Returns the place of a point's value along the axis.
    fn place(&self, point: usize) -> usize {
        point / self.stride % self.n_values
    }

    /// Returns the point with the same value on this axis, and the first one on all others.
    fn start(&self, point: usize) -> usize {
        self.place(point) * self.stride
    }

    fn exponentials(&self, point: usize) -> &[f64] {
        let width = self.exponentials.len() / self.n_values;
        &self.exponentials[self.place(point) * width..][..width]
    }
}

vectorised! {
    /// Multiplies complex numbers by others, or by their conjugates (`sign` -1): all real parts, then all imaginary ones.
    fn multiply(numbers: &mut [f64], by: &[f64], sign: f64) {
        let m = by.len() / 2;
        let ((cosines, sines), (c, s)) = (numbers.split_at_mut(m), by.split_at(m));
        for (((cosine, sine), c), s) in cosines.iter_mut().zip(sines).zip(c).zip(s) {
            let (a, b, s) = (*cosine, *sine, sign * s);
            *cosine = a * c - b * s;
            *sine = b * c + a * s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::random_fourier::random_fourier;
    use crate::posterior::{FeaturePosterior, Posterior};
    use crate::sample::sample_gp;
    use crate::score::{FeatureTable, ScoreModel};
    use crate::{Plays, Points};
    use privateer_numerics::linalg::dot;
    use privateer_numerics::rng::{Purpose, Stream, Streams};

    fn stream() -> Stream {
        Streams::new(8, "grid").shared(Purpose::Features)
    }

    /// Draws the form of Fourier features with frequencies up to 40.
    fn form(points: &Points, m: usize) -> FourierForm {
        let mut stream = stream();
        let mut draw = |n: usize, hi: f64| (0..n).map(|_| stream.uniform_in(-hi, hi)).collect();
        FourierForm {
            dimension: points.dimension(),
            points: points.coordinates().as_slice().into(),
            frequencies: draw(m * points.dimension(), 40.0),
            amplitudes: draw(m, 0.5),
            grid: None,
        }
    }

    /// Rows have cosine and sine of the whole angle, up to the rounding of each coordinate's.
    #[test]
    fn rows_are_cosines_and_sines() {
        let uneven = [vec![0.3, -1.0, 2.0], vec![0.0, 5.0]];
        let uneven = Points::new(2, (0..6).flat_map(|point| [uneven[0][point / 2], uneven[1][point % 2]]).collect());
        for points in [Points::grid(2, 9, -1.0, 1.0), Points::grid_in(&[(0.0, 1.0), (2.0, 3.0), (-1.0, 0.0)], 4), uneven] {
            let (d, m, form) = (points.dimension(), 7, form(&points, 7));
            let grid = GridFeatures::of(&form).expect("a grid");
            for point in 0..points.n_points() {
                let row = grid.row(point);
                for (i, (w, a)) in form.frequencies.chunks_exact(d).zip(&form.amplitudes).enumerate() {
                    let t: f64 = w.iter().zip(points.point(point)).map(|(w, x)| w * x).sum();
                    let sizes: f64 = w.iter().zip(points.point(point)).map(|(w, x)| (w * x).abs()).sum();
                    let bound = a.abs() * f64::EPSILON * (d as f64 * sizes + 4.0 * d as f64);
                    assert!((row[i] - a * libm::cos(t)).abs() <= bound && (row[m + i] - a * libm::sin(t)).abs() <= bound);
                }
            }
        }
    }

    #[test]
    fn points_that_are_no_grid_are_stored() {
        let grid = Points::grid(2, 5, 0.0, 1.0);
        let mut moved = grid.coordinates().to_vec();
        moved[33] += 0.01;
        let line = Points::grid(1, 25, 0.0, 1.0);
        for points in
            [Points::new(2, moved), line, Points::random_in(&[(0.0, 1.0); 2], 25, &mut stream()), Points::new(2, vec![])]
        {
            assert_eq!(GridFeatures::of(&form(&points, 3)), None, "{points:?}");
        }
        assert!(GridFeatures::of(&form(&grid, 3)).is_some() && GridFeatures::of_large(&form(&grid, 3)).is_none());
    }

    /// The table of a large grid holds 640 kB in place of 320 MB.
    #[test]
    fn a_large_table_is_not_stored() {
        let points = Points::grid(2, 1000, 0.0, 1.0);
        let FourierForm { frequencies, .. } = form(&points, 20);
        let table = random_fourier(&points, &frequencies, 1.0, None);
        let grid = table.grid().expect("by axis");
        let held: usize = grid.axes.iter().map(|axis| axis.exponentials.len()).sum();
        assert_eq!((table.values.capacity(), held), (0, 2 * 1000 * 40));
        assert!((0..1_000_000).step_by(997).all(|point| (table.square(point) - 1.0).abs() < 1e-13));
    }

    #[test]
    fn products_are_those_with_rows() {
        for points in [Points::grid(2, 12, 0.0, 1.0), Points::grid(3, 5, 0.0, 1.0)] {
            let form = form(&points, 9);
            let grid = GridFeatures::of(&form).expect("a grid");
            let all: Vec<u32> = (0..points.n_points() as u32).rev().collect();
            let (weights, mut found) = (grid.row(17), vec![0.0; all.len()]);
            grid.products(&weights, &all, &mut found);
            let size: f64 = form.amplitudes.iter().map(|a| a * a).sum();
            assert!(all.iter().zip(&found).all(|(&x, k)| (k - dot(&weights, &grid.row(x as usize))).abs() < 4e-15 * size));
        }
    }

    /// Everything that reads rows finds the bits of a stored table with the same rows.
    #[test]
    fn readers_find_the_same_bits() {
        let points = Points::grid(2, 12, 0.0, 1.0);
        let mut form = form(&points, 9);
        form.grid = GridFeatures::of(&form);
        let residual = vec![0.01; 144];
        let table = FeatureTable { n_points: 144, n_features: 18, values: vec![], residual, kernel_error: 0.0, form: Some(form) };
        let values = (0..144).flat_map(|point| table.row(point).into_owned()).collect();
        let stored = FeatureTable { values, form: None, ..table.clone() };
        assert!((0..144).all(|point| table.row(point) == stored.row(point)));
        assert_eq!(sample_gp(&table, &mut stream()), sample_gp(&stored, &mut stream()));
        let found = [table, stored].map(|table| {
            let table = Arc::new(table);
            let plays = Plays::new(Arc::clone(&table), None);
            let mut posterior = FeaturePosterior::new(table, 0.1);
            (0..60).for_each(|round| posterior.observe(round * 31 % 144, libm::sin(round as f64)));
            let moments: Vec<_> = (0..144).map(|point| posterior.exact(point)).collect();
            (plays.prior_bound(), plays.largest_norm(), posterior.visited_means(), moments)
        });
        assert_eq!(found[0], found[1]);
    }
}
