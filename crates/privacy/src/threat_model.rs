//! States who is protected from whom: the four statements that give an epsilon its meaning.
//!
//! Every ledger, price report and page takes its sentences from here, so that equal claims have equal wording.

use super::accounting::sensitivity::Relation;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// States adversary, neighbouring inputs, protected unit and covered participations of a claim.
///
/// Serialised with a sentence (`words`) next to each typed value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ThreatModel {
    /// Who must not learn the protected unit.
    pub adversary: Adversary,
    /// Which pairs of inputs must be indistinguishable.
    pub neighbours: Neighbours,
    /// What one unit of the budget protects.
    pub unit: Unit,
    /// How many participations of one user epsilon covers, and what further ones cost.
    pub participations: Participations,
}

/// Says who must not learn the protected unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Adversary {
    /// Everyone but the user, the server included (local model).
    /// Noise is added before a value leaves the user.
    Server,
    /// All other users together; the server is trusted (joint model).
    OtherUsers,
    /// Everyone but the holder of the data, including whoever runs the session: noise is added before a value leaves its holder.
    Recipient,
    /// Everyone who sees the answers of a batch mixed, the server included; the shuffler that mixes them is trusted (shuffle model).
    AfterShuffling,
    /// Everyone who sees the released values; whoever holds the raw data is trusted (central model).
    Observer,
}

impl Adversary {
    /// The one of two whom fewer claims are against: losses of both kinds add up against that one alone.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        let rank = |adversary| match adversary {
            Self::Server => 4,
            Self::Recipient => 3,
            Self::AfterShuffling => 2,
            Self::Observer => 1,
            Self::OtherUsers => 0,
        };
        if rank(other) < rank(self) { other } else { self }
    }
}

/// Which pairs of inputs must be indistinguishable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Neighbours {
    /// One unit is replaced by any other.
    Replaced,
    /// One unit is present or left out.
    AddedOrRemoved,
    /// One row is moved by at most `radius`.
    WithinRadius {
        /// Largest L2 distance between the row and its replacement.
        radius: f64,
        /// Units of the radius.
        units: RadiusUnits,
    },
}

/// Says in which units a radius is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RadiusUnits {
    /// Units of the inputs as the environment states them.
    Inputs,
    /// Units after scaling by the data's own largest norm, which no public number undoes.
    /// See erratum E19, `docs/privacy.md`.
    ScaledByData,
    /// Units of the released inputs, after public centring and scaling and before any projection.
    Released,
}

/// Says what one unit of the budget protects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Unit {
    /// One user's reward in one round.
    Reward,
    /// One user's decision set and reward in one round.
    DecisionSetAndReward,
    /// One user's context, arm and reward in one round.
    Interaction,
    /// One sample of a stream: features and response.
    Sample,
    /// One row of a table of inputs.
    Row,
    /// One vector, clipped to this L2 norm.
    Vector {
        /// Largest L2 norm.
        norm: f64,
    },
    /// One user's `phi phi^T` and `y phi` of one round, with `|phi| <= 1` and `|y| <= reward`.
    GramItem {
        /// Largest absolute reward.
        reward: f64,
    },
}

/// States how many participations of one user epsilon covers, and what further ones cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participations {
    /// Participations of one user that the stated epsilon covers, at least 1.
    pub covered: u64,
    /// Least distance in rounds between two of them, at least 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub separation: u64,
    /// What further participations cost.
    pub growth: Growth,
}

/// Says what several participations of one user cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Each participation has its own fresh noise.
    /// The price is that of k mechanisms, composed adaptively (E5).
    SeparateReleases,
    /// Participations enter one released stream, where their effects add up.
    /// The price is that of a group of k.
    OneStream,
    /// No price is known beyond the covered participations.
    Unpriced,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(n: &u64) -> bool {
    *n == 1
}

impl Participations {
    /// Covers one participation.
    pub fn one(growth: Growth) -> Self {
        Self { covered: 1, separation: 1, growth }
    }
}

impl ThreatModel {
    /// States that any other unit may replace one unit; one participation is covered.
    pub fn replaced(adversary: Adversary, unit: Unit, growth: Growth) -> Self {
        Self { adversary, neighbours: Neighbours::Replaced, unit, participations: Participations::one(growth) }
    }

    /// Returns the threat model of one row of released inputs, moved by at most `radius`.
    pub fn row(radius: f64, units: RadiusUnits) -> Self {
        Self {
            adversary: Adversary::Observer,
            neighbours: Neighbours::WithinRadius { radius, units },
            unit: Unit::Row,
            participations: Participations::one(Growth::SeparateReleases),
        }
    }

    /// Returns what stays visible to the adversary.
    pub fn not_protected(&self) -> &'static str {
        match (&self.unit, self.adversary) {
            (Unit::Reward, _) => "the point x_t that the policy chose, that the user took part at all, and when",
            (Unit::DecisionSetAndReward | Unit::Interaction, Adversary::Server) => {
                "that the user took part, and when; the point or arm is shown to that user alone"
            }
            (Unit::DecisionSetAndReward | Unit::Interaction, _) => {
                "that the user took part, and when; the user's own point or arm, which follows their input in the clear"
            }
            (Unit::Sample, _) => "the number of samples, and when each arrived",
            (Unit::Row, _) => {
                "number and order of the rows, which row is asked for, and outputs unless a reward mechanism is added"
            }
            (Unit::Vector { .. } | Unit::GramItem { .. }, _) => "that the user took part, and in which round",
        }
    }

    /// Returns the pairs of neighbouring inputs in words.
    pub fn neighbours_words(&self) -> String {
        match (&self.neighbours, &self.unit) {
            (Neighbours::Replaced, unit) => match (unit, self.adversary) {
                (Unit::Reward, _) => "any two rewards of one user".to_owned(),
                (Unit::DecisionSetAndReward, Adversary::Server) => "any two decision sets and rewards of one user".to_owned(),
                (Unit::Interaction, Adversary::Server) => "any two contexts, arms and rewards of one user".to_owned(),
                (unit, _) => format!("two data sets that differ in {unit}, replaced by any other"),
            },
            (Neighbours::AddedOrRemoved, unit) => format!("two data sets that differ in {unit}, present or left out"),
            (Neighbours::WithinRadius { radius, units }, unit) => {
                let radius = short(*radius);
                let units = match units {
                    RadiusUnits::Inputs => "in units of the inputs",
                    RadiusUnits::ScaledByData => "after scaling by the data's own largest norm (E19)",
                    RadiusUnits::Released => "in units of the released inputs",
                };
                format!("two tables that differ in {unit}, moved by at most {radius} (L2, {units})")
            }
        }
    }

    /// Returns the words for "per user" that fit this unit.
    pub fn per_unit(&self) -> &'static str {
        match self.unit {
            Unit::Row => "per row",
            Unit::Sample => "per sample, all rounds together",
            _ => "per user",
        }
    }
}

impl From<Relation> for Neighbours {
    fn from(relation: Relation) -> Self {
        match relation {
            Relation::Replace => Self::Replaced,
            Relation::AddRemove => Self::AddedOrRemoved,
        }
    }
}

impl fmt::Display for Adversary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "everyone but the user, including the server (local model)",
            Self::OtherUsers => {
                "all other users together, by everything that is shown to them; the server is trusted (joint model)"
            }
            Self::Recipient => {
                "everyone but the holder of the data, including whoever runs the session: noise is added on the data holder's side"
            }
            Self::AfterShuffling => {
                "everyone who sees the mixed answers of a batch, including the server; the shuffler is trusted (shuffle model)"
            }
            Self::Observer => "everyone who sees released values; whoever holds the raw data is trusted (central model)",
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reward => f.write_str("one user's reward in one round"),
            Self::DecisionSetAndReward => f.write_str("one user's decision set and reward in one round"),
            Self::Interaction => f.write_str("one user's context, arm and reward in one round"),
            Self::Sample => f.write_str("one sample (features and response)"),
            Self::Row => f.write_str("one row of the inputs"),
            Self::Vector { norm } => write!(f, "one user's vector of one round, clipped to L2 norm {norm}"),
            Self::GramItem { reward } => {
                write!(f, "one user's phi phi^T and y phi of one round, |phi| <= 1, |y| <= {reward}")
            }
        }
    }
}

impl fmt::Display for Participations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { covered, separation, growth } = self;
        let covered = match (covered, separation) {
            (0 | 1, _) => covered.to_string(),
            (_, 0 | 1) => format!("{covered}: neighbours differ in all of them"),
            _ => format!("{covered}, at least {separation} rounds apart: neighbours differ in all of them"),
        };
        match growth {
            Growth::SeparateReleases => write!(f, "{covered}; k of one user are k separate releases, whose losses compose (E5)"),
            Growth::OneStream => write!(f, "{covered}; k of one user enter one stream and are priced as a group of k (E5)"),
            Growth::Unpriced => write!(f, "{covered}; more are not priced"),
        }
    }
}

/// Serialises a typed value together with its sentence.
#[derive(Serialize)]
struct WithSentence<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    words: String,
}

impl Serialize for ThreatModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ThreatModel", 4)?;
        fields.serialize_field("adversary", &WithSentence { value: &self.adversary, words: self.adversary.to_string() })?;
        fields.serialize_field("neighbours", &WithSentence { value: &self.neighbours, words: self.neighbours_words() })?;
        fields.serialize_field("unit", &WithSentence { value: &self.unit, words: self.unit.to_string() })?;
        fields.serialize_field(
            "participations",
            &WithSentence { value: &self.participations, words: self.participations.to_string() },
        )?;
        fields.end()
    }
}

/// Formats a number to six significant digits, in plain notation where that is readable.
pub fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded) { format!("{rounded}") } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threat_models_survive_json_with_their_sentences() {
        for model in [
            ThreatModel::replaced(Adversary::Server, Unit::Reward, Growth::SeparateReleases),
            ThreatModel::row(0.04, RadiusUnits::Inputs),
            ThreatModel::replaced(Adversary::OtherUsers, Unit::Interaction, Growth::OneStream),
            ThreatModel {
                neighbours: Neighbours::AddedOrRemoved,
                ..ThreatModel::replaced(Adversary::Observer, Unit::Vector { norm: 2.0 }, Growth::Unpriced)
            },
        ] {
            let text = serde_json::to_string(&model).expect("json");
            assert_eq!(serde_json::from_str::<ThreatModel>(&text).expect("a threat model"), model, "{text}");
            let value: serde_json::Value = serde_json::from_str(&text).expect("json");
            for field in ["adversary", "neighbours", "unit", "participations"] {
                assert!(value[field]["words"].as_str().is_some_and(|words| 5 < words.len()), "{field}: {text}");
            }
        }
    }
}
