//! Deployments over real data and their accounting: typed options in, typed results out.
//!
//! In reading order: a price before anything is released (`account`, `price`), who a deployment is
//! and what it has spent (`deployment`), the data holder's values (`release`), a table's inputs
//! (`curate`), a policy over them (`session`), one budget for several of them (`odometer`), and what
//! all of them have spent (`ledger`). Below them is the file of one party: opened (`file`, `identity`,
//! `place`), counted in (`books`, `columns`, `people`) and read again (`answers`, `anchor`).
//! **Invariant:** nothing is printed; what the caller should know beside a result goes to its [`Note`].

mod account;
mod anchor;
mod answers;
mod books;
mod columns;
mod curate;
mod deployment;
mod failure;
mod file;
mod identity;
mod ledger;
mod notes;
mod odometer;
mod options;
mod page;
mod people;
mod place;
mod price;
mod received;
mod release;
mod release_options;
mod rows;
mod seal;
mod session;
mod session_options;
#[cfg(test)]
mod session_tests;

pub use account::{AccountOptions, AccountReport, LabelledPrice, account, account_spec};
pub use books::Period;
pub use curate::{CurateOptions, curate};
pub use ledger::{FileLedger, LedgerReport, files_in, ledger, stated_losses};
pub use notes::{Note, say_removed};
pub use odometer::{OdometerOptions, odometer};
pub use options::{BudgetOptions, OccasionOptions};
pub use page::{write_csv, write_page};
pub use people::people;
pub use price::{AnswerPrices, AnswersPrice, ComposedLoss, DeploymentPrice};
pub use received::{Reward, received, received_text};
pub use release::{RecordValue, RefusedRecord, TableRelease, TableRow, release, release_table};
pub use release_options::ReleaseOptions;
pub use session::{AskedRow, ToldRow, ask, init, tell, undo};
pub use session_options::{SessionChoice, SessionOptions};
