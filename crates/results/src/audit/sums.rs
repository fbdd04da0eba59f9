//! Attacks sums of `phi phi^T` and `y phi` over users, through the privatizers themselves.
//!
//! The pair of one user changes at the worst angle; the data of all other users are known. Sums of batches hold rewards alone.

use super::caps::{self, CapScore};
use super::rewards::{claim, refused};
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::sums::{SumsEntry, SumsMechanism, SumsNeed, joint, local, privunit, shuffle};
use privateer_privacy::{
    Budget, Calibration, Channel, Delta, Ledger, Protection, Query, Raw, Released, Request, RewardFacts, Signal,
};
use std::borrow::Cow;
use std::sync::Arc;

/// Number of rounds, with one user per round.
const ROUNDS: u64 = 16;
/// Number of rounds of real releases, whose noise takes longer to draw.
const EXACT_ROUNDS: u64 = 4;
/// Number of rounds of cases about the data of one round.
const FEW_ROUNDS: u64 = 2;
/// Number of rounds of one user who participates more than once.
const PARTICIPATIONS: u64 = 3;
/// Number of features of a user.
const FEATURES: usize = 2;
/// Length of a release: the packed matrix, then the vector.
const ENTRIES: usize = 5;
/// The claim, at a delta for which the attack shows most of it.
const BUDGET: (f64, f64) = (4.0, 1e-3);
/// The claim about shuffled answers, at which 64 of them hide each other.
const SHUFFLED: (f64, f64) = (1.0, 1e-2);

/// Returns the attacks on the sums of users with two features and rewards in [-1, 1].
pub fn cases(entry: &SumsEntry) -> Result<Vec<Case>, Error> {
    // Batches share no noise: more rounds add nothing to learn.
    let rounds = if entry.serves == Protection::Batches { FEW_ROUNDS } else { ROUNDS };
    of(entry, rounds, SumsAttackNoise::Simulated, false)
}

/// Returns the attacks on sums of rewards at public points: by the tree, in buffers and by columns of one norm.
pub fn of_rewards() -> Result<Vec<Case>, Error> {
    let of = |at: usize| of(&joint::ENTRIES[at], ROUNDS, SumsAttackNoise::Simulated, true);
    Ok([of(0)?, of(2)?, of(5)?].concat())
}

/// Returns the attacks on real releases of sums of rewards at public points.
pub fn released_rewards() -> Result<Vec<Case>, Error> {
    let of = |at: usize| of(&joint::ENTRIES[at], EXACT_ROUNDS, SumsAttackNoise::Exact, true);
    Ok([of(0)?, of(5)?].concat())
}

/// Returns the attacks on real releases: running sums in buffers, by columns of one norm and by the tree, and own items.
pub fn released() -> Result<Vec<Case>, Error> {
    let entries = [&joint::ENTRIES[2], &joint::ENTRIES[5], &joint::ENTRIES[0], &local::ENTRY];
    Ok(entries.map(released_of).into_iter().collect::<Result<Vec<_>, Error>>()?.concat())
}

/// Returns the attacks on real releases of points of a sphere.
pub fn released_points() -> Result<Vec<Case>, Error> {
    let mut cases = of(&privunit::ENTRY, 1, SumsAttackNoise::Exact, false)?;
    // A release draws many points: two cases show what the others would.
    cases.retain(|case| matches!(case.name.as_str(), "ranked-points" | "ranked-points, right angle"));
    Ok(cases)
}

/// Returns the attacks on real releases of one mechanism.
pub fn released_of(entry: &SumsEntry) -> Result<Vec<Case>, Error> {
    of(entry, EXACT_ROUNDS, SumsAttackNoise::Exact, false)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SumsAttackNoise {
    Simulated,
    Exact,
}

/// Returns the release that follows from one user's features and reward.
pub(super) type Taker = Box<dyn FnMut(&Query<'_>, Raw<f64>, &mut Stream) -> Option<Released<Signal>>>;

impl SumsAttackNoise {
    pub(super) fn taker(self, mechanism: &Arc<dyn SumsMechanism>) -> Option<Taker> {
        if self == Self::Simulated {
            let mut privatizer = mechanism.privatizer();
            return Some(Box::new(move |query, reward, stream| Some(privatizer.release(query, reward, stream.into()))));
        }
        let mut release = ChannelRelease::of(&Channel::Sums(Arc::clone(mechanism))).ok()?;
        Some(Box::new(move |query, reward, _| release.release(query, reward).ok()))
    }
}

/// Holds a user's features and reward.
type Data = ([f64; FEATURES], f64);

/// Plans one attack: the changed user's rounds, and the interval between releases.
struct SumsAttackPlan {
    suffix: &'static str,
    pair: &'static str,
    rounds: u64,
    /// Number of rounds of the changed user, from round 1 on.
    participations: u64,
    every: u64,
    /// The rounds of the releases, where they are not equally far apart.
    ends: Option<&'static [u64]>,
    /// Whether the claim covers all of these rounds.
    covered: bool,
    first: Data,
    second: Data,
}

/// * `alone` — whether points are public and rewards alone are protected
fn of(entry: &SumsEntry, rounds: u64, noise: SumsAttackNoise, alone: bool) -> Result<Vec<Case>, Error> {
    let (e1, e2) = ([1.0, 0.0], [0.0, 1.0]);
    let once = |suffix, pair, rounds, first, second| SumsAttackPlan {
        suffix,
        pair,
        rounds,
        participations: 1,
        every: 1,
        ends: None,
        covered: true,
        first,
        second,
    };
    let long = [1e6, 0.0];
    // In units of the clip range Y is 1/2: the worst pair has a cosine of 1/4 and y' = -y (erratum E7, `docs/privacy.md`).
    let same = alone || entry.serves == Protection::Batches;
    let (other, worst) = if same {
        (e1, "the same phi, y = 1 against -1")
    } else {
        ([0.25, libm::sqrt(15.0) / 4.0], "phi against one at a cosine of 1/4, y = 1 against -1")
    };
    let mut plans = vec![
        once("", worst, rounds, (e1, 1.0), (other, -1.0)),
        once(", right angle", "phi against one at a right angle, y = 1 against -1", rounds, (e1, 1.0), (e2, -1.0)),
        once(", outside", "the worst pair of phi, y = 10^6 against -10^6", FEW_ROUNDS, (e1, 1e6), (other, -1e6)),
        once(
            ", long features",
            "phi of length 10^6 against one of length 1, y = 1 against -1",
            FEW_ROUNDS,
            (long, 1.0),
            (e2, -1.0),
        ),
        once(
            ", not finite",
            "infinite features against phi, y = 1 against -1",
            FEW_ROUNDS,
            ([f64::INFINITY, 0.0], 1.0),
            (e1, -1.0),
        ),
    ];
    for (suffix, every) in [(", 3 participations in one row", PARTICIPATIONS), (", 3 participations", 1)] {
        // In a local model every item is its own release.
        if entry.serves != Protection::LocalSums || every == 1 {
            let plan = SumsAttackPlan {
                participations: PARTICIPATIONS,
                every,
                covered: false,
                ..once(suffix, worst, PARTICIPATIONS, (e1, 1.0), (other, -1.0))
            };
            // Exact sums are refused for users who return.
            if noise == SumsAttackNoise::Simulated && !["none", shuffle::ENTRY.name].contains(&entry.name) {
                let suffix = if every == 1 { ", 3 covered" } else { ", 3 covered in one row" };
                plans.push(SumsAttackPlan { suffix, covered: true, ..plan });
            }
            plans.push(plan);
        }
    }
    if same {
        plans.retain(|plan| plan.first.0 == plan.second.0);
    }
    if entry.serves == Protection::Batches {
        plans.push(SumsAttackPlan { every: 4, ..once(", in a batch of 4", "y = 1 against -1", 4, (e1, 1.0), (e1, -1.0)) });
        if entry.name == shuffle::ENTRY.name {
            let many = once(", in a batch of 64", "y = 1 against -1", 64, (e1, 1.0), (e1, -1.0));
            plans.push(SumsAttackPlan { every: 64, ..many });
        } else {
            // A phase of elimination, docs/proofs/batches.md: every streak is released at its own end.
            let ends = Some(&[3, 4, 6][..]);
            let streaks = once(", in streaks of 3, 1 and 2", "y = 1 against -1", 6, (e1, 1.0), (e1, -1.0));
            plans.push(SumsAttackPlan { ends, ..streaks });
        }
    }
    plans.into_iter().map(|plan| case(entry, (noise, alone), plan)).collect()
}

fn case(entry: &SumsEntry, (noise, alone): (SumsAttackNoise, bool), plan: SumsAttackPlan) -> Result<Case, Error> {
    let SumsAttackPlan { suffix, pair, rounds, participations, every, ends, covered, first, second } = plan;
    let releases = ends.map_or(rounds / every, |ends| ends.len() as u64);
    let (epsilon, delta) = if entry.name == shuffle::ENTRY.name { SHUFFLED } else { BUDGET };
    let budget = Budget::new(Some(epsilon), Some(delta)).map_err(refused)?;
    let request = Request {
        mechanism: entry.name,
        calibration: Calibration::Tight,
        budget: Budget {
            participation: Participation { count: if covered { participations } else { 1 }, separation: 1 },
            ..budget
        },
        clip: Some((-1.0, 1.0)),
    };
    let facts = RewardFacts { bound: 0.5, noise_bound: Some(0.5), range: None, noise_variance: None, rounds };
    let need = SumsNeed { batch: Some(every), rewards_alone: alone, ..SumsNeed::of_features(FEATURES, releases, rounds) };
    let mechanism = (entry.build)(&request, &facts, need).map_err(refused)?;
    let claim = claim_of(&mechanism.ledger(), if covered { 1 } else { participations });
    // Bits hide each other least where those of all others are likely to be the same.
    let reward = if entry.name == shuffle::ENTRY.name { -1.0 } else { 0.3 };
    let known = [([0.6, 0.8], reward), ([0.8, -0.6], reward)];
    let of = Arc::clone(&mechanism);
    let width = match entry.serves {
        Protection::Batches => 1,
        _ if alone => FEATURES,
        _ => ENTRIES,
    };
    // A point of a sphere is scored in units of the range of rewards, [-1, 1].
    let unit = if entry.name == privunit::ENTRY.name { 2.0 } else { 1.0 };
    let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
        let Some(mut take) = noise.taker(&of) else { return false };
        let mut parts = row.chunks_exact_mut(width);
        for round in 1..=rounds {
            let (features, reward) = if round <= participations { side.pick(first, second) } else { known[round as usize % 2] };
            let query = Query {
                features: Cow::Borrowed(&features),
                release: ends.map_or(round.is_multiple_of(every), |ends| ends.contains(&round)),
            };
            let Some(released) = take(&query, Raw::seal(reward), stream) else { return false };
            let entries = match released.value() {
                Signal::Sums(sums) | Signal::Item(sums) => &sums.entries,
                Signal::Reward(mean) => std::slice::from_ref(mean),
                Signal::Nothing | Signal::Choice(_) => continue,
            };
            let Some(part) = parts.next() else { return false };
            part.copy_from_slice(&entries[entries.len() - width..]);
            if 1.0 < unit {
                part[width - FEATURES..].iter_mut().for_each(|entry| *entry /= unit);
            }
        }
        parts.next().is_none()
    };
    let (name, source) = match noise {
        _ if entry.serves == Protection::Batches => {
            let kind = if noise == SumsAttackNoise::Exact { "exact-sums" } else { "sums" };
            let proof = if entry.name == shuffle::ENTRY.name { "docs/proofs/shuffled.md" } else { "docs/proofs/batches.md" };
            (format!("{kind}-{}{suffix}", entry.name), proof)
        }
        SumsAttackNoise::Simulated if alone => (format!("reward-sums, {}{suffix}", entry.name), "docs/proofs/sums.md"),
        SumsAttackNoise::Exact if alone => (format!("exact-reward-sums, {}{suffix}", entry.name), "docs/proofs/released-sums.md"),
        SumsAttackNoise::Simulated => (format!("sums-{}{suffix}", entry.name), "docs/proofs/sums.md"),
        SumsAttackNoise::Exact if entry.name == privunit::ENTRY.name => {
            (format!("ranked-points{suffix}"), "docs/proofs/privunit.md")
        }
        SumsAttackNoise::Exact => (format!("discrete-gaussian-sums, {}{suffix}", entry.name), "docs/proofs/released-sums.md"),
    };
    let given = if entry.serves == Protection::LocalSums { rounds } else { releases };
    let at = if participations == 1 {
        format!("in round 1 of {rounds}")
    } else {
        format!("in {participations} rounds of one user, {rounds} rounds, {releases} releases")
    };
    // Features and rewards that the clip moves.
    let clipped = |([x, y], reward): Data| {
        let length = if x.is_finite() { x.hypot(y).max(1.0) } else { f64::INFINITY };
        (vec![if x.is_finite() { x / length } else { 0.0 }, y / length], reward.clamp(-1.0, 1.0) / unit, 0)
    };
    let ledger = match noise {
        SumsAttackNoise::Simulated => mechanism.ledger(),
        SumsAttackNoise::Exact => mechanism.exact().map_or_else(|_| mechanism.ledger(), |exact| exact.ledger()),
    };
    if let Some(score) = CapScore::of(&ledger, 1, [first, second].map(clipped)) {
        let size = (width, given as usize, participations as usize);
        return Ok(caps::case((name, format!("{pair}, {at}")), claim, (score, FEATURES), size, play));
    }
    let case = Case::discriminant(name, claim, format!("{pair}, {at}, all else known"), given as usize * width, play);
    // One number a batch is drawn in no time.
    let case = if width == 1 && noise == SumsAttackNoise::Simulated { case.effort(4) } else { case };
    let case = case.source(source);
    Ok(if 0.0 < claim.delta && entry.name != shuffle::ENTRY.name { case.gaussian() } else { case })
}

/// Returns a ledger's claim for this number of participations: its price where there are several.
pub(super) fn claim_of(ledger: &Ledger, participations: u64) -> Claim {
    let once = claim(ledger);
    match (participations, ledger.epsilon, Delta::try_from(ledger.delta), ledger.composition(participations)) {
        (0 | 1, ..) | (_, None, ..) => once,
        (_, Some(_), Ok(delta), Some(composition)) => Claim { epsilon: composition.epsilon(delta).upper, ..once },
        (_, Some(_), Err(_), Some(composition)) => Claim { epsilon: composition.pure().unwrap_or(f64::INFINITY), ..once },
        _ => Claim { epsilon: f64::INFINITY, ..once },
    }
}
