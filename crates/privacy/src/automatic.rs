//! Lists which mechanism `auto` selects, by what is protected and by the calibration.
//!
//! A calibration that follows a paper takes the paper's own mechanism; the tight one takes the mechanism with the least noise
//! that has a proof.

use crate::Calibration;

/// Says what a mechanism protects and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protects {
    /// Single rewards, in the local model.
    Rewards,
    /// Running sums of features and rewards, by a trusted server.
    JointSums,
    /// Each user's own item of such sums, in the local model.
    LocalSums,
    /// Sums over batches of rewards, by a trusted server.
    Batches,
    /// Vertices chosen along gradients of interactions or samples.
    Choices,
    /// Gradients of samples.
    Gradients,
    /// The factorisation of prefix sums of gradients.
    PrefixSums,
    /// Rows of the inputs of a problem.
    Inputs,
}

/// The selected names, in the order of [`Calibration::ALL`].
pub const AUTOMATIC: [(Protects, [&str; 3]); 8] = [
    (Protects::Rewards, ["laplace", "laplace", "hybrid"]),
    (Protects::JointSums, ["tree", "tree", "blt"]),
    (Protects::LocalSums, ["local-gaussian", "local-gaussian", "local-gaussian"]),
    (Protects::Batches, ["batch-laplace", "batch-laplace", "batch-laplace"]),
    (Protects::Choices, ["laplace", "laplace", "gumbel"]),
    (Protects::Gradients, ["generalized-gaussian", "generalized-gaussian", "gaussian"]),
    (Protects::PrefixSums, ["tree", "tree", "blt"]),
    (Protects::Inputs, ["projection", "projection", "input-noise"]),
];

/// Returns the name of the mechanism that a word stands for: itself, unless it is `auto`.
#[must_use]
pub fn automatic(mechanism: &'static str, protects: Protects, calibration: Calibration) -> &'static str {
    if mechanism != "auto" {
        return mechanism;
    }
    let row = AUTOMATIC.iter().find(|(known, _)| *known == protects);
    row.map_or(mechanism, |(_, names)| names[calibration as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrations_index_the_table() {
        for (at, calibration) in Calibration::ALL.into_iter().enumerate() {
            assert_eq!(calibration as usize, at);
        }
        assert_eq!(automatic("auto", Protects::Rewards, Calibration::Tight), "hybrid");
        assert_eq!(automatic("duchi", Protects::Rewards, Calibration::Tight), "duchi");
    }
}
