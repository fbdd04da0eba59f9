//! Holds the privacy statement of a result: protected unit, event, claimed loss and delivered loss.
//!
//! The delivered loss is priced from the event here, never copied from the claim.

use super::accounting::sensitivity::Participation;
use super::accounting::{Composition, Loss};
use super::threat_model::short;
use super::{
    Budget, Calibration, ClaimUnit, Delta, Epsilon, Event, Factor, Growth, Guarantee, Participations, Request, ThreatModel, price,
};
use crate::planted::{self, PlantedFault};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Says whether released values were simulated or drawn with release-grade noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Provenance {
    /// Floating-point noise from a reproducible random stream.
    #[serde(rename = "simulated: not a private release")]
    Simulated,
    /// Exact noise from the operating system's entropy.
    #[serde(rename = "released")]
    Released,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Provenance {
    /// Returns what a reader of simulated noise must know; nothing where the values were released.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Simulated => Some(
                "noise is drawn on doubles from a reproducible stream: low bits and the seed reveal the input, so no real data may \
                 pass this path",
            ),
            Self::Released => None,
        }
    }
}

/// Carries a mechanism's own statement; [`Ledger::of`] adds the price.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// What the budget protects.
    pub unit: ClaimUnit,
    /// What is done to each protected unit.
    pub event: Event,
    /// Claimed loss; no epsilon if nothing is claimed, no delta for a pure claim.
    pub budget: Budget,
    /// The formula that sets the noise.
    pub noise_formula: String,
    /// Why the claim is false, and the erratum that says so; `None` for the unit's own reason.
    /// Used only where the price shows that the claim is false.
    pub doubt: Option<(&'static str, &'static str)>,
    /// Further notes.
    pub notes: Vec<String>,
}

impl Claim {
    /// States the claim of a request whose mechanism is named and whose budget has a delta only if the claim has one.
    pub fn of(request: &Request, unit: ClaimUnit, event: Event, noise_formula: impl Into<String>) -> Self {
        let Request { mechanism, calibration, budget, .. } = *request;
        let noise_formula = noise_formula.into();
        Self { mechanism, calibration, unit, event, budget, noise_formula, doubt: None, notes: Vec::new() }
    }
}

/// States the privacy of a result; every result carries one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Name of the mechanism.
    pub mechanism: String,
    /// How the paper's formulas were calibrated.
    pub calibration: Calibration,
    /// Adversary, neighbouring inputs, protected unit and covered participations.
    pub threat_model: ThreatModel,
    /// What was done to each protected unit.
    pub event: Event,
    /// Claimed privacy loss per unit; `None` if nothing is claimed.
    pub epsilon: Option<f64>,
    /// Claimed failure probability; 0 for a pure claim.
    pub delta: f64,
    /// The claim in words.
    pub claimed: String,
    /// The loss that the event delivers, in words.
    pub delivered: String,
    /// Privacy loss that the event delivers at `delta`; `None` if infinite.
    pub delivered_epsilon: Option<f64>,
    /// Whether the claim is true.
    pub guarantee: Guarantee,
    /// Range to which rewards were clipped; `None` if they were not clipped.
    pub clip: Option<[f64; 2]>,
    /// Whether rewards alone were released in running sums; the event of other running sums says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sums_of_rewards: bool,
    /// Whether the values were simulated or released.
    pub provenance: Provenance,
    /// The formula that set the noise.
    pub noise_formula: String,
    /// Further facts for the reader.
    pub notes: Vec<String>,
}

impl Ledger {
    /// Prices the event and records the claim next to the price.
    pub fn of(claim: Claim) -> Self {
        let Claim { mechanism, calibration, unit, event, budget, noise_formula, doubt, mut notes } = claim;
        let Budget { epsilon, delta, participation: Participation { count, separation } } = budget;
        let (mut threat_model, clip) = (unit.threat_model(), unit.clip());
        let sums_of_rewards = matches!(unit, ClaimUnit::SummedReward { centre: Some(_), .. });
        let covered = count.max(1);
        threat_model.participations = Participations { covered, separation, ..threat_model.participations };
        // The event of a stream is that of all covered participations; a release of its own is that of one.
        let releases = if threat_model.participations.growth == Growth::SeparateReleases { covered } else { 1 };
        let delivered_epsilon = price(&event).times(releases).epsilon(delta).filter(|epsilon| epsilon.is_finite());
        let guarantee = match (epsilon, delivered_epsilon) {
            (None, _) => Guarantee::NotPrivate,
            (Some(claimed), Some(delivered)) if keeps(delivered, claimed.get()) => Guarantee::Holds,
            (Some(_), _) => {
                let (reason, erratum) = doubt.unwrap_or_else(|| unit.doubt(&event));
                Guarantee::NoGuarantee { reason: reason.to_owned(), erratum: erratum.to_owned() }
            }
        };
        notes.extend(unit.notes(budget));
        let noise_formula = if 1 < covered {
            format!(
                "{noise_formula}, which is for one participation: more, so that {covered} of one user keep the budget together"
            )
        } else {
            noise_formula
        };
        let claimed_number = epsilon.map(Epsilon::get);
        let per_unit = threat_model.per_unit();
        Self {
            mechanism: mechanism.to_owned(),
            calibration,
            threat_model,
            event,
            epsilon: claimed_number,
            delta: delta.map_or(0.0, Delta::get),
            claimed: claimed_number.map_or("nothing".to_owned(), |e| worded(e, delta, per_unit)),
            delivered: match (claimed_number, delivered_epsilon) {
                (None, _) => "not private".to_owned(),
                (Some(_), None) => "epsilon = infinity".to_owned(),
                (Some(claimed), Some(e)) => {
                    worded(if (e - claimed).abs() <= 1e-6 * claimed { claimed } else { e }, delta, per_unit)
                }
            },
            delivered_epsilon,
            guarantee,
            clip: clip.map(|(lo, hi)| [lo, hi]),
            sums_of_rewards,
            provenance: Provenance::Simulated,
            noise_formula,
            notes,
        }
    }

    /// Returns whether values are released in running sums, each user's in all that follow.
    pub fn is_of_running_sums(&self) -> bool {
        self.sums_of_rewards || matches!(self.event, Event::Sums { factor, .. } if factor != Factor::Own)
    }

    /// Returns the composed loss of a user who takes part `participations` times.
    /// `None` if no valid price is known.
    pub fn composition(&self, participations: u64) -> Option<Composition> {
        let loss = Loss::of(&self.event);
        let Participations { covered, growth, .. } = self.threat_model.participations;
        let participations = participations.max(covered);
        match growth {
            Growth::SeparateReleases if !matches!(self.event, Event::Subsampled { .. }) => {
                Some(Composition::of(loss).times(participations))
            }
            // The event of a stream is that of all participations that the claim covers.
            _ if participations <= covered.max(1) => Some(Composition::of(loss)),
            // Steps on secretly drawn samples have no known pair of output laws, and so no price for a group.
            _ if matches!(self.event, Event::Subsampled { .. }) => None,
            Growth::OneStream if planted::is(PlantedFault::GroupPrice) => Some(Composition::of(loss).times(participations)),
            // Further ones are groups at the stated separation.
            Growth::OneStream => Some(Composition::of(loss.of_group(participations.div_ceil(covered.max(1))))),
            Growth::SeparateReleases | Growth::Unpriced => None,
        }
    }

    /// Returns epsilon of a composition at the claim's delta; infinite where it has none.
    fn spent(&self, composition: &Composition) -> f64 {
        match Delta::try_from(self.delta) {
            Ok(delta) => composition.epsilon(delta).upper,
            Err(_) => composition.pure().unwrap_or(f64::INFINITY),
        }
    }

    /// Says what a user loses who takes part twice as often as the claim covers; `None` where nothing is promised.
    pub fn returning_twice(&self) -> Option<String> {
        if !matches!(self.guarantee, Guarantee::Holds) {
            return None;
        }
        let twice = 2 * self.threat_model.participations.covered.max(1);
        let spent = self.composition(twice).map(|twice| self.spent(&twice)).filter(|spent| spent.is_finite());
        let spent = match spent {
            Some(spent) if 0.0 < self.delta => format!("epsilon = {} at delta = {}", short(spent), short(self.delta)),
            Some(spent) => format!("epsilon = {}", short(spent)),
            None => "no price is known".to_owned(),
        };
        Some(format!("in {twice} rounds: {spent}"))
    }

    /// Says whether the claim holds for a user who takes part `participations` times.
    /// `None` if no valid price is known.
    pub fn guarantee_for(&self, participations: u64) -> Option<Guarantee> {
        let composition = self.composition(participations)?;
        let (Some(claimed), Guarantee::Holds) = (self.epsilon, &self.guarantee) else { return Some(self.guarantee.clone()) };
        if participations <= self.threat_model.participations.covered {
            return Some(Guarantee::Holds);
        }
        let spent = self.spent(&composition);
        if keeps(spent, claimed) {
            return Some(Guarantee::Holds);
        }
        let spent = if spent.is_finite() { format!("epsilon = {}", short(spent)) } else { "epsilon = infinity".to_owned() };
        let covered = self.threat_model.participations.covered;
        let reason = format!(
            "{} is claimed for {covered} participation{} of one user, and {participations} spend {spent}",
            self.claimed,
            if covered == 1 { "" } else { "s" }
        );
        Some(Guarantee::NoGuarantee { reason, erratum: "E5".to_owned() })
    }

    /// Words the claim as that of one answer, where a user may give several.
    pub fn state_per_answer(&mut self) {
        let worded = |epsilon: f64| worded(epsilon, Delta::try_from(self.delta).ok(), "per answer");
        if let Some(claimed) = self.epsilon {
            self.claimed = worded(claimed);
            self.delivered = match self.delivered_epsilon {
                Some(delivered) if 1e-6 * claimed < (delivered - claimed).abs() => worded(delivered),
                Some(_) => worded(claimed),
                None => "epsilon = infinity".to_owned(),
            };
        }
    }

    /// Withdraws a guarantee that holds for the noise alone. A ledger that claims nothing, or has no guarantee already, stays as it is.
    pub fn withdraw(&mut self, reason: String, erratum: &str) {
        if self.guarantee == Guarantee::Holds {
            self.guarantee = Guarantee::NoGuarantee { reason, erratum: erratum.to_owned() };
        }
    }
}

/// Returns whether a price keeps a claim, up to rounding of the scale and of the price.
/// Numbers of order one carry sixteen digits; a small epsilon carries fewer.
fn keeps(delivered: f64, claimed: f64) -> bool {
    delivered <= claimed * (1.0 + 1e-9) + 1e-14
}

fn worded(epsilon: f64, delta: Option<Delta>, per_unit: &str) -> String {
    match delta {
        None => format!("epsilon = {} {per_unit}, pure", short(epsilon)),
        Some(delta) => format!("(epsilon, delta) = ({}, {}) {per_unit}", short(epsilon), short(delta.get())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimUnit;

    fn claim(event: Event) -> Claim {
        Claim {
            mechanism: "test",
            calibration: Calibration::Tight,
            unit: ClaimUnit::Reward { clip: Some((-1.0, 1.0)) },
            event,
            budget: Budget::new(Some(1.0), None).expect("a budget"),
            noise_formula: "by hand".to_owned(),
            doubt: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_claim_below_its_price_is_no_guarantee() {
        let fine = Ledger::of(claim(Event::Laplace { scale: 2.0, sensitivity: Some(2.0) }));
        assert_eq!((fine.guarantee, fine.delivered.as_str()), (Guarantee::Holds, "epsilon = 1 per user, pure"));
        let short_of_noise = Ledger::of(claim(Event::Laplace { scale: 1.0, sensitivity: Some(2.0) }));
        assert!(matches!(short_of_noise.guarantee, Guarantee::NoGuarantee { .. }));
        assert_eq!(short_of_noise.delivered, "epsilon = 2 per user, pure");
        // A Gaussian mechanism has no pure price.
        let no_delta = Ledger::of(claim(Event::Gaussian { sigma: 9.0, sensitivity: 2.0 }));
        assert_eq!((no_delta.delivered_epsilon, no_delta.delivered.as_str()), (None, "epsilon = infinity"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([short(0.1 + 0.2), short(1e-5), short(123_456_789.0)], ["0.3", "1e-5", "1.23457e8"]);
    }
}
