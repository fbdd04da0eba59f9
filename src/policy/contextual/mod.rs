//! Contextual policies: one file per algorithm.
//!
//! A user comes with a context, and the policy shows one of K arms. **Invariant:** [`ContextPolicy::choose`] cannot keep anything of
//! a context; what a policy knows it has from released signals.

mod arm_models;
mod contract;
pub mod dp_hdb;
pub mod dp_linucb;
pub mod epsilon_greedy;
pub mod lasso_bandit;
pub mod linucb;
pub mod random_arm;

pub use contract::{ContextPolicy, ContextPolicyBuild, ContextPolicyMaker, ContextPolicyPlan, Scratch};
