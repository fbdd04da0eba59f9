//! Typed reading of keys, and the messages for errors in them.
//!
//! [`params`] turns a tree of values with their places in the text into checked numbers and words; [`error`] holds
//! diagnostics with file, line, caret, expectation and hint, and the exit codes; [`facts`] states what manifests record of
//! problems and policies; [`input`] reads the files that users name,
//! and [`memory`] asks before large objects are made.

pub mod error;
pub mod facts;
pub mod input;
pub mod memory;
pub mod params;
