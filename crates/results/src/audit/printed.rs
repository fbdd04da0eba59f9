//! Attacks printed claims that are false; each attack refutes one.
//!
//! Where the engine has the printed mechanism, that mechanism is attacked; elsewhere a model of the printed step, which its
//! documentation declares.

use super::curators::built;
use super::prefix::{Part, case};
use super::rewards::{self, claim};
use super::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::curator::{CuratorEntry, Inputs, projection};
use privateer_privacy::mechanism::laplace;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::{Calibration, Raw};
use std::sync::Arc;

/// Attacks the claim of erratum E3 (`docs/privacy.md`): unbounded noise without a clip.
///
/// R comes from a bound that holds with high probability. The attacked mechanism is the registered one, as printed.
pub fn e3() -> Result<Vec<Case>, Error> {
    let mechanism = rewards::built(&laplace::ENTRY, Calibration::AsPrinted, 1.0, false)?;
    let case = rewards::of_ends("laplace, printed, not clipped".to_owned(), &mechanism, (10.0, 0.0), "ten times B + R");
    Ok(vec![case.erratum("E3").source("Zhou2021, section on unbounded noise")])
}

/// Attacks the claim of erratum E6 (`docs/privacy.md`): every leaf has noise, and inner nodes none.
///
/// The nodes above the leaves store the sum of the raw leaves. The case is a model of that tree over two rounds.
pub fn e6() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 0.01 };
    // Two nodes contain the leaf: the printed scale for n = 2 at sensitivity 1.
    let sigma = dubey2021::sigma_right_power(2, 1.0, claim.epsilon, claim.delta);
    let attack = move |side: Side, stream: &mut Stream| {
        let item = side.pick(0.5, -0.5);
        // Prefix 1 is a leaf, prefix 2 the node above both, which has no noise of its own or of the leaves.
        let prefixes = [item + sigma * stream.normal(), item + 0.25];
        prefixes[1]
    };
    let pair = "x_1 = 1/2 against -1/2, x_2 = 1/4 known";
    let case = Case::new("tree with noise in its leaves alone", claim, pair, "the prefix of both rounds", attack);
    Ok(vec![case.erratum("E6").source("Dubey2021, text of the tree mechanism")])
}

/// Attacks the claim of erratum E8 (`docs/privacy.md`): lemma 2's variance grows only with S.
///
/// The matrix with its corner changes by the order of S, which needs a variance of order S².
pub fn e8() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 10.0, delta: 0.1 };
    let reward = 30.0;
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(16));
    let squared_norm = dubey2021::squared_norm(reward, 0.0, 16, claim.delta);
    let sigma = dubey2021::sigma_of_the_proof(dubey2021::nodes_printed(16), squared_norm, claim.epsilon, claim.delta);
    // The worst neighbour of (e1, Y) is orthogonal to it: (-e1, 1/Y).
    let parts = vec![Part::gram(sigma, &[1.0, reward], &[-1.0, 1.0 / reward])];
    let pair = format!("z = (e1, {reward}) against (-e1, 1/{reward}) in round 1, the corner y² released");
    let case = case("gram with its corner, printed".to_owned(), claim, &factorisation, parts, &[1], &pair);
    Ok(vec![case.erratum("E8").source("Dubey2021, lemma 2")])
}

/// Returns two unit vectors at `cos = c` whose squares differ on the diagonal alone.
fn vectors(c: f64) -> ([f64; 2], [f64; 2]) {
    // The angles are 45 degrees minus and plus half of the angle between the vectors.
    let half = 0.5 * libm::acos(c);
    let at = |angle: f64| [libm::cos(angle), libm::sin(angle)];
    (at(std::f64::consts::FRAC_PI_4 - half), at(std::f64::consts::FRAC_PI_4 + half))
}

/// Attacks the claim of erratum E13 (`docs/privacy.md`): sensitivity 1 "per element".
///
/// Half of the budget is for the Gram matrix, with the same variance for every entry.
pub fn e13() -> Result<Vec<Case>, Error> {
    let (epsilon, delta) = (10.0, 0.1);
    let own: Arc<dyn Factorisation> = Arc::new(Tree::new(1));
    let (phi, other) = vectors(0.0);
    let parts = vec![Part::gram(dubey2021_local::sigma_gram(epsilon, delta), &phi, &other).even()];
    let claim = Claim { epsilon: 0.5 * epsilon, delta: 0.5 * delta };
    let pair = "phi against phi' orthogonal to it, one user";
    let case = case("local gram, printed, half of the budget".to_owned(), claim, &own, parts, &[1], pair);
    Ok(vec![case.erratum("E13").source("Dubey2021, lemma 5")])
}

/// Attacks the claim of erratum E14 (`docs/privacy.md`): both halves of the budget together.
///
/// For bounded rewards the logarithm in `sigma_u` is dropped.
pub fn e14() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 10.0, delta: 0.1 };
    let own: Arc<dyn Factorisation> = Arc::new(Tree::new(1));
    let gram = dubey2021_local::sigma_gram(claim.epsilon, claim.delta);
    let sums = dubey2021_local::sigma_reward_bounded(1.0, claim.epsilon, claim.delta);
    // The c for which 2 (1 - c²)/gram² + 2 (1 + c)/sums² is largest.
    let c = (0.5 * gram * gram / (sums * sums)).min(1.0);
    let (phi, other) = vectors(c);
    let parts = vec![Part::gram(gram, &phi, &other).even(), Part::rewards(sums, (&phi, 1.0), (&other, -1.0))];
    let pair = format!("(phi, 1) against (phi', -1), phi·phi' = {c:.3}, one user");
    let case = case("local sums, printed for bounded rewards".to_owned(), claim, &own, parts, &[1], &pair);
    Ok(vec![case.erratum("E14").source("Dubey2021, lemma 5 and section 6.1")])
}

/// Attacks the claim of erratum E16 (`docs/privacy.md`): one release distinguishes two neighbours.
///
/// The singular values are far above omega and far below it: in the plain branch, and in the lifted one (E17).
pub fn e16() -> Result<Vec<Case>, Error> {
    Ok(vec![of(&projection::PROJECTION, "not lifted", 1e4)?, of(&projection::PROJECTION, "lifted", 1.0)?])
}

/// Attacks the claim of erratum E16 again: lifting in every case does not help.
pub fn e16_always_lifted() -> Result<Vec<Case>, Error> {
    Ok(vec![of(&projection::ALWAYS_LIFT, "lifted", 1.0)?])
}

fn of(entry: &CuratorEntry, branch: &str, size: f64) -> Result<Case, Error> {
    let curator = built(entry, Calibration::AsPrinted, (1.0, 1e-3), None)?;
    let claimed = claim(&curator.ledger(4, 1));
    let column = move |side: Side| [size, -0.4 * size, 0.3 * size, 0.1 * size + side.pick(0.0, 1e-3)];
    let known = centred(column(Side::First));
    let attack = move |side: Side, stream: &mut Stream| {
        let inputs = Inputs::new(1, Arc::new(column(side).to_vec()));
        let Ok(released_inputs) = curator.release(Raw::seal(inputs), stream) else { return f64::NAN };
        let &[a, b, c, d] = released_inputs.value().values.as_slice() else { return f64::NAN };
        let released_inputs = [a, b, c, d];
        // The part of the released inputs outside the column space of the first inputs.
        let along = (0..4).map(|i| released_inputs[i] * known[i]).sum::<f64>() / (norm(&known) * norm(&known));
        let outside = [0, 1, 2, 3].map(|i| released_inputs[i] - along * known[i]);
        -norm(&outside) / norm(&released_inputs)
    };
    let score = "the share of the released inputs outside of the column space of the first inputs, negated";
    let name = format!("{}, printed, {branch}", entry.name);
    let case = Case::new(name, claimed, "one of four inputs moves by 1/1000", score, attack);
    Ok(case.erratum("E16").source("Kharkovskii2020, theorem 1"))
}

fn norm(x: &[f64; 4]) -> f64 {
    libm::sqrt(x.iter().map(|x| x * x).sum())
}

fn centred(x: [f64; 4]) -> [f64; 4] {
    let mean = 0.25 * x.iter().sum::<f64>();
    x.map(|x| x - mean)
}

/// Draws whether the first of two scores with Gumbel noise of this scale is smaller (logistic).
fn first_wins(lead: f64, scale: f64, stream: &mut Stream) -> bool {
    stream.bernoulli(1.0 / (1.0 + libm::exp(-lead / scale)))
}

/// Attacks the claim of erratum E27 (`docs/privacy.md`): noise for the change of one score.
///
/// The scores of two opposite vertices move in opposite directions, so this noise is half of the needed one.
pub fn e27() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 0.0 };
    let attack = move |side: Side, stream: &mut Stream| {
        // Each score moves by 1/2, the range by 1; the noise is scaled for 1/2 by the rule for monotone scores.
        let scale = 0.5 / claim.epsilon;
        let lead = side.pick(0.5, -0.5) - 1.0;
        if first_wins(lead, scale, stream) { 1.0 } else { 0.0 }
    };
    let pair = "scores of two opposite vertices, one up by 1/2 and the other down";
    let case = Case::new("noisy choice, noise for one score", claim, pair, "the vertex behind wins", attack);
    Ok(vec![case.erratum("E27").source("Dwork and Roth, claim 3.9, as cited by Han2022")])
}
