//! Everything that simulates: problems, policies, learners, specifications and the rounds that play them, in memory.
//!
//! Users name these items by the crate `privateer`, which gathers them. `tests/it/tidy.rs` says which room may import which.

#[doc(inline)]
pub use engine::{
    AskTell, AskTellState, Measures, Observer, Options, Preparation, Quantity, Session, Shard, Share, Simulator, SimulatorStep,
    Stop, Tally, Trace, Unit, UnitList, run, units,
};
#[doc(inline)]
pub use env::contextual::FnContexts;
#[doc(inline)]
pub use env::{DataFolder, FnEnvironment};
#[doc(inline)]
pub use oco::learner::{LearnerFailure, OwnLearner, SumsLearner, SumsStart};
#[doc(inline)]
pub use policy::{
    BatchPolicy, MeanNoise, OwnPolicy, PolicyFailure, PolicyStart, Release, SumsFeatures, ToldRelease, ToldReward, TrialFacts,
    TrialPolicy, TrialView,
};
#[doc(inline)]
pub use privateer_backend::{Backend, Counters, Cpu};
#[doc(inline)]
pub use privateer_config::error::Error;
#[doc(inline)]
pub use privateer_privacy::mechanism::{OutsideBudget, OutsideMechanism};
#[doc(inline)]
pub use registry::Registry;
#[doc(inline)]
pub use spec::{Item, SettingValue, Sweep, SweepBuilder};

/// Contracts of what a [`Registry`] can add, beyond the short forms [`OwnPolicy`] and [`FnEnvironment`].
pub mod contracts {
    #[doc(inline)]
    pub use crate::env::contextual::Contextual;
    #[doc(inline)]
    pub use crate::env::noise::Noise;
    #[doc(inline)]
    pub use crate::env::{BuildContext, Environment, EnvironmentPlan, Instance};
    #[doc(inline)]
    pub use crate::oco::learner::LearnerPlan;
    #[doc(inline)]
    pub use crate::policy::contextual::ContextPolicyPlan;
    #[doc(inline)]
    pub use crate::policy::{FeaturesPlan, PolicyPlan, Problem};
    #[doc(inline)]
    pub use privateer_config::params::Args;
    #[doc(inline)]
    pub use privateer_gp::kernel::Kernel;
}

// The rooms behind the facade: the program, its tests and examples use them, and no version keeps them as they are.
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod env;
#[doc(hidden)]
pub mod oco;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod spec;
