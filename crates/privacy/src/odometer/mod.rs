//! What each record of a deployment has spent, over repeated answers, releases, sessions and columns, and the budget that stops it.
//!
//! In reading order: how a record may change between neighbours ([`RecordChange`]), the loss of one release at each change
//! ([`ReleaseLoss`]), what it takes from the records that it reads ([`Spend`]), where noise is added ([`DeploymentForm`]), how the
//! losses of adaptively chosen releases add up ([`FilterKind`]) under a budget ([`PrivacyBudget`]) of a change ([`BudgetChange`]), the
//! account of all records ([`Odometer`]) and what it states ([`DeploymentLedger`]). No files and no randomness here.
//!
//! # Example: the third answer of one record would exceed its budget
//! ```
//! use privateer_privacy::odometer::{FilterKind, Odometer, ReleaseLoss, Spend, SpentRecords};
//! use privateer_privacy::{Adversary, Growth, accounting::Loss};
//! let mut odometer = Odometer::new(FilterKind::Sum, Some("epsilon=4".parse()?), Some(100))?;
//! let answer = Spend {
//!     session: "s1".to_owned(),
//!     mechanism: "laplace".to_owned(),
//!     records: SpentRecords::One { row: 17 },
//!     adversary: Adversary::Recipient,
//!     loss: ReleaseLoss::Value { column: "outcome".to_owned(), loss: Loss::Laplace { epsilon: 2.0 }, width: None },
//!     epsilon: 2.0,
//!     delta: 0.0,
//!     growth: Growth::SeparateReleases,
//!     count: 1,
//! };
//! odometer.spend(&answer)?;
//! odometer.spend(&answer)?;
//! assert!(odometer.spend(&answer).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod filter;
mod form;
mod ledger;
mod meter;
mod release_loss;
mod spend;

pub use change::{BudgetChange, InputSpace, RecordChange, is_same_column};
pub use filter::{BadBudget, FilterCost, FilterKind, PrivacyBudget};
pub use form::DeploymentForm;
pub use ledger::{ChangeLedger, DeploymentLedger, RecordSpend};
pub use meter::{Odometer, SpendRefusal};
pub use release_loss::{InputsLoss, LossByDistance, ReleaseLoss};
pub use spend::{RowsFacts, Spend, SpentRecords};
