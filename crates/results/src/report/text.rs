//! Formats numbers and names for readers.

use super::stats::Ratio;
use privateer_config::params::Scalar;
use std::fmt::Write as _;

/// Returns a text for a CSV field; an apostrophe disables what a spreadsheet runs as a formula.
pub(super) fn csv_text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() }
}

/// Returns a text as a CSV field, in quotes where it needs them.
pub fn csv_field(text: &str) -> String {
    let text = csv_text(text);
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Returns the shortest text that parses to the same number.
pub(super) fn number(x: f64) -> String {
    let mut text = String::new();
    write_number(&mut text, x);
    text
}

/// Appends the text of [`number`].
pub(super) fn write_number(text: &mut String, x: f64) {
    // Writing to a text does not fail.
    let _ = write!(text, "{x:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
}

/// Formats a number with about four significant digits.
pub(super) fn short(x: f64) -> String {
    if !x.is_finite() {
        return "–".to_owned();
    }
    if x == 0.0 {
        return "0".to_owned();
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{x:.2e}");
    }
    trim_zeros(&format!("{x:.*}", (3.0 - magnitude).clamp(0.0, 7.0) as usize))
}

/// Formats `12.31 ± 0.43`: the half-width to two significant digits, the number to the same place.
pub(super) fn plus_minus(x: f64, half: Option<f64>) -> String {
    match half {
        Some(half) if 0.0 < half && half.is_finite() => {
            let magnitude = half.log10().floor();
            if !(-6.0..7.0).contains(&magnitude) || 1e9 < x.abs() {
                return format!("{x:.2e} ± {half:.1e}");
            }
            let n_decimals = (1.0 - magnitude).clamp(0.0, 7.0) as usize;
            format!("{x:.n_decimals$} ± {half:.n_decimals$}")
        }
        Some(_) => format!("{} ± 0", short(x)),
        None => short(x),
    }
}

/// Formats a ratio with its interval: `4.2 (3.6 to 4.9)`.
pub(super) fn ratio_text(ratio: Ratio) -> String {
    let Some((low, high)) = ratio.interval.filter(|(low, high)| low < high) else {
        let magnitude = ratio.value.log10().floor();
        return trim_zeros(&format!("{:.*}", (1.0 - magnitude).clamp(0.0, 4.0) as usize, ratio.value));
    };
    let half = 0.5 * (high - low);
    let n_decimals = (1.0 - half.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{:.n_decimals$} ({low:.n_decimals$} to {high:.n_decimals$})", ratio.value)
}

/// Formats a share with its interval: `87 % (83 to 91 %)`.
pub fn share_text(share: Ratio) -> String {
    let width = share.interval.map_or(1.0, |(low, high)| high - low);
    let n_decimals = if 0.0 < width && width < 0.02 { 1 } else { 0 };
    // Adding zero removes the sign of a rounded zero.
    let percent = |x: f64| {
        let scale = 10_f64.powi(n_decimals);
        format!("{:.*}", n_decimals as usize, (100.0 * x * scale).round() / scale + 0.0)
    };
    match share.interval.map(|(low, high)| (percent(low), percent(high))).filter(|(low, high)| low != high) {
        Some((low, high)) => format!("{} % ({low} to {high} %)", percent(share.value)),
        None => format!("{} %", percent(share.value)),
    }
}

/// Formats a swept value; numbers with four significant digits.
pub(super) fn swept_text(value: &Scalar) -> String {
    match value {
        Scalar::Float(number) => short(*number),
        other => other.to_string(),
    }
}

/// Formats a tick of an axis whose ticks are `step` apart; `step` is 0 for uneven ticks.
pub(super) fn tick(x: f64, step: f64) -> String {
    let size = x.abs();
    if size < step.abs() * 1e-9 || size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{x:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trim_zeros(digits));
    }
    trim_zeros(&format!("{x:.6}"))
}

fn trim_zeros(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

/// Returns the last word of a dotted key if no other key ends in it; else the whole key.
pub(super) fn short_key<'k>(key: &'k str, all: &[&str]) -> &'k str {
    let last = |key: &'k str| key.rsplit('.').next().unwrap_or(key);
    let word = last(key);
    let is_unique = all.iter().filter(|other| other.rsplit('.').next() == Some(word)).count() <= 1;
    if is_unique { word } else { key }
}

/// Returns a file name made from a key: letters, digits and hyphens.
pub(super) fn safe_name(key: &str) -> String {
    let name: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    name.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for x in [0.1, 1.0, 1e-300, 12345678.9, -0.0, 1.0 / 3.0, 1e22] {
            assert_eq!(number(x).parse::<f64>().expect("a number").to_bits(), x.to_bits());
        }
        assert_eq!((number(40.0), number(0.5)), ("40".to_owned(), "0.5".to_owned()));
    }

    #[test]
    fn users_see_few_digits() {
        assert_eq!(
            [short(1234.56), short(0.0123456), short(1.0), short(2.5e9), short(0.0)],
            ["1235", "0.01235", "1", "2.50e9", "0"]
        );
        assert_eq!(plus_minus(12.3456, Some(0.4321)), "12.35 ± 0.43");
        assert_eq!(plus_minus(1234.5, Some(56.0)), "1234 ± 56");
        assert_eq!((plus_minus(3.0, None), plus_minus(3.0, Some(0.0))), ("3".to_owned(), "3 ± 0".to_owned()));
        assert_eq!(
            [tick(0.30000000000000004, 0.1), tick(2e6, 1e6), tick(1e-17, 0.1), tick(1000.0, 0.0)],
            ["0.3", "2e6", "0", "1000"]
        );
    }

    #[test]
    fn budgets_and_ratios_have_few_digits() {
        assert_eq!(swept_text(&Scalar::Float(0.5_f64.exp())), "1.649");
        assert_eq!(ratio_text(Ratio { value: 4.234, interval: Some((3.61, 4.87)) }), "4.23 (3.61 to 4.87)");
        assert_eq!(ratio_text(Ratio { value: 42.34, interval: Some((30.61, 54.87)) }), "42 (31 to 55)");
        assert_eq!(ratio_text(Ratio { value: 1.5, interval: None }), "1.5");
        assert_eq!(share_text(Ratio { value: 0.8712, interval: Some((0.834, 0.91)) }), "87 % (83 to 91 %)");
        assert_eq!(share_text(Ratio { value: -0.001, interval: Some((-0.005, 0.003)) }), "-0.1 % (-0.5 to 0.3 %)");
        assert_eq!(share_text(Ratio { value: -0.001, interval: None }), "0 %");
    }

    #[test]
    fn keys_and_file_names() {
        let keys = ["privacy.epsilon", "a.kind", "b.kind"];
        assert_eq!((short_key(keys[0], &keys), short_key(keys[1], &keys)), ("epsilon", "a.kind"));
        assert_eq!(safe_name("policy[0].Ridge/.."), "policy-0--ridge---");
    }
}
