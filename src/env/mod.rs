//! Problems: domain, mean reward, observation draw (sealed as `Raw`), optimum.
//!
//! **Invariant:** sees no policy.
