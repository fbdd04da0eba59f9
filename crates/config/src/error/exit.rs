//! The documented exit codes of every command.

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The command succeeded.
    Done = 0,
    /// A check failed (a claim was refuted, or a value was out of tolerance).
    CheckSaidNo = 1,
    /// The spec, the data, a folder or the arguments are wrong, or a named file is absent.
    BadInput = 2,
    /// No device of the requested kind exists.
    NoDevice = 3,
    /// The run stopped early or failed (disk full, file unreadable); finished work is stored.
    Incomplete = 4,
    /// Another program holds the folder or file that the command needs.
    InUse = 5,
}
