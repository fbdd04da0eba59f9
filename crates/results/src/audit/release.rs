//! Attacks rewards of real people: the registered mechanisms, from the operating system's entropy.
//!
//! It supplies a new noise key for every release, so the figures differ a little from run to run.

use super::rewards::built;
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
    let case = |suffix: &str, pair: &str, score: &str, size: f64, times: u64| {
        let (answer, claim) = (answer.clone(), claim_of(&ledger, times));
        let attack = move |side: Side, _: &mut Stream| (0..times).map(|_| answer(side.pick(size, -size))).sum();
        let case = Case::new(format!("{name}{suffix}"), claim, pair, score, attack).source("docs/proofs/discrete.md");
        if 0.0 < ledger.delta { case.gaussian() } else { case }
    };
    Ok(vec![
        case("", ENDS, "the released value", 1.0, 1),
        case(", outside", OUTSIDE, "the released value", 1e6, 1),
        case(", twice", ENDS, "the sum of two releases", 1.0, 2),
    ])
}
