//! What every registered thing must hold to, walking the registry: a new line there without its spec here is a failure.

mod contextual;
mod contextual_tables;
mod cuts;
pub mod environments;
mod features;
mod kernels;
mod learners;
mod mechanisms;
mod numbers;
mod parameters;
pub mod policies;
mod registry;
