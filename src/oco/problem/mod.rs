//! Problems: where samples come from, and how an answer is judged; one file a family.

mod contract;
mod evaluation;
pub mod regression;

pub use contract::{Problem, ProblemContext, ProblemPlan, ProblemRegistry, Stream, Trial};
pub use evaluation::{Evaluation, Score};
