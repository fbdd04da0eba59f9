//! Attacks a false claim of Kharkovskii et al.: the random projection keeps the column space.
//!
//! Neighbouring inputs have different column spaces, which the released inputs show. The registered curators are attacked on
//! four inputs of one column.

use crate::audit::curators::built;
use crate::audit::rewards::claim;
use crate::audit::{Case, Side};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::curator::{CuratorEntry, Inputs, projection};
use privateer_privacy::{Calibration, Raw};
use std::sync::Arc;

/// Attacks the claim of erratum E16 (`docs/privacy.md`): one release distinguishes two neighbours.
///
/// The singular values are far above omega and far below it: in the plain branch, and in the lifted one (E17).
///
/// # Errors
/// If the curator refuses the inputs.
pub fn e16() -> Result<Vec<Case>, Error> {
    Ok(vec![of(&projection::PROJECTION, "not lifted", 1e4)?, of(&projection::PROJECTION, "lifted", 1.0)?])
}

/// Attacks the claim of erratum E16 again: lifting in every case does not help.
///
/// # Errors
/// If the curator refuses the inputs.
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
