//! Stores a feature table in panels of points, and multiplies it by the rows of several trials at once.
//!
//! A panel has the features of [`POINTS`] points, feature by feature. It is read once for all trials, and eight sums stay in
//! registers, so the rate is that of the multiply-adds and not of the memory. Products are fused with sums where the
//! processor has that instruction: the error bounds of a screen hold for both, and nothing recorded depends on a product.

use privateer_gp::score::FeatureTable;
use privateer_numerics::vectorised;
use pulp::Simd;

const POINTS: usize = 32;

/// A feature table in panels; the last one repeats the last point.
#[derive(Debug)]
pub struct Panels {
    n_features: usize,
    values: Vec<[f64; POINTS]>,
}

/// One trial's part in a product.
pub struct RowProduct<'a> {
    /// Coefficients over the features.
    pub row: &'a [f64],
    /// The products `row · phi` of all points, and of the last point in any place beyond.
    pub p: &'a mut [f64],
}

impl Panels {
    pub fn of(table: &FeatureTable) -> Self {
        let (n, m) = (table.n_points, table.n_features);
        let mut values = vec![[0.0; POINTS]; n.div_ceil(POINTS) * m];
        for (panel, features) in values.chunks_exact_mut(m.max(1)).enumerate() {
            for place in 0..POINTS {
                let row = &*table.row((panel * POINTS + place).min(n - 1));
                features.iter_mut().zip(row).for_each(|(places, &value)| places[place] = value);
            }
        }
        Self { n_features: m, values }
    }

    /// Computes `p = row · phi` of every point for several trials.
    pub fn project(&self, trials: &mut [RowProduct<'_>]) {
        if self.n_features == 0 {
            return trials.iter_mut().for_each(|trial| trial.p.fill(0.0));
        }
        project(self, trials);
    }
}

vectorised! {
    fn project(panels: &Panels, trials: &mut [RowProduct<'_>]) where simd: S {
        let Panels { n_features, values } = panels;
        for (at, panel) in values.chunks_exact(*n_features).enumerate() {
            let (fours, rest) = trials.as_chunks_mut::<4>();
            let (twos, ones) = rest.as_chunks_mut::<2>();
            fours.iter_mut().for_each(|trials| products::<S, 4, 2>(simd, panel, at, trials));
            twos.iter_mut().for_each(|trials| products::<S, 2, 4>(simd, panel, at, trials));
            ones.iter_mut().for_each(|trial| products::<S, 1, 4>(simd, panel, at, std::array::from_mut(trial)));
        }
    }
}

/// Multiplies a panel by the rows of `ROWS` trials, `N` SIMD vectors of points at a time.
#[inline(always)]
fn products<S: Simd, const ROWS: usize, const N: usize>(
    simd: S,
    panel: &[[f64; POINTS]],
    at: usize,
    trials: &mut [RowProduct<'_>; ROWS],
) {
    let mut found = [[0.0; POINTS]; ROWS];
    {
        let rows = trials.each_ref().map(|trial| &trial.row[..panel.len()]);
        for first in (0..POINTS / S::F64_LANES).step_by(N) {
            let mut sums = [[simd.splat_f64s(0.0); N]; ROWS];
            for (feature, values) in panel.iter().enumerate() {
                let values = &S::as_simd_f64s(values).0[first..][..N];
                for i in 0..ROWS {
                    let weight = simd.splat_f64s(rows[i][feature]);
                    for j in 0..N {
                        sums[i][j] = simd.mul_add_e_f64s(weight, values[j], sums[i][j]);
                    }
                }
            }
            for (found, sums) in found.iter_mut().zip(&sums) {
                S::as_mut_simd_f64s(found).0[first..][..N].copy_from_slice(sums);
            }
        }
    }
    for (trial, found) in trials.iter_mut().zip(&found) {
        let p = &mut trial.p[at * POINTS..];
        match p.first_chunk_mut::<POINTS>() {
            Some(p) => *p = *found,
            None => p.copy_from_slice(&found[..p.len()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of points and trials gives the plain sums, and the padding repeats the last point.
    #[test]
    fn products_are_sums_over_features() {
        for (n, m) in [(1, 3), (32, 1), (40, 7), (64, 16), (150, 5), (3, 0)] {
            let value = |point: usize, feature: usize| libm::sin((31 * point + 7 * feature) as f64);
            let values = (0..n * m).map(|at| value(at / m, at % m)).collect();
            let table =
                FeatureTable { n_points: n, n_features: m, values, residual: vec![0.0; n], kernel_error: 0.0, form: None };
            let panels = Panels::of(&table);
            for n_trials in 0..10 {
                let rows: Vec<Vec<f64>> =
                    (0..n_trials).map(|trial| (0..m).map(|f| libm::cos((trial + 3 * f) as f64)).collect()).collect();
                let mut products = vec![vec![f64::NAN; n.next_multiple_of(8)]; n_trials];
                let mut trials: Vec<_> = rows.iter().zip(&mut products).map(|(row, p)| RowProduct { row, p }).collect();
                panels.project(&mut trials);
                for (row, p) in rows.iter().zip(&products) {
                    for (point, found) in p.iter().enumerate() {
                        let expected: f64 = (0..m).map(|f| row[f] * value(point.min(n - 1), f)).sum();
                        assert!((found - expected).abs() < 1e-13, "{n} {m} {n_trials} {point}");
                    }
                }
            }
        }
    }
}
