//! Lays out one axis of a plot: range, ticks, and positions of values.

use super::text::{short, tick};

/// Represents a linear or logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) logarithmic: bool,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Ticks at these values; empty for ticks at round numbers.
    pub(super) marks: Vec<f64>,
    /// Texts of the marks; empty for their numbers.
    pub(super) texts: Vec<String>,
}

/// Largest number of marks; more would overlap.
const N_MARKS: usize = 9;

impl Axis {
    /// Returns an axis that covers all values; a logarithmic one covers the positive values.
    ///
    /// Zero is included if it is near.
    pub(super) fn holding(label: &str, logarithmic: bool, values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|x| x.is_finite() && (!logarithmic || 0.0 < *x));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = match (low <= high, logarithmic) {
            (false, _) => (if logarithmic { 0.1 } else { 0.0 }, 1.0),
            (true, true) if low < high => (low, high),
            (true, true) => (low / 2.0, high * 2.0),
            (true, false) => {
                let low = if 0.0 < low && low < 0.6 * high { 0.0 } else { low };
                let high = if high < 0.0 && 0.6 * low < high { 0.0 } else { high };
                let pad = if low < high { 0.0 } else { 0.5 * low.abs().max(1e-9) };
                (low - pad, high + pad)
            }
        };
        Self { label: label.to_owned(), logarithmic, low, high, marks: Vec::new(), texts: Vec::new() }
    }

    /// Returns an axis from the least to the greatest of a few values, with its ticks at them.
    pub(super) fn marking(label: &str, logarithmic: bool, values: &[f64]) -> Self {
        let mut marks = values.to_vec();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let mut axis = Self::holding(label, logarithmic, values.iter().copied());
        if let (Some(low), Some(high)) = (marks.first(), marks.last())
            && low < high
        {
            (axis.low, axis.high) = (*low, *high);
        }
        // Marks that would overlap are replaced by round numbers.
        let places: Vec<f64> = marks.iter().map(|mark| axis.place(*mark)).collect();
        if marks.len() <= N_MARKS && places.windows(2).all(|pair| 0.06 <= pair[1] - pair[0]) {
            axis.marks = marks;
        }
        axis
    }

    /// Returns an axis with one place of width 1 for each text, the first one around 0; at most about `most` are written.
    pub(super) fn of_texts(label: &str, texts: &[String], most: usize) -> Self {
        let n_places = texts.len().max(1);
        let stride = texts.len().div_ceil(most.max(1)).max(1);
        let (marks, texts) = texts.iter().enumerate().step_by(stride).map(|(i, text)| (i as f64, text.clone())).unzip();
        Self { label: label.to_owned(), logarithmic: false, low: -0.5, high: n_places as f64 - 0.5, marks, texts }
    }

    /// Returns whether ascending values are better spread on a logarithmic axis: they span a factor of five or are geometric.
    pub(super) fn suits_logarithm(values: &[f64]) -> bool {
        let (Some(low), Some(high)) = (values.first(), values.last()) else { return false };
        let ratios: Vec<f64> = values.windows(2).map(|pair| pair[1] / pair[0]).collect();
        let is_geometric = 2 <= ratios.len() && ratios.iter().all(|ratio| (ratio / ratios[0] - 1.0).abs() < 0.02);
        0.0 < *low && (5.0 * low <= *high || is_geometric)
    }

    /// Adds a margin at both ends.
    pub(super) fn with_air(mut self, share: f64) -> Self {
        if self.logarithmic {
            let factor = (self.high / self.low).powf(share);
            self.low /= factor;
            self.high *= factor;
        } else {
            let air = share * (self.high - self.low);
            self.low -= if self.low == 0.0 { 0.0 } else { air };
            self.high += if self.high == 0.0 { 0.0 } else { air };
        }
        self
    }

    /// Returns the position of a value, from 0 at the low end to 1 at the high end.
    ///
    /// Values outside the range are moved to its end.
    pub(super) fn place(&self, x: f64) -> f64 {
        let share = if self.logarithmic {
            (x.max(f64::MIN_POSITIVE).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (x - self.low) / (self.high - self.low)
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    pub(super) fn can_show(&self, x: f64) -> bool {
        x.is_finite() && (!self.logarithmic || 0.0 < x)
    }

    /// Returns the ticks within the range, with their texts.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if !self.marks.is_empty() {
            let text = |(i, mark): (usize, &f64)| (*mark, self.texts.get(i).cloned().unwrap_or_else(|| short(*mark)));
            return self.marks.iter().enumerate().map(text).collect();
        }
        let logarithmic = if self.logarithmic { self.log_ticks() } else { Vec::new() };
        if 2 <= logarithmic.len() {
            return logarithmic.into_iter().map(|x| (x, tick(x, 0.0))).collect();
        }
        let step = nice_step((self.high - self.low) / 5.0);
        if !(step.is_finite() && 0.0 < step) {
            return vec![(self.low, tick(self.low, 0.0))];
        }
        let first = (self.low / step - 1e-9).ceil();
        (0..12)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|x| *x <= self.high + 1e-9 * step)
            .map(|x| (x, tick(x, step)))
            .collect()
    }

    /// Returns powers of ten, and also twos and fives where there are few.
    fn log_ticks(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let n_decades = last - first;
        let stride = 1 + n_decades / 8;
        let multiples: &[f64] = if n_decades <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        (first..=last)
            .filter(|decade| (decade - first) % stride == 0)
            .flat_map(|decade| multiples.iter().map(move |multiple| multiple * 10.0_f64.powi(decade)))
            .filter(|x| self.low * (1.0 - 1e-9) <= *x && *x <= self.high * (1.0 + 1e-9))
            .collect()
    }
}

/// Returns the next larger step of 1, 2 or 5 times a power of ten.
fn nice_step(raw: f64) -> f64 {
    let power = 10.0_f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|multiple| multiple * power).find(|step| raw <= *step).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::holding("x", false, [3.0, 1000.0].into_iter());
        assert_eq!((axis.low, texts(&axis).join(" ")), (0.0, "0 200 400 600 800 1000".to_owned()));
        let axis = Axis::holding("x", true, [0.5, 8.0, -1.0].into_iter());
        assert_eq!((axis.low, texts(&axis).join(" ")), (0.5, "0.5 1 2 5".to_owned()));
        let axis = Axis::holding("x", true, [1.0, 1e5].into_iter());
        assert_eq!(texts(&axis).len(), 6);
    }

    #[test]
    fn swept_values_are_marked_where_there_is_room() {
        let axis = Axis::marking("epsilon", true, &[8.0, 0.5, 1.0, 1.0]).with_air(0.03);
        assert_eq!(texts(&axis), ["0.5", "1", "8"]);
        let axis = Axis::marking("dimension", false, &[1.0, 2.0]).with_air(0.03);
        assert_eq!((texts(&axis).join(" "), axis.low), ("1 2".to_owned(), 0.97));
        assert!(Axis::marking("x", false, &[1.0, 1.001, 2.0]).marks.is_empty());
    }

    #[test]
    fn geometric_budgets_have_a_logarithmic_axis() {
        assert!(Axis::suits_logarithm(&[0.5, 1.0, 2.0, 4.0]) && Axis::suits_logarithm(&[1.0, 10.0]));
        assert!(Axis::suits_logarithm(&[1.0, 1.0_f64.exp(), 2.0_f64.exp()]));
        assert!(
            !Axis::suits_logarithm(&[1.0, 2.0])
                && !Axis::suits_logarithm(&[1.0, 2.0, 3.0])
                && !Axis::suits_logarithm(&[0.0, 1.0])
        );
        assert_eq!(texts(&Axis::marking("x", true, &[1.0, 0.5_f64.exp(), 1.0_f64.exp()])), ["1", "1.649", "2.718"]);
    }

    #[test]
    fn degenerate_ranges_still_have_an_axis() {
        for values in [vec![], vec![f64::NAN], vec![0.0, 0.0], vec![5.0], vec![-3.0], vec![1e300, -1e300], vec![1e-300]] {
            for logarithmic in [false, true] {
                let axis = Axis::holding("x", logarithmic, values.iter().copied()).with_air(0.05);
                assert!(axis.low < axis.high, "{values:?} {axis:?}");
                assert!(axis.ticks().len() <= 40, "{axis:?}");
                for x in [-1.0, 0.0, 5.0, f64::INFINITY] {
                    assert!((0.0..=1.0).contains(&axis.place(x)), "{axis:?}");
                }
            }
        }
    }
}
