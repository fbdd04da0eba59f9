//! Defines the problems: the samples' source and the evaluation of answers; one file per family.

mod contract;
mod evaluation;
pub mod regression;

pub use contract::{Problem, ProblemContext, ProblemPlan, ProblemRegistry, Stream, Trial};
pub use evaluation::{Evaluation, Score};
