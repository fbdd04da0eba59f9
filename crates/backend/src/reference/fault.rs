//! Defines faults that tests plant in the reference device.

/// A planted fault.
///
/// Rounds are counted from 0 over all slots of the device's tables; a fault persists from its first round on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every submission fails.
    LosesDevice {
        /// First round that fails.
        after_rounds: u64,
    },
    /// Words of the answers are changed during readback.
    Garbage {
        /// First faulty round.
        after_rounds: u64,
    },
    /// The passes do not run, so the answers are those of an earlier round.
    WritesNothing {
        /// First faulty round.
        after_rounds: u64,
    },
    /// The mean of the first point of every slot becomes NaN before scoring.
    NotANumber {
        /// First faulty round.
        after_rounds: u64,
    },
    /// Rows and factors are applied without their last function.
    DropsLastFeature,
    /// The last tile of every slot is omitted.
    SkipsLastTile,
}
