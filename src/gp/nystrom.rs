//! The Nystrom embedding: features `phi(x)` with `phi(x)·phi(x') = k_D(x)^T K_D^+ k_D(x')` for a dictionary D of points, `k_D`
//! the covariances with them and `K_D` those among them.
//!
//! Two systems of coordinates: `c(x) = L^{-1} k_D(x)` with `K_D = L L^T`, which is cheap and stable, and the symmetric root
//! `phi(x) = K_D^{-1/2} k_D(x)` of Calandriello et al. 2019, equal to `O c(x)` with `O = K_D^{-1/2} L` orthogonal. Posterior mean and
//! spread are the same in both; only truncation by coordinates tells them apart.

use crate::linalg::{self, add_scaled, dot};

/// A dictionary point whose variance the points before it leave less than this share of is dropped: it would add nothing but
/// rounding. The default tolerance of exact features.
pub const DROPPED: f64 = 1e-10;

/// An embedding over a dictionary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedding {
    points: Vec<u32>,
    /// `L`, `m x m` row-major, zeros above the diagonal.
    factor: Vec<f64>,
}

impl Embedding {
    /// The embedding over these points, in this order; repeated and numerically dependent points are dropped, so that `m` is
    /// the numerical rank of `K_D`.
    #[must_use]
    pub fn of(dictionary: &[u32], covariance: impl Fn(u32, u32) -> f64) -> Self {
        let most = dictionary.len();
        let mut points: Vec<u32> = Vec::with_capacity(most);
        let mut rows = vec![0.0; most * most];
        for &point in dictionary {
            let m = points.len();
            let (above, rest) = rows.split_at_mut(m * most);
            let row = &mut rest[..m + 1];
            for (j, &other) in points.iter().enumerate() {
                let line = &above[j * most..j * most + j + 1];
                row[j] = (covariance(other, point) - dot(&row[..j], &line[..j])) / line[j];
            }
            let variance = covariance(point, point);
            let pivot = variance - dot(&row[..m], &row[..m]);
            if DROPPED * variance < pivot && pivot.is_finite() {
                row[m] = pivot.sqrt();
                points.push(point);
            } else {
                row.fill(0.0);
            }
        }
        let m = points.len();
        let factor = (0..m).flat_map(|i| rows[i * most..i * most + m].iter().copied()).collect();
        Self { points, factor }
    }

    /// The points that are left of the dictionary, in order: those whose Gram columns the embedding reads.
    #[must_use]
    pub fn points(&self) -> &[u32] {
        &self.points
    }

    /// Number of features.
    #[must_use]
    pub fn m(&self) -> usize {
        self.points.len()
    }

    /// `L`, `m x m` row-major.
    #[must_use]
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// Replaces covariances by coordinates `c` for many points side by side: `rows` holds, for each dictionary point, the
    /// covariances with them, of which those from `first` on are replaced. One order of operations a point, however many.
    pub fn coordinates(&self, rows: &mut [Vec<f64>], first: usize) {
        let m = self.m();
        for f in 0..m {
            let (above, rest) = rows.split_at_mut(f);
            let current = &mut rest[0][first..];
            let line = &self.factor[f * m..f * m + f + 1];
            for (row, &entry) in above.iter().zip(line) {
                add_scaled(current, -entry, &row[first..]);
            }
            current.iter_mut().for_each(|value| *value /= line[f]);
        }
    }

    /// `O`, `m x m` row-major: `phi = O c`. `None` if the eigenvalues of `K_D` cannot be found.
    #[must_use]
    pub fn rotation(&self) -> Option<Vec<f64>> {
        // K_D^{-1/2} L is the orthogonal polar factor of L: L (L^T L)^{-1/2}.
        let m = self.m();
        let mut inner = vec![0.0; m * m];
        for row in self.factor.chunks_exact(m.max(1)) {
            for (i, line) in inner.chunks_exact_mut(m).enumerate() {
                add_scaled(&mut line[..=i], row[i], &row[..=i]);
            }
        }
        mirror(&mut inner, m);
        let eigen = linalg::eigen_symmetric(&inner, m)?;
        let least = f64::EPSILON * eigen.values.iter().fold(0.0f64, |most, &value| most.max(value));
        let root = eigen.function(|value| 1.0 / value.max(least).sqrt());
        let mut rotation = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                add_scaled(&mut rotation[i * m..(i + 1) * m], self.factor[i * m + j], &root[j * m..(j + 1) * m]);
            }
        }
        // Small eigenvalues are known to few digits: Newton's iteration for the polar factor squares what is left of the error.
        for _ in 0..MOST_POLISHES {
            // The step that found 1e-7 left its square.
            if polish(&mut rotation, m) < 1e-7 {
                break;
            }
        }
        Some(rotation)
    }
}

/// Whether a point is drawn into a dictionary by the uniform number `u`: whether `u < 1 - (1 - p)^plays`, `p = min(1, inclusion)`
/// the probability of one play.
#[must_use]
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

/// Copies what stands below the diagonal above it.
fn mirror(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            a[j * n + i] = a[i * n + j];
        }
    }
}

/// Newton steps towards an orthogonal matrix: two are usual.
const MOST_POLISHES: usize = 8;

/// `O <- O (3 I - O^T O) / 2`; returns how far `O^T O` was from the identity.
fn polish(rotation: &mut Vec<f64>, m: usize) -> f64 {
    // -(O^T O) / 2 + 3/2 I, row by row of O.
    let mut step = vec![0.0; m * m];
    for row in rotation.chunks_exact(m.max(1)) {
        for (i, line) in step.chunks_exact_mut(m).enumerate() {
            add_scaled(&mut line[..=i], -0.5 * row[i], &row[..=i]);
        }
    }
    mirror(&mut step, m);
    let mut distance = 0.0f64;
    for (e, entry) in step.iter_mut().enumerate() {
        let identity = if e / m == e % m { 1.0 } else { 0.0 };
        distance = distance.max((2.0 * *entry + identity).abs());
        *entry += 1.5 * identity;
    }
    let mut next = vec![0.0; m * m];
    for (out, row) in next.chunks_exact_mut(m.max(1)).zip(rotation.chunks_exact(m.max(1))) {
        for (line, &entry) in step.chunks_exact(m).zip(row) {
            add_scaled(out, entry, line);
        }
    }
    *rotation = next;
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gp::kernel::{Kernel, Lengthscales, matern::Matern, squared_exponential::SquaredExponential};

    fn kernels() -> [Box<dyn Kernel>; 2] {
        [
            Box::new(SquaredExponential::new(Lengthscales::Isotropic(0.2), 1.0)),
            Box::new(Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.0)),
        ]
    }

    /// Neighbours 0.01 apart: far more points than the kernel has rank.
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
        let columns = |points: &[u32]| -> Vec<Vec<f64>> {
            embedding.points().iter().map(|&d| points.iter().map(|&x| covariance(d, x)).collect()).collect()
        };
        let all: Vec<u32> = (0..10).collect();
        let mut whole = columns(&all);
        embedding.coordinates(&mut whole, 0);
        let mut grown = columns(&all[..4]);
        embedding.coordinates(&mut grown, 0);
        for (row, more) in grown.iter_mut().zip(columns(&all[4..])) {
            row.extend(more);
        }
        embedding.coordinates(&mut grown, 4);
        assert_eq!(grown, whole);
        // Dictionary points are embedded without loss.
        for &x in embedding.points() {
            let square: f64 = whole.iter().map(|row| row[x as usize] * row[x as usize]).sum();
            assert!((square - 1.0).abs() < 1e-13);
        }
    }
}
