//! How many threads a workgroup has: as many as the limits of a device allow, for each type that it computes in.

use super::pipeline::{SHADERS, SIZES, type_name};
use crate::device::Precision;

/// A size of all workgroups of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workgroup {
    /// Its place among the sizes that shaders exist in.
    pub at: usize,
}

/// What bounds a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkgroupLimits {
    /// Threads.
    pub threads: u32,
    /// Bytes that they share.
    pub bytes: u32,
}

impl WorkgroupLimits {
    /// Of a device.
    pub fn of(limits: &wgpu::Limits) -> Self {
        Self {
            threads: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
            bytes: limits.max_compute_workgroup_storage_size,
        }
    }
}

impl Workgroup {
    /// The largest that these limits allow for shaders in a type; `None` if even the smallest is too large.
    pub fn suited(limits: WorkgroupLimits, precision: Precision) -> Option<Self> {
        (0..SIZES.len())
            .map(|at| Self { at })
            .find(|size| size.threads() <= limits.threads && size.bytes(precision) <= limits.bytes)
    }

    /// Threads.
    pub fn threads(self) -> u32 {
        SIZES[self.at].side * SIZES[self.at].side
    }

    /// Points, or rows and columns of a product, that a workgroup takes of a pass whose threads have four by four of them.
    pub fn block(self) -> usize {
        4 * SIZES[self.at].side as usize
    }

    /// Text that goes into a shader.
    pub fn constants(self) -> &'static str {
        SIZES[self.at].constants
    }

    /// Most bytes that a workgroup shares in any pass of a type.
    fn bytes(self, precision: Precision) -> u32 {
        let of_type = SHADERS.iter().filter(|shader| shader.real == type_name(precision));
        of_type.flat_map(|shader| shader.entries).map(|entry| entry.shared[self.at]).max().unwrap_or(0)
    }
}

/// The least that any device must have.
pub fn least() -> WorkgroupLimits {
    let smallest = Workgroup { at: SIZES.len() - 1 };
    WorkgroupLimits { threads: smallest.threads(), bytes: smallest.bytes(Precision::F32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tables::TILE;

    /// What is needed of each size is what is asked for, no more: one thread or one byte less, and the next size is taken.
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
        // Two tiles of 256 fours: what Vulkan promises of every adapter is enough.
        assert_eq!(Workgroup { at: 0 }.bytes(Precision::F64), 16_384);
        assert_eq!(least().threads, 16);
        for at in 0..SIZES.len() {
            let size = Workgroup { at };
            assert_eq!((TILE % size.threads() as usize, TILE % size.block()), (0, 0));
            assert!(size.block() <= size.threads() as usize, "a thread for each point of a factor's block");
        }
    }
}
