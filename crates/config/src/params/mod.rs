//! Checked reading of parameters.
//!
//! A tree of values with their places in the text, and a reader that turns each key into a checked number or word, or into a
//! message with line, caret, expectation and hint.
//!
//! Kernels, mechanisms, environments and policies read their own keys through [`Args`]; unknown keys are errors. The reader also
//! records which keys exist, so that `privateer list NAME` documents them without a second list.
//!
//! **Invariant:** this module depends on no algorithm. A value from [`Args`] is valid once [`Sink::into_result`] returns `Ok`.

mod args;
mod entry;
mod extensions;
mod number;
mod scalar;
mod value;

pub use args::{Args, KeyDoc, Sink, Variant};
pub use entry::{Named, find, names};
pub use extensions::{Extension, Extensions, Items, List, ReadItem, interned};
pub use number::{Count, LARGEST, Number, SMALLEST, is_representable};
pub use scalar::Scalar;
pub use value::{Entry, Node, Table, Value};
