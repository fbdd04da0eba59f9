//! Tests of the crate from outside, one file a subject.

mod commands;
mod conformance;
mod long_runs;
mod messages;
mod program;
mod report;
