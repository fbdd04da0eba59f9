//! Attacks noisy gradients of single samples, of batches and of secretly drawn samples.
//!
//! One sample's gradient is g or -g, all others are zero.

use super::gradients::{CLAIM, DIMENSION, LinearLoss, OUTSIDE, direction, finished, response, separation, terms};
use super::rewards::refused;
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{
    BatchGradients, BatchPlan, Clip, Gradient, GradientQuery, Sample, SampleGradients, StoredSamples, Terms, VectorLaw,
};
use privateer_privacy::{Calibration, Raw};
use std::sync::Arc;

/// Number of samples in the data set from which gradients are drawn, and number of draws.
const STORED: (u64, u64) = (4, 15);

/// Computes `y theta_0 x`; L and beta are the bound on |x|, for |theta| <= 1 and |y| <= 1.
#[derive(Debug)]
struct BilinearGradient;

impl Gradient for BilinearGradient {
    fn gradient(&self, theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        out.iter_mut().zip(sample.x).for_each(|(out, x)| *out = theta[0] * sample.y * x);
    }
}

/// Returns the terms for the dual of l_1.5, which is l_3.
fn of_l3(claim: Claim, rounds: u64) -> Result<Terms, Error> {
    terms(Calibration::Tight, 1.5, DIMENSION, claim, rounds, 1.0)
}

/// Returns features and response of the changed sample: g or -g, times a size.
fn changed<const D: usize>(side: Side, g: [f64; D], (size, y): (f64, f64)) -> ([f64; D], f64) {
    let (sign, y) = response(side, y);
    (g.map(|g| sign * size * g), y)
}

/// Returns the release of one sample's gradient.
fn of_sample(law: VectorLaw, clip: Option<Clip>, (x, y): (&[f64], f64), stream: &mut Stream) -> Option<Vec<f64>> {
    let mut gradients = SampleGradients::new(Arc::new(LinearLoss), x.len(), clip, law.sampler()?);
    Some(gradients.release(&vec![0.0; x.len()], Raw::seal(Sample { x, y }), stream).value().to_vec())
}

/// Returns the attack on the release of one sample's gradient, by its likelihood ratio.
fn of_ratio<const D: usize>(
    name: String,
    claim: Claim,
    (law, clip): (VectorLaw, Option<Clip>),
    g: [f64; D],
    pair: String,
) -> Case {
    let attack = move |side: Side, stream: &mut Stream| {
        let (x, y) = changed(side, g, (1.0, 1.0));
        of_sample(law, clip, (&x, y), stream).map_or(f64::NAN, |released| separation(law, &released, &g))
    };
    Case::new(name, claim, pair, "the likelihood ratio of its release", attack)
}

/// Returns the attacks on one gradient per sample.
pub fn samples(kind: &'static str) -> Result<Vec<Case>, Error> {
    let (terms, generalized, is_pure) = (of_l3(CLAIM, 8)?, kind == "generalized-gaussian", kind == "privunit");
    let priced = if is_pure { terms.unit_noise() } else { terms.step_noise(generalized) };
    let (law, clip) = (priced.map_err(refused)?.noise, terms.bounds(1.0));
    let claim = Claim { delta: if is_pure { 0.0 } else { CLAIM.delta }, ..CLAIM };
    // Of g and -g in the direction in which the l3 ball extends farthest, a release on a sphere shows most.
    let g = direction(generalized);
    let name = format!("sample-{kind}");
    let pair = "gradients g and -g of one sample, length 1 in l3".to_owned();
    let mut cases = vec![of_ratio(name.clone(), claim, (law, clip), g, pair)];
    for (suffix, size, y, words) in OUTSIDE {
        let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            let (x, y) = changed(side, g, (size, y));
            of_sample(law, clip, (&x, y), stream).is_some_and(|released| {
                row.copy_from_slice(&released);
                true
            })
        };
        cases.push(Case::discriminant(format!("{name}, {suffix}"), claim, format!("{words}, one sample"), DIMENSION, play));
    }
    if generalized {
        cases.push(many_dimensions(&name)?);
    }
    let of_sphere = |case: Case| case.source("docs/proofs/privunit.md");
    Ok(cases.into_iter().map(|case| if is_pure { of_sphere(case) } else { finished(case, generalized) }).collect())
}

/// Returns the attack in many dimensions, where noise of the l3 norm itself is the least.
///
/// In few dimensions normal noise is used. The change is along the diagonal, where that noise is nearest to its price.
fn many_dimensions(name: &str) -> Result<Case, Error> {
    const MANY: usize = 16;
    let claim = Claim { epsilon: 1.0, delta: 1e-2 };
    let terms = terms(Calibration::Tight, 1.5, MANY, claim, 8, 0.0)?;
    let noise = (terms.step_noise(true).map_err(refused)?.noise, terms.bounds(1.0));
    let g = [libm::cbrt(1.0 / MANY as f64); MANY];
    let pair = format!("gradients g and -g of one sample in {MANY} dimensions, length 1 in l3");
    Ok(of_ratio(format!("{name}, {MANY} dimensions"), claim, noise, g, pair))
}

/// Attacks means over batches: a sample of the first batch changes, or one of a later batch.
pub fn batches(generalized: bool) -> Result<Vec<Case>, Error> {
    let (plan, eta) = (BatchPlan { first: 2, batch: 2, steps: 1 }, 0.5);
    let terms = of_l3(CLAIM, 4)?;
    let laws = terms.batch_noise(generalized, plan, eta).map_err(refused)?.noise;
    let clip = terms.bounds(1.0);
    let g = direction(generalized);
    // Returns the releases of both batches; the sample of one round changes.
    let play = move |side: Side, number: u64, data: (f64, f64), stream: &mut Stream| {
        let noises = (laws.0.sampler()?, laws.1.sampler()?);
        // beta eta D = 1/2 · 2: the largest distance of the iterates of the later batch.
        let mut batches = BatchGradients::new(Arc::new(BilinearGradient), DIMENSION, clip, plan, eta * 2.0, noises);
        let (mut now, mut before) = ([0.0; DIMENSION], [0.0; DIMENSION]);
        let mut released = Vec::new();
        for round in 1..=4 {
            (now[0], before[0]) = if round <= plan.first { (1.0, 1.0) } else { (0.5, -0.5) };
            let (x, y) = if round == number { changed(side, g, data) } else { ([0.0; DIMENSION], 0.0) };
            let query = GradientQuery { now: &now, before: &before };
            if let Some(batch) = batches.release(query, Raw::seal(Sample { x: &x, y }), stream) {
                released.push(batch.value().to_vec());
            }
        }
        <[Vec<f64>; 2]>::try_from(released).ok()
    };
    let kind = if generalized { "generalized-gaussian" } else { "gaussian" };
    let of = |number: u64, law: VectorLaw, words: &str| {
        let attack = move |side: Side, stream: &mut Stream| {
            let Some([first, later]) = play(side, number, (1.0, 1.0), stream) else { return f64::NAN };
            // The mean over the two samples of a batch.
            separation(law, if number <= plan.first { &first } else { &later }, &g.map(|g| 0.5 * g))
        };
        let pair = format!("gradients g and -g of one sample in {words}, length 1 in l3, all others zero");
        let name = format!("batch-{kind}{}", if number == 1 { "" } else { ", later batch" });
        Case::new(name, CLAIM, pair, "the likelihood ratio of its batch", attack)
    };
    let mut cases = vec![of(1, laws.0, "the first batch of 2"), of(3, laws.1, "the second batch of 2")];
    let inside = ("both batches", 1.0, 1.0, "gradients g and -g");
    for (suffix, size, y, words) in [inside].into_iter().chain(OUTSIDE) {
        let transcript = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            play(side, 1, (size, y), stream).is_some_and(|released| {
                row.copy_from_slice(&released.concat());
                true
            })
        };
        let pair = format!("{words} of one sample in the first batch of 2, all others zero");
        cases.push(Case::discriminant(format!("batch-{kind}, {suffix}"), CLAIM, pair, 2 * DIMENSION, transcript));
    }
    Ok(cases.into_iter().map(|case| finished(case, generalized)).collect())
}

/// Returns the attacks on gradients of samples that are drawn in secret.
pub fn stored() -> Result<Vec<Case>, Error> {
    let (n_samples, steps) = STORED;
    let terms = of_l3(CLAIM, n_samples)?;
    let (law, clip) = (terms.stored_noise(steps).map_err(refused)?.noise, terms.bounds(1.0));
    let VectorLaw::Gaussian { sigma } = law else { return Ok(Vec::new()) };
    let g = direction(false);
    // Shows every drawn gradient; returns false if one is refused.
    let play = move |side: Side, data: (f64, f64), others: f64, stream: &mut Stream, seen: &mut dyn FnMut(&[f64])| {
        let Some(noise) = law.sampler() else { return false };
        let mut stored = StoredSamples::new(Arc::new(LinearLoss), DIMENSION, clip, noise);
        for sample in 0..n_samples {
            let (x, y) = if sample == 0 { changed(side, g, data) } else { (g, others) };
            stored.samples.keep(Raw::seal(Sample { x: &x, y }));
        }
        (0..steps).all(|_| stored.gradient(&[0.0; DIMENSION], stream).map(|released| seen(released.value())).is_some())
    };
    let attack = move |side: Side, stream: &mut Stream| {
        let mut score = 0.0;
        let whole = play(side, (1.0, 1.0), 1.0, stream, &mut |released| {
            // One draw of n is the changed sample's: a normal around g against a mixture of it and one around -g.
            let ratio = libm::exp(-2.0 * separation(law, released, &g) / (sigma * sigma));
            score -= libm::log((n_samples - 1) as f64 + ratio);
        });
        if whole { score } else { f64::NAN }
    };
    let pair = format!("gradients g and -g of one sample of {n_samples}, all others g, {steps} draws");
    let mut cases = vec![Case::new("stored-gaussian", CLAIM, pair, "the likelihood ratio of all releases", attack)];
    for (suffix, size, y, words) in OUTSIDE {
        // The draws are secret: their sum does not depend on which of them drew the sample.
        let transcript = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            play(side, (size, y), 0.0, stream, &mut |released| row.iter_mut().zip(released).for_each(|(sum, x)| *sum += x))
        };
        let pair = format!("{words} of one sample of {n_samples}, all others zero, {steps} draws");
        cases.push(Case::discriminant(format!("stored-gaussian, {suffix}"), CLAIM, pair, DIMENSION, transcript));
    }
    Ok(cases.into_iter().map(|case| case.source("docs/proofs/gradients.md")).collect())
}
