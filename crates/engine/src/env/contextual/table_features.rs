//! Builds contexts from CSV columns: the constant 1, scaled numbers and 0/1 category features.
//!
//! Numbers are scaled by public ranges, and each level of a category is a 0/1 feature. The bounds hold whatever the file
//! contains: the constant is 1, a number lies in [-1, 1] after its public range, and at most one of a category's features is 1.
//! So no entry exceeds 1, and no length exceeds sqrt(1 + columns).

use crate::env::BuildContext;
use crate::env::csv_table::{CellKind, Cells};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::linalg::dot;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub(super) struct FeaturePlan {
    pub(super) numbers: Vec<String>,
    /// Public ranges of the numbers.
    pub(super) ranges: Vec<(f64, f64)>,
    categories: Vec<String>,
    least: u64,
    missing: &'static str,
    length: Option<f64>,
}

pub(super) struct Features {
    /// d: number of features of a context.
    pub(super) dimension: usize,
    /// Contexts, rows of the file x d.
    pub(super) contexts: Vec<f64>,
    /// Bound on the Euclidean length of a context.
    pub(super) length: f64,
    pub(super) facts: Facts,
    /// Whether levels of categories were taken from the file.
    pub(super) takes_levels: bool,
}

impl FeaturePlan {
    pub(super) fn parse(args: &Args<'_>) -> Self {
        let numbers = args.texts("numbers", "columns of numbers that are features, by name").unwrap_or_default();
        let lows =
            args.numbers("lows", "public lower end of each of `numbers`: values are scaled to [-1, 1]").unwrap_or_default();
        let highs = args.numbers("highs", "public upper end of each; values beyond an end are moved to it").unwrap_or_default();
        let categories =
            args.texts("categories", "columns of texts with a 0/1 feature for each level, by name").unwrap_or_default();
        let least = args.count("least", "levels with fewer rows have no feature of their own").between(1, 1 << 40).or(20);
        let missing = args.word(
            "missing",
            "numbers that are missing (empty, `NA`, `N/A`, `NaN`, `null`, `None`) are a mistake, at the middle of their range, or rows \
             that are left out",
            &["refuse", "middle", "drop"],
            Some("refuse"),
        );
        let length = args
            .number("length", "public bound on the Euclidean length of a context; longer ones are shortened to it")
            .above(0.0)
            .at_most(1e6)
            .optional("sqrt(1 + columns), which none exceeds");
        for (key, ends) in [("lows", &lows), ("highs", &highs)] {
            if ends.len() != numbers.len() {
                let message = format!("`numbers` has {} columns and `{key}` {} ends", numbers.len(), ends.len());
                args.reject(key, message, "one public end for each of `numbers`");
            }
        }
        if let Some(at) = lows.iter().zip(&highs).position(|(low, high)| high <= low) {
            let message = format!("a range from {} to {} is empty", lows[at], highs[at]);
            args.reject("highs", message, "ends above those of `lows`");
        }
        let ranges = lows.into_iter().zip(highs).collect();
        Self { numbers, ranges, categories, least, missing, length }
    }

    /// Returns the columns to read: numbers, then categories.
    pub(super) fn columns(&self) -> Vec<(String, CellKind)> {
        let number = match self.missing {
            "middle" => CellKind::NumberOrMissing,
            "drop" => CellKind::NumberOrDropped,
            _ => CellKind::Number,
        };
        let numbers = self.numbers.iter().map(|name| (name.clone(), number));
        numbers.chain(self.categories.iter().map(|name| (name.clone(), CellKind::Text))).collect()
    }

    /// Returns the kind of a column of numbers that is no feature, such as a label or a reward.
    pub(super) fn outcome(&self) -> CellKind {
        if self.missing == "drop" { CellKind::NumberOrDropped } else { CellKind::Number }
    }

    /// Refuses a feature that is named twice or is one of `outcomes`, which the key `key` names.
    pub(super) fn keep_apart(&self, args: &Args<'_>, key: &str, outcomes: &[&str]) {
        for (at, name) in self.numbers.iter().chain(&self.categories).enumerate() {
            if outcomes.contains(&name.as_str()) {
                args.reject(key, format!("column `{name}` is a feature of the users and what comes of them"), "two columns");
            }
            if self.numbers.iter().chain(&self.categories).take(at).any(|earlier| earlier == name) {
                args.reject(
                    "categories",
                    format!("column `{name}` is two features"),
                    "each column once in `numbers` or `categories`",
                );
            }
        }
    }

    /// Builds the contexts from the cells of [`FeaturePlan::columns`], with `rows` rows.
    pub(super) fn build(&self, cells: &[Cells], rows: usize, context: &BuildContext<'_>) -> Result<Features, Error> {
        let levels: Vec<BTreeMap<&str, usize>> = cells.iter().filter_map(|cells| self.levels(cells)).collect();
        let n_levels: usize = levels.iter().map(BTreeMap::len).sum();
        let dimension = 1 + self.numbers.len() + n_levels;
        context.allow(
            &format!("contexts of {rows} users in {dimension} dimensions"),
            8.0 * rows as f64 * dimension as f64,
            "name fewer `categories`, or raise `least`",
        )?;
        let mut contexts = vec![0.0; rows * dimension];
        let (mut moved, mut missing, mut shortened, mut next) = (0_u64, 0_u64, 0_u64, 1);
        let mut ranges = self.ranges.iter().copied();
        let mut levels = levels.iter();
        for cells in cells {
            match cells {
                Cells::Numbers(values) => {
                    let (low, high) = ranges.next().unwrap_or((-1.0, 1.0));
                    let (middle, half) = (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low);
                    for (row, value) in contexts.chunks_exact_mut(dimension).zip(values) {
                        missing += u64::from(value.is_nan());
                        moved += u64::from(*value < low || high < *value);
                        row[next] = if value.is_nan() { 0.0 } else { ((value - middle) / half).clamp(-1.0, 1.0) };
                    }
                    next += 1;
                }
                Cells::Texts(texts) => {
                    let Some(levels) = levels.next() else { continue };
                    for (row, text) in contexts.chunks_exact_mut(dimension).zip(texts) {
                        if let Some(&at) = levels.get(text.as_str()) {
                            row[next + at] = 1.0;
                        }
                    }
                    next += levels.len();
                }
            }
        }
        let natural = libm::sqrt(1.0 + cells.len() as f64);
        let length = self.length.map_or(natural, |length| length.min(natural));
        for row in contexts.chunks_exact_mut(dimension) {
            row[0] = 1.0;
            let size = libm::sqrt(dot(row, row));
            if length < size {
                shortened += 1;
                row.iter_mut().for_each(|x| *x *= length / size);
            }
        }
        let facts = Facts::from([
            ("length of a context, at most", length.into()),
            ("contexts shortened to that length", shortened.into()),
            ("numbers beyond their public range, moved to its end", moved.into()),
            ("numbers missing, put at the middle of their range", missing.into()),
            (
                "levels of categories",
                format!("{n_levels}, taken from the file; those of fewer than {} rows have none", self.least).into(),
            ),
        ]);
        Ok(Features { dimension, contexts, length, facts, takes_levels: 0 < n_levels })
    }

    /// Returns a category's levels with their indices, in text order; `None` for numbers.
    fn levels<'a>(&self, cells: &'a Cells) -> Option<BTreeMap<&'a str, usize>> {
        let Cells::Texts(texts) = cells else { return None };
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        texts.iter().for_each(|text| *counts.entry(text).or_default() += 1);
        let kept = counts.into_iter().filter(|(_, count)| self.least <= *count);
        Some(kept.enumerate().map(|(at, (level, _))| (level, at)).collect())
    }
}
