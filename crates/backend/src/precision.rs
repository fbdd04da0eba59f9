//! Chooses the floating-point type in which a device screens, by its measured rate of f64.
//!
//! In f32 a band is wider by the ratio of the unit roundoffs, so that the host scores more candidates exactly and resets slots
//! more often. In f64 a device computes at a lower rate and moves twice the bytes. Derivation:
//! `docs/derivations/device-error-band.md`, section "The type".

use crate::UpdateKind;
use crate::device::Precision;

/// Least rate of f64, as a share of that of f32, at which screens over features start in f64.
///
/// From a quarter on, rank-one rounds are bound by memory in both types, and the host saves more than the bytes cost: on an H100
/// rounds over 10 000 points took 1.3 and 2.5 µs in f64, 15 and 44 in f32. Consumer cards have 1/32 to 1/64.
pub const LEAST_FOR_FEATURES: f64 = 0.25;

/// Least rate of f64, as a share of that of f32, at which screens over covariances use f64.
///
/// Differences of covariances cancel, and a screen in f32 makes the host score whole domains: even 1/64 is worth it. Lower
/// rates are those of emulation.
pub const LEAST_FOR_COVARIANCES: f64 = 1.0 / 128.0;

/// What scores are linear in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenedBasis {
    /// Features of the points.
    Features,
    /// Covariances with visited points.
    Covariances,
}

/// A device's arithmetic in f64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum F64Rate {
    /// The device has no f64.
    Absent,
    /// The device has f64, at a rate that is not measured.
    Unmeasured,
    /// Measured rate of f64 as a share of that of f32.
    Share(f64),
}

impl F64Rate {
    /// Returns the measured share.
    pub fn share(self) -> Option<f64> {
        if let Self::Share(share) = self { Some(share) } else { None }
    }

    /// Returns the type in which screens start.
    ///
    /// * `update_kind` — whole new models have no drift that f64 would avoid, and their factors are sent
    #[must_use]
    pub fn screens(self, basis: ScreenedBasis, update_kind: UpdateKind) -> Precision {
        let doubles = match (self, basis) {
            (Self::Absent, _) => false,
            (Self::Unmeasured, _) => basis == ScreenedBasis::Covariances,
            (Self::Share(share), ScreenedBasis::Covariances) => LEAST_FOR_COVARIANCES <= share,
            (Self::Share(share), ScreenedBasis::Features) => LEAST_FOR_FEATURES <= share && update_kind == UpdateKind::RankOne,
        };
        if doubles { Precision::F64 } else { Precision::F32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of cases: the type by kind of basis, kind of update and rate.
    #[test]
    fn the_type_follows_the_measured_rate() {
        use F64Rate::{Absent, Share, Unmeasured};
        use Precision::{F32, F64};
        // Each line: features with rank-one updates, features with whole new models, covariances.
        let cases = [
            ("no f64", Absent, [F32, F32, F32]),
            ("not measured", Unmeasured, [F32, F32, F64]),
            ("a card for computing", Share(0.5), [F64, F32, F64]),
            ("software", Share(0.49), [F64, F32, F64]),
            ("at the limit", Share(0.25), [F64, F32, F64]),
            ("below it", Share(0.24), [F32, F32, F64]),
            ("a workstation", Share(1.0 / 32.0), [F32, F32, F64]),
            ("a notebook", Share(1.0 / 64.0), [F32, F32, F64]),
            ("emulated", Share(1.0 / 200.0), [F32, F32, F32]),
            ("faster in f64, by an error of measurement", Share(1.1), [F64, F32, F64]),
            ("no number", Share(f64::NAN), [F32, F32, F32]),
        ];
        let kinds = [
            (ScreenedBasis::Features, UpdateKind::RankOne),
            (ScreenedBasis::Features, UpdateKind::Full),
            (ScreenedBasis::Covariances, UpdateKind::RankOne),
        ];
        for (name, rate, expected) in cases {
            assert_eq!(kinds.map(|(basis, update_kind)| rate.screens(basis, update_kind)), expected, "{name}");
        }
    }
}
