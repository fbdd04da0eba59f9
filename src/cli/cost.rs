//! `privateer cost` and `best`: what privacy costs on a table, a function or a spec's problem, and which policy is best there.

use super::columns::ColumnNames;
use super::output::{note, quoted, say, say_answer};
use super::progress::{Meter, Progress};
use super::run::RunMessages;
use crate::cost::{
    Asked, Asking, CostOptions, CostProblem, MOST_USERS, ProblemOptions, Trust, WrittenQuestion, brief, share, write_question,
};
use crate::engine::Stop;
use crate::fit::most_evaluations;
use crate::registry::Registry;
use crate::report::{Outcome, share_text};
use clap::Args;
use privateer_config::error::Error;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Number of columns of a full bar.
const BAR: usize = 40;

/// The problem of a question, and where its answer goes.
#[derive(Debug, Args)]
pub struct ProblemArgs {
    #[command(flatten)]
    options: ProblemOptions,
    /// The input columns, separated by commas [default: the columns of numbers, at most ten]
    #[arg(long, value_name = "NAMES", requires = "table")]
    inputs: Vec<ColumnNames>,
    /// Folder that the spec's data files are relative to [default: the spec's own, where it has them, then $PRIVATEER_DATA, else the working folder]
    #[arg(long, value_name = "DIR", requires = "spec")]
    data: Option<PathBuf>,
    /// Folder of spec, points and results [default: out/NAME-COMMAND-TRUST]
    #[arg(long, value_name = "DIR", value_parser = super::stores::folder)]
    out: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// No progress and no notes
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Args)]
pub struct CostArgs {
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    options: CostOptions,
}

#[derive(Debug, Args)]
pub struct BestArgs {
    #[command(flatten)]
    problem: ProblemArgs,
    /// Privacy budget
    #[arg(long, value_name = "EPSILON", default_value_t = 1.0, allow_hyphen_values = true)]
    epsilon: f64,
    /// Number of users, each with one reward
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rounds: u64,
    /// Number of fresh trials, in which the best is the one that loses least
    #[arg(long, value_name = "N", default_value_t = 50)]
    trials: u64,
    /// Pilot trials of the policies that stay; the worse half is dropped at an eighth, a quarter and half of them
    #[arg(long, value_name = "N", default_value_t = 64)]
    pilots: u64,
}

static STOP: Stop = Stop::new();

/// Writes the spec and runs it; prints what was understood, the answer and where its report is.
pub fn cost(registry: &Registry, args: &CostArgs) -> Result<(), Error> {
    let written = written(registry, args)?;
    let problem = &args.problem;
    let report = written.run(problem.options.threads, &STOP, &RunMessages::new(problem.quiet || problem.json))?;
    if problem.json {
        say(&json!(written.answer(&report)).to_string());
        return Ok(());
    }
    let is_over_users = 1 < written.question.rounds.len();
    say(&format!("{}\n\n{}", sizes(args, &written.problem), chart(&report, is_over_users)));
    say("");
    say_answer(&report);
    let is_known = report.best.iter().all(|(_, best)| share(&report.row(*best)).is_some());
    if let ([users], None, true) = (&written.question.rounds[..], report.enough, is_known) {
        let more = [1, 2, 4, 8].map(|times| users * times).into_iter().filter(|users| *users <= MOST_USERS);
        let more: Vec<String> = more.map(|users| users.to_string()).collect();
        let epsilon = if let [only] = written.question.epsilons[..] { only } else { 1.0 };
        if 1 < more.len() {
            say(&format!("how many users keep 80 %:  --epsilon {epsilon} --rounds {}", more.join(",")));
        }
    }
    say(&go_on(&written));
    Ok(())
}

/// Draws what the best policy keeps at each epsilon or number of users, a line each.
fn chart(report: &Outcome, is_over_users: bool) -> String {
    let name = |&(epsilon, best): &(f64, usize)| {
        if is_over_users { format!("{} users", report.row(best).rounds) } else { format!("epsilon {epsilon}") }
    };
    let width = report.best.iter().map(|best| name(best).len()).max().unwrap_or(0);
    let line = |found: &(f64, usize)| {
        let name = name(found);
        let Some(share) = share(&report.row(found.1)) else { return format!("{name:<width$}  cannot be said") };
        let at = |share: f64| (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let (low, high) = share.interval.unwrap_or((share.value, share.value));
        let cell = |column: usize| match column {
            _ if column < at(share.value) => '█',
            _ if at(low) <= column && column < at(high) => '░',
            _ => '·',
        };
        let bar: String = (0..BAR).map(cell).collect();
        format!("{name:<width$}  {bar}  {}", share_text(share))
    };
    report.best.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Writes the spec without running it.
pub fn new(registry: &Registry, args: &CostArgs) -> Result<(), Error> {
    let written = written(registry, args)?;
    let path = written.spec_path();
    if args.problem.json {
        say(&json!({ "notes": written.problem.notes, "spec": path }).to_string());
    } else {
        say(&format!("spec: {}\n{}", path.display(), go_on(&written)));
    }
    Ok(())
}

fn go_on(written: &WrittenQuestion) -> String {
    let word = |path: &Path| {
        let text = path.display().to_string();
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@".contains(c);
        if text.chars().all(is_plain) { text } else { quoted(&text) }
    };
    let data = written.data_folder().map_or(String::new(), |data| format!(" --data {}", word(data)));
    format!("go on:  privateer run {}{data}", word(&written.spec_path()))
}

fn sizes(args: &CostArgs, problem: &CostProblem) -> String {
    let points = if problem.n_points == 0 { String::new() } else { format!("{} points, ", problem.n_points) };
    let CostOptions { trials, pilots, .. } = args.options;
    let rounds: Vec<String> = args.options.rounds.iter().map(u64::to_string).collect();
    let noise = match args.problem.options.trust {
        Trust::Joint => "noise on the server's sums",
        Trust::Shuffle => "noise on each user's device and a shuffler",
        Trust::None | Trust::Local => "noise on each user's device",
    };
    format!(
        "{points}{} users, {noise}, {trials} trials, {pilots} pilot trials a factor, {} without privacy",
        rounds.join(", "),
        pilots.saturating_mul(crate::spec::REFERENCE_PILOTS)
    )
}

/// Plays the policies that fit against each other; prints the best, by how much, and the next ones.
pub fn best(registry: &Registry, args: &BestArgs) -> Result<(), Error> {
    let problem = &args.problem;
    let options = CostOptions {
        problem: options(problem),
        best: false,
        epsilon: vec![args.epsilon],
        rounds: vec![args.rounds],
        trials: args.trials,
        pilots: args.pilots,
    };
    let written = ask(registry, Asked::Best, &options, problem)?;
    let report = written.run(problem.options.threads, &STOP, &RunMessages::new(problem.quiet || problem.json))?;
    let Some(answer) = written.best(&report) else { return Ok(()) };
    if problem.json {
        say(&json!(answer).to_string());
        return Ok(());
    }
    if !problem.quiet {
        answer.left_out.iter().for_each(|(policy, reason)| note(&format!("left out: {policy}: {reason}")));
    }
    let names = answer.policies.iter().map(|row| row.policy.chars().count()).max().unwrap_or(0).max(6);
    say(&format!("{:<names$}  factor        regret  trials", "policy"));
    for row in &answer.policies {
        let factor = row.factor.map_or_else(|| "-".to_owned(), |factor| factor.to_string());
        let kind = if row.is_fresh { "fresh" } else { "pilot" };
        say(&format!("{:<names$}  {factor:>6}  {:>12}  {:>6} {kind}", row.policy, brief(row.regret), row.trials));
    }
    say(&format!("\n{}", answer.sentence));
    say(&format!("report: {}\n{}", answer.report.display(), go_on(&written)));
    Ok(())
}

fn options(args: &ProblemArgs) -> ProblemOptions {
    ProblemOptions { inputs: ColumnNames::of_all(&args.inputs), out: args.out.clone(), ..args.options.clone() }
}

/// Writes spec and points of what privacy costs into the folder of the question.
fn written(registry: &Registry, args: &CostArgs) -> Result<WrittenQuestion, Error> {
    let options = CostOptions { problem: options(&args.problem), ..args.options.clone() };
    ask(registry, Asked::Cost, &options, &args.problem)
}

/// Writes spec and points into the folder of the question.
fn ask(registry: &Registry, asked: Asked, options: &CostOptions, args: &ProblemArgs) -> Result<WrittenQuestion, Error> {
    let is_quiet = args.quiet || args.json;
    let progress = Progress::new(most_evaluations(false, 1), "likelihoods", is_quiet);
    let plays = Meter::new("policies and factors in pilot trials", is_quiet);
    let notes = |line: &str| {
        progress.clear();
        if !is_quiet {
            note(line);
        }
    };
    let asking = Asking { computed: &|| progress.add(1), played: &|all| plays.each(all), note: &notes, stop: &STOP };
    let written = write_question(registry, asked, options, args.options.data(args.data.clone()), asking);
    progress.clear();
    plays.clear();
    written
}
