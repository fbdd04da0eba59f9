//! Lists the formulas of all papers.

use super::{
    Formula, bassily2020, dubey2021, dubey2021_local, han2022_choice, han2022_tree, kharkovskii2020, kusner2015, shariff2018,
    zheng2020, zhou2021,
};

/// All formulas, paper by paper.
pub const FORMULAS: [&[Formula]; 10] = [
    zhou2021::FORMULAS,
    dubey2021::FORMULAS,
    dubey2021_local::FORMULAS,
    shariff2018::FORMULAS,
    zheng2020::FORMULAS,
    kharkovskii2020::FORMULAS,
    han2022_tree::FORMULAS,
    han2022_choice::FORMULAS,
    bassily2020::FORMULAS,
    kusner2015::FORMULAS,
];
