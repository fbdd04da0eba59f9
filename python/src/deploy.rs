//! Deployments, prices and the program itself, as functions: options arrive as dictionaries, results leave as Python objects.

use super::failure::{Phase, exception, named};
use super::guard::RunGuard;
use super::run::raised;
use super::spec::Sweep;
use privateer::config::error::Diagnostic;
use privateer::cost::{Asked, Asking, CostOptions, WrittenQuestion, write_question};
use privateer::deploy::{self, Note, RecordValue, Reward};
use privateer::privacy::Delta;
use privateer::report::Outcome;
use privateer::run::with_hint;
use privateer::{Error, Registry, Stop};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

/// A result with the notes of the function.
type Noted = (Py<PyAny>, Vec<String>);

/// Runs the command line on these arguments, the first of which is the program's name; returns the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| privateer::cli::main(arguments))
}

/// Calls a function of the library without the interpreter.
///
/// * `guard` — of the spec, whose classes may fail
pub fn called<T: Serialize + Send>(
    py: Python<'_>,
    guard: Option<&RunGuard>,
    work: impl FnOnce(Note<'_>) -> Result<T, Error> + Send,
) -> PyResult<Noted> {
    let (done, notes) = py.detach(|| {
        let notes = RefCell::new(Vec::new());
        let done = work(&|text| notes.borrow_mut().push(text.to_owned()));
        (done.map_err(with_hint), notes.into_inner())
    });
    let result = done.map_err(|error| match guard.filter(|guard| guard.message().is_some()) {
        Some(guard) => raised(py, guard, &error),
        None => exception(py, &error, Phase::Reading),
    })?;
    // Through JSON, whose infinite numbers are null as in files.
    let json = serde_json::to_value(result).map_err(|why| named(py, "RunError", &why.to_string()))?;
    Ok((pythonize(py, &json)?.unbind(), notes))
}

/// Reads options from a dictionary.
pub fn options<T: DeserializeOwned>(stated: &Bound<'_, PyAny>) -> PyResult<T> {
    depythonize(stated).map_err(|why| named(stated.py(), "SpecError", &why.to_string()))
}

/// What is priced.
#[derive(FromPyObject)]
pub enum Priced<'py> {
    Spec(Bound<'py, Sweep>),
    Named(String),
}

/// Prices a spec, or what has this name; returns the report, and the claims that do not hold.
#[pyfunction]
#[pyo3(signature = (what, stated, data=None))]
pub fn account(
    py: Python<'_>,
    what: Priced<'_>,
    stated: &Bound<'_, PyAny>,
    data: Option<PathBuf>,
) -> PyResult<(Py<PyAny>, Option<String>)> {
    let options: deploy::AccountOptions = options(stated)?;
    let mut broken = None;
    let checked = |report: deploy::AccountReport| {
        broken = report.broken_claims();
        report
    };
    let (report, _) = match what {
        Priced::Named(name) => called(py, None, |_| deploy::account(&name, &options).map(checked))?,
        Priced::Spec(spec) => {
            let spec = spec.get();
            let work = |_: Note<'_>| deploy::account_spec(&spec.sweep.name, &spec.sweep, &spec.data(data), &options).map(checked);
            called(py, Some(&spec.guard), work)?
        }
    };
    Ok((report, broken))
}

/// Releases columns of numbers, one list for each of the options' names; returns their ledger and notes.
#[pyfunction]
pub fn curate(py: Python<'_>, columns: Vec<Vec<f64>>, out: PathBuf, stated: &Bound<'_, PyAny>) -> PyResult<Noted> {
    let options: deploy::CurateOptions = options(stated)?;
    let read = |names: &[String]| {
        let rows = columns.first().map_or(0, Vec::len);
        if names.len() != columns.len() {
            let problem = Diagnostic::new(format!("{} columns of numbers have {} names", columns.len(), names.len()));
            return problem.expected("a name for each column").refuse();
        }
        for (name, column) in names.iter().zip(&columns) {
            if rows == 0 || column.len() != rows || column.iter().any(|value| !value.is_finite()) {
                let problem = Diagnostic::new(format!("column `{name}` has {} values, or one that is not finite", column.len()));
                return problem.expected(format!("{} finite numbers", rows.max(1))).refuse();
            }
        }
        Ok((0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect())
    };
    called(py, None, |note| deploy::curate(&out, &options, read, note))
}

/// Starts a session; returns None and notes.
#[pyfunction]
#[pyo3(signature = (state, spec, stated, data=None))]
pub fn init(
    py: Python<'_>,
    state: PathBuf,
    spec: &Bound<'_, Sweep>,
    stated: &Bound<'_, PyAny>,
    data: Option<PathBuf>,
) -> PyResult<Noted> {
    let (options, spec): (deploy::SessionOptions, _) = (options(stated)?, spec.get());
    let named = ("spec", spec.sweep.as_ref());
    called(py, Some(&spec.guard), |note| deploy::init(&state, named, &spec.data(data), &options, note))
}

/// Returns the row that a session wants observed next, or the best so far, and notes.
#[pyfunction]
pub fn ask(py: Python<'_>, state: PathBuf, best: bool, choice: &Bound<'_, PyAny>) -> PyResult<Noted> {
    let choice: deploy::SessionChoice = options(choice)?;
    called(py, None, |_| deploy::ask(&Registry::builtin(), &state, best, &choice))
}

/// A reward as it was observed, the sealed line of an answer, or the file that holds it.
#[derive(FromPyObject)]
pub enum ToldReward {
    Raw(f64),
    Sealed(String),
    Stored(PathBuf),
}

/// Tells a session a reward; returns what was released and notes.
#[pyfunction]
#[pyo3(signature = (state, row, reward, choice, *, yes=false, key=None))]
pub fn tell(
    py: Python<'_>,
    state: PathBuf,
    row: usize,
    reward: ToldReward,
    choice: &Bound<'_, PyAny>,
    yes: bool,
    key: Option<PathBuf>,
) -> PyResult<Noted> {
    let choice: deploy::SessionChoice = options(choice)?;
    called(py, None, |_| {
        let reward = match reward {
            ToldReward::Raw(value) => Reward::Raw { value, yes },
            ToldReward::Sealed(text) => deploy::received_text("the answer", text, key.as_deref())?,
            ToldReward::Stored(path) => deploy::received(&path.to_string_lossy(), key.as_deref())?,
        };
        deploy::tell(&Registry::builtin(), &state, (row, &reward), &choice)
    })
}

/// Releases a value of a record; returns the sealed line and notes.
#[pyfunction]
pub fn release(
    py: Python<'_>,
    state: PathBuf,
    record: (String, u64),
    value: f64,
    yes: bool,
    stated: &Bound<'_, PyAny>,
) -> PyResult<Noted> {
    let options: deploy::ReleaseOptions = options(stated)?;
    let record = RecordValue { record: record.0, round: record.1, value, yes };
    called(py, None, |note| deploy::release(&state, &record, &options, note))
}

/// Releases the values of a table, None where one is missing; returns the sealed lines, the refused records and notes.
#[pyfunction]
pub fn release_table(
    py: Python<'_>,
    state: PathBuf,
    names: Vec<String>,
    values: Vec<Option<f64>>,
    round: u64,
    yes: bool,
    stated: &Bound<'_, PyAny>,
) -> PyResult<Noted> {
    let options: deploy::ReleaseOptions = options(stated)?;
    let missing = || "its value is missing, or is not a number".to_owned();
    let rows: Vec<_> = names.into_iter().zip(values.into_iter().map(|value| value.ok_or_else(missing))).collect();
    called(py, None, |note| deploy::release_table(&state, &rows, (round, yes), &options, note))
}

/// Takes people in and lets people go; returns how many of each, and notes.
#[pyfunction]
#[pyo3(signature = (state, join, leave, key=None))]
pub fn people(py: Python<'_>, state: PathBuf, join: Vec<String>, leave: Vec<String>, key: Option<PathBuf>) -> PyResult<Noted> {
    called(py, None, |_| deploy::people(&state, &join, &leave, key.as_deref()))
}

/// Writes the books of a deployment as a page or, where the name ends with `.csv`, its answers; returns None and notes.
#[pyfunction]
#[pyo3(signature = (state, out, delta=None))]
pub fn books(py: Python<'_>, state: PathBuf, out: PathBuf, delta: Option<f64>) -> PyResult<Noted> {
    let delta = read_delta(py, delta)?;
    called(py, None, |_| {
        if out.extension().is_some_and(|kind| kind == "csv") {
            deploy::write_csv(&state, &out)
        } else {
            deploy::write_page(&state, &out, delta)
        }
    })
}

fn read_delta(py: Python<'_>, delta: Option<f64>) -> PyResult<Option<Delta>> {
    delta
        .map(Delta::try_from)
        .transpose()
        .map_err(|why| named(py, "SpecError", &format!("delta is {}\nexpected a number above 0 and below 1", why.value)))
}

/// Returns what each record has spent by the files of deployments, and notes.
#[pyfunction]
#[pyo3(signature = (files, delta=None))]
pub fn ledger(py: Python<'_>, files: Vec<PathBuf>, delta: Option<f64>) -> PyResult<Noted> {
    let delta = read_delta(py, delta)?;
    called(py, None, |note| deploy::ledger(&files, None, delta, note))
}

/// Asks what privacy costs; returns the answer and notes.
#[pyfunction]
pub fn cost(py: Python<'_>, stated: &Bound<'_, PyAny>) -> PyResult<Noted> {
    asked(py, Asked::Cost, stated, WrittenQuestion::answer)
}

/// Asks which policy is best; returns the answer and notes.
#[pyfunction]
pub fn best(py: Python<'_>, stated: &Bound<'_, PyAny>) -> PyResult<Noted> {
    asked(py, Asked::Best, stated, WrittenQuestion::best)
}

fn asked<T: Serialize + Send>(
    py: Python<'_>,
    asked: Asked,
    stated: &Bound<'_, PyAny>,
    answer: fn(&WrittenQuestion, &Outcome) -> T,
) -> PyResult<Noted> {
    let options: CostOptions = options(stated)?;
    called(py, None, |_| {
        let data = options.problem.data(None);
        let asking = Asking { computed: &|| (), played: &|_| (), note: &|_| (), stop: &Stop::new() };
        let written = write_question(&Registry::builtin(), asked, &options, data, asking)?;
        Ok(answer(&written, &written.run(options.problem.threads, &Stop::new(), &())?))
    })
}

/// Joins the folders of shares into one with a report; returns None and notes.
#[pyfunction]
pub fn merge(py: Python<'_>, folders: Vec<PathBuf>, out: PathBuf) -> PyResult<Noted> {
    called(py, None, |_| {
        privateer::record::merge(&folders, &out)?;
        privateer::report::write_report(&out, &|_| ()).map(drop)
    })
}
