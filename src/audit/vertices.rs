//! Attacks on noisy choices of a vertex. A stream: one sample changes in the first round and all other gradients are zero, so that two
//! vertices tie but for it; small losses that add up as for normal noise. One choice: a vertex behind many others moves against all
//! of them, and its rare win shows the whole range.

use super::gradients::{LinearLoss, OUTSIDE, response, terms};
use super::rewards::refused;
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{Choice, LaplaceVector, Query, Sample, Start, VertexChoice, Vertices};
use privateer_privacy::{Calibration, Raw};
use std::sync::Arc;

/// Samples of a stream.
const ROUNDS: u64 = 50;
/// Claims of streams: where the bound on their sum is nearest to what they show, and where an erratum is seen.
const CLAIM: Claim = Claim { epsilon: 4.0, delta: 1e-3 };
const SMALL_CLAIM: Claim = Claim { epsilon: 1.0, delta: 1e-2 };
/// The claim of one choice.
const ONE_CHOICE: Claim = Claim { epsilon: 2.0, delta: 0.0 };
/// Vertices from which it is made: the one that is behind wins seldom, and shows the more of epsilon the less it does.
const CANDIDATES: usize = 65;
const SOURCE: &str = "docs/proofs/gradients.md";

/// The point 1, and the point -1 so many times: diameter 2.
#[derive(Debug)]
struct VertexEnds(usize);

impl Vertices for VertexEnds {
    fn count(&self) -> usize {
        1 + self.0
    }

    fn scores(&self, direction: &[f64], out: &mut [f64]) {
        out.fill(-direction[0]);
        out[0] = direction[0];
    }
}

/// Noisy choices along recursive gradients, with Gumbel or Laplace noise: a stream, and one choice.
///
/// # Errors
/// A calibration that refuses.
pub fn choices(gumbel: bool) -> Result<Vec<Case>, Error> {
    let name = if gumbel { "choices-gumbel" } else { "choices-laplace" };
    let mut cases = stream(name, gumbel, Start::Half, CLAIM)?;
    cases.push(one_choice(name, gumbel));
    Ok(cases)
}

/// A stream with the first gradient whole, at noise for half of it (E28).
///
/// # Errors
/// A calibration that refuses.
pub fn whole_first_gradient() -> Result<Vec<Case>, Error> {
    let mut cases = stream("DP-POFW, first gradient whole", true, Start::Full, SMALL_CLAIM)?;
    cases.iter_mut().for_each(|case| {
        case.erratum = Some("E28");
        case.source = "Han2022, algorithm 2, line 4, at the least noise for its range".to_owned();
    });
    Ok(cases)
}

fn law(gumbel: bool, scale: f64) -> Choice {
    if gumbel { Choice::Exponential { scale } } else { Choice::Noisy(Box::new(LaplaceVector { scale })) }
}

fn stream(name: &str, gumbel: bool, start: Start, claim: Claim) -> Result<Vec<Case>, Error> {
    let Some(terms) = terms(Calibration::Tight, 1.0, 1, claim, ROUNDS, 0.0) else { return Ok(Vec::new()) };
    let priced = terms.choice_noise(gumbel, 1.0).map_err(|refusal| refused(&refusal))?;
    let Some((_, scale)) = priced.noise else { return Ok(Vec::new()) };
    // The bound on contributions would cut a whole first gradient in half: the paper has none.
    let clip = terms.bounds(1.0).filter(|_| start == Start::Half);
    let attack = move |(size, y): (f64, f64)| {
        move |side: Side, stream: &mut Stream| {
            let mut choices =
                VertexChoice::new(Arc::new(LinearLoss), 1, start, clip, Arc::new(VertexEnds(1)), law(gumbel, scale));
            let origin = [0.0];
            let query = Query { now: &origin, before: &origin };
            let mut score = 0.0;
            for t in 1..=ROUNDS {
                let (sign, y) = if t == 1 { response(side, y) } else { (0.0, 0.0) };
                let chosen = *choices.release(query, Raw::seal(Sample { x: &[sign * size], y }), stream).value();
                // The vertex against the gradient is likelier; the log-odds fall as the range over the scale does.
                let weight = falling(t);
                score += if chosen == 1 { weight } else { -weight };
            }
            score
        }
    };
    let score = "the likelihood ratio of all choices";
    let pair = format!("gradients 1 and -1 in round 1 of {ROUNDS}, all others zero");
    let mut cases = vec![Case::new(name, claim, pair, score, attack((1.0, 1.0)))];
    // What is outside acts on the sum as what is at the bound does.
    for (suffix, size, y, words) in OUTSIDE.into_iter().filter(|_| clip.is_some()) {
        let pair = format!("{words} (g = 1) in round 1 of {ROUNDS}, all others zero");
        cases.push(Case::new(format!("{name}, {suffix}"), claim, pair, score, attack((size, y))));
    }
    Ok(cases.into_iter().map(|case| case.source(SOURCE)).collect())
}

/// Range over scale in round t, up to a factor.
pub(super) fn falling(t: u64) -> f64 {
    libm::sqrt(t as f64) / (t as f64 + 1.0)
}

/// Gradients 1 and -1, halved by the start: the first score moves from 1/2 to -1/2, all others the other way.
fn one_choice(name: &str, gumbel: bool) -> Case {
    let scale = 2.0 / ONE_CHOICE.epsilon;
    let attack = move |side: Side, stream: &mut Stream| {
        let mut choices = VertexChoice::new(
            Arc::new(LinearLoss),
            1,
            Start::Half,
            None,
            Arc::new(VertexEnds(CANDIDATES - 1)),
            law(gumbel, scale),
        );
        let origin = [0.0];
        let x = [side.pick(-1.0, 1.0)];
        let query = Query { now: &origin, before: &origin };
        let chosen = *choices.release(query, Raw::seal(Sample { x: &x, y: 1.0 }), stream).value();
        if chosen == 0 { 1.0 } else { 0.0 }
    };
    let pair = format!("one choice of {CANDIDATES} vertices: the score of one moves by half of the range, all others against it");
    Case::new(format!("{name}, one choice"), ONE_CHOICE, pair, "that vertex wins", attack).source(SOURCE).effort(4)
}
