//! Defines the problems (domain, mean reward, observations, optimum), one file per environment.
//!
//! **Invariant:** an environment never sees a policy, and returns observations only sealed (as [`privateer_privacy::Raw`]).

pub mod arms_table;
mod bad_reward;
pub mod contextual;
mod contract;
pub mod csv_table;
mod curated;
mod data_derived;
mod domain;
mod fn_environment;
mod function;
pub mod gp_sample;
pub mod list;
pub mod noise;
pub mod points_table;
pub mod rkhs;
mod sets;
mod synthetic;
pub mod test_function;
mod value_units;

pub(crate) use bad_reward::catch_bad_reward;
pub use contract::{BuildContext, DataFolder, Environment, EnvironmentPlan, Instance, RegretUnit, similar_file};
pub use curated::CuratedLedger;
pub use data_derived::{DataDerived, DeclaredPublic, DerivedNumbers};
pub use domain::DomainPlan;
pub use fn_environment::FnEnvironment;
pub use sets::{Sets, SetsPlan};
pub use value_units::ValueUnits;
