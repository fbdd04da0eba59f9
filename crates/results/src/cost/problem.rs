//! States a problem as the `[environment]` of a spec: a table's points, a table's arms, a known function, or that of another spec.

use super::Trust;
use super::columns::{ChosenColumns, listed};
use super::notes::{code_note, noise_note, outlier_note};
use crate::fit::{FittedHyperparameters, LikelihoodForm, TableQuestion, draw_rows, fit, quoted, short};
use crate::record::write_whole;
use clap::{ArgGroup, Args};
use privateer_config::error::{Diagnostic, Error, suggestion};
use privateer_engine::env::csv_table::{ColumnCard, CsvOptions, outlier, read_table};
use privateer_engine::env::{BuildContext, DataFolder, Replicates};
use privateer_engine::registry::{Registry, documentation};
use privateer_engine::spec::{Sweep, Task};
use privateer_gp::Points;
use privateer_numerics::rng::Streams;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Most rows from which a kernel is fitted.
const FITTED_ROWS: usize = 300;

/// Most readings of a table of arms that are kept.
const ARM_ROWS: usize = 10_000;

/// Least variance of the noise, as a share of the values' variance, which is 1 in units of the fit.
const LEAST_NOISE_SHARE: f64 = 1e-3;

/// Most names of columns in a line.
const MOST_NAMES: usize = 12;

/// Standard deviation of the noise on a known function, as a share of that of its values.
const NOISE_SHARE: f64 = 0.1;

/// The ridge of a model of rewards with a mechanism's noise.
const MECHANISM_RIDGE: &str = "\"mechanism\"   # variance of the noise of rewards and mechanism";

/// Name of the table that is written beside the spec.
pub(super) const POINTS_NAME: &str = "points.csv";

/// The problem of a question: one of `table`, `arms`, `function` and `spec`, and where its answer goes.
///
/// Options of `privateer cost` and `best` state it.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[command(group(ArgGroup::new("problem").required(true).args(["table", "function", "arms", "spec"])))]
pub struct ProblemOptions {
    /// A table of points with a value each: CSV (plain or .gz, with a header) or Parquet
    #[arg(value_name = "TABLE")]
    pub table: Option<PathBuf>,
    /// The column that is the reward
    #[arg(long, value_name = "COLUMN", requires = "table")]
    pub value: Option<String>,
    /// The input columns; the columns of numbers, at most ten, where none is named.
    #[arg(skip)]
    #[serde(default)]
    pub inputs: Vec<String>,
    /// A known function, such as `branin`, in place of a table
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// Number of coordinates of a function that leaves it open
    #[arg(long, value_name = "D", requires = "function")]
    pub dimension: Option<usize>,
    /// A table whose columns are arms and whose rows are readings
    #[arg(long, value_name = "TABLE")]
    pub arms: Option<PathBuf>,
    /// A spec whose `[environment]` is the problem
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// The range to which rewards are clipped, known beforehand [default: that of the table]
    #[arg(long, value_name = "LO,HI", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(default)]
    pub range: Vec<f64>,
    /// Who sees raw rewards
    #[arg(long, value_enum, value_name = "WHO", default_value = "local")]
    pub trust: Trust,
    /// Most points; more rows are drawn at random [default: 1000; fewer where 1000 users may take a minute or more]
    #[arg(long, value_name = "N")]
    pub points: Option<u64>,
    /// Seed of points and trials
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Folder of spec, points and results; `out/NAME-COMMAND-TRUST` if absent.
    #[arg(skip)]
    pub out: Option<PathBuf>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

impl ProblemOptions {
    /// Returns where the data files of the stated spec are.
    ///
    /// * `stated` — the folder that they are in, if it is stated
    pub fn data(&self, stated: Option<PathBuf>) -> DataFolder {
        let own = self.spec.as_deref().map(|spec| spec.parent().unwrap_or(Path::new("")).to_owned());
        DataFolder::of_spec(stated, own.into_iter().collect())
    }
}

/// Holds a problem as a spec states it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostProblem {
    /// Lines of `[environment]`, after that line.
    pub environment: Vec<String>,
    /// Range to which rewards are clipped, in units of the rewards or of the file; `None`: the mechanism's own.
    pub clip: Option<[f64; 2]>,
    /// Where the clip comes from.
    pub clip_is: String,
    /// Ridge of models of single rewards, as TOML.
    pub ridge: String,
    /// Variance of the noise, as a ridge for models of sums.
    pub noise_variance: Option<f64>,
    /// Features for a server's sums, as TOML.
    pub features: String,
    /// Whether points are arms without coordinates.
    pub is_arms: bool,
    pub n_points: usize,
    /// What was understood of the files, and what it costs, a line each.
    pub notes: Vec<String>,
}

/// Reads a table, draws its points, writes them into the folder, and fits kernel and noise to them.
///
/// * `range` — to which rewards are clipped, known beforehand; `None`: that of the table
/// * `points` — largest number of points
/// * `computed` — called after each likelihood
pub fn of_table(
    file: &Path,
    range: Option<[f64; 2]>,
    options: &ProblemOptions,
    points: u64,
    folder: &Path,
    computed: impl Fn(),
) -> Result<CostProblem, Error> {
    let columns = ChosenColumns::of(file, options.value.as_deref(), &options.inputs)?;
    let (value, seed) = (options.value.clone().unwrap_or_default(), options.seed);
    let names: Vec<String> = columns.inputs.iter().chain([&value]).cloned().collect();
    let width = names.len();
    let stated = CsvOptions { columns: Some(names.clone()), header: Some(true), drops_missing: true, ..CsvOptions::default() };
    let mut table = read_table(file, &stated)?;
    // One point for equal inputs, and the same points for any order of the rows.
    let replicates = Replicates::sort(&mut table, width - 1);
    let values: Vec<f64> = (0..table.rows).map(|row| table.row(row)[width - 1]).collect();
    let of_point = |(&row, mean): (&usize, f64)| [&table.row(row)[..width - 1], &[mean]].concat();
    let mut rows: Vec<Vec<f64>> = replicates.first_rows().iter().zip(replicates.means(&values)).map(of_point).collect();
    let (all, dropped) = (rows.len(), table.dropped_rows.len());
    let clip = Clip::of(values.iter().copied(), range, &format!("`{value}`"))?;
    let [least, most] = clip.values;
    draw_rows(&mut rows, points as usize, seed, "cost");
    if rows.iter().all(|row| row[width - 1] == rows[0][width - 1]) && least < most {
        let is_whole = rows.len() == all;
        let message = if is_whole {
            format!("the mean of `{value}` is the same at all {all} distinct inputs: nothing can be learnt")
        } else {
            format!("`{value}` is constant in the {} points that were drawn of {all}", rows.len())
        };
        let hint =
            if is_whole { "choose other inputs with `--inputs`" } else { "take more with `--points`, or others with `--seed`" };
        return Diagnostic::new(message).hint(hint).refuse();
    }
    let path = folder.join(POINTS_NAME);
    write_rows(&path, &names, &rows)?;
    let fit = TableQuestion {
        file: path,
        inputs: columns.inputs.clone(),
        value: value.clone(),
        log: false,
        raw: false,
        per_coordinate: false,
        form: LikelihoodForm::SquaredExponential,
        drops_missing: false,
        subsample: FITTED_ROWS,
        seed,
    };
    let mut fitted = fit.fit(computed)?;
    let mean = rows.iter().map(|row| row[width - 1]).sum::<f64>() / rows.len() as f64;
    let variance = rows.iter().map(|row| (row[width - 1] - mean) * (row[width - 1] - mean)).sum::<f64>() / rows.len() as f64;
    let scatter = replicates.scatter(&values).filter(|&scatter| 0.0 < scatter);
    // Fitted to few rows in many columns, a kernel explains everything, noise included; the values of equal inputs tell it.
    let least_noise = scatter.map_or(0.0, |scatter| scatter * scatter / variance).max(LEAST_NOISE_SHARE);
    fitted.found.noise_variance = fitted.found.noise_variance.max(least_noise);
    let mut notes = vec![format!("{}: {} rows; value `{value}`, from {least} to {most}", file.display(), columns.rows)];
    notes.push(format!("inputs: {}", columns.inputs.join(", ")));
    notes.extend(columns.left_out.iter().map(|(reason, names)| format!("left out: {}: {reason}", listed(names, MOST_NAMES))));
    if 0 < dropped {
        let rows = if dropped == 1 { "1 row is" } else { &format!("{dropped} rows are") };
        notes.push(format!("{rows} left out for a missing number"));
    }
    if let Some(scatter) = scatter {
        notes.push(format!(
            "{} rows have {all} distinct inputs: a point of several rows has their mean for its value, and their scatter, {}, is noise",
            table.rows,
            short(scatter)
        ));
    }
    if rows.len() < all {
        notes.push(format!(
            "points: {} of {all} distinct inputs, drawn at random (seed {seed}); `--points` takes more",
            rows.len()
        ));
    } else {
        notes.push(format!("points: {all} distinct inputs"));
    }
    let drawn: Vec<f64> = rows.iter().map(|row| row[width - 1]).collect();
    notes.extend(outlier(&drawn).map(|(at, share)| {
        let is_same = |&&row: &&usize| table.row(row)[..width - 1] == rows[at][..width - 1];
        let row = replicates.first_rows().iter().find(is_same).map_or(at, |&row| replicates.row_in_file(row));
        outlier_note(&format!("row {} of {}, `{value}` {}", row + 1, file.display(), drawn[at]), share)
    }));
    notes.extend(code_note(&value, &values));
    notes.push(noise_note(&value, fitted.found.noise_variance, variance));
    notes.push(clip.note.clone());
    let bound = [clip.range[0].min(least), clip.range[1].max(most)];
    let mut environment = fitted.environment(&fit, POINTS_NAME, bound);
    environment.push(
        "# Taken from the table, which costs nothing in a simulation: a deployment has to know them beforehand.\n\
         public = [\"standardisation\", \"hyperparameters\", \"range\"]"
            .to_owned(),
    );
    Ok(CostProblem {
        environment,
        clip: Some(clip.range),
        clip_is: clip.origin.to_owned(),
        ridge: MECHANISM_RIDGE.to_owned(),
        noise_variance: Some(fitted.found.noise_variance),
        features: features(columns.inputs.len()),
        n_points: rows.len(),
        notes,
        ..CostProblem::default()
    })
}

/// Reads a table whose columns are arms and whose rows are readings.
pub fn of_arms(file: &Path, range: Option<[f64; 2]>, seed: u64, folder: &Path) -> Result<CostProblem, Error> {
    let cards = ColumnCard::read(file)?;
    let (arms, others): (Vec<&ColumnCard>, Vec<&ColumnCard>) =
        cards.iter().partition(|card| card.texts == 0 && card.spread().is_some_and(|spread| 0.0 < spread.deviation));
    if arms.len() < 2 {
        let message = format!("`{}` has fewer than two columns of numbers that differ", file.display());
        return Diagnostic::new(message).expected("a table with a column for each arm and a row for each reading").refuse();
    }
    let names: Vec<String> = arms.iter().map(|card| card.name.clone()).collect();
    let options = CsvOptions { columns: Some(names.clone()), drops_missing: true, ..CsvOptions::default() };
    let table = read_table(file, &options)?;
    let mut rows: Vec<Vec<f64>> = table.values.chunks_exact(names.len()).map(<[f64]>::to_vec).collect();
    let all = rows.len();
    draw_rows(&mut rows, ARM_ROWS, seed, "cost");
    let clip = Clip::of(rows.iter().flatten().copied(), range, "a reading")?;
    let [least, most] = clip.values;
    write_rows(&folder.join(POINTS_NAME), &names, &rows)?;
    let mut notes = vec![format!("{}: {} arms, readings from {least} to {most}", file.display(), arms.len())];
    notes.push(clip.note.clone());
    notes.push(format!("readings: {} of {all} rows without a missing number", rows.len()));
    notes.extend(others.iter().map(|card| format!("left out: {}: no numbers, or constant", card.name)));
    Ok(CostProblem {
        environment: vec![
            format!("kind = \"arms-table\"\ntrain = {0}\ntest = {0}\nheader = \"yes\"", quoted(POINTS_NAME)),
            "# Taken from the readings, which costs nothing in a simulation: a deployment has to know them beforehand.\n\
             public = [\"covariance\", \"moments\", \"range\"]"
                .to_owned(),
        ],
        clip: Some(clip.range),
        clip_is: clip.origin.to_owned(),
        // Rewards are in the file's units, and covariances of standardised readings.
        ridge: "1.0".to_owned(),
        is_arms: true,
        n_points: arms.len(),
        notes,
        ..CostProblem::default()
    })
}

/// Draws points of a known function, and fits a kernel to its values there.
pub fn of_function(
    kind: &str,
    options: &ProblemOptions,
    points: u64,
    registry: &Registry,
    computed: impl Fn(),
) -> Result<CostProblem, Error> {
    let &ProblemOptions { dimension, seed, .. } = options;
    let known: Vec<&str> = documentation(registry, "environment")
        .into_iter()
        .filter(|kind| kind.keys.iter().any(|key| key.path == "variant"))
        .map(|kind| kind.name)
        .collect();
    if !known.contains(&kind) {
        let problem = Diagnostic::new(format!("there is no function `{kind}`")).expected(format!("one of {}", known.join(", ")));
        return Diagnostic { hint: suggestion(kind, known.iter().copied()), ..problem }.refuse();
    }
    let with = |kernel: &str, noise: &str| {
        let mut lines = vec![format!("kind = {}", quoted(kind))];
        lines.extend(dimension.map(|dimension| format!("dimension = {dimension}")));
        lines.push(format!("domain = {{ kind = \"random\", points = {points} }}\noutput = \"unit\"           # from 0 to 1"));
        lines.push(format!("bound = [0.0, 1.0]\nkernel = {kernel}\nnoise = {noise}"));
        lines
    };
    let first = with("{ kind = \"squared-exponential\", lengthscale = 1.0 }", "\"none\"").join("\n");
    let text = format!(
        "seed = {seed}\nrounds = 1\ntrials = 1\nreferences = false\n[environment]\n{first}\n[[policy]]\nkind = \"uniform\"\n"
    );
    let sweep = registry.parse(&format!("--function {kind}"), &text, &[])?;
    let plan = &sweep.cells[0];
    let Task::Bandit(bandit) = &plan.task else {
        return Diagnostic::new(format!("`{kind}` is no environment of a bandit")).refuse();
    };
    let (streams, data) = (Streams::new(seed, &*plan.environment.key), DataFolder::default());
    let context = BuildContext { streams: &streams, data: &data, rounds: 1, memory_bytes: sweep.memory_bytes };
    let environment = (bandit.environment_plan.build)(&context)?;
    let instance = (environment.draw)(0)?;
    let Some(all) = &environment.points else {
        return Diagnostic::new(format!("`{kind}` has no coordinates")).refuse();
    };
    let used = all.n_points().min(FITTED_ROWS);
    let inputs = Points::new(all.dimension(), (0..used).flat_map(|i| all.point(i).iter().copied()).collect());
    let values: Vec<f64> = (0..used).map(|i| instance.mean(i)).collect();
    let mean = values.iter().sum::<f64>() / used as f64;
    let deviation = libm::sqrt(values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / used as f64);
    let FittedHyperparameters { lengthscales, variance, .. } =
        fit(LikelihoodForm::SquaredExponential, &inputs, &values, false, computed)?;
    let sd = NOISE_SHARE * deviation;
    // The prior mean of a policy is 0.
    let kernel = format!(
        "{{ kind = \"squared-exponential\", lengthscale = {}, variance = {} }}",
        short(lengthscales[0]),
        short(variance + mean * mean)
    );
    let noise = format!("{{ kind = \"gaussian\", sd = {} }}", short(sd));
    Ok(CostProblem {
        environment: with(&kernel, &noise),
        clip: Some([0.0, 1.0]),
        clip_is: "the function's range".to_owned(),
        ridge: MECHANISM_RIDGE.to_owned(),
        noise_variance: Some(sd * sd),
        features: features(all.dimension()),
        n_points: all.n_points(),
        notes: vec![format!(
            "{kind} in {} dimensions, mapped onto [0, 1], at {} random points; noise of standard deviation {} on each reward",
            all.dimension(),
            all.n_points(),
            short(sd)
        )],
        ..CostProblem::default()
    })
}

/// Takes the environment of another spec, and its clip.
pub fn of_spec(text: &str, name: &str, range: Option<[f64; 2]>, sweep: &Sweep) -> Result<CostProblem, Error> {
    let none = || {
        Diagnostic::new(format!("`{name}` has no `[environment]` of a bandit"))
            .hint("choose a spec with points or arms to play")
            .error()
    };
    let Some(Task::Bandit(_)) = sweep.cells.first().map(|cell| &cell.task) else { return Err(none()) };
    let table: toml::Table = text.parse().map_err(|_| none())?;
    let Some(environment) = table.get("environment").cloned() else { return Err(none()) };
    let whole = toml::Table::from_iter([("environment".to_owned(), environment)]);
    let lines = toml::to_string(&whole).map_err(|_| none())?;
    let noise = table.get("environment").and_then(|environment| environment.get("noise"));
    let swept: Vec<String> = (table.get("sweep").and_then(toml::Value::as_table).into_iter().flatten())
        .filter_map(|(_, keys)| keys.as_table())
        .flat_map(|keys| keys.keys().filter(|key| key.starts_with("environment")).cloned())
        .collect();
    let has_noise = noise.is_some_and(|noise| noise.as_str() != Some("none"));
    let ends = table.get("privacy").and_then(|privacy| privacy.get("clip")).and_then(toml::Value::as_array);
    let end = |at: usize| ends?.get(at).and_then(|end| end.as_float().or(end.as_integer().map(|end| end as f64)));
    let clip = range.or(end(0).zip(end(1)).map(Into::into));
    Ok(CostProblem {
        environment: lines.lines().skip(1).map(str::to_owned).collect(),
        clip,
        clip_is: if range.is_some() { "as stated".to_owned() } else { format!("as in {name}") },
        ridge: if has_noise { MECHANISM_RIDGE } else { "1.0" }.to_owned(),
        features: "{ kind = \"exact\", tolerance = 1e-2 }".to_owned(),
        notes: [
            format!("the environment of {name}"),
            if clip.is_some() {
                "clip: as stated".to_owned()
            } else {
                "clip: by the bound on f and the noise, if both are bounded; `--range LO,HI` states one".to_owned()
            },
        ]
        .into_iter()
        .chain((!swept.is_empty()).then(|| format!("the values that the spec sweeps are left out: {}", swept.join(", "))))
        .collect(),
        ..CostProblem::default()
    })
}

/// The range to which rewards are clipped.
struct Clip {
    /// The least and the greatest value.
    values: [f64; 2],
    range: [f64; 2],
    origin: &'static str,
    /// What was taken, and what it costs.
    note: String,
}

impl Clip {
    /// Takes the stated range, or that of the values.
    fn of(values: impl Iterator<Item = f64> + Clone, stated: Option<[f64; 2]>, what: &str) -> Result<Self, Error> {
        let ends = values.clone().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
        let [least, most] = ends;
        let Some([low, high]) = stated else {
            let note = "clip: the range of the table; a deployment that takes it from private data pays for it: state one that is known \
                        beforehand with `--range`";
            let origin = "the table's own range: a deployment has to know it beforehand";
            return Ok(Self { values: ends, range: ends, origin, note: note.to_owned() });
        };
        let outside = values.clone().filter(|value| !(low..=high).contains(value)).count();
        let all = values.count();
        if outside == all {
            let message = format!("no value of {what} lies in `--range {low},{high}`: they are from {least} to {most}");
            return Diagnostic::new(message).hint("state the range in the units of the table").refuse();
        }
        let share = 100.0 * outside as f64 / all as f64;
        let note = format!("clip: {low} to {high}, as stated; {share:.1} % of the values lie outside");
        Ok(Self { values: ends, range: [low, high], origin: "as stated", note })
    }
}

/// Returns features of a squared-exponential kernel for a server's sums.
fn features(dimension: usize) -> String {
    match dimension {
        1 => "{ kind = \"quadrature-fourier\", nodes = 16 }".to_owned(),
        2 => "{ kind = \"quadrature-fourier\", nodes = 8 }".to_owned(),
        _ => "{ kind = \"random-fourier\", features = 50 }".to_owned(),
    }
}

/// Writes a table with the shortest texts that give the same numbers.
fn write_rows(path: &Path, names: &[String], rows: &[Vec<f64>]) -> Result<(), Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| Error::io("write the points", path, std::io::Error::other(error));
    writer.write_record(names).map_err(failed)?;
    for row in rows {
        writer.write_record(row.iter().map(|x| format!("{x:?}"))).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| Error::io("write the points", path, error.into_error()))?;
    write_whole(path, &bytes, "write the points")
}
