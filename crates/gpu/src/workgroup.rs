//! Selects the workgroup size: as many threads as a device allows, for each type.

use super::pipeline::{SHADERS, SIZES, Shader};
use privateer_backend::device::Precision;

/// The shader of lanes, without which a device still screens.
const LANES: &str = "trial";

/// A size of all workgroups of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workgroup {
    /// Index among the sizes for which shaders exist.
    pub at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkgroupLimits {
    pub threads: u32,
    /// Largest shared memory, in bytes.
    pub bytes: u32,
}

impl WorkgroupLimits {
    pub fn of(limits: &wgpu::Limits) -> Self {
        Self {
            threads: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
            bytes: limits.max_compute_workgroup_storage_size,
        }
    }
}

impl Workgroup {
    /// Returns the largest size within the limits for shaders in a type; `None` if none fits.
    pub fn suited(limits: WorkgroupLimits, precision: Precision) -> Option<Self> {
        (0..SIZES.len())
            .map(|at| Self { at })
            .find(|size| size.threads() <= limits.threads && size.bytes(precision) <= limits.bytes)
    }

    pub fn threads(self) -> u32 {
        SIZES[self.at].side * SIZES[self.at].side
    }

    /// Returns the points (or rows, columns of a product) per workgroup, four by four per thread.
    pub fn block(self) -> usize {
        4 * SIZES[self.at].side as usize
    }

    /// Returns the WGSL constants for a shader.
    pub fn constants(self) -> &'static str {
        SIZES[self.at].constants
    }

    /// Returns the largest shared memory of a workgroup over the passes of screens of a type, in bytes.
    fn bytes(self, precision: Precision) -> u32 {
        self.largest(|shader| shader.real == precision && shader.name != LANES)
    }

    /// Returns whether lanes that play whole rounds fit within the limits.
    pub fn holds_lanes(self, limits: WorkgroupLimits) -> bool {
        self.largest(|shader| shader.name == LANES) <= limits.bytes
    }

    fn largest(self, of: impl Fn(&Shader) -> bool) -> u32 {
        let entries = SHADERS.iter().filter(|shader| of(shader)).flat_map(|shader| shader.entries);
        entries.map(|entry| entry.shared[self.at]).max().unwrap_or(0)
    }
}

/// Returns the smallest limits that a usable device must have.
pub fn least() -> WorkgroupLimits {
    let smallest = Workgroup { at: SIZES.len() - 1 };
    WorkgroupLimits { threads: smallest.threads(), bytes: smallest.bytes(Precision::F32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_backend::device::TILE;

    /// Each size needs exactly its limits: with one thread or byte less, the next size is selected.
    #[test]
    fn the_largest_that_fits_is_taken() {
        let threads =
            |threads, bytes, precision| Workgroup::suited(WorkgroupLimits { threads, bytes }, precision).map(Workgroup::threads);
        for precision in [Precision::F32, Precision::F64] {
            for (limit, found) in
                [(1024, Some(256)), (256, Some(256)), (255, Some(64)), (64, Some(64)), (63, Some(16)), (15, None)]
            {
                assert_eq!(threads(limit, 32_768, precision), found, "{precision:?} {limit}");
            }
            let needed = Workgroup { at: 0 }.bytes(precision);
            assert_eq!(threads(256, needed, precision), Some(256));
            assert_eq!(threads(256, needed - 1, precision), Some(64));
            assert_eq!(threads(256, 100, precision), None);
        }
        // Two tiles of 256 fours, within Vulkan's guarantee for every adapter.
        assert_eq!(Workgroup { at: 0 }.bytes(Precision::F64), 16_384);
        assert_eq!(least().threads, 16);
        for at in 0..SIZES.len() {
            let size = Workgroup { at };
            assert_eq!((TILE % size.threads() as usize, TILE % size.block()), (0, 0));
            assert!(size.block() <= size.threads() as usize, "a thread for each point of a factor's block");
        }
    }
}
