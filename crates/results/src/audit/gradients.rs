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
    Clip, Constants, Gradient, GradientQuery, PrefixGradients, Sample, SampleClip, Start, Terms, VectorLaw,
};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::{Calibration, Delta, Epsilon, Raw};
use std::sync::Arc;

/// Dimension of the released vectors.
pub(super) const DIMENSION: usize = 5;
/// Number of rounds of an attacked stream.
pub(super) const ROUNDS: u64 = 8;
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

/// Returns the terms over a set of diameter 2 with gradients of size 1 in the dual norm of l_p.
pub(super) fn terms(
    calibration: Calibration,
    p: f64,
    dimension: usize,
    claim: Claim,
    rounds: u64,
    smoothness: f64,
) -> Result<Terms, Error> {
    let budget = Epsilon::try_from(claim.epsilon).ok().zip(Delta::try_from(claim.delta).ok());
    let (Some(norm), Some(budget)) = (Norm::of(p), budget) else {
        return Err(Error::Failed {
            problem: "the claim of an audit is no budget, or its p no norm".to_owned(),
            hint: "this is a fault of the audit: please report it".to_owned(),
        });
    };
    let constants = Constants { diameter: 2.0, smoothness, lipschitz: 1.0 };
    Ok(Terms {
        calibration,
        budget: Some(budget),
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
pub fn printed_gamma_scale() -> Result<Vec<Case>, Error> {
    let (name, claim) = ("generalised Gaussian, printed Gamma scale", Claim { epsilon: 1.0, delta: 1e-3 });
    let cases = of_sums(name, true, Calibration::AsPrinted, claim)?;
    Ok(cases.into_iter().map(|case| case.erratum("E23").source("Han2022, lemma 3.1, algorithm 4")).collect())
}

fn of_sums(name: &str, generalized: bool, calibration: Calibration, claim: Claim) -> Result<Vec<Case>, Error> {
    // The dual of l_1.5 is l_3.
    let terms = terms(calibration, 1.5, DIMENSION, claim, ROUNDS, 0.0)?;
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(ROUNDS));
    let priced = terms.sum_noise(generalized, factorisation.as_ref(), 1.0).map_err(refused)?;
    let (law, clip) = (priced.noise, terms.bounds(1.0));
    let weights = weights(factorisation.as_ref(), &[1]);
    let attacked = AttackedSums { factorisation, law, clip, start: Start::Half, generalized, changed: vec![1] };
    let direction = direction(generalized);
    let score = move |at: usize, released: &[f64]| match law {
        VectorLaw::Generalized { .. } if (at + 1).is_power_of_two() => separation(law, released, &direction),
        VectorLaw::Generalized { .. } | VectorLaw::None | VectorLaw::Unit(_) => 0.0,
        VectorLaw::Gaussian { .. } => weights[at] * separation(law, released, &direction),
    };
    let pair = format!("gradients g and -g in round 1 of {ROUNDS}, length 1 in l3, all others zero");
    let words =
        if generalized { "the likelihood ratio of the nodes that hold round 1" } else { "the likelihood ratio of all prefixes" };
    let mut cases = vec![attacked.scored(name.to_owned(), claim, pair, words, score)];
    if calibration.redesigns() {
        cases.extend(attacked.outside(name, claim));
    }
    Ok(cases)
}

/// Holds prefix sums of gradients of which some rounds change: g on one side and -g on the other; all others are zero.
#[derive(Clone)]
pub(super) struct AttackedSums {
    pub(super) factorisation: Arc<dyn Factorisation>,
    pub(super) law: VectorLaw,
    pub(super) clip: Option<Clip>,
    pub(super) start: Start,
    pub(super) generalized: bool,
    /// The rounds that change, from 1.
    pub(super) changed: Vec<u64>,
}

impl AttackedSums {
    /// Plays the stream and shows each release with its number, from 0; returns false if one is refused.
    ///
    /// * `size`, `y` — factor of the features of the changed samples, and their response
    fn play(&self, side: Side, (size, y): (f64, f64), stream: &mut Stream, mut seen: impl FnMut(usize, &[f64])) -> bool {
        let direction = direction(self.generalized);
        let Some(sampler) = self.law.sampler() else { return false };
        let noise = Some((self.factorisation.as_ref(), sampler));
        let mut sums = PrefixGradients::new(1, Arc::new(LinearLoss), DIMENSION, self.start, self.clip, noise);
        let query = GradientQuery { now: &[0.0; DIMENSION], before: &[0.0; DIMENSION] };
        (1..=ROUNDS).all(|t| {
            let (sign, y) = if self.changed.contains(&t) { response(side, y) } else { (0.0, 0.0) };
            let x = direction.map(|d| sign * size * d);
            let released = sums.release(query, [Raw::seal(Sample { x: &x, y })], &mut [&mut *stream]);
            released.is_ok_and(|released| {
                seen(t as usize - 1, released.value());
                true
            })
        })
    }

    /// Returns the case that adds up the scores of all releases.
    pub(super) fn scored(
        &self,
        name: String,
        claim: Claim,
        pair: String,
        words: &str,
        score: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Case {
        let sums = self.clone();
        let attack = move |side: Side, stream: &mut Stream| {
            let mut total = 0.0;
            let whole = sums.play(side, (1.0, 1.0), stream, |at, released| total += score(at, released));
            if whole { total } else { f64::NAN }
        };
        self.finished(Case::new(name, claim, pair, words, attack))
    }

    /// Returns the cases of data beyond the clip, whose transcripts hold all releases.
    pub(super) fn outside(&self, name: &str, claim: Claim) -> impl Iterator<Item = Case> {
        OUTSIDE.into_iter().map(move |(suffix, size, y, words)| {
            let sums = self.clone();
            let pair = format!("{words} in round 1 of {ROUNDS}, all others zero");
            let play = move |side: Side, stream: &mut Stream, row: &mut [f64]| {
                sums.play(side, (size, y), stream, |at, released| {
                    row[at * DIMENSION..][..DIMENSION].copy_from_slice(released);
                })
            };
            let width = ROUNDS as usize * DIMENSION;
            self.finished(Case::discriminant(format!("{name}, {suffix}"), claim, pair, width, play))
        })
    }

    fn finished(&self, case: Case) -> Case {
        finished(case, self.generalized)
    }
}

/// Adds what all cases of gradients share.
pub(super) fn finished(case: Case, generalized: bool) -> Case {
    let case = case.source("docs/proofs/gradients.md");
    if generalized { case } else { case.gaussian() }
}

/// Returns the sign and the response of the changed sample.
///
/// A finite `y` has the sign of the side; an infinite one is compared with -1.
pub(super) fn response(side: Side, y: f64) -> (f64, f64) {
    if y.is_finite() { (side.pick(1.0, -1.0), y) } else { side.pick((1.0, y), (-1.0, 1.0)) }
}
