//! Defines the policies, one file per algorithm.
//!
//! A policy is a server: it receives only [`privateer_privacy::Released`] signals, proposes a point or an exploration factor to
//! score with, and can be saved and restored. **Invariant:** a policy never sees a raw reward, the environment, a thread or a
//! device.

mod ata_gp_ucb;
mod batched_elimination;
mod batched_gp_ucb;
pub mod contextual;
mod contract;
mod expected_improvement;
mod exploration_factor;
mod feature_list;
mod feature_ucb;
mod features;
mod fixed_design;
mod gp_policy;
mod gp_ts;
mod gp_ucb;
mod igp_ucb;
mod initial;
pub mod jdp_gp_ucb;
mod jdp_linucb;
mod list;
mod mean_noise;
pub mod moma_gp_ucb;
mod noise_scale;
mod noise_spectrum;
mod nystrom_policy;
mod own;
mod phases;
mod posterior_plan;
mod problem;
mod release_rule;
mod released_facts;
mod released_inputs;
mod successive_elimination;
mod sums_policy;
mod sums_server;
mod tail_moments;
mod tgp_ucb;
mod ucb1;
mod uniform;

pub use contract::{Policy, PolicyMaker, PolicyModel, PolicyPlan, PolicyStreams, Proposal, RandomSource};
pub use exploration_factor::{ExplorationFactor, USUAL_FACTORS, USUAL_PILOT, usual_factors_and_zero};
pub use feature_list::{FEATURES, parse_features};
pub use gp_policy::{Ridge, RoundFacts};
pub use initial::Initial;
pub use list::POLICIES;
pub use mean_noise::MeanNoise;
pub use own::{
    BatchPolicy, OwnPolicy, PolicyFailure, PolicyGroup, PolicyStart, Release, SumsFeatures, ToldRelease, ToldReward, TrialFacts,
    TrialPolicy, TrialView,
};
pub use posterior_plan::PosteriorPlan;
pub use problem::{FeaturesPlan, KnownInputs, Problem, Setting, SharedInputs, TableCache};
pub use released_facts::ReleasedFacts;
pub use released_inputs::InputNoiseModel;
pub use sums_server::SumsServer;
