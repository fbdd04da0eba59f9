//! Attacks rewards of real people: the registered mechanisms, from the operating system's entropy.
//!
//! It supplies a new noise key for every release, so the figures differ a little from run to run.

use super::rewards::{built, claim};
use super::sums::claim_of;
use super::{Case, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::{Calibration, Channel, MechanismEntry, Query, Raw};

const ENDS: &str = "one number 1 against -1: the ends of the clip range";
const OUTSIDE: &str = "one number 10^6 against -10^6, clipped to [-1, 1]";

/// Returns the attacks on exact noise of one mechanism.
///
/// They are the ends of the clip range, numbers far outside it, and two releases of the same number at their joint price.
pub fn cases(name: &'static str, entry: &MechanismEntry, epsilon: f64) -> Result<Vec<Case>, Error> {
    let mechanism = built(entry, Calibration::Tight, epsilon, true)?;
    let ledger = mechanism.ledger();
    let channel = Channel::Rewards(mechanism);
    let answer = move |number: f64| {
        let released = ChannelRelease::of(&channel).and_then(|mut of| of.release(&Query::default(), Raw::seal(number)));
        released.ok().and_then(|released| released.reward()).unwrap_or(f64::NAN)
    };
    let (at_ends, outside) = (answer.clone(), answer.clone());
    let twice = move |side: Side, _: &mut Stream| answer(side.pick(1.0, -1.0)) + answer(side.pick(1.0, -1.0));
    let (once, both, score) = (claim(&ledger), claim_of(&ledger, 2), "the released value");
    let ends = move |side: Side, _: &mut Stream| at_ends(side.pick(1.0, -1.0));
    let outside = move |side: Side, _: &mut Stream| outside(side.pick(1e6, -1e6));
    let cases = [
        Case::new(name, once, ENDS, score, ends),
        Case::new(format!("{name}, outside"), once, OUTSIDE, score, outside),
        Case::new(format!("{name}, twice"), both, ENDS, "the sum of two releases", twice),
    ];
    let finish = |case: Case| if 0.0 < ledger.delta { case.gaussian() } else { case };
    Ok(cases.into_iter().map(|case| finish(case).source("docs/proofs/discrete.md")).collect())
}
