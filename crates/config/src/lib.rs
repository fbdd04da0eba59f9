//! Typed reading of keys and the messages that a mistake in them gets.
//!
//! [`params`] turns a tree of values that remember their place in the text into checked numbers and words;
//! [`error`] holds diagnostics with file, line, caret, expectation and hint, and the exit codes.

pub mod error;
pub mod params;
