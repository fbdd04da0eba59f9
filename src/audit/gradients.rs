//! Attacks noisy prefix sums of gradients.
//!
//! One sample of a stream of linear losses changes, in the first round; all other gradients are zero.

use super::prefix::weights;
use super::rewards::refused;
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::linalg::Norm;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::gradients::{
    Constants, Gradient, GradientQuery, PrefixGradients, Sample, SampleClip, Start, Terms, VectorLaw, VectorNoise,
};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::{Calibration, Delta, Epsilon, Raw};
use std::sync::Arc;

/// Dimension of the released vectors.
pub(super) const DIMENSION: usize = 5;
/// The claim, at a delta for which the attack shows most of it.
pub(super) const CLAIM: Claim = Claim { epsilon: 4.0, delta: 1e-3 };

/// Computes the gradient of `y <x, theta>`.
///
/// For |y| <= 1, L is the bound on |x|, and beta is zero. Only the clip of gradients bounds y.
#[derive(Debug)]
pub(super) struct LinearLoss;

impl Gradient for LinearLoss {
    fn gradient(&self, _theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        out.iter_mut().zip(sample.x).for_each(|(out, x)| *out = sample.y * x);
    }
}

/// Samples whose data exceed what a loss states.
///
/// The fields are name, factor of the features, response, and the data in words.
pub(super) const OUTSIDE: [(&str, f64, f64, &str); 3] = [
    ("outside", 1.0, 1e6, "gradients 10^6 g and -10^6 g"),
    ("outside, features", 1e6, 1.0, "features 10^6 g and -10^6 g"),
    ("not finite", 1.0, f64::INFINITY, "an infinite response and one of -1"),
];

/// Terms over a set of diameter 2 with gradients of size 1 in the dual norm of l_p.
pub(super) fn terms(
    calibration: Calibration,
    p: f64,
    dimension: usize,
    claim: Claim,
    rounds: u64,
    smoothness: f64,
) -> Option<Terms> {
    let norm = Norm::of(p)?;
    let constants = Constants { diameter: 2.0, smoothness, lipschitz: 1.0 };
    Some(Terms {
        calibration,
        budget: Some((Epsilon::try_from(claim.epsilon).ok()?, Delta::try_from(claim.delta).ok()?)),
        participation: Participation::ONCE,
        rounds,
        dimension,
        norm,
        actual: constants,
        stated: constants,
        clip: Some(SampleClip { norm: norm.dual(), radius: 1.0 }),
    })
}

/// Returns the attacks on prefix sums of recursive gradients with noise on vectors.
///
/// The noise is independent normal, or the generalised Gaussian of the l3 norm.
///
/// # Errors
/// If the calibration refuses the terms.
pub fn sums(generalized: bool) -> Result<Vec<Case>, Error> {
    let name = if generalized { "gradients-generalized-gaussian" } else { "gradients-gaussian" };
    of_sums(name, generalized, Calibration::Tight, CLAIM)
}

/// Returns the direction of the change.
///
/// For independent normals it is the diagonal, where the l3 ball extends farthest; for noise of the l3 norm itself it is an
/// axis.
pub(super) fn direction(generalized: bool) -> [f64; DIMENSION] {
    if generalized { [1.0, 0.0, 0.0, 0.0, 0.0] } else { [libm::cbrt(1.0 / DIMENSION as f64); DIMENSION] }
}

/// Returns one release's log-likelihood ratio for `m` against `-m`, up to a factor.
pub(super) fn separation(law: VectorLaw, released: &[f64], m: &[f64]) -> f64 {
    let inner = || released.iter().zip(m).map(|(x, m)| x * m).sum();
    match law {
        VectorLaw::Generalized { exponent, .. } => match Norm::of(exponent) {
            // Densities proportional to exp(-|z|²/(2 sigma²)), centred at m and at -m.
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

/// Attacks the generalised Gaussian with the printed scale (erratum E23, `docs/privacy.md`).
///
/// # Errors
/// If the calibration refuses the terms.
pub fn printed_gamma_scale() -> Result<Vec<Case>, Error> {
    let mut cases =
        of_sums("generalised Gaussian, printed Gamma scale", true, Calibration::AsPrinted, Claim { epsilon: 1.0, delta: 1e-3 })?;
    cases.iter_mut().for_each(|case| {
        case.erratum = Some("E23");
        case.source = "Han2022, lemma 3.1, algorithm 4".to_owned();
    });
    Ok(cases)
}

fn of_sums(name: &str, generalized: bool, calibration: Calibration, claim: Claim) -> Result<Vec<Case>, Error> {
    let rounds = 8;
    // The dual of l_1.5 is l_3.
    let Some(terms) = terms(calibration, 1.5, DIMENSION, claim, rounds, 0.0) else { return Ok(Vec::new()) };
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(rounds));
    let priced = terms.sum_noise(generalized, factorisation.as_ref(), 1.0).map_err(|refusal| refused(&refusal))?;
    let (law, clip) = (priced.noise, terms.bounds(1.0));
    let weights = weights(factorisation.as_ref(), &[1]);
    let direction = direction(generalized);
    let of = Arc::clone(&factorisation);
    // Gradients g and -g in round 1, or data outside the clip; the transcript contains all releases.
    let play = move |side: Side, (size, y): (f64, f64), stream: &mut Stream, seen: &mut dyn FnMut(u64, &[f64])| {
        let Some(sampler) = law.sampler() else { return false };
        let noise: (&dyn Factorisation, Box<dyn VectorNoise>) = (of.as_ref(), sampler);
        let mut sums = PrefixGradients::new(Arc::new(LinearLoss), DIMENSION, Start::Half, clip, Some(noise));
        let origin = [0.0; DIMENSION];
        let query = GradientQuery { now: &origin, before: &origin };
        (1..=rounds).all(|t| {
            let (sign, y) = if t == 1 { response(side, y) } else { (0.0, 0.0) };
            let x = direction.map(|d| sign * size * d);
            let released = sums.release(query, Raw::seal(Sample { x: &x, y }), stream);
            released.is_ok_and(|released| {
                seen(t, released.value());
                true
            })
        })
    };
    let scored = play.clone();
    let attack = move |side: Side, stream: &mut Stream| {
        let mut score = 0.0;
        let whole = scored(side, (1.0, 1.0), stream, &mut |t, released| {
            score += match law {
                VectorLaw::Generalized { .. } if t.is_power_of_two() => separation(law, released, &direction),
                VectorLaw::Generalized { .. } | VectorLaw::None | VectorLaw::Unit(_) => 0.0,
                VectorLaw::Gaussian { .. } => weights[t as usize - 1] * separation(law, released, &direction),
            };
        });
        if whole { score } else { f64::NAN }
    };
    let pair = format!("gradients g and -g in round 1 of {rounds}, length 1 in l3, all others zero");
    let words =
        if generalized { "the likelihood ratio of the nodes that hold round 1" } else { "the likelihood ratio of all prefixes" };
    let mut cases = vec![Case::new(name, claim, pair, words, attack)];
    for (suffix, size, y, words) in OUTSIDE.into_iter().filter(|_| calibration.redesigns()) {
        let play = play.clone();
        let pair = format!("{words} in round 1 of {rounds}, all others zero");
        let transcript = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
            play(side, (size, y), stream, &mut |t, released| {
                row[(t as usize - 1) * DIMENSION..][..DIMENSION].copy_from_slice(released);
            })
        };
        cases.push(Case::discriminant(format!("{name}, {suffix}"), claim, pair, rounds as usize * DIMENSION, transcript));
    }
    let finished = |case: Case| if generalized { case } else { case.gaussian() };
    Ok(cases.into_iter().map(|case| finished(case.source("docs/proofs/gradients.md"))).collect())
}

/// Returns the sign and the response of the changed sample.
///
/// A finite `y` has the sign of the side; an infinite one is compared with -1.
pub(super) fn response(side: Side, y: f64) -> (f64, f64) {
    if y.is_finite() { (side.pick(1.0, -1.0), y) } else { side.pick((1.0, y), (-1.0, 1.0)) }
}
