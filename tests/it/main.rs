//! Tests of the crate from outside, one file a subject.

mod accountants;
mod audit;
mod bench;
mod commands;
mod conformance;
mod contract;
mod devices;
mod examples;
mod identity;
mod long_runs;
mod mechanisms;
mod messages;
mod outsourced;
mod printed;
mod program;
mod reference;
mod released_images;
mod report;
mod roads;
mod sensors;
mod sessions;
mod support;
mod tidy;
mod two_parties;
