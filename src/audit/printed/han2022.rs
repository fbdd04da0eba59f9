//! Attacks false claims of Han et al.: models of the printed steps of private Frank-Wolfe.

use crate::audit::{Case, Claim, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;

/// Draws whether the first of two scores with Gumbel noise of this scale is smaller (logistic).
fn first_wins(lead: f64, scale: f64, stream: &mut Stream) -> bool {
    stream.bernoulli(1.0 / (1.0 + libm::exp(-lead / scale)))
}

/// Attacks the claim of erratum E27 (`docs/privacy.md`): noise for the change of one score.
///
/// The scores of two opposite vertices move in opposite directions, so this noise is half of the needed one.
///
/// # Errors
/// Never; the signature is that of all audits.
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
