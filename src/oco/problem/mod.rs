//! Problems: the source of the samples and the evaluation of an answer; one file per family.

mod contract;
mod evaluation;
pub mod regression;

pub use contract::{Parts, Problem, ProblemContext, ProblemPlan, Stream, Trial};
pub use evaluation::{Evaluation, Score};
