//! How a record of the raw table may change between two neighbouring tables.

use super::filter::BadBudget;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use unicode_normalization::UnicodeNormalization;

/// A change of one record of the raw table, for which losses are added up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RecordChange {
    /// Any values of the record in these columns; its inputs stay.
    Values {
        /// Columns whose values are released one by one.
        columns: Vec<String>,
    },
    /// The inputs of the record, moved by at most a radius; all other columns stay.
    InputsWithin {
        /// Largest L2 distance, in units of the space.
        radius: f64,
        /// Columns of the inputs, with their units.
        space: InputSpace,
    },
    /// The record as a whole, replaced by any other.
    Record,
}

/// Input columns of a table with the public numbers that each is divided by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputSpace {
    /// Sorted by column, so that the order in which columns were named does not matter.
    axes: Vec<InputAxis>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct InputAxis {
    column: String,
    scale: f64,
}

impl InputSpace {
    /// Returns the space of these columns, each divided by its scale.
    pub fn new(columns: &[String], scales: &[f64]) -> Self {
        let axis = |(column, scale): (&String, &f64)| InputAxis { column: column.clone(), scale: *scale };
        let mut axes: Vec<InputAxis> = columns.iter().zip(scales).map(axis).collect();
        axes.sort_by_key(|axis| column_key(&axis.column));
        Self { axes }
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.column.as_str()).collect()
    }

    /// Returns the number that a column is divided by, the largest of columns that are not told apart; `None` if it is not an input.
    pub fn scale(&self, column: &str) -> Option<f64> {
        self.axes.iter().filter(|axis| is_same_column(&axis.column, column)).map(|axis| axis.scale).reduce(f64::max)
    }

    /// Whether both have the same columns with the same scales, so that their distances are in one unit.
    pub fn is_same(&self, other: &Self) -> bool {
        self.axes.len() == other.axes.len() && self.axes.iter().all(|axis| other.scale(&axis.column) == Some(axis.scale))
    }

    /// Whether a column is an input of both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.axes.iter().any(|axis| other.scale(&axis.column).is_some())
    }
}

/// Whether two names are of one column, without regard to case and space.
///
/// A column that is written in two ways is one column; counting two columns as one states too large a loss and never too small a one.
pub fn is_same_column(a: &str, b: &str) -> bool {
    column_key(a) == column_key(b)
}

/// Returns what tells columns of a table apart.
fn column_key(column: &str) -> String {
    // Compatible forms of Unicode are one: composed and decomposed accents, full and half width.
    let folded: String = column.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for InputSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self
            .axes
            .iter()
            .map(|InputAxis { column, scale }| if *scale == 1.0 { format!("`{column}`") } else { format!("`{column}`/{scale}") })
            .collect();
        f.write_str(&named.join(", "))
    }
}

impl fmt::Display for RecordChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Values { columns } => {
                let named: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
                write!(f, "any values of one record in {}; its inputs stay", named.join(", "))
            }
            Self::InputsWithin { radius, space } => {
                write!(f, "the inputs of one record, moved by at most {radius} (L2, in {space}); its values stay")
            }
            Self::Record => f.write_str("one record, replaced by any other: its inputs and its values"),
        }
    }
}

/// The change of a record for which a budget is stated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BudgetChange {
    /// Any values of one record.
    Values,
    /// The inputs of one record, moved by at most a radius.
    Inputs {
        /// Largest L2 distance, in units of the released inputs.
        radius: f64,
    },
    /// One record, replaced by any other.
    Record,
}

impl BudgetChange {
    /// What can be written on the command line.
    pub const FORMS: &'static str = "inputs=RADIUS, values or record";
}

impl fmt::Display for BudgetChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Values => f.write_str("values"),
            Self::Inputs { radius } => write!(f, "inputs={radius}"),
            Self::Record => f.write_str("record"),
        }
    }
}

impl FromStr for BudgetChange {
    type Err = BadBudget;

    fn from_str(text: &str) -> Result<Self, BadBudget> {
        let read = match text.split_once('=') {
            None if text == "values" => Some(Self::Values),
            None if text == "record" => Some(Self::Record),
            Some(("inputs", number)) => {
                let radius = number.trim().parse().ok().filter(|radius: &f64| radius.is_finite() && 0.0 < *radius);
                radius.map(|radius| Self::Inputs { radius })
            }
            _ => None,
        };
        read.ok_or_else(|| BadBudget(format!("`{text}` is not a change of a record, expected {}", Self::FORMS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_told_apart_without_regard_to_case_and_space() {
        for (a, b) in [
            ("Dose", "dose"),
            (" dose ", "dose"),
            ("dose,  mg", "Dose, MG"),
            ("ÄRZTE", "ärzte"),
            ("a\tb", "A b"),
            ("dos\u{e9}", "DOSE\u{301}"),
            ("\u{ff44}ose", "dose"),
        ] {
            assert_eq!(column_key(a), column_key(b), "{a} {b}");
        }
        assert_ne!(column_key("dose, mg"), column_key("dose"));
        let space = |columns: &[&str], scales: &[f64]| {
            InputSpace::new(&columns.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(), scales)
        };
        let first = space(&["dose, mg", "Age"], &[2.0, 15.0]);
        assert!(first.is_same(&space(&["age", "Dose, mg"], &[15.0, 2.0])), "the order of the names does not matter");
        assert!(!first.is_same(&space(&["age", "dose, mg"], &[2.0, 15.0])) && !first.is_same(&space(&["age"], &[15.0])));
        assert!(first.overlaps(&space(&["AGE"], &[1.0])) && !first.overlaps(&space(&["dose", "mg"], &[1.0, 1.0])));
    }

    #[test]
    fn changes_of_budgets_are_read_and_written_alike() {
        for text in ["values", "record", "inputs=0.5"] {
            assert_eq!(text.parse::<BudgetChange>().map(|change| change.to_string()), Ok(text.to_owned()));
        }
        for bad in ["", "inputs", "inputs=", "inputs=0", "inputs=-1", "inputs=nan", "inputs=inf", "Values", "values=1", "rows"] {
            assert!(bad.parse::<BudgetChange>().is_err(), "{bad}");
        }
    }
}
