//! Attacks on the privatizers of visits, made by the contextual policies themselves: one person's context, arm and reward change; all
//! others have contexts of zeros, which add nothing.

use super::prefix::weights;
use super::rewards::claim;
use super::vertices::falling;
use super::{Case, Side};
use crate::error::Error;
use crate::policy::contextual::ContextPolicyMaker;
use crate::privacy::Raw;
use crate::privacy::quote;
use crate::privacy::streams::Factorisation;
use crate::privacy::streams::own::Own;
use crate::privacy::visits::choices::ArmStep;
use crate::privacy::visits::sums::Layout;
use crate::privacy::visits::{ContextFacts, Link, Visit, VisitSignal};
use crate::rng::Stream;
use crate::spec::{Sweep, Task};
use std::sync::Arc;

/// Features of a context, and arms.
const SIZE: usize = 2;
/// Rounds of sums, each followed by a release.
const SUMS: u64 = 16;
/// Rounds of choices; the first two are the warm-up.
const CHOICES: u64 = 50;

/// One person.
#[derive(Debug, Clone, Copy)]
struct Person {
    context: [f64; SIZE],
    arm: usize,
    reward: f64,
}

/// The policy of a spec, for rewards in [-1, 1], contexts of length 1 and parameters that hardly count beside them.
fn made(policy: &str, privacy: &str, rounds: u64) -> Result<Arc<dyn ContextPolicyMaker>, Error> {
    let text = format!(
        "rounds = {rounds}\ntrials = 1\n[environment]\nkind = \"generalized-linear\"\ndimension = {SIZE}\narms = {SIZE}\n\
         parameters = \"gaussian\"\nnoise = {{ kind = \"uniform\", bound = 1.0 }}\n[privacy]\n{privacy}\n[[policy]]\n{policy}\n"
    );
    let sweep = Sweep::parse("audit.toml", &text, &[])?;
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
    Ok(Arc::from(task.policy_plan.prepare(&facts, task.privacy.request()).map_err(|refusal| task.privacy.place(refusal))?))
}

/// The transcript of a stream of visits, one score a round.
fn told(
    maker: &dyn ContextPolicyMaker,
    rounds: u64,
    changed: (u64, Person),
    stream: &mut Stream,
    mut score: impl FnMut(u64, &VisitSignal<'_>) -> f64,
) -> f64 {
    let mut privatizer = maker.privatizer();
    let mut sum = 0.0;
    for round in 1..=rounds {
        // In the warm-up of choices everybody knows which arm is shown.
        let other = Person { context: [0.0; SIZE], arm: (round as usize - 1).min(SIZE - 1), reward: 0.0 };
        let Person { context, arm, reward } = if round == changed.0 { changed.1 } else { other };
        sum += score(round, privatizer.release(Raw::seal(Visit { context: &context, arm, reward }), stream).value());
    }
    sum
}

/// Running sums of all arms by a factorisation; `own`: everybody adds their own noise.
///
/// # Errors
/// A policy that refuses.
pub fn sums(mechanism: &'static str) -> Result<Vec<Case>, Error> {
    let (policy, asked) = if mechanism == "own" { ("ldp-linucb", "auto") } else { ("dp-linucb", mechanism) };
    let privacy = format!("mechanism = \"{asked}\"\nepsilon = 4.0\ndelta = 1e-3");
    let maker = made(&format!("kind = \"{policy}\"\ngrowth = 1.0"), &privacy, SUMS)?;
    let factorisation: Arc<dyn Factorisation> = match quote::factorisation(mechanism, SUMS) {
        Some(factorisation) => factorisation,
        None => Arc::new(Own::new(SUMS)),
    };
    let weights = Arc::new(weights(factorisation.as_ref(), &[1]));
    // Rewards are centred and halved: 1/2 against -1/2, for which the worst cosine of two contexts is 1/4 (E7).
    let c = 0.25;
    let first = Person { context: [1.0, 0.0], arm: 0, reward: 1.0 };
    let turned = Person { context: [c, libm::sqrt(1.0 - c * c)], arm: 0, reward: -1.0 };
    let elsewhere = Person { context: [1.0, 0.0], arm: 1, reward: -1.0 };
    let pairs =
        [("", turned, "a context at cosine 1/4 and reward -1"), (", another arm", elsewhere, "another arm and reward -1")];
    let layout = Layout { n_arms: SIZE, dimension: SIZE, joint: false };
    let cases = pairs.map(|(suffix, second, words)| {
        let direction = direction(layout, first, second);
        let (maker, weights) = (Arc::clone(&maker), Arc::clone(&weights));
        let attack = move |side: Side, stream: &mut Stream| {
            told(maker.as_ref(), SUMS, (1, side.pick(first, second)), stream, |round, signal| match signal {
                VisitSignal::Sums { entries, .. } => {
                    weights[round as usize - 1] * entries.iter().zip(&direction).map(|(x, d)| x * d).sum::<f64>()
                }
                _ => f64::NAN,
            })
        };
        (suffix, words, attack)
    });
    let claim = claim(&maker.ledger());
    let made = cases.into_iter().map(|(suffix, words, attack)| {
        let pair = format!("the first of {SUMS} people: reward 1 against {words}, all others with contexts of zeros");
        Case::new(format!("visits-{mechanism}{suffix}"), claim, pair, "the likelihood ratio of all releases", attack)
            .gaussian()
            .source("docs/proofs/visits.md")
    });
    Ok(made.collect())
}

/// What the two people add, apart, over the variance: on the diagonal of a matrix twice as large.
fn direction(layout: Layout, first: Person, second: Person) -> Vec<f64> {
    let item = |person: Person| {
        let mut entries = vec![0.0; layout.len()];
        layout.add(&mut entries, person.arm, &person.context, 0.5 * person.reward);
        entries
    };
    let mut direction: Vec<f64> = item(first).iter().zip(item(second)).map(|(a, b)| a - b).collect();
    let n = layout.n_rows();
    for group in direction.chunks_exact_mut(n * (n + 1) / 2 + n) {
        let mut at = 0;
        for row in 0..n {
            group[at] *= 0.5;
            at += n - row;
        }
    }
    direction
}

/// Choices of every arm: a visit of the warm-up whose reward changes, and a later one of which the arm does.
///
/// # Errors
/// A policy that refuses.
pub fn choices(mechanism: &'static str) -> Result<Vec<Case>, Error> {
    let maker = hdb(mechanism, true)?;
    let claim = claim(&maker.ledger());
    let name = format!("visits-{mechanism}");
    let pairs = [
        ("", 1, [arm_zero(1.0), arm_zero(-1.0)], "reward 1 against -1 in round 1, arm 0"),
        (", another arm", 3, [arm_zero(1.0), Person { arm: 1, ..arm_zero(1.0) }], "arm 0 against arm 1 in round 3, reward 1"),
    ];
    let cases = pairs.map(|(suffix, round, people, words)| {
        let maker = Arc::clone(&maker);
        let attack = move |side: Side, stream: &mut Stream| seen(maker.as_ref(), round, side.pick(people[0], people[1]), stream);
        let pair = format!("{words} of {CHOICES}, all others with contexts of zeros");
        let case = Case::new(format!("{name}{suffix}"), claim, pair, "the log-odds of all choices of both arms", attack);
        case.source("docs/proofs/visits.md")
    });
    Ok(cases.into())
}

/// E30: the same policy with its synthetic updates left out, so that an arm that stands still was not shown.
///
/// # Errors
/// A policy that refuses.
pub fn without_synthetic_updates() -> Result<Vec<Case>, Error> {
    let maker = hdb("gumbel", false)?;
    let claim = claim(&maker.ledger());
    let attack = move |side: Side, stream: &mut Stream| {
        let person = Person { arm: side.pick(0, 1), ..arm_zero(1.0) };
        seen(maker.as_ref(), 3, person, stream)
    };
    let pair = format!("a context that pulls arm 0 against one that pulls arm 1, in round 3 of {CHOICES}");
    let case = Case::new("bandit without synthetic updates", claim, pair, "which arm stood still", attack);
    Ok(vec![case.erratum("E30").source("a reading of Han2022, algorithm 3, that updates the pulled arm alone")])
}

fn hdb(mechanism: &str, synthetic: bool) -> Result<Arc<dyn ContextPolicyMaker>, Error> {
    let policy = format!("kind = \"dp-hdb\"\nwarm_up = 1\nsynthetic = {synthetic}");
    made(&policy, &format!("mechanism = \"{mechanism}\"\nepsilon = 4.0\ndelta = 1e-3"), CHOICES)
}

fn arm_zero(reward: f64) -> Person {
    Person { context: [1.0, 1.0], arm: 0, reward }
}

/// A reward above the estimate pulls an arm's choices to the vertices along the context. An arm without a step tells more than any.
fn seen(maker: &dyn ContextPolicyMaker, round: u64, person: Person, stream: &mut Stream) -> f64 {
    let mut steps = [0; SIZE];
    told(maker, CHOICES, (round, person), stream, |now, signal| {
        let VisitSignal::Steps(released) = signal else { return f64::NAN };
        let said = |arm: usize, step: ArmStep, at: &mut u64| match step {
            // Who is asked in a round of the warm-up is no secret.
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
                // In the warm-up only arm 0 differs; later arm 1 has what arm 0 has not.
                let weight = match arm {
                    0 => 1.0,
                    _ if (SIZE as u64) < round => -1.0,
                    _ => 0.0,
                };
                weight * sign * falling(*at)
            }
        };
        released.iter().zip(&mut steps).enumerate().map(|(arm, (step, at))| said(arm, *step, at)).sum()
    })
}
