//! Gives out the inputs of a table, by row, with exact noise from the operating system.

use super::books::Paid;
use super::columns::Column;
use super::deployment::{refuse_other_rows, refused};
use super::file::{DeploymentFile, Side};
use super::notes::{Note, say_removed};
use super::odometer::refuse_large_delta;
use super::options::OccasionOptions;
use super::release::failed;
use privateer_config::error::{Diagnostic, Error, is_unprintable};
use privateer_config::input::Input;
use privateer_engine::env::CuratedLedger;
use privateer_privacy::odometer::SpentRecords;
use privateer_privacy::planted::{self, PlantedFault};
use privateer_privacy::release::{MOST_BOUND, RowsRelease};
use privateer_privacy::{Delta, Epsilon, Raw};
use privateer_results::record::{Leftover, PreparedFile, hash_bytes, once_free, remove_file, remove_leftovers_of, unfinished_of};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The terms of a release of rows, as the options of `privateer curate` state them.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct CurateOptions {
    /// The input columns, in this order.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub columns: Vec<String>,
    /// Privacy loss of one row
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "E"))]
    pub epsilon: f64,
    /// Failure probability, well below one over the number of rows
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "D"))]
    pub delta: f64,
    /// Neighbours differ in one row by at most this (L2, in released units); twice the bound protects the whole row
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "R"))]
    pub radius: f64,
    /// Public bound on the L2 norm of a row (in released units); longer rows are moved to it
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "B", required_unless_present = "public"))]
    pub bound: Option<f64>,
    /// Public numbers taken from the columns first; never the data's own means [default: zeros]
    #[cfg_attr(feature = "cli", arg(long, allow_hyphen_values = true, value_name = "NUMBERS", value_delimiter = ','))]
    pub centre: Vec<f64>,
    /// Public numbers that the columns are divided by after that, such as length-scales [default: ones]
    #[cfg_attr(feature = "cli", arg(long, allow_hyphen_values = true, value_name = "NUMBERS", value_delimiter = ','))]
    pub scales: Vec<f64>,
    /// A JSON file that its publisher declares public, with `source`, `bound`, and perhaps `centre` and `scales`, instead of the
    /// options of these names; its digest is recorded
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE.json", conflicts_with_all = ["bound", "centre", "scales"]))]
    pub public: Option<PathBuf>,
    /// Accept a delta of at least one over the number of rows
    #[cfg_attr(feature = "cli", arg(long))]
    pub allow_large_delta: bool,
    /// An odometer that `privateer odometer` made: the release spends from its budget of every record
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub odometer: Option<PathBuf>,
    /// Release this many numbers per row behind a public random projection, at most one per column: less noise on each [default:
    /// none]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COLUMNS"))]
    pub projection: Option<usize>,
    /// Seed of the projection: public, written to the ledger, and chosen without a look at the data
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "N", default_value_t = privateer_privacy::curator::PUBLIC_SEED, requires = "projection")
    )]
    pub projection_seed: u64,
    /// When and by whom the answer is made.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub occasion: OccasionOptions,
}

/// Releases the inputs of a table by row to `out`, with exact noise, and their ledger beside it.
///
/// * `read` — reads the columns of these names, row by row; called once the options are good
///
/// # Errors
/// Bad options or data; a file that is there already; no entropy.
pub fn curate(
    out: &Path,
    options: &CurateOptions,
    read: impl FnOnce(&[String]) -> Result<Vec<f64>, Error>,
    note: Note<'_>,
) -> Result<CuratedLedger, Error> {
    let epsilon = Epsilon::try_from(options.epsilon).map_err(|bad| wrong("--epsilon", bad.value, "a finite number > 0"))?;
    let delta = Delta::try_from(options.delta).map_err(|bad| wrong("--delta", bad.value, "a number > 0 and < 1"))?;
    let numbers = PublicFile::of(options)?;
    let bound = numbers.bound;
    for (name, value) in [("--radius", options.radius), ("--bound", bound)] {
        if !(value.is_finite() && 0.0 < value) {
            return Err(wrong(name, value, "a finite number > 0, in released units"));
        }
    }
    if MOST_BOUND * options.radius < bound {
        return refuse(
            &format!("`--bound` {bound} is {:e} times `--radius` {}", bound / options.radius, options.radius),
            &format!("a bound of at most {MOST_BOUND:e} times the radius"),
            "noise is of the size of the radius, and numbers of the size of the bound do not hold it: lower the bound, or scale the columns",
        );
    }
    let columns = &options.columns;
    let d = columns.len();
    let centre = public("--centre", &numbers.centre, d, 0.0, f64::is_finite)?;
    let scales = public("--scales", &numbers.scales, d, 1.0, |scale| scale.is_finite() && 0.0 < scale)?;
    for (at, name) in columns.iter().enumerate() {
        if columns[..at].contains(name) {
            return refuse(&format!("column `{name}` is named twice"), "each column once", "drop one of the two");
        }
    }
    if let Some(name) = columns.iter().find(|name| name.starts_with(['=', '+', '-', '@']) || name.contains(is_unprintable)) {
        return refuse(
            &format!("column `{name}` has a name that a spreadsheet would take for a formula"),
            "a name that begins with a letter",
            "rename the column: its name is released with the inputs",
        );
    }
    let ledger_path = beside(out);
    once_free(Duration::ZERO, || clear_interrupted(out, &ledger_path, note))?;
    let refuse_existing = || {
        let taken = [out, ledger_path.as_path()].into_iter().find(|path| path.symlink_metadata().is_ok());
        taken.map_or(Ok(()), |path| Err(already(path)))
    };
    refuse_existing()?;
    let radius = if planted::is(PlantedFault::RadiusOverScale) { options.radius / scales[0] } else { options.radius };
    let mechanism = match options.projection {
        None => RowsRelease::calibrated(epsilon, delta, radius, bound, d),
        Some(columns) if (1..=d).contains(&columns) => {
            RowsRelease::projected((epsilon, delta), radius, bound, d, (columns, options.projection_seed))
        }
        Some(columns) => {
            let expected = format!("1 to {d}: a projection gives fewer numbers than a row has");
            return refuse(&format!("`--projection` is {columns}"), &expected, "drop it to give out every column");
        }
    }
    .map_err(|why| failed(&why))?;
    let mut values = read(columns)?;
    let rows = values.len() / d.max(1);
    refuse_large_delta(delta.get(), rows as u64, options.allow_large_delta)?;
    warn_of_columns(columns, &values, rows, note);
    if 1.0 / rows as f64 <= delta.get() {
        // Allowed on the command line.
        note(&format!(
            "warning: delta = {} is not below one over the number of rows ({}): such a promise allows a row to be given out as it is\n\
             hint: state a delta far below {:e}",
            delta.get(),
            rows,
            1.0 / rows as f64
        ));
    }
    for row in values.chunks_exact_mut(d) {
        for (value, (centre, scale)) in row.iter_mut().zip(centre.iter().zip(&scales)) {
            *value = (*value - centre) / scale;
        }
    }
    let (sigma, projection) = (mechanism.sigma(), mechanism.projection().cloned());
    let released = mechanism.release(Raw::seal(values)).map_err(|why| failed(&why))?;
    // Columns of a projection are no columns of the table.
    let numbered: Vec<String> = (1..=projection.as_ref().map_or(0, |map| map.columns)).map(|at| format!("z{at}")).collect();
    let names: Vec<&str> = if numbered.is_empty() { columns } else { &numbered }.iter().map(String::as_str).collect();
    let (ledger, text) = CuratedLedger::with_released_inputs(&released.rows, &names, options.radius, bound, sigma);
    let public = Some(numbers.source);
    let ledger = CuratedLedger { sources: columns.clone(), centre, scales, projection, public, ..ledger }.sealed();
    let stated = format!("{:#}\n", serde_json::json!(ledger));
    // A budget is spent when both files are on the disk under temporary names: a path that cannot be written costs nothing.
    let pay = || {
        let Some(path) = &options.odometer else { return Ok(None) };
        let file = DeploymentFile::open(path)?;
        file.begin()?;
        // To the end: of several commands at once, those that come late have spent nothing. Whoever still waits holds nothing.
        file.hold()?;
        refuse_existing()?;
        spend(&file, options, &ledger)?;
        Ok(Some(file))
    };
    publish((out, text.as_bytes()), (&ledger_path, stated.as_bytes()), pay, note)?;
    note(&format!(
        "{} of {rows} rows were longer than the bound {bound} and were moved to it (a number about the raw data: do not publish it)",
        released.moved
    ));
    if rows < 2 * released.moved {
        note(
            "warning: most rows were moved to the bound: their released inputs tell directions alone\n\
             hint: were `--centre` and `--scales` given in the units of the columns? A larger public `--bound` keeps more of a row",
        );
    }
    let whole = if 2.0 * bound <= options.radius { ": whole rows" } else { "" };
    note(&format!(
        "released {rows} rows of {} numbers with noise {sigma:.4} in each, for (epsilon, delta) = ({}, {}) at radius {}{whole}\n\
         released inputs: {}\nledger: {}",
        names.len(),
        epsilon.get(),
        delta.get(),
        options.radius,
        out.display(),
        ledger_path.display()
    ));
    note("not protected: outputs, which rows are asked for, number and order of the rows");
    Ok(ledger)
}

/// The numbers that are public on the curator's word or on that of a file's publisher.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicFile {
    /// Who declares them public, for the ledger.
    source: String,
    bound: f64,
    #[serde(default)]
    centre: Vec<f64>,
    #[serde(default)]
    scales: Vec<f64>,
}

impl PublicFile {
    fn of(args: &CurateOptions) -> Result<Self, Error> {
        let Some(path) = &args.public else {
            let source = "bound, radius, centre and scales are declared public by the curator, on the command line".to_owned();
            let (centre, scales) = (args.centre.clone(), args.scales.clone());
            return Ok(Self { bound: args.bound.unwrap_or(f64::NAN), centre, scales, source });
        };
        let text = Input::small("file of public numbers", "JSON, as `privateer curate --help` shows").read_text(path)?;
        let file: Self = serde_json::from_str(&text).map_err(|why| {
            let expected = "JSON, as in {\"source\": \"WHO growth standards 2006\", \"bound\": 3, \"centre\": [50, 5], \"scales\": [15, 2.5]}";
            Diagnostic::new(format!("`{}` is not a file of public numbers ({why})", path.display())).expected(expected).error()
        })?;
        if file.source.trim().is_empty() {
            return refuse(
                &format!("`{}` names no source", path.display()),
                "`source`: who published the numbers, and where",
                "numbers that were taken from the protected table itself are not public",
            );
        }
        let digest = hash_bytes(text.as_bytes());
        let source = format!("declared public by a file: {} (SHA-256 {digest}); the radius on the command line", file.source);
        Ok(Self { source, ..file })
    }
}

/// Takes a release from the budget of every record, on the disk before anything is given out.
fn spend(file: &DeploymentFile, options: &CurateOptions, ledger: &CuratedLedger) -> Result<(), Error> {
    let terms = file.stated_budget(Side::Own)?;
    refuse_other_rows(file.path(), terms.rows, Some(ledger.rows))?;
    let Some((column, name)) = Column::of_table(ledger) else {
        return refuse("the release states no loss that can be added up", "a release of rows", "release without `--odometer`");
    };
    let occasion = options.occasion.of("curate")?.after(file, Side::Own)?;
    let period = file.period(&terms, occasion.time)?;
    let columns = file.columns(Side::Own)?;
    let account = file.account(Side::Own, (&terms, &columns), None, Some(period))?;
    column.spend.iter().try_for_each(|spend| account.check(spend)).map_err(refused)?;
    let column = file.add_column(Side::Own, &column, None::<&()>)?;
    file.pay(Side::Own, &Paid { column, record: SpentRecords::All, name: Some(name), kept: None }, &occasion, period)?;
    file.commit()
}

const SPENT_AGAIN: &str = "a second release of the same data spends the budget again, and both together are less private: \
                           name another file if that is meant";

/// Puts both files in their places, where nothing may be yet.
///
/// The released inputs are finished under a temporary name before the ledger is published, and published last: released inputs without a ledger would be of
/// no use. A command that is killed between the two leaves the ledger and the unpublished released inputs, which [`clear_interrupted`] recognises.
///
/// * `spend` — called once both files are written, before either is published; the odometer that it spent from stays locked
fn publish(
    (out, released_inputs): (&Path, &[u8]),
    (ledger_path, ledger): (&Path, &[u8]),
    spend: impl FnOnce() -> Result<Option<DeploymentFile>, Error>,
    note: Note<'_>,
) -> Result<(), Error> {
    let released_inputs = PreparedFile::write(out, released_inputs, "write the released inputs", false)?;
    let ledger = PreparedFile::write(ledger_path, ledger, "write the ledger", false)?;
    let spent_from = spend()?;
    let published = ledger.publish_new(SPENT_AGAIN).and_then(|()| {
        released_inputs.publish_new(SPENT_AGAIN).inspect_err(|_| {
            // No released inputs were given out: the ledger must not say that they were.
            let _ = remove_file(ledger_path, "remove the ledger");
        })
    });
    published.inspect_err(|_| {
        if spent_from.is_some() {
            note("the spend is recorded in the odometer and counts; nothing was released");
        }
    })
}

/// Destroys what a killed `curate` left of a release that was not made, and says so.
fn clear_interrupted(out: &Path, ledger_path: &Path, note: Note<'_>) -> Result<(), Error> {
    let found = || [out, ledger_path].map(|path| path.symlink_metadata().is_ok());
    // The leftovers are held to the end: of two commands that find them, one alone destroys the release and its ledger.
    let ([is_published, has_ledger], mut unpublished) = loop {
        let before = found();
        let unpublished = unfinished_of(out)?;
        // Otherwise another command published or destroyed something meanwhile.
        if found() == before {
            break (before, unpublished);
        }
    };
    if !is_published && unpublished.in_use {
        return Err(Error::InUse {
            path: out.to_owned(),
            holder: "another command",
            hint: format!(
                "then check whether `{}` was released; if no command is at work, remove `.privateer-*.tmp` beside it",
                out.display()
            ),
        });
    }
    if !is_published && has_ledger {
        let ledger = CuratedLedger::read(ledger_path)?;
        let contents = unpublished.leftovers.iter().map(Leftover::read).collect::<Result<Vec<_>, _>>()?;
        let Some(at) = contents.iter().position(|released_inputs| hash_bytes(released_inputs) == ledger.sha256) else {
            let problem = format!("is there without its released inputs `{}`", out.display());
            let hint = "if the released inputs were moved, name another file; if they were never published, delete the ledger";
            return Err(Error::folder(ledger_path, problem, format!("{hint}; {SPENT_AGAIN}")));
        };
        if !unpublished.leftovers[at].withdraw()? {
            return Err(already(out));
        }
        // Before the released inputs: while they are there, this command can be interrupted and run again.
        remove_file(ledger_path, "remove the ledger")?;
        note(&format!("removed `{}`: its release was interrupted before any inputs were released", ledger_path.display()));
    }
    let n_unpublished = unpublished.leftovers.len();
    unpublished.leftovers.into_iter().try_for_each(Leftover::remove)?;
    say_removed(n_unpublished + remove_leftovers_of(ledger_path)?, note);
    Ok(())
}

fn already(path: &Path) -> Error {
    Error::folder(path, "is there already", SPENT_AGAIN)
}

fn beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".ledger.json");
    out.with_file_name(name)
}

/// Warns the curator, and nobody else, of columns that cannot help a modeler.
fn warn_of_columns(names: &[String], values: &[f64], rows: usize, note: Note<'_>) {
    let d = names.len();
    let column = |j: usize| values.iter().skip(j).step_by(d);
    for (j, name) in names.iter().enumerate() {
        if column(j).all(|x| Some(x) == column(j).next()) && 1 < rows {
            note(&format!(
                "warning: column `{name}` is constant: its released inputs are noise alone\nhint: leave it out of `--columns`"
            ));
        } else if let Some(equal) = (0..j).find(|&i| column(i).eq(column(j))) {
            note(&format!(
                "warning: columns `{}` and `{name}` are the same: both count in the norm of a row\nhint: leave one out of `--columns`",
                names[equal]
            ));
        }
    }
    if rows == 1 {
        note("warning: the table has one row: there is nothing to choose between");
    }
}

fn public(name: &str, given: &[f64], d: usize, default: f64, fits: impl Fn(f64) -> bool) -> Result<Vec<f64>, Error> {
    if given.is_empty() {
        return Ok(vec![default; d]);
    }
    if given.len() != d {
        let found = format!("`{name}` has {} numbers for {d} columns", given.len());
        return refuse(&found, &format!("{d} numbers with commas between"), "one number for each of `--columns`, in their order");
    }
    match given.iter().find(|&&x| !fits(x)) {
        Some(&bad) => Err(wrong(name, bad, "finite numbers; scales above 0")),
        None => Ok(given.to_vec()),
    }
}

fn refuse<T>(problem: &str, expected: &str, hint: &str) -> Result<T, Error> {
    Diagnostic::new(problem).expected(expected).hint(hint).refuse()
}

fn wrong(name: &str, value: f64, expected: &str) -> Error {
    Diagnostic::new(format!("`{name}` is {value}")).expected(expected).error()
}
