//! Builds sweeps in Rust: the same keys as in a spec, checked by the same code, with the same messages.
//!
//! The place of a mistake is the builder call that made it. [`SweepBuilder`] is the spec, [`Item`] any table with a `kind`; the
//! types of [`items`] are made from the lists of what this program has, with one method for each key.

mod item;
pub mod items;
mod macros;
mod sweep_builder;

pub use item::{Item, SettingValue};
pub use sweep_builder::SweepBuilder;
