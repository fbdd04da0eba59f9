//! Asks whether memory of a size that a user states may be taken: the spec's limit first, then the machine.

use crate::error::Error;
use std::fs::read_to_string;

/// Share of the memory that is left to the process which one object may take: what surrounds it needs some too.
const SHARE: f64 = 0.75;

/// Refuses an object that needs more memory than `limits.memory_gib` allows, or than the machine has left for this process.
///
/// * `hint` — what to make smaller
pub fn allow(limit_bytes: f64, what: &str, needs_bytes: f64, hint: &str) -> Result<(), Error> {
    let refuse = |limit_bytes: f64, hint: String| Err(Error::TooLarge { what: what.to_owned(), needs_bytes, limit_bytes, hint });
    if limit_bytes < needs_bytes || needs_bytes.is_nan() {
        return refuse(limit_bytes, format!("{hint}, or raise `limits.memory_gib`"));
    }
    // Small objects are not worth the files that are read here.
    let left = if needs_bytes <= 1e8 { None } else { machine_bytes() };
    match left.map(|left| SHARE * left) {
        Some(left) if left < needs_bytes => {
            refuse(left, format!("{hint}; the machine, or the limit on this process (`ulimit -v`, control group), has no more"))
        }
        _ => Ok(()),
    }
}

/// Returns the memory that this process may still take, in bytes: the least of what the machine, its control group and the limit on
/// its address space leave; `None` where the system does not tell.
fn machine_bytes() -> Option<f64> {
    let in_kib = |line: &str| Some(1024.0 * line.split_whitespace().nth(1)?.parse::<f64>().ok()?);
    let machine = read_to_string("/proc/meminfo").ok()?;
    let total: f64 = machine.lines().filter(|l| l.starts_with("MemTotal") || l.starts_with("SwapTotal")).filter_map(in_kib).sum();
    let process = read_to_string("/proc/self/status").ok()?;
    let taken = |name: &str| process.lines().find(|line| line.starts_with(name)).and_then(in_kib).unwrap_or(0.0);
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| read_to_string(path).ok()?.trim().parse::<f64>().ok());
    let limits = read_to_string("/proc/self/limits").ok()?;
    let space =
        limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next()?.parse::<f64>().ok());
    let resident = total.min(group.unwrap_or(f64::INFINITY)) - taken("VmRSS");
    Some(space.map_or(resident, |space| resident.min(space - taken("VmSize"))))
}
