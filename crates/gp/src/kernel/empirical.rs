//! Empirical covariance: a table over points, estimated from samples of the function.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;

/// The divisor of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalise {
    /// Each column by its population standard deviation: a correlation, with a unit diagonal.
    Standardised,
    /// The whole covariance by its largest diagonal entry.
    CovarianceOverMax,
}

/// Reads the key `normalise`.
pub fn parse(args: &Args<'_>) -> Normalise {
    let word = args.word(
        "normalise",
        "`correlation`: every arm has variance 1; `covariance`: divided by the largest variance",
        &["correlation", "covariance"],
        Some("correlation"),
    );
    args.finish();
    if word == "covariance" { Normalise::CovarianceOverMax } else { Normalise::Standardised }
}

/// Computes the covariance of the columns of `samples`, then normalises it.
///
/// `samples` is `n_rows x n_columns`, row-major; a row is one observation of the function on all points. Columns are
/// centred, and the covariance is `C^T C / n_rows`, with the population divisor.
/// * returns — `n_columns x n_columns`, row-major, symmetric to the last bit
///
/// # Errors
/// [`Error::Input`] if the samples do not fill whole rows, have no row or no column, contain a value that is not finite,
/// or if a column that must be divided by its deviation is constant (columns are counted from 1; for
/// [`Normalise::CovarianceOverMax`] only if all columns are constant). The caller has checked that the result fits into memory.
pub fn empirical_covariance(samples: &[f64], n_columns: usize, normalise: Normalise) -> Result<Vec<f64>, Error> {
    let refuse = |message: String| Diagnostic::new(message).error();
    if n_columns == 0 || samples.is_empty() || !samples.len().is_multiple_of(n_columns) {
        return Err(refuse(format!("{} samples do not fill rows of {n_columns} columns", samples.len())));
    }
    if let Some(at) = samples.iter().position(|x| !x.is_finite()) {
        return Err(refuse(format!(
            "the sample in row {}, column {} is not a finite number",
            at / n_columns + 1,
            at % n_columns + 1
        )));
    }
    let n_rows = (samples.len() / n_columns) as f64;
    let mut centred = samples.to_vec();
    for column in 0..n_columns {
        let mean = samples[column..].iter().step_by(n_columns).sum::<f64>() / n_rows;
        centred[column..].iter_mut().step_by(n_columns).for_each(|x| *x -= mean);
    }
    let mut table = vec![0.0; n_columns * n_columns];
    for row in centred.chunks_exact(n_columns) {
        for (i, x) in row.iter().enumerate() {
            // The lower triangle; the upper one mirrors it.
            for (entry, y) in table[i * n_columns..].iter_mut().zip(&row[..=i]) {
                *entry += x * y;
            }
        }
    }
    let variances: Vec<f64> = (0..n_columns).map(|i| table[i * n_columns + i] / n_rows).collect();
    let largest = variances.iter().fold(0.0_f64, |largest, &v| largest.max(v));
    if !largest.is_finite() {
        return Err(refuse("the samples are too large: their covariance is not a finite number".to_owned()));
    }
    // Rounding of the mean can give a constant column a tiny variance, and tiny values can give 0; both count as
    // constant.
    let is_constant = |i: usize| variances[i] == 0.0 || samples[i..].iter().step_by(n_columns).all(|x| *x == samples[i]);
    let mut constant = (0..n_columns).filter(|&i| is_constant(i));
    let fatal = match normalise {
        Normalise::Standardised => constant.next(),
        Normalise::CovarianceOverMax => (constant.count() == n_columns).then_some(0),
    };
    if let Some(column) = fatal {
        return Diagnostic::new(format!("column {} of the samples is constant", column + 1))
            .hint("remove it, or give more samples")
            .refuse();
    }
    let deviations: Vec<f64> = variances.iter().map(|&v| libm::sqrt(v)).collect();
    for i in 0..n_columns {
        for j in 0..=i {
            let divisor = match normalise {
                Normalise::Standardised => deviations[i] * deviations[j],
                Normalise::CovarianceOverMax => largest,
            };
            let entry = table[i * n_columns + j] / n_rows / divisor;
            table[i * n_columns + j] = entry;
            table[j * n_columns + i] = entry;
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_columns_are_named() {
        let samples = [1.0, 5.0, 0.1, 2.0, 5.0, 0.1, 4.0, 5.0, 0.1];
        let error = empirical_covariance(&samples, 3, Normalise::Standardised).expect_err("constant").to_string();
        assert!(error.contains("column 2 of the samples is constant"), "{error}");
        let table = empirical_covariance(&samples, 3, Normalise::CovarianceOverMax).expect("one column varies");
        assert_eq!((table[0], table[4]), (1.0, 0.0));
        assert!(empirical_covariance(&[2.0, 2.0], 1, Normalise::CovarianceOverMax).is_err());
    }

    #[test]
    fn bad_samples_are_refused() {
        for normalise in [Normalise::Standardised, Normalise::CovarianceOverMax] {
            assert!(empirical_covariance(&[], 3, normalise).is_err());
            assert!(empirical_covariance(&[1.0], 0, normalise).is_err());
            assert!(empirical_covariance(&[1.0, 2.0, 3.0], 2, normalise).is_err());
            let error = empirical_covariance(&[1.0, 2.0, 3.0, f64::NAN], 2, normalise).expect_err("NaN").to_string();
            assert!(error.contains("row 2, column 2"), "{error}");
        }
    }
}
