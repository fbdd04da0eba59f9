//! Prices a spec, a mechanism, a stream or a running deployment, or finds the least noise for a budget.

#[cfg(feature = "cli")]
use super::options::{one_of, range};
use super::price::{self, DeploymentPrice, placed};
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error, closest};
use privateer_engine::engine::Preparation;
use privateer_engine::env::DataFolder;
use privateer_engine::registry::MECHANISMS;
use privateer_engine::spec::Sweep;
use privateer_privacy::accounting::Loss;
use privateer_privacy::accounting::sensitivity::{Participation, Relation};
use privateer_privacy::odometer::{FilterKind, PrivacyBudget};
use privateer_privacy::quote::{self, PriceReport, StreamKind, StreamTerms, short};
use privateer_privacy::{Budget, Calibration, Delta, Epsilon, Guarantee, MechanismEntry, Request, RewardFacts};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::path::Path;

/// The noise or the budget that is priced, as the options of `privateer account` state it.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct AccountOptions {
    /// Total privacy loss of one user: finds the least noise for it
    #[cfg_attr(
        feature = "cli",
        arg(long, allow_negative_numbers = true, value_name = "E", conflicts_with_all = ["answer_epsilon", "sigma"])
    )]
    pub epsilon: Option<f64>,
    /// Failure probability of that budget (0 or left out: pure)
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "D"))]
    pub delta: Option<f64>,
    /// Privacy loss that a reward mechanism is set to for one answer: prices it
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "E"))]
    pub answer_epsilon: Option<f64>,
    /// Standard deviation of a draw of a stream: prices it
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "S"))]
    pub sigma: Option<f64>,
    /// Which calibration of the paper, of a reward mechanism [default: tight]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", value_parser = one_of::<Calibration>(&Calibration::NAMES)))]
    pub calibration: Option<Calibration>,
    /// Range to which rewards are clipped
    #[cfg_attr(feature = "cli", arg(long, value_name = "LO,HI", allow_hyphen_values = true, value_parser = range))]
    pub clip: Option<(f64, f64)>,
    /// Clip of a stream's items: |y| of `gram-prefix`, the L2 norm of `vector-prefix` [default: 1]
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "Y"))]
    pub radius: Option<f64>,
    /// Rounds of a stream [default: 1000]
    #[cfg_attr(feature = "cli", arg(long, value_name = "T"))]
    pub horizon: Option<u64>,
    /// How a stream's noise is made: blt, tree, honaker, sqrt-toeplitz, banded-toeplitz, normalised-toeplitz [default: blt]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub factorisation: Option<String>,
    /// Neighbouring streams: replace, add-remove [default: replace]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", value_parser = one_of::<Relation>(&["replace", "add-remove"])))]
    pub neighbours: Option<Relation>,
    /// Rounds in which one user takes part [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "K"))]
    pub participations: Option<u64>,
    /// Least distance in rounds between two of them [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "ROUNDS"))]
    pub separation: Option<u64>,
    /// Budget of each record of a session, as in `epsilon=4,delta=1e-6`: how many answers it allows
    #[cfg_attr(feature = "cli", arg(long, value_name = "BUDGET"))]
    #[serde(skip)]
    pub budget: Option<PrivacyBudget>,
    /// How answers about one record of a session add up: sum (of epsilon), zcdp, gaussian-dp [default: the mechanism's own]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    #[serde(skip)]
    pub filter: Option<FilterKind>,
}

impl AccountOptions {
    fn participations(&self) -> u64 {
        self.participations.unwrap_or(1)
    }

    fn horizon(&self) -> u64 {
        self.horizon.unwrap_or(1000)
    }

    /// Refuses numbers without meaning, and a budget beside the noise that it would set.
    fn check(&self) -> Result<(), Error> {
        for (name, number) in [("--participations", self.participations), ("--separation", self.separation)] {
            if number == Some(0) {
                return Err(refused(name, "0", "a whole number from 1"));
            }
        }
        let noise = [("--answer-epsilon", self.answer_epsilon.is_some()), ("--sigma", self.sigma.is_some())];
        match noise.into_iter().find(|(_, stated)| *stated && self.epsilon.is_some()) {
            None => Ok(()),
            Some((name, _)) => Diagnostic::new(format!("`--epsilon` and `{name}` are both stated"))
                .expected("a budget, for which the least noise is found, or a noise, which is priced")
                .refuse(),
        }
    }

    /// Refuses options that are stated and say nothing about what is priced.
    ///
    /// * `own` — the options that say something about it
    fn refuse_others(&self, what: &str, own: &[&str], hint: &str) -> Result<(), Error> {
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
            ("--separation", self.separation.is_some_and(|separation| separation != 1)),
            ("--budget", self.budget.is_some()),
            ("--filter", self.filter.is_some()),
        ];
        match stated.into_iter().find(|(name, stated)| *stated && !own.contains(name)) {
            None => Ok(()),
            Some((name, _)) => Diagnostic::new(format!("`{name}` says nothing about `{what}`")).hint(hint).refuse(),
        }
    }
}

/// The prices of what was named.
#[derive(Debug, Serialize)]
pub struct AccountReport {
    /// One price for a mechanism; for a spec, one for each distinct price of its cells.
    pub quotes: Vec<LabelledPrice>,
    /// What answers about one record cost together, for a session, a release state or an odometer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<DeploymentPrice>,
}

/// A price and whose it is.
#[derive(Debug, Serialize)]
pub struct LabelledPrice {
    /// A mechanism, a file or the labels of cells, one a line.
    pub label: String,
    /// The price.
    pub quote: PriceReport,
}

impl AccountReport {
    /// Returns the claims that do not hold, one a line; `None` where all hold.
    #[must_use]
    pub fn broken_claims(&self) -> Option<String> {
        let broken = |LabelledPrice { label, quote }: &LabelledPrice| match &quote.guarantee {
            Some(doubt @ Guarantee::NoGuarantee { .. }) => Some(format!("{label}: {doubt}")),
            _ => None,
        };
        let broken: Vec<String> = self.quotes.iter().filter_map(broken).collect();
        (!broken.is_empty()).then(|| broken.join("\n"))
    }

    fn checked(self) -> Result<Self, Error> {
        self.quotes.iter().try_for_each(|price| refuse_beyond_f64(&price.label, &price.quote))?;
        Ok(self)
    }

    fn of_deployment(label: &str, (quote, deployment): (Option<PriceReport>, DeploymentPrice)) -> Self {
        let quotes = quote.into_iter().map(|quote| LabelledPrice { label: label.to_owned(), quote }).collect();
        Self { quotes, deployment: Some(deployment) }
    }
}

/// Prices the spec of a session or of a simulation.
///
/// * `name` — the name of the spec in messages
///
/// # Errors
/// Options that say nothing about a spec, or whatever a run of the spec would refuse.
pub fn account_spec(name: &str, sweep: &Sweep, data: &DataFolder, options: &AccountOptions) -> Result<AccountReport, Error> {
    options.check()?;
    options.refuse_others(name, &["--budget", "--filter"], "state it in the spec, or with `--set PATH=VALUE`")?;
    let rounds = sweep.cells.iter().map(|plan| plan.rounds).max().unwrap_or(0);
    refuse_participations_beyond(rounds, (options.participations(), 1), "rounds")?;
    match price::of_spec(sweep, data, (options.budget, options.filter), options.participations())? {
        Some(price) => AccountReport::of_deployment(name, price).checked(),
        None => {
            let hint = "a simulation has no budget of a record: the spec has to be one of a session";
            options.refuse_others(name, &[], hint)?;
            of_cells(sweep, data, options.participations())?.checked()
        }
    }
}

/// Prices a reward mechanism, a stream, or the file of a session, release state or odometer.
///
/// # Errors
/// An unknown name, a missing or bad number, an option that says nothing about what is named.
pub fn account(what: &str, options: &AccountOptions) -> Result<AccountReport, Error> {
    options.check()?;
    let quote = if let Some(entry) = MECHANISMS.iter().find(|entry| entry.name == what) {
        let own = ["--epsilon", "--delta", "--answer-epsilon", "--calibration", "--clip"];
        options.refuse_others(what, &own, "it belongs to streams or sessions; leave it out")?;
        of_rewards(options, entry)?
    } else if ["vector-prefix", "gram-prefix"].contains(&what) {
        let own = ["--epsilon", "--delta", "--sigma", "--radius", "--factorisation", "--neighbours", "--separation"];
        let hint = "items of a stream are clipped to `--radius`, and its noise is priced with `--sigma`";
        options.refuse_others(what, &own, hint)?;
        of_stream(what, options)?
    } else if Path::new(what).is_file() {
        options.refuse_others(what, &[], "what has begun keeps what it was begun with")?;
        let price = price::of_file(Path::new(what), options.participations())?.ok_or_else(|| unknown(what))?;
        return AccountReport::of_deployment(what, price).checked();
    } else {
        return Err(unknown(what));
    };
    AccountReport { quotes: vec![LabelledPrice { label: what.to_owned(), quote }], deployment: None }.checked()
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
    Diagnostic::new(format!("{what} of `{}` is beyond what f64 holds", label.lines().next().unwrap_or_default()))
        .expected("options whose sensitivity, noise and loss are between 1e-300 and 1e300")
        .hint("state `--radius` or `--clip` in a unit in which values are near 1, less epsilon or more noise")
        .refuse()
}

fn of_cells(sweep: &Sweep, data: &DataFolder, participations: u64) -> Result<AccountReport, Error> {
    let backend = Cpu::default();
    let preparation = Preparation::new(sweep, data, &backend);
    let mut quotes: Vec<LabelledPrice> = Vec::new();
    for plan in sweep.listed() {
        let facts = preparation.facts_in_short(plan).map_err(|error| plan.placed(error))?;
        // Of a cell whose inputs alone are protected, the reward has no price worth a line.
        for ledger in facts.ledger.stated() {
            let quote = PriceReport::of_ledger(ledger, participations).map_err(|refusal| placed(&refusal))?;
            // Cells that differ in what costs nothing share a price.
            match quotes.iter_mut().find(|known| known.quote == quote) {
                Some(known) => known.label.push_str(&format!("\n{}", plan.label())),
                None => quotes.push(LabelledPrice { label: plan.label(), quote }),
            }
        }
    }
    Ok(AccountReport { quotes, deployment: None })
}

fn of_rewards(options: &AccountOptions, entry: &MechanismEntry) -> Result<PriceReport, Error> {
    let (calibration, clip) = (options.calibration.unwrap_or_default(), options.clip);
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: options.horizon() };
    let build = |epsilon: Option<f64>| {
        let budget = Budget::new(epsilon, options.delta)?;
        (entry.build)(&Request { mechanism: entry.name, calibration, budget, clip }, &facts)
    };
    let (epsilon, found) = match (options.answer_epsilon, options.epsilon) {
        (Some(answer), _) => (Some(answer), false),
        (None, Some(total)) => {
            let total = total_epsilon(total)?;
            let delta = budget_delta(options)?;
            let answer = quote::largest_answer(|epsilon| build(Some(epsilon)), options.participations(), total, delta)
                .map_err(|refusal| placed(&refusal))?;
            (Some(answer), true)
        }
        (None, None) => (None, false),
    };
    let made = build(epsilon).map_err(|refusal| placed(&refusal))?;
    let ledger = made.ledger();
    let mut quote = PriceReport::of_ledger(&ledger, options.participations()).map_err(|refusal| placed(&refusal))?;
    quote.noise_size = epsilon;
    // Here the claim is of one answer, and the price of several is what was asked for.
    let of_one = matches!(ledger.guarantee, Guarantee::NoGuarantee { .. }) || options.participations() == 1;
    quote.guarantee = of_one.then_some(ledger.guarantee);
    if let (true, Some(epsilon)) = (found, epsilon) {
        quote.notes.insert(0, format!("the least noise for the budget: one answer is set to epsilon = {}", short(epsilon)));
    }
    Ok(quote)
}

/// Sizes of items and of noise whose squares f64 holds.
const SIZES: RangeInclusive<f64> = 1e-150..=1e150;
const SIZES_WORDS: &str = "a number from 1e-150 to 1e150";

fn of_stream(what: &str, options: &AccountOptions) -> Result<PriceReport, Error> {
    let separation = options.separation.unwrap_or(1);
    let radius = options.radius.unwrap_or(1.0);
    if !SIZES.contains(&radius) {
        return Err(refused("--radius", &short(radius), SIZES_WORDS));
    }
    if !(1..=10_000_000).contains(&options.horizon()) {
        return Err(refused("--horizon", &options.horizon().to_string(), "1 to 10000000 rounds"));
    }
    let participation = Participation { count: options.participations(), separation };
    let relation = options.neighbours.unwrap_or(Relation::Replace);
    refuse_participations_beyond(options.horizon(), (options.participations(), separation), "--horizon")?;
    let names = format!("one of {}", quote::FACTORISATIONS.join(", "));
    let factorisation = options.factorisation.as_deref().unwrap_or("blt");
    let Some(factorisation) = quote::factorisation(factorisation, options.horizon(), participation) else {
        return Err(refused("--factorisation", &format!("`{factorisation}`"), &names));
    };
    let kind = match what {
        "gram-prefix" => StreamKind::Gram { reward: radius },
        _ => StreamKind::Vector { radius },
    };
    let terms = StreamTerms { relation, participation };
    let sigma = match (options.sigma, options.epsilon) {
        (Some(sigma), _) if SIZES.contains(&sigma) => sigma,
        (Some(sigma), _) => return Err(refused("--sigma", &short(sigma), SIZES_WORDS)),
        (None, Some(epsilon)) => {
            let epsilon = total_epsilon(epsilon)?;
            let Some(delta) = budget_delta(options)? else {
                return Err(refused("--delta", "not stated", "a number > 0 and < 1: Gaussian noise has no pure loss"));
            };
            quote::least_sigma(&kind, terms, factorisation.as_ref(), (epsilon, delta))
        }
        (None, None) => {
            return Diagnostic::new(format!("`{what}` needs a noise or a budget"))
                .expected("`--sigma S`, or `--epsilon E --delta D`")
                .hint("with a budget the least noise for it is found")
                .refuse();
        }
    };
    Ok(PriceReport::of_stream(&kind, terms, factorisation.as_ref(), sigma))
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
    Diagnostic::new(format!("`--participations` is {count}, and {rounds} rounds have room for {most}{apart}"))
        .expected(format!("a whole number from 1 to {most}"))
        .hint(format!("state fewer, or more rounds (`{key}`)"))
        .refuse()
}

fn total_epsilon(epsilon: f64) -> Result<Epsilon, Error> {
    Epsilon::try_from(epsilon).map_err(|bad| refused("--epsilon", &bad.value.to_string(), "a finite number > 0"))
}

fn budget_delta(options: &AccountOptions) -> Result<Option<Delta>, Error> {
    match options.delta {
        None | Some(0.0) => Ok(None),
        Some(delta) => {
            Delta::try_from(delta).map(Some).map_err(|bad| refused("--delta", &bad.value.to_string(), "a number >= 0 and < 1"))
        }
    }
}

fn refused(option: &str, found: &str, expected: &str) -> Error {
    Diagnostic::new(format!("`{option}` is {found}")).expected(expected).error()
}

fn unknown(what: &str) -> Error {
    let names: Vec<&str> = MECHANISMS.iter().map(|entry| entry.name).chain(["vector-prefix", "gram-prefix"]).collect();
    let diagnostic = Diagnostic::new(format!("`{what}` is no spec and no mechanism"))
        .expected(format!("a file ending in `.toml`, or one of {}", names.join(", ")));
    let hint = closest(what, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    Diagnostic { hint, ..diagnostic }.error()
}
