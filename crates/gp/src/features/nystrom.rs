//! Nystrom features over a fixed dictionary.

use super::exact::widest_first;
use crate::Points;
use crate::kernel::Kernel;
use crate::nystrom::Embedding;
use crate::score::{FeatureTable, GramSource};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_numerics::linalg::Columns;

/// Default size of a dictionary, in a domain that has more points.
const USUAL_SIZE: usize = 20;

/// A dictionary that does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixedDictionary {
    /// These points, as indices into the domain.
    Points(Vec<u64>),
    /// This many points, each with the largest variance given those before; fewer if none remains.
    Size(usize),
    /// As `Size`: 20 points, or all but one of a smaller domain.
    Usual,
}

/// Reads `points` or `size`.
pub fn parse(args: &Args<'_>) -> FixedDictionary {
    let points = args.numbers("points", "dictionary: indices of points of the domain, from 0");
    let size =
        args.count("size", "number of dictionary points, each placed where the ones before leave the largest posterior variance");
    let size = size.between(1, 65_536).optional("20, or all but one of a domain that has no more");
    let dictionary = match points {
        None => size.map_or(FixedDictionary::Usual, |size| FixedDictionary::Size(size as usize)),
        Some(points) => {
            let whole = |x: &f64| 0.0 <= *x && *x <= f64::from(u32::MAX) && libm::floor(*x) == *x;
            if points.is_empty() {
                args.reject("points", "the dictionary is empty", "at least one index of a point");
            } else if let Some(odd) = points.iter().find(|x| !whole(x)) {
                args.reject("points", format!("{odd} is no index of a point"), "whole numbers from 0");
            } else if args.has("size") {
                args.reject("size", "the dictionary's points are already listed", "`points` or `size`, not both");
            }
            FixedDictionary::Points(points.iter().filter(|x| whole(x)).map(|&x| x as u64).collect())
        }
    };
    args.finish();
    dictionary
}

impl FixedDictionary {
    /// Returns the dictionary over this domain, ascending and without repeats.
    ///
    /// It has at least one point and fewer than the domain.
    ///
    /// # Errors
    /// [`Error::Input`] for an index outside of the domain and for a dictionary as large as the domain, and the errors of
    /// [`exact`](super::exact::exact) for a matrix that is not a covariance.
    pub fn resolve(&self, gram: &dyn GramSource) -> Result<Vec<u32>, Error> {
        let n = gram.n_points();
        let refuse = |message: String, hint: &str| Diagnostic::new(message).hint(hint).refuse();
        let mut points: Vec<u32> = match self {
            Self::Points(points) => {
                if let Some(outside) = points.iter().find(|&&point| n as u64 <= point) {
                    return refuse(
                        format!("the dictionary names point {outside}, and the domain has {n} points"),
                        "count points from 0",
                    );
                }
                points.iter().map(|&point| point as u32).collect()
            }
            Self::Size(size) if n <= *size => {
                return refuse(format!("a dictionary of {size} points is as large as the domain, which has {n}"), WHOLE_DOMAIN);
            }
            Self::Size(size) => widest(gram, *size)?,
            Self::Usual if n < 2 => {
                return refuse(
                    format!("the domain has {n} points, too few for a dictionary beside them"),
                    "take a larger domain",
                );
            }
            Self::Usual => widest(gram, USUAL_SIZE.min(n - 1))?,
        };
        points.sort_unstable();
        points.dedup();
        if points.is_empty() {
            return refuse("the dictionary is empty".to_owned(), "name at least one point");
        }
        if n <= points.len() {
            return refuse(format!("the dictionary holds all {n} points of the domain"), WHOLE_DOMAIN);
        }
        Ok(points)
    }
}

const WHOLE_DOMAIN: &str =
    "name fewer points: a dictionary of all approximates nothing, and policies over exact posteriors do without one";

fn widest(gram: &dyn GramSource, size: usize) -> Result<Vec<u32>, Error> {
    Ok(widest_first(gram, size)?.into_iter().map(|point| point as u32).collect())
}

/// Computes `phi(x) = K_D^{-1/2} k_D(x)` \[Calandriello2019\] of every point of the domain.
///
/// These are the Nystrom features in the coordinates of the symmetric root; their number is the numerical rank of the
/// dictionary. `residual` holds `k(x,x) - |phi(x)|²`, and `kernel_error` the largest of them, which bounds the error of
/// every pair.
/// * `dictionary` — indices of points; repeats are merged
///
/// # Errors
/// [`Error::Failed`] if the eigenvalues of the dictionary's covariance cannot be computed.
pub fn nystrom(gram: &dyn GramSource, dictionary: &[u32]) -> Result<FeatureTable, Error> {
    let column = |point: u32, out: &mut [f64]| gram.column(point as usize, 0, out);
    features(gram, dictionary, gram.n_points(), &column, &|point| gram.diagonal(point))
}

/// Evaluates the features of [`nystrom`] at points outside of the domain.
/// * `gram` — covariance of the domain of the dictionary, with its `domain` and `kernel`
pub fn nystrom_at(
    gram: &dyn GramSource,
    dictionary: &[u32],
    domain: &Points,
    kernel: &dyn Kernel,
    points: &Points,
) -> Result<FeatureTable, Error> {
    let column = |point: u32, out: &mut [f64]| {
        for (x, out) in out.iter_mut().enumerate() {
            *out = kernel.value(domain.point(point as usize), points.point(x));
        }
    };
    features(gram, dictionary, points.n_points(), &column, &|x| kernel.value(points.point(x), points.point(x)))
}

/// Computes the features of `n_points` points.
/// * `covariances` — writes the covariances of the points with a point of the dictionary
/// * `variance` — prior variance of a point
fn features(
    gram: &dyn GramSource,
    dictionary: &[u32],
    n_points: usize,
    covariances: &dyn Fn(u32, &mut [f64]),
    variance: &dyn Fn(usize) -> f64,
) -> Result<FeatureTable, Error> {
    let embedding = Embedding::of(dictionary, |a, b| gram.entry(a as usize, b as usize));
    let m = embedding.m();
    let mut columns = Columns::zeros(m, n_points);
    for (f, &point) in embedding.points().iter().enumerate() {
        covariances(point, columns.row_mut(f));
    }
    embedding.coordinates(&mut columns);
    let Some(rotation) = embedding.rotation() else {
        return Err(Error::Failed {
            problem: format!("the covariance of {m} dictionary points has no eigenvalues in f64"),
            hint: "check the scale of the kernel".to_owned(),
        });
    };
    let mut table = FeatureTable {
        n_points,
        n_features: m,
        values: Vec::with_capacity(n_points * m),
        residual: Vec::with_capacity(n_points),
        kernel_error: 0.0,
        form: None,
    };
    for point in 0..n_points {
        let c = columns.column(point);
        let square = privateer_numerics::linalg::dot(&c, &c);
        table.values.extend(rotation.chunks_exact(m.max(1)).map(|turn| privateer_numerics::linalg::dot(turn, &c)));
        table.residual.push((variance(point) - square).max(0.0));
    }
    table.kernel_error = table.residual.iter().fold(0.0, |most, &left| most.max(left));
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Lengthscales, matern::Matern};
    use crate::{KernelGram, Points};
    use privateer_numerics::linalg::dot;
    use std::sync::Arc;

    fn gram(n: usize) -> KernelGram {
        KernelGram::new(Arc::new(Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.5)), Points::grid(1, n, 0.0, 1.0))
    }

    #[test]
    fn the_stated_error_is_the_largest_and_dictionary_points_have_none() {
        let gram = gram(60);
        for dictionary in [vec![30], vec![0, 10, 10, 59], (0..40).collect::<Vec<u32>>()] {
            let table = nystrom(&gram, &dictionary).expect("features");
            for &point in &dictionary {
                assert!(table.residual[point as usize] < 1e-9);
            }
            let mut worst = 0.0f64;
            for a in 0..60 {
                for b in 0..60 {
                    worst = worst.max((dot(&table.row(a), &table.row(b)) - gram.entry(a, b)).abs());
                }
            }
            assert!(worst <= table.kernel_error + 1e-12 && table.kernel_error < worst + 1e-12, "{worst} {}", table.kernel_error);
        }
    }

    #[test]
    fn sizes_choose_spread_out_points() {
        let gram = gram(50);
        let points = FixedDictionary::Size(5).resolve(&gram).expect("five");
        assert_eq!(points.len(), 5);
        assert!(points.contains(&0) && points.contains(&49), "{points:?}");
        assert!(FixedDictionary::Size(50).resolve(&gram).is_err());
        let usual = |n: usize| FixedDictionary::Usual.resolve(&self::gram(n)).map(|points| points.len());
        assert_eq!(
            (usual(50).ok(), usual(21).ok(), usual(20).ok(), usual(2).ok(), usual(1).ok()),
            (Some(20), Some(20), Some(19), Some(1), None)
        );
        assert!(FixedDictionary::Points((0..50).collect()).resolve(&gram).is_err());
        assert!(FixedDictionary::Points(vec![50]).resolve(&gram).is_err());
        assert_eq!(FixedDictionary::Points(vec![7, 3, 7]).resolve(&gram).expect("two"), [3, 7]);
    }
}
