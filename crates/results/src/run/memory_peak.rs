//! Reads what the operating system says of this process, where it says it.

use std::fs;

/// Forgets the peak so far; false where that cannot be done.
pub fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Returns the largest resident memory since [`forget_peak`], in bytes.
pub fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_tells() {
        assert!(peak_bytes().is_some_and(|bytes| 1 << 20 < bytes));
    }
}
