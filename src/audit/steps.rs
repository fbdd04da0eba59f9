//! Attacks noisy gradients of single samples, of batches and of secretly drawn samples.
//!
//! One sample's gradient is g or -g, all others are zero.

use super::gradients::{CLAIM, DIMENSION, LinearLoss, OUTSIDE, direction, response, separation, terms};
use super::rewards::refused;
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{
    BatchGradients, BatchPlan, Gradient, GradientQuery, Sample, SampleGradients, StoredSamples, Terms, VectorLaw, VectorNoise,
};
use privateer_privacy::{Calibration, Raw};
use std::sync::Arc;

/// Number of samples in the data set from which gradients are drawn, and number of draws.
const STORED: (u64, u64) = (4, 15);
const SOURCE: &str = "docs/proofs/gradients.md";

/// Computes `y theta_0 x`; L and beta are the bound on |x|, for |theta| <= 1 and |y| <= 1.
#[derive(Debug)]
struct BilinearGradient;

impl Gradient for BilinearGradient {
    fn gradient(&self, theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        out.iter_mut().zip(sample.x).for_each(|(out, x)| *out = theta[0] * sample.y * x);
    }
}

fn kind(generalized: bool) -> &'static str {
    if generalized { "generalized-gaussian" } else { "gaussian" }
}

/// Returns the terms for the dual of l_1.5, which is l_3.
fn of_l3(claim: Claim, rounds: u64) -> Result<Terms, Error> {
    terms(Calibration::Tight, 1.5, DIMENSION, claim, rounds, 1.0).ok_or_else(no_budget)
}

fn no_budget() -> Error {
    Error::Failed {
        problem: "the claim of an audit is no budget".to_owned(),
        hint: "this is a fault of the audit: please report it".to_owned(),
    }
}

fn finished(case: Case, generalized: bool) -> Case {
    let case = case.source(SOURCE);
    if generalized { case } else { case.gaussian() }
}

fn vector(law: VectorLaw) -> Result<Box<dyn VectorNoise>, Error> {
    law.sampler().ok_or_else(|| Error::Failed {
        problem: "a calibrated noise has no sampler".to_owned(),
        hint: "this is a fault of the mechanism: please report it".to_owned(),
    })
}

/// Returns the attacks on one gradient per sample.
///
/// # Errors
/// If the calibration refuses the terms.
pub fn samples(kind: &'static str) -> Result<Vec<Case>, Error> {
    let (terms, generalized, is_pure) = (of_l3(CLAIM, 8)?, kind == "generalized-gaussian", kind == "privunit");
    let priced = if is_pure { terms.unit_noise() } else { terms.step_noise(generalized) };
    let (law, clip) = (priced.map_err(|refusal| refused(&refusal))?.noise, terms.bounds(1.0));
    let claim = Claim { delta: if is_pure { 0.0 } else { CLAIM.delta }, ..CLAIM };
    // Of g and -g in the direction in which the l3 ball extends farthest, a release on a sphere shows most.
    let g = direction(generalized);
    let attack = move |side: Side, stream: &mut Stream| {
        let Ok(noise) = vector(law) else { return f64::NAN };
        let mut gradients = SampleGradients::new(Arc::new(LinearLoss), DIMENSION, clip, noise);
        let x = g.map(|g| side.pick(g, -g));
        separation(law, gradients.release(&[0.0; DIMENSION], Raw::seal(Sample { x: &x, y: 1.0 }), stream).value(), &g)
    };
    let name = format!("sample-{kind}");
    let pair = "gradients g and -g of one sample, length 1 in l3";
    let mut cases = vec![Case::new(name.clone(), claim, pair, "the likelihood ratio of its release", attack)];
    for (suffix, size, y, words) in OUTSIDE {
        let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            let Ok(noise) = vector(law) else { return false };
            let mut gradients = SampleGradients::new(Arc::new(LinearLoss), DIMENSION, clip, noise);
            let (sign, y) = response(side, y);
            let x = g.map(|g| sign * size * g);
            row.copy_from_slice(gradients.release(&[0.0; DIMENSION], Raw::seal(Sample { x: &x, y }), stream).value());
            true
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
    let terms = terms(Calibration::Tight, 1.5, MANY, claim, 8, 0.0).ok_or_else(no_budget)?;
    let (law, clip) = (terms.step_noise(true).map_err(|refusal| refused(&refusal))?.noise, terms.bounds(1.0));
    let g = [libm::cbrt(1.0 / MANY as f64); MANY];
    let attack = move |side: Side, stream: &mut Stream| {
        let Ok(noise) = vector(law) else { return f64::NAN };
        let mut gradients = SampleGradients::new(Arc::new(LinearLoss), MANY, clip, noise);
        let x = g.map(|g| side.pick(g, -g));
        separation(law, gradients.release(&[0.0; MANY], Raw::seal(Sample { x: &x, y: 1.0 }), stream).value(), &g)
    };
    let pair = format!("gradients g and -g of one sample in {MANY} dimensions, length 1 in l3");
    Ok(Case::new(format!("{name}, {MANY} dimensions"), claim, pair, "the likelihood ratio of its release", attack))
}

/// Attacks means over batches: a sample of the first batch changes, or one of a later batch.
///
/// # Errors
/// If the calibration refuses the terms.
pub fn batches(generalized: bool) -> Result<Vec<Case>, Error> {
    let (plan, eta) = (BatchPlan { first: 2, batch: 2, steps: 1 }, 0.5);
    let terms = of_l3(CLAIM, 4)?;
    let laws = terms.batch_noise(generalized, plan, eta).map_err(|refusal| refused(&refusal))?.noise;
    let clip = terms.bounds(1.0);
    let g = direction(generalized);
    let of = |changed: u64, law: VectorLaw, words: &str| {
        let attack = move |side: Side, stream: &mut Stream| {
            let (Ok(first), Ok(later)) = (vector(laws.0), vector(laws.1)) else { return f64::NAN };
            // beta eta D = 1/2 · 2: the largest distance of the iterates of the later batch.
            let mut batches = BatchGradients::new(Arc::new(BilinearGradient), DIMENSION, clip, plan, eta * 2.0, (first, later));
            let (mut now, mut before) = ([0.0; DIMENSION], [0.0; DIMENSION]);
            let mut score = 0.0;
            for round in 1..=4 {
                (now[0], before[0]) = if round <= plan.first { (1.0, 1.0) } else { (0.5, -0.5) };
                let x = g.map(|g| if round == changed { side.pick(g, -g) } else { 0.0 });
                let query = GradientQuery { now: &now, before: &before };
                if let Some(released) = batches.release(query, Raw::seal(Sample { x: &x, y: 1.0 }), stream)
                    && (round <= plan.first) == (changed <= plan.first)
                {
                    // The mean over the two samples of a batch.
                    score = separation(law, released.value(), &g.map(|g| 0.5 * g));
                }
            }
            score
        };
        let pair = format!("gradients g and -g of one sample in {words}, length 1 in l3, all others zero");
        let name = format!("batch-{}{}", kind(generalized), if changed == 1 { "" } else { ", later batch" });
        finished(Case::new(name, CLAIM, pair, "the likelihood ratio of its batch", attack), generalized)
    };
    let mut cases = vec![of(1, laws.0, "the first batch of 2"), of(3, laws.1, "the second batch of 2")];
    let name = format!("batch-{}", kind(generalized));
    let inside = ("both batches", 1.0, 1.0, "gradients g and -g");
    for (suffix, size, y, words) in [inside].into_iter().chain(OUTSIDE) {
        let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            let (Ok(first), Ok(later)) = (vector(laws.0), vector(laws.1)) else { return false };
            let mut batches = BatchGradients::new(Arc::new(BilinearGradient), DIMENSION, clip, plan, eta * 2.0, (first, later));
            let (mut now, mut before) = ([0.0; DIMENSION], [0.0; DIMENSION]);
            let mut parts = row.chunks_exact_mut(DIMENSION);
            for round in 1..=4 {
                (now[0], before[0]) = if round <= plan.first { (1.0, 1.0) } else { (0.5, -0.5) };
                let (sign, y) = if round == 1 { response(side, y) } else { (0.0, 0.0) };
                let x = g.map(|g| sign * size * g);
                let query = GradientQuery { now: &now, before: &before };
                if let Some(released) = batches.release(query, Raw::seal(Sample { x: &x, y }), stream) {
                    let Some(part) = parts.next() else { return false };
                    part.copy_from_slice(released.value());
                }
            }
            parts.next().is_none()
        };
        let pair = format!("{words} of one sample in the first batch of 2, all others zero");
        cases.push(finished(Case::discriminant(format!("{name}, {suffix}"), CLAIM, pair, 2 * DIMENSION, play), generalized));
    }
    Ok(cases)
}

/// Returns the attacks on gradients of samples that are drawn in secret.
///
/// # Errors
/// If the calibration refuses the terms.
pub fn stored() -> Result<Vec<Case>, Error> {
    let (n_samples, steps) = STORED;
    let terms = of_l3(CLAIM, n_samples)?;
    let (law, clip) = (terms.stored_noise(steps).map_err(|refusal| refused(&refusal))?.noise, terms.bounds(1.0));
    let VectorLaw::Gaussian { sigma } = law else { return Ok(Vec::new()) };
    let g = direction(false);
    let squared = g.iter().map(|g| g * g).sum::<f64>() / (sigma * sigma);
    let attack = move |side: Side, stream: &mut Stream| {
        let Ok(noise) = vector(law) else { return f64::NAN };
        let mut samples = StoredSamples::new(Arc::new(LinearLoss), DIMENSION, clip, noise);
        for sample in 0..n_samples {
            let x = g.map(|g| if sample == 0 { side.pick(g, -g) } else { 0.0 });
            samples.keep(Raw::seal(Sample { x: &x, y: 1.0 }));
        }
        let mut score = 0.0;
        for _ in 0..steps {
            let Some(released) = samples.gradient(&[0.0; DIMENSION], stream) else { return f64::NAN };
            let along = separation(law, released.value(), &g) / (sigma * sigma);
            // One draw of n is the changed sample's: a mixture of a normal around zero and one around g or -g.
            let mixture = |sign: f64| libm::log((n_samples - 1) as f64 + libm::exp(sign * along - 0.5 * squared));
            score += mixture(1.0) - mixture(-1.0);
        }
        score
    };
    let mut cases = vec![Case::new(
        "stored-gaussian",
        CLAIM,
        format!("gradients g and -g of one sample of {n_samples}, all others zero, {steps} draws"),
        "the likelihood ratio of all releases",
        attack,
    )];
    for (suffix, size, y, words) in OUTSIDE {
        let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            let Ok(noise) = vector(law) else { return false };
            let mut samples = StoredSamples::new(Arc::new(LinearLoss), DIMENSION, clip, noise);
            for sample in 0..n_samples {
                let (sign, y) = if sample == 0 { response(side, y) } else { (0.0, 0.0) };
                let x = g.map(|g| sign * size * g);
                samples.keep(Raw::seal(Sample { x: &x, y }));
            }
            // The draws are secret: their sum does not depend on which of them drew the sample.
            (0..steps).all(|_| {
                samples.gradient(&[0.0; DIMENSION], stream).is_some_and(|released| {
                    row.iter_mut().zip(released.value().iter()).for_each(|(sum, x)| *sum += x);
                    true
                })
            })
        };
        let pair = format!("{words} of one sample of {n_samples}, all others zero, {steps} draws");
        cases.push(Case::discriminant(format!("stored-gaussian, {suffix}"), CLAIM, pair, DIMENSION, play));
    }
    Ok(cases.into_iter().map(|case| case.source(SOURCE)).collect())
}
