//! Lists the problems of online convex optimization that a spec can name.

use super::{ProblemPlan, regression};
use privateer_config::params::{List, Named};

pub static PROBLEMS: List<Box<ProblemPlan>> = &[
    Named::new(
        "linear-regression",
        "normal features on the dual norm's unit sphere, normal noise",
        "Han2022",
        regression::parse_linear,
    ),
    Named::new("logistic-regression", "the same features, responses 0 and 1 with logistic odds", "", regression::parse_logistic),
];
