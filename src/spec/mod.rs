//! TOML in, checked sweep out: parsing with places, overrides, expansion over swept keys, canonical order of cells.
//!
//! All mistakes of a file come back in one go. **Invariant:** touches no file and no device; what leaves this room is valid.

mod cell;
mod curator;
mod interactions;
mod listing;
mod online;
mod path;
mod plan;
mod privacy;
mod read;
mod recorded;
mod sweep;

pub use cell::{BanditPlan, CellPlan, ContextualBandit, Task};
pub use curator::CuratorPlan;
pub use interactions::InteractionPlan;
pub use listing::listing;
pub use online::OnlinePlan;
pub use plan::Sweep;
pub use privacy::PrivacyPlan;
pub use recorded::Recorded;
