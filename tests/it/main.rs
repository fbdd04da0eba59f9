//! Tests of the crate from outside, one file a subject.

mod conformance;
mod messages;
mod program;
mod report;
