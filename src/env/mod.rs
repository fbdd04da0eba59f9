//! Problems: domain, mean reward, observation draw (sealed as `Raw`), optimum.
//!
//! **Invariant:** sees no policy.

pub mod csv_table;
pub mod noise;
