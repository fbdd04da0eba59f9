//! Policies from outside: an algorithm that chooses points and learns from released rewards, for one trial or for many at once.
//!
//! In reading order: what such an algorithm implements ([`TrialPolicy`], [`BatchPolicy`]), and the plan that makes it a policy
//! like any other ([`OwnPolicy`]).

mod contract;
mod group;
mod plan;
mod played;

pub use contract::{
    BatchPolicy, PolicyFailure, PolicyStart, Release, SumsFeatures, ToldRelease, ToldReward, TrialFacts, TrialPolicy, TrialView,
};
pub use group::PolicyGroup;
pub use plan::OwnPolicy;
