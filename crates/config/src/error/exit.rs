//! The documented exit codes of every command.

/// What the process answers to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The command did what it was asked.
    Done = 0,
    /// A check ran and said no (a claim refuted, a value beyond tolerance).
    CheckSaidNo = 1,
    /// The spec, the data, a folder or the arguments are wrong; nothing was run.
    BadInput = 2,
    /// No device of the kind asked for.
    NoDevice = 3,
    /// The run is incomplete or failed while running (stopped, disk full, file unreadable); what was finished is kept.
    Incomplete = 4,
}
