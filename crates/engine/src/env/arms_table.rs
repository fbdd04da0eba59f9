//! Implements `arms-table`: a table of readings (sensors, stocks) with one column per arm.
//!
//! A row holds the readings of one round. The mean reward of an arm is its column's mean in the test file. An observation is
//! the arm's reading in a uniformly drawn row. The covariance of the arms comes from a train file. Rewards and B are on the raw
//! scale.

use super::csv_table::{CsvOptions, CsvTable, Spread, counts_up, dropped, drops_missing, read_table};
use super::data_derived::{DataDerived, DeclaredPublic};
use super::noise::{Noise, Resampled};
use super::synthetic::{SyntheticSubstitute, synthetic_fact};
use super::{BuildContext, Environment, EnvironmentPlan, Instance, MeanRange, RegretUnit};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::kernel::empirical::{Normalise, empirical_covariance};
use privateer_gp::kernel::{KernelChoice, parse_kernel};
use privateer_gp::score::lowest_within_tie;
use privateer_gp::{TableGram, TrainReadings};
use privateer_numerics::rng::Purpose;
use std::sync::Arc;

pub fn parse(args: &Args<'_>) -> EnvironmentPlan {
    let synthetic = args.flag("synthetic", "use a generated table of the same shape instead of the files", false);
    let synthetic = SyntheticSubstitute::parse(args, synthetic);
    let mut normalise = Normalise::Standardised;
    if args.has("kernel") {
        match parse_kernel(args, "kernel") {
            Some(KernelChoice::Empirical(stated)) => normalise = stated,
            Some(KernelChoice::Function(_)) => {
                args.reject("kernel", "the arms of a table have no coordinates", "`empirical-covariance`");
            }
            None => {}
        }
    } else {
        // Documents the key.
        let only = "empirical-covariance";
        args.variant("kernel", "covariance of the arms, from the train file", &[only], Some(only));
    }
    if args.has("columns") && args.has("except") {
        args.reject("except", "`columns` lists the arms already", "either `columns` or `except`");
    }
    let plan = ArmsTable {
        test: args.text("test", "CSV (plain or .gz): the readings that rewards are drawn from"),
        train: args.text("train", "CSV: the readings that the covariance comes from"),
        about: args.text("about", "what the files are and where their publisher has them; shown when they are missing"),
        arms: args.word("arms", "whether arms are the files' columns or rows", &["columns", "rows"], Some("columns"))
            == "columns",
        header: args.choice(
            "header",
            "whether the files' first row names the columns",
            &[("auto", None), ("yes", Some(true)), ("no", Some(false))],
            "auto",
        ),
        columns: args.texts("columns", "the files' columns to read, by name (by number without a header); absent: all"),
        except: args.texts("except", "columns that are no arms; the others are").unwrap_or_default(),
        drops_missing: drops_missing(args),
        normalise,
        synthetic,
        bound: MeanRange::parse(args, "the largest |mean| of an arm"),
        regret: RegretUnit::parse(args, "relative"),
        public: DeclaredPublic::parse(args, &DERIVED),
    };
    let files = [&plan.train, &plan.test].into_iter().flatten().cloned().collect();
    EnvironmentPlan::new(move |context| plan.build(context)).reading(files)
}

/// Numbers that policies and mechanisms take from the files.
///
/// The kernel comes from the train readings; v, c, R and B come from the readings that rewards are drawn from.
const DERIVED: [DataDerived; 3] = [DataDerived::Covariance, DataDerived::Moments, DataDerived::Range];

struct ArmsTable {
    test: Option<String>,
    train: Option<String>,
    about: Option<String>,
    arms: bool,
    header: Option<bool>,
    columns: Option<Vec<String>>,
    except: Vec<String>,
    drops_missing: bool,
    normalise: Normalise,
    synthetic: Option<SyntheticSubstitute>,
    bound: Option<MeanRange>,
    regret: RegretUnit,
    public: DeclaredPublic,
}

impl ArmsTable {
    fn read(&self, name: Option<&str>, key: &str, context: &BuildContext<'_>) -> Result<CsvTable, Error> {
        let Some(name) = name else {
            return Diagnostic::new(format!("`environment.{key}` names no file"))
                .hint(format!("add `{key} = \"FILE.csv\"`, or `synthetic = true` for a generated table"))
                .refuse();
        };
        let path = context.data.find(name, self.about.as_deref(), true)?;
        let options = CsvOptions {
            header: self.header,
            columns: self.columns.clone(),
            except: self.except.clone(),
            most_bytes: context.file_bytes(),
            ..CsvOptions::dropping(self.drops_missing)
        };
        let table = read_table(&path, &options)?;
        Ok(if self.arms { table } else { table.transposed() })
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Environment, Error> {
        let (train, test) = match &self.synthetic {
            Some(synthetic) => {
                context.allow("the synthetic tables", synthetic.needs_bytes(), "lower `arms`, `train_rows` or `test_rows`")?;
                synthetic.tables(&mut context.streams.shared(Purpose::Domain))
            }
            None => (self.read(self.train.as_deref(), "train", context)?, self.read(self.test.as_deref(), "test", context)?),
        };
        if train.columns != test.columns {
            return Diagnostic::new(format!("the train file has {} arms and the test file {}", train.columns, test.columns))
                .hint("both files must have the same arms in the same order")
                .refuse();
        }
        let index_column =
            (self.arms && self.columns.is_none() && self.synthetic.is_none()).then(|| index_column(&test)).flatten();
        let needs = 8.0 * train.columns as f64 * train.columns as f64;
        context.allow(&format!("the covariance of {} columns", train.columns), needs, "keep fewer columns")?;
        let covariance = empirical_covariance(&train.values, train.columns, self.normalise)?;
        let means = test.column_means();
        let rows = test.rows;
        let fingerprints = (train.fingerprint(), test.fingerprint());
        let also_test = fingerprints.0 == fingerprints.1;
        let train_readings = Arc::new(TrainReadings::new(&train.values, train.columns, also_test));
        let card = self.synthetic.is_none().then(|| card(self.test.as_deref().unwrap_or_default(), &test, &means));
        let noise = Arc::new(Resampled::new(test));
        let best = lowest_within_tie(&means.iter().copied().enumerate().collect::<Vec<_>>()).unwrap_or(0);
        // The mean squared reading, the papers' v.
        let readings = &noise.table().values;
        let second_moment = readings.iter().map(|reading| reading * reading).sum::<f64>() / readings.len() as f64;
        let mut facts = Facts::from([
            ("arms", means.len().into()),
            ("rows to draw from", rows.into()),
            ("best arm (1-based)", (best + 1).into()),
            ("largest mean reward", means[best].into()),
            ("R, largest |reading - mean|", noise.bound().into()),
            ("c, mean squared noise of the test readings", noise.mean_variance().into()),
            ("v, mean squared test reading", second_moment.into()),
            self.regret.fact(),
        ]);
        facts.extend(card.map(|card| ("table", card.into())));
        facts.push("fingerprint of the train readings", fingerprints.0);
        facts.push("fingerprint of the test readings", fingerprints.1);
        facts.extend(self.synthetic.map(|_| synthetic_fact()));
        let (means, bound, rounds, regret) = (Arc::new(means), self.bound, context.rounds, self.regret);
        let derived_from_rewards = self.public.split(self.synthetic.is_none(), DERIVED.map(|kind| (kind, true)));
        let gram = Arc::new(TableGram::new(train.columns, covariance));
        let draw = move |_| Instance::new(Arc::clone(&means), Arc::<Resampled>::clone(&noise), bound, rounds, regret);
        Ok(Environment {
            index_column,
            train_readings: Some(train_readings),
            derived_from_rewards,
            ..Environment::new(gram, facts, draw)
        })
    }
}

/// Returns the name of the first column if it counts up by ones, as numbers of rows and years do.
fn index_column(table: &CsvTable) -> Option<String> {
    let first: Vec<f64> = table.values.iter().step_by(table.columns).copied().collect();
    // Without the rows that were left out, a column that counts has gaps.
    let is_whole = first.iter().all(|x| libm::trunc(*x) == *x);
    let has_gaps = !table.dropped_rows.is_empty() && 3 <= first.len() && is_whole && first.is_sorted_by(|a, b| a < b);
    (counts_up(&first) || has_gaps).then(|| table.header.as_ref().map_or_else(|| "1".to_owned(), |names| names[0].clone()))
}

fn card(file: &str, table: &CsvTable, means: &[f64]) -> String {
    let spread = |numbers: &[f64]| Spread::of(numbers.iter().copied()).map_or(String::new(), |spread| spread.words());
    let dropped = dropped(table.dropped_rows.len());
    let (rows, arms) = (table.rows, table.columns);
    format!(
        "{file}: {rows} rows of {arms} arms{dropped}; readings {}; means of the arms {}",
        spread(&table.values),
        spread(means)
    )
}
