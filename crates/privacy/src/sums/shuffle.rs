//! Releases the mean of the randomised answers of a batch of users that a shuffler has mixed: our own derivation.
//!
//! All users of a batch play one released point. Each answers with one of a few levels of their own clipped reward
//! (`mechanism/response`), and the shuffler gives the server the answers of a batch in random order, which are their counts: the more
//! users, the more each answer may say. A batch of fewer users than that was calibrated for is never released. No paper prints a
//! scale, so that all calibrations are equal. Proof: `docs/proofs/shuffled.md`.

use super::{Spectrum, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::accounting::shuffled;
use crate::mechanism::on_window::UnitRandomiser;
use crate::mechanism::response::{MOST_LEVELS, Response};
use crate::mechanism::window::Window;
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::{
    Calibrated, Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Privatizer, Protection, Query, Raw, Refusal, ReleaseCounts,
    Released, Request, RewardFacts, Signal,
};
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "batch-shuffle",
    summary: "means of randomised answers of batches at one point, mixed by a shuffler: (epsilon, delta)",
    paper: "",
    serves: Protection::Batches,
    build,
};

const FORMULA: &str = "one of k levels a user [Kairouz2016], at the largest loss for which the counts of a batch keep (epsilon, delta), k of least \
     worst-case variance";

/// A batch of the default size has a mean whose noise is at most this share of half of the clip range.
const NOISE_SHARE: f64 = 0.25;

/// Fewest batches of a run with batches of the default size.
const LEAST_BATCHES: u64 = 32;

#[derive(Debug, Clone)]
struct Shuffled {
    request: Request,
    window: Window,
    answer: Response,
    /// Sub-Gaussian variance proxy of an answer around its input, in units in which the clip range is [-1, 1].
    proxy: f64,
    /// Least number of users of a batch.
    users: u64,
}

fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Calibrated<dyn SumsMechanism> {
    let (epsilon, delta) = (request.epsilon()?, request.delta(facts.rounds)?);
    if 1 < request.budget.participation.releases() {
        let message = "no price is known for a user who returns to a batch, whose answers do not hide each other";
        return Err(Refusal::new("participations", message, "1, or `mechanism = \"batch-laplace\"`"));
    }
    let window = Window::of(request, facts)?;
    let users = need.batch.unwrap_or_else(|| default_users(epsilon, delta, facts.rounds));
    let answer = answer(epsilon, delta, users);
    Refusal::unless_normal(answer.bound(), request.mechanism, epsilon.get())?;
    Ok(Arc::new(Shuffled { request: *request, window, answer, proxy: answer.proxy(), users }))
}

/// Returns how a user of a batch of `users` may answer: on more and more levels, while that lowers the worst-case variance.
fn answer(epsilon: Epsilon, delta: Delta, users: u64) -> Response {
    let counted = if planted::is(PlantedFault::ShuffledAnswers) { 10 * users } else { users };
    let on = |levels| Response::on(levels, shuffled::largest_loss(epsilon, levels, counted, delta));
    let mut best = on(2);
    for levels in 3..=MOST_LEVELS {
        let next = on(levels);
        if best.worst_variance <= next.worst_variance {
            break;
        }
        best = next;
    }
    best
}

/// Returns the fewest users whose mean has little noise, from public numbers alone.
fn default_users(epsilon: Epsilon, delta: Delta, rounds: u64) -> u64 {
    let most = (rounds / LEAST_BATCHES).max(1);
    let is_enough = |users: u64| answer(epsilon, delta, users).worst_variance <= NOISE_SHARE * NOISE_SHARE * users as f64;
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
        Box::new(ShuffledAnswers { mechanism: self.clone(), sum: 0.0, users: 0, counts: ReleaseCounts::default() })
    }

    fn facts(&self) -> SumsFacts {
        let half = self.window.half();
        let (variance, proxy) = (half * half * self.answer.worst_variance, half * half * self.proxy);
        let spectrum = Spectrum::Shuffled { variance, proxy, users: self.users };
        let (clip, centre) = (Some(self.window.range()), self.window.off_unit(0.0));
        SumsFacts { calibration: self.request.calibration, clip, centre, spectrum }
    }

    fn ledger(&self) -> Ledger {
        let Response { epsilon, levels, .. } = self.answer;
        let event = Event::Shuffled { rare: shuffled::rare(epsilon, levels), levels, users: self.users };
        let unit = ClaimUnit::ShuffledReward { clip: self.window.range() };
        let notes = vec![
            format!("whoever sees a user's answer before the shuffler learns epsilon = {}", crate::quote::short(epsilon)),
            "each answer is in one batch: the budget of one batch is that of the run (our own derivation, equal under all calibrations)"
                .to_owned(),
        ];
        Ledger::of(Claim { notes, ..Claim::of(&self.request, unit, event, FORMULA) })
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

struct ShuffledAnswers {
    mechanism: Shuffled,
    /// Sum of the answers of the batch, in units in which the clip range is [-1, 1].
    sum: f64,
    /// Number of users in the batch.
    users: u64,
    counts: ReleaseCounts,
}

impl Privatizer for ShuffledAnswers {
    /// Returns the mean of the batch that ends in this round; nothing before, and nothing of a batch too small to hide its users.
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let mechanism = &self.mechanism;
        let reward = reward.open();
        let input = mechanism.window.to_unit(reward);
        // The draw is the same for every noise but exact noise, which `exact` refuses.
        self.sum += noise.number(|stream| mechanism.answer.draw(input, stream));
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
