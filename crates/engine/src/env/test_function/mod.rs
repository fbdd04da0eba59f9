//! Defines test functions of global optimization with their exact optima, one file each.

pub mod ackley;
pub mod branin;
pub mod camelback;
mod environment;
pub mod hartmann;
pub mod levy;
pub mod michalewicz;
mod shape;
pub mod styblinski_tang;

pub use super::domain::Sizes;
pub use environment::TestEnvironment;
pub use shape::{Form, TestFunction};
