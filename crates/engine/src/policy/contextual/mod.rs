//! Defines the contextual policies, one file per algorithm.
//!
//! A user comes with a context, and the policy shows one of K arms. **Invariant:** [`ContextPolicy::choose`] cannot store
//! anything of a context; all that a policy knows comes from released signals.

mod arm_models;
mod contract;
pub mod dp_hdb;
pub mod dp_linucb;
pub mod epsilon_greedy;
pub mod lasso_bandit;
pub mod linucb;
mod list;
pub mod random_arm;

pub use contract::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, PreparedContextual, Scratch};
pub use list::CONTEXTUAL_POLICIES;
