//! Defines the losses of linear predictions, one file each.
//!
//! Library users can implement [`Loss`], or any `privacy::gradients::Gradient`.

mod contract;
pub mod logistic;
pub mod smoothed_absolute;
pub mod squared;

pub use contract::{LinearModel, Loss};
