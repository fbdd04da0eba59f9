//! Tests of the crate from outside, one file a subject.

mod conformance;
mod contract;
mod identity;
mod report;
mod sensors;
mod support;
