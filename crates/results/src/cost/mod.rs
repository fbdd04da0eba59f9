//! Asks what privacy costs on one problem: from a table or a function to a spec, whose report answers.
//!
//! In reading order: which columns of a table are inputs (`columns`), which of its values mislead
//! (`notes`), the problem (`problem`) and on how many points it is played (`sizes`), the spec
//! (`question`), the run and its answer (`answer`); which policies do best there (`contest`), and by
//! how much (`best`).
//! **Invariant:** the spec is all that a run needs.

mod answer;
mod best;
mod columns;
mod contest;
mod notes;
mod problem;
mod question;
mod sizes;
mod trust;

pub use answer::{Asked, Asking, CostAnswer, CostOfBudget, CostOptions, MOST_USERS, WrittenQuestion, share, write_question};
pub use best::{BestAnswer, BestRow, brief};
pub use contest::{Contest, Contestant};
pub use problem::{CostProblem, ProblemOptions, of_arms, of_function, of_spec, of_table};
pub use question::CostQuestion;
pub use trust::Trust;
