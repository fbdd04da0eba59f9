//! Dubey: the tree over Gram matrices, and its local version. The noise is that of the engine's streams, with the printed standard deviations.

use crate::audit::prefix::{Part, case};
use crate::audit::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::streams::tree::Tree;
use std::sync::Arc;

/// E6: every leaf carries noise, and the nodes above store the sum of the raw leaves. A model of that tree over two rounds.
///
/// # Errors
/// None.
pub fn e6() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 1.0, delta: 0.01 };
    // Two nodes hold the leaf: as printed for n = 2 at sensitivity 1.
    let sigma = dubey2021::sigma_right_power(2, 1.0, claim.epsilon, claim.delta);
    let attack = move |side: Side, stream: &mut Stream| {
        let item = side.pick(0.5, -0.5);
        // Prefix 1 is a leaf, prefix 2 the node above both: it adds no noise and keeps none.
        let prefixes = [item + sigma * stream.normal(), item + 0.25];
        prefixes[1]
    };
    let pair = "x_1 = 1/2 against -1/2, x_2 = 1/4 known";
    let case = Case::new("tree with noise in its leaves alone", claim, pair, "the prefix of both rounds", attack);
    Ok(vec![case.erratum("E6").source("Dubey2021, text of the tree mechanism")])
}

/// E8: lemma 2 prints a variance that grows with S where the matrix with its corner moves by the order of S.
///
/// # Errors
/// None.
pub fn e8() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 10.0, delta: 0.1 };
    let reward = 30.0;
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(16));
    let squared_norm = dubey2021::squared_norm(reward, 0.0, 16, claim.delta);
    let sigma = dubey2021::sigma_of_the_proof(dubey2021::nodes_printed(16), squared_norm, claim.epsilon, claim.delta);
    // The worst partner of (e1, Y) is orthogonal to it: (-e1, 1/Y).
    let parts = vec![Part::gram(sigma, &[1.0, reward], &[-1.0, 1.0 / reward])];
    let pair = format!("z = (e1, {reward}) against (-e1, 1/{reward}) in round 1, the corner y² released");
    let case = case("gram with its corner, printed".to_owned(), claim, &factorisation, parts, &[1], &pair);
    Ok(vec![case.erratum("E8").source("Dubey2021, lemma 2")])
}

/// Two unit vectors at `cos = c` whose squares differ on the diagonal alone.
fn vectors(c: f64) -> ([f64; 2], [f64; 2]) {
    // At 45 degrees less and more half of the angle between them.
    let half = 0.5 * libm::acos(c);
    let at = |angle: f64| [libm::cos(angle), libm::sin(angle)];
    (at(std::f64::consts::FRAC_PI_4 - half), at(std::f64::consts::FRAC_PI_4 + half))
}

/// E13: half of the budget on the Gram matrix, sensitivity 1 "per element", the same variance for every entry.
///
/// # Errors
/// None.
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

/// E14: both halves together, the logarithm inside of `sigma_u` dropped for bounded rewards.
///
/// # Errors
/// None.
pub fn e14() -> Result<Vec<Case>, Error> {
    let claim = Claim { epsilon: 10.0, delta: 0.1 };
    let own: Arc<dyn Factorisation> = Arc::new(Tree::new(1));
    let gram = dubey2021_local::sigma_gram(claim.epsilon, claim.delta);
    let sums = dubey2021_local::sigma_reward_bounded(1.0, claim.epsilon, claim.delta);
    // Largest where 2 (1 - c²)/gram² + 2 (1 + c)/sums² is.
    let c = (0.5 * gram * gram / (sums * sums)).min(1.0);
    let (phi, other) = vectors(c);
    let parts = vec![Part::gram(gram, &phi, &other).even(), Part::rewards(sums, (&phi, 1.0), (&other, -1.0))];
    let pair = format!("(phi, 1) against (phi', -1), phi·phi' = {c:.3}, one user");
    let case = case("local sums, printed for bounded rewards".to_owned(), claim, &own, parts, &[1], &pair);
    Ok(vec![case.erratum("E14").source("Dubey2021, lemma 5 and section 6.1")])
}
