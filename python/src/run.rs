//! Runs and audits, on a thread of their own, so that the interpreter goes on and Ctrl-C works.

use super::failure::{Phase, exception, named, of_class};
use super::guard::{RunGuard, UserFailure};
use super::spec::Sweep;
use privateer::audit::{AuditFile, RunsAudit, Settings, of_runs};
use privateer::run::{Plan, open_backend, with_hint};
use privateer::{Error, Notice, RunObserver, RunOptions, Share, Stop, ThreadSetup, run_to_folder};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks at signals and progress.
const EVERY: Duration = Duration::from_millis(50);
/// Longest that an interrupted run is waited for; then it ends in the background.
const GRACE: Duration = Duration::from_millis(100);

/// Process whose run is under way; 0 without one. In a fork of a running process it stays the other one's.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Whether the run under way was interrupted: it ends soon, and the next run waits for that.
static ENDING: AtomicBool = AtomicBool::new(false);

/// How the latest run is stopped.
static CURRENT: Mutex<Option<(Arc<Stop>, Arc<RunGuard>)>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<(Arc<Stop>, Arc<RunGuard>)>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses to compute in a process that was forked while a run was under way: threads of that run held locks that nobody opens.
pub fn refuse_fork(py: Python<'_>) -> PyResult<()> {
    match RUNNING.load(Ordering::Acquire) {
        running if running == 0 || running == std::process::id() => Ok(()),
        _ => {
            let text = "this process was forked while a run was under way, of which it has no threads\n\
                hint: start processes by `multiprocessing.get_context(\"spawn\")`, or fork between runs";
            Err(named(py, "RunError", text))
        }
    }
}

/// Marks a run as under way until it is dropped.
struct Turn;

impl Turn {
    /// Takes the turn; `None` while another run has it.
    fn take() -> Option<Self> {
        RUNNING.compare_exchange(0, std::process::id(), Ordering::AcqRel, Ordering::Acquire).ok()?;
        Some(Self)
    }

    /// Takes the turn, after an interrupted run has ended.
    fn wait(py: Python<'_>) -> PyResult<Self> {
        refuse_fork(py)?;
        loop {
            if let Some(turn) = Self::take() {
                ENDING.store(false, Ordering::Release);
                return Ok(turn);
            }
            if !ENDING.load(Ordering::Acquire) {
                let text = "a run is under way in this process\nhint: wait for it, or use another process";
                return Err(named(py, "RunError", text));
            }
            py.detach(|| std::thread::sleep(EVERY));
            py.check_signals()?;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        RUNNING.store(0, Ordering::Release);
    }
}

/// What a run reports, as its caller looks at it.
#[derive(Default)]
struct Progress {
    total: AtomicU64,
    done: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Progress {
    fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunObserver for Progress {
    fn progressed(&self, trial_rounds: u64) {
        self.done.fetch_add(trial_rounds, Ordering::Relaxed);
    }

    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Opened { folder, trial_rounds, .. } => {
                self.total.store(trial_rounds, Ordering::Relaxed);
                folder.altered.iter().chain(&folder.warnings).for_each(|warning| self.note(warning.clone()));
            }
            Notice::Misleading { lines } => lines.iter().for_each(|line| self.note(line.clone())),
            Notice::Withdrawn { n_blocks } => {
                self.note(format!("removed the {n_blocks} blocks that this run had finished on the device"));
            }
            Notice::BandViolations { n_points } => {
                self.note(format!("{n_points} points left their error band: please report this with the spec"));
            }
            _ => {}
        }
    }
}

/// Computes on a thread of its own; calls `progress(done, total)`, in trial-rounds, from this one.
fn in_background<T: Send + 'static>(
    py: Python<'_>,
    guard: &Arc<RunGuard>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Stop, &Progress, ThreadSetup) -> Result<T, Error> + Send + 'static,
) -> PyResult<(T, Vec<String>)> {
    let turn = Turn::wait(py)?;
    guard.begin();
    let (stop, seen) = (Arc::new(Stop::new()), Arc::new(Progress::default()));
    *current() = Some((Arc::clone(&stop), Arc::clone(guard)));
    let (sender, results) = channel();
    let (of_worker, seen_by_worker) = (Arc::clone(&stop), Arc::clone(&seen));
    std::thread::Builder::new().name("privateer".to_owned()).spawn(move || {
        // Held by each thread from before its start, so that one which starts late is waited for, too.
        let held = Arc::new(());
        let result = work(&of_worker, &seen_by_worker, registered(Arc::clone(&held)));
        // Threads that outlive the interpreter would abort the process.
        while 1 < Arc::strong_count(&held) {
            std::thread::sleep(Duration::from_micros(100));
        }
        drop(turn);
        // An interrupted caller no longer listens.
        drop(sender.send(result));
    })?;
    // The worker may drop its end at any time, and only one thread reads: a mutex makes the end shareable.
    let results = Mutex::new(results);
    let wait = |time| results.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    let interrupt = |error: PyErr| {
        ENDING.store(true, Ordering::Release);
        stop.ask();
        guard.stop();
        drop(py.detach(|| wait(GRACE)));
        error
    };
    let report = |progress: &Py<PyAny>| {
        let (done, total) = (seen.done.load(Ordering::Relaxed), seen.total.load(Ordering::Relaxed));
        progress.call1(py, (done, total)).map(drop)
    };
    let mut shown = Instant::now();
    let result = loop {
        match py.detach(|| wait(EVERY)) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(named(py, "RunError", "the run panicked\nhint: please report this"));
            }
            Err(RecvTimeoutError::Timeout) => py.check_signals().map_err(interrupt)?,
        }
        if let Some(progress) = progress.filter(|_| 4 * EVERY <= shown.elapsed()) {
            shown = Instant::now();
            report(progress).map_err(interrupt)?;
        }
    };
    let result = result.map_err(with_hint).map_err(|error| raised(py, guard, &error))?;
    if let Some(request) = guard.take_request_to_end() {
        return Err(request);
    }
    if let Some(UserFailure { message, exception: cause, .. }) = guard.take() {
        let problem = format!("code of your own failed in the last round: {message}");
        let failure = of_class(py, "PolicyError", &Error::Failed { problem, hint: "the results are kept".to_owned() });
        failure.set_cause(py, cause);
        return Err(failure);
    }
    // However short the run was, its caller hears of its end.
    if let Some(progress) = progress {
        report(progress)?;
    }
    Ok((result, seen.notes()))
}

/// Returns the exception for an error, which code of the user may have caused.
pub fn raised(py: Python<'_>, guard: &RunGuard, error: &Error) -> PyErr {
    if let Some(request) = guard.take_request_to_end() {
        return request;
    }
    let Some(user_failure) = guard.take() else {
        return exception(py, error, Phase::Running);
    };
    // The error of the run is of this failure, and names the policy's label, unless an environment or another thread failed, too.
    let is_of_it = !user_failure.of_environment && user_failure.is_only && matches!(error, Error::Failed { .. });
    let failure = if is_of_it {
        of_class(py, "PolicyError", error)
    } else {
        named(py, "PolicyError", &format!("{}\nhint: finished blocks of a run are kept", user_failure.located()))
    };
    failure.set_cause(py, user_failure.exception);
    failure
}

/// Registers each worker thread with the interpreter once.
///
/// Otherwise every call of a policy would register and forget it.
///
/// * `held` — dropped when the last of the threads has ended
fn registered(held: Arc<()>) -> ThreadSetup {
    ThreadSetup::around(move |work| {
        // The thread has a share of this closure, and so of `held`.
        let _: &Arc<()> = &held;
        if Python::try_attach(|py| py.detach(&mut *work)).is_none() {
            work();
        }
    })
}

/// Warns of a device that failed, on standard error.
fn warn(text: &str) {
    eprintln!("{text}");
}

/// Ends the run under way, if there is one; called at the exit of the interpreter.
#[pyfunction]
pub fn finish(py: Python<'_>) {
    if let Some((stop, guard)) = current().take() {
        stop.ask();
        guard.stop();
    }
    // What takes longer is between two looks at the request, and calls no Python.
    let until = Instant::now() + Duration::from_secs(2);
    while RUNNING.load(Ordering::Acquire) == std::process::id() && Instant::now() < until && py.check_signals().is_ok() {
        py.detach(|| std::thread::sleep(Duration::from_millis(1)));
    }
}

/// Deals the units of a sweep to tasks of about this many seconds of one thread.
///
/// Returns each task's units and seconds.
#[pyfunction]
#[pyo3(signature = (sweep, seconds, data=None))]
pub fn plan(py: Python<'_>, sweep: &Sweep, seconds: f64, data: Option<PathBuf>) -> PyResult<Vec<(String, f64)>> {
    let (data, plan) = (sweep.data(data), Arc::clone(&sweep.sweep));
    let (tasks, _) = in_background(py, &sweep.guard, None, move |stop, _, thread_setup| {
        let options = RunOptions { data, thread_setup, ..RunOptions::default() };
        let plan = Plan::of(&plan, &options, stop, &|_| ())?;
        let n_tasks = (plan.seconds() / seconds).ceil().clamp(1.0, plan.units.len().max(1) as f64);
        Ok(plan.deal(n_tasks as usize))
    })?;
    Ok(tasks.into_iter().map(|task| (task.units.to_string(), task.seconds)).collect())
}

/// Runs a sweep, or some of its units, into a folder, which may hold finished parts of it. Returns notes.
#[pyfunction]
#[pyo3(signature = (sweep, out, *, backend, threads=None, batch=None, data=None, progress=None, units=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of the Python function")]
pub fn run(
    py: Python<'_>,
    sweep: &Sweep,
    out: PathBuf,
    backend: String,
    threads: Option<usize>,
    batch: Option<usize>,
    data: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    units: Option<String>,
) -> PyResult<Vec<String>> {
    let share = match units {
        None => Share::All,
        Some(units) => {
            Share::Units(units.parse().map_err(|why| named(py, "SpecError", &format!("`{units}` is no list of units: {why}")))?)
        }
    };
    let (data, plan) = (sweep.data(data), Arc::clone(&sweep.sweep));
    let ((), notes) = in_background(py, &sweep.guard, progress.as_ref(), move |stop, seen, thread_setup| {
        let backend = open_backend(&backend, &plan, &data, (1.0, threads), true, warn)?.backend;
        let options = RunOptions { data, backend, threads, batch, share, thread_setup, ..RunOptions::default() };
        let folder = run_to_folder(&plan, &out, &options, stop, seen)?;
        folder.audit_error.map_or(Ok(()), Err)
    })?;
    Ok(notes)
}

/// Attacks every cell of a sweep that claims privacy; returns the findings as JSON.
#[pyfunction]
#[pyo3(signature = (sweep, *, backend, samples, seed, confidence, data=None))]
pub fn audit(
    py: Python<'_>,
    sweep: &Sweep,
    backend: String,
    samples: u64,
    seed: u64,
    confidence: f64,
    data: Option<PathBuf>,
) -> PyResult<String> {
    let (data, plan) = (sweep.data(data), Arc::clone(&sweep.sweep));
    let (text, _) = in_background(py, &sweep.guard, None, move |_, _, _| {
        let backend = open_backend(&backend, &plan, &data, (1.0, None), true, warn)?.backend;
        let settings = Settings { samples, seed, confidence };
        let RunsAudit { findings, passed_over } = of_runs(&plan, &data, backend.as_ref(), settings, &|_| ())?;
        let file = AuditFile { confidence, seed, findings, passed_over };
        serde_json::to_string(&file)
            .map_err(|error| Error::Failed { problem: format!("the audit: {error}"), hint: "please report this".to_owned() })
    })?;
    Ok(text)
}
