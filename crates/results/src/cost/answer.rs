//! Writes the spec and the points of a question, runs it, and answers.

use super::problem::POINTS_NAME;
use super::sizes::{MOST_POINTS, fewer_points};
use super::{Contest, Contestant, CostProblem, CostQuestion, ProblemOptions, Trust, of_arms, of_function, of_spec, of_table};
use crate::record::write_whole;
use crate::report::{Outcome, Ratio, SummaryRow};
use crate::run::{RunObserver, RunOptions, check_threads, run_to_folder};
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::{Preparation, Stop};
use privateer_engine::env::DataFolder;
use privateer_engine::registry::Registry;
use privateer_engine::spec::{SPEC_FILE, Sweep};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the spec in the folder of a question.
const SPEC_NAME: &str = "spec.toml";

const RESULTS_NAME: &str = "results";

pub const MOST_USERS: u64 = 10_000_000;

/// Privacy budgets of a question that names none.
const EPSILONS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

/// What is asked about a problem, as the options of `privateer cost` state it.
#[derive(Debug, Clone, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostOptions {
    #[arg(skip)]
    #[serde(flatten)]
    pub problem: ProblemOptions,
    /// Privacy budgets, ascending [default: 0.5,1,2,4,8; with several numbers of users: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(default)]
    pub epsilon: Vec<f64>,
    /// Number of users, each with one reward; several numbers, ascending, ask how many users keep 80 %
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1000")]
    pub rounds: Vec<u64>,
    /// Number of trials
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub trials: u64,
    /// Pilot trials of each exploration factor
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub pilots: u64,
    /// The two policies that do best at the middle budget, as `privateer best` finds them, in place of the usual ones
    #[arg(long)]
    #[serde(default)]
    pub best: bool,
}

impl CostOptions {
    fn check_sizes(&self) -> Result<(), Error> {
        check_threads(self.problem.threads)?;
        let rounds = self.rounds.iter().map(|&rounds| ("rounds", rounds, 10..=MOST_USERS));
        let sizes = [
            ("points", self.problem.points.unwrap_or(MOST_POINTS), 3..=100_000),
            ("trials", self.trials, 2..=100_000),
            ("pilots", self.pilots, 1..=100_000),
            ("seed", self.problem.seed, 0..=i64::MAX as u64),
        ];
        match sizes.into_iter().chain(rounds).find(|(_, value, range)| !range.contains(value)) {
            None => Ok(()),
            Some((name, value, range)) => Diagnostic::new(format!("`--{name}` is {value}"))
                .expected(format!("a whole number from {} to {}", range.start(), range.end()))
                .refuse(),
        }
    }
}

/// What privacy costs, as `privateer cost --json` prints it.
///
/// `enough` and `enough_users` are the least epsilon or number of users from which on 80 % is kept.
#[derive(Debug, Serialize)]
pub struct CostAnswer {
    pub sentence: String,
    pub budgets: Vec<CostOfBudget>,
    pub enough: Option<f64>,
    pub enough_users: Option<f64>,
    pub notes: Vec<String>,
    pub users: Vec<u64>,
    pub trials: u64,
    pub pilots: u64,
    pub spec: PathBuf,
    pub report: PathBuf,
}

/// What the best policy keeps at one epsilon or number of users: a share, its 95 % interval, mean regrets.
#[derive(Debug, Serialize)]
pub struct CostOfBudget {
    pub epsilon: f64,
    pub users: u32,
    pub policy: String,
    pub share: Option<f64>,
    pub interval: Option<(f64, f64)>,
    pub regret: f64,
    pub regret_without_privacy: f64,
}

/// Returns the share of what can be learnt that a policy keeps.
pub fn share(row: &SummaryRow) -> Option<Ratio> {
    row.cost?.share?.left
}

pub struct WrittenQuestion {
    pub question: CostQuestion,
    /// What is known about the problem.
    pub problem: CostProblem,
    /// Folder of spec, points and results.
    pub folder: PathBuf,
    /// The policies that were played against each other before, if they were.
    pub contest: Option<Contest>,
    sweep: Sweep,
    data: DataFolder,
}

impl WrittenQuestion {
    pub fn spec_path(&self) -> PathBuf {
        self.folder.join(SPEC_NAME)
    }

    /// Returns the folder of the data, unless the spec that was written is run without it being named.
    pub fn data_folder(&self) -> Option<&Path> {
        let name = self.sweep.cells.iter().flat_map(|cell| cell.data_files()).next()?;
        self.data.taken_from(name).filter(|folder| !folder.as_os_str().is_empty() && *folder != self.folder)
    }

    /// Runs the spec into the folder of the question.
    pub fn run(&self, threads: Option<usize>, stop: &Stop, observer: &dyn RunObserver) -> Result<Outcome, Error> {
        let data = self.data.clone();
        let options = RunOptions { data, threads, ..RunOptions::default() };
        let results = self.folder.join(RESULTS_NAME);
        let run = run_to_folder(&self.sweep, &results, &options, stop, observer)?;
        let hint = || format!("run `privateer report {}`", results.display());
        run.report.ok_or_else(|| Error::failed("the run has no report", hint()))
    }

    /// Returns what the report of the run says about the question.
    pub fn answer(&self, report: &Outcome) -> CostAnswer {
        let regret = |row: &SummaryRow| row.main.map_or(f64::NAN, |moments| moments.mean);
        let budget = |&(epsilon, best): &(f64, usize)| {
            let row = &report.row(best);
            let reference = row.cost.map(|cost| report.row(cost.reference));
            CostOfBudget {
                epsilon,
                users: row.rounds,
                policy: row.policy.to_string(),
                share: share(row).map(|share| share.value),
                interval: share(row).and_then(|share| share.interval),
                regret: regret(row),
                regret_without_privacy: reference.as_ref().map_or(f64::NAN, regret),
            }
        };
        let CostQuestion { rounds, trials: [trials, pilots], .. } = &self.question;
        let is_over_users = 1 < rounds.len();
        CostAnswer {
            sentence: report.answer.join(" "),
            budgets: report.best.iter().map(budget).collect(),
            enough: report.enough.filter(|_| !is_over_users),
            enough_users: report.enough.filter(|_| is_over_users),
            notes: self.problem.notes.clone(),
            users: rounds.clone(),
            trials: *trials,
            pilots: *pilots,
            spec: self.spec_path(),
            report: report.report_path.clone(),
        }
    }
}

/// Hears of what happens while a question is written.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Called after each evaluation of a likelihood.
    pub computed: &'a dyn Fn(),
    /// Called with an upper bound on the number of plays of a contest, after each.
    pub played: &'a (dyn Fn(u64) + Sync),
    /// Takes what was understood of the files.
    pub note: &'a dyn Fn(&str),
    pub stop: &'a Stop,
}

/// Names what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// What privacy costs.
    Cost,
    /// Which policy is best at one budget.
    Best,
}

/// Reads the problem, and writes spec and points into the folder of the question, which may hold the same ones.
///
/// The spec plays the usual policies, or the best of a contest: at their factors where the best one is asked for.
///
/// * `spec_data` — data files of the spec, where one is named
///
/// # Errors
/// A bad table, spec or number; a folder that holds another question.
pub fn write_question(
    registry: &Registry,
    asked: Asked,
    args: &CostOptions,
    spec_data: DataFolder,
    asking: Asking<'_>,
) -> Result<WrittenQuestion, Error> {
    args.check_sizes()?;
    let asked_of = &args.problem;
    let Asking { computed, note, .. } = asking;
    let range = match asked_of.range[..] {
        [] => None,
        [low, high] if low < high && low.is_finite() && high.is_finite() => Some([low, high]),
        _ => return Diagnostic::new("`--range` needs two ends").expected("two numbers LO,HI with LO < HI").refuse(),
    };
    let [command, title] = match asked {
        Asked::Cost => ["cost", "What privacy costs"],
        Asked::Best => ["best", "Which policy is best"],
    };
    let mut question = CostQuestion {
        name: String::new(),
        asked_by: [command, title],
        trust: asked_of.trust,
        epsilons: match args.epsilon[..] {
            [] if asked == Asked::Best => vec![1.0],
            [] if 1 < args.rounds.len() => vec![1.0],
            [] => EPSILONS.to_vec(),
            _ => args.epsilon.clone(),
        },
        rounds: args.rounds.clone(),
        trials: [args.trials, args.pilots],
        seed: asked_of.seed,
    };
    // Budgets are checked before a table is read.
    question.check()?;
    if asked == Asked::Cost && asked_of.trust == Trust::None {
        let diagnostic =
            Diagnostic::new("`--trust none` has no privacy, and so no price").expected("`local`, `shuffle` or `joint`");
        return diagnostic.hint("`privateer best --trust none` asks which policy is best without privacy").refuse();
    }
    if asked == Asked::Best && (1 < args.epsilon.len() || 1 < args.rounds.len()) {
        let diagnostic = Diagnostic::new("the best policy is asked for at several budgets or numbers of users");
        return diagnostic.expected("one number").hint("`privateer cost --best` asks over several").refuse();
    }
    let stem = |path: &Path| {
        let name = path.file_name().map_or_else(|| "table".to_owned(), |name| name.to_string_lossy().into_owned());
        name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("table").to_owned()
    };
    let scratch = tempfile::tempdir().map_err(|source| Error::io("make a folder", std::env::temp_dir(), source))?;
    let mut data = None;
    let threads = asked_of.threads;
    let scratch_data = DataFolder::new(Some(scratch.path().to_owned()));
    // On as many points as are stated, or as 1000 users play in about half a minute.
    let on_points = |state: &dyn Fn(u64) -> Result<CostProblem, Error>| {
        let mut problem = state(asked_of.points.unwrap_or(MOST_POINTS))?;
        let all = problem.n_points;
        while asked_of.points.is_none() {
            let Some(fewer) = fewer_points(registry, &question, &problem, (&scratch_data, threads), asking.stop)? else { break };
            // Fewer points may all have one value, which answers nothing.
            let Ok(fewer) = state(fewer) else {
                problem = state(problem.n_points as u64)?;
                break;
            };
            problem = fewer;
        }
        if problem.n_points < all {
            problem.notes.push(format!(
                "{all} points may take a minute or more, since policies visit most of them: `--points {all}` plays them"
            ));
        }
        Ok(problem)
    };
    let (name, problem) = if let Some(file) = &asked_of.table {
        let of_points = |points| of_table(file, range, asked_of, points, scratch.path(), computed);
        (stem(file), on_points(&of_points))
    } else if let Some(file) = &asked_of.arms {
        (stem(file), of_arms(file, range, asked_of.seed, scratch.path()))
    } else if let Some(kind) = &asked_of.function {
        if range.is_some() {
            let diagnostic = Diagnostic::new("`--range` is for a table: a known function is mapped onto [0, 1]");
            return diagnostic.hint("leave it out").refuse();
        }
        (kind.clone(), on_points(&|points| of_function(kind, asked_of, points, registry, computed)))
    } else {
        let file = asked_of.spec.clone().unwrap_or_default();
        let (text, name) = (SPEC_FILE.read_text(&file)?, file.display().to_string());
        let sweep = registry.parse(&name, &text, &[])?;
        data = Some(spec_data);
        (stem(&file), of_spec(&text, &name, range, &sweep))
    };
    let problem = problem?;
    problem.notes.iter().for_each(|line| note(line));
    question.name = format!("{title}: {name}");
    let folder = asked_of.out.clone().unwrap_or_else(|| Path::new("out").join(format!("{name}-{command}-{}", question.trust)));
    let scratch_data = data.clone().unwrap_or(scratch_data);
    let contest = if args.best || asked == Asked::Best {
        let one = CostQuestion { asked_by: ["best", title], ..question.middle() };
        Some(Contest::play(registry, &one, &problem, (&scratch_data, threads), asking.stop, asking.played)?)
    } else {
        None
    };
    let policies: Vec<String> = match &contest {
        None => question.usual_policies(&problem),
        Some(contest) if asked == Asked::Best => contest.finalists.iter().map(Contestant::at_factor).collect(),
        // A budget far from the middle may have another best policy.
        Some(contest) => contest.finalists.iter().take(2).map(|contestant| contestant.tuned(&question)).collect(),
    };
    let text = question.spec(&problem, &policies);
    // What a run would refuse leaves no folder.
    let sweep = registry.parse(SPEC_NAME, &text, &[])?;
    let backend = Cpu::default();
    let preparation = Preparation::new(&sweep, &scratch_data, &backend);
    for plan in sweep.cells.iter() {
        preparation.facts_in_short(plan).map_err(|error| plan.placed(error))?;
    }
    if folder.as_os_str().is_empty() {
        return Diagnostic::new("`--out` is empty").expected("a folder").refuse();
    }
    if folder.join(RESULTS_NAME).exists() && !folder.join(SPEC_NAME).exists() {
        let problem = format!("holds a `{RESULTS_NAME}` that no `privateer cost` wrote");
        return Err(Error::folder(folder, problem, "choose another folder with `--out DIR`"));
    }
    fs::create_dir_all(&folder).map_err(|source| Error::io("create the folder", &folder, source))?;
    let points = scratch.path().join(POINTS_NAME);
    let mut files = vec![(SPEC_NAME, text.into_bytes())];
    if points.exists() {
        files.push((POINTS_NAME, fs::read(&points).map_err(|source| Error::io("read", &points, source))?));
    }
    for (name, bytes) in &files {
        let to = folder.join(name);
        let is_other = match fs::read(&to) {
            Ok(there) => there != *bytes,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => false,
            Err(source) => return Err(Error::io("read", to, source)),
        };
        if is_other {
            let problem = format!("holds another question: its `{name}` differs");
            return Err(Error::folder(folder, problem, "choose another folder with `--out DIR`, or remove this one"));
        }
    }
    for (name, bytes) in &files {
        write_whole(&folder.join(name), bytes, "write the question")?;
    }
    let data = data.unwrap_or_else(|| DataFolder::of_spec(Some(folder.clone()), Vec::new()));
    Ok(WrittenQuestion { question, problem, folder, contest, sweep, data })
}
