//! Turns TOML into a checked sweep: parsing with places, overrides, swept keys, order of cells.
//!
//! All mistakes of a file are reported together. **Invariant:** accesses no file and no device; every sweep that it returns is
//! valid.

pub mod builder;
mod cell;
mod curator;
mod interactions;
mod listing;
mod misleading;
mod online;
mod parse;
mod parts;
mod path;
mod places;
mod plan;
mod privacy;
mod read;
mod reader;
mod recorded;
mod references;
mod resolved;
mod run_keys;
mod sections;
mod sweep;
mod tuning;
mod wildcard;
mod written;

pub use builder::{Item, SettingValue, SweepBuilder};
pub use cell::{BanditPlan, CellEnvironment, CellPlan, ContextualBandit, OnlinePlan, Role, Task, Tuning, cell_label};
pub use curator::CuratorPlan;
pub use interactions::{INTERACTION_MECHANISMS, InteractionPlan};
pub use listing::listing;
pub use misleading::Misleading;
pub(crate) use parts::MOST_PROBLEMS;
pub use plan::{SPEC_FILE, Sweep};
pub use privacy::PrivacyPlan;
pub use recorded::Recorded;
pub use references::{GUESSING, REFERENCE_PILOTS, is_privacy_key};
pub use resolved::{ByText, Resolved, SharedValues};
pub use run_keys::run_keys;
pub use sweep::Swept;
