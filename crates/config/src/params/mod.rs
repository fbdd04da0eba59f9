//! Checked reading of parameters: a tree of values that remember where the user wrote them, and a reader that turns
//! each key into a checked number or word, or into a message with line, caret, expectation and hint.
//!
//! Kernels, mechanisms, environments and policies read their own keys through [`Args`]; unknown keys are errors. The
//! reader also records which keys exist, so that `privateer list NAME` documents them without a second list.
//!
//! **Invariant:** knows no algorithm; a value that leaves [`Args`] after [`Sink::into_result`] said yes is valid.

mod args;
mod number;
mod scalar;
mod value;

pub use args::{Args, KeyDoc, Sink, Variant};
pub use number::{Count, Number};
pub use scalar::Scalar;
pub use value::{Entry, Node, Table, Value};
