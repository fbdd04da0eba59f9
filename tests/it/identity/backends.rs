//! The same bytes on every backend: each policy and each environment once, on the CPU, on the loops that stand in for
//! shaders, and on a graphics adapter.
//!
//! Without an adapter the GPU part prints "skipped: no adapter"; with `PRIVATEER_GPU=required` a missing one fails.

use crate::backends::{NamedBackend, gpu_backends, reference_backends};
use crate::contract::{environments, policies};
use crate::support::{Ran, run_all, sweep};
use privateer::engine::{Options, Share};
use privateer::env::DataFolder;
use privateer::registry::{ENVIRONMENTS, names};
use privateer_backend::device::Precision;
use privateer_backend::reference::{Fault, ReferenceDevice};
use privateer_backend::{Backend, Band, Batched, Cpu, Fallback};
use privateer_config::error::Error;
use std::sync::{Arc, Mutex};

/// Three trials in blocks and batches that do not divide each other.
pub const OPTIONS: Options = Options { batch: Some(3), verify: false, share: Share::All };

/// Runs a spec that needs no data.
pub fn on(backend: &dyn Backend, text: &str) -> Result<Ran, Error> {
    run_all(&sweep(text), &DataFolder::default(), backend, OPTIONS)
}

/// A device that the CPU replaces where it fails, and what is said then.
pub fn replaced(device: Batched) -> (Fallback, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&said);
    (Fallback::new(Arc::new(device), move |error| told.lock().expect("no panic").push(error.to_string())), said)
}

/// Specs of at most 41 rounds.
fn policy_specs() -> Vec<String> {
    let short = |text: String| text.replace("rounds = 60", "rounds = 40\ntrials = 4\nrecord = { rounds = \"all\" }");
    policies::settings()
        .into_iter()
        .zip([1, 2, 0].into_iter().cycle())
        .map(|((name, setting), which)| short(policies::spec(&setting, &policies::privacies(name)[which])))
        .collect()
}

/// With a ridge below what a small domain needs to be kept as a whole: everything is screened.
fn environment_specs() -> Vec<String> {
    let of = |name: &str, setting: &str| {
        format!(
            "seed = 5\nrounds = 40\ntrials = 3\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"{name}\"\n{setting}\n\
             [[policy]]\nkind = \"igp-ucb\"\nbeta = {{ kind = \"constant\", value = 2.0 }}\nridge = 5e-4\n"
        )
    };
    names(ENVIRONMENTS)
        .into_iter()
        .flat_map(|name| environments::settings(name).into_iter().map(move |setting| (name, setting)))
        // A sample on a three-dimensional grid is larger than software adapters like.
        .map(|(name, setting)| of(name, &setting.replace("dimension = 3, points = 7", "dimension = 3, points = 6")))
        .collect()
}

/// Every curator, with noise of a hundred-thousandth of the variance: what cancels, cancels here.
fn curator_specs() -> Vec<String> {
    let of = |curator: &str, policy: &str| {
        format!(
            "seed = 6\nrounds = 30\ntrials = 4\nrecord = {{ rounds = \"all\" }}\n[environment]\nkind = \"gp-sample\"\n\
             domain = {{ kind = \"grid\", dimension = 2, points = 17, lo = -17.7, hi = 17.7 }}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 6.25 }}\n\
             noise = {{ kind = \"gaussian\", sd = 0.00316 }}\n[curator]\nepsilon = 3.0\ndelta = 1e-5\n{curator}\n\
             [[policy]]\nkind = \"gp-ucb\"\nridge = 1e-5\nfailure_prob = 0.025\n{policy}\n"
        )
    };
    let curators = [
        ("calibration = \"as-printed\"\ncolumns = 5", ""),
        ("mechanism = \"projection-always-lift\"\ncalibration = \"as-printed\"\ncolumns = 1", "count_start = false"),
        ("radius = 1.0", ""),
        ("radius = 1.0\ncolumns = 1", "input_noise = \"without-row-term\""),
        ("radius = 0.3", "input_noise = \"ignored\"\ninitial = \"lowest-index\""),
    ];
    curators.into_iter().map(|(curator, policy)| of(curator, policy)).collect()
}

fn all_specs() -> impl Iterator<Item = String> {
    policy_specs().into_iter().chain(environment_specs()).chain(curator_specs())
}

/// Runs every spec on every backend; fails with all that differed from the CPU.
pub fn same_bytes(backends: &[NamedBackend], specs: impl IntoIterator<Item = String>) {
    let (_kept, data) = environments::tables();
    let mut wrong = Vec::new();
    for text in specs {
        let sweep = sweep(&text);
        let expected = run_all(&sweep, &data, &Cpu::default(), OPTIONS).expect("the CPU runs");
        for (name, backend) in backends {
            match run_all(&sweep, &data, backend.as_ref(), OPTIONS) {
                Ok(found) => {
                    println!("{name}: {:?}", found.counters);
                    if found.bits() != expected.bits() {
                        wrong.push(format!("{name}: other bytes on\n{text}"));
                    }
                    if 0 < found.counters.violations {
                        wrong.push(format!("{name}: {} points outside their band on\n{text}", found.counters.violations));
                    }
                }
                Err(error) => wrong.push(format!("{name}: {error} on\n{text}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_reference_device_writes_the_bytes_of_the_cpu() {
    same_bytes(&reference_backends(), all_specs());
}

#[test]
fn a_graphics_adapter_writes_the_bytes_of_the_cpu() {
    same_bytes(&gpu_backends(), all_specs());
}

/// Noise of 1 on 300 points, with a ridge below which no domain is small, 300 rounds: long enough for starts, checks and several candidates.
pub const LONG: &str = "seed = 2\nrounds = 300\ntrials = 4\nrecord = { rounds = \"all\" }\n[environment]\nkind = \"rkhs\"\n\
    domain = { kind = \"grid\", points = 300 }\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\n\
    noise = { kind = \"uniform\", bound = 1.0 }\n[privacy]\nmechanism = \"laplace\"\nepsilon = 2.0\n\
    [[policy]]\nkind = \"igp-ucb\"\nfeatures = { kind = \"random-fourier\", features = 30 }\nbeta = { kind = \"constant\", value = 1.0 }\n\
    [[policy]]\nkind = \"gp-ucb\"\nbeta = { kind = \"order\", factor = 0.5 }\nridge = 9e-4\n";

/// What the reference device does on the long spec.
fn long_run(precision: Option<Precision>, band: Band) -> Ran {
    on(&Batched::new(Arc::new(ReferenceDevice::default())).with_precision(precision).with_band(band), LONG).expect("a run")
}

#[test]
fn bands_of_devices() {
    let expected = on(&Cpu::default(), LONG).expect("a run").bits();
    for precision in [Some(Precision::F32), Some(Precision::F64), None] {
        let found = long_run(precision, Band::Proved);
        let counters = found.counters;
        println!("{precision:?}: {counters:?}");
        assert_eq!(found.bits(), expected, "{precision:?}");
        assert_eq!(counters.violations, 0);
        let several = (counters.candidates - counters.rounds) as f64 / counters.rounds as f64;
        // In f32 the band over so small a ridge leaves a third of the rounds of `gp-ucb` to a scan of 300 points: errors of rows add
        // up at each point, which f64 makes small (10.7; with one bound for all points f32 had less than 7 and f64 up to 300 times
        // as many). The device takes f32 for features and f64 for covariances where it may choose.
        let most = match precision {
            Some(Precision::F32) => 11.0,
            Some(Precision::F64) => 0.01,
            None => 0.5,
        };
        assert!(several < most, "{precision:?}: {several} candidates beyond the first a round");
        assert_eq!(long_run(precision, Band::Infinite).bits(), expected, "{precision:?}: an infinite band changed a byte");
    }
    let unbanded = long_run(Some(Precision::F32), Band::Zero).bits();
    assert_ne!(unbanded, expected, "f32 decided like f64 without a band: this test tests nothing");
}

/// Factors that do not fit one submission go in several, for lanes that change by rows and for lanes that are new every round.
#[test]
fn small_submissions_change_no_byte() {
    let rows = LONG.rsplit_once("[[policy]]").expect("two policies").0;
    let rows = &rows.replace("trials = 4", "trials = 8").replace("rounds = 300", "rounds = 60");
    let sums = rows.replace("\"igp-ucb\"", "\"jdp-gp-ucb\"");
    let sums = sums.replace("\"laplace\"\nepsilon = 2.0", "\"tree\"\nepsilon = 2.0\ndelta = 1e-5\nclip = [-3.0, 3.0]");
    for (text, changes) in [(rows, "by rows"), (&sums, "new every round")] {
        let expected = on(&Cpu::default(), text).expect("a run").bits();
        let of = |most: usize| {
            // A factor of 60 features, its weights and two rows are 2010 numbers.
            let device = ReferenceDevice::default().with_most_coefficients(most);
            let (backend, options) = (Batched::new(Arc::new(device)).with_precision(Some(Precision::F32)), Options::default());
            let found = run_all(&sweep(text), &DataFolder::default(), &backend, options).expect("a run");
            assert_eq!(found.bits(), expected, "{changes}, {most}");
            found.counters
        };
        let (whole, small) = (of(usize::MAX), of(2100));
        println!("{changes}: {} and {} submissions", whole.submissions, small.submissions);
        assert_eq!(whole.lanes, small.lanes);
        let least = if changes == "by rows" { whole.submissions + 1 } else { 2 * whole.submissions };
        assert!(least <= small.submissions, "{changes}");
    }
    let device = ReferenceDevice::default().with_most_coefficients(1500);
    assert!(on(&Batched::new(Arc::new(device)), &sums).is_err(), "a factor that fits no submission");
}

/// A device that is lost in the middle of a sweep gives its trials to the CPU, and the bytes are the same.
#[test]
fn lost_devices_change_no_byte() {
    let expected = on(&Cpu::default(), LONG).expect("a run").bits();
    for after_rounds in [0, 1, 77, 240] {
        let (backend, said) = replaced(Batched::new(Arc::new(ReferenceDevice::with_fault(Fault::LosesDevice { after_rounds }))));
        let found = on(&backend, LONG).expect("the CPU carries on");
        let said = said.lock().expect("no panic");
        assert_eq!(said.len(), 1, "{after_rounds}: {said:?}");
        assert!(0 < found.counters.fallbacks, "{after_rounds}");
        assert_eq!(found.bits(), expected, "{after_rounds}");
    }
}

/// A device that gives wrong answers ends the run: whatever it answered before may be wrong as well.
#[test]
fn devices_with_wrong_answers_end_the_run() {
    let garbage = [0, 1, 77, 240].into_iter().flat_map(|after_rounds| {
        [Fault::Garbage { after_rounds }, Fault::WritesNothing { after_rounds }, Fault::NotANumber { after_rounds }]
    });
    for fault in garbage.chain([Fault::DropsLastFeature, Fault::SkipsLastTile]) {
        let device = Batched::new(Arc::new(ReferenceDevice::with_fault(fault))).with_precision(Some(Precision::F32));
        let backend = Fallback::new(Arc::new(device), |error| panic!("not mended by the CPU: {error}"));
        assert!(matches!(on(&backend, LONG), Err(Error::Untrusted { .. })), "{fault:?}");
    }
}
