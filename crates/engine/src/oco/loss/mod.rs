//! Defines the losses of linear predictions, one file each.
//!
//! Library users can implement [`Loss`], or any `privacy::gradients::Gradient`.

mod contract;
mod list;
pub(super) mod logistic;
mod smoothed_absolute;
pub mod squared;

pub use contract::{LinearModel, Loss};
pub use list::{LOSSES, parse_loss};
