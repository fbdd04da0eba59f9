//! Tests that workgroups of every permitted size give the same, correct answers.
//!
//! With subgroups and without.

use super::buffers::GpuNumber;
use super::device::{Gpu, GpuOptions, Replacement};
use super::slots::GpuSlots;
use super::tables::GpuTables;
use super::tests::{open, played};
use crate::device::{Answer, CAPACITY, Device, DeviceSlots, Precision, SlotWork};
use crate::reference::cases_tests::{CaseDraws, OwnedWork, TestBasis, TestGram, script};
use privateer_gp::score::KernelFamily;

/// Returns bases of all kinds, each with a script for three slots.
fn cases() -> Vec<(TestBasis, Vec<Vec<OwnedWork>>)> {
    let mut draws = CaseDraws(70);
    let bases = vec![
        TestBasis::features(&mut draws, 600, 70),
        TestBasis::fourier(&mut draws, 300, 12, 2),
        TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternHalf, 300, 2, false)),
        TestBasis::Own((0..3).map(|_| TestGram::new(&mut draws, KernelFamily::SquaredExponential, 270, 3, false)).collect()),
    ];
    bases
        .into_iter()
        .map(|basis| {
            let rounds = script(&mut draws, &basis, 3, 5);
            (basis, rounds)
        })
        .collect()
}

/// With limits below those of any hardware, the passes are correct for every workgroup size.
#[test]
fn tightened_limits() {
    for (threads, shared, found) in
        [(Some(100), None, [64, 64]), (None, Some(12_000), [256, 64]), (Some(16), Some(3_000), [16, 16])]
    {
        let Some(gpu) = open(GpuOptions { max_threads: threads, max_shared: shared, ..GpuOptions::default() }) else { return };
        let used = [Precision::F32, Precision::F64].map(|precision| gpu.shared().workgroup(precision).expect("a size").threads());
        assert_eq!(used, found);
        for (basis, rounds) in cases() {
            played::<f32>(&gpu, &basis, 3, &rounds).expect("f32");
            if gpu.computes_in(Precision::F64) {
                played::<f64>(&gpu, &basis, 3, &rounds).expect("f64");
            }
        }
    }
    // Eight threads are too few for any pass.
    assert!(open_refused(GpuOptions { max_threads: Some(8), ..GpuOptions::default() }));
}

fn open_refused(options: GpuOptions) -> bool {
    let Some(gpu) = open(options) else { return true };
    let basis = TestBasis::features(&mut CaseDraws(1), 30, 3);
    gpu.tables(basis.spec(), Precision::F32).is_err()
}

/// Returns every answer of a script, and the final planes, as bits.
///
/// If there are more candidates than a device names, the named ones may differ.
fn bits<R: GpuNumber>(gpu: &Gpu, basis: &TestBasis, rounds: &[Vec<OwnedWork>]) -> (Vec<Answer>, Vec<u64>) {
    let tables = GpuTables::<R>::new(gpu.shared(), basis.spec()).expect("tables");
    let mut slots = GpuSlots::<R>::new(&tables, 3).expect("slots");
    if let TestBasis::Own(grams) = basis {
        for (slot, gram) in grams.iter().enumerate() {
            slots.set_points(slot, gram).expect("points");
        }
    }
    let (mut answers, mut all) = (Vec::new(), Vec::new());
    for (stamp, round) in (1u32..).zip(rounds) {
        let works: Vec<SlotWork<'_>> = round.iter().map(OwnedWork::work).collect();
        slots.submit(stamp, &works).expect("submit");
        slots.collect(&mut answers).expect("collect");
        for answer in &mut answers {
            answer.points.sort_unstable();
            if CAPACITY < answer.count as usize {
                answer.points.clear();
            }
        }
        all.append(&mut answers);
    }
    (all, slots.planes().into_iter().map(|value| value.wide().to_bits()).collect())
}

/// Subgroups give the same bits as the reduction by halves, for every workgroup size.
#[test]
fn subgroups_change_no_bit() {
    let Some(gpu) = open(GpuOptions::default()) else { return };
    if gpu.facts().subgroups.is_none() {
        println!("skipped: no subgroups");
        return;
    }
    assert!(gpu.shared().subgroups);
    for max_threads in [None, Some(64), Some(16)] {
        let of = |without_subgroups| {
            open(GpuOptions { max_threads, without_subgroups, ..GpuOptions::default() }).expect("open before")
        };
        let (with, without) = (of(false), of(true));
        assert!(with.shared().subgroups && !without.shared().subgroups);
        for (basis, rounds) in cases() {
            assert!(bits::<f32>(&with, &basis, &rounds) == bits::<f32>(&without, &basis, &rounds), "{max_threads:?}, f32");
            if gpu.computes_in(Precision::F64) {
                assert!(bits::<f64>(&with, &basis, &rounds) == bits::<f64>(&without, &basis, &rounds), "{max_threads:?}, f64");
            }
        }
    }
}

/// Subgroups that fail the self-test of reductions are not used.
#[test]
fn wrong_subgroups_are_not_used() {
    for (from, to) in [
        ("subgroupMax(mine.lower)", "mine.lower"),
        ("subgroupMax(mine.mean)", "mine.mean"),
        ("subgroupAdd(mine.counts)", "mine.counts"),
        ("other = 1u;", "other = 2u;"),
    ] {
        let replacements = vec![Replacement { shader: "reduction", from, to }];
        let Some(gpu) = open(GpuOptions { replacements, max_threads: Some(64), ..GpuOptions::default() }) else { return };
        assert!(!gpu.shared().subgroups, "{to}");
    }
}

/// Planted faults of reductions are detected.
///
/// The faults omit a subgroup, use one thread for its whole subgroup, or omit the points of a tile beyond the threads of a
/// small workgroup.
#[test]
fn planted_faults_of_reductions_are_noticed() {
    let (basis, rounds) = cases().swap_remove(0);
    let faults = [
        ("update", "other < place.n_subgroups", "other + 1u < place.n_subgroups"),
        ("update", "subgroupMax(mine.upper)", "mine.upper"),
        ("list", "subgroupAdd(mine.counts)", "mine.counts"),
        ("update", "step < TILE; step += THREADS", "step < THREADS; step += THREADS"),
        ("factor", "part < SIDE; part++", "part + 1u < SIDE; part++"),
    ];
    for (shader, from, to) in faults {
        let replacements = vec![Replacement { shader, from, to }];
        let options = GpuOptions { replacements, max_threads: Some(64), ..GpuOptions::default() };
        let Some(gpu) = open(options) else { return };
        if gpu.facts().subgroups.is_some() {
            assert!(played::<f32>(&gpu, &basis, 3, &rounds).is_err(), "{shader}: {to}");
        }
    }
}
