//! Attacks on noisy prefix sums of gradients: one sample of a stream of linear losses changes, in the first round; all other gradients
//! are zero.

use super::prefix::weights;
use super::rewards::refused;
use super::{Case, Claim, Side};
use crate::error::Error;
use crate::linalg::Norm;
use crate::privacy::gradients::{
    Constants, Gradient, PrefixGradients, Query, Sample, SampleClip, Start, Terms, VectorLaw, VectorNoise,
};
use crate::privacy::streams::Factorisation;
use crate::privacy::streams::tree::Tree;
use crate::privacy::{Delta, Epsilon, Raw, Reading};
use crate::rng::Stream;
use std::sync::Arc;

/// Dimensions of what is released.
pub(super) const DIMENSION: usize = 5;
/// The claim, at a delta where the attack sees most of it.
pub(super) const CLAIM: Claim = Claim { epsilon: 4.0, delta: 1e-3 };

/// The gradient of `<x, theta>`: L is the bound on |x|, beta is zero.
#[derive(Debug)]
pub(super) struct Linear;

impl Gradient for Linear {
    fn gradient(&self, _theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        out.copy_from_slice(sample.x);
    }
}

/// Terms over a set of diameter 2 with gradients of size 1 in the dual norm of l_p.
pub(super) fn terms(reading: Reading, p: f64, dimension: usize, claim: Claim, rounds: u64, smoothness: f64) -> Option<Terms> {
    let norm = Norm::of(p)?;
    let constants = Constants { diameter: 2.0, smoothness, lipschitz: 1.0 };
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

/// Prefix sums of recursive gradients with noise on vectors: independent normals, or the generalised Gaussian of the l3 norm.
///
/// # Errors
/// A calibration that refuses.
pub fn sums(generalized: bool) -> Result<Vec<Case>, Error> {
    let name = if generalized { "gradients-generalized-gaussian" } else { "gradients-gaussian" };
    of_sums(name, generalized, Reading::Tight, CLAIM)
}

/// Along the diagonal for independent normals, where the l3 ball is farthest; along an axis for the noise of its own norm.
pub(super) fn direction(generalized: bool) -> [f64; DIMENSION] {
    if generalized { [1.0, 0.0, 0.0, 0.0, 0.0] } else { [libm::cbrt(1.0 / DIMENSION as f64); DIMENSION] }
}

/// What one release says for `m` against `-m`: the logarithm of the likelihood ratio, up to a factor.
pub(super) fn separation(law: VectorLaw, released: &[f64], m: &[f64]) -> f64 {
    let inner = || released.iter().zip(m).map(|(x, m)| x * m).sum();
    match law {
        VectorLaw::Generalized { exponent, .. } => match Norm::of(exponent) {
            // exp(-|z|²/(2 sigma²)) about m and about -m.
            Some(norm) => {
                let squared = |sign: f64| {
                    let moved: Vec<f64> = released.iter().zip(m).map(|(x, m)| x + sign * m).collect();
                    let size = norm.size(&moved);
                    size * size
                };
                squared(1.0) - squared(-1.0)
            }
            None => inner(),
        },
        _ => inner(),
    }
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
    let Some(terms) = terms(reading, 1.5, DIMENSION, claim, rounds, 0.0) else { return Ok(Vec::new()) };
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(rounds));
    let priced = terms.sum_noise(generalized, factorisation.as_ref(), 1.0).map_err(|refusal| refused(&refusal))?;
    let (law, clip) = (priced.noise, terms.bounds(1.0));
    let weights = weights(factorisation.as_ref(), &[1]);
    let direction = direction(generalized);
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
            score += match law {
                VectorLaw::Generalized { .. } if t.is_power_of_two() => separation(law, released.value(), &direction),
                VectorLaw::Generalized { .. } | VectorLaw::None => 0.0,
                VectorLaw::Gaussian { .. } => weight * separation(law, released.value(), &direction),
            };
        }
        score
    };
    let pair = format!("gradients g and -g in round 1 of {rounds}, length 1 in l3, all others zero");
    let words =
        if generalized { "the likelihood ratio of the nodes that hold round 1" } else { "the likelihood ratio of all prefixes" };
    let case = Case::new(name, claim, pair, words, attack);
    let case = case.source("docs/proofs/gradients.md");
    Ok(vec![if generalized { case } else { case.gaussian() }])
}
