//! Tests the reference device against direct evaluation.

use super::cases::{CaseDraws, OwnedWork, TestBasis, TestGram, answers, factor, play_every_case, script};
use super::player::ReferencePlayer;
use super::referee::Referee;
use super::{Fault, ReferenceDevice};
use crate::device::Real;
use crate::device::{CAPACITY, Start, Tables};
use privateer_gp::score::{KernelFamily, VarianceForm};

/// Plays a script on the reference device; returns the first error, if any.
fn played<R: Real>(
    reference: &ReferenceDevice,
    basis: &TestBasis,
    n_slots: usize,
    rounds: &[Vec<OwnedWork>],
) -> Result<(), String> {
    let mut player = ReferencePlayer::<R>::new(reference, basis, n_slots);
    let mut referee = Referee::new(basis, R::PRECISION, std::mem::take(&mut player.kernel_errors));
    for (stamp, round) in (1u32..).zip(rounds) {
        let answers = answers(&mut player.slots, stamp, round);
        for (work, answer) in round.iter().zip(&answers) {
            referee.play(work);
            referee.check_planes(work.slot, &player.planes(work.slot))?;
            referee.check_answer(work, answer)?;
            assert_eq!(answer.stamp, stamp);
        }
    }
    Ok(())
}

/// Plays a script in both types, with and without tables that the device computes.
fn played_in_both(basis: &TestBasis, n_slots: usize, rounds: &[Vec<OwnedWork>]) {
    for reference in [ReferenceDevice::default(), ReferenceDevice::default().without_f64()] {
        played::<f32>(&reference, basis, n_slots, rounds).expect("f32");
    }
    played::<f64>(&ReferenceDevice::default(), basis, n_slots, rounds).expect("f64");
}

#[test]
fn every_case() {
    play_every_case(played_in_both);
}

/// A factor and a row over an empty basis give mean 0 and the prior variance.
#[test]
fn an_empty_basis() {
    let mut draws = CaseDraws(40);
    let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::SquaredExponential, 300, 1, false));
    let mut work = OwnedWork::from(0, Start::Factor(factor(&mut draws, 0, VarianceForm::Removed)));
    work.visit = Some((Some(Vec::new()), 0.5, 0.5));
    played_in_both(&basis, 1, &[vec![work]]);
}

#[test]
fn more_candidates_than_fit_are_counted() {
    let mut draws = CaseDraws(41);
    let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::SquaredExponential, 300, 1, true));
    let work = OwnedWork::from(0, Start::Prior);
    let tables = ReferenceDevice::default().tables_in::<f32>(&basis.to_basis()).expect("tables");
    let mut slots = tables.slots(1).expect("slots");
    let answers = answers(&mut *slots, 1, std::slice::from_ref(&work));
    assert_eq!((answers[0].count, answers[0].points.len()), (300, CAPACITY));
    played_in_both(&basis, 1, &[vec![work]]);
}

#[test]
fn a_wrong_pass_is_noticed() {
    let mut draws = CaseDraws(50);
    let features = TestBasis::features(&mut draws, 600, 9);
    let gram = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternHalf, 600, 2, true));
    for basis in [features, gram] {
        let rounds = script(&mut draws, &basis, 4, 4);
        for fault in [Fault::DropsLastFeature, Fault::SkipsLastTile, Fault::NotANumber { after_rounds: 2 }] {
            assert!(played::<f32>(&ReferenceDevice::with_fault(fault), &basis, 4, &rounds).is_err(), "{fault:?}");
            assert!(played::<f64>(&ReferenceDevice::with_fault(fault), &basis, 4, &rounds).is_err(), "{fault:?}");
        }
    }
}
