//! Submissions of any width: trials of several cells share them, and the bytes are those of the CPU.

use super::backends::{LONG, replaced};
use crate::backends::{NamedBackend, choosing_gpu, reference_backends};
use crate::support::{ran_of, run_all, sweep};
use privateer::engine::Options;
use privateer::env::DataFolder;
use privateer::run::thread_pool;
use privateer::spec::Sweep;
use privateer_backend::reference::{Fault, ReferenceDevice};
use privateer_backend::{Backend, BackendError, Batched, Counters, Cpu, Domain, Screen, UpdateKind};
use privateer_gp::score::{Basis, Candidates, TrialScore};
use std::sync::{Arc, Mutex};

/// Twelve cells: two bases for each of two horizons; seven trials in blocks of three.
fn twelve_cells(trials: u64) -> Sweep {
    let trials = format!("references = false\nrounds = 40\ntrials = {trials}\nblock = 3");
    let product = "[sweep.product]\n\"privacy.epsilon\" = [0.5, 2.0, 8.0]\nrounds = [25, 40]\n";
    sweep(&format!("{}{product}", LONG.replace("rounds = 300\ntrials = 4", &trials)))
}

fn widths_of(backends: &[NamedBackend]) {
    let sweep = twelve_cells(7);
    assert_eq!(sweep.cells.len(), 12);
    let (data, expected) = (DataFolder::default(), ran_of(&sweep).bits());
    for (name, backend) in backends {
        for threads in [1, 3] {
            let pool = thread_pool(Some(threads)).expect("threads");
            for batch in [Some(1), Some(4), Some(13), None] {
                let options = Options { batch, ..Options::default() };
                let found = pool.install(|| run_all(&sweep, &data, backend.as_ref(), options)).expect("a run");
                assert_eq!(found.bits(), expected, "{name}, {batch:?}, {threads} threads");
                let counters = found.counters;
                // Every first round plays a drawn point.
                assert_eq!(counters.rounds, 7 * 3 * 2 * (24 + 39));
                // Three cells of seven trials share a basis; half of their trials are in a submission, or half of the batch.
                let lanes = counters.lanes as f64 / counters.submissions as f64;
                let most = batch.map_or(11.0, |batch| f64::from(batch as u32).div_euclid(2.0).max(1.0) + 1.0);
                assert!(lanes <= most, "{name}, {batch:?}: {lanes}");
                assert!(batch.is_some() || 10.0 < lanes, "{name}: {lanes} lanes a submission");
            }
        }
    }
}

#[test]
fn on_the_reference_device() {
    widths_of(&reference_backends());
}

#[test]
fn on_a_graphics_adapter() {
    widths_of(choosing_gpu().as_slice());
}

/// A device that is lost while trials of several cells are on it gives all of them to the CPU.
#[test]
fn a_lost_device_changes_no_byte() {
    let sweep = twelve_cells(7);
    let (data, expected) = (DataFolder::default(), ran_of(&sweep).bits());
    for after_rounds in [0, 1, 2, 55, 100] {
        let (backend, _) = replaced(Batched::new(Arc::new(ReferenceDevice::with_fault(Fault::LosesDevice { after_rounds }))));
        let found = run_all(&sweep, &data, &backend, Options::default()).expect("the CPU carries on");
        assert!(0 < found.counters.fallbacks);
        assert_eq!(found.bits(), expected, "{after_rounds}");
    }
}

/// A device that is the CPU, and whose screens leave it in their third round.
#[derive(Debug, Default)]
struct Leaving {
    /// Screens that have left and are not dropped, and the most of them at once.
    left: Arc<Mutex<(usize, usize)>>,
}

struct LeavingDomain {
    inner: Arc<dyn Domain>,
    left: Arc<Mutex<(usize, usize)>>,
}

struct LeavingScreen {
    inner: Box<dyn Screen>,
    rounds: usize,
    left: Arc<Mutex<(usize, usize)>>,
}

impl Backend for Leaving {
    fn name(&self) -> &'static str {
        "leaving"
    }

    fn adapter(&self) -> Option<String> {
        Some("the CPU".to_owned())
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, BackendError> {
        Ok(Arc::new(LeavingDomain { inner: Cpu::default().prepare(basis)?, left: Arc::clone(&self.left) }))
    }
}

impl Domain for LeavingDomain {
    fn batch(&self, update_kind: UpdateKind) -> usize {
        self.inner.batch(update_kind)
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        Box::new(LeavingScreen { inner: self.inner.open(n_trials), rounds: 0, left: Arc::clone(&self.left) })
    }

    fn lanes(&self, _: UpdateKind) -> Option<usize> {
        Some(1000)
    }
}

impl Screen for LeavingScreen {
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        self.rounds += 1;
        if self.rounds == 3 {
            let mut left = self.left.lock().expect("no panic");
            *left = (left.0 + 1, left.1.max(left.0 + 1));
        }
        self.inner.begin(trials)
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), BackendError> {
        self.inner.finish(trials, out)
    }

    fn is_on_device(&self) -> bool {
        self.rounds < 3
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }
}

impl Drop for LeavingScreen {
    fn drop(&mut self) {
        self.left.lock().expect("no panic").0 -= usize::from(3 <= self.rounds);
    }
}

/// Screens that have left a device, and take memory on the CPU, are at most as many as there are threads.
#[test]
fn screens_that_left_a_device_end_one_after_the_other() {
    let sweep = twelve_cells(40);
    let (data, expected) = (DataFolder::default(), ran_of(&sweep).bits());
    for threads in [1, 3] {
        let pool = thread_pool(Some(threads)).expect("threads");
        let backend = Leaving::default();
        let found = pool.install(|| run_all(&sweep, &data, &backend, Options::default())).expect("a run");
        assert_eq!(found.bits(), expected);
        let (left, most) = *backend.left.lock().expect("no panic");
        assert_eq!(left, 0);
        assert!((1..=threads).contains(&most), "{most} at once on {threads} threads");
    }
}
