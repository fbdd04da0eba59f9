//! Attacks mechanisms for one reward, with the released value as the score.
//!
//! For each of these mechanisms, the likelihood ratio of the two ends of the clip range grows with the released value.

use super::{Case, Claim};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::{
    Budget, Calibration, Ledger, MechanismEntry, Privatizer, Query, Raw, Refusal, Request, RewardFacts, RewardMechanism,
};
use std::sync::Arc;

/// Budgets of the pure mechanisms.
const EPSILONS: [f64; 2] = [0.5, 2.0];
/// Budget of the mechanisms that need a failure probability.
const WITH_DELTA: (f64, f64) = (4.0, 1e-3);

/// Returns all cases of one registered mechanism.
///
/// They are the ends of the clip range at two budgets, and rewards far outside it.
pub fn cases(entry: &MechanismEntry) -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    let probe = built(entry, Calibration::Tight, 1.0, true)?.ledger();
    let epsilons: &[f64] = if probe.epsilon.is_none() || 0.0 < probe.delta { &[WITH_DELTA.0] } else { &EPSILONS };
    for &epsilon in epsilons {
        // Calibrations with equal ledgers are one case.
        let mut known: Vec<Ledger> = Vec::new();
        for calibration in [Calibration::Tight, Calibration::Corrected, Calibration::AsPrinted] {
            let mechanism = built(entry, calibration, epsilon, true)?;
            let ledger = mechanism.ledger();
            if known.iter().any(|other| (other.event, other.clip) == (ledger.event, ledger.clip)) {
                continue;
            }
            let label = if known.is_empty() { entry.name.to_owned() } else { format!("{}, {calibration}", entry.name) };
            known.push(ledger);
            let claims = probe.epsilon.is_some();
            let at = if claims { format!("{label} at {epsilon}") } else { label.clone() };
            cases.push(of_ends(at.clone(), &mechanism, (1.0, -1.0), "the ends of the clip range [-1, 1]"));
            if claims && calibration == Calibration::Tight {
                // A mechanism that is calibrated for a user who answers several times.
                let returning = built_for(entry, Calibration::Tight, (epsilon, RETURNS), true)?;
                cases.push(of_returning(format!("{at}, {RETURNS} answers"), &returning));
            }
            if claims && Some(&epsilon) == epsilons.last() {
                let outside = [
                    ("outside", (1e6, -1e6), "far outside of the clip range [-1, 1]"),
                    ("infinite", (f64::INFINITY, f64::NEG_INFINITY), "not finite"),
                    ("not a number", (1.0, f64::NAN), "an end of the clip range and no number"),
                ];
                cases.extend(
                    outside.map(|(words, rewards, pair)| {
                        of_ends(format!("{label} at {epsilon}, {words}"), &mechanism, rewards, pair)
                    }),
                );
            }
        }
    }
    Ok(cases)
}

/// Answers of one user that a claim covers.
const RETURNS: u64 = 4;

/// Returns the attack that compares a user who always gives 1 with one who always gives -1.
///
/// The most telling event of pure noise is that all answers are large, that of Gaussian noise that their sum is.
fn of_returning(name: String, mechanism: &Arc<dyn RewardMechanism>) -> Case {
    let ledger = mechanism.ledger();
    let (of, gaussian) = (Arc::clone(mechanism), 0.0 < ledger.delta);
    let pair = format!("{RETURNS} rewards of one user, all 1 against all -1: the ends of the clip range [-1, 1]");
    let score = if gaussian { "the sum of the released values" } else { "the least of the released values" };
    let case = Case::new(name, claim(&ledger), pair, score, move |side, stream| {
        let mut privatizer = of.privatizer();
        let answers = (0..RETURNS).map(|_| answer(privatizer.as_mut(), side.pick(1.0, -1.0), stream));
        if gaussian { answers.sum() } else { answers.fold(f64::INFINITY, f64::min) }
    });
    let case = case.source("docs/proofs/returning.md");
    if gaussian { case.gaussian() } else { case }
}

pub fn claim(ledger: &Ledger) -> Claim {
    Claim { epsilon: ledger.epsilon.unwrap_or(f64::INFINITY), delta: ledger.delta }
}

/// Returns the attack that compares two rewards of one user.
pub fn of_ends(name: String, mechanism: &Arc<dyn RewardMechanism>, rewards: (f64, f64), where_they_lie: &str) -> Case {
    let ledger = mechanism.ledger();
    let of = Arc::clone(mechanism);
    let case = Case::new(
        name,
        claim(&ledger),
        format!("one reward {} against {}: {where_they_lie}", rewards.0, rewards.1),
        "the released value",
        move |side, stream| answer(of.privatizer().as_mut(), side.pick(rewards.0, rewards.1), stream),
    );
    let case = case.source(format!("docs/proofs/{}.md", ledger.mechanism));
    if 0.0 < ledger.delta { case.gaussian() } else { case }
}

/// Returns one release of one reward; NaN if there is none.
///
/// A released NaN counts as the least value.
pub fn answer(privatizer: &mut dyn Privatizer, reward: f64, stream: &mut Stream) -> f64 {
    let released = privatizer.release(&Query::default(), Raw::seal(reward), stream.into()).reward();
    released.map_or(f64::NAN, |value| if value.is_nan() { f64::NEG_INFINITY } else { value })
}

/// A registered mechanism on rewards in [-1, 1] (B = R = 1/2), or on unbounded ones with a stated clip there.
pub fn built(
    entry: &MechanismEntry,
    calibration: Calibration,
    epsilon: f64,
    bounded: bool,
) -> Result<Arc<dyn RewardMechanism>, Error> {
    built_for(entry, calibration, (epsilon, 1), bounded)
}

fn built_for(
    entry: &MechanismEntry,
    calibration: Calibration,
    (epsilon, count): (f64, u64),
    bounded: bool,
) -> Result<Arc<dyn RewardMechanism>, Error> {
    let budget = Budget::new(Some(epsilon), Some(WITH_DELTA.1)).map_err(refused)?;
    let request = Request {
        mechanism: entry.name,
        calibration,
        budget: Budget { participation: Participation { count, separation: 1 }, ..budget },
        clip: (!bounded).then_some((-1.0, 1.0)),
    };
    let facts = RewardFacts {
        bound: 0.5,
        noise_bound: bounded.then_some(0.5),
        range: None,
        noise_variance: Some(1.0 / 12.0),
        rounds: 1000,
    };
    (entry.build)(&request, &facts).map_err(refused)
}

pub(super) fn refused(refusal: Refusal) -> Error {
    Error::Failed {
        problem: format!("a registered mechanism refuses its own audit: {refusal}"),
        hint: "this is a fault of the mechanism or of its audit: please report it".to_owned(),
    }
}
