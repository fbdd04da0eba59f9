//! Defines the problems: the samples' source and the evaluation of answers; one file per family.

mod contract;
mod evaluation;
mod list;
mod regression;

pub use contract::{Problem, ProblemContext, ProblemPlan, Trial};
pub use evaluation::{Evaluation, Score};
pub use list::PROBLEMS;
