//! `privateer account`: what a mechanism or a spec costs, without running anything; or the least noise for a budget.

use super::deployment::{budget, filter};
use super::output::say;
use super::price::{self, DeploymentPrice, placed};
use super::source::SpecArgs;
use crate::engine::Preparation;
use crate::registry::{MECHANISMS, Registry};
use crate::spec::Sweep;
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error, closest, suggestion};
use privateer_privacy::accounting::Loss;
use privateer_privacy::accounting::sensitivity::{Participation, Relation};
use privateer_privacy::quote::{self, PriceReport, StreamKind, StreamTerms, short};
use privateer_privacy::{
    Budget, Calibration, Delta, Epsilon, Growth, Guarantee, MechanismEntry, Participations, Request, RewardFacts, ThreatModel,
};
use std::ops::RangeInclusive;
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
    /// Refuses options that are stated and say nothing about what is priced.
    ///
    /// * `own` — the options that say something about it
    fn refuse_others(&self, own: &[&str], hint: &str) -> Result<(), Error> {
        let stated = [
            ("--epsilon", self.epsilon.is_some()),
            ("--delta", self.delta.is_some()),
            ("--answer-epsilon", self.answer_epsilon.is_some()),
            ("--sigma", self.sigma.is_some()),
            ("--calibration", self.calibration.is_some()),
            ("--clip", self.clip.is_some()),
            ("--radius", self.radius.is_some()),
            ("--factorisation", self.factorisation.is_some()),
            ("--neighbours", self.neighbours.is_some()),
            ("--separation", self.separation != 1),
            ("--budget", self.budget.is_some()),
            ("--filter", self.filter.is_some()),
        ];
        match stated.into_iter().find(|(name, stated)| *stated && !own.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                Err(Error::input(Diagnostic::new(format!("`{name}` says nothing about `{}`", self.what)).hint(hint)))
            }
        }
    }
}

/// Prices what is named.
///
/// # Errors
/// An unknown name, a missing or bad number, or whatever a run of the spec would refuse. A claim that does not hold is exit code 1.
pub fn account(registry: &Registry, args: &AccountArgs) -> Result<(), Error> {
    let mut deployment = None;
    const BUDGET: [&str; 2] = ["--epsilon", "--delta"];
    const SESSION: [&str; 2] = ["--budget", "--filter"];
    let quotes = if Path::new(&args.what).extension().is_some_and(|ending| ending == "toml") {
        args.refuse_others(&SESSION, "state it in the spec, or with `--set PATH=VALUE`")?;
        let sweep = args.spec.read(registry, Path::new(&args.what))?;
        let options = (budget(args.budget.as_deref())?, filter(args.filter.as_deref())?);
        let rounds = sweep.cells.iter().map(|plan| plan.rounds).max().unwrap_or(0);
        refuse_participations_beyond(rounds, (args.participations, 1), "rounds")?;
        match price::of_spec(&sweep, &args.spec.data(), options, args.participations)? {
            Some(price) => deployed(args, price, &mut deployment),
            None => {
                args.refuse_others(&[], "a simulation has no budget of a record: the spec has to be one of a session")?;
                of_spec(args, &sweep)?
            }
        }
    } else if let Some(entry) = MECHANISMS.iter().find(|entry| entry.name == args.what) {
        let own = [BUDGET.as_slice(), &["--answer-epsilon", "--calibration", "--clip"]].concat();
        args.refuse_others(&own, "it belongs to streams or sessions; leave it out")?;
        vec![(entry.name.to_owned(), of_rewards(args, entry)?)]
    } else if ["vector-prefix", "gram-prefix"].contains(&args.what.as_str()) {
        let own = [BUDGET.as_slice(), &["--sigma", "--radius", "--factorisation", "--neighbours", "--separation"]].concat();
        args.refuse_others(&own, "items of a stream are clipped to `--radius`, and its noise is priced with `--sigma`")?;
        vec![(args.what.clone(), of_stream(args)?)]
    } else if Path::new(&args.what).is_file() {
        args.refuse_others(&[], "what has begun keeps what it was begun with")?;
        match price::of_file(Path::new(&args.what), args.participations)? {
            Some(price) => deployed(args, price, &mut deployment),
            None => return Err(unknown(&args.what)),
        }
    } else {
        return Err(unknown(&args.what));
    };
    for (label, quote) in &quotes {
        refuse_beyond_f64(label, quote)?;
    }
    if args.json {
        let all: Vec<serde_json::Value> =
            quotes.iter().map(|(label, quote)| serde_json::json!({ "label": label, "quote": quote })).collect();
        let mut all = serde_json::json!({ "quotes": all });
        if let Some((_, json)) = deployment {
            all["deployment"] = json;
        }
        say(&all.to_string());
    } else {
        let texts: Vec<String> = quotes.iter().map(|(label, quote)| text(label, quote)).collect();
        if !texts.is_empty() {
            say(&texts.join("\n"));
        }
        if let Some((page, _)) = deployment {
            say(&format!("deployment\n{page}"));
        }
    }
    let broken: Vec<String> = quotes
        .iter()
        .filter_map(|(label, quote)| match &quote.guarantee {
            Some(doubt @ Guarantee::NoGuarantee { .. }) => Some(format!("{label}: {doubt}")),
            _ => None,
        })
        .collect();
    if broken.is_empty() { Ok(()) } else { Err(Error::CheckSaidNo(broken.join("\n"))) }
}

/// Refuses a price whose numbers f64 does not hold, though the loss is bounded.
fn refuse_beyond_f64(label: &str, quote: &PriceReport) -> Result<(), Error> {
    let positive = |x: Option<f64>| x.is_none_or(|x| x.is_finite() && 0.0 < x);
    let bounded = !quote.composition.parts().iter().any(|(loss, _)| *loss == Loss::Unbounded);
    let what = if !positive(quote.sensitivity) {
        "the sensitivity"
    } else if !positive(quote.noise_size) {
        "the noise"
    } else if bounded && quote.curve.iter().any(|point| !point.epsilon.upper.is_finite()) {
        "the privacy loss"
    } else {
        return Ok(());
    };
    Err(Error::input(
        Diagnostic::new(format!("{what} of `{}` is beyond what f64 holds", label.lines().next().unwrap_or_default()))
            .expected("options whose sensitivity, noise and loss are between 1e-300 and 1e300")
            .hint("state `--radius` or `--clip` in a unit in which values are near 1, less epsilon or more noise"),
    ))
}

/// Sets the price of a deployment beside that of one answer.
fn deployed(
    args: &AccountArgs,
    price: DeploymentPrice,
    deployment: &mut Option<(String, serde_json::Value)>,
) -> Vec<(String, PriceReport)> {
    *deployment = Some((price.text, price.json));
    price.quote.into_iter().map(|quote| (args.what.clone(), quote)).collect()
}

fn of_spec(args: &AccountArgs, sweep: &Sweep) -> Result<Vec<(String, PriceReport)>, Error> {
    let (data, backend) = (args.spec.data(), Cpu::default());
    let preparation = Preparation::new(sweep, &data, &backend);
    let mut quotes: Vec<(String, PriceReport)> = Vec::new();
    for plan in sweep.listed() {
        let facts = preparation.facts_in_short(plan).map_err(|error| plan.placed(error))?;
        // Of a cell whose inputs alone are protected, the reward has no price worth a line.
        for ledger in facts.ledger.stated() {
            let quote = PriceReport::of_ledger(ledger, args.participations).map_err(|refusal| placed(&refusal))?;
            // Cells that differ in what costs nothing share a price.
            match quotes.iter_mut().find(|(_, known)| *known == quote) {
                Some((label, _)) => label.push_str(&format!("\n{}", plan.label())),
                None => quotes.push((plan.label(), quote)),
            }
        }
    }
    Ok(quotes)
}

fn of_rewards(args: &AccountArgs, entry: &MechanismEntry) -> Result<PriceReport, Error> {
    let calibration = args.calibration.as_deref().unwrap_or("tight");
    let calibration: Calibration = calibration.parse().map_err(|_| {
        let expected = format!("one of {}", Calibration::NAMES.join(", "));
        let mut diagnostic = Diagnostic::new(format!("`--calibration` is `{calibration}`")).expected(expected);
        diagnostic.hint = suggestion(calibration, Calibration::NAMES);
        Error::input(diagnostic)
    })?;
    let clip = args.clip.as_deref().map(range).transpose()?;
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: args.horizon };
    let build = |epsilon: Option<f64>| {
        let budget = Budget::new(epsilon, args.delta)?;
        (entry.build)(&Request { mechanism: entry.name, calibration, budget, clip }, &facts)
    };
    let (epsilon, found) = match (args.answer_epsilon, args.epsilon) {
        (Some(answer), _) => (Some(answer), false),
        (None, Some(total)) => {
            let total =
                Epsilon::try_from(total).map_err(|bad| refused("--epsilon", &bad.0.to_string(), "a finite number > 0"))?;
            let delta = budget_delta(args)?;
            let answer = quote::largest_answer(|epsilon| build(Some(epsilon)), args.participations, total, delta)
                .map_err(|refusal| placed(&refusal))?;
            (Some(answer), true)
        }
        (None, None) => (None, false),
    };
    let made = build(epsilon).map_err(|refusal| placed(&refusal))?;
    let ledger = made.ledger();
    let mut quote = PriceReport::of_ledger(&ledger, args.participations).map_err(|refusal| placed(&refusal))?;
    quote.noise_size = epsilon;
    // Here the claim is of one answer, and the price of several is what was asked for.
    let of_one = matches!(ledger.guarantee, Guarantee::NoGuarantee { .. }) || args.participations == 1;
    quote.guarantee = of_one.then_some(ledger.guarantee);
    if let (true, Some(epsilon)) = (found, epsilon) {
        quote.notes.insert(0, format!("the least noise for the budget: one answer is set to epsilon = {}", short(epsilon)));
    }
    Ok(quote)
}

/// Sizes of items and of noise whose squares f64 holds.
const SIZES: RangeInclusive<f64> = 1e-150..=1e150;
const SIZES_WORDS: &str = "a number from 1e-150 to 1e150";

fn of_stream(args: &AccountArgs) -> Result<PriceReport, Error> {
    let radius = args.radius.unwrap_or(1.0);
    if !SIZES.contains(&radius) {
        return Err(refused("--radius", &short(radius), SIZES_WORDS));
    }
    if !(1..=10_000_000).contains(&args.horizon) {
        return Err(refused("--horizon", &args.horizon.to_string(), "1 to 10000000 rounds"));
    }
    let relation = match args.neighbours.as_deref().unwrap_or("replace") {
        "replace" => Relation::Replace,
        "add-remove" => Relation::AddRemove,
        other => return Err(refused("--neighbours", &format!("`{other}`"), "one of replace, add-remove")),
    };
    let names = format!("one of {}", quote::FACTORISATIONS.join(", "));
    let factorisation = args.factorisation.as_deref().unwrap_or("blt");
    let Some(factorisation) = quote::factorisation(factorisation, args.horizon) else {
        return Err(refused("--factorisation", &format!("`{factorisation}`"), &names));
    };
    let what = match args.what.as_str() {
        "gram-prefix" => StreamKind::Gram { reward: radius },
        _ => StreamKind::Vector { radius },
    };
    refuse_participations_beyond(args.horizon, (args.participations, args.separation), "--horizon")?;
    let terms =
        StreamTerms { relation, participation: Participation { count: args.participations, separation: args.separation } };
    let sigma = match (args.sigma, args.epsilon) {
        (Some(sigma), _) if SIZES.contains(&sigma) => sigma,
        (Some(sigma), _) => return Err(refused("--sigma", &short(sigma), SIZES_WORDS)),
        (None, Some(epsilon)) => {
            let epsilon =
                Epsilon::try_from(epsilon).map_err(|bad| refused("--epsilon", &bad.0.to_string(), "a finite number > 0"))?;
            let Some(delta) = budget_delta(args)? else {
                return Err(refused("--delta", "not stated", "a number > 0 and < 1: Gaussian noise has no pure loss"));
            };
            quote::least_sigma(&what, terms, factorisation.as_ref(), (epsilon, delta))
        }
        (None, None) => {
            return Err(Error::input(
                Diagnostic::new(format!("`{}` needs a noise or a budget", args.what))
                    .expected("`--sigma S`, or `--epsilon E --delta D`")
                    .hint("with a budget the least noise for it is found"),
            ));
        }
    };
    Ok(PriceReport::of_stream(&what, terms, factorisation.as_ref(), sigma))
}

/// Refuses participations for which the rounds do not suffice.
///
/// * `stated` — participations, and the least distance in rounds between two of them
fn refuse_participations_beyond(rounds: u64, stated: (u64, u64), key: &str) -> Result<(), Error> {
    let (count, separation) = stated;
    let most = rounds.saturating_sub(1) / separation + 1;
    if count <= most {
        return Ok(());
    }
    let apart = if separation == 1 { String::new() } else { format!(" that are {separation} rounds apart") };
    Err(Error::input(
        Diagnostic::new(format!("`--participations` is {count}, and {rounds} rounds have room for {most}{apart}"))
            .expected(format!("a whole number from 1 to {most}"))
            .hint(format!("state fewer, or more rounds (`{key}`)")),
    ))
}

fn budget_delta(args: &AccountArgs) -> Result<Option<Delta>, Error> {
    match args.delta {
        None | Some(0.0) => Ok(None),
        Some(delta) => {
            Delta::try_from(delta).map(Some).map_err(|bad| refused("--delta", &bad.0.to_string(), "a number >= 0 and < 1"))
        }
    }
}

/// Reads `LO,HI`.
///
/// # Errors
/// A text that is not two numbers.
pub fn range(text: &str) -> Result<(f64, f64), Error> {
    let number = |part: &str| part.trim().parse::<f64>().ok();
    text.split_once(',')
        .and_then(|(lo, hi)| Some((number(lo)?, number(hi)?)))
        .ok_or_else(|| refused("--clip", &format!("`{text}`"), "two numbers, as in `--clip -1,1`"))
}

fn refused(option: &str, found: &str, expected: &str) -> Error {
    Error::input(Diagnostic::new(format!("`{option}` is {found}")).expected(expected))
}

fn unknown(what: &str) -> Error {
    let names: Vec<&str> = MECHANISMS.iter().map(|entry| entry.name).chain(["vector-prefix", "gram-prefix"]).collect();
    let diagnostic = Diagnostic::new(format!("`{what}` is no spec and no mechanism"))
        .expected(format!("a file ending in `.toml`, or one of {}", names.join(", ")));
    Error::input(match closest(what, names.iter().copied()) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic,
    })
}

/// Returns the participations that are priced, and what the stated claim covers where that is fewer.
fn participations(quote: &PriceReport) -> String {
    let Participations { covered, growth } = quote.threat_model.participations;
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
