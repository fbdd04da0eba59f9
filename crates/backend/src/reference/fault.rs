//! Faults that can be planted in the reference device.

/// What goes wrong. Rounds are counted over all lanes of the device's tables, from 0; a fault of rounds holds from that one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every submission fails.
    LosesDevice {
        /// First round that fails.
        after_rounds: u64,
    },
    /// Words of the answers are changed on their way back.
    Garbage {
        /// First such round.
        after_rounds: u64,
    },
    /// The passes do not run: the answers are those that stood there before.
    WritesNothing {
        /// First such round.
        after_rounds: u64,
    },
    /// The mean of the first point of every lane becomes NaN before the scores.
    NotANumber {
        /// First such round.
        after_rounds: u64,
    },
    /// Rows and factors are applied without their last function.
    DropsLastFeature,
    /// The last tile of every lane is left out.
    SkipsLastTile,
}
