//! `privateer cost`: what privacy costs on a table, a function or a spec's problem, in one sentence and one picture.

use super::columns::ColumnNames;
use super::output::{note, say};
use super::progress::Progress;
use super::run::RunMessages;
use super::source::data_folder;
use crate::cost::{
    ChosenColumns, CostAnswer, CostProblem, CostQuestion, FunctionQuestion, PointsQuestion, Trust, of_arms, of_function, of_spec,
    of_table,
};
use crate::engine::{Preparation, Stop};
use crate::env::DataFolder;
use crate::fit::most_evaluations;
use crate::record::write_whole;
use crate::registry::Registry;
use crate::run::{RunOptions, run_to_folder};
use crate::spec::{SPEC_FILE, Sweep};
use clap::{ArgGroup, Args, ValueEnum};
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the spec in the folder of a question.
const SPEC_NAME: &str = "spec.toml";

/// Name of the results folder in it.
const RESULTS_NAME: &str = "results";

/// Privacy budgets of a question that names none.
const EPSILONS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

/// Arguments of `privateer cost` and `privateer new`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("problem").required(true).args(["table", "function", "arms", "spec"])))]
pub struct CostArgs {
    /// A table of points with a value each: CSV (plain or .gz, with a header) or Parquet
    #[arg(value_name = "TABLE")]
    table: Option<PathBuf>,
    /// The column that is the reward
    #[arg(long, value_name = "COLUMN", requires = "table")]
    value: Option<String>,
    /// The input columns, separated by commas [default: the columns of numbers, at most ten]
    #[arg(long, value_name = "NAMES", requires = "table")]
    inputs: Vec<ColumnNames>,
    /// A known function, such as `branin`, in place of a table
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Number of coordinates of a function that leaves it open
    #[arg(long, value_name = "D", requires = "function")]
    dimension: Option<usize>,
    /// A table whose columns are arms and whose rows are readings
    #[arg(long, value_name = "TABLE")]
    arms: Option<PathBuf>,
    /// A spec whose `[environment]` is the problem
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Folder that the spec's data files are relative to [default: $PRIVATEER_DATA, else the working folder]
    #[arg(long, value_name = "DIR", requires = "spec")]
    data: Option<PathBuf>,
    /// The range to which rewards are clipped, known beforehand [default: that of the table]
    #[arg(long, value_name = "LO,HI", value_delimiter = ',', allow_hyphen_values = true)]
    range: Vec<f64>,
    /// Who sees raw rewards
    #[arg(long, value_enum, value_name = "WHO", default_value = "local")]
    trust: TrustArg,
    /// Privacy budgets, ascending [default: 0.5,1,2,4,8; with several numbers of users: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    epsilon: Vec<f64>,
    /// Most points; more rows are drawn at random
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(3..=100_000))]
    points: u64,
    /// Number of users, each with one reward; several numbers, ascending, ask how many users keep 80 %
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1000", value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    rounds: Vec<u64>,
    /// Number of trials
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    trials: u64,
    /// Pilot trials of each exploration factor
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pilots: u64,
    /// Seed of points and trials
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    seed: u64,
    /// Folder of spec, points and results [default: out/NAME-cost-TRUST]
    #[arg(long, value_name = "DIR", value_parser = super::stores::folder)]
    out: Option<PathBuf>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    threads: Option<u64>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// No progress and no notes
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TrustArg {
    /// Nobody: noise on each user's device
    Local,
    /// A server, which releases noisy sums of users' rewards
    Joint,
}

static STOP: Stop = Stop::new();

/// Writes the spec and runs it; prints what was understood, the answer and where its report is.
///
/// # Errors
/// A bad table, spec or number; what stops a run.
pub fn cost(registry: &Registry, args: &CostArgs) -> Result<(), Error> {
    let Written { question, problem, sweep, folder, data } = written(registry, args)?;
    let path = folder.join(SPEC_NAME);
    let options = RunOptions { data, threads: args.threads.map(|threads| threads as usize), ..RunOptions::default() };
    let messages = RunMessages::new(args.quiet || args.json);
    let results = folder.join(RESULTS_NAME);
    let finished = run_to_folder(&sweep, &results, &options, &STOP, &messages)?;
    let Some(report) = finished.report else {
        return Err(Error::Failed {
            problem: "the run has no report".to_owned(),
            hint: format!("run `privateer report {}`", results.display()),
        });
    };
    let answer = CostAnswer::of(&question, &report.summary);
    if args.json {
        say(&json!({
            "sentence": answer.sentence, "budgets": answer.budgets, "enough": answer.enough, "enough_users": answer.enough_users, "notes": problem.notes,
            "users": question.rounds, "trials": args.trials, "pilots": args.pilots, "spec": path, "report": report.report_path,
        })
        .to_string());
        return Ok(());
    }
    say(&format!("{}\n\n{}\n\n{}", sizes(args, &problem), answer.chart(), answer.sentence));
    if let ([users], None, true) =
        (&question.rounds[..], answer.enough, answer.budgets.iter().all(|budget| budget.share.is_some()))
    {
        say(&format!("how many users keep 80 % at epsilon 1:  `--rounds {users},{},{},{}`", 2 * users, 4 * users, 8 * users));
    }
    say(&format!("\nreport: {}\n{}", report.report_path.display(), go_on(args, &folder)));
    Ok(())
}

/// Writes the spec without running it.
///
/// # Errors
/// As [`cost`].
pub fn new(registry: &Registry, args: &CostArgs) -> Result<(), Error> {
    let Written { problem, folder, .. } = written(registry, args)?;
    let path = folder.join(SPEC_NAME);
    if args.json {
        say(&json!({ "notes": problem.notes, "spec": path }).to_string());
    } else {
        say(&format!("spec: {}\n{}", path.display(), go_on(args, &folder)));
    }
    Ok(())
}

/// Says how to run the spec of a folder.
fn go_on(args: &CostArgs, folder: &Path) -> String {
    let quoted = |path: &Path| {
        let text = path.display().to_string();
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@".contains(c);
        if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let data = if args.spec.is_some() { args.data.as_deref() } else { Some(folder) };
    let data = data.map_or(String::new(), |data| format!(" --data {}", quoted(data)));
    format!("go on:  privateer run {}{data}", quoted(&folder.join(SPEC_NAME)))
}

fn sizes(args: &CostArgs, problem: &CostProblem) -> String {
    let points = if problem.n_points == 0 { String::new() } else { format!("{} points, ", problem.n_points) };
    let rounds: Vec<String> = args.rounds.iter().map(u64::to_string).collect();
    format!(
        "{points}{} users, {} trials, {} pilot trials of each exploration factor",
        rounds.join(", "),
        args.trials,
        args.pilots
    )
}

/// A question whose spec is written.
struct Written {
    question: CostQuestion,
    problem: CostProblem,
    sweep: Sweep,
    folder: PathBuf,
    data: DataFolder,
}

/// Reads the problem, and writes spec and points into the folder of the question, which may hold the same ones.
fn written(registry: &Registry, args: &CostArgs) -> Result<Written, Error> {
    let range = match args.range[..] {
        [] => None,
        [low, high] if low < high && low.is_finite() && high.is_finite() => Some([low, high]),
        _ => return Err(Error::input(Diagnostic::new("`--range` needs two ends").expected("two numbers LO,HI with LO < HI"))),
    };
    let question = |name: String| CostQuestion {
        name,
        trust: match args.trust {
            TrustArg::Local => Trust::Local,
            TrustArg::Joint => Trust::Joint,
        },
        epsilons: match args.epsilon[..] {
            [] if 1 < args.rounds.len() => vec![1.0],
            [] => EPSILONS.to_vec(),
            _ => args.epsilon.clone(),
        },
        rounds: args.rounds.clone(),
        trials: [args.trials, args.pilots],
        seed: args.seed,
    };
    // Budgets are checked before a table is read.
    question(String::new()).check()?;
    let stem = |path: &Path| {
        let name = path.file_name().map_or_else(|| "table".to_owned(), |name| name.to_string_lossy().into_owned());
        name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("table").to_owned()
    };
    let scratch = tempfile::tempdir().map_err(|source| Error::io("make a folder", std::env::temp_dir(), source))?;
    let seed = args.seed;
    let progress = Progress::new(most_evaluations(false, 1), "likelihoods", args.quiet || args.json);
    let computed = || progress.add(1);
    let mut data = None;
    let (name, problem) = if let Some(file) = &args.table {
        let columns = ChosenColumns::of(file, args.value.as_deref(), &ColumnNames::of_all(&args.inputs))?;
        let value = args.value.clone().unwrap_or_default();
        let question = PointsQuestion { file: file.clone(), value, range, points: args.points as usize, seed };
        (stem(file), of_table(&question, &columns, scratch.path(), computed))
    } else if let Some(file) = &args.arms {
        (stem(file), of_arms(file, range, seed, scratch.path()))
    } else if let Some(kind) = &args.function {
        if range.is_some() {
            let diagnostic = Diagnostic::new("`--range` is for a table: a known function is mapped onto [0, 1]");
            return Err(Error::input(diagnostic.hint("leave it out")));
        }
        let question = FunctionQuestion { kind: kind.clone(), dimension: args.dimension, points: args.points as usize, seed };
        (kind.clone(), of_function(&question, registry, computed))
    } else {
        let file = args.spec.clone().unwrap_or_default();
        let (text, name) = (SPEC_FILE.read_text(&file)?, file.display().to_string());
        let sweep = Sweep::parse_with(registry, &name, &text, &[])?;
        data = Some(data_folder(args.data.clone()));
        (stem(&file), of_spec(&text, &name, range, &sweep))
    };
    progress.clear();
    let problem = problem?;
    if !(args.quiet || args.json) {
        problem.notes.iter().for_each(|line| note(line));
    }
    let question = question(format!("What privacy costs: {name}"));
    let folder = args.out.clone().unwrap_or_else(|| Path::new("out").join(format!("{name}-cost-{}", question.trust)));
    let text = question.spec(&problem);
    // What a run would refuse leaves no folder.
    let sweep = Sweep::parse_with(registry, SPEC_NAME, &text, &[])?;
    let scratch_data = data.clone().unwrap_or_else(|| DataFolder::new(Some(scratch.path().to_owned())));
    let backend = Cpu::default();
    let preparation = Preparation::new(&sweep, &scratch_data, &backend);
    for plan in &sweep.cells {
        preparation.facts_in_short(plan).map_err(|error| plan.placed(error))?;
    }
    if folder.as_os_str().is_empty() {
        return Err(Error::input(Diagnostic::new("`--out` is empty").expected("a folder")));
    }
    if folder.join(RESULTS_NAME).exists() && !folder.join(SPEC_NAME).exists() {
        return Err(Error::Folder {
            path: folder,
            problem: format!("holds a `{RESULTS_NAME}` that no `privateer cost` wrote"),
            hint: "choose another folder with `--out DIR`".to_owned(),
        });
    }
    fs::create_dir_all(&folder).map_err(|source| Error::io("create the folder", &folder, source))?;
    fs::write(scratch.path().join(SPEC_NAME), text).map_err(|source| Error::io("write the spec", scratch.path(), source))?;
    let entries = fs::read_dir(scratch.path()).map_err(|source| Error::io("read the folder", scratch.path(), source))?;
    let mut files = Vec::new();
    for entry in entries {
        let from = entry.map_err(|source| Error::io("read the folder", scratch.path(), source))?.path();
        let bytes = fs::read(&from).map_err(|source| Error::io("read", &from, source))?;
        files.push((folder.join(from.file_name().unwrap_or_default()), bytes));
    }
    for (to, bytes) in &files {
        let is_other = match fs::read(to) {
            Ok(there) => there != *bytes,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => false,
            Err(source) => return Err(Error::io("read", to, source)),
        };
        if is_other {
            return Err(Error::Folder {
                path: folder,
                problem: format!("holds another question: its `{}` differs", to.file_name().unwrap_or_default().display()),
                hint: "choose another folder with `--out DIR`, or remove this one".to_owned(),
            });
        }
    }
    for (to, bytes) in &files {
        write_whole(to, bytes, "write the question")?;
    }
    let data = data.unwrap_or_else(|| DataFolder::new(Some(folder.clone())).limited_to(Vec::new()));
    Ok(Written { question, problem, sweep, folder, data })
}
