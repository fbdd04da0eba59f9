//! Tests that workgroups of every permitted size give the same, correct answers.
//!
//! With subgroups and without.

use super::adapters::AdapterChoice;
use super::device::{Gpu, GpuOptions, Replacement};
use super::tests::{open, open_replaced, played, played_in_all};
use privateer_backend::device::{Device, Precision};
use privateer_backend::reference::cases::{CaseDraws, OwnedWork, TestBasis, TestGram, script};
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
            played_in_all(&gpu, &basis, 3, &rounds);
        }
    }
    // Eight threads are too few for any pass.
    let too_few = GpuOptions { max_threads: Some(8), ..GpuOptions::default() };
    assert!(Gpu::with_options(AdapterChoice::Any, too_few).is_err());
}

/// Reductions by subgroups and by halves keep the bounds, for every workgroup size.
#[test]
fn subgroups_keep_the_bounds() {
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
            // Two compilations may contract differently: both must keep their bounds.
            for device in [&with, &without] {
                played_in_all(device, &basis, 3, &rounds);
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
        ("value = -value;", "value = subgroupMax(-value);"),
    ] {
        let Some(gpu) = open_replaced("reduction", from, to, Some(64)) else { return };
        assert!(!gpu.shared().subgroups, "{to}");
    }
}

/// f64 that fails the self-test of arithmetic is not used.
#[test]
fn wrong_f64_is_not_used() {
    if open(GpuOptions::default()).is_none_or(|gpu| !gpu.computes_in(Precision::F64)) {
        println!("skipped: no f64");
        return;
    }
    for (from, to) in [
        (
            "sum += source[2u * other] * source[2u * other + 1u];",
            "sum += Real(f32(source[2u * other]) * f32(source[2u * other + 1u]));",
        ),
        ("Out((a * a + b) - a * a)", "Out(Real(f32(a * a + b) - f32(a * a)))"),
        ("Out(a * b)", "Out(Real(f32(a * b)))"),
    ] {
        let gpu = open_replaced("arithmetic", from, to, None).expect("open before");
        assert!(!gpu.computes_in(Precision::F64), "{to}");
    }
}

/// A device whose f32 is off by a roundoff is refused.
#[test]
fn wrong_f32_is_refused() {
    let Some(_) = open(GpuOptions::default()) else { return };
    for (from, to) in [
        ("Out(a * b)", "Out(a * b * Real(1.0000001))"),
        ("Out(a + b)", "Out((a + b) * Real(0.9999999))"),
        ("Out(a / b)", "Out(a / b * Real(1.000001))"),
    ] {
        let replacements = vec![Replacement { shader: "arithmetic", from, to }];
        let opened = Gpu::with_options(AdapterChoice::Any, GpuOptions { replacements, ..GpuOptions::default() });
        assert!(opened.is_err_and(|problem| problem.to_string().contains("does not round in f32")), "{to}");
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
        let Some(gpu) = open_replaced(shader, from, to, Some(64)) else { return };
        if gpu.facts().subgroups.is_some() {
            assert!(played::<f32>(&gpu, &basis, 3, &rounds).is_err(), "{shader}: {to}");
        }
    }
}
