//! The formulas of the private papers as printed, one file a topic, each beside the name of its erratum. Nothing here is a
//! promise: what a formula delivers is priced by `accounting`.

pub mod dubey2021;
pub mod dubey2021_local;
pub mod han2022_choice;
pub mod han2022_tree;
pub mod kharkovskii2020;
pub mod shariff2018;
pub mod zheng2020;
pub mod zhou2021;
