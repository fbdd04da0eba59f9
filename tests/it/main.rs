//! Tests of the crate from outside, one file a subject.

mod conformance;
mod examples;
mod reference;
mod report;
mod tidy;
