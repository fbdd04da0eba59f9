//! Holds the formulas of the private papers as printed, one file per topic, with their errata.
//!
//! A formula here is not a guarantee: `accounting` prices what it delivers. Errata: `docs/privacy.md`.

pub mod dubey2021;
pub mod dubey2021_local;
pub mod han2022_choice;
pub mod han2022_tree;
pub mod kharkovskii2020;
pub mod shariff2018;
pub mod zheng2020;
