//! Asks what privacy costs on one problem: from a table or a function to a spec, and from its results to one sentence and a chart.
//!
//! In reading order: which columns of a table are inputs (`columns`), the problem (`problem`), the spec (`question`), the answer
//! (`answer`). **Invariant:** the spec is all that a run needs; the answer is a function of the run's summary.

mod answer;
mod columns;
mod problem;
mod question;

pub use answer::{BudgetAnswer, CostAnswer};
pub use columns::ChosenColumns;
pub use problem::{CostProblem, FunctionQuestion, PointsQuestion, of_arms, of_function, of_spec, of_table};
pub use question::{CostQuestion, Trust};
