//! Problems: where samples come from, and how an answer is judged; one file a family.

mod contract;
mod evaluation;
pub mod regression;

pub use contract::{ProblemRegistry, Problem, ProblemContext, ProblemPlan, Stream, Trial};
pub use evaluation::{Evaluation, Score};
