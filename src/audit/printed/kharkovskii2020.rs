//! Kharkovskii et al.: the random projection keeps the column space of the inputs, and neighbours have different ones. A model of
//! algorithm 1 for inputs of one column.

use crate::audit::{Case, Claim, Side};
use crate::error::Error;
use crate::privacy::printed::kharkovskii2020::omega;
use crate::rng::Stream;

/// E16: one look at the images tells two neighbours apart, whether the singular values are lifted or not (E17).
///
/// # Errors
/// None.
pub fn e16() -> Result<Vec<Case>, Error> {
    // Four inputs of one column, norm far above and far below omega: the plain branch and the lifted one.
    Ok(vec![of("projection, printed, not lifted", 1e4), of("projection, printed, lifted", 1.0)])
}

fn of(name: &str, size: f64) -> Case {
    let claim = Claim { epsilon: 1.0, delta: 1e-3 };
    let lift = omega(1, claim.epsilon, claim.delta);
    let column = move |side: Side| centred([size, -0.4 * size, 0.3 * size, 0.1 * size + side.pick(0.0, 1e-3)]);
    let known = column(Side::First);
    let attack = move |side: Side, stream: &mut Stream| {
        let inputs = column(side);
        let singular = norm(&inputs);
        let raised = if singular < lift { libm::sqrt(singular * singular + lift * lift) / singular } else { 1.0 };
        let factor = raised * stream.normal();
        let images = inputs.map(|x| x * factor);
        // What of the images lies outside of the column space of the first inputs.
        let along = (0..4).map(|i| images[i] * known[i]).sum::<f64>() / (norm(&known) * norm(&known));
        let outside = [0, 1, 2, 3].map(|i| images[i] - along * known[i]);
        -norm(&outside) / norm(&images)
    };
    let pair = "one of four inputs moves by 1/1000";
    Case::new(name, claim, pair, "the share of the images outside of the column space of the first inputs, negated", attack)
        .erratum("E16")
        .source("Kharkovskii2020, theorem 1")
}

fn norm(x: &[f64; 4]) -> f64 {
    libm::sqrt(x.iter().map(|x| x * x).sum())
}

fn centred(x: [f64; 4]) -> [f64; 4] {
    let mean = 0.25 * x.iter().sum::<f64>();
    x.map(|x| x - mean)
}
