//! Holds the formulas of the private papers as printed, one file per topic, with their errata.
//! [`FORMULAS`] lists them.
//!
//! A formula here is not a guarantee: `accounting` prices what it delivers. Errata: `docs/privacy.md`.

pub mod bassily2020;
pub mod dubey2021;
pub mod dubey2021_local;
mod formula;
#[cfg(test)]
mod formula_tests;
pub mod han2022_choice;
pub mod han2022_tree;
pub mod kharkovskii2020;
pub mod kusner2015;
mod list;
pub mod shariff2018;
pub mod zheng2020;
pub mod zhou2021;

pub use formula::{Formula, Symbols};
pub use list::FORMULAS;
