//! `privateer account`: what a mechanism or a spec costs, without running anything; or the least noise for a budget.

use super::output::say;
use super::source::SpecArgs;
use crate::deploy::{AccountOptions, DeploymentPrice, LabelledPrice, account as price, account_spec};
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::Error;
use privateer_privacy::quote::{PriceReport, short};
use privateer_privacy::{Growth, Participations, ThreatModel};
use std::fmt::Write;
use std::path::Path;

#[derive(Debug, Args)]
pub struct AccountArgs {
    /// A spec (a TOML file, also of a session), a session or release state that runs, a reward mechanism, `vector-prefix` or `gram-prefix`
    #[arg(value_name = "SPEC|SESSION|MECHANISM")]
    what: String,
    #[command(flatten)]
    options: AccountOptions,
    /// As JSON, with the composition for another accountant
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    spec: SpecArgs,
}

/// Prices what is named.
/// A claim that does not hold is exit code 1.
pub fn account(registry: &Registry, args: &AccountArgs) -> Result<(), Error> {
    let path = Path::new(&args.what);
    let report = if path.extension().is_some_and(|ending| ending == "toml") {
        let sweep = args.spec.read(registry, path)?;
        account_spec(&args.what, &sweep, &args.spec.data(path), &args.options)?
    } else {
        price(&args.what, &args.options)?
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
