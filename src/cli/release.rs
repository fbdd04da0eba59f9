//! `privateer release`: the data holder's side of a session. One value leaves with exact noise, once for each record and round.

use super::account::range;
use super::budget_args::BudgetArgs;
use super::output::{note, say};
use super::session::number;
use super::wait::WaitArgs;
use crate::deploy::{RecordValue, ReleaseOptions, release as released};
use clap::Args;
use privateer_config::error::Error;
use std::path::PathBuf;

/// Arguments of `privateer release`.
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// Mechanism of every value: laplace, duchi, piecewise, hybrid, randomised-response, gaussian; stated once, with the first value
    #[arg(long, value_name = "NAME")]
    mechanism: Option<String>,
    /// Privacy loss of one answer
    #[arg(long, allow_negative_numbers = true, value_name = "E")]
    epsilon: Option<f64>,
    /// Failure probability of one answer, for `gaussian`
    #[arg(long, allow_negative_numbers = true, value_name = "D")]
    delta: Option<f64>,
    /// Public range to which values are clipped, never taken from the values themselves
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
    clip: Option<String>,
    /// The state file: what was released, and what each record has spent; the first value makes it
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// The round in which the session asks for the record (`privateer ask --json` names it)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    round: u64,
    /// What the values measure: answers about one record add up over all columns [default: reward]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Accept a delta of 0.001 or more, in the answer or in the budget
    #[arg(long)]
    allow_large_delta: bool,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
    /// Seal the answer with the key in this file, which whoever runs `tell` has too: forged answers are refused there
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Take a value that lies far outside of the clip: it spends as any other. Stated always, an exit code says nothing of a value
    #[arg(long)]
    yes: bool,
    /// The record, counted from 0
    #[arg(value_name = "ROW")]
    row: u64,
    /// Its value; `-` reads it from standard input, where other users of the machine do not see it
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

/// Releases one value, or gives out the one that was released for this record and round before.
///
/// # Errors
/// Options that the state does not declare, a value that is not finite, a budget that is spent, no entropy; those of the files.
pub fn release(args: &ReleaseArgs) -> Result<(), Error> {
    let value = number("value", &args.value)?;
    let options = ReleaseOptions {
        mechanism: args.mechanism.clone(),
        epsilon: args.epsilon,
        delta: args.delta,
        clip: args.clip.as_deref().map(range).transpose()?,
        column: args.column.clone(),
        allow_large_delta: args.allow_large_delta,
        budget: args.budget.options()?,
        key: args.key.clone(),
    };
    let record = RecordValue { row: args.row, round: args.round, value, yes: args.yes };
    say(&released(&args.state, &record, &options, &note)?.text);
    Ok(())
}
