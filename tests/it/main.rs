//! Tests of the crate from outside, one file a subject.

mod conformance;
mod long_runs;
mod messages;
mod program;
mod report;
