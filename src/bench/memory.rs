//! What the operating system says of this process, where it says it.

use std::fs;

/// Forgets the peak so far; false where that cannot be done.
pub fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Largest resident memory since [`forget_peak`], in bytes.
pub fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// CPU seconds of all threads so far, in steps of 10 ms.
pub fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Fields after the name, which may hold spaces: the 12th and 13th are ticks of 1/100 s in user and system mode.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((ticks(11)? + ticks(12)?) as f64 / 100.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_tells() {
        assert!(peak_bytes().is_some_and(|bytes| 1 << 20 < bytes));
        assert!(cpu_seconds().is_some_and(|seconds| seconds < 1e6));
    }
}
