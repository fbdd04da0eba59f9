//! Names the numbers that a problem takes from the data that a privacy claim protects.
//!
//! A formula that uses these numbers is private only if they are public knowledge, which the spec declares in its key `public`.
//! Undeclared, they turn the claim into "no guarantee" (erratum E19, `docs/privacy.md`).

use privateer_config::error::closest;
use privateer_config::params::Args;
use privateer_privacy::Ledger;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataDerived {
    Covariance,
    Moments,
    Range,
    Standardisation,
    Hyperparameters,
    Levels,
}

impl DataDerived {
    /// Returns the word for this kind in the key `public`.
    pub fn word(self) -> &'static str {
        self.named().0
    }

    /// Returns the word in the key `public`, and a description.
    fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::Covariance => ("covariance", "the covariance of the arms"),
            Self::Moments => ("moments", "mean square and variance of the readings"),
            Self::Range => ("range", "the largest reading or value"),
            Self::Standardisation => ("standardisation", "means and standard deviations of the columns"),
            Self::Hyperparameters => ("hyperparameters", "kernel, scales and ridge, fitted to inputs and values"),
            Self::Levels => ("levels", "the levels of categories"),
        }
    }
}

/// Holds the numbers that a spec declares public, among those its environment may take from data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredPublic(BTreeSet<DataDerived>);

impl DeclaredPublic {
    /// Reads the key `public`; `possible` are the kinds that this environment may use.
    pub(super) fn parse(args: &Args<'_>, possible: &[DataDerived]) -> Self {
        let doc = "numbers of the data that are public knowledge; undeclared, claims that rest on them have no guarantee";
        let mut declared = BTreeSet::new();
        for text in args.texts("public", doc).unwrap_or_default() {
            match possible.iter().find(|kind| kind.word() == text) {
                Some(kind) => {
                    declared.insert(*kind);
                }
                None => {
                    let words = || possible.iter().map(|kind| kind.word());
                    let near = closest(&text, words()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                    let listed: Vec<String> = words().map(|word| format!("`{word}`")).collect();
                    args.reject(
                        "public",
                        format!("`{text}` is nothing that this environment takes from data{near}"),
                        listed.join(", "),
                    );
                }
            }
        }
        Self(declared)
    }

    /// Splits the used numbers into declared and undeclared ones.
    ///
    /// * `is_real` — whether the data are anyone's; made-up data protect nobody
    /// * `kinds` — each kind, and whether the problem uses it
    pub fn split(&self, is_real: bool, kinds: impl IntoIterator<Item = (DataDerived, bool)>) -> DerivedNumbers {
        let used = kinds.into_iter().filter_map(|(kind, is_used)| (is_used && is_real).then_some(kind));
        let (declared, undeclared) = used.partition(|kind| self.0.contains(kind));
        DerivedNumbers { declared, undeclared }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DerivedNumbers {
    pub declared: Vec<DataDerived>,
    /// Numbers that are neither declared public nor covered by the privacy budget.
    pub undeclared: Vec<DataDerived>,
}

impl DerivedNumbers {
    /// Records the numbers in a ledger: declared ones as a note, others as a lost guarantee.
    pub fn state_in(&self, ledger: &mut Ledger) {
        let listed = |kinds: &[DataDerived]| kinds.iter().map(|kind| kind.named().1).collect::<Vec<_>>().join("; ");
        if !self.declared.is_empty() {
            ledger.notes.push(format!("taken from the data and declared public by the spec: {}", listed(&self.declared)));
        }
        if !self.undeclared.is_empty() {
            let words: Vec<String> = self.undeclared.iter().map(|kind| format!("\"{}\"", kind.word())).collect();
            ledger.withdraw(
                format!("taken from the protected data and neither paid for nor declared public: {}", listed(&self.undeclared)),
                "E19",
            );
            ledger.notes.push(format!("if they are public knowledge, say so: `environment.public = [{}]`", words.join(", ")));
        }
    }
}
