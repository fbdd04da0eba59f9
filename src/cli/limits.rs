//! Ends the program with its documented exit code where the system refuses memory or the size of a file.

use privateer_config::error::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes a limit on file sizes an error of the write, and lack of memory, whose line is already printed, exit code 4.
///
/// Concerns the whole process: for a program whose `main` this is.
pub(super) fn mind_limits() {
    use signal_hook::consts::{SIGABRT, SIGXFSZ};
    use signal_hook::flag::{register, register_conditional_shutdown};
    // Without them the exit code is the signal's; nothing else depends on them.
    let _ = register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let _ = register_conditional_shutdown(SIGABRT, ExitCode::Incomplete as i32, Arc::new(AtomicBool::new(true)));
}
