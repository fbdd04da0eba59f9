//! Attacks descents that run in secret: one sample's gradient is g or -g.
//!
//! They are those of `phased-sgd`, `snowball-sgd` and `noisy-giga`.

use super::gradients::{CLAIM, DIMENSION, LinearLoss, direction, finished, terms};
use super::rewards::refused;
use super::{Case, Side};
use privateer_config::error::Error;
use privateer_engine::oco::learner::{noisy_giga, phased_sgd, snowball_sgd::Snowball};
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{HiddenDescent, HiddenSteps, PricedNoise, Projection, Sample, Terms, VectorLaw};
use privateer_privacy::{Calibration, Raw, Refusal};
use std::sync::Arc;

/// The whole space.
#[derive(Debug)]
struct Everywhere;

impl Projection for Everywhere {
    fn project(&self, _theta: &mut [f64]) {}
}

/// Returns the attacks on the noisy mean of a phase: a sample of the first phase changes, or one of the second.
pub fn phases() -> Result<Vec<Case>, Error> {
    const N: u64 = 8;
    let Some((terms, sigma)) = calibrated(N, |terms| terms.hidden_noise(1.0))? else { return Ok(Vec::new()) };
    let of = |phase: usize, changed: u64| {
        let name = format!("phased-gaussian, phase {}", phase + 1);
        // By how much the release differs from the one before it.
        let seen = move |along: &[f64]| {
            let at = |release: usize| along.get(release).copied().unwrap_or(f64::NAN);
            at(phase) - phase.checked_sub(1).map_or(0.0, at)
        };
        case(name, &terms, phased_sgd::phases(N, 1.0, sigma), N, changed, seen)
    };
    Ok(vec![of(0, 1), of(1, 5)])
}

/// Returns the attacks on the last iterate: a sample of the first step changes, or one of the last.
pub fn snowball() -> Result<Vec<Case>, Error> {
    // Batches of 2 samples in the last three steps, of one before; one step of all samples.
    let mut cases = Vec::new();
    for (plan, changed, words) in [
        (Snowball::of(7, 1.9), 1, "first step"),
        (Snowball::of(7, 1.9), 7, "last step"),
        (Snowball::of(4, 9.0), 1, "one step of all samples"),
    ] {
        let n: u64 = (1..=plan.n_steps).map(|k| plan.batch(k)).sum();
        let Some((terms, sigma)) = calibrated(n, |terms| terms.hidden_noise(plan.exposure()))? else { continue };
        let seen = |along: &[f64]| along.first().copied().unwrap_or(f64::NAN);
        cases.push(case(format!("snowball-gaussian, {words}"), &terms, plan.steps(1.0, sigma), n, changed.min(n), seen));
    }
    Ok(cases)
}

/// Returns the attacks on the releases of every iterate: the first sample changes, or one of the middle.
pub fn iterates() -> Result<Vec<Case>, Error> {
    const N: u64 = 8;
    let Some((terms, sigma)) = calibrated(N, Terms::iterate_noise)? else { return Ok(Vec::new()) };
    let of = |changed: u64| {
        // After step t the distance is 2 eta_t and the noise sigma eta_t, with eta_t = 1/(t + 1): each release weighs t + 1.
        let seen = move |along: &[f64]| -> f64 {
            let later = (1_u32..).zip(along).skip(changed as usize - 1);
            later.map(|(t, along)| (f64::from(t) + 1.0) * along).sum()
        };
        case(format!("giga-gaussian, round {changed}"), &terms, noisy_giga::steps(N, 1.0, 1.0, sigma), N, changed, seen)
    };
    Ok(vec![of(1), of(5)])
}

fn calibrated(n: u64, noise: impl Fn(&Terms) -> Result<PricedNoise<VectorLaw>, Refusal>) -> Result<Option<(Terms, f64)>, Error> {
    let terms = terms(Calibration::Tight, 1.5, DIMENSION, CLAIM, n, 0.0)?;
    let noise = noise(&terms).map_err(refused)?.noise;
    Ok(if let VectorLaw::Gaussian { sigma } = noise { Some((terms, sigma)) } else { None })
}

/// Returns the attack that sees this number of the releases, each along g.
fn case(
    name: String,
    terms: &Terms,
    steps: Arc<HiddenSteps>,
    n: u64,
    changed: u64,
    seen: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
) -> Case {
    let (clip, g) = (terms.bounds(1.0), direction(false));
    let attack = move |side: Side, stream: &mut Stream| {
        let Some(noise) = (VectorLaw::Gaussian { sigma: 1.0 }).sampler() else { return f64::NAN };
        let (loss, start) = (Arc::new(LinearLoss), vec![0.0; DIMENSION]);
        let mut descent = HiddenDescent::new(loss, start, clip, Arc::new(Everywhere), Arc::clone(&steps), noise);
        let mut along = Vec::new();
        for t in 1..=n {
            let x = g.map(|g| if t == changed { side.pick(-g, g) } else { 0.0 });
            if let Some(released) = descent.release(Raw::seal(Sample { x: &x, y: 1.0 }), stream) {
                along.push(dot(released.value(), &g));
            }
        }
        seen(&along)
    };
    let pair = format!("gradients g and -g in round {changed} of {n}, length 1 in l3, all others zero");
    finished(Case::new(name, CLAIM, pair, "the likelihood ratio of the releases that hold it", attack), false)
}
