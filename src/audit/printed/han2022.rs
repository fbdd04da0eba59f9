//! Han et al.: models of the printed steps of private Frank-Wolfe and of its bandit.

use crate::audit::{Case, Claim, Side};
use crate::error::Error;
use crate::privacy::accounting::zcdp;
use crate::privacy::printed::{han2022_choice, han2022_tree};
use crate::privacy::{Delta, Epsilon};
use crate::rng::Stream;

/// E23: the Gamma law of `|Z|²` has scale `2 sigma²`, printed is `2 sigma`. One node of theorem 3.1 at 1000 rounds, diameter 4, beta = 1,
/// L = 2, under the l3 norm in five dimensions.
///
/// # Errors
/// None.
pub fn e23() -> Result<Vec<Case>, Error> {
    let (epsilon, delta, sensitivity, levels) = (1.0, 1e-3, 12.0, f64::from(han2022_tree::levels(1000)));
    // kappa = q - 1 at q = 3.
    let sigma = han2022_tree::theorem_3_1(2.0, sensitivity, 1000, epsilon, delta);
    let claim = Claim { epsilon: epsilon / levels, delta: delta / levels };
    let case = generalised(claim, sensitivity, han2022_tree::gamma_scale_printed(sigma));
    Ok(vec![case.erratum("E23").source("Han2022, lemma 3.1, algorithm 4")])
}

/// The generalised Gaussian with `|Z|_3² ~ Gamma(5/2, scale)`; the changed vector lies along an axis.
fn generalised(claim: Claim, sensitivity: f64, scale: f64) -> Case {
    let attack = move |side: Side, stream: &mut Stream| {
        // The direction is uniform for the cone measure: |x|³ of independent coordinates are Gamma(1/3), signs are fair.
        let mut z = [0.0; 5].map(|_: f64| {
            let size = libm::cbrt(stream.gamma(1.0 / 3.0));
            if stream.bernoulli(0.5) { size } else { -size }
        });
        let length = libm::sqrt(scale * stream.gamma(2.5)) / norm(&z);
        z.iter_mut().for_each(|x| *x *= length);
        z[0] += side.pick(sensitivity, 0.0);
        let mut back = z;
        back[0] -= sensitivity;
        norm(&z) * norm(&z) - norm(&back) * norm(&back)
    };
    let pair = format!("a vector of l3 norm {sensitivity} along an axis against 0, five dimensions, one node");
    Case::new("generalised Gaussian, printed Gamma scale", claim, pair, "the likelihood ratio", attack)
}

fn norm(z: &[f64; 5]) -> f64 {
    libm::cbrt(z.iter().map(|x| x.abs() * x.abs() * x.abs()).sum())
}

/// Which of two noisy scores is smaller, Gumbel noise of this scale: logistic.
fn first_wins(lead: f64, scale: f64, stream: &mut Stream) -> bool {
    stream.bernoulli(1.0 / (1.0 + libm::exp(-lead / scale)))
}

/// E27: scores of a pair of opposite vertices move against each other, so noise for the change of one score is half of what it
/// takes.
///
/// # Errors
/// None.
pub fn e27() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 0.0 };
    let attack = move |side: Side, stream: &mut Stream| {
        // Each score moves by 1/2, the range by 1; the noise is scaled for the former by the rule for monotone scores.
        let scale = 0.5 / claim.epsilon;
        let lead = side.pick(0.5, -0.5) - 1.0;
        if first_wins(lead, scale, stream) { 1.0 } else { 0.0 }
    };
    let pair = "scores of two opposite vertices, one up by 1/2 and the other down";
    let case = Case::new("noisy choice, noise for one score", claim, pair, "the vertex behind wins", attack);
    Ok(vec![case.erratum("E27").source("Dwork and Roth, claim 3.9, as cited by Han2022")])
}

/// E28: with the first gradient whole the first sample weighs `2/(t + 1)` in direction t, twice what the range allows for where
/// L > beta D. Linear losses, 50 rounds, the least noise for the printed range.
///
/// # Errors
/// None.
pub fn e28() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 1e-2 };
    let (diameter, smoothness, lipschitz, rounds) = (2.0, 0.0, 1.0, 50);
    let (Ok(epsilon), Ok(delta)) = (Epsilon::try_from(claim.epsilon), Delta::try_from(claim.delta)) else {
        return Ok(Vec::new());
    };
    let first = han2022_choice::gumbel_scale(diameter, smoothness, lipschitz, rounds, zcdp::rho(epsilon, delta));
    let attack = move |side: Side, stream: &mut Stream| {
        let mut score = 0.0;
        for t in 1..=rounds {
            let scale = first / libm::sqrt(t as f64);
            // All other samples tie the two vertices; the first one moves them apart by this much, to either side.
            let range = han2022_choice::range_whole_gradient(diameter, smoothness, lipschitz, t);
            let wins = first_wins(side.pick(0.5, -0.5) * range, scale, stream);
            // The log-odds of a win under the one side and the other.
            score += if wins { range / scale } else { -range / scale };
        }
        score
    };
    let pair = "gradients L and -L in round 1, all other samples tie the scores";
    let case = Case::new("DP-POFW, first gradient whole", claim, pair, "the likelihood ratio of all choices", attack);
    Ok(vec![case.erratum("E28").source("Han2022, algorithm 2, line 4, at the least noise for its range")])
}

/// E30: only the learner of the pulled arm takes a step, so a learner that does not move tells which arm was pulled.
///
/// # Errors
/// None.
pub fn e30() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 1e-3 };
    let attack = move |side: Side, stream: &mut Stream| {
        // The released parameters of two arms; the context of the round pulls one of them.
        let mut parameters = [0.0, 0.0];
        parameters[side.pick(0, 1)] += stream.laplace(1.0 / claim.epsilon);
        if parameters[1] == 0.0 { 1.0 } else { 0.0 }
    };
    let pair = "a context that pulls arm 0 against one that pulls arm 1";
    let case = Case::new("bandit without synthetic updates", claim, pair, "whether arm 1 stood still", attack);
    Ok(vec![case.erratum("E30").source("a reading of Han2022, algorithm 3, that updates the pulled arm alone")])
}
