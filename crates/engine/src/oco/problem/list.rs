//! Lists the problems of online convex optimization that a spec can name.

use super::ProblemPlan;
use super::regression::{self, Response};
use privateer_config::params::{List, Named};

pub static PROBLEMS: List<Box<ProblemPlan>> = &[
    Named::new("linear-regression", "normal features on the dual norm's unit sphere, normal noise", "Han2022", |args| {
        regression::parse(args, Response::Linear, "squared")
    }),
    Named::new("logistic-regression", "the same features, responses 0 and 1 with logistic odds", "", |args| {
        regression::parse(args, Response::Logistic, "logistic")
    }),
];
