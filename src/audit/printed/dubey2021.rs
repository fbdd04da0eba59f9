//! Attacks false claims of Dubey: the tree over Gram matrices, and its local version.
//!
//! The noise is that of the engine's streams, with the printed standard deviations.

use crate::audit::prefix::{Part, case};
use crate::audit::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::streams::tree::Tree;
use std::sync::Arc;

/// Attacks the claim of erratum E6 (`docs/privacy.md`): every leaf has noise, and inner nodes none.
///
/// The nodes above the leaves store the sum of the raw leaves. The case is a model of that tree over two rounds.
///
/// # Errors
/// Never; the signature is that of all audits.
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
///
/// # Errors
/// Never; the signature is that of all audits.
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
///
/// # Errors
/// Never; the signature is that of all audits.
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
///
/// # Errors
/// Never; the signature is that of all audits.
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
