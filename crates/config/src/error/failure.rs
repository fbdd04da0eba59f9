//! The crate's one error type and its exit codes.

use super::{Diagnostic, ExitCode};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub enum Error {
    /// Mistakes in the spec, the data files or the arguments: all that were found, in order.
    Input(Vec<Diagnostic>),
    /// A request that is well-formed but would need more than a machine has.
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
    /// A folder that is not what the command needs (junk, another spec's parts, a missing shard).
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// The operating system refused a read or a write.
    Io {
        /// What was being done, as in "write the part".
        action: String,
        /// On which file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A file that exists but cannot be read as what it should be.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// No device of the kind asked for.
    Device {
        /// What was asked and what there is.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A device gave back what cannot be: neither this result nor those before it can be believed.
    Untrusted {
        /// What it gave back.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// The run stopped before its end; what was finished is kept.
    Incomplete {
        /// Units of work finished.
        done: usize,
        /// Units of work in all.
        total: usize,
        /// Why it stopped.
        reason: String,
        /// How to go on.
        hint: String,
    },
    /// The run cannot go on: numbers left the range of f64, or a part of the program broke its contract.
    Failed {
        /// What happened.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A check ran and said no.
    CheckSaidNo(String),
}

/// Most mistakes of one input that are shown.
const MOST_SHOWN: usize = 100;

impl Error {
    /// One mistake in the user's input.
    #[must_use]
    pub fn input(diagnostic: Diagnostic) -> Self {
        Self::Input(vec![diagnostic])
    }

    /// An operating-system failure with what was being done.
    pub fn io(action: impl Into<String>, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { action: action.into(), path: path.as_ref().to_owned(), source }
    }

    /// What went wrong, of a device without the hint.
    #[must_use]
    pub fn problem(&self) -> String {
        match self {
            Self::Device { problem, .. } | Self::Untrusted { problem, .. } => problem.clone(),
            other => other.to_string(),
        }
    }

    /// The process exit code for this failure.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input(_) | Self::TooLarge { .. } | Self::Folder { .. } | Self::Corrupt { .. } => ExitCode::BadInput,
            Self::Io { .. } | Self::Incomplete { .. } | Self::Failed { .. } | Self::Untrusted { .. } => ExitCode::Incomplete,
            Self::Device { .. } => ExitCode::NoDevice,
            Self::CheckSaidNo(_) => ExitCode::CheckSaidNo,
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
            Self::Folder { path, problem, hint } => write!(f, "error: `{}` {problem}\nhint: {hint}", path.display()),
            Self::Io { action, path, source } => {
                write!(f, "error: cannot {action} `{}`: {source}\nhint: {}", path.display(), io_hint(source))
            }
            Self::Corrupt { path, problem, hint } => write!(f, "error: `{}` {problem}\nhint: {hint}", path.display()),
            Self::Device { problem, hint } | Self::Failed { problem, hint } | Self::Untrusted { problem, hint } => {
                write!(f, "error: {problem}\nhint: {hint}")
            }
            Self::Incomplete { done, total, reason, hint } => {
                write!(f, "incomplete: {done} of {total} blocks are done; {reason}\nhint: {hint}")
            }
            Self::CheckSaidNo(message) => write!(f, "check failed: {message}"),
        }
    }
}

impl std::error::Error for Error {}

fn io_hint(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as K;
    match source.kind() {
        K::NotFound => "check the path",
        K::PermissionDenied | K::ReadOnlyFilesystem => "choose a folder you may write to (`--out DIR`) or fix its permissions",
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => {
            "make room, then run the same command again: finished parts are kept and the run resumes"
        }
        K::NotADirectory | K::IsADirectory | K::AlreadyExists => "a file stands where a folder should be, or the reverse",
        _ => "run the same command again once the cause is gone; finished parts are kept",
    }
}

/// A byte count in binary units, three significant digits.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hundred_mistakes_are_shown() {
        let shown = Error::Input((0..4000).map(|i| Diagnostic::new(format!("mistake {i}"))).collect()).to_string();
        assert_eq!(shown.matches("error: mistake").count(), 100);
        assert!(shown.ends_with("mistake 99\n\nand 3900 more mistakes"), "{shown}");
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(readable_bytes(512.0), "512 B");
        assert_eq!(readable_bytes(8e12), "7.3 TiB");
        assert!(readable_bytes(1e30).ends_with("EiB"));
    }
}
