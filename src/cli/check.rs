//! `privateer check`: everything short of running.

use super::output::say;
use super::progress::count;
use super::source::SpecArgs;
use crate::engine::{Preparation, grouped_warnings, units};
use crate::registry::Registry;
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::Error;
use privateer_config::facts::FactValue;
use privateer_privacy::Guarantee;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Spec files (TOML)
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<PathBuf>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Refuse specs with settings that mislead, such as a clip that cuts the function off
    #[arg(long)]
    strict: bool,
}

/// Most cells whose first trial is made.
const MOST_CHECKED: usize = 100_000;

/// Most cells without a guarantee that are listed.
const MOST_LISTED: usize = 100;

/// Reads every spec and its data, makes the first trial of each cell, and says what a run would do.
pub fn check(registry: &Registry, args: &CheckArgs) -> Result<(), Error> {
    for path in &args.specs {
        let sweep = args.spec.read(registry, path)?;
        let data = args.spec.data(path);
        let backend = Cpu::default();
        let preparation = Preparation::new(&sweep, &data, &backend);
        let (mut without, mut n_without, mut tables) = (Vec::new(), 0, Vec::new());
        let checked = sweep.cells.len().min(MOST_CHECKED);
        let mut facts_of = |place: usize| {
            let plan = &sweep.cells[place * sweep.cells.len() / checked];
            let facts = preparation.facts_in_short(plan).map_err(|error| plan.placed(error))?;
            for ledger in std::iter::once(&facts.ledger.reward).chain(facts.ledger.inputs.as_deref()) {
                if let Guarantee::NoGuarantee { .. } = ledger.guarantee {
                    n_without += 1;
                    if n_without <= MOST_LISTED {
                        without.push(format!("  {}: {}", plan.label(), ledger.guarantee));
                    }
                }
            }
            let table = facts.facts.get("table").and_then(FactValue::as_str);
            tables.extend(table.filter(|card| !tables.iter().any(|known| known == card)).map(str::to_owned));
            Ok((|| plan.label(), facts.warnings))
        };
        let mut failed = None;
        let found = grouped_warnings((0..checked).map_while(|place| facts_of(place).map_err(|error| failed = Some(error)).ok()));
        if let Some(error) = failed {
            return Err(error);
        }
        if args.strict {
            found.refuse(&sweep.accepted)?;
        }
        let trial_rounds: f64 = sweep.cells.iter().map(|cell| cell.rounds as f64 * sweep.trials as f64).sum();
        let mut rows_of = BTreeMap::new();
        let mut n_rows = |rounds| *rows_of.entry(rounds).or_insert_with(|| sweep.recorded.n_rounds(rounds) as f64);
        let rows: f64 = sweep.cells.iter().map(|cell| n_rows(cell.rounds) * sweep.trials as f64).sum();
        say(&format!(
            "{}: ok\n  {} x {} in {}, {}, {}\n  spec hash {}",
            path.display(),
            counted(sweep.cells.len() as f64, "cell"),
            counted(sweep.trials as f64, "trial"),
            counted(units(&sweep).len() as f64, "part"),
            counted(trial_rounds, "trial-round"),
            counted(rows, "recorded row"),
            sweep.hash
        ));
        tables.iter().for_each(|card| say(&format!("  table {card}")));
        if checked < sweep.cells.len() {
            say(&format!(
                "  first trials, ledgers and warnings are those of {checked} cells, evenly spread; a run makes them for each cell"
            ));
        }
        if without.len() < n_without {
            without.push(format!("  and {} cells more", n_without - without.len()));
        }
        if !without.is_empty() {
            say(&format!("  without a privacy guarantee:\n{}", without.join("\n")));
        }
        found.lines.iter().for_each(|line| say(&format!("  warning: {line}")));
        found.accepted.iter().for_each(|line| say(&format!("  accepted: {line}")));
    }
    Ok(())
}

/// Returns a count with its noun: "1 cell", "40 cells".
fn counted(n: f64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1.0 { "" } else { "s" })
}
