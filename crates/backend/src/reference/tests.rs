//! Tests the reference device against direct evaluation.

use super::arithmetic::Arithmetic;
use super::buffers::{MEAN, P, RESET_DEVIATION, VARIANCE};
use super::cases_tests::{CaseDraws, OwnedWork, ReferenceStart, TestBasis, TestGram, script};
use super::referee_tests::Referee;
use super::slots::ReferenceSlots;
use super::{Fault, ReferenceDevice};
use crate::device::{Answer, CAPACITY, DeviceSlots, SlotWork, Tables};
use privateer_gp::score::KernelFamily;

/// Returns the planes of a slot, in f64.
fn planes<R: Arithmetic>(slots: &ReferenceSlots<R>, slot: usize) -> [Vec<f64>; 4] {
    [P, MEAN, VARIANCE, RESET_DEVIATION].map(|plane| {
        let at = slots.buffers.plane(slot as u32, plane);
        slots.buffers.planes[at..at + slots.buffers.extent.stride].iter().map(|value| value.wide()).collect()
    })
}

/// Plays a script on the reference device; returns the first error, if any.
fn played<R: Arithmetic>(
    reference: &ReferenceDevice,
    basis: &TestBasis,
    n_slots: usize,
    rounds: &[Vec<OwnedWork>],
) -> Result<(), String> {
    let tables = reference.tables_in::<R>(basis.spec()).expect("tables");
    let mut slots = ReferenceSlots::<R>::new(&tables, n_slots);
    let mut errors = vec![tables.kernel_error(); n_slots];
    if let TestBasis::Own(grams) = basis {
        for (slot, gram) in grams.iter().enumerate() {
            errors[slot] = slots.set_points(slot, gram).expect("points");
        }
    }
    let mut referee = Referee::new(basis, R::PRECISION, errors);
    let mut answers: Vec<Answer> = Vec::new();
    for (stamp, round) in (1u32..).zip(rounds) {
        let works: Vec<SlotWork<'_>> = round.iter().map(OwnedWork::work).collect();
        slots.submit(stamp, &works).expect("submit");
        slots.collect(&mut answers).expect("collect");
        assert_eq!(answers.len(), works.len());
        for (work, answer) in round.iter().zip(&answers) {
            referee.play(work);
            referee.check_planes(work.slot, &planes(&slots, work.slot))?;
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

const FAMILIES: [KernelFamily; 5] = [
    KernelFamily::SquaredExponential,
    KernelFamily::MaternHalf,
    KernelFamily::MaternThreeHalves,
    KernelFamily::MaternFiveHalves,
    KernelFamily::Linear,
];

#[test]
fn features_of_every_size() {
    for (seed, (n_points, n_features, n_slots)) in
        (1..).zip([(1, 1, 1), (255, 3, 2), (256, 7, 9), (257, 64, 4), (600, 65, 4), (300, 130, 5)])
    {
        let mut draws = CaseDraws(seed);
        let basis = TestBasis::features(&mut draws, n_points, n_features);
        let rounds = script(&mut draws, &basis, n_slots, 8);
        played_in_both(&basis, n_slots, &rounds);
    }
}

#[test]
fn features_that_the_device_makes() {
    let mut draws = CaseDraws(11);
    let basis = TestBasis::fourier(&mut draws, 300, 12, 3);
    let rounds = script(&mut draws, &basis, 3, 6);
    played_in_both(&basis, 3, &rounds);
}

#[test]
fn gram_columns_of_every_kind() {
    for (seed, family) in (20..).zip(FAMILIES) {
        let mut draws = CaseDraws(seed);
        for dense in [true, false] {
            let basis = TestBasis::Gram(TestGram::new(&mut draws, family, 270, 2, dense));
            let rounds = script(&mut draws, &basis, 4, 7);
            played_in_both(&basis, 4, &rounds);
        }
        let basis = TestBasis::Own((0..4).map(|_| TestGram::new(&mut draws, family, 270, 3, false)).collect());
        let rounds = script(&mut draws, &basis, 4, 7);
        played_in_both(&basis, 4, &rounds);
    }
}

/// With too many points for a whole matrix, columns are evaluated when they are needed.
#[test]
fn gram_columns_of_many_points() {
    let mut draws = CaseDraws(31);
    let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternFiveHalves, 5_000, 2, false));
    let rounds = script(&mut draws, &basis, 4, 4);
    played_in_both(&basis, 4, &rounds);
}

/// A factor and a row over an empty basis give mean 0 and the prior variance.
#[test]
fn an_empty_basis() {
    let mut draws = CaseDraws(40);
    let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::SquaredExponential, 300, 1, false));
    let mut work = OwnedWork::keep(0);
    work.start = ReferenceStart::Factor(super::cases_tests::factor(&mut draws, 0, privateer_gp::score::VarianceForm::Removed));
    work.visit = Some((Some(Vec::new()), 0.5, 0.5));
    played_in_both(&basis, 1, &[vec![work]]);
}

#[test]
fn more_candidates_than_fit_are_counted() {
    let mut draws = CaseDraws(41);
    let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::SquaredExponential, 300, 1, true));
    let mut work = OwnedWork::keep(0);
    work.start = ReferenceStart::Prior;
    let tables = ReferenceDevice::default().tables_in::<f32>(basis.spec()).expect("tables");
    let mut slots = tables.slots(1).expect("slots");
    let mut answers = Vec::new();
    slots.submit(1, &[work.work()]).expect("submit");
    slots.collect(&mut answers).expect("collect");
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
