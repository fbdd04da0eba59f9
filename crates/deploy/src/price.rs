//! Prices a deployment: before it starts, from the spec of its session, and while it runs, from a session's file.

use super::failure::bad_budget;
use super::file::{DeploymentFile, Side};
use super::ledger::read_open;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::{Preparation, Session};
use privateer_engine::env::DataFolder;
use privateer_engine::spec::Sweep;
use privateer_privacy::odometer::{DeploymentForm, DeploymentLedger, FilterKind, Odometer, PrivacyBudget, Spend, SpendRefusal};
use privateer_privacy::quote::PriceReport;
use privateer_privacy::{Delta, Ledger, Refusal};
use serde::Serialize;
use std::path::Path;

/// Numbers of answers about one record that are priced.
const COUNTS: [u64; 8] = [1, 2, 3, 5, 10, 20, 50, 100];
/// Delta at which concentrated and Gaussian sums are read where nothing states one.
const SHOWN_DELTA: f64 = 1e-6;

/// The price of one answer, and of several.
type Priced = (Option<PriceReport>, DeploymentPrice);

/// What the answers about one record cost together.
#[derive(Debug, Serialize)]
pub struct DeploymentPrice {
    /// The prices of several answers; `None` for an odometer, and where answers pass no mechanism.
    #[serde(flatten)]
    pub answers: Option<AnswerPrices>,
    /// What the records of an odometer have spent; `None` for anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<DeploymentLedger>,
}

/// The prices of adaptively chosen answers about one record.
#[derive(Debug, Serialize)]
pub struct AnswerPrices {
    /// One price for each number of answers, ascending.
    pub answers: Vec<AnswersPrice>,
    /// How losses add up.
    pub filter: FilterKind,
    /// The theorem behind it, with its source.
    pub theorem: &'static str,
    /// What one record may spend; `None` without a bound.
    pub budget: Option<PrivacyBudget>,
    /// Number of answers about a record that has spent nothing before its budget stops it.
    pub most_answers: Option<u64>,
    /// Delta at which epsilons of `zcdp` and `gaussian-dp` are read.
    #[serde(skip)]
    pub shown_delta: Option<Delta>,
    /// Number of rounds in which a record can be asked for; `None` where no round is the last.
    #[serde(skip)]
    pub rounds: Option<u64>,
}

/// The price of several answers about one record by each filter; `None` where a filter has no bound.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AnswersPrice {
    /// Number of answers.
    pub answers: u64,
    /// By the sum of epsilons.
    pub sum: Option<ComposedLoss>,
    /// By zCDP.
    pub zcdp: Option<ComposedLoss>,
    /// By Gaussian DP.
    pub gaussian_dp: Option<ComposedLoss>,
}

/// A loss that adds up over several answers.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ComposedLoss {
    /// Epsilon, above 0.
    pub epsilon: f64,
    /// Delta, in `0 .. 1`.
    pub delta: f64,
}

/// Returns the price of a session that a spec describes; `None` for a spec of a simulation.
pub fn of_spec(
    sweep: &Sweep,
    data: &DataFolder,
    options: (Option<PrivacyBudget>, Option<FilterKind>),
    participations: u64,
) -> Result<Option<Priced>, Error> {
    let backend = Cpu::default();
    let preparation = Preparation::new(sweep, data, &backend);
    let [plan] = sweep.listed() else { return Ok(None) };
    if !preparation.tells_rewards(plan).map_err(|error| plan.placed(error))? {
        return Ok(None);
    }
    let session = Session::start(sweep, &preparation)?;
    let ledger = session.ledger(DeploymentForm::TrustedCurator);
    let ((n, _), (_, rounds)) = (session.points(), session.progress());
    let spend = session.spend(DeploymentForm::TrustedCurator, "", "reward", 0);
    let (budget, filter) = options;
    let filter = filter.or_else(|| spend.as_ref().map(Spend::natural_filter));
    let own = filter.map(|filter| Odometer::new(filter, budget, Some(n as u64))).transpose().map_err(|why| bad_budget(&why))?;
    price(&ledger, spend.as_ref(), own.as_ref(), Some(rounds), participations).map(Some)
}

/// Returns the price of a session, a release state or an odometer that runs; `None` for another file.
pub fn of_file(path: &Path, participations: u64) -> Result<Option<Priced>, Error> {
    if !DeploymentFile::is_one(path)? {
        return Ok(None);
    }
    let file = DeploymentFile::open_to_read(path)?;
    let session = file.sessions()?.into_iter().next();
    let first = file.columns(Side::Own)?.into_iter().find(|column| column.is_own);
    let Some((first, ledger)) = first.and_then(|column| column.ledger.clone().map(|ledger| (column, ledger))) else {
        let odometer = read_open(&file, None)?.odometer;
        return Ok(Some((None, DeploymentPrice { answers: None, spent: Some(odometer.ledger()) })));
    };
    let own = if first.spend.is_some() { Some(read_open(&file, None)?.odometer) } else { None };
    // A session asks for some record at most once a round of its spec; a data holder knows of no last round.
    let text = session.and_then(|session| session.spec.parse::<toml::Table>().ok());
    let rounds = text.and_then(|spec| u64::try_from(spec.get("rounds")?.as_integer()?).ok());
    let mut price = price(&ledger, first.spend.as_ref(), own.as_ref(), rounds, participations)?;
    price.1.spent = own.as_ref().map(Odometer::ledger);
    Ok(Some(price))
}

fn price(
    ledger: &Ledger,
    spend: Option<&Spend>,
    own: Option<&Odometer>,
    rounds: Option<u64>,
    participations: u64,
) -> Result<Priced, Error> {
    let quote = PriceReport::of_ledger(ledger, participations).map_err(|refusal| placed(&refusal))?;
    let (Some(spend), Some(own)) = (spend, own) else {
        return Ok((Some(quote), DeploymentPrice { answers: None, spent: None }));
    };
    let stated = own.budget().and_then(|budget| budget.delta).or_else(|| Delta::try_from(spend.delta).ok());
    let delta = stated.or_else(|| Delta::try_from(SHOWN_DELTA).ok());
    let counts = COUNTS.into_iter().filter(|count| rounds.is_none_or(|rounds| *count < rounds)).chain(rounds);
    let answers = counts.map(|count| {
        let many = Spend { count, ..spend.clone() };
        let read = |filter: FilterKind| {
            let (epsilon, delta) = filter.read(many.cost(filter, &spend.loss.named())?, delta);
            Some(ComposedLoss { epsilon, delta })
        };
        let [sum, zcdp, gaussian_dp] = [FilterKind::Sum, FilterKind::Zcdp, FilterKind::GaussianDp].map(read);
        AnswersPrice { answers: count, sum, zcdp, gaussian_dp }
    });
    let prices = AnswerPrices {
        answers: answers.collect(),
        filter: own.filter(),
        theorem: own.filter().theorem(),
        budget: own.budget(),
        most_answers: own.budget().map(|_| most_answers(own, spend)),
        shown_delta: delta,
        rounds,
    };
    Ok((Some(quote), DeploymentPrice { answers: Some(prices), spent: None }))
}

/// Returns how often a record that has spent nothing can be asked for before its budget stops it.
fn most_answers(own: &Odometer, spend: &Spend) -> u64 {
    let Ok(fresh) = Odometer::new(own.filter(), own.budget(), None) else { return 0 };
    let keeps = |count: u64| !matches!(fresh.check(&Spend { count, ..spend.clone() }), Err(SpendRefusal::Exceeded { .. }));
    let (mut yes, mut no) = (0, 1);
    while keeps(no) && no < 1 << 40 {
        (yes, no) = (no, 2 * no);
    }
    while 1 < no - yes {
        let middle = yes + (no - yes) / 2;
        if keeps(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

pub fn placed(refusal: &Refusal) -> Error {
    let mut diagnostic = Diagnostic::new(refusal.message.clone()).expected(refusal.expected.clone());
    diagnostic.hint = Some(match refusal.key {
        "epsilon" => "state `--epsilon E` (total budget) or `--answer-epsilon E` (one answer)".to_owned(),
        "participations" => "steps on secretly drawn samples are priced for one sample of a user alone".to_owned(),
        "delta" => "state `--delta D`, at most one over the number of users".to_owned(),
        "clip" => "state `--clip LO,HI`: rewards outside are clipped, which costs bias and never privacy (E3)".to_owned(),
        _ => "`privateer account --help` lists the options".to_owned(),
    });
    Error::input(diagnostic)
}
