//! The command line and its one `match` from outcome to exit code.

use super::output::{note, printed, say, say_report};
use super::progress::metered;
use super::wait::WaitArgs;
use super::{
    account, audit, bench, check, cost, curate, data, devices, fit, ledger, list, look, odometer, people, plan, predict, release,
    report, run, session, slurm, status, stores, verify,
};
use crate::record;
use crate::registry::Registry;
use crate::report::write_report;
use crate::run::with_hint;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use privateer_config::error::{Error, ExitCode, renamed};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What does privacy cost this optimizer?
#[derive(Debug, Parser)]
#[command(name = "privateer", version, about, long_about = LONG_ABOUT, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const LONG_ABOUT: &str = "What does privacy cost this optimizer?

Simulates differentially private bandits, Bayesian optimization and online convex optimization over grids of epsilon, \
dimension, mechanism and policy, and writes tables, plots and a report.

Exit codes: 0 done; 1 a check said no; 2 bad spec, data, folder or arguments; 3 no such device; 4 incomplete or failed run \
(what was finished is kept; the same command resumes); 5 another program holds the folder or file (see `--wait`).";

#[derive(Debug, Subcommand)]
enum Command {
    /// What privacy costs on a table, a function or a spec's problem: two sentences, one picture, a report and a spec to go on from
    Cost(cost::CostArgs),
    /// Which policy is best on a problem under a trust model, and by how much: one sentence, at most ten rows, its spec
    Best(cost::BestArgs),
    /// Write the spec of `cost` without running it
    New(cost::CostArgs),
    /// Run specs: simulate, record, summarise, report
    Run(run::RunArgs),
    /// Join the folders of shards into one, with the bytes of a single run
    Merge {
        /// The folders of all shards, the folder that holds them, or the `s3://BUCKET/PREFIX` that they ran into
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Where the joined results go
        #[arg(long, value_name = "DIR", value_parser = stores::folder)]
        out: PathBuf,
        /// Print nothing but errors
        #[arg(long)]
        quiet: bool,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Read a spec and its data, and say what would be run
    Check(check::CheckArgs),
    /// List the data files that specs need: where their publishers have them, digests, and how they are made
    Data(data::DataArgs),
    /// Price a spec or a mechanism without running it, or find the least noise for a budget
    Account(account::AccountArgs),
    /// Give out the inputs of a table for real, by row, with exact noise: released inputs and a ledger
    Curate(curate::CurateArgs),
    /// Start a session: one policy over a file of points, whose rewards are told
    Init(session::InitArgs),
    /// Which row a session wants observed next
    Ask(session::AskArgs),
    /// Tell a session what was observed at the row it asked for
    Tell(session::TellArgs),
    /// Release a value, or those of a table, with exact noise, on the data holder's side, once for each record and round
    Release(release::ReleaseArgs),
    /// What each record has spent over sessions, releases and curated tables, one by one and together
    Ledger(ledger::LedgerArgs),
    /// Make the file in which several sessions, releases and curated tables share one budget for each record
    Odometer(odometer::OdometerArgs),
    /// Take people in, or let them go, where records are named by ids
    People(people::PeopleArgs),
    /// Take back the last reward of a session whose rewards pass no mechanism
    Undo(session::UndoArgs),
    /// What a table holds: sizes, spread, missing numbers, outliers, columns that look like an index or years
    Look(look::LookArgs),
    /// A spec for a table: kernel and noise by maximum likelihood, clip and bound by its values
    Fit(fit::FitArgs),
    /// Attack every stated epsilon: refute false claims
    Audit(audit::AuditArgs),
    /// Posterior mean and standard deviation of a finished run's private model at any points, from its released parameters
    Predict(predict::PredictArgs),
    /// Measure the speed of standard jobs, beside what the machine can do
    Bench(bench::BenchArgs),
    /// List what specs can name: environments, kernels, mechanisms, policies, learners and the rest
    List {
        /// One kind, or one name, with all its keys
        #[arg(value_name = "KIND|NAME")]
        what: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Estimate what the units of a sweep cost, and deal them to tasks
    Plan(plan::PlanArgs),
    /// Write (or submit) a sweep as a Slurm array that survives lost nodes, and the job that joins it
    Slurm(slurm::SlurmArgs),
    /// What of a run or of an array is done, from its folder alone
    Status(status::StatusArgs),
    /// Check every file of a results folder: against its digest, or against what the parts give
    Verify(verify::VerifyArgs),
    /// Write summary, plots and page again from the recorded parts, or export one figure or table
    Report(report::ReportArgs),
    /// Compare the cells that two results folders share, trial by trial
    Compare(report::CompareArgs),
    /// List graphics adapters, their limits, and which one `--backend` would take
    Devices(devices::DevicesArgs),
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Runs the program on these arguments (the first is its name) and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    main_with(&Registry::builtin(), arguments)
}

/// Runs the program with what a registry adds to its lists; the `main` of a program with policies or environments of its own.
pub fn main_with(registry: &Registry, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg(unix)]
    super::limits::mind_limits();
    #[cfg(feature = "gpu")]
    crate::run::this_is_the_program();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not mistakes; clap prints to the right stream and knows the code.
            drop(error.print());
            if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
                && let Some(new) = argument.strip_prefix("--").and_then(|old| renamed(old, ["calibration", "beta"]))
            {
                note(&format!("hint: `{argument}` is now `--{new}`"));
            }
            return u8::try_from(error.exit_code()).unwrap_or(ExitCode::BadInput as u8);
        }
    };
    #[cfg(feature = "planted-faults")]
    match privateer_privacy::planted::named() {
        Ok(None) => {}
        Ok(Some(fault)) => {
            note(&format!("warning: the fault `{}` is planted: {} Nothing is private", fault.name(), fault.summary()))
        }
        Err(name) => {
            let known: Vec<&str> = privateer_privacy::planted::PlantedFault::ALL.iter().map(|fault| fault.name()).collect();
            let problem =
                privateer_config::error::Diagnostic::new(format!("`{}` is `{name}`", privateer_privacy::planted::VARIABLE))
                    .expected(format!("one of {}", known.join(", ")))
                    .hint("unset the variable to plant nothing");
            note(&Error::input(problem).to_string());
            return ExitCode::BadInput as u8;
        }
    }
    match dispatch(registry, cli.command).and_then(|()| printed()).map_err(with_hint) {
        Ok(()) => ExitCode::Done as u8,
        Err(error) => {
            note(&error.to_string());
            error.exit_code() as u8
        }
    }
}

impl Command {
    /// Returns how long the command waits for what another program holds.
    fn patience(&self) -> Duration {
        match self {
            Self::Run(args) => args.wait.wait,
            Self::Merge { wait, .. } => wait.wait,
            Self::Curate(args) => args.wait.wait,
            Self::Init(args) => args.wait.wait,
            Self::Ask(args) => args.wait.wait,
            Self::Tell(args) => args.wait.wait,
            Self::Release(args) => args.wait.wait,
            Self::Undo(args) => args.wait.wait,
            Self::People(args) => args.wait.wait,
            _ => Duration::ZERO,
        }
    }
}

fn dispatch(registry: &Registry, command: Command) -> Result<(), Error> {
    record::wait_at_most(command.patience(), |error| {
        if let Error::InUse { path, holder, .. } = error {
            note(&format!("waiting: `{}` is in use by {holder}", path.display()));
        }
    });
    match command {
        Command::Run(args) => run::run(registry, &args),
        Command::Merge { folders, out, quiet, wait: _ } => {
            record::merge(&stores::Inputs::of(&folders)?.folders, &out)?;
            let outcome = metered("cells", |each| write_report(&out, each))?;
            if !quiet {
                say_report(&outcome, false);
            }
            Ok(())
        }
        Command::Cost(args) => cost::cost(registry, &args),
        Command::Best(args) => cost::best(registry, &args),
        Command::New(args) => cost::new(registry, &args),
        Command::Check(args) => check::check(registry, &args),
        Command::Data(args) => data::data(registry, &args),
        Command::Account(args) => account::account(registry, &args),
        Command::Curate(args) => curate::curate(&args),
        Command::Init(args) => session::init(registry, &args),
        Command::Ask(args) => session::ask(registry, &args),
        Command::Tell(args) => session::tell(registry, &args),
        Command::Release(args) => release::release(&args),
        Command::Ledger(args) => ledger::ledger(&args),
        Command::Odometer(args) => odometer::odometer(&args),
        Command::People(args) => people::people(&args),
        Command::Undo(args) => session::undo(registry, &args),
        Command::Look(args) => look::look(&args),
        Command::Fit(args) => fit::fit(&args),
        Command::Audit(args) => audit::audit(registry, &args),
        Command::Predict(args) => predict::predict(registry, &args),
        Command::Bench(args) => bench::bench(registry, &args),
        Command::List { what, json } => list::list(registry, what.as_deref(), json),
        Command::Plan(args) => plan::plan(registry, &args),
        Command::Slurm(args) => slurm::slurm(registry, &args),
        Command::Status(args) => status::status(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => report::compare(&args),
        Command::Verify(args) => verify::verify(registry, &args),
        Command::Devices(args) => devices::devices(registry, &args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "privateer", &mut text);
            say(&String::from_utf8_lossy(&text));
            Ok(())
        }
    }
}
