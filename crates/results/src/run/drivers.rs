//! Calls graphics drivers, of which some write to standard error that the machine has no desktop.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is the program, whose standard error is its own to redirect.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// States that this process is the program: a library that others call never redirects their standard error.
pub fn this_is_the_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Calls drivers; in the program, without what they write to standard error.
pub fn quietly<T>(call: impl FnOnce() -> T) -> T {
    let _restored = IS_PROGRAM.load(Ordering::Relaxed).then(Redirected::start);
    call()
}

/// Restores standard error when it is dropped.
struct Redirected {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    saved: Option<std::os::fd::OwnedFd>,
}

impl Redirected {
    fn start() -> Self {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        let redirect = || {
            let nowhere = std::fs::File::options().write(true).open("/dev/null").ok()?;
            let saved = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned().ok()?;
            rustix::stdio::dup2_stderr(&nowhere).ok()?;
            Some(saved)
        };
        Self {
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            saved: redirect(),
        }
    }
}

impl Drop for Redirected {
    fn drop(&mut self) {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        if let Some(saved) = &self.saved {
            let _ = rustix::stdio::dup2_stderr(saved);
        }
    }
}
