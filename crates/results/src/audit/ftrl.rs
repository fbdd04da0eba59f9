//! Attacks noisy prefix sums of plain gradients, as `dp-ftrl` releases them.
//!
//! One sample changes in every pass, or several samples of one user; all other gradients are zero.

use super::Case;
use super::gradients::{AttackedSums, CLAIM, DIMENSION, ROUNDS, direction, terms};
use super::prefix::weights;
use super::rewards::refused;
use privateer_config::error::Error;
use privateer_numerics::linalg::dot;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::gradients::Start;
use privateer_privacy::{Calibration, quote};

/// Returns the attacks with independent normal noise, or with generalised Gaussian noise.
pub fn cases(generalized: bool) -> Result<Vec<Case>, Error> {
    let name = if generalized { "ftrl-generalized-gaussian" } else { "ftrl-gaussian" };
    let terms = terms(Calibration::Tight, 1.5, DIMENSION, CLAIM, ROUNDS, 0.0)?;
    let (clip, direction, separation) = (terms.bounds(1.0), direction(generalized), ROUNDS / 2);
    let mut cases = Vec::new();
    for (factor, count) in
        [("tree", 1), ("sqrt-toeplitz", 1), ("tree", 2), ("blt", 2), ("banded-toeplitz", 2), ("normalised-toeplitz", 2)]
    {
        let participation = Participation { count, separation };
        let Some(factorisation) = quote::factorisation(factor, ROUNDS, participation) else { continue };
        let law = terms.plain_sum_noise(generalized, factorisation.as_ref(), participation).map_err(refused)?.noise;
        let changed: Vec<u64> = (0..count).map(|pass| 1 + pass * separation).collect();
        let weights = weights(factorisation.as_ref(), &changed);
        let pair = format!("gradients g and -g in rounds {changed:?} of {ROUNDS}, length 1 in l3, all others zero");
        let attacked = AttackedSums { factorisation, law, clip, start: Start::Never, generalized, changed };
        let words = "the likelihood ratio of all prefixes under normal noise";
        let score = move |at: usize, released: &[f64]| weights[at] * dot(released, &direction);
        cases.push(attacked.scored(format!("{name}, {factor}, {count} of one user"), CLAIM, pair, words, score));
        if cases.len() == 1 {
            cases.extend(attacked.outside(name, CLAIM));
        }
    }
    Ok(cases)
}
