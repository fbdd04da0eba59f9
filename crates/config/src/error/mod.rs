//! Every failure as data: what was found, what was expected, where, and what to do about it.
//!
//! Texts are rendered in one place ([`Diagnostic`]'s `Display`), and exit codes are chosen in one `match`
//! ([`Error::exit_code`]). This module imports nothing else of the crate.

mod diagnostic;
mod exit;
mod failure;
mod printable;
mod suggest;

pub use diagnostic::{COMMAND_LINE, Diagnostic, Place, Sources, Span};
pub use exit::ExitCode;
pub use failure::{Error, guarded, is_link_loop, panic_message, readable_bytes};
pub use printable::{is_unprintable, printable};
pub use suggest::{closest, renamed, suggestion};
