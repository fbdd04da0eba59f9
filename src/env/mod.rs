//! Problems: domain, mean reward, observation draw (sealed as [`privateer_privacy::Raw`]), optimum; one file each.
//!
//! **Invariant:** sees no policy, and hands out observations only sealed.

pub mod arms_table;
pub mod contextual;
mod contract;
pub mod csv_table;
mod curated;
mod data_derived;
mod domain;
mod function;
pub mod gp_sample;
pub mod noise;
pub mod points_table;
pub mod rkhs;
mod sets;
mod synthetic;
pub mod test_function;

pub use contract::{
    BuildContext, DataFolder, Environment, EnvironmentPlan, EnvironmentRegistry, Instance, KernelChoice, RegretUnit,
};
pub use curated::CuratedLedger;
pub use data_derived::{DataDerived, DeclaredPublic, DerivedNumbers};
pub use domain::DomainPlan;
pub use sets::{Sets, SetsPlan};
