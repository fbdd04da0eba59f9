//! Checked numbers: each getter states its range where it is read.

use super::args::Wanted;
use super::{Args, Node, Value};

/// Smallest size of a number other than 0 that a spec may state: its square and its inverse are far from the ends of f64.
pub const SMALLEST: f64 = 1e-50;
/// Largest size of a number that a spec may state.
pub const LARGEST: f64 = 1e50;

/// Whether arithmetic holds for a number: 0, or of a size from [`SMALLEST`] to [`LARGEST`].
pub fn is_representable(x: f64) -> bool {
    x == 0.0 || (SMALLEST..=LARGEST).contains(&x.abs())
}

/// A number with its range: `.above(0.0).or(1.0)`.
#[derive(Debug)]
#[must_use]
pub struct Number<'r, 'a> {
    args: &'r Args<'a>,
    key: &'static str,
    doc: &'static str,
    above: Option<f64>,
    at_least: Option<f64>,
    below: Option<f64>,
    at_most: Option<f64>,
}

impl<'r, 'a> Number<'r, 'a> {
    pub(super) fn new(args: &'r Args<'a>, key: &'static str, doc: &'static str) -> Self {
        Self { args, key, doc, above: None, at_least: None, below: None, at_most: None }
    }

    /// Requires a number strictly greater than `bound`.
    pub fn above(self, bound: f64) -> Self {
        Self { above: Some(bound), ..self }
    }

    /// Requires a number of at least `bound`.
    pub fn at_least(self, bound: f64) -> Self {
        Self { at_least: Some(bound), ..self }
    }

    /// Requires a number strictly less than `bound`.
    pub fn below(self, bound: f64) -> Self {
        Self { below: Some(bound), ..self }
    }

    /// Requires a number of at most `bound`.
    pub fn at_most(self, bound: f64) -> Self {
        Self { at_most: Some(bound), ..self }
    }

    /// Reads the number; returns `default` when absent.
    pub fn or(self, default: f64) -> f64 {
        self.note(Some(shown(default)));
        self.read().unwrap_or(default)
    }

    /// Reads the number, if given; `meaning` documents the absent case.
    pub fn optional(self, meaning: &str) -> Option<f64> {
        self.note(Some(meaning.to_owned()));
        self.read()
    }

    /// Reads the number, or `word` as `Err`, if given; `meaning` documents the absent case.
    pub fn or_word(self, word: &'static str, meaning: &str) -> Option<Result<f64, &'static str>> {
        let expected = format!("{}, or `{word}`", self.range());
        self.args.note(self.key, expected.clone(), Some(meaning.to_owned()), self.doc);
        let is_word = match &self.args.node(self.key)?.value {
            Value::Text(text) => text == word,
            // Without quotes, `inf` is a number.
            Value::Float(x) => word.parse() == Ok(*x),
            _ => false,
        };
        if is_word {
            return Some(Err(word));
        }
        self.read_as(&expected).map(Ok)
    }

    /// Reads a number b, which stands for `[-b, b]`, or two numbers `[lo, hi]`; `meaning` documents the absent case.
    pub fn or_interval(self, meaning: &str) -> Option<(f64, f64)> {
        let expected = format!("{}, or `[lo, hi]` with lo < hi", self.range());
        self.args.note(self.key, expected.clone(), Some(meaning.to_owned()), self.doc);
        let node = self.args.node(self.key)?;
        let Value::Array(items) = &node.value else {
            let bound = node.value.as_f64().filter(|&bound| self.holds(bound));
            return or_refuse(self.args, self.key, bound.map(|bound| (-bound, bound)), node, &expected);
        };
        let numbers: Vec<f64> = items.iter().filter_map(|item| item.value.as_f64()).collect();
        let ends = match numbers[..] {
            [low, high] if items.len() == 2 && low < high && is_representable(low) && is_representable(high) => Some((low, high)),
            _ => None,
        };
        or_refuse(self.args, self.key, ends, node, &expected)
    }

    /// Reads the number; an absent key is an error.
    pub fn required(self) -> f64 {
        self.note(None);
        if self.args.node(self.key).is_none() {
            self.args.missing(self.key, &self.range());
        }
        self.read().unwrap_or(f64::NAN)
    }

    fn note(&self, default: Option<String>) {
        self.args.note(self.key, self.range(), default, self.doc);
    }

    fn range(&self) -> String {
        let lower = match (self.above, self.at_least) {
            (Some(0.0), None) => format!(">= {}", shown(self.smallest())),
            (Some(bound), _) => format!("> {}", shown(bound)),
            (None, bound) => format!(">= {}", shown(bound.unwrap_or(-LARGEST))),
        };
        let upper = match (self.below, self.at_most) {
            (Some(bound), _) => format!("< {}", shown(bound)),
            (None, bound) => format!("<= {}", shown(bound.unwrap_or(LARGEST))),
        };
        format!("a number {lower} and {upper}")
    }

    /// Least size of a positive number: one that may be large up to 1e6, say, may be small down to 1e-6.
    fn smallest(&self) -> f64 {
        self.at_most.filter(|most| 1e3 <= *most).map_or(SMALLEST, f64::recip)
    }

    fn read(&self) -> Option<f64> {
        self.read_as(&self.range())
    }

    fn read_as(&self, expected: &str) -> Option<f64> {
        let (x, node) = self.args.typed(self.key, Wanted::Number, expected, Value::as_f64)?;
        or_refuse(self.args, self.key, Some(x).filter(|&x| self.holds(x)), node, expected)
    }

    fn holds(&self, x: f64) -> bool {
        is_representable(x)
            && self.above.is_none_or(|b| b < x)
            && self.at_least.is_none_or(|b| b <= x)
            && (self.above != Some(0.0) || self.smallest() <= x)
            && self.below.is_none_or(|b| x < b)
            && self.at_most.is_none_or(|b| x <= b)
    }
}

/// A count with its range: `.between(1, 100).or(10)`.
#[derive(Debug)]
#[must_use]
pub struct Count<'r, 'a> {
    args: &'r Args<'a>,
    key: &'static str,
    doc: &'static str,
    lowest: u64,
    highest: u64,
}

impl<'r, 'a> Count<'r, 'a> {
    pub(super) fn new(args: &'r Args<'a>, key: &'static str, doc: &'static str) -> Self {
        Self { args, key, doc, lowest: 0, highest: u64::from(u32::MAX) }
    }

    /// Sets the least allowed value.
    pub fn at_least(self, lowest: u64) -> Self {
        Self { lowest, ..self }
    }

    /// Sets the least and the greatest allowed value.
    pub fn between(self, lowest: u64, highest: u64) -> Self {
        Self { lowest, highest, ..self }
    }

    /// Reads the count; returns `default` when absent.
    pub fn or(self, default: u64) -> u64 {
        self.note(Some(default.to_string()));
        self.read().unwrap_or(default)
    }

    /// Reads the count, if given; `meaning` documents the absent case.
    pub fn optional(self, meaning: &str) -> Option<u64> {
        self.note(Some(meaning.to_owned()));
        self.read()
    }

    /// Reads the count; an absent key is an error.
    pub fn required(self) -> u64 {
        self.note(None);
        if self.args.node(self.key).is_none() {
            self.args.missing(self.key, &self.range());
        }
        self.read().unwrap_or(self.lowest)
    }

    fn note(&self, default: Option<String>) {
        self.args.note(self.key, self.range(), default, self.doc);
    }

    fn range(&self) -> String {
        format!("a whole number from {} to {}", self.lowest, self.highest)
    }

    fn read(&self) -> Option<u64> {
        let (i, node) = self.args.typed(self.key, Wanted::WholeNumber, &self.range(), Value::as_integer)?;
        let count = u64::try_from(i).ok().filter(|count| (self.lowest..=self.highest).contains(count));
        or_refuse(self.args, self.key, count, node, &self.range())
    }
}

/// Formats a number without long rows of zeros.
fn shown(x: f64) -> String {
    if x != 0.0 && !(1e-4..1e6).contains(&x.abs()) { format!("{x:e}") } else { format!("{x}") }
}

/// Reports a value that is not in its range.
fn or_refuse<T>(args: &Args<'_>, key: &str, found: Option<T>, node: &Node, expected: &str) -> Option<T> {
    if found.is_none() {
        args.reject(key, format!("`{}` is {}, out of range", args.join(key), node.value.shown()), expected);
    }
    found
}
