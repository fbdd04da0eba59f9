//! `privateer account`: what a mechanism or a spec costs, without running anything; or the least noise for a budget.

use super::budget_args::{budget, filter};
use super::output::say;
use super::source::SpecArgs;
use crate::deploy::{AccountOptions, DeploymentPrice, LabelledPrice, account as price, account_spec};
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::{Diagnostic, Error, suggestion};
use privateer_privacy::accounting::sensitivity::Relation;
use privateer_privacy::quote::{PriceReport, short};
use privateer_privacy::{Calibration, Growth, Participations, ThreatModel};
use std::fmt::Write;
use std::path::Path;

/// Arguments of `privateer account`.
#[derive(Debug, Args)]
pub struct AccountArgs {
    /// A spec (a TOML file, also of a session), a session or release state that runs, a reward mechanism, `vector-prefix` or `gram-prefix`
    #[arg(value_name = "SPEC|SESSION|MECHANISM")]
    what: String,
    /// Total privacy loss of one user: finds the least noise for it
    #[arg(long, allow_negative_numbers = true, value_name = "E", conflicts_with_all = ["answer_epsilon", "sigma"])]
    epsilon: Option<f64>,
    /// Failure probability of that budget (0 or left out: pure)
    #[arg(long, allow_negative_numbers = true, value_name = "D")]
    delta: Option<f64>,
    /// Privacy loss that a reward mechanism is set to for one answer: prices it
    #[arg(long, allow_negative_numbers = true, value_name = "E")]
    answer_epsilon: Option<f64>,
    /// Standard deviation of a draw of a stream: prices it
    #[arg(long, allow_negative_numbers = true, value_name = "S")]
    sigma: Option<f64>,
    /// Which calibration of the paper, of a reward mechanism [default: tight]
    #[arg(long, value_name = "NAME")]
    calibration: Option<String>,
    /// Range to which rewards are clipped
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
    clip: Option<String>,
    /// Clip of a stream's items: |y| of `gram-prefix`, the L2 norm of `vector-prefix` [default: 1]
    #[arg(long, allow_negative_numbers = true, value_name = "Y")]
    radius: Option<f64>,
    /// Rounds of a stream
    #[arg(long, value_name = "T", default_value_t = 1000)]
    horizon: u64,
    /// How a stream's noise is made: blt, tree, honaker, sqrt-toeplitz [default: blt]
    #[arg(long, value_name = "NAME")]
    factorisation: Option<String>,
    /// Neighbouring streams: replace, add-remove [default: replace]
    #[arg(long, value_name = "NAME")]
    neighbours: Option<String>,
    /// Rounds in which one user takes part
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    participations: u64,
    /// Least distance in rounds between two of them
    #[arg(long, value_name = "ROUNDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    separation: u64,
    /// Budget of each record of a session, as in `epsilon=4,delta=1e-6`: how many answers it allows
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
    /// How answers about one record of a session add up: sum (of epsilon), zcdp, gaussian-dp [default: the mechanism's own]
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// As JSON, with the composition for another accountant
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    spec: SpecArgs,
}

impl AccountArgs {
    fn options(&self) -> Result<AccountOptions, Error> {
        let calibration = |name: &str| {
            name.parse().map_err(|_| {
                let expected = format!("one of {}", Calibration::NAMES.join(", "));
                let mut diagnostic = Diagnostic::new(format!("`--calibration` is `{name}`")).expected(expected);
                diagnostic.hint = suggestion(name, Calibration::NAMES);
                Error::input(diagnostic)
            })
        };
        let neighbours = |name: &str| match name {
            "replace" => Ok(Relation::Replace),
            "add-remove" => Ok(Relation::AddRemove),
            other => Err(refused("--neighbours", other, "one of replace, add-remove")),
        };
        Ok(AccountOptions {
            epsilon: self.epsilon,
            delta: self.delta,
            answer_epsilon: self.answer_epsilon,
            sigma: self.sigma,
            calibration: self.calibration.as_deref().map(calibration).transpose()?,
            clip: self.clip.as_deref().map(range).transpose()?,
            radius: self.radius,
            horizon: Some(self.horizon),
            factorisation: self.factorisation.clone(),
            neighbours: self.neighbours.as_deref().map(neighbours).transpose()?,
            participations: Some(self.participations),
            separation: Some(self.separation),
            budget: budget(self.budget.as_deref())?,
            filter: filter(self.filter.as_deref())?,
        })
    }
}

/// Prices what is named.
///
/// # Errors
/// An unknown name, a missing or bad number, or whatever a run of the spec would refuse. A claim that does not hold is exit code 1.
pub fn account(registry: &Registry, args: &AccountArgs) -> Result<(), Error> {
    let (path, options) = (Path::new(&args.what), args.options()?);
    let report = if path.extension().is_some_and(|ending| ending == "toml") {
        let sweep = args.spec.read(registry, path)?;
        account_spec(&args.what, &sweep, &args.spec.data(), &options)?
    } else {
        price(&args.what, &options)?
    };
    if args.json {
        say(&serde_json::json!(report).to_string());
    } else {
        let texts: Vec<String> = report.quotes.iter().map(|LabelledPrice { label, quote }| text(label, quote)).collect();
        if !texts.is_empty() {
            say(&texts.join("\n"));
        }
        if let Some(price) = &report.deployment {
            say(&format!("deployment\n{}", deployment_text(price)));
        }
    }
    report.broken_claims().map_or(Ok(()), |broken| Err(Error::CheckSaidNo(broken)))
}

/// Reads `LO,HI`.
///
/// # Errors
/// A text that is not two numbers.
pub fn range(text: &str) -> Result<(f64, f64), Error> {
    let number = |part: &str| part.trim().parse::<f64>().ok();
    text.split_once(',')
        .and_then(|(lo, hi)| Some((number(lo)?, number(hi)?)))
        .ok_or_else(|| refused("--clip", text, "two numbers, as in `--clip -1,1`"))
}

fn refused(option: &str, found: &str, expected: &str) -> Error {
    Diagnostic::new(format!("`{option}` is `{found}`")).expected(expected).error()
}

/// Returns the participations that are priced, and what the stated claim covers where that is fewer.
fn participations(quote: &PriceReport) -> String {
    let Participations { covered, growth, .. } = quote.threat_model.participations;
    if quote.participations == covered {
        return quote.threat_model.participations.to_string();
    }
    let how = match growth {
        Growth::SeparateReleases => "separate releases, composed",
        Growth::OneStream => "one stream, as a group",
        Growth::Unpriced => "not priced",
    };
    let claim = if quote.guarantee.is_some() { format!("; the claim covers {covered}") } else { String::new() };
    format!("{} ({how}){claim}", quote.participations)
}

fn text(label: &str, quote: &PriceReport) -> String {
    let mut lines = vec![label.to_owned()];
    let mut line = |name: &str, value: &str| lines.push(format!("  {name:15}{value}"));
    line("event", &quote.event);
    let ThreatModel { adversary, unit, .. } = &quote.threat_model;
    line("protects", &unit.to_string());
    line("against", &adversary.to_string());
    line("neighbours", &quote.threat_model.neighbours_words());
    line("not protected", quote.threat_model.not_protected());
    line("participations", &participations(quote));
    line("sensitivity", &quote.sensitivity.map_or("unbounded".to_owned(), short));
    line("", &quote.derivation);
    line("noise", &quote.noise);
    line("pure epsilon", &quote.pure_epsilon.map_or("none".to_owned(), short));
    if let Some(guarantee) = &quote.guarantee {
        line("claim", &guarantee.to_string());
    }
    if let Some(first) = quote.curve.first() {
        line("epsilon(delta)", &first.epsilon.method.to_string());
    }
    for point in &quote.curve {
        let (lower, upper) = (short(point.epsilon.lower), short(point.epsilon.upper));
        let shown = if !point.epsilon.upper.is_finite() {
            "infinite".to_owned()
        } else if lower == upper {
            upper
        } else {
            format!("{upper} (at least {lower})")
        };
        line("", &format!("{:>7}  {shown}", format!("{:e}", point.delta)));
    }
    for note in &quote.notes {
        line("note", note);
    }
    lines.join("\n")
}

/// Returns what answers about one record cost together, as lines.
fn deployment_text(price: &DeploymentPrice) -> String {
    let spent = price.spent.as_ref().map(|spent| spent.page());
    let Some(answers) = &price.answers else {
        let open = || "  no reward mechanism: every answer is in the open\n".to_owned();
        return spent.unwrap_or_else(open);
    };
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {name:15}{value}");
    };
    let often = answers.rounds.map_or(String::new(), |n| format!("; one record can be asked for in each of {n} rounds"));
    line("answers", &format!("of one record, chosen adaptively{often}"));
    line("", &format!("{:>7}  {:>12}  {:>12}  {:>12}", "answers", "sum", "zcdp", "gaussian-dp"));
    for price in &answers.answers {
        let shown =
            [price.sum, price.zcdp, price.gaussian_dp].map(|loss| loss.map_or("no bound".to_owned(), |loss| short(loss.epsilon)));
        line("", &format!("{:>7}  {:>12}  {:>12}  {:>12}", price.answers, shown[0], shown[1], shown[2]));
    }
    if let Some(delta) = answers.shown_delta {
        line("", &format!("epsilon of zcdp and gaussian-dp at delta = {}", short(delta.get())));
    }
    line("filter", &format!("{}: {}", answers.filter, answers.theorem));
    match (answers.budget, answers.most_answers) {
        (Some(budget), Some(most)) => line(
            "budget",
            &format!("{budget}: at most {most} answers about a record that has spent nothing, then the session stops"),
        ),
        _ => line("budget", "none: nothing stops the answers; `--budget epsilon=E,delta=D` prices one"),
    }
    if let Some(spent) = spent {
        text.push_str("spent so far\n");
        text.push_str(&spent);
    }
    text
}
