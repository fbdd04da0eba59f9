//! Says what of a table's values makes an answer false or small: an outlier, a code for missing numbers, noise.

use crate::fit::short;

/// Names a row with most of the variance of the values.
pub(super) fn outlier_note(row: &str, share: f64) -> String {
    format!("outlier: {row}, has {:.1} % of the variance of the values: a mistyped cell?", 100.0 * share)
}

/// Names a value of nines, such as -999, that several rows have and that is far from all others: a code where a number is missing.
pub(super) fn code_note(value: &str, values: &[f64]) -> Option<String> {
    let is_code = |x: &f64| 99.0 <= x.abs() && x.abs().to_string().bytes().all(|digit| digit == b'9');
    let ends = |of: &mut dyn Iterator<Item = f64>| {
        of.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    ends(&mut values.iter().copied()).into_iter().filter(is_code).find_map(|code| {
        let n = values.iter().filter(|&&x| x == code).count();
        let [low, high] = ends(&mut values.iter().copied().filter(|&x| x != code));
        (1 < n && low < high && high - low < (low - code).max(code - high)).then(|| {
            format!("code: {n} rows have {code} for `{value}`, and all others from {low} to {high}: if no number is meant, empty those cells")
        })
    })
}

/// Says how much of the values is taken for noise, and where that is most of them, what an answer then means.
///
/// * `noise` — variance of the noise, in units of `variance`
pub(super) fn noise_note(value: &str, noise: f64, variance: f64) -> String {
    let (share, sd) = (100.0 * noise.min(1.0), short(libm::sqrt(noise * variance)));
    let means = if 0.5 < noise {
        ": the inputs tell little about it, and what is learnt below is which rows were lucky, since their values count as true means"
    } else {
        ""
    };
    format!("noise: {share:.0} % of the variance of `{value}`, a standard deviation of {sd} on each reward{means}")
}
