//! Tests that every planted fault shows in its own way.

use super::cases::{CaseDraws, OwnedWork, TestBasis, collect, submit};
use super::{Fault, ReferenceDevice};
use crate::BackendError;
use crate::device::{Answer, Device, Precision, Start};

/// Returns the results of two rounds with a fault: a reset to the prior, then an observation.
fn two_rounds(fault: Fault) -> Vec<Result<Answer, BackendError>> {
    let mut draws = CaseDraws(3);
    let basis = TestBasis::features(&mut draws, 300, 5);
    let mut slots = ReferenceDevice::with_fault(fault)
        .tables(&basis.to_basis(), Precision::F32)
        .and_then(|tables| tables.slots(1))
        .expect("slots");
    let first = OwnedWork::from(0, Start::Prior);
    let mut second = OwnedWork::keep(0);
    second.visit = Some((Some(vec![1.0; 5]), 0.1, 0.1));
    [first, second]
        .into_iter()
        .zip(1..)
        .map(|(work, stamp)| {
            submit(&mut *slots, stamp, &[work])?;
            Ok(collect(&mut *slots)?.swap_remove(0))
        })
        .collect()
}

#[test]
fn faults_start_when_they_say() {
    let stamps = |fault| -> Vec<Option<(u32, u32)>> {
        two_rounds(fault).into_iter().map(|answer| answer.ok().map(|answer| (answer.stamp, answer.scored))).collect()
    };
    assert_eq!(stamps(Fault::LosesDevice { after_rounds: 1 }), [Some((1, 300)), None]);
    assert_eq!(stamps(Fault::Garbage { after_rounds: 1 }), [Some((1, 300)), None]);
    assert_eq!(stamps(Fault::WritesNothing { after_rounds: 1 }), [Some((1, 300)), Some((1, 300))]);
    assert_eq!(stamps(Fault::WritesNothing { after_rounds: 0 }), [Some((0, 0)), Some((0, 0))]);
    assert_eq!(stamps(Fault::NotANumber { after_rounds: 1 }), [Some((1, 300)), Some((2, 299))]);
    assert_eq!(stamps(Fault::SkipsLastTile), [Some((1, 256)), Some((2, 256))]);
    assert_eq!(stamps(Fault::DropsLastFeature), [Some((1, 300)), Some((2, 300))]);
}

#[test]
fn a_round_that_does_not_fit_is_refused() {
    let mut draws = CaseDraws(4);
    let basis = TestBasis::features(&mut draws, 30, 5);
    let tables = ReferenceDevice::default().tables(&basis.to_basis(), Precision::F64).expect("tables");
    let mut slots = tables.slots(2).expect("slots");
    assert!(collect(&mut *slots).is_err());
    let mut short = OwnedWork::keep(0);
    short.visit = Some((Some(vec![1.0; 4]), 0.1, 0.1));
    assert!(submit(&mut *slots, 1, &[short]).is_err());
    let mut keep = |works: &[usize]| submit(&mut *slots, 1, &works.iter().map(|&slot| OwnedWork::keep(slot)).collect::<Vec<_>>());
    assert!(keep(&[2]).is_err());
    assert!(keep(&[1, 0]).is_err());
    assert!(keep(&[0, 1]).is_ok());
}
