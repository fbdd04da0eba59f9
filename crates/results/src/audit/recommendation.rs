//! Attacks the choice of one candidate by its rewards.
//!
//! One user's reward of the first candidate changes, or all rewards of one user do. The first candidate is behind many others that
//! tie: its rare win shows the whole change of the range.

use super::rewards::{claim, refused};
use super::sums::SumsAttackNoise;
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::printed::kusner2015;
use privateer_privacy::sums::{SumsNeed, exponential};
use privateer_privacy::{Budget, Calibration, Query, Raw, Request, RewardFacts, Signal};
use std::sync::Arc;

/// Number of candidates; the rarer the win of the one behind, the more of epsilon it shows.
const CANDIDATES: u64 = 17;
/// Users that score each candidate.
const PULLS: u64 = 3;
/// The claim.
const EPSILON: f64 = 2.0;

/// Plans one attack on rewards in [-1, 1].
#[derive(Clone, Copy)]
struct AnswerAttackPlan {
    suffix: &'static str,
    pair: &'static str,
    participation: Participation,
    /// Size of the changed rewards.
    size: f64,
    /// Returns by which share of `size` the reward of a candidate's pull moves up.
    change: fn(u64, u64) -> f64,
}

/// Returns the attacks on simulated choices.
pub fn cases() -> Result<Vec<Case>, Error> {
    of("sums-exponential", SumsAttackNoise::Simulated)
}

/// Returns the attacks on real choices, which are refused for users who return.
pub fn released() -> Result<Vec<Case>, Error> {
    of("exact-exponential", SumsAttackNoise::Exact)
}

fn of(name: &str, noise: SumsAttackNoise) -> Result<Vec<Case>, Error> {
    let first = |candidate, pull| if (candidate, pull) == (0, 0) { 1.0 } else { 0.0 };
    let pair = "one reward 1 against -1";
    let plan = AnswerAttackPlan { suffix: "", pair, participation: Participation::ONCE, size: 1.0, change: first };
    let outside = AnswerAttackPlan { suffix: ", outside", pair: "one reward 10^6 against -10^6", size: 1e6, ..plan };
    let mut plans = vec![plan, outside];
    if noise == SumsAttackNoise::Simulated {
        plans.push(AnswerAttackPlan {
            suffix: ", all users of a candidate are one",
            pair: "all rewards of one candidate 1 against -1",
            participation: Participation { count: PULLS, separation: 1 },
            change: |candidate, _| if candidate == 0 { 1.0 } else { 0.0 },
            ..plan
        });
        plans.push(AnswerAttackPlan {
            suffix: ", one user in every candidate",
            pair: "one reward of a candidate 1 against -1, one of each other -1 against 1",
            participation: Participation { count: CANDIDATES, separation: PULLS },
            change: |candidate, pull| match (candidate, pull) {
                (0, 0) => 1.0,
                (_, 0) => -1.0,
                _ => 0.0,
            },
            ..plan
        });
    }
    plans.into_iter().map(|plan| case(name, noise, &plan)).collect()
}

fn case(name: &str, noise: SumsAttackNoise, plan: &AnswerAttackPlan) -> Result<Case, Error> {
    let &AnswerAttackPlan { suffix, pair, participation, size, change } = plan;
    let budget = Budget::new(Some(EPSILON), None).map_err(refused)?;
    let request = Request {
        mechanism: exponential::ENTRY.name,
        calibration: Calibration::Tight,
        budget: Budget { participation, ..budget },
        clip: Some((-1.0, 1.0)),
    };
    let rounds = CANDIDATES * PULLS;
    let facts = RewardFacts { bound: 0.5, noise_bound: Some(0.5), range: None, noise_variance: None, rounds };
    let need = SumsNeed::of_features(CANDIDATES as usize, 1, rounds);
    let mechanism = (exponential::ENTRY.build)(&request, &facts, need).map_err(refused)?;
    let (claim, of) = (claim(&mechanism.ledger()), Arc::clone(&mechanism));
    let attack = move |side: Side, stream: &mut Stream| {
        let Some(mut take) = noise.taker(&of) else { return f64::NAN };
        let mut chosen = f64::NAN;
        for round in 0..rounds {
            let reward = side.pick(size, -size) * change(round / PULLS, round % PULLS);
            let Some(released) = take(&Query::default(), Raw::seal(reward), stream) else { return f64::NAN };
            match *released.value() {
                Signal::Choice(at) if round + 1 == rounds => chosen = if at == 0 { 1.0 } else { 0.0 },
                Signal::Nothing if round + 1 < rounds => {}
                _ => return f64::NAN,
            }
        }
        chosen
    };
    let pair = format!("{pair}, all else known, {CANDIDATES} candidates with {PULLS} users each");
    let case = Case::new(format!("{name}{suffix}"), claim, pair, "the first candidate wins", attack);
    Ok(case.source("docs/proofs/recommendation.md").effort(if noise == SumsAttackNoise::Exact { 1 } else { 4 }))
}

/// Attacks the claim of erratum E32 (`docs/privacy.md`): noise for a change that is rare under a prior.
///
/// Two candidates that the prior takes for independent are evaluated once each, without noise, so that their posterior means are
/// the scores. One record moves one score by 100 prior deviations. A model of the printed choice.
pub fn of_a_prior() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 0.05 };
    // Two evaluations, and validation sets whose functions have correlation 0.9.
    let symbols = [("n", 2.0), ("t", 3.0), ("delta", claim.delta), ("d", 0.1)];
    let scale = 2.0 * kusner2015::SENSITIVITY.scale(&symbols).size / claim.epsilon;
    let attack = move |side: Side, stream: &mut Stream| {
        let lead = side.pick(50.0, -50.0);
        if stream.bernoulli(1.0 / (1.0 + libm::exp(-lead / scale))) { 1.0 } else { 0.0 }
    };
    let pair = "one record moves one of two scores by 100 prior deviations";
    let case = Case::new("recommendation of a prior", claim, pair, "that candidate wins", attack);
    Ok(vec![case.erratum("E32").source("Kusner2015, theorem 1 and algorithm 1")])
}
