//! Describes formulas of papers; ledgers, pages and documents take number and words from here.

use crate::Scale;
use std::fmt;

/// One formula as its paper prints it.
#[derive(Debug, Clone, Copy)]
pub struct Formula {
    /// Key of the paper.
    pub paper: &'static str,
    /// Algorithm, lemma or line.
    pub place: &'static str,
    /// The formula, `name = expression`, then definitions of further symbols.
    pub text: &'static str,
    /// Code of the erratum that stands against it, such as `E7`; empty if there is none.
    pub erratum: &'static str,
    /// Computes the formula from its symbols.
    pub at: fn(&Symbols<'_>) -> f64,
}

/// Gives the symbols of a formula their values.
#[derive(Debug, Clone, Copy)]
pub struct Symbols<'a>(pub &'a [(&'static str, f64)]);

impl Symbols<'_> {
    /// Returns a symbol's value; NaN for a symbol that has none.
    pub fn of(&self, name: &str) -> f64 {
        self.0.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
    }
}

impl Formula {
    pub(super) const fn new([paper, place, erratum]: [&'static str; 3], text: &'static str, at: fn(&Symbols<'_>) -> f64) -> Self {
        Self { paper, place, text, erratum, at }
    }

    /// Returns the formula's value at these symbols, and its words.
    pub fn scale(&self, symbols: &[(&'static str, f64)]) -> Scale {
        Scale { size: (self.at)(&Symbols(symbols)), formula: self.to_string() }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {}]", self.text, self.paper, self.place)?;
        if self.erratum.is_empty() { Ok(()) } else { write!(f, " ({})", self.erratum) }
    }
}
