//! Functions by their values at all points, or by the terms of a sum of kernels.

use crate::score::GramSource;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The values of a function over a finite domain.
#[derive(Debug, Clone)]
pub enum FunctionValues {
    /// All of them, by point.
    Listed(Arc<Vec<f64>>),
    /// Computed where they are asked for.
    Sum(Arc<KernelSum>),
}

/// A function `f = Σ_i weight_i k(x_i, ·)`, whose values are computed one by one and kept.
#[derive(Debug)]
pub struct KernelSum {
    gram: Arc<dyn GramSource>,
    centres: Vec<(usize, f64)>,
    known: Mutex<BTreeMap<usize, f64>>,
}

impl KernelSum {
    /// Most terms of a function that is not listed.
    pub const MOST_TERMS: usize = 1 << 12;

    /// Creates the function of these centres, each a point's index and its weight.
    ///
    /// `None` where all values cost far less together than one by one.
    pub fn new(gram: Arc<dyn GramSource>, centres: Vec<(usize, f64)>) -> Option<Self> {
        gram.evaluates_columns().then(|| Self { gram, centres, known: Mutex::default() })
    }

    /// Returns the covariance.
    pub fn gram(&self) -> &Arc<dyn GramSource> {
        &self.gram
    }

    /// Returns the centres, each a point's index and its weight.
    pub fn centres(&self) -> &[(usize, f64)] {
        &self.centres
    }

    /// Returns the value at a point, with the bits of [`GramSource::add_columns`].
    pub fn at(&self, point: usize) -> f64 {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&value) = known().get(&point) {
            return value;
        }
        let others: Vec<u32> = self.centres.iter().map(|&(other, _)| other as u32).collect();
        let covariances = self.gram.entries(&others, point);
        let value = covariances.iter().zip(&self.centres).fold(0.0, |sum, (covariance, (_, weight))| sum + weight * covariance);
        known().insert(point, value);
        value
    }
}

impl FunctionValues {
    /// Returns the value at a point.
    pub fn at(&self, point: usize) -> f64 {
        match self {
            Self::Listed(values) => values[point],
            Self::Sum(sum) => sum.at(point),
        }
    }

    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        match self {
            Self::Listed(values) => values.len(),
            Self::Sum(sum) => sum.gram.n_points(),
        }
    }

    /// Returns all values, computed where they are not listed.
    pub fn all(&self) -> Arc<Vec<f64>> {
        match self {
            Self::Listed(values) => Arc::clone(values),
            Self::Sum(sum) => {
                let mut values = vec![0.0; sum.gram.n_points()];
                sum.gram.add_columns(&sum.centres, &mut values);
                Arc::new(values)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matern::Matern;
    use crate::kernel::squared_exponential::SquaredExponential;
    use crate::kernel::{Kernel, Lengthscales};
    use crate::sample::{Weights, rkhs_centres};
    use crate::{KernelGram, Points};
    use privateer_numerics::rng::{Purpose, Streams};

    /// Values one by one have the bits of all together; sums in the plane are left together.
    #[test]
    fn values_have_the_bits_of_all_together() {
        let mut stream = Streams::new(7, "kernel sums").of(0, Purpose::Function);
        let smooth: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.3), 1.5));
        let matern = |nu| Arc::new(Matern::new(nu, Lengthscales::Isotropic(0.3), 1.5)) as Arc<dyn Kernel>;
        let cases = [(smooth.clone(), 3), (matern(0.5), 2), (matern(1.5), 1), (matern(2.5), 2), (matern(1.7), 2), (smooth, 2)];
        let mut left = 0;
        for (kernel, d) in cases {
            let points = Points::new(d, (0..400 * d).map(|_| stream.uniform()).collect::<Vec<f64>>());
            let centres = rkhs_centres(400, 30, Weights::Uniform, &mut stream);
            let sum = KernelSum::new(Arc::new(KernelGram::new(kernel, points)), centres).map(Arc::new).map(FunctionValues::Sum);
            let Some(sum) = sum else {
                left += d;
                continue;
            };
            let all = sum.all();
            assert!((0..400).all(|point| [(); 2].map(|()| sum.at(point).to_bits()) == [all[point].to_bits(); 2]));
        }
        assert_eq!(left, 2, "squared exponentials in the plane alone");
    }
}
