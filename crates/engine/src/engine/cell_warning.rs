//! Defines the warnings of a cell, and groups those of many cells.

use crate::env::ValueUnits;
use crate::spec::Misleading;
use privateer_config::error::{Diagnostic, Error};
use serde::{Deserialize, Serialize};

/// States one setting of a cell that misleads whoever reads its results.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct CellWarning {
    /// The kind of setting; warnings of many cells are grouped by it.
    pub topic: Misleading,
    /// A sentence with the numbers of this cell and what to do.
    pub text: String,
    /// Whether the spec says that the setting is meant.
    #[serde(default)]
    pub accepted: bool,
}

impl CellWarning {
    pub(super) fn new(topic: Misleading, text: String) -> Self {
        Self { topic, text, accepted: false }
    }
}

/// Holds one line for each kind of misleading setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupedWarnings {
    /// Those that nobody meant: the first warning, with the number of further cells that have one.
    pub lines: Vec<String>,
    /// Those that the spec accepts, in the same form.
    pub accepted: Vec<String>,
    /// Those of `lines` that make the answer of a run false.
    pub falsifying: Vec<String>,
    /// The kinds that some cell warns of.
    found: Vec<Misleading>,
}

/// Returns the warnings of cells, one line for each kind of setting.
///
/// Each cell has a function that returns its label.
pub fn grouped_warnings<L: Fn() -> String, W: AsRef<[CellWarning]>>(cells: impl Iterator<Item = (L, W)>) -> GroupedWarnings {
    let mut groups: Vec<(CellWarning, String, usize)> = Vec::new();
    for (label, warnings) in cells {
        for warning in warnings.as_ref() {
            match groups.iter_mut().find(|group| group.0.topic == warning.topic) {
                Some(group) => group.2 += 1,
                None => groups.push((warning.clone(), label(), 0)),
            }
        }
    }
    let line = |(CellWarning { topic, text, .. }, label, more): &(CellWarning, String, usize)| {
        let further = match more {
            0 => String::new(),
            1 => " (and in 1 more cell)".to_owned(),
            _ => format!(" (and in {more} more cells)"),
        };
        format!("{topic}, in {label}{further}: {text}")
    };
    let (accepted, others): (Vec<_>, Vec<&(CellWarning, String, usize)>) = groups.iter().partition(|group| group.0.accepted);
    GroupedWarnings {
        falsifying: others.iter().copied().filter(|group| group.0.topic.falsifies()).map(line).collect(),
        lines: others.into_iter().map(line).collect(),
        accepted: accepted.into_iter().map(line).collect(),
        found: groups.iter().map(|group| group.0.topic).collect(),
    }
}

impl GroupedWarnings {
    /// Refuses settings that mislead and are not accepted, and accepted warnings that no cell gives.
    ///
    /// # Errors
    /// [`Error::Input`] with a line for each.
    pub fn refuse(&self, accepted: &[Misleading]) -> Result<(), Error> {
        let mut refused: Vec<Diagnostic> = self.lines.iter().map(Diagnostic::new).collect();
        for kind in accepted.iter().filter(|kind| !self.found.contains(kind)) {
            let diagnostic = Diagnostic::new(format!("`accepted_warnings` names `{}`, and no cell warns of it", kind.name()));
            refused.push(diagnostic.hint("remove it: a warning that comes later should be seen"));
        }
        if refused.is_empty() { Ok(()) } else { Err(Error::Input(refused)) }
    }
}

/// Formats a range of rewards, in the file's units where those are known.
pub(super) fn shown_range(units: Option<ValueUnits>, low: f64, high: f64) -> String {
    let (low, high) = units.map_or((low, high), |units| units.values(low, high));
    // Rounding of units there and back leaves no zero.
    let zeroed = |x: f64| if x.abs() < 1e-12 * (high - low) { 0.0 } else { x };
    format!("[{}, {}]", digits(zeroed(low)), digits(zeroed(high)))
}

/// Formats a number with three significant digits.
pub(super) fn digits(x: f64) -> String {
    let magnitude = if x == 0.0 { 0.0 } else { libm::floor(libm::log10(x.abs())) };
    if !(-4.0..6.0).contains(&magnitude) {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.*}", (2.0 - magnitude).max(0.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_shown_in_the_units_of_the_file() {
        let units = ValueUnits { log: false, minimise: true, centre: -300.0, scale: 20.0 };
        assert_eq!(shown_range(Some(units), -1.5, 2.0), "[260, 330]");
        assert_eq!(shown_range(None, -1.5, 2.0), "[-1.5, 2]");
    }

    #[test]
    fn warnings_of_many_cells_are_one_line_each() {
        let warnings = [CellWarning::new(Misleading::Clip, "too narrow".to_owned())];
        let found = grouped_warnings(["a", "b", "c"].into_iter().map(|label| (|| label.to_owned(), &warnings)));
        assert_eq!(
            (found.lines.as_slice(), found.accepted.len()),
            (["clip, in a (and in 2 more cells): too narrow".to_owned()].as_slice(), 0)
        );
        assert!(found.refuse(&[]).is_err() && GroupedWarnings::default().refuse(&[]).is_ok());
        let meant = [CellWarning { accepted: true, ..warnings[0].clone() }];
        let found = grouped_warnings([(|| "a".to_owned(), &meant)].into_iter());
        assert_eq!((found.lines.len(), found.accepted.len()), (0, 1));
        assert!(found.refuse(&[Misleading::Clip]).is_ok());
        assert!(found.refuse(&[Misleading::Clip, Misleading::Delta]).is_err(), "nothing warns of delta");
    }
}
