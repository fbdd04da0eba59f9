//! What only a graphics adapter can do wrong: planted faults of shaders, a device lost in the middle of a sweep, tables beyond
//! a binding, no room.
//!
//! Without an adapter every test here prints "skipped: no adapter"; with `PRIVATEER_GPU=required` a missing one fails.

use super::backends::{LONG, OPTIONS, on, replaced};
use super::followed::over_followed_dictionaries;
use super::forms::{over_a_gram_table, over_features};
use crate::backends::{NamedBackend, open_gpu};
use crate::support::{Ran, sweep};
use privateer::engine::{Observer, Options, Preparation, Stop, Trace, Unit, run};
use privateer::env::DataFolder;
use privateer_backend::device::{Device, Precision};
use privateer_backend::{Backend, Batched, Counters, Cpu};
use privateer_config::error::Error;
use privateer_gpu::{Gpu, GpuOptions, Replacement};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// The long spec, shorter: software adapters are slow.
fn long() -> String {
    LONG.replace("rounds = 300", "rounds = 140")
}

fn expected() -> Vec<u64> {
    on(&Cpu::default(), &long()).expect("a run").bits()
}

fn backend(gpu: &Gpu, precision: Precision) -> Batched {
    Batched::new(Arc::new(gpu.clone())).with_precision(Some(precision))
}

/// A shader that leaves out the last column of a product, and one that never looks at the last points of a tile: both leave
/// every answer plausible. Exact scores find them, or the bytes differ; they may not pass for right.
#[test]
fn planted_faults_of_shaders_are_found() {
    let faults = [
        Replacement {
            shader: "project",
            from: "let end = min(STAGED, shape.n_columns - block);",
            to: "let end = min(STAGED, shape.n_columns - block) - 1u;",
        },
        Replacement { shader: "update", from: "if (x < shape.n_points) {", to: "if (x < shape.n_points - 30u) {" },
        Replacement { shader: "select", from: "at < work.n_scored", to: "at + 20u < work.n_scored" },
        Replacement { shader: "update", from: "variance = variance - fall * fall;", to: "variance = variance + fall * fall;" },
    ];
    let right = expected();
    for (fault, precision) in faults.into_iter().map(|fault| (fault, Precision::F32)).chain([(faults[0], Precision::F64)]) {
        let Some(gpu) = open_gpu(GpuOptions { replacements: vec![fault], ..GpuOptions::default() }) else { return };
        if !gpu.computes_in(precision) {
            continue;
        }
        match on(&backend(&gpu, precision), &long()) {
            Err(error) => println!("{}, {precision:?}: {error}", fault.to),
            Ok(found) => assert_ne!(found.bits(), right, "{}, {precision:?}, was not noticed", fault.to),
        }
    }
}

/// Destroys the device when the first rounds have been run.
struct Destroyer(Gpu, Mutex<BTreeMap<Unit, Trace>>);

impl Observer for Destroyer {
    fn progressed(&self, _trial_rounds: u64) {
        self.0.destroy();
    }

    fn finished(&self, unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        self.1.lock().expect("no panic").insert(unit, rows);
        Ok(())
    }
}

/// Runs a spec on a device that is lost after the first rounds; the CPU carries on.
pub(super) fn lost_in_the_middle(gpu: Gpu, text: &str, options: Options) -> Vec<u64> {
    let (backend, said) = replaced(Batched::new(Arc::new(gpu.clone())));
    let destroyer = Destroyer(gpu, Mutex::default());
    let (sweep, data) = (sweep(text), DataFolder::default());
    let preparation = Preparation::new(&sweep, &data, &backend);
    let tally = run(&sweep, &preparation, options, &BTreeSet::new(), &Stop::new(), &destroyer).expect("the CPU carries on");
    let said = said.lock().expect("no panic");
    println!("{said:?}, {:?}", tally.counters);
    assert!(!said.is_empty() && 0 < tally.counters.fallbacks, "nothing was lost: this test tests nothing");
    let rows = destroyer.1.into_inner().expect("no panic");
    Ran { rows, counters: tally.counters }.bits()
}

#[test]
fn a_device_lost_in_the_middle_changes_no_byte() {
    let Some(gpu) = open_gpu(GpuOptions::default()) else { return };
    assert_eq!(lost_in_the_middle(gpu, &long(), OPTIONS), expected());
}

/// Tables in several pieces give what whole ones give.
#[test]
fn small_bindings_change_nothing() {
    // 300 points are two tiles of 256: a tile of 40 features, or of 300 Gram columns, fits, and two do not.
    for (precision, features, gram) in [(Precision::F32, 60 << 10, 400 << 10), (Precision::F64, 120 << 10, 800 << 10)] {
        let of = |bytes: u64| -> Option<Vec<NamedBackend>> {
            let gpu = open_gpu(GpuOptions { max_binding: Some(bytes), ..GpuOptions::default() })?;
            Some(vec![(format!("bindings of {bytes} bytes, {precision:?}"), Box::new(backend(&gpu, precision)))])
        };
        let (Some(small), Some(larger)) = (of(features), of(gram)) else { return };
        over_features(&small, 6);
        over_a_gram_table(&larger, 6, 300);
    }
}

/// Small workgroups, and reductions without subgroups, write the bytes of the CPU.
#[test]
fn limits_change_no_byte() {
    let right = expected();
    for options in [
        GpuOptions { max_threads: Some(64), ..GpuOptions::default() },
        GpuOptions { max_threads: Some(16), without_subgroups: true, ..GpuOptions::default() },
    ] {
        let Some(gpu) = open_gpu(options) else { return };
        for precision in [Precision::F32, Precision::F64].into_iter().filter(|&precision| gpu.computes_in(precision)) {
            assert_eq!(on(&backend(&gpu, precision), &long()).expect("a run").bits(), right, "{precision:?}");
        }
        let backend: Vec<NamedBackend> = vec![("small workgroups".to_owned(), Box::new(Batched::new(Arc::new(gpu))))];
        over_features(&backend, 6);
        over_followed_dictionaries(&backend, 6);
    }
}

/// What does not fit is an error that the CPU makes good.
#[test]
fn no_room_is_no_failure() {
    let options = GpuOptions { max_binding: Some(4 << 10), ..GpuOptions::default() };
    let Some(gpu) = open_gpu(options) else { return };
    let bare = backend(&gpu, Precision::F32);
    let error = on(&bare, &long()).expect_err("a binding of 4 KiB is too small");
    assert!(matches!(error, Error::Device { .. }), "{error}");
    let (fallback, said) = replaced(bare);
    assert_eq!(fallback.name(), "gpu");
    assert_eq!(on(&fallback, &long()).expect("the CPU carries on").bits(), expected());
    assert!(!said.lock().expect("no panic").is_empty());
}
