//! Attacks noisy choices of a vertex, in a stream and in one choice.
//!
//! In the stream, one sample changes in the first round and all other gradients are zero. So two vertices tie except for the
//! change, and small privacy losses add up as for normal noise. In the single choice, a vertex behind many others moves against
//! all of them, and its rare win shows the whole range.

use super::gradients::{LinearLoss, OUTSIDE, response, terms};
use super::rewards::refused;
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{Choice, ChoiceLaw, GradientQuery, Sample, Start, VertexChoice, Vertices};
use privateer_privacy::{Calibration, Raw};
use std::sync::Arc;

/// Number of samples of a stream.
const ROUNDS: u64 = 50;
/// Claims of streams.
///
/// At the first, the bound on the sum of losses is nearest to what the choices show; at the second, an erratum is visible.
const CLAIM: Claim = Claim { epsilon: 4.0, delta: 1e-3 };
const SMALL_CLAIM: Claim = Claim { epsilon: 1.0, delta: 1e-2 };
/// The claim for one choice.
const ONE_CHOICE: Claim = Claim { epsilon: 2.0, delta: 0.0 };
/// Number of vertices in the single choice.
///
/// The rarer the win of the vertex behind, the more of epsilon it shows.
const CANDIDATES: usize = 65;
const SOURCE: &str = "docs/proofs/gradients.md";

/// Lists the point 1 and this number of copies of the point -1, for a diameter of 2.
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

/// Returns the attacks on choices along recursive gradients, with Gumbel or Laplace noise.
///
/// There is one stream and one single choice.
pub fn choices(gumbel: bool) -> Result<Vec<Case>, Error> {
    let name = if gumbel { "choices-gumbel" } else { "choices-laplace" };
    let mut cases = stream(name, gumbel, Start::Half, CLAIM)?;
    cases.push(one_choice(name, gumbel));
    Ok(cases)
}

/// Attacks a stream with the whole first gradient, at noise for half of it.
///
/// This is erratum E28 (`docs/privacy.md`).
pub fn whole_first_gradient() -> Result<Vec<Case>, Error> {
    let cases = stream("DP-POFW, first gradient whole", true, Start::Full, SMALL_CLAIM)?;
    let source = "Han2022, algorithm 2, line 4, at the least noise for its range";
    Ok(cases.into_iter().map(|case| case.erratum("E28").source(source)).collect())
}

fn stream(name: &str, gumbel: bool, start: Start, claim: Claim) -> Result<Vec<Case>, Error> {
    let terms = terms(Calibration::Tight, 1.0, 1, claim, ROUNDS, 0.0)?;
    let law = terms.choice_noise(gumbel, 1.0, true).map_err(refused)?.noise;
    // The bound on contributions would halve the whole first gradient; the paper has no bound.
    let clip = terms.bounds(1.0).filter(|_| start == Start::Half);
    let attack = move |(size, y): (f64, f64)| {
        move |side: Side, stream: &mut Stream| {
            let mut choices = VertexChoice::new(Arc::new(LinearLoss), 1, start, clip, Arc::new(VertexEnds(1)), Choice::from(law));
            let query = GradientQuery { now: &[0.0], before: &[0.0] };
            let mut score = 0.0;
            for t in 1..=ROUNDS {
                let (sign, y) = if t == 1 { response(side, y) } else { (0.0, 0.0) };
                let chosen = *choices.release(query, Raw::seal(Sample { x: &[sign * size], y }), stream).value();
                // The vertex opposite the gradient is likelier; the log-odds decrease with range over scale.
                let weight = falling(t);
                score += if chosen == 1 { weight } else { -weight };
            }
            score
        }
    };
    let score = "the likelihood ratio of all choices";
    let pair = format!("gradients 1 and -1 in round 1 of {ROUNDS}, all others zero");
    let mut cases = vec![Case::new(name, claim, pair, score, attack((1.0, 1.0)))];
    // A sample outside the clip affects the sum as one at the bound does.
    for (suffix, size, y, words) in OUTSIDE.into_iter().filter(|_| clip.is_some()) {
        let pair = format!("{words} (g = 1) in round 1 of {ROUNDS}, all others zero");
        cases.push(Case::new(format!("{name}, {suffix}"), claim, pair, score, attack((size, y))));
    }
    Ok(cases.into_iter().map(|case| case.source(SOURCE)).collect())
}

/// Returns range over noise scale in round t, up to a factor.
pub(super) fn falling(t: u64) -> f64 {
    libm::sqrt(t as f64) / (t as f64 + 1.0)
}

/// Attacks gradients 1 and -1, halved by the start, in one choice.
///
/// The first score moves from 1/2 to -1/2, and all others move the other way.
fn one_choice(name: &str, gumbel: bool) -> Case {
    let scale = 2.0 / ONE_CHOICE.epsilon;
    let law = if gumbel { ChoiceLaw::Gumbel { scale } } else { ChoiceLaw::Laplace { scale } };
    let attack = move |side: Side, stream: &mut Stream| {
        let ends = Arc::new(VertexEnds(CANDIDATES - 1));
        let mut choices = VertexChoice::new(Arc::new(LinearLoss), 1, Start::Half, None, ends, Choice::from(law));
        let x = [side.pick(-1.0, 1.0)];
        let query = GradientQuery { now: &[0.0], before: &[0.0] };
        let chosen = *choices.release(query, Raw::seal(Sample { x: &x, y: 1.0 }), stream).value();
        if chosen == 0 { 1.0 } else { 0.0 }
    };
    let pair = format!("one choice of {CANDIDATES} vertices: the score of one moves by half of the range, all others against it");
    Case::new(format!("{name}, one choice"), ONE_CHOICE, pair, "that vertex wins", attack).source(SOURCE).effort(4)
}
