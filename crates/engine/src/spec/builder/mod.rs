//! Builds sweeps in Rust: the same keys as in a spec, checked by the same code, with the same messages.
//!
//! The place of a mistake is the builder call that made it. [`SweepBuilder`] is the spec, [`Item`] any table of it;
//! `docs/reference.md` lists kinds and keys.

mod item;
mod sweep_builder;

pub use item::{Item, SettingValue};
pub use sweep_builder::SweepBuilder;
