//! Lists all registered items with the keys that they read.

use super::{
    CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, CURATORS, ENVIRONMENTS, FEATURES, GRADIENT_NOISES, KERNELS, KernelBuild,
    LEARNERS, LOSSES, MECHANISMS, NOISES, POLICIES, PROBLEMS, SETS, SUMS,
};
use crate::oco::learner::Rates;
use privateer_config::error::Sources;
use privateer_config::params::{Args, KeyDoc, Named, Sink};

/// Describes one listed item with the keys it reads.
#[derive(Debug, Clone)]
pub struct Kind {
    /// The item's name.
    pub name: &'static str,
    /// One line that describes it.
    pub summary: &'static str,
    /// Key of its paper, or empty.
    pub paper: &'static str,
    /// The keys it reads.
    pub keys: Vec<KeyDoc>,
}

/// Returns the kinds that can be listed, in the order of a spec.
#[must_use]
pub fn kinds() -> [&'static str; 14] {
    [
        "environment",
        "contextual-environment",
        "kernel",
        "noise",
        "mechanism",
        "curator",
        "policy",
        "contextual-policy",
        "features",
        "problem",
        "set",
        "loss",
        "gradient-noise",
        "learner",
    ]
}

/// Returns all items of one kind, with the keys that each reads; empty for an unknown kind.
#[must_use]
pub fn documentation(kind: &str) -> Vec<Kind> {
    match kind {
        "environment" => each(ENVIRONMENTS, |entry, args| drop((entry.build)(args))),
        "contextual-environment" => each(CONTEXTUAL_ENVIRONMENTS, |entry, args| drop((entry.build)(args))),
        "contextual-policy" => each(CONTEXTUAL_POLICIES, |entry, args| drop((entry.build)(args))),
        "kernel" => each(KERNELS, |entry, args| match entry.build {
            KernelBuild::Function(build) => drop(build(args)),
            KernelBuild::Composed(build) => drop(build(args)),
            KernelBuild::Empirical(build) => {
                build(args);
            }
        }),
        "noise" => NOISES
            .iter()
            .map(|entry| {
                let sink = Sink::new(Sources::default());
                let args = Args::dry(&sink);
                (entry.parse)(&args);
                Kind { name: entry.name, summary: entry.summary, paper: "", keys: args.documented() }
            })
            .collect(),
        "policy" => each(POLICIES, |entry, args| drop((entry.build)(args))),
        "features" => each(FEATURES, |entry, args| drop((entry.build)(args))),
        "mechanism" => MECHANISMS
            .iter()
            .map(|entry| (entry.name, entry.summary, entry.paper))
            // `none` serves both kinds, so it is listed once.
            .chain(SUMS.iter().filter(|entry| entry.name != "none").map(|entry| (entry.name, entry.summary, entry.paper)))
            .map(|(name, summary, paper)| Kind { name, summary, paper, keys: Vec::new() })
            .collect(),
        "curator" => CURATORS
            .iter()
            .map(|entry| Kind { name: entry.name, summary: entry.summary, paper: entry.paper, keys: Vec::new() })
            .collect(),
        "problem" => each(PROBLEMS, |entry, args| drop((entry.build)(args))),
        "set" => each(SETS, |entry, args| drop((entry.build)(args))),
        "loss" => each(LOSSES, |entry, args| drop((entry.build)(args))),
        "gradient-noise" => each(GRADIENT_NOISES, |_, _| ()),
        "learner" => each(LEARNERS, |entry, args| {
            drop((entry.build)(args));
            drop(Rates::parse(args));
        }),
        _ => Vec::new(),
    }
}

/// Parses an empty table with each parser: the keys it reads are its documentation.
fn each<B>(entries: &'static [Named<B>], parse: impl Fn(&Named<B>, &Args<'_>)) -> Vec<Kind> {
    let sink = Sink::new(Sources::default());
    entries
        .iter()
        .map(|entry| {
            let args = Args::dry(&sink);
            parse(entry, &args);
            Kind { name: entry.name, summary: entry.summary, paper: entry.paper, keys: args.documented() }
        })
        .collect()
}
