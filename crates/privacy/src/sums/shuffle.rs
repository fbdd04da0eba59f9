//! Releases the mean of the randomised bits of a batch of users that a shuffler has mixed: our own derivation.
//!
//! All users of a batch play one released point. Each answers with one bit about their own clipped reward (`mechanism/duchi`), and
//! the shuffler gives the server the bits of a batch in random order, which is their number: the more users, the more each
//! bit may say. A batch of fewer users than that was calibrated for is never released. No paper prints a scale, so that all
//! calibrations are equal. Proof: `docs/proofs/shuffled.md`.

use super::{Spectrum, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::accounting::shuffled;
use crate::mechanism::duchi::TwoPoint;
use crate::mechanism::window::Window;
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::{
    Budget, Calibrated, Calibration, Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Privatizer, Protection, Query, Raw,
    Refusal, ReleaseCounts, Released, Request, RewardFacts, Signal,
};
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "batch-shuffle",
    summary: "means of randomised bits of batches at one point, mixed by a shuffler: (epsilon, delta)",
    paper: "",
    serves: Protection::Batches,
    build,
};

const FORMULA: &str =
    "one bit a user [Duchi2018], at the largest loss for which the number of bits of a batch keeps (epsilon, delta)";

/// A batch of the default size has a mean whose noise is at most this share of half of the clip range.
const NOISE_SHARE: f64 = 0.25;

/// Fewest batches of a run with batches of the default size.
const LEAST_BATCHES: u64 = 32;

#[derive(Debug, Clone)]
struct Shuffled {
    calibration: Calibration,
    budget: Budget,
    window: Window,
    bit: TwoPoint,
    /// Least number of users of a batch.
    users: u64,
}

fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Calibrated<dyn SumsMechanism> {
    let (epsilon, delta) = (request.epsilon()?, request.delta(facts.rounds)?);
    if 1 < request.budget.releases() {
        let message = "no price is known for a user who returns to a batch, whose bits do not hide each other";
        return Err(Refusal::new("participations", message, "1, or `mechanism = \"batch-laplace\"`"));
    }
    let window = Window::of(request, facts)?;
    let users = need.batch.unwrap_or_else(|| default_users(epsilon, delta, facts.rounds));
    let bit = bit(epsilon, delta, users);
    if !(bit.output * bit.output).is_normal() {
        return Err(Refusal::overflow(request.mechanism, epsilon.get()));
    }
    Ok(Arc::new(Shuffled { calibration: request.calibration, budget: request.budget, window, bit, users }))
}

/// Returns the bit that a batch of `users` users may answer with.
fn bit(epsilon: Epsilon, delta: Delta, users: u64) -> TwoPoint {
    let counted = if planted::is(PlantedFault::ShuffledBits) { 10 * users } else { users };
    let loss = shuffled::largest_loss(epsilon, counted, delta);
    TwoPoint::new(Epsilon::try_from(loss).unwrap_or(epsilon))
}

/// Returns the fewest users whose mean has little noise, from public numbers alone.
fn default_users(epsilon: Epsilon, delta: Delta, rounds: u64) -> u64 {
    let most = (rounds / LEAST_BATCHES).max(1);
    let is_enough = |users: u64| bit(epsilon, delta, users).output <= NOISE_SHARE * libm::sqrt(users as f64);
    let (mut no, mut yes) = (0, most);
    while 1 < yes - no {
        let middle = no + (yes - no) / 2;
        if is_enough(middle) { yes = middle } else { no = middle }
    }
    yes
}

impl crate::privatizer::sealed::Sealed for Shuffled {}

impl SumsMechanism for Shuffled {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(ShuffledBits { mechanism: self.clone(), sum: 0.0, users: 0, counts: ReleaseCounts::default() })
    }

    fn facts(&self) -> SumsFacts {
        let spectrum = Spectrum::Shuffled { std: self.window.half() * self.bit.output, users: self.users };
        let (clip, centre) = (Some(self.window.range()), self.window.off_unit(0.0));
        SumsFacts { calibration: self.calibration, clip, centre, spectrum }
    }

    fn ledger(&self) -> Ledger {
        Ledger::of(Claim {
            mechanism: ENTRY.name,
            calibration: self.calibration,
            event: Event::Shuffled { rare: self.bit.rare, users: self.users },
            budget: self.budget,
            unit: ClaimUnit::ShuffledReward { clip: self.window.range() },
            doubt: None,
            noise_formula: FORMULA.to_owned(),
            notes: vec![
                format!(
                    "whoever sees a user's bit before the shuffler learns epsilon = {}",
                    crate::quote::short(shuffled::loss(self.bit.rare))
                ),
                "each bit is in one batch: the budget of one batch is that of the run (our own derivation, equal under all calibrations)"
                    .to_owned(),
            ],
        })
    }

    fn state(&self) -> f64 {
        2.0
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        Err(ReleaseError::Elsewhere("the users of a shuffled batch answer on their own devices, before anything arrives here"))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        Vec::new()
    }
}

struct ShuffledBits {
    mechanism: Shuffled,
    /// Sum of the answers of the batch, in units in which the clip range is [-1, 1].
    sum: f64,
    /// Number of users in the batch.
    users: u64,
    counts: ReleaseCounts,
}

impl Privatizer for ShuffledBits {
    /// Returns the mean of the batch that ends in this round; nothing before, and nothing of a batch too small to hide its users.
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let mechanism = &self.mechanism;
        let reward = reward.open();
        let input = mechanism.window.to_unit(reward);
        // The draw is the same for every noise but exact noise, which `exact` refuses.
        self.sum += noise.number(|stream| mechanism.bit.respond(input, stream.uniform()));
        self.users += 1;
        self.counts.rewards += 1;
        self.counts.clipped += u64::from(mechanism.window.clip(reward) != reward);
        if !query.release {
            return Released::mark(Signal::Nothing);
        }
        let (sum, users) = (std::mem::take(&mut self.sum), std::mem::take(&mut self.users));
        if users < mechanism.users {
            return Released::mark(Signal::Nothing);
        }
        self.counts.releases += 1;
        Released::mark(Signal::Reward(mechanism.window.off_unit(sum / users as f64)))
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }
}
