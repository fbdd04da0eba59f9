//! Prices a deployment: before it starts, from the spec of its session, and while it runs, from a session's file.

use super::deployment::{StatedAnswers, bad_budget};
use crate::engine::{Preparation, Session};
use crate::env::DataFolder;
use crate::record::{StateFile, StateKind};
use crate::spec::Sweep;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{DeploymentForm, FilterKind, Odometer, PrivacyBudget, Spend, SpendRefusal};
use privateer_privacy::quote::{PriceReport, short};
use privateer_privacy::{Delta, Ledger, Refusal};
use std::fmt::Write;
use std::path::Path;

/// Numbers of answers about one record that are priced.
const COUNTS: [u64; 8] = [1, 2, 3, 5, 10, 20, 50, 100];
/// Delta at which concentrated and Gaussian sums are read where nothing states one.
const SHOWN_DELTA: f64 = 1e-6;

/// The price of a deployment.
pub struct DeploymentPrice {
    /// One answer.
    pub quote: Option<PriceReport>,
    /// What answers about one record cost together, as lines.
    pub text: String,
    /// The same as data.
    pub json: serde_json::Value,
}

/// Returns the price of a session that a spec describes; `None` for a spec of a simulation.
///
/// # Errors
/// Whatever `privateer init` would refuse; a budget that does not fit.
pub fn of_spec(
    sweep: &Sweep,
    data: &DataFolder,
    options: (Option<PrivacyBudget>, Option<FilterKind>),
    participations: u64,
) -> Result<Option<DeploymentPrice>, Error> {
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
///
/// # Errors
/// A damaged file.
pub fn of_file(path: &Path, participations: u64) -> Result<Option<DeploymentPrice>, Error> {
    let Some((kind, value)) = StateFile::peek(path)? else { return Ok(None) };
    if kind == StateKind::Odometer {
        let (_, odometer) = super::deployment::read_odometer(path, |key| value[key].clone())?;
        let ledger = odometer.ledger();
        return Ok(Some(DeploymentPrice { quote: None, text: ledger.page(), json: serde_json::json!({ "spent": ledger }) }));
    }
    let StatedAnswers { deployment, ledger, answers } = StatedAnswers::of(path, kind, &value)?;
    let next = Spend::of_answer(&ledger, &deployment.id, &deployment.column, 0);
    let own = deployment.filter.map(|filter| {
        let mut own = Odometer::new(filter, deployment.budget, value["spent"]["rows"].as_u64())?;
        answers.iter().flatten().for_each(|(_, spend)| own.add(spend));
        Ok(own)
    });
    let own = own.transpose().map_err(|why| bad_budget(&why))?;
    // A session asks for some record at most once a round of its spec; a data holder knows of no last round.
    let text = value["spec"]["text"].as_str().and_then(|text| text.parse::<toml::Table>().ok());
    let rounds = text.and_then(|spec| u64::try_from(spec.get("rounds")?.as_integer()?).ok());
    let mut price = price(&ledger, next.as_ref(), own.as_ref(), rounds, participations)?;
    if let Some(own) = &own {
        let spent = own.ledger();
        price.text.push_str("spent so far\n");
        price.text.push_str(&spent.page());
        price.json["spent"] = serde_json::json!(spent);
    }
    Ok(Some(price))
}

fn price(
    ledger: &Ledger,
    spend: Option<&Spend>,
    own: Option<&Odometer>,
    rounds: Option<u64>,
    participations: u64,
) -> Result<DeploymentPrice, Error> {
    let quote = PriceReport::of_ledger(ledger, participations).map_err(|refusal| placed(&refusal))?;
    let (Some(spend), Some(own)) = (spend, own) else {
        let text = "  no reward mechanism: every answer is in the open\n".to_owned();
        return Ok(DeploymentPrice { quote: Some(quote), text, json: serde_json::json!({}) });
    };
    let stated = own.budget().and_then(|budget| budget.delta).or_else(|| Delta::try_from(spend.delta).ok());
    let delta = stated.or_else(|| Delta::try_from(SHOWN_DELTA).ok());
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {name:15}{value}");
    };
    let often = rounds.map_or(String::new(), |rounds| format!("; one record can be asked for in each of {rounds} rounds"));
    line("answers", &format!("of one record, chosen adaptively{often}"));
    line("", &format!("{:>7}  {:>12}  {:>12}  {:>12}", "answers", "sum", "zcdp", "gaussian-dp"));
    let mut counts: Vec<u64> = COUNTS.into_iter().filter(|count| rounds.is_none_or(|rounds| *count < rounds)).collect();
    counts.extend(rounds);
    let mut table = Vec::new();
    for count in counts {
        let many = Spend { count, ..spend.clone() };
        let read = |filter: FilterKind| many.cost(filter, &spend.loss.named()).map(|cost| filter.read(cost, delta));
        let all = [FilterKind::Sum, FilterKind::Zcdp, FilterKind::GaussianDp].map(read);
        let shown = all.map(|loss| loss.map_or("no bound".to_owned(), |(epsilon, _)| short(epsilon)));
        line("", &format!("{count:>7}  {:>12}  {:>12}  {:>12}", shown[0], shown[1], shown[2]));
        let json =
            |loss: Option<(f64, f64)>| loss.map(|(epsilon, delta)| serde_json::json!({ "epsilon": epsilon, "delta": delta }));
        table.push(serde_json::json!({
            "answers": count, "sum": json(all[0]), "zcdp": json(all[1]), "gaussian-dp": json(all[2]),
        }));
    }
    if let Some(delta) = delta {
        line("", &format!("epsilon of zcdp and gaussian-dp at delta = {}", short(delta.get())));
    }
    let filter = own.filter();
    line("filter", &format!("{filter}: {}", filter.theorem()));
    let most = most_answers(own, spend);
    match own.budget() {
        Some(budget) => line(
            "budget",
            &format!("{budget}: at most {most} answers about a record that has spent nothing, then the session stops"),
        ),
        None => line("budget", "none: nothing stops the answers; `--budget epsilon=E,delta=D` prices one"),
    }
    let json = serde_json::json!({
        "answers": table, "filter": filter, "theorem": filter.theorem(), "budget": own.budget(),
        "most_answers": own.budget().map(|_| most),
    });
    Ok(DeploymentPrice { quote: Some(quote), text, json })
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

/// Returns the message for a refused option.
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
