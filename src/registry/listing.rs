//! Lists all registered items with the keys that they read.

use super::{
    CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, CURATORS, ENVIRONMENTS, FEATURES, GRADIENT_NOISES, KERNELS, KernelBuild,
    LEARNERS, LOSSES, MECHANISMS, NOISES, POLICIES, PROBLEMS, Registry, SETS, SUMS,
};
use crate::oco::learner::Rates;
use privateer_config::error::Sources;
use privateer_config::params::{Args, KeyDoc, List, Sink};
use privateer_gp::kernel::Kernel;
use privateer_privacy::mechanism::OutsideEntry;
use std::sync::Arc;

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
pub fn documentation(registry: &Registry, kind: &str) -> Vec<Kind> {
    match kind {
        "environment" => each(registry, ENVIRONMENTS, |_| ()),
        "contextual-environment" => each(registry, CONTEXTUAL_ENVIRONMENTS, |_| ()),
        "contextual-policy" => each(registry, CONTEXTUAL_POLICIES, |_| ()),
        "kernel" => {
            let own = KERNELS.iter().map(|entry| {
                documented(registry, (entry.name, entry.summary, entry.paper), |args| match entry.build {
                    KernelBuild::Function(build) => drop(build(args)),
                    KernelBuild::Composed(build) => drop(build(args)),
                    KernelBuild::Empirical(build) => drop(build(args)),
                })
            });
            own.chain(each::<Arc<dyn Kernel>>(registry, &[], |_| ())).collect()
        }
        "noise" => each(registry, NOISES, |_| ()),
        "policy" => each(registry, POLICIES, |_| ()),
        "features" => each(registry, FEATURES, |_| ()),
        "mechanism" => MECHANISMS
            .iter()
            .map(|entry| (entry.name, entry.summary, entry.paper))
            // `none` serves both kinds, so it is listed once.
            .chain(SUMS.iter().filter(|entry| entry.name != "none").map(|entry| (entry.name, entry.summary, entry.paper)))
            .chain(registry.added().of::<OutsideEntry>().map(|item| (item.name, item.summary, "")))
            .map(|(name, summary, paper)| Kind { name, summary, paper, keys: Vec::new() })
            .collect(),
        "curator" => CURATORS
            .iter()
            .map(|entry| Kind { name: entry.name, summary: entry.summary, paper: entry.paper, keys: Vec::new() })
            .collect(),
        "problem" => each(registry, PROBLEMS, |_| ()),
        "set" => each(registry, SETS, |_| ()),
        "loss" => each(registry, LOSSES, |_| ()),
        "gradient-noise" => GRADIENT_NOISES
            .iter()
            .map(|entry| Kind { name: entry.name, summary: entry.summary, paper: entry.paper, keys: Vec::new() })
            .collect(),
        "learner" => each(registry, LEARNERS, |args| drop(Rates::parse(args))),
        _ => Vec::new(),
    }
}

/// Reads each item of a list from an empty table: the keys that it reads are its documentation.
///
/// * `more` — reads the keys that all items of the kind share
fn each<T: 'static>(registry: &Registry, list: List<T>, more: impl Fn(&Args<'_>)) -> Vec<Kind> {
    let facts = list.iter().map(|entry| (entry.name, entry.summary, entry.paper));
    facts
        .chain(registry.added().of::<T>().map(|item| (item.name, item.summary, "")))
        .map(|facts| {
            documented(registry, facts, |args| {
                drop(args.items(list).read(facts.0, args));
                more(args);
            })
        })
        .collect()
}

/// Returns an item with the keys that `read` asks for.
fn documented(registry: &Registry, facts: (&'static str, &'static str, &'static str), read: impl Fn(&Args<'_>)) -> Kind {
    let sink = Sink::new(Sources::default()).with_added(registry.added().clone());
    let args = Args::dry(&sink);
    read(&args);
    let (name, summary, paper) = facts;
    Kind { name, summary, paper, keys: args.documented() }
}
