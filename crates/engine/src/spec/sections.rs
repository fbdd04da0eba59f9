//! Holds the sections of cells as they are read, and keeps them for other sweep points: most points share most sections.

use super::interactions::InteractionPlan;
use super::online::GradientPlan;
use super::privacy::PrivacyPlan;
use super::sweep::SweepPoints;
use super::written::PartRead;
use crate::env::contextual::Contextual;
use crate::env::{EnvironmentPlan, Population};
use crate::oco::learner::{LearnerPlan, Rates};
use crate::oco::problem::ProblemPlan;
use crate::policy::PolicyPlan;
use crate::policy::contextual::ContextPolicyPlan;
use privateer_config::facts::FactValue;
use privateer_config::params::{Sink, Table};
use privateer_privacy::accounting::sensitivity::Participation;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Holds a part of a cell over points of a domain, with users and their contexts, or of a learner.
#[derive(Clone)]
pub(super) enum OfKind<P, C, L> {
    Points(P),
    Contextual(C),
    Online(L),
}

pub(super) type PlanSetting = OfKind<Arc<EnvironmentPlan>, Arc<EnvironmentPlan<Contextual>>, Arc<ProblemPlan>>;
pub(super) type Chooser = OfKind<Arc<PolicyPlan>, Arc<ContextPolicyPlan>, (Arc<LearnerPlan>, Rates)>;
pub(super) type PrivacySetting = OfKind<Arc<PrivacyPlan>, Arc<InteractionPlan>, Arc<GradientPlan>>;

/// Values of keys that are not written, by their paths.
pub(super) type Defaults = BTreeMap<String, String>;

/// Holds one of the sections of a cell that is not its environment.
#[derive(Clone)]
pub(super) struct SectionRead<T> {
    pub(super) plan: T,
    pub(super) written: Arc<FactValue>,
    pub(super) defaults: Arc<Defaults>,
}

/// An environment of either kind with its population, if it has one.
pub(super) type PlanWithPeople = (PlanSetting, Option<Population>);

/// Says how often people of a population take part in a cell's rounds.
#[derive(Clone, Default)]
pub(super) struct People {
    pub(super) participation: Participation,
    /// The same in words; `None` where each round has a new user.
    pub(super) words: Option<Arc<str>>,
}

/// Holds the environment of a sweep point: its section, its JSON and, unless it has a mistake, its plan.
#[derive(Clone)]
pub(super) struct EnvironmentRead {
    pub(super) section: Arc<FactValue>,
    pub(super) json: Arc<str>,
    pub(super) read: Option<Arc<PartRead<PlanWithPeople>>>,
    pub(super) defaults: Arc<Defaults>,
}

/// Holds a policy of the list, without what protects it.
pub(super) struct PolicyRead {
    pub(super) kind: String,
    /// The path of its table in messages.
    pub(super) path: String,
    pub(super) label: Arc<str>,
    pub(super) chooser: Chooser,
    /// Tables `privacy` and `curator` of its own.
    pub(super) owns: [bool; 2],
    pub(super) table: Table,
    /// Pilot trials, and the policy at each factor among which they choose.
    pub(super) tuning: Option<(u64, Vec<(f64, Chooser)>)>,
}

/// Numbers of a sweep point that two points share exactly where they have the same values of the keys below one top-level key.
#[derive(Clone, Copy, Default)]
pub(super) struct PointKeys {
    pub(super) rounds: u64,
    pub(super) environment: u64,
    pub(super) privacy: u64,
    pub(super) curator: u64,
    pub(super) policy: u64,
}

impl PointKeys {
    /// * `environment`, `policy` — the keys of the spec under which these stand
    pub(super) fn of(points: &SweepPoints, number: usize, (environment, policy): (&str, &str)) -> Self {
        let key = |section| points.section_key(number, section);
        let [rounds, environment, privacy, curator, policy] = ["rounds", environment, "privacy", "curator", policy].map(key);
        Self { rounds, environment, privacy, curator, policy }
    }
}

/// Most sections of a kind that are kept.
const MOST_KEPT: usize = 1 << 17;

/// Keeps sections that were read without a mistake: sweep points share most of them.
pub(super) struct Sections<K, T> {
    known: RefCell<BTreeMap<K, T>>,
    /// Whether each sweep point has its own section, so that none is kept.
    are_apart: Cell<bool>,
}

impl<K, T> Default for Sections<K, T> {
    fn default() -> Self {
        Self { known: RefCell::default(), are_apart: Cell::default() }
    }
}

impl<K, T> Sections<K, T> {
    /// Keeps no section where each sweep point has its own values of the keys below a top-level key.
    pub(super) fn of_points(&self, points: &SweepPoints, section: &str) {
        self.are_apart.set(points.n_of(section) == points.len());
    }
}

impl<K: Ord, T: Clone> Sections<K, T> {
    /// Returns the section of a key, which is read if it is not kept; `None` after a mistake.
    pub(super) fn of(&self, sink: &Sink, key: K, read: impl FnOnce() -> Option<T>) -> Option<T> {
        if let Some(known) = self.known.borrow().get(&key) {
            return Some(known.clone());
        }
        let n_mistakes = sink.n_mistakes();
        let read = read()?;
        if sink.n_mistakes() == n_mistakes && !self.are_apart.get() {
            let mut known = self.known.borrow_mut();
            if MOST_KEPT <= known.len() {
                known.clear();
            }
            known.insert(key, read.clone());
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::{Sweep, Task};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    const SPEC: &str = "rounds = 5\ntrials = 1\nreferences = false\n[environment]\nkind = \"rkhs\"\n\
        domain = { kind = \"grid\", points = 9 }\nkernel = { kind = \"squared-exponential\", lengthscale = 0.2 }\n\
        noise = { kind = \"gaussian\", sd = 0.1 }\n[privacy]\nclip = [-1.0, 1.0]\nepsilon = 1.0\n\
        [[policy]]\nkind = \"igp-ucb\"\n[[policy]]\nkind = \"tgp-ucb\"\nprivacy = { epsilon = 3.0 }\n";

    /// Numbers of environments, policies, requests and sections of policies that the cells of a sweep share.
    fn distinct(sweep: &str) -> [usize; 5] {
        let sweep = Sweep::parse("t.toml", &format!("{SPEC}[sweep.product]\n{sweep}"), &[]).expect("a sweep");
        let mut found = [(); 4].map(|()| BTreeSet::new());
        for cell in sweep.cells.iter() {
            let Task::Bandit(task) = &cell.task else { panic!("a bandit") };
            found[0].insert(Arc::as_ptr(&task.environment_plan).addr());
            found[1].insert(Arc::as_ptr(&task.policy_plan).addr());
            found[2].insert(Arc::as_ptr(&task.privacy).addr());
            found[3].insert(std::ptr::from_ref(&cell.resolved["policy"]).addr());
        }
        let [environments, policies, requests, sections] = found.map(|found| found.len());
        [sweep.cells.len(), environments, policies, requests, sections]
    }

    /// Sweeps have many cells: of 10^6 there are two swept keys, a few hundred bytes and no list of values each.
    #[test]
    fn cells_of_a_large_sweep_are_small() {
        assert!(size_of::<super::super::CellPlan>() <= 200, "{}", size_of::<super::super::CellPlan>());
        let numbers = |n: usize, from: f64| (0..n).map(|i| (from + i as f64).to_string() + ".5").collect::<Vec<_>>().join(", ");
        let sweep = |n: usize, other: &str| {
            let keys = format!("\"privacy.epsilon\" = [{}]\n\"{other}\" = [{}]\n", numbers(n, 1.0), numbers(n, 1.0));
            Sweep::parse("t.toml", &format!("{SPEC}[sweep.product]\n{keys}"), &[])
        };
        let large = sweep(400, "environment.noise.sd").expect("160 000 points");
        assert_eq!(large.cells.len(), 320_000);
        // The cells of a sweep point name it; its values are those of the axes.
        let last = &large.cells[319_998];
        assert_eq!(last.label(), "igp-ucb · privacy.epsilon = 400.5 · environment.noise.sd = 400.5");
        assert!(Arc::ptr_eq(&last.environment, &large.cells[798].environment));
        // Each combination of keys of one section is read, so these are fewer.
        let refused = sweep(400, "privacy.clip_failure").map(drop).expect_err("one section").to_string();
        assert!(refused.contains("160000 combinations of keys of `privacy`"), "{refused}");
    }

    /// A section is read once for each combination of the values that it has itself.
    #[test]
    fn cells_share_the_sections_that_are_the_same() {
        assert_eq!(distinct("\"privacy.epsilon\" = [1.0, 2.0, 4.0]\n"), [6, 1, 2, 6, 2]);
        let both = "\"environment.noise.sd\" = [0.1, 0.2]\n\"privacy.epsilon\" = [1.0, 2.0, 4.0]\n";
        assert_eq!(distinct(both), [12, 2, 2, 6, 2]);
        // The second policy has a request of its own, which follows the policy.
        let ridges = "\"privacy.epsilon\" = [1.0, 2.0, 4.0]\n\"policy.*.ridge\" = [0.1, 0.2, 0.3, 0.4]\n";
        assert_eq!(distinct(ridges), [24, 1, 8, 15, 8]);
    }
}
