//! One type for each item that a spec can name.

mod methods;
mod problems;

pub use methods::*;
pub use problems::*;
