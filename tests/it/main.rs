//! Tests of the crate from outside, one file a subject.

mod conformance;
mod contract;
mod examples;
mod identity;
mod reference;
mod report;
mod sensors;
mod support;
mod tidy;
