//! The crate's one error type and its exit codes.

use super::{Diagnostic, ExitCode};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The reason why a command failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// All errors in the spec, the data files or the arguments, in order.
    Input(Vec<Diagnostic>),
    /// A well-formed request that needs more memory than allowed.
    TooLarge {
        /// What would be built.
        what: String,
        /// Bytes it would need.
        needs_bytes: f64,
        /// Bytes allowed.
        limit_bytes: f64,
        /// What to change.
        hint: String,
    },
    /// A folder that the command cannot use (foreign files, another spec's parts, a missing shard).
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A folder or file that another program holds; nothing was changed.
    InUse {
        /// The folder or file.
        path: PathBuf,
        /// Who holds it, as in "another run".
        holder: &'static str,
        /// What to do beside waiting.
        hint: String,
    },
    /// The operating system refused a read or a write.
    Io {
        /// The attempted action, as in "write the part".
        action: String,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file that exists but does not have the expected format.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// No device of the requested kind exists, or it failed.
    Device {
        /// What happened, with the requested and the available devices.
        problem: String,
        /// What to do, if the caller can choose another device.
        hint: Option<String>,
    },
    /// A device returned impossible values, so that all of its results are unreliable.
    Untrusted {
        /// The values that it returned.
        problem: String,
        /// What to do, if the caller can choose another device.
        hint: Option<String>,
    },
    /// The run stopped before its end; finished work is stored.
    Incomplete {
        /// Finished units of work.
        done: usize,
        /// Units of work in all.
        total: usize,
        /// Why it stopped.
        reason: String,
        /// How to continue.
        hint: String,
    },
    /// The run cannot continue: a number overflowed f64, or a part of the code broke its contract.
    Failed {
        /// What happened.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A check failed.
    CheckSaidNo(String),
    /// An answer that would exceed the budget of a record, or that is about one who has left; nothing was released.
    NotReleased {
        /// The record: its row, or its id.
        record: String,
        /// What it has spent, in words.
        spent: String,
        /// Its budget, in words.
        budget: String,
        /// Why nothing was released.
        why: String,
        /// What to do, if anything can be done.
        hint: Option<String>,
    },
}

/// Largest number of errors that are shown for one input.
const MOST_SHOWN: usize = 20;

impl Diagnostic {
    /// Returns an error with this diagnostic alone.
    pub fn error(self) -> Error {
        Error::input(self)
    }

    /// Fails with this diagnostic alone.
    ///
    /// # Errors
    /// Always.
    pub fn refuse<T>(self) -> Result<T, Error> {
        Err(self.error())
    }
}

impl Error {
    /// Creates an error from one diagnostic of the user's input.
    pub fn input(diagnostic: Diagnostic) -> Self {
        Self::Input(vec![diagnostic])
    }

    /// Creates an error of the operating system, with the attempted action.
    pub fn io(action: impl Into<String>, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { action: action.into(), path: path.as_ref().to_owned(), source }
    }

    /// Creates the error for a folder that cannot be used.
    pub fn folder(path: impl AsRef<Path>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Folder { path: path.as_ref().to_owned(), problem: problem.into(), hint: hint.into() }
    }

    /// Creates the error for a file that does not have the expected format.
    pub fn corrupt(path: impl AsRef<Path>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Corrupt { path: path.as_ref().to_owned(), problem: problem.into(), hint: hint.into() }
    }

    /// Creates the error for something that cannot continue.
    pub fn failed(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { problem: problem.into(), hint: hint.into() }
    }

    /// Returns the process exit code for this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            // A path of the caller that names nothing.
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound || is_link_loop(source) => {
                ExitCode::BadInput
            }
            Self::Input(_) | Self::TooLarge { .. } | Self::Folder { .. } | Self::Corrupt { .. } => ExitCode::BadInput,
            Self::Io { .. } | Self::Incomplete { .. } | Self::Failed { .. } | Self::Untrusted { .. } => ExitCode::Incomplete,
            Self::InUse { .. } => ExitCode::InUse,
            Self::Device { .. } => ExitCode::NoDevice,
            Self::CheckSaidNo(_) | Self::NotReleased { .. } => ExitCode::CheckSaidNo,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(diagnostics) => {
                for (i, diagnostic) in diagnostics.iter().take(MOST_SHOWN).enumerate() {
                    if 0 < i {
                        write!(f, "\n\n")?;
                    }
                    write!(f, "{diagnostic}")?;
                }
                match diagnostics.len().saturating_sub(MOST_SHOWN) {
                    0 => Ok(()),
                    more => write!(f, "\n\nand {more} more mistakes"),
                }
            }
            Self::TooLarge { what, needs_bytes, limit_bytes, hint } => write!(
                f,
                "error: {what} would need {}, more than the limit of {}\nhint: {hint}",
                readable_bytes(*needs_bytes),
                readable_bytes(*limit_bytes)
            ),
            Self::Folder { path, problem, hint } | Self::Corrupt { path, problem, hint } => {
                write!(f, "error: `{}` {problem}\nhint: {hint}", path.display())
            }
            Self::InUse { path, holder, hint } => {
                write!(f, "error: `{}` is in use by {holder}\nhint: wait for it to end, {hint}", path.display())
            }
            Self::Io { action, path, source } => {
                write!(f, "error: cannot {action} `{}`: {source}\nhint: {}", path.display(), io_hint(action, source))
            }
            Self::Failed { problem, hint } => write!(f, "error: {problem}\nhint: {hint}"),
            Self::Device { problem, hint } | Self::Untrusted { problem, hint } => {
                write!(f, "error: {problem}")?;
                hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
            }
            Self::Incomplete { done, total, reason, hint } => {
                write!(f, "incomplete: {done} of {total} blocks are done; {reason}\nhint: {hint}")
            }
            Self::CheckSaidNo(message) => write!(f, "check failed: {message}"),
            Self::NotReleased { why, hint, .. } => {
                write!(f, "check failed: {why}; nothing was released")?;
                hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
            }
        }
    }
}

impl std::error::Error for Error {}

/// Whether a path led through links without an end; the standard library has no stable name for it.
pub fn is_link_loop(source: &std::io::Error) -> bool {
    const CODE: i32 = if cfg!(windows) {
        1921
    } else if cfg!(target_os = "linux") {
        40
    } else {
        62
    };
    source.raw_os_error() == Some(CODE)
}

/// Returns what to do, by the direction of the attempted action.
fn io_hint(action: &str, source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as K;
    let reads = ["read", "find", "look", "open"].iter().any(|verb| action.starts_with(verb));
    match source.kind() {
        K::NotFound => "check the path",
        _ if is_link_loop(source) => "name the file itself: the link leads to itself, or through too many others",
        K::PermissionDenied if reads => "name a file that you may read, or let its owner give you the permission",
        K::PermissionDenied | K::ReadOnlyFilesystem => "choose a folder that you may write to, or fix its permissions",
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => {
            "make room, then run the same command again: what is finished is kept"
        }
        K::OutOfMemory => "free memory, raise the limit on it (`ulimit -v`, the job's or the container's), or use a smaller file",
        K::NotADirectory | K::IsADirectory | K::AlreadyExists => "a file stands where a folder should be, or the reverse",
        _ => "run the same command again once the cause is gone; what is finished is kept",
    }
}

/// Formats a byte count in binary units, with one decimal place.
pub fn readable_bytes(count: f64) -> String {
    let mut value = count;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{value:.0} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.3e} EiB")
}

/// Calls code from outside: its error, or what its panic says, becomes a message.
///
/// # Errors
/// That message.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, Box<dyn std::error::Error + Send + Sync>>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("it panicked: {}", panic_message(panic.as_ref()))),
    }
}

/// Returns what a panic says.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mistakes_are_shown() {
        let shown = Error::Input((0..4000).map(|i| Diagnostic::new(format!("mistake {i}"))).collect()).to_string();
        assert_eq!(shown.matches("error: mistake").count(), 20);
        assert!(shown.ends_with("mistake 19\n\nand 3980 more mistakes"), "{shown}");
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(readable_bytes(512.0), "512 B");
        assert_eq!(readable_bytes(8e12), "7.3 TiB");
        assert!(readable_bytes(1e30).ends_with("EiB"));
    }
}
