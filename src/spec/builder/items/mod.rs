//! One type for each item that a spec can name.

mod online;
mod policies;
mod privacy;
mod problems;

pub use online::*;
pub use policies::*;
pub use privacy::*;
pub use problems::*;
