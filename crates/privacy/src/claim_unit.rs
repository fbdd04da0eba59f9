//! States the unit that a claim protects, with everything that follows from it: threat model, notes, and why a claim about it fails.

use super::{Adversary, Budget, Event, Growth, RadiusUnits, ThreatModel, Unit};

/// Says what the budget of a claim protects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClaimUnit {
    /// One user's reward, with noise that the user adds.
    Reward {
        /// Range to which rewards are clipped; `None` if they are not clipped.
        clip: Option<(f64, f64)>,
    },
    /// One user's reward, in sums with noise of a trusted server.
    SummedReward {
        /// Range to which rewards are clipped.
        clip: (f64, f64),
        /// Subtracted constant of running sums; `None` where one sum or choice is released.
        centre: Option<f64>,
    },
    /// One user's reward, as a randomised bit that a shuffler mixes with those of a batch.
    ShuffledReward {
        /// Range to which rewards are clipped.
        clip: (f64, f64),
    },
    /// One row of the inputs, which moves by at most `radius` in units of the inputs.
    Row {
        /// Largest L2 distance, > 0.
        radius: f64,
    },
    /// One sample of a stream: features and response.
    Sample {
        /// Whether features and gradients are clipped.
        clipped: bool,
        /// True if every sample gets its own noise before it leaves its user.
        local: bool,
    },
    /// One user's context, arm and reward.
    Interaction {
        /// Range to which rewards are clipped; `None` if they are not clipped.
        clip: Option<(f64, f64)>,
        /// True if every user adds their own noise.
        local: bool,
    },
    /// One user's `phi phi^T` and `y phi`.
    GramItem {
        /// Range to which rewards are clipped; `None` if they are not clipped.
        clip: Option<(f64, f64)>,
        /// Public constant that is subtracted from rewards.
        centre: f64,
        /// True if every user adds their own noise.
        local: bool,
    },
}

impl ClaimUnit {
    /// Returns adversary, neighbouring inputs, protected unit and covered participations.
    pub fn threat_model(&self) -> ThreatModel {
        // A unit with its own noise is a separate release; otherwise all of a user's units enter one stream, where their
        // effects add up.
        let local = |unit| ThreatModel::replaced(Adversary::Server, unit, Growth::SeparateReleases);
        let joint = |unit, adversary| ThreatModel::replaced(adversary, unit, Growth::OneStream);
        match *self {
            Self::Reward { .. } => local(Unit::Reward),
            // Two rewards of one user may be in one batch.
            Self::SummedReward { .. } => joint(Unit::Reward, Adversary::Observer),
            Self::ShuffledReward { .. } => joint(Unit::Reward, Adversary::AfterShuffling),
            Self::Row { radius } => ThreatModel::row(radius, RadiusUnits::Inputs),
            Self::Sample { local: true, .. } => local(Unit::Sample),
            Self::Sample { .. } => joint(Unit::Sample, Adversary::Observer),
            Self::Interaction { local: true, .. } => local(Unit::Interaction),
            Self::Interaction { .. } => joint(Unit::Interaction, Adversary::OtherUsers),
            Self::GramItem { local: true, .. } => local(Unit::DecisionSetAndReward),
            Self::GramItem { .. } => joint(Unit::DecisionSetAndReward, Adversary::OtherUsers),
        }
    }

    /// Returns the range to which rewards are clipped; `None` if they are not clipped, or if there are none.
    pub fn clip(&self) -> Option<(f64, f64)> {
        match *self {
            Self::Reward { clip } | Self::Interaction { clip, .. } | Self::GramItem { clip, .. } => clip,
            Self::SummedReward { clip, .. } | Self::ShuffledReward { clip } => Some(clip),
            Self::Row { .. } | Self::Sample { .. } => None,
        }
    }

    /// Returns why a claim about such a unit is false, and the erratum that says so.
    pub(super) fn doubt(&self, event: &Event) -> (&'static str, &'static str) {
        match (self, event) {
            (Self::Sample { clipped: false, .. }, _) => ("gradients are not clipped, and responses are not bounded", "E3"),
            (Self::Sample { .. }, Event::GeneralizedGaussian { kappa: None, .. }) => {
                ("the exponent of the noise is that of no smooth norm", "E22")
            }
            (Self::Sample { .. }, Event::GeneralizedGaussian { .. }) => {
                ("the noise is too small: the Gamma law has scale 2 sigma instead of 2 sigma²", "E23")
            }
            (Self::Sample { .. }, Event::Choices { .. }) => {
                ("the noise is too small for a first gradient that counts twice", "E28")
            }
            (Self::Sample { .. }, _) => ("the noise is too small for the gradients' range", "E25"),
            (Self::GramItem { .. }, Event::Sums { reward: None, .. }) => {
                ("rewards are not bounded and not clipped; with high probability is no guarantee", "E3")
            }
            (Self::GramItem { .. }, _) => ("the noise is too small for L2 sensitivities of sqrt(2) and 2Y", "E13, E14"),
            (Self::Interaction { .. }, _) => ("the printed noise is too small at this budget", "E8"),
            (Self::Reward { .. } | Self::SummedReward { .. } | Self::ShuffledReward { .. } | Self::Row { .. }, _) => {
                ("the noise is too small for the range of the rewards", "E2")
            }
        }
    }

    /// Returns the facts that a reader of the claim must know.
    pub(super) fn notes(&self, budget: Budget) -> Vec<String> {
        let mut notes = Vec::new();
        match *self {
            Self::Sample { clipped: true, .. } => notes.push(
                "features, slopes and contributions are clipped before the noise: a bias, and no loss of privacy".to_owned(),
            ),
            Self::GramItem { centre, .. } | Self::SummedReward { centre: Some(centre), .. } => {
                if let Some(delta) = budget.delta {
                    if centre != 0.0 {
                        notes.push(format!("rewards are centred by {centre}, a public constant (E7)"));
                    }
                    if 0.05 <= delta.get() {
                        notes.push(format!(
                            "delta = {} is no privacy level: a mechanism that publishes one user in {:.0} keeps it too (E12)",
                            delta.get(),
                            1.0 / delta.get()
                        ));
                    }
                }
            }
            Self::Row { .. } => notes.push(
                "the radius is part of the guarantee: a row that moves by k times as much costs k times as much mu (E20)"
                    .to_owned(),
            ),
            _ => {}
        }
        if self.clip().is_some() {
            notes.push("rewards outside of the clip range are moved to its ends: a bias, and no loss of privacy (E2)".to_owned());
        }
        notes
    }
}
