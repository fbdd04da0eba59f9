//! Attacks on the privatizers of gradients: one sample of a stream of linear losses changes, in the first round; all other gradients
//! are zero, so that every score ties.

use super::prefix::weights;
use super::rewards::refused;
use super::{Case, Claim, Side};
use crate::error::Error;
use crate::linalg::Norm;
use crate::privacy::gradients::{
    Choice, Constants, Gradient, LaplaceVector, PrefixGradients, Query, Sample, SampleClip, Start, Terms, VectorNoise,
    VertexChoice, Vertices,
};
use crate::privacy::streams::Factorisation;
use crate::privacy::streams::tree::Tree;
use crate::privacy::{Delta, Epsilon, Raw, Reading};
use crate::rng::Stream;
use std::sync::Arc;

/// Samples of a stream of choices.
const ROUNDS: u64 = 50;
/// Its claim.
const CLAIM: Claim = Claim { epsilon: 1.0, delta: 1e-2 };
/// Dimensions of a stream of sums.
const DIMENSION: usize = 5;

/// The gradient of `<x, theta>`: L is the bound on |x|, beta is zero.
#[derive(Debug)]
struct Linear;

impl Gradient for Linear {
    fn gradient(&self, _theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        out.copy_from_slice(sample.x);
    }
}

/// The points 1 and -1: diameter 2.
#[derive(Debug)]
struct Ends;

impl Vertices for Ends {
    fn count(&self) -> usize {
        2
    }

    fn scores(&self, direction: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&[direction[0], -direction[0]]);
    }
}

fn terms(reading: Reading, p: f64, dimension: usize, claim: Claim, rounds: u64) -> Option<Terms> {
    let norm = Norm::of(p)?;
    let constants = Constants { diameter: 2.0, smoothness: 0.0, lipschitz: 1.0 };
    Some(Terms {
        reading,
        budget: Some((Epsilon::try_from(claim.epsilon).ok()?, Delta::try_from(claim.delta).ok()?)),
        rounds,
        dimension,
        norm,
        actual: constants,
        stated: constants,
        clip: Some(SampleClip { norm: norm.dual(), radius: 1.0 }),
    })
}

/// Noisy choices along recursive gradients, with Gumbel or Laplace noise.
///
/// # Errors
/// A calibration that refuses.
pub fn choices(gumbel: bool) -> Result<Vec<Case>, Error> {
    let name = if gumbel { "choices-gumbel" } else { "choices-laplace" };
    of_choices(name, gumbel, Start::Half)
}

/// The same with the first gradient whole, at noise for half of it (E28).
///
/// # Errors
/// A calibration that refuses.
pub fn whole_first_gradient() -> Result<Vec<Case>, Error> {
    let mut cases = of_choices("DP-POFW, first gradient whole", true, Start::Full)?;
    cases.iter_mut().for_each(|case| {
        case.erratum = Some("E28");
        case.source = "Han2022, algorithm 2, line 4, at the least noise for its range".to_owned();
    });
    Ok(cases)
}

fn of_choices(name: &str, gumbel: bool, start: Start) -> Result<Vec<Case>, Error> {
    let Some(terms) = terms(Reading::Tight, 1.0, 1, CLAIM, ROUNDS) else { return Ok(Vec::new()) };
    let priced = terms.choice_noise(gumbel, 1.0).map_err(|refusal| refused(&refusal))?;
    let Some((_, scale)) = priced.noise else { return Ok(Vec::new()) };
    // The bound on contributions would cut a whole first gradient in half: the paper has none.
    let clip = terms.bounds(1.0).filter(|_| start == Start::Half);
    let attack = move |side: Side, stream: &mut Stream| {
        let choice = if gumbel { Choice::Exponential { scale } } else { Choice::Noisy(Box::new(LaplaceVector { scale })) };
        let mut choices = VertexChoice::new(Arc::new(Linear), 1, start, clip, Arc::new(Ends), choice);
        let origin = [0.0];
        let query = Query { now: &origin, before: &origin };
        let mut score = 0.0;
        for t in 1..=ROUNDS {
            let x = [if t == 1 { side.pick(1.0, -1.0) } else { 0.0 }];
            let chosen = *choices.release(query, Raw::seal(Sample { x: &x, y: 0.0 }), stream).value();
            // The vertex against the gradient is likelier; the log-odds fall as the range over the scale does.
            let weight = libm::sqrt(t as f64) / (t as f64 + 1.0);
            score += if chosen == 1 { weight } else { -weight };
        }
        score
    };
    let pair = format!("gradients 1 and -1 in round 1 of {ROUNDS}, all others zero");
    let case = Case::new(name, CLAIM, pair, "the likelihood ratio of all choices", attack);
    Ok(vec![case.source("docs/proofs/accounting.md")])
}

/// Prefix sums of recursive gradients with noise on vectors: independent normals, or the generalised Gaussian of the l3 norm.
///
/// # Errors
/// A calibration that refuses.
pub fn sums(generalized: bool) -> Result<Vec<Case>, Error> {
    let name = if generalized { "gradients-generalized-gaussian" } else { "gradients-gaussian" };
    of_sums(name, generalized, Reading::Tight, Claim { epsilon: 4.0, delta: 1e-3 })
}

/// The generalised Gaussian as printed (E23).
///
/// # Errors
/// A calibration that refuses.
pub fn printed_gamma_scale() -> Result<Vec<Case>, Error> {
    let mut cases =
        of_sums("generalised Gaussian, printed Gamma scale", true, Reading::Printed, Claim { epsilon: 1.0, delta: 1e-3 })?;
    cases.iter_mut().for_each(|case| {
        case.erratum = Some("E23");
        case.source = "Han2022, lemma 3.1, algorithm 4".to_owned();
    });
    Ok(cases)
}

fn of_sums(name: &str, generalized: bool, reading: Reading, claim: Claim) -> Result<Vec<Case>, Error> {
    let rounds = 8;
    // The dual of l_1.5 is l_3.
    let Some(terms) = terms(reading, 1.5, DIMENSION, claim, rounds) else { return Ok(Vec::new()) };
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(rounds));
    let priced = terms.sum_noise(generalized, factorisation.as_ref(), 1.0).map_err(|refusal| refused(&refusal))?;
    let (law, clip) = (priced.noise, terms.bounds(1.0));
    let weights = weights(factorisation.as_ref(), &[1]);
    // Along the diagonal for independent normals, where the l3 ball is farthest; along an axis for the noise of its own norm.
    let direction: [f64; DIMENSION] =
        if generalized { [1.0, 0.0, 0.0, 0.0, 0.0] } else { [libm::cbrt(1.0 / DIMENSION as f64); DIMENSION] };
    let attack = move |side: Side, stream: &mut Stream| {
        let Some(sampler) = law.sampler() else { return f64::NAN };
        let noise: (&dyn Factorisation, Box<dyn VectorNoise>) = (factorisation.as_ref(), sampler);
        let mut sums = PrefixGradients::new(Arc::new(Linear), DIMENSION, Start::Half, clip, Some(noise));
        let origin = [0.0; DIMENSION];
        let query = Query { now: &origin, before: &origin };
        let mut score = 0.0;
        for (t, weight) in (1..=rounds).zip(&weights) {
            let sign = if t == 1 { side.pick(1.0, -1.0) } else { 0.0 };
            let x = direction.map(|d| sign * d);
            let Ok(released) = sums.release(query, Raw::seal(Sample { x: &x, y: 0.0 }), stream) else { return f64::NAN };
            score += weight * released.value().iter().zip(&direction).map(|(x, d)| x * d).sum::<f64>();
        }
        score
    };
    let pair = format!("gradients g and -g in round 1 of {rounds}, |g|_3 = 1, all others zero");
    let case = Case::new(name, claim, pair, "the prefixes along g, weighted as for normal noise", attack);
    let case = case.source("docs/proofs/accounting.md");
    Ok(vec![if generalized { case } else { case.gaussian() }])
}
