//! Tests the shaders against the reference device and direct evaluation, on any adapter.
//!
//! Without an adapter these tests report that and pass, unless `PRIVATEER_GPU=required`.

use super::buffers::{GpuNumber, rows_of_a_piece};
use super::device::{Gpu, GpuOptions, Replacement};
use super::readback::read_all;
use super::slots::GpuSlots;
use super::tables::GpuTables;
use super::{AdapterChoice, adapters};
use privateer_backend::device::{
    CAPACITY, Chunk, Device, DeviceSlots, Extent, PLANES, Precision, Start, Tables, feature_columns,
};
use privateer_backend::reference::cases::{
    CaseDraws, OwnedWork, TestBasis, TestGram, answers, collect, factor, play_every_case, script, submit,
};
use privateer_backend::reference::referee::Referee;
use privateer_backend::reference::{ReferenceDevice, ReferencePlayer};
use privateer_backend::{BackendError, UpdateKind};
use privateer_gp::score::{KernelFamily, VarianceForm};
use std::sync::OnceLock;

/// Opens a device with these options; `None` without an adapter.
pub fn open(options: GpuOptions) -> Option<Gpu> {
    match Gpu::with_options(AdapterChoice::Any, options) {
        Ok(gpu) => Some(gpu),
        Err(problem) => {
            let required = std::env::var("PRIVATEER_GPU").is_ok_and(|value| value == "required");
            assert!(!required, "{problem}");
            eprintln!("skipped: no adapter");
            None
        }
    }
}

/// Opens a device with a replaced piece of a shader's text.
pub fn open_replaced(shader: &'static str, from: &'static str, to: &'static str, max_threads: Option<u32>) -> Option<Gpu> {
    open(GpuOptions { replacements: vec![Replacement { shader, from, to }], max_threads, ..GpuOptions::default() })
}

/// Returns the device that most tests share.
pub fn device() -> Option<Gpu> {
    static DEVICE: OnceLock<Option<Gpu>> = OnceLock::new();
    DEVICE.get_or_init(|| open(GpuOptions::default())).clone()
}

/// Plays a script on the device and on the reference device; returns the first error, if any.
pub fn played<R: GpuNumber>(gpu: &Gpu, basis: &TestBasis, n_slots: usize, rounds: &[Vec<OwnedWork>]) -> Result<(), String> {
    let tables = GpuTables::<R>::new(gpu.shared(), &basis.to_basis()).expect("tables");
    let mut slots = GpuSlots::<R>::new(&tables, n_slots).expect("slots");
    let reference = if gpu.shared().has_f64 { ReferenceDevice::default() } else { ReferenceDevice::default().without_f64() };
    let mut reference = ReferencePlayer::<R>::new(&reference, basis, n_slots);
    let mut errors = vec![tables.kernel_error(); n_slots];
    if let TestBasis::Own(grams) = basis {
        for (slot, gram) in grams.iter().enumerate() {
            errors[slot] = slots.set_points(slot, gram).expect("points");
        }
    }
    let mut referee = Referee::new(basis, R::PRECISION, errors);
    for (stamp, round) in (1u32..).zip(rounds) {
        let answers = answers(&mut slots, stamp, round);
        let all = slots.planes();
        submit(&mut reference.slots, stamp, round).expect("submit");
        for (work, answer) in round.iter().zip(&answers) {
            let stride = tables.shape.extent.stride;
            let plane =
                |at: usize| all[(work.slot * PLANES + at) * stride..][..stride].iter().map(|value| value.wide()).collect();
            let planes = [0, 1, 2, 3].map(plane);
            referee.play(work);
            referee.check_planes(work.slot, &planes)?;
            referee.check_answer(work, answer)?;
            referee.check_apart(work.slot, &planes, &reference.planes(work.slot))?;
            assert_eq!(answer.stamp, stamp);
        }
    }
    Ok(())
}

/// Plays a script in every type that the device supports.
pub fn played_in_all(gpu: &Gpu, basis: &TestBasis, n_slots: usize, rounds: &[Vec<OwnedWork>]) {
    played::<f32>(gpu, basis, n_slots, rounds).expect("f32");
    if gpu.computes_in(Precision::F64) {
        played::<f64>(gpu, basis, n_slots, rounds).expect("f64");
    }
}

#[test]
fn every_case() {
    let Some(gpu) = device() else { return };
    play_every_case(|basis, n_slots, rounds| played_in_all(&gpu, basis, n_slots, rounds));
}

/// More slots than one workgroup of the shared projection processes.
#[test]
fn many_slots() {
    let Some(gpu) = device() else { return };
    let mut draws = CaseDraws(9);
    let basis = TestBasis::features(&mut draws, 70, 5);
    let rounds = script(&mut draws, &basis, 19, 4);
    played_in_all(&gpu, &basis, 19, &rounds);
}

#[test]
fn features_that_the_device_makes() {
    let Some(gpu) = device() else { return };
    let basis = TestBasis::fourier(&mut CaseDraws(11), 300, 12, 3);
    let made = gpu.tables(&basis.to_basis(), Precision::F32).expect("tables").kernel_error();
    assert_eq!(made != 0.0, gpu.computes_in(Precision::F64), "made where there is f64, else sent");
}

/// A table of more than a piece arrives whole, with rows that no host table holds.
#[test]
fn a_table_sent_in_parts() {
    let Some(gpu) = device() else { return };
    let basis = TestBasis::by_axis(&mut CaseDraws(12), 150, 240);
    let table = basis.clone().table();
    assert!(table.values.is_empty() && rows_of_a_piece::<f32>(480) < table.n_points);
    let shared = gpu.shared();
    let chunk = Chunk { first: 0, len: Extent::new(table.n_points).stride };
    let columns = GpuTables::<f32>::sent(shared, &table, chunk).expect("sent");
    let got: Vec<f32> = read_all(shared, &columns);
    assert!(got == feature_columns::<f32>(&table, chunk));
}

/// Small bindings split tables into chunks of a tile or two.
#[test]
fn tables_in_chunks() {
    let Some(gpu) = open(GpuOptions { max_binding: Some(70_000), ..GpuOptions::default() }) else { return };
    let mut draws = CaseDraws(33);
    let features = TestBasis::features(&mut draws, 600, 30);
    let made = TestBasis::fourier(&mut draws, 600, 15, 2);
    let tables = GpuTables::<f32>::new(gpu.shared(), &features.to_basis()).expect("tables");
    assert_eq!((tables.sources.len(), tables.most_slots(UpdateKind::Full)), (2, 5));
    // Lanes that change by rows need no room for a factor of 60 features each.
    let wide = GpuTables::<f32>::new(gpu.shared(), &TestBasis::features(&mut draws, 10, 60).to_basis()).expect("tables");
    assert_eq!([UpdateKind::RankOne, UpdateKind::Full].map(|kind| wide.most_slots(kind)), [17, 8]);
    for basis in [features, made] {
        let rounds = script(&mut draws, &basis, 2, 4);
        played::<f32>(&gpu, &basis, 2, &rounds).expect("f32");
    }
    let Some(gpu) = open(GpuOptions { max_binding: Some(700_000), ..GpuOptions::default() }) else { return };
    for dense in [true, false] {
        let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternHalf, 520, 2, dense));
        let rounds = script(&mut draws, &basis, 2, 4);
        played::<f32>(&gpu, &basis, 2, &rounds).expect("f32");
    }
    let wide = TestBasis::features(&mut draws, 30, 700);
    assert!(
        matches!(gpu.tables(&wide.to_basis(), Precision::F32), Err(problem) if problem.can_be_replaced()),
        "a tile does not fit"
    );
}

/// As on most devices: kernels in f32, features from the host, no f64.
#[test]
fn without_f64() {
    let Some(gpu) = open(GpuOptions { without_f64: true, ..GpuOptions::default() }) else { return };
    let mut draws = CaseDraws(34);
    let features = TestBasis::fourier(&mut draws, 300, 15, 2);
    let gram = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::SquaredExponential, 300, 2, false));
    assert!(gpu.tables(&features.to_basis(), Precision::F64).is_err());
    for basis in [features, gram] {
        let rounds = script(&mut draws, &basis, 2, 4);
        played_in_all(&gpu, &basis, 2, &rounds);
    }
}

#[test]
fn an_empty_basis_and_a_crowd_of_candidates() {
    let Some(gpu) = device() else { return };
    let mut draws = CaseDraws(40);
    let basis = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::SquaredExponential, 300, 1, false));
    let mut work = OwnedWork::from(0, Start::Factor(factor(&mut draws, 0, VarianceForm::Removed)));
    work.visit = Some((Some(Vec::new()), 0.5, 0.5));
    played_in_all(&gpu, &basis, 1, &[vec![work]]);
    let work = OwnedWork::from(0, Start::Prior);
    let mut slots = gpu.tables(&basis.to_basis(), Precision::F32).and_then(|tables| tables.slots(1)).expect("slots");
    let answers = answers(&mut *slots, 1, std::slice::from_ref(&work));
    assert_eq!((answers[0].count, answers[0].points.len()), (300, CAPACITY));
    played_in_all(&gpu, &basis, 1, &[vec![work]]);
}

/// The comparison detects faulty shaders.
///
/// The faults drop the last function from rows or factors, omit the last tile of a pass, or reverse a maximum.
#[test]
fn a_planted_fault_is_noticed() {
    let mut draws = CaseDraws(50);
    let features = TestBasis::features(&mut draws, 600, 9);
    let gram = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternHalf, 600, 2, true));
    let faults = [
        (&features, "project", "k < end; k++", "k + 1u < end; k++"),
        (&gram, "project", "k < end; k++", "k + 1u < end; k++"),
        (&features, "factor", "if (k < work.factor_len)", "if (k + 1u < work.factor_len)"),
        (&features, "factor", "end == n", "end > n"),
        (&features, "project", "let x = shape.chunk_first + at;", "let x = shape.chunk_first + at % 512u;"),
        (&features, "update", "if (x < shape.n_points)", "if (x < shape.n_points && place.group.x < 2u)"),
        (&features, "list", "if (listed < work.n_scored)", "if (listed + 1u < work.n_scored)"),
        (&features, "select", "tile < tiles; tile++", "tile + 1u < tiles; tile++"),
        (&features, "select", "larger(a.upper,", "min(a.upper,"),
        (&features, "update", "numbers[w]", "numbers[0]"),
        (&features, "project", "select(P, MEAN,", "select(P, P,"),
        (&gram, "project", "= sums.y", "= sums.x"),
        (&features, "project", "work.row_at, work.weights_at", "work.row_at, work.row_at"),
        (&features, "update", "work.visit == VISIT_WEIGHTS", "false"),
    ];
    let mut scripts = [&features, &gram].map(|basis| script(&mut draws, basis, 4, 5));
    // A reset to the prior, followed by weights.
    scripts[0][0][0].visit = Some((Some(vec![0.1; 9]), 0.1, 0.0));
    scripts[0][0][0].weights = Some(vec![0.5; 9]);
    for (basis, shader, from, to) in faults {
        let Some(gpu) = open_replaced(shader, from, to, None) else { return };
        let rounds = if std::ptr::eq(basis, &raw const features) { &scripts[0] } else { &scripts[1] };
        assert!(played::<f32>(&gpu, basis, 4, rounds).is_err(), "{shader}: {to}");
    }
}

/// A wrong device table is replaced by an upload; a matrix, which cannot be uploaded, is refused.
#[test]
fn a_wrongly_made_table_is_not_used() {
    let mut draws = CaseDraws(51);
    let features = TestBasis::fourier(&mut draws, 300, 12, 2);
    let gram = TestBasis::Gram(TestGram::new(&mut draws, KernelFamily::MaternHalf, 300, 2, false));
    let replacements = vec![
        Replacement { shader: "features", from: "Out(value.x)", to: "Out(value.x * Real(1.000001))" },
        Replacement { shader: "gram", from: "Out(value)", to: "Out(value * Real(1.001))" },
    ];
    let Some(gpu) = open(GpuOptions { replacements, ..GpuOptions::default() }) else { return };
    let rounds = script(&mut draws, &features, 2, 3);
    played::<f32>(&gpu, &features, 2, &rounds).expect("sent");
    assert!(matches!(gpu.tables(&gram.to_basis(), Precision::F32), Err(problem) if problem.can_be_replaced()));
}

/// A point with NaN in its mean or variance is not scored; the other points are.
#[test]
fn what_is_not_a_number_is_not_scored() {
    let Some(gpu) = device() else { return };
    let mut draws = CaseDraws(52);
    let basis = TestBasis::features(&mut draws, 600, 3);
    for precision in [Precision::F32, Precision::F64].into_iter().filter(|&precision| gpu.computes_in(precision)) {
        let mut slots = gpu.tables(&basis.to_basis(), precision).and_then(|tables| tables.slots(1)).expect("slots");
        let (mut mean, mut variance) = (vec![0.5; 600], vec![1.0; 600]);
        for (x, y, bad) in [(0, 1, f64::NAN), (255, 256, f64::INFINITY), (599, 598, f64::NEG_INFINITY)] {
            (mean[x], variance[y]) = (bad, bad);
        }
        let answers = answers(&mut *slots, 1, &[OwnedWork::from(0, Start::Upload { mean, variance })]);
        assert_eq!(answers[0].scored, 600 - 6, "{precision:?}");
        assert!(answers[0].best_lower.is_finite() && answers[0].best_upper.is_finite());
        assert!(answers[0].points.iter().all(|x| ![0, 1, 255, 256, 598, 599].contains(x)));
    }
}

/// Two batches with a round in flight each, from two threads, give the answers of a single one.
#[test]
fn two_in_flight() {
    let Some(gpu) = device() else { return };
    let mut draws = CaseDraws(60);
    let basis = TestBasis::features(&mut draws, 300, 17);
    let rounds = script(&mut draws, &basis, 4, 12);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| played::<f32>(&gpu, &basis, 4, &rounds).expect("f32"));
        }
    });
    let tables = gpu.tables(&basis.to_basis(), Precision::F32).expect("tables");
    let mut halves = [tables.slots(4).expect("slots"), tables.slots(4).expect("slots")];
    for (stamp, round) in (1u32..).zip(&rounds) {
        for half in &mut halves {
            submit(&mut **half, stamp, round).expect("submit");
        }
        let answers = halves.each_mut().map(|half| {
            let mut answers = collect(&mut **half).expect("collect");
            answers.iter_mut().for_each(|answer| answer.points.sort_unstable());
            answers
        });
        let [left, right] = answers.each_ref().map(|answers| answers.iter().map(|a| a.count).collect::<Vec<_>>());
        assert_eq!(left, right);
        for (left, right) in answers[0].iter().zip(&answers[1]).filter(|(left, _)| left.count as usize <= CAPACITY) {
            assert_eq!(left, right);
        }
    }
}

/// A round whose answers were never collected does not affect the next one.
#[test]
fn an_unread_round() {
    let Some(gpu) = device() else { return };
    let mut draws = CaseDraws(61);
    let basis = TestBasis::features(&mut draws, 30, 3);
    let mut slots = gpu.tables(&basis.to_basis(), Precision::F32).and_then(|tables| tables.slots(2)).expect("slots");
    assert!(collect(&mut *slots).is_err());
    let works = [OwnedWork::from(1, Start::Prior)];
    submit(&mut *slots, 1, &works).expect("submit");
    assert_eq!(answers(&mut *slots, 2, &works)[0].stamp, 2);
    assert!(collect(&mut *slots).is_err());
}

/// Lost and full devices give errors after which another backend can continue.
#[test]
fn failures_are_errors() {
    let Some(gpu) = open(GpuOptions::default()) else { return };
    let mut draws = CaseDraws(62);
    let basis = TestBasis::features(&mut draws, 300, 3);
    let tables = gpu.tables(&basis.to_basis(), Precision::F32).expect("tables");
    let refused = |what: &str, result: Result<(), BackendError>| {
        let problem = result.expect_err(what);
        assert!(problem.can_be_replaced(), "{problem}");
    };
    refused("too many", tables.slots(60_000).map(drop));
    refused("none", tables.slots(0).map(drop));
    let mut slots = tables.slots(2).expect("slots");
    let works = [OwnedWork::from(0, Start::Prior)];
    answers(&mut *slots, 1, &works);
    gpu.shared().device.destroy();
    refused("lost", submit(&mut *slots, 2, &works).and_then(|()| collect(&mut *slots).map(drop)));
    refused("lost before", tables.slots(1).map(drop));
}

#[test]
fn adapters_are_listed_as_they_are_chosen() {
    let found = adapters();
    assert!(found.iter().filter(|facts| facts.taken_by_gpu).count() <= 1);
    assert!(found.iter().all(|facts| !(facts.taken_by_auto && (facts.kind == "software" || facts.lacks.is_some()))));
    match Gpu::open(AdapterChoice::Auto) {
        Ok(gpu) => assert!(found.iter().any(|facts| facts.taken_by_auto && facts == gpu.facts())),
        Err(problem) => {
            assert!(found.iter().all(|facts| !facts.taken_by_auto));
            assert!(found.iter().all(|facts| problem.to_string().contains(&facts.name)), "{problem}");
        }
    }
    let Some(gpu) = device() else { return };
    assert!(found.iter().any(|facts| facts.taken_by_gpu && facts == gpu.facts()));
    assert!(gpu.description().contains(&gpu.facts().name));
}
