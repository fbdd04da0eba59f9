//! Lists all registered items with the keys that they read.

use super::{
    CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, CURATORS, ENVIRONMENTS, FEATURES, GRADIENT_NOISES, KERNELS, KernelBuild,
    LEARNERS, LOSSES, MECHANISMS, NOISES, POLICIES, PROBLEMS, Registry, SETS, SUMS,
};
use crate::env::Population;
use crate::oco::learner::Rates;
use privateer_config::error::Sources;
use privateer_config::params::{Args, KeyDoc, List, Sink};
use privateer_gp::kernel::Kernel;
use privateer_privacy::mechanism::OutsideEntry;
use serde::Serialize;
use std::sync::Arc;

/// Describes one listed item with the keys it reads.
#[derive(Debug, Clone, Serialize)]
pub struct Kind {
    pub name: &'static str,
    /// One line that describes it.
    pub summary: &'static str,
    /// Key of its paper, or empty.
    pub paper: &'static str,
    pub keys: Vec<KeyDoc>,
}

type Items = fn(&Registry) -> Vec<Kind>;

const KINDS: [(&str, Items); 14] = [
    ("environment", |registry| each(registry, ENVIRONMENTS, population)),
    ("contextual-environment", |registry| each(registry, CONTEXTUAL_ENVIRONMENTS, population)),
    ("kernel", kernels),
    ("noise", |registry| each(registry, NOISES, |_| ())),
    ("mechanism", mechanisms),
    ("curator", |_| CURATORS.iter().map(|entry| without_keys((entry.name, entry.summary, entry.paper))).collect()),
    ("policy", |registry| each(registry, POLICIES, |_| ())),
    ("contextual-policy", |registry| each(registry, CONTEXTUAL_POLICIES, |_| ())),
    ("features", |registry| each(registry, FEATURES, |_| ())),
    ("problem", |registry| each(registry, PROBLEMS, population)),
    ("set", |registry| each(registry, SETS, |_| ())),
    ("loss", |registry| each(registry, LOSSES, |_| ())),
    ("gradient-noise", |_| GRADIENT_NOISES.iter().map(|entry| without_keys((entry.name, entry.summary, entry.paper))).collect()),
    ("learner", |registry| each(registry, LEARNERS, |args| drop(Rates::parse(args)))),
];

/// Reads the keys that all environments and problems share.
fn population(args: &Args<'_>) {
    let _ = Population::parse(args);
}

/// Returns the kinds that can be listed, in the order of a spec.
pub fn kinds() -> [&'static str; 14] {
    KINDS.map(|(kind, _)| kind)
}

/// Returns all items of one kind, with the keys that each reads; empty for an unknown kind.
pub fn documentation(registry: &Registry, kind: &str) -> Vec<Kind> {
    KINDS.iter().find(|(known, _)| *known == kind).map_or_else(Vec::new, |(_, items)| items(registry))
}

fn kernels(registry: &Registry) -> Vec<Kind> {
    let own = KERNELS.iter().map(|entry| {
        registry.kind((entry.name, entry.summary, entry.paper), |args| match entry.build {
            KernelBuild::Function(build) => drop(build(args)),
            KernelBuild::Composed(build) => drop(build(args)),
            KernelBuild::Empirical(build) => drop(build(args)),
        })
    });
    own.chain(each::<Arc<dyn Kernel>>(registry, &[], |_| ())).collect()
}

fn mechanisms(registry: &Registry) -> Vec<Kind> {
    MECHANISMS
        .iter()
        .map(|entry| (entry.name, entry.summary, entry.paper))
        // `none` serves both kinds, so it is listed once.
        .chain(SUMS.iter().filter(|entry| entry.name != "none").map(|entry| (entry.name, entry.summary, entry.paper)))
        .chain(registry.added().of::<OutsideEntry>().map(|item| (item.name, item.summary, "")))
        .map(without_keys)
        .collect()
}

/// Reads each item of a list from an empty table: the keys that it reads are its documentation.
///
/// * `more` — reads the keys that all items of the kind share
fn each<T: 'static>(registry: &Registry, list: List<T>, more: impl Fn(&Args<'_>)) -> Vec<Kind> {
    let facts = list.iter().map(|entry| (entry.name, entry.summary, entry.paper));
    facts
        .chain(registry.added().of::<T>().map(|item| (item.name, item.summary, "")))
        .map(|facts| {
            registry.kind(facts, |args| {
                drop(args.items(list).read(facts.0, args));
                more(args);
            })
        })
        .collect()
}

type Facts = (&'static str, &'static str, &'static str);

/// Returns an item whose keys are those of a table that reads it.
fn without_keys((name, summary, paper): Facts) -> Kind {
    Kind { name, summary, paper, keys: Vec::new() }
}

impl Registry {
    /// Returns the keys that `read` asks for.
    pub(crate) fn documented(&self, read: impl FnOnce(&Args<'_>)) -> Vec<KeyDoc> {
        let sink = Sink::new(Sources::default()).with_added(self.added().clone());
        let args = Args::dry(&sink);
        read(&args);
        args.documented()
    }

    fn kind(&self, facts: Facts, read: impl FnOnce(&Args<'_>)) -> Kind {
        Kind { keys: self.documented(read), ..without_keys(facts) }
    }
}
