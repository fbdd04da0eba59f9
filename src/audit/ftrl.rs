//! Attacks noisy prefix sums of plain gradients, as `dp-ftrl` releases them.
//!
//! One sample changes in every pass, or several samples of one user; all other gradients are zero.

use super::gradients::{CLAIM, DIMENSION, LinearLoss, OUTSIDE, direction, response, terms};
use super::prefix::weights;
use super::rewards::refused;
use super::{Case, Side};
use privateer_config::error::Error;
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::gradients::{GradientQuery, PrefixGradients, Sample, Start};
use privateer_privacy::{Calibration, Raw, quote};
use std::sync::Arc;

/// Number of rounds of an attacked stream.
const ROUNDS: u64 = 8;

/// Returns the attacks with independent normal noise, or with generalised Gaussian noise.
///
/// # Errors
/// If the calibration refuses the terms.
pub fn cases(generalized: bool) -> Result<Vec<Case>, Error> {
    let name = if generalized { "ftrl-generalized-gaussian" } else { "ftrl-gaussian" };
    let Some(terms) = terms(Calibration::Tight, 1.5, DIMENSION, CLAIM, ROUNDS, 0.0) else { return Ok(Vec::new()) };
    let (clip, direction) = (terms.bounds(1.0), direction(generalized));
    let mut cases = Vec::new();
    for (factor, count) in [("tree", 1), ("sqrt-toeplitz", 1), ("tree", 2), ("blt", 2), ("banded-toeplitz", 2)] {
        let Some(factorisation) = quote::factorisation(factor, ROUNDS, Participation { count, separation: ROUNDS / 2 }) else {
            continue;
        };
        let separation = ROUNDS / 2;
        let priced = terms.plain_sum_noise(generalized, factorisation.as_ref(), Participation { count, separation });
        let law = priced.map_err(|refusal| refused(&refusal))?.noise;
        let changed: Vec<u64> = (0..count).map(|pass| 1 + pass * separation).collect();
        let weights = weights(factorisation.as_ref(), &changed);
        let pair = format!("gradients g and -g in rounds {changed:?} of {ROUNDS}, length 1 in l3, all others zero");
        let play = move |side: Side, (size, y): (f64, f64), stream: &mut Stream, seen: &mut dyn FnMut(usize, &[f64])| {
            let noise = law.sampler().map(|sampler| (factorisation.as_ref(), sampler));
            let mut sums = PrefixGradients::new(Arc::new(LinearLoss), DIMENSION, Start::Never, clip, noise);
            let query = GradientQuery { now: &[0.0; DIMENSION], before: &[0.0; DIMENSION] };
            (1..=ROUNDS).all(|t| {
                let (sign, y) = if changed.contains(&t) { response(side, y) } else { (0.0, 0.0) };
                let x = direction.map(|d| sign * size * d);
                let released = sums.release(query, Raw::seal(Sample { x: &x, y }), stream);
                released.is_ok_and(|released| {
                    seen(t as usize - 1, released.value());
                    true
                })
            })
        };
        let scored = play.clone();
        let attack = move |side: Side, stream: &mut Stream| {
            let mut score = 0.0;
            let whole = scored(side, (1.0, 1.0), stream, &mut |at, released| score += weights[at] * dot(released, &direction));
            if whole { score } else { f64::NAN }
        };
        let words = "the likelihood ratio of all prefixes under normal noise";
        cases.push(Case::new(format!("{name}, {factor}, {count} of one user"), CLAIM, pair, words, attack));
        let outside = if cases.len() == 1 { &OUTSIDE[..] } else { &[] };
        for &(suffix, size, y, words) in outside {
            let (play, pair) = (play.clone(), format!("{words} in round 1 of {ROUNDS}, all others zero"));
            let transcript = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
                play(side, (size, y), stream, &mut |at, released| {
                    row[at * DIMENSION..][..DIMENSION].copy_from_slice(released);
                })
            };
            let width = ROUNDS as usize * DIMENSION;
            cases.push(Case::discriminant(format!("{name}, {suffix}"), CLAIM, pair, width, transcript));
        }
    }
    let finished = |case: Case| if generalized { case } else { case.gaussian() };
    Ok(cases.into_iter().map(|case| finished(case.source("docs/proofs/gradients.md"))).collect())
}
