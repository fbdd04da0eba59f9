//! Attacks the privatizers of interactions, as the contextual policies themselves make them.
//!
//! One user's context, arm and reward change; all other users have zero contexts, which add nothing.

use super::caps::{self, CapScore};
use super::rewards::claim;
use super::sums::claim_of;
use super::vertices::falling;
use super::{Case, Side};
use privateer_config::error::Error;
use privateer_engine::spec::{Item, Sweep, Task};
use privateer_numerics::rng::Stream;
use privateer_privacy::Raw;
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::ArmStep;
use privateer_privacy::interactions::{ContextFacts, Interaction, InteractionMechanism, InteractionSignal, Link};
use std::sync::Arc;

/// Number of features of a context, and number of arms.
const SIZE: usize = 2;
/// Number of rounds of sums, each followed by a release.
const SUMS: u64 = 16;
/// Number of rounds of sums, for cases about the data of a few rounds.
const FEW_SUMS: u64 = 8;
/// Number of rounds of choices; the first two are the warm-up.
const CHOICES: u64 = 50;

/// Claims of choices.
///
/// The first is that of the other attacks. At the second, the bound on the choices' total loss is nearest to what they show.
const BUDGET: (f64, f64) = (4.0, 1e-3);
const TIGHTER_BUDGET: (f64, f64) = (1.0, 1e-2);

/// Holds one user's interaction: context, arm and reward.
#[derive(Debug, Clone, Copy)]
struct AuditedUser {
    context: [f64; SIZE],
    arm: usize,
    reward: f64,
}

impl AuditedUser {
    /// Returns context, reward and arm as they are clipped, with rewards in [-1/2, 1/2].
    fn item(self) -> caps::Item {
        let length = self.context.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        let context = self.context.map(|x| if length.is_finite() { x / length } else { 0.0 });
        (context.to_vec(), 0.5 * self.reward.clamp(-1.0, 1.0), self.arm)
    }
}

/// Makes a spec's policy, for rewards in [-1, 1] and contexts of length 1.
///
/// Its parameters are negligible beside them.
fn made(
    policy: Item,
    mechanism: &str,
    (epsilon, delta): (f64, f64),
    rounds: u64,
) -> Result<Arc<dyn InteractionMechanism>, Error> {
    let users = Item::of("generalized-linear").set("dimension", SIZE).set("arms", SIZE).set("parameters", "gaussian");
    let privacy = Item::table_of_keys().set("mechanism", mechanism).set("epsilon", epsilon).set("delta", delta);
    let sweep = Sweep::builder("audit")
        .rounds(rounds)
        .trials(1)
        .environment(users.set("noise", Item::of("uniform").set("bound", 1.0)))
        .privacy(privacy)
        .policy(policy)
        .build()?;
    let Some(Task::Contextual(task)) = sweep.cells.first().map(|cell| &cell.task) else {
        return Err(Error::Failed {
            problem: "the spec of an audit has no contextual policy".to_owned(),
            hint: "this is a fault of the audit: please report it".to_owned(),
        });
    };
    let facts = ContextFacts {
        n_arms: SIZE,
        dimension: SIZE,
        largest_entry: 1.0,
        length: 1.0,
        parameter_l1: 0.01,
        parameter_length: 0.01,
        mean_range: (-0.01, 0.01),
        range: Some((-1.0, 1.0)),
        noise_sd: Some(0.5),
        link: Link::Linear,
        margin: 0.0,
        rounds,
    };
    let prepared = (task.policy_plan.prepare)(&facts, &task.privacy.request);
    Ok(Arc::from(prepared.map_err(|refusal| task.privacy.place(refusal))?.mechanism))
}

/// Plays a stream of interactions and passes every signal to the caller.
///
/// One user has `count` of them from round `from` on.
fn told(
    calibrated: &dyn InteractionMechanism,
    rounds: u64,
    (from, count, changed): (u64, u64, AuditedUser),
    stream: &mut Stream,
    mut see: impl FnMut(u64, &InteractionSignal<'_>),
) {
    let mut privatizer = calibrated.privatizer();
    for round in 1..=rounds {
        // In the warm-up of choices it is public which arm is shown.
        let other = AuditedUser { context: [0.0; SIZE], arm: (round as usize - 1).min(SIZE - 1), reward: 0.0 };
        let AuditedUser { context, arm, reward } = if (from..from + count).contains(&round) { changed } else { other };
        see(round, privatizer.release(Raw::seal(Interaction { context: &context, arm, reward }), stream.into()).value());
    }
}

/// Plans one attack: the changed user's rounds, and the number of rounds.
#[derive(Clone, Copy)]
struct InteractionAttackPlan<'a> {
    calibrated: &'a Arc<dyn InteractionMechanism>,
    rounds: u64,
    releases: u64,
    from: u64,
    count: u64,
}

/// Returns the attacks on running sums of all arms by a factorisation.
///
/// With `own` every user adds their own noise, with `privunit` their own point of a sphere.
pub fn sums(mechanism: &'static str) -> Result<Vec<Case>, Error> {
    let (policy, asked) = match mechanism {
        "own" => ("ldp-linucb", "local-gaussian"),
        "privunit" => ("ldp-linucb", mechanism),
        _ => ("dp-linucb", mechanism),
    };
    let of = |growth: f64, rounds: u64| made(Item::of(policy).set("growth", growth), asked, BUDGET, rounds);
    let (every, few, sparse) = (of(1.0, SUMS)?, of(1.0, FEW_SUMS)?, of(2.0, FEW_SUMS)?);
    let long = InteractionAttackPlan { calibrated: &every, rounds: SUMS, releases: SUMS, from: 1, count: 1 };
    let short = InteractionAttackPlan { calibrated: &few, rounds: FEW_SUMS, releases: FEW_SUMS, ..long };
    let four = InteractionAttackPlan { from: 5, count: 4, ..short };
    // Releases follow rounds 1, 2, 4 and 8.
    let at_once = InteractionAttackPlan { calibrated: &sparse, releases: 4, ..four };
    // Rewards are centred and halved: 1/2 against -1/2, for which the worst cosine of two contexts is 1/4 (erratum E7,
    // `docs/privacy.md`).
    let c = 0.25;
    let along = |size: f64, reward: f64| AuditedUser { context: [size, 0.0], arm: 0, reward };
    let first = along(1.0, 1.0);
    let turned = AuditedUser { context: [c, libm::sqrt(1.0 - c * c)], reward: -1.0, ..first };
    let elsewhere = AuditedUser { arm: 1, reward: -1.0, ..first };
    let pairs = [
        ("", long, first, turned, "reward 1 against a context at cosine 1/4 and reward -1"),
        (", another arm", long, first, elsewhere, "reward 1 against another arm and reward -1"),
        (", outside", short, along(1.0, 1e6), along(1.0, -1e6), "reward 10^6 against -10^6"),
        (", long context", short, along(1e6, 1.0), turned, "a context of length 10^6 against one of length 1 and reward -1"),
        (", not finite", short, along(f64::INFINITY, 1.0), turned, "an infinite context against one of length 1 and reward -1"),
        (", 4 participations", four, first, turned, "rounds 5 to 8 of one user, each in a release of its own"),
        (", 4 participations in one release", at_once, first, turned, "rounds 5 to 8 of one user, all in one release"),
    ];
    let n = GramLayout { n_blocks: SIZE, dimension: SIZE, joint: false }.shape().len();
    // Points of one user that are released together are a sum, of which no cap is known.
    let cases = pairs.into_iter().filter(|(_, plan, ..)| mechanism != "privunit" || plan.releases == plan.rounds).map(
        |(suffix, plan, first, second, words)| {
            let InteractionAttackPlan { calibrated, rounds, releases, from, count } = plan;
            let claim = claim_of(&calibrated.ledger(), count);
            let of = Arc::clone(calibrated);
            let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
                let mut parts = row.chunks_exact_mut(n);
                let mut whole = true;
                told(of.as_ref(), rounds, (from, count, side.pick(first, second)), stream, |_, signal| {
                    if let InteractionSignal::Sums { entries, .. } = signal {
                        match parts.next() {
                            Some(part) => part.copy_from_slice(entries),
                            None => whole = false,
                        }
                    }
                });
                whole && parts.next().is_none()
            };
            let pair = format!("one of {rounds} users: {words}, all others with contexts of zeros");
            let name = format!("visits-{mechanism}{suffix}");
            if let Some(score) = CapScore::of(&calibrated.ledger(), SIZE, [first, second].map(AuditedUser::item)) {
                // What was released for the changed user's rounds: the steps of the sums.
                let steps = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
                    let whole = play(side, stream, row);
                    (n..row.len()).rev().for_each(|at| row[at] -= row[at - n]);
                    row.rotate_left((from as usize - 1) * n);
                    whole
                };
                let size = (n, releases as usize, count as usize);
                return caps::case((name, pair), claim, (score, SIZE), size, steps);
            }
            Case::discriminant(name, claim, pair, releases as usize * n, play).gaussian().source("docs/proofs/interactions.md")
        },
    );
    Ok(cases.collect())
}

/// Returns the attacks on choices of every arm.
///
/// The reward of an interaction in the warm-up changes, or the arm of a later one.
pub fn choices(mechanism: &'static str) -> Result<Vec<Case>, Error> {
    let (calibrated, tighter) = (hdb(mechanism, BUDGET, true)?, hdb(mechanism, TIGHTER_BUDGET, true)?);
    let long = |reward: f64| AuditedUser { context: [1e6, 1e6], arm: 0, reward };
    let ends = [arm_zero(1.0), arm_zero(-1.0)];
    let arms = [arm_zero(1.0), AuditedUser { arm: 1, ..arm_zero(1.0) }];
    let far = [arm_zero(1e6), arm_zero(-1e6)];
    let pairs = [
        ("", &calibrated, 1, ends, "reward 1 against -1 in round 1, arm 0"),
        (" at 1", &tighter, 1, ends, "reward 1 against -1 in round 1, arm 0"),
        (", another arm", &calibrated, 3, arms, "arm 0 against arm 1 in round 3, reward 1"),
        (", outside", &calibrated, 1, far, "reward 10^6 against -10^6 in round 1, arm 0"),
        (", long context", &calibrated, 1, [long(1.0), long(-1.0)], "reward 1 against -1 and entries of 10^6 in round 1, arm 0"),
    ];
    let cases = pairs.map(|(suffix, calibrated, round, users, words)| {
        let (calibrated, claim) = (Arc::clone(calibrated), claim(&calibrated.ledger()));
        let attack =
            move |side: Side, stream: &mut Stream| seen(calibrated.as_ref(), round, side.pick(users[0], users[1]), stream);
        let pair = format!("{words} of {CHOICES}, all others with contexts of zeros");
        let score = "the log-odds of all choices of both arms";
        Case::new(format!("visits-{mechanism}{suffix}"), claim, pair, score, attack).source("docs/proofs/interactions.md")
    });
    Ok(cases.into())
}

/// Attacks the policy without its synthetic updates (erratum E30, `docs/privacy.md`).
///
/// An arm whose state does not change was then not shown.
pub fn without_synthetic_updates() -> Result<Vec<Case>, Error> {
    let calibrated = hdb("gumbel", BUDGET, false)?;
    let claim = claim(&calibrated.ledger());
    let attack = move |side: Side, stream: &mut Stream| {
        let user = AuditedUser { arm: side.pick(0, 1), ..arm_zero(1.0) };
        seen(calibrated.as_ref(), 3, user, stream)
    };
    let pair = format!("a context that pulls arm 0 against one that pulls arm 1, in round 3 of {CHOICES}");
    let case = Case::new("bandit without synthetic updates", claim, pair, "which arm stood still", attack);
    Ok(vec![case.erratum("E30").source("a reading of Han2022, algorithm 3, that updates the pulled arm alone")])
}

fn hdb(mechanism: &str, budget: (f64, f64), synthetic: bool) -> Result<Arc<dyn InteractionMechanism>, Error> {
    made(Item::of("dp-hdb").set("warm_up", 1).set("synthetic", synthetic), mechanism, budget, CHOICES)
}

fn arm_zero(reward: f64) -> AuditedUser {
    AuditedUser { context: [1.0, 1.0], arm: 0, reward }
}

/// Returns the score of one run of choices.
///
/// A reward above the estimate moves an arm's choices to the vertices along the context. An arm without a step is the strongest
/// evidence.
fn seen(calibrated: &dyn InteractionMechanism, round: u64, user: AuditedUser, stream: &mut Stream) -> f64 {
    let (mut steps, mut sum) = ([0; SIZE], 0.0);
    told(calibrated, CHOICES, (round, 1, user), stream, |now, signal| {
        let InteractionSignal::Steps(released) = signal else {
            sum = f64::NAN;
            return;
        };
        let said = |arm: usize, step: ArmStep, at: &mut u64| match step {
            // The arm shown in a round of the warm-up is public.
            ArmStep::None if round == now => {
                if arm == 0 {
                    -1e6
                } else {
                    1e6
                }
            }
            ArmStep::None | ArmStep::Zero => 0.0,
            ArmStep::Vertex(index) => {
                *at += 1;
                let sign = if index < SIZE { 1.0 } else { -1.0 };
                // In the warm-up only arm 0 differs; later arm 1 makes the step that arm 0 lacks.
                let weight = match arm {
                    0 => 1.0,
                    _ if (SIZE as u64) < round => -1.0,
                    _ => 0.0,
                };
                weight * sign * falling(*at)
            }
        };
        sum += released.iter().zip(&mut steps).enumerate().map(|(arm, (step, at))| said(arm, *step, at)).sum::<f64>();
    });
    sum
}
