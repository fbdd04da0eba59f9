//! Defines a cell: one point of a sweep with one policy or learner.

use super::curator::CuratorPlan;
use super::interactions::InteractionPlan;
use super::online::GradientPlan;
use super::privacy::PrivacyPlan;
use super::resolved::Resolved;
use super::sweep::Swept;
use crate::env::EnvironmentPlan;
use crate::env::contextual::Contextual;
use crate::oco::learner::{LearnerPlan, Rates};
use crate::oco::problem::ProblemPlan;
use crate::policy::PolicyPlan;
use crate::policy::contextual::ContextPolicyPlan;
use privateer_config::error::{Error, Place};
use privateer_config::params::Scalar;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Describes one sweep point with one policy or learner.
#[derive(Clone)]
pub struct CellPlan {
    /// Index in canonical order.
    pub index: u32,
    pub policy: Arc<str>,
    pub swept: Swept,
    pub rounds: u64,
    pub environment: Arc<CellEnvironment>,
    pub role: Role,
    pub task: Task,
    /// The tasks among which pilot trials choose, where the exploration factor is tuned.
    pub tuning: Option<Box<Tuning>>,
    /// The factor that pilot trials chose, and their number.
    pub tuned: Option<Box<(f64, u64)>>,
    /// All parameters of the cell, including the defaults of keys that are not written.
    pub resolved: Resolved,
}

/// Identifies the environment or problem of cells.
#[derive(Clone, Debug, Default)]
pub struct CellEnvironment {
    /// Its label, the name of its random streams.
    pub label: Arc<str>,
    /// Cells with the same key have the same environment.
    pub key: Arc<str>,
    /// Its place in the spec, for mistakes that are found only when it is built.
    pub place: Option<Arc<Place>>,
    /// How often the people of the population take part; `None` where each round has a new user.
    pub people: Option<Arc<str>>,
}

/// Says why a cell is in a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The spec lists it.
    #[default]
    Listed,
    /// It plays at random, as what can be learnt is measured from there.
    Guessing,
    /// It is the policy of this label without privacy.
    WithoutPrivacy(Arc<str>),
}

#[derive(Clone)]
pub enum Task {
    Bandit(BanditPlan),
    /// A policy that shows arms to users with contexts.
    Contextual(ContextualBandit),
    Online(Box<OnlinePlan>),
}

#[derive(Clone)]
pub struct ContextualBandit {
    pub environment_plan: Arc<EnvironmentPlan<Contextual>>,
    pub privacy: Arc<InteractionPlan>,
    pub policy_plan: Arc<ContextPolicyPlan>,
}

#[derive(Clone)]
pub struct BanditPlan {
    pub environment_plan: Arc<EnvironmentPlan>,
    pub privacy: Arc<PrivacyPlan>,
    /// The curator that releases the inputs; `None` if the policy sees the inputs themselves.
    pub curator: Option<Arc<CuratorPlan>>,
    pub policy_plan: Arc<PolicyPlan>,
}

impl CellPlan {
    /// Returns the data files that the cell's environment reads, as the spec names them.
    pub fn data_files(&self) -> &[String] {
        match &self.task {
            Task::Bandit(plan) => &plan.environment_plan.data_files,
            Task::Contextual(plan) => &plan.environment_plan.data_files,
            Task::Online(_) => &[],
        }
    }

    pub fn label(&self) -> String {
        cell_label(&self.policy, &self.swept.values())
    }

    /// Adds the environment's place to an error of this cell's preparation that has no place.
    ///
    /// An error that states what was expected concerns a file or an option, and is left unchanged.
    pub fn placed(&self, error: Error) -> Error {
        let Error::Input(mut diagnostics) = error else { return error };
        for diagnostic in diagnostics.iter_mut().filter(|found| found.place.is_none() && found.expected.is_none()) {
            diagnostic.place = self.environment.place.as_deref().cloned().map(Box::new);
        }
        Error::Input(diagnostics)
    }
}

/// Returns the label of a cell, for example "tgp-ucb · privacy.epsilon = 0.5".
pub fn cell_label(policy: &str, swept: &[(Arc<str>, Scalar)]) -> String {
    let mut label = policy.to_owned();
    for (key, value) in swept {
        label.push_str(&format!(" · {key} = {value}"));
    }
    label
}

/// Holds the policies among which pilot trials choose.
#[derive(Clone)]
pub struct Tuning {
    /// Number of pilot trials of each candidate.
    pub pilot: u64,
    /// The factors, each with the cell's task at it.
    pub candidates: Vec<(f64, Task)>,
}

#[derive(Clone)]
pub struct OnlinePlan {
    pub problem: Arc<ProblemPlan>,
    pub learner: Arc<LearnerPlan>,
    pub rates: Rates,
    pub privacy: Arc<GradientPlan>,
}

impl OnlinePlan {
    /// Returns the same learner with the same request, on another problem at stated rates.
    pub fn on(&self, problem: Arc<ProblemPlan>, rates: Rates) -> Self {
        Self { problem, rates, ..self.clone() }
    }
}
