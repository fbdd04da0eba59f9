//! The Nystrom embedding over a dictionary D of points.
//!
//! Its features satisfy `phi(x)·phi(x') = k_D(x)^T K_D^+ k_D(x')`, where `k_D(x)` are the covariances of x with D, and
//! `K_D` those within D.
//!
//! There are two systems of coordinates. `c(x) = L^{-1} k_D(x)` with `K_D = L L^T` is cheap and stable. The symmetric
//! root `phi(x) = K_D^{-1/2} k_D(x)` of Calandriello et al. 2019 equals `O c(x)` with `O = K_D^{-1/2} L` orthogonal.
//! Posterior mean and variance are the same in both; only truncation by coordinates depends on the choice. An embedding has
//! the first; [`crate::posterior::DomainRoot`] computes the second where truncation needs it of most points.

use privateer_numerics::linalg::{self, Columns, Polar};

/// Share of variance below which a dictionary point is dropped, given the points before it.
///
/// A point below it would add only rounding errors. The value is the default tolerance of exact features.
pub const DROPPED: f64 = 1e-10;

/// An embedding over a dictionary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedding {
    points: Vec<u32>,
    /// `L`, `m x m` row-major, zeros above the diagonal.
    factor: Vec<f64>,
}

impl Embedding {
    /// Builds the embedding over these points, in this order.
    ///
    /// Repeated and numerically dependent points are dropped, so `m` is the numerical rank of `K_D`.
    pub fn of(dictionary: &[u32], covariance: impl Fn(u32, u32) -> f64) -> Self {
        Self::of_rows(dictionary, |point, others, out| {
            out.iter_mut().zip(others).for_each(|(entry, &other)| *entry = covariance(point, other));
        })
    }

    /// Builds the same from a function that writes the covariances of a point with others.
    pub fn of_rows(dictionary: &[u32], covariances: impl Fn(u32, &[u32], &mut [f64])) -> Self {
        let n = dictionary.len();
        let mut upper = vec![0.0; n * n];
        for (i, &point) in dictionary.iter().enumerate() {
            covariances(point, &dictionary[i..], &mut upper[i * n + i..(i + 1) * n]);
        }
        let least: Vec<f64> = (0..n).map(|i| DROPPED * upper[i * n + i]).collect();
        let kept = linalg::cholesky_upper_kept(&mut upper, n, &least);
        let m = kept.len();
        let mut factor = vec![0.0; m * m];
        for (column, &from) in kept.iter().enumerate() {
            let line = &upper[from * n..(from + 1) * n];
            for (row, &to) in kept.iter().enumerate().skip(column) {
                factor[row * m + column] = line[to];
            }
        }
        Self { points: kept.into_iter().map(|i| dictionary[i]).collect(), factor }
    }

    /// Returns the remaining points of the dictionary, in order: the embedding reads their columns.
    pub fn points(&self) -> &[u32] {
        &self.points
    }

    /// Returns the number of features.
    pub fn m(&self) -> usize {
        self.points.len()
    }

    /// Returns `L`, `m x m` row-major.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// Replaces covariances by coordinates `c`, for many points stored as columns.
    ///
    /// `rows` holds the covariances with each dictionary point. The order of operations per point does not depend on
    /// their number.
    pub fn coordinates(&self, rows: &mut Columns) {
        rows.solve_lower(&self.factor);
    }

    /// Returns `O` as reflections (`phi = O c`); `None` if `K_D` is not finite.
    ///
    /// `K_D^{-1/2} L` is the orthogonal polar factor of L.
    pub fn polar(&self) -> Option<Polar> {
        Polar::of(&self.factor, self.m())
    }

    /// Returns `O`, `m x m` row-major.
    pub fn rotation(&self) -> Option<Vec<f64>> {
        let (m, stride) = (self.m(), linalg::padded_length(self.m()));
        let mut rows = vec![0.0; m * stride];
        (0..m).for_each(|i| rows[i * stride + i] = 1.0);
        self.polar()?.apply_transposed(&mut rows);
        Some(rows.chunks_exact(stride.max(1)).flat_map(|row| row[..m].iter().copied()).collect())
    }
}

/// Returns whether the uniform number `u` includes a point: whether `u < 1 - (1 - p)^plays`.
///
/// `p = min(1, inclusion)` is the probability per play with which the point enters a dictionary.
pub fn is_included(inclusion: f64, plays: f64, u: f64) -> bool {
    // Most cases are decided by c p/(1 + c p) <= 1 - (1 - p)^c <= min(1, c p) without a logarithm.
    let total = inclusion * plays;
    if 1.0 <= inclusion || u * (1.0 + total) < total * (1.0 - 1e-12) {
        return true;
    }
    if total < u {
        return false;
    }
    u < -libm::expm1(plays * libm::log1p(-inclusion))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Lengthscales, matern::Matern, squared_exponential::SquaredExponential};

    fn kernels() -> [Box<dyn Kernel>; 2] {
        [
            Box::new(SquaredExponential::new(Lengthscales::Isotropic(0.2), 1.0)),
            Box::new(Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.0)),
        ]
    }

    /// Neighbours 0.01 apart: far more points than the rank of the kernel.
    #[test]
    fn dependent_points_are_dropped_and_the_symmetric_root_is_found() {
        for kernel in kernels() {
            let at = |point: u32| 0.01 * f64::from(point);
            let covariance = |a: u32, b: u32| kernel.value(&[at(a)], &[at(b)]);
            let dictionary: Vec<u32> = (0..40).map(|i| (i * 7) % 60).collect();
            let embedding = Embedding::of(&dictionary, covariance);
            let m = embedding.m();
            assert!(m <= 40 && embedding.points().iter().all(|point| dictionary.contains(point)), "{m}");
            let rotation = embedding.rotation().expect("finite");
            for i in 0..m {
                for j in 0..m {
                    let product: f64 = (0..m).map(|k| rotation[k * m + i] * rotation[k * m + j]).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "orthogonal: {product}");
                    // K_D^{1/2} = O L^T is symmetric.
                    let root =
                        |i: usize, j: usize| (0..m).map(|k| rotation[i * m + k] * embedding.factor()[j * m + k]).sum::<f64>();
                    assert!((root(i, j) - root(j, i)).abs() < 1e-9, "symmetric: {} {}", root(i, j), root(j, i));
                }
            }
        }
    }

    #[test]
    fn inclusion_merges_plays() {
        for (p, plays) in [(0.02, 3.0), (1.0, 10.0), (0.6, 1.0), (1e-9, 1e9), (0.999, 2.0), (0.0, 5.0)] {
            let exact = 1.0 - libm::pow(1.0 - p, plays);
            for u in [0.0, 1e-3, 0.058, 0.0589, 0.3, 0.599, 0.6134, 0.632, 0.9, 0.999_999] {
                if 1e-7 < (u - exact).abs() {
                    assert_eq!(is_included(p, plays, u), u < exact, "{p} {plays} {u} {exact}");
                }
            }
        }
    }

    #[test]
    fn repeats_merge_and_points_without_variance_vanish() {
        let covariance = |a: u32, b: u32| if a == b { f64::from(a) } else { 0.0 };
        let embedding = Embedding::of(&[3, 0, 3, 5, 5], covariance);
        assert_eq!(embedding.points(), [3, 5]);
        assert_eq!(Embedding::of(&[0], covariance).m(), 0);
        assert_eq!(Embedding::of(&[], covariance).rotation(), Some(Vec::new()));
    }

    #[test]
    fn coordinates_come_out_the_same_one_by_one() {
        let [kernel, _] = kernels();
        let covariance = |a: u32, b: u32| kernel.value(&[0.1 * f64::from(a)], &[0.1 * f64::from(b)]);
        let embedding = Embedding::of(&[0, 3, 5, 9], covariance);
        let columns = |points: &[u32]| {
            let mut rows = Columns::zeros(embedding.m(), points.len());
            for (f, &d) in embedding.points().iter().enumerate() {
                rows.row_mut(f).iter_mut().zip(points).for_each(|(entry, &x)| *entry = covariance(d, x));
            }
            embedding.coordinates(&mut rows);
            rows
        };
        let all: Vec<u32> = (0..10).collect();
        let whole = columns(&all);
        for &x in &all {
            assert_eq!(columns(&[x]).column(0), whole.column(x as usize));
        }
        // Dictionary points are embedded without loss.
        for &x in embedding.points() {
            let square: f64 = whole.column(x as usize).iter().map(|c| c * c).sum();
            assert!((square - 1.0).abs() < 1e-13);
        }
    }
}
