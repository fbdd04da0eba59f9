//! Defines the problems (domain, mean reward, observations, optimum), one file per environment.
//!
//! **Invariant:** an environment never sees a policy, and returns observations only sealed (as [`privateer_privacy::Raw`]).

mod arms_table;
mod bad_reward;
pub mod contextual;
mod contract;
pub mod csv_table;
mod curated;
mod data_derived;
mod data_folder;
mod domain;
mod fn_environment;
mod function;
mod gp_sample;
mod instance;
pub mod list;
mod mean_range;
pub mod noise;
mod points_table;
mod population;
mod replicates;
mod rkhs;
mod sets;
mod synthetic;
pub mod test_function;
mod value_units;

pub(crate) use bad_reward::{BadReward, catch_bad_reward};
pub use contract::{BuildContext, Environment, EnvironmentPlan, KernelSums};
pub use curated::CuratedLedger;
pub use data_derived::{DataDerived, DeclaredPublic, DerivedNumbers};
pub use data_folder::DataFolder;
pub use domain::DomainPlan;
pub use fn_environment::FnEnvironment;
pub use instance::{Instance, RegretUnit};
pub use mean_range::MeanRange;
pub use population::Population;
pub use replicates::Replicates;
pub use sets::{Sets, SetsPlan};
pub use value_units::ValueUnits;
