//! Lists the problems of online convex optimization that a spec can name.

use super::{ProblemPlan, regression};
use privateer_config::params::{List, Named};

/// Problems of online convex optimization.
pub static PROBLEMS: List<Box<ProblemPlan>> = &[
    Named {
        name: "linear-regression",
        summary: "normal features on the dual norm's unit sphere, normal noise",
        paper: "Han2022",
        build: regression::parse_linear,
    },
    Named {
        name: "logistic-regression",
        summary: "the same features, responses 0 and 1 with logistic odds",
        paper: "",
        build: regression::parse_logistic,
    },
];
