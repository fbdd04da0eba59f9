//! Deployments over real data and their accounting: typed options in, typed results out.
//!
//! In reading order: a price before anything is released (`account`, `price`), who a deployment is
//! and what it has spent (`deployment`), the data holder's values (`release`), a table's inputs
//! (`curate`), a policy over them (`session`), one budget for several of them (`odometer`), and what
//! all of them have spent (`ledger`).
//! **Invariant:** nothing is printed; what the caller should know beside a result goes to its [`Note`].

mod account;
mod anchor;
mod books;
mod columns;
mod curate;
mod deployment;
mod file;
mod ledger;
mod notes;
mod odometer;
mod page;
mod people;
mod price;
mod release;
mod rows;
mod seal;
mod session;

pub use account::{AccountOptions, AccountReport, LabelledPrice, account, account_spec};
pub use books::Period;
pub use curate::{CurateOptions, curate};
pub use deployment::{BudgetOptions, OccasionOptions, bad_budget};
pub use ledger::{FileLedger, LedgerReport, files_in, ledger, stated_losses};
pub use notes::{Note, say_removed};
pub use odometer::{OdometerOptions, odometer};
pub use page::{write_csv, write_page};
pub use people::people;
pub use price::{AnswerPrices, AnswersPrice, ComposedLoss, DeploymentPrice};
pub use release::{RecordValue, RefusedRecord, ReleaseOptions, TableRelease, TableRow, release, release_table};
pub use session::{AskedRow, Reward, SessionChoice, SessionOptions, ToldRow, ask, init, received, received_text, tell, undo};
