//! Tests what a program adds to the lists: the same contracts that this program's own items keep.
//!
//! Each function runs small sweeps and returns every broken promise as one sentence.

mod environment;
mod policy;
mod runs;

pub use environment::environment_contract;
pub use policy::policy_contract;
