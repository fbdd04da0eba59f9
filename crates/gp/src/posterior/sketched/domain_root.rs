//! Coordinates of the symmetric root for dictionaries that hold all but a few points of a small domain.
//!
//! `phi(x) = K_D^{-1/2} k_D(x)`. Let `x^{-1/2} = sum_j w_j / (x + s_j)` ([`privateer_numerics::linalg::Fractions`]), K the
//! covariance of the whole domain, P the points that D lacks, and `H_j = (K + s_j I)^{-1}`, computed once a domain. The
//! inverse of a principal block is the block of the inverse less a Schur complement,
//! `(K_D + s_j I)^{-1} = H_DD - H_DP H_PP^{-1} H_PD`, and with `H K = I - s H` the coordinates of all points X are
//! `(K^{1/2})_DX - sum_j w_j H_DP H_PP^{-1} (I - s_j H)_PX`: a correction of rank |P| for each fraction.

use crate::score::GramSource;
use privateer_numerics::linalg::{self, Columns, Fractions, InverseRoot};
use std::sync::OnceLock;

/// Largest domain of which all points are stored as columns: screening would cost no less there.
pub const MOST_WHOLE: usize = 256;

/// Fewest points of a domain for which the root pays.
const LEAST_POINTS: usize = 64;
/// Largest ratio of the eigenvalues of K, a power of two.
///
/// The root of a smoother covariance takes more fractions, and loses digits.
const LARGEST_RATIO: f64 = 65536.0;

/// The symmetric root of a domain's covariance.
#[derive(Debug)]
pub struct DomainRoot {
    inverse: InverseRoot,
    /// `K^{1/2}`.
    root: Columns,
    /// Row j: `H_j e_p`, for every point p that a dictionary has lacked.
    resolvents: Vec<OnceLock<Columns>>,
}

impl DomainRoot {
    /// Computes the root over a domain of 64 to 256 points.
    ///
    /// `None` for other domains, and where K is near to singular.
    pub fn of(gram: &dyn GramSource) -> Option<Self> {
        let n = gram.n_points();
        if !(LEAST_POINTS..=MOST_WHOLE).contains(&n) {
            return None;
        }
        let mut root = Columns::zeros(n, n);
        (0..n).for_each(|point| gram.column(point, 0, root.row_mut(point)));
        let covariance: Vec<f64> = (0..n).flat_map(|point| root.row(point).iter().copied()).collect();
        let inverse = InverseRoot::of_conditioned(&covariance, n, LARGEST_RATIO)?;
        inverse.apply_to_columns(&mut root);
        Some(Self { inverse, root, resolvents: (0..n).map(|_| OnceLock::new()).collect() })
    }

    /// Returns whether a dictionary lacks few enough points.
    ///
    /// Up to a rank of 3 n of all corrections, these cost less than a factor of `K_D` and its polar factor.
    pub fn reaches(&self, dictionary: &[u32]) -> bool {
        let n = self.root.n();
        self.inverse.fractions().shifts.len() * n.saturating_sub(dictionary.len()) <= 3 * n
    }

    /// Writes `phi` of all points, a column each, for an ascending dictionary.
    pub fn coordinates(&self, dictionary: &[u32], out: &mut Columns) {
        let n = self.root.n();
        let mut lacks = vec![true; n];
        dictionary.iter().for_each(|&point| lacks[point as usize] = false);
        let lacking: Vec<usize> = (0..n).filter(|&point| lacks[point]).collect();
        let resolvents: Vec<&Columns> = lacking.iter().map(|&point| self.resolvent(point)).collect();
        let corrections = self.corrections(&lacking, &resolvents);
        out.reshape(dictionary.len(), n);
        let (mut weights, mut correction) = (vec![0.0; corrections.n_rows()], vec![0.0; corrections.stride()]);
        for (row, &point) in dictionary.iter().enumerate() {
            let point = point as usize;
            let of_fraction = weights.chunks_exact_mut(lacking.len().max(1)).enumerate();
            of_fraction.for_each(|(j, weights)| {
                weights.iter_mut().zip(&resolvents).for_each(|(weight, resolvent)| *weight = resolvent.row(j)[point]);
            });
            corrections.combine(&weights, &mut correction);
            let entries = out.row_mut(row).iter_mut().zip(self.root.row(point)).zip(&correction);
            entries.for_each(|((entry, root), correction)| *entry = root - correction);
        }
    }

    /// Returns `w_j H_PP^{-1} (I - s_j H)_PX`: |P| rows for each fraction.
    fn corrections(&self, lacking: &[usize], resolvents: &[&Columns]) -> Columns {
        let (n, r) = (self.root.n(), lacking.len());
        let Fractions { weights, shifts } = self.inverse.fractions();
        let mut corrections = Columns::zeros(shifts.len() * r, n);
        for (j, (weight, shift)) in weights.iter().zip(shifts).enumerate() {
            let mut block: Vec<f64> = resolvents.iter().flat_map(|column| lacking.iter().map(|&q| column.row(j)[q])).collect();
            // K + s I is positive definite with digits to spare, and so is every block of its inverse.
            let positive = linalg::cholesky(&mut block, r).is_ok();
            debug_assert!(positive, "a block of an inverse");
            let inverse = linalg::inverse_spd(&block, r);
            for a in 0..r {
                let row = corrections.row_mut(j * r + a);
                for (b, (&point, column)) in lacking.iter().zip(resolvents).enumerate() {
                    let share = weight * inverse[a * r + b];
                    row[point] += share;
                    linalg::add_scaled(row, -(share * shift), column.row(j));
                }
            }
        }
        corrections
    }

    fn resolvent(&self, point: usize) -> &Columns {
        self.resolvents[point].get_or_init(|| {
            let mut unit = vec![0.0; self.root.n()];
            unit[point] = 1.0;
            self.inverse.resolvents(&unit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Lengthscales, matern::Matern};
    use crate::nystrom::Embedding;
    use crate::{KernelGram, Points};
    use std::sync::Arc;

    fn gram(side: usize) -> KernelGram {
        KernelGram::new(Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.5)), Points::grid(2, side, 0.0, 1.0))
    }

    #[test]
    fn coordinates_are_those_of_the_embedding() {
        let gram = gram(10);
        let root = DomainRoot::of(&gram).expect("far from singular");
        let mut found = Columns::default();
        for lacking in [vec![], vec![0], vec![99], vec![3, 4, 50], (20..29).collect::<Vec<u32>>()] {
            let dictionary: Vec<u32> = (0..100).filter(|point| !lacking.contains(point)).collect();
            assert!(root.reaches(&dictionary));
            root.coordinates(&dictionary, &mut found);
            let embedding = Embedding::of(&dictionary, |a, b| gram.entry(a as usize, b as usize));
            let m = embedding.m();
            assert_eq!((m, found.n_rows(), found.n()), (dictionary.len(), m, 100));
            let mut expected = Columns::zeros(m, 100);
            (0..m).for_each(|f| gram.column(dictionary[f] as usize, 0, expected.row_mut(f)));
            embedding.coordinates(&mut expected);
            let rotation = embedding.rotation().expect("finite");
            for x in 0..100 {
                let c = expected.column(x);
                for f in 0..m {
                    let phi = linalg::dot(&rotation[f * m..(f + 1) * m], &c);
                    assert!((phi - found.row(f)[x]).abs() < 1e-11, "{} of {x} lacking {lacking:?}: {phi}", found.row(f)[x]);
                }
            }
        }
        assert!(!root.reaches(&[1, 2, 3]));
    }

    #[test]
    fn other_domains_have_no_root() {
        assert!(DomainRoot::of(&gram(7)).is_none() && DomainRoot::of(&gram(17)).is_none(), "49 and 289 points");
        let kernel = Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.5));
        assert!(DomainRoot::of(&KernelGram::new(kernel, Points::grid(1, 100, 0.0, 1.0))).is_none(), "near to singular");
    }
}
