//! Released noise has the law that is stated. Entropy of the operating system: each bound is six standard errors, a false alarm once in
//! five hundred million.

use super::parts::{d, e, mean_square};
use privateer_privacy::Raw;
use privateer_privacy::accounting::sensitivity::Relation;
use privateer_privacy::gdp_mu;
use privateer_privacy::release::{BitRelease, ChoiceRelease, DensityRelease, LaplaceRelease, VectorRelease};

const N: usize = 4000;

fn is_share(found: usize, stated: f64) {
    let share = found as f64 / N as f64;
    assert!((share - stated).abs() < 6.0 * (stated * (1.0 - stated) / N as f64).sqrt(), "{share} for {stated}");
}

#[test]
fn released_laplace_noise_has_its_scale() {
    let one =
        || *LaplaceRelease::calibrated(e(2.0), -1.0, 1.0).expect("a mechanism").release(Raw::seal(0.0)).expect("entropy").value();
    let values: Vec<f64> = (0..N).map(|_| one()).collect();
    // Scale 1: a variance of 2, and squares of a variance of 20.
    assert!((mean_square(&values) - 2.0).abs() < 6.0 * (20.0 / N as f64).sqrt());
}

#[test]
fn released_gaussian_noise_has_its_size() {
    let mechanism = VectorRelease::calibrated(e(1.0), d(1e-3), 1.0, N, Relation::Replace).expect("a mechanism");
    let values = mechanism.release(Raw::seal(vec![0.0; N])).expect("entropy");
    let sigma = 2.0 / gdp_mu(e(1.0), d(1e-3));
    let ratio = mean_square(values.value()) / (sigma * sigma);
    assert!((ratio - 1.0).abs() < 6.0 * (2.0 / N as f64).sqrt(), "{ratio}");
}

#[test]
fn the_released_bit_answers_at_its_epsilon() {
    let one =
        || *BitRelease::calibrated(e(2.0), -1.0, 1.0).expect("a mechanism").release(Raw::seal(1.0)).expect("entropy").value();
    is_share((0..N).filter(|_| 0.0 < one()).count(), 1.0 / (1.0 + (-2.0_f64).exp()));
}

/// The raised cells have probability s/(s + 1), s = e^(epsilon/2), but for the rounding of the window to 4096 cells; at the upper end they
/// are those from 1 on.
#[test]
fn the_released_density_answers_at_its_epsilon() {
    let one =
        || *DensityRelease::dense(e(2.0), -1.0, 1.0).expect("a mechanism").release(Raw::seal(1.0)).expect("entropy").value();
    is_share((0..N).filter(|_| 1.0 <= one()).count(), 1.0 / (1.0 + (-1.0_f64).exp()));
}

/// Scores 1/2 and 0 at range 1 and epsilon = 2: the first has odds e.
#[test]
fn the_released_choice_has_its_scale() {
    let one = || {
        let mechanism = ChoiceRelease::calibrated(e(2.0), 1.0, 2, "any two").expect("a mechanism");
        *mechanism.release(Raw::seal(vec![0.5, 0.0])).expect("entropy").value()
    };
    is_share((0..N).filter(|_| one() == 0).count(), 1.0 / (1.0 + (-1.0_f64).exp()));
}
