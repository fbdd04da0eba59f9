//! Adds to the lists what a program brings itself.

use crate::env::EnvironmentPlan;
use crate::env::contextual::Contextual;
use crate::env::noise::Noise;
use crate::oco::learner::LearnerPlan;
use crate::policy::contextual::ContextPolicyPlan;
use crate::policy::{FeaturesPlan, PolicyPlan};
use privateer_config::params::{Args, Extensions, interned};
use privateer_gp::kernel::Kernel;
use privateer_privacy::mechanism::{OutsideBudget, OutsideEntry, OutsideMechanism};
use std::sync::Arc;

/// Holds everything that a spec can name: what this program has, and what was added.
///
/// An added name works like any other: in specs and their messages, in `list`, in reports, ledgers and audits. A name that the
/// program already has for the same kind keeps its meaning; added items of one name and kind replace each other.
///
/// Each method takes the name as written in specs, one line for listings, and a function that reads the item's keys.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    added: Extensions,
}

impl Registry {
    /// Returns what this program has.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Returns what was added.
    pub fn added(&self) -> &Extensions {
        &self.added
    }

    fn with<T: 'static>(mut self, name: &str, summary: &str, read: impl Fn(&Args<'_>) -> T + Send + Sync + 'static) -> Self {
        self.added.add(name, summary, Arc::new(read));
        self
    }

    /// Adds a mechanism that releases one reward at a time.
    ///
    /// Its ledger says "claimed by NAME, not verified", with `proof`; an audit attacks it like any other.
    ///
    /// * `proof` — where the proof can be read, in a few words
    /// * `calibrate` — makes the mechanism for a budget, or says why it cannot
    #[must_use]
    pub fn with_reward_mechanism<M: OutsideMechanism + 'static>(
        self,
        name: &str,
        summary: &str,
        proof: &str,
        calibrate: impl Fn(&OutsideBudget) -> Result<M, String> + Send + Sync + 'static,
    ) -> Self {
        let calibrate =
            move |budget: &OutsideBudget| -> Result<Box<dyn OutsideMechanism>, String> { Ok(Box::new(calibrate(budget)?)) };
        let entry = OutsideEntry { name: interned(name), proof: proof.to_owned(), calibrate: Arc::new(calibrate) };
        self.with(name, summary, move |_| entry.clone())
    }
}

macro_rules! adding {
    ($($(#[$attribute:meta])* $name:ident: $item:ident: $bound:path => $plan:ty as $make:expr;)*) => {
        impl Registry {
            $($(#[$attribute])*
            pub fn $name<$item: $bound + 'static>(
                self,
                name: &str,
                summary: &str,
                read: impl Fn(&Args<'_>) -> $item + Send + Sync + 'static,
            ) -> Self {
                self.with(name, summary, move |args| -> $plan { $make(read(args), args) })
            })*
        }
    };
}

/// Takes an item whose keys are read.
fn plan<T: Into<P>, P>(item: T, _args: &Args<'_>) -> P {
    item.into()
}

/// Takes an item of which more keys are read.
fn shared<T>(item: T, _args: &Args<'_>) -> Arc<T> {
    Arc::new(item)
}

/// Refuses further keys in the table of an item.
fn finished<T>(item: T, args: &Args<'_>) -> Arc<T> {
    args.finish();
    Arc::new(item)
}

adding! {
    /// Adds a kernel, a function of two points.
    #[must_use]
    with_kernel: K: Kernel => Arc<dyn Kernel> as finished;
    /// Adds an observation noise.
    #[must_use]
    with_noise: N: Noise => Arc<dyn Noise> as finished;
    /// Adds a policy over the points of a domain; see [`crate::policy::OwnPolicy`] for the short way.
    with_policy: P: Into<PolicyPlan> => PolicyPlan as plan;
    /// Adds a policy that chooses arms by contexts.
    with_contextual_policy: P: Into<ContextPolicyPlan> => ContextPolicyPlan as plan;
    /// Adds an environment; see [`crate::env::FnEnvironment`] for the short way.
    with_environment: E: Into<EnvironmentPlan> => EnvironmentPlan as plan;
    /// Adds an environment that shows arms to users with contexts.
    with_contextual_environment: E: Into<EnvironmentPlan<Contextual>> => EnvironmentPlan<Contextual> as plan;
    /// Adds a feature map.
    with_features: F: FeaturesPlan => Arc<dyn FeaturesPlan> as shared;
    /// Adds a learner of online convex optimization.
    with_learner: L: Into<LearnerPlan> => LearnerPlan as plan;
}
