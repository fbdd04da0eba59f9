//! Plays all policies of a trust model that fit a problem against each other, and drops losers early.
//!
//! Every policy of the registry is tried, with the keys that it needs; why one does not fit is kept. All policies at all exploration
//! factors play the same pilot trials: see [`Preparation::screen`].

use super::Trust;
use super::problem::CostProblem;
use super::question::{CostQuestion, SHUFFLED};
use crate::fit::{quoted, short};
use crate::run::thread_pool;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::{Preparation, Screened, Stop};
use privateer_engine::env::DataFolder;
use privateer_engine::registry::{Kind, Registry, documentation};
use privateer_engine::spec::{GUESSING, Task};
use privateer_privacy::{Adversary, Guarantee, Protection};

/// Policies that stay to the end of the pilot trials, and play fresh ones.
const FINALISTS: usize = 4;

/// A policy at its best factor in pilot trials.
#[derive(Debug, Clone)]
pub struct Contestant {
    pub policy: String,
    /// Its table without `[[policy]]` and `beta`.
    table: String,
    /// What multiplies the orders of its exploration factor; `None` if it has none.
    pub factor: Option<f64>,
    /// Number of its pilot trials.
    pub trials: u64,
    /// Mean cumulative regret of its pilot trials.
    pub regret: f64,
    /// Failure probability of its claim; 0 for a pure one.
    pub delta: f64,
}

impl Contestant {
    pub(super) fn at_factor(&self) -> String {
        let beta = self.factor.map_or(String::new(), |factor| format!("\nbeta = {{ kind = \"order\", factor = {factor:?} }}"));
        format!("{}{beta}", self.table)
    }

    pub(super) fn tuned(&self, question: &CostQuestion) -> String {
        format!("{}{}", self.table, self.factor.map_or(String::new(), |_| format!("\n{}", question.tuned())))
    }
}

/// Policies from the best to the worst in pilot trials.
#[derive(Debug)]
pub struct Contest {
    /// Those that were not dropped, each at its best factor.
    pub finalists: Vec<Contestant>,
    /// Those that were dropped, each at its best factor.
    pub dropped: Vec<Contestant>,
    /// Those that do not fit, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// A table of a policy that may fit: without `beta`, and whether it has one.
struct Candidate {
    label: String,
    table: String,
    explores: bool,
    delta: f64,
}

impl Candidate {
    fn table(&self) -> String {
        let beta = if self.explores { "\nbeta = { kind = \"tuned\" }" } else { "" };
        format!("{}{beta}", self.table)
    }
}

impl Contest {
    /// Finds the policies that fit and plays them against each other.
    ///
    /// * `played` — called with an upper bound on the number of plays, after each
    pub fn play(
        registry: &Registry,
        question: &CostQuestion,
        problem: &CostProblem,
        (data, threads): (&DataFolder, Option<usize>),
        stop: &Stop,
        played: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, Error> {
        let sweep = |tables: &[String]| {
            let text = format!("references = false\n{}", question.spec(problem, tables));
            registry.parse("spec.toml", &text, &[])
        };
        let backend = Cpu::default();
        let fits = |candidate: &mut Candidate| -> Result<(), Error> {
            let sweep = sweep(&[candidate.table()])?;
            let preparation = Preparation::new(&sweep, data, &backend);
            for plan in sweep.cells.iter() {
                let ledger = preparation.facts_in_short(plan)?.ledger.reward;
                if let Task::Bandit(bandit) = &plan.task {
                    trusted(question.trust, bandit.policy_plan.protection, ledger.threat_model.adversary)?;
                }
                if let (true, Guarantee::NoGuarantee { reason, .. }) = (question.trust != Trust::None, &ledger.guarantee) {
                    return Diagnostic::new(format!("no guarantee: {reason}")).refuse();
                }
                candidate.delta = ledger.delta;
            }
            Ok(())
        };
        let (mut candidates, mut left_out, mut last) = (Vec::new(), Vec::new(), None);
        let kinds = documentation(registry, "policy");
        for kind in kinds.iter().filter(|kind| !GUESSING.contains(&kind.name)) {
            let mut refused = None;
            for mut attempt in attempts(kind, question, problem) {
                match attempt.iter_mut().try_for_each(&fits) {
                    Ok(()) => {
                        refused = None;
                        candidates.extend(attempt);
                        break;
                    }
                    Err(error) => {
                        // The first attempt is refused for the lack of what later ones have.
                        refused = Some(error);
                    }
                }
            }
            if let Some(error) = refused {
                left_out.push((kind.name.to_owned(), reason(&error)));
                last = Some(error);
            }
        }
        if let (true, Some(error)) = (candidates.is_empty(), last) {
            return Err(error);
        }
        let tables: Vec<String> = candidates.iter().map(Candidate::table).collect();
        let sweep = sweep(&tables)?;
        let preparation = Preparation::new(&sweep, data, &backend);
        let pool = thread_pool(threads)?;
        let screened = pool.install(|| preparation.screen(&sweep.cells, FINALISTS, question.trials[1], stop, played))?;
        let (mut finalists, mut dropped, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        let most = screened.first().map_or(0, |best| best.losses.len());
        for screened in &screened {
            let Screened { cell, factor, losses, .. } = screened;
            let Some(candidate) = candidates.get(*cell as usize).filter(|_| !seen.contains(cell)) else { continue };
            seen.push(*cell);
            let contestant = Contestant {
                policy: candidate.label.clone(),
                table: candidate.table.clone(),
                factor: *factor,
                trials: losses.len() as u64,
                regret: screened.mean(),
                delta: candidate.delta,
            };
            if losses.len() == most && finalists.len() < FINALISTS {
                finalists.push(contestant)
            } else {
                dropped.push(contestant)
            }
        }
        Ok(Self { finalists, dropped, left_out })
    }
}

/// Refuses a policy whose mechanism needs more trust than there is, or that nothing protects.
fn trusted(trust: Trust, protection: Protection, adversary: Adversary) -> Result<(), Error> {
    let why = match (trust, protection) {
        (_, Protection::Answer) => "plays candidates fixed beforehand, whatever it is told",
        (Trust::Local, _) if adversary != Adversary::Server => "needs a trusted server",
        (Trust::Shuffle, _) if !matches!(adversary, Adversary::Server | Adversary::AfterShuffling) => "needs a trusted server",
        (Trust::None, Protection::Sums | Protection::Batches | Protection::LocalSums) => {
            "is for noisy sums: without privacy it is a policy of another name"
        }
        _ => return Ok(()),
    };
    Diagnostic::new(why).refuse()
}

/// Returns the tables with which a policy is tried, in turn; each attempt may be several variants.
fn attempts(kind: &Kind, question: &CostQuestion, problem: &CostProblem) -> Vec<Vec<Candidate>> {
    let key = |name: &str| kind.keys.iter().find(|key| key.path == name);
    let ridge = key("ridge").and_then(|key| match problem.noise_variance {
        _ if key.accepts.contains("`mechanism`") => Some(problem.ridge.clone()),
        noise => noise.map(short),
    });
    let first = [format!("kind = {}", quoted(kind.name))];
    let plain: Vec<String> = first.into_iter().chain(ridge.map(|ridge| format!("ridge = {ridge}"))).collect();
    let variants = |lines: &[String]| -> Vec<Candidate> {
        let with = |label: String, more: &[&str]| Candidate {
            table: format!(
                "{}\nlabel = {}",
                lines.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>().join("\n"),
                quoted(&label)
            ),
            label,
            explores: key("beta").is_some(),
            delta: 0.0,
        };
        let name = kind.name.to_owned();
        match (key("release"), key("repair")) {
            (None, _) => vec![with(name, &[])],
            (Some(_), None) => vec![with(name, &["release = { kind = \"count\", factor = 1.4 }"])],
            (Some(_), Some(_)) => vec![
                with(name.clone(), &["release = { kind = \"count\", factor = 1.4 }"]),
                with(
                    format!("{name}, clipped"),
                    &["release = { kind = \"count\", factor = 2.0 }", "repair = { kind = \"clip\", multiple = 0.1 }"],
                ),
            ],
        }
    };
    let shuffled = (question.trust == Trust::Shuffle).then(|| [plain.clone(), vec![SHUFFLED.trim_end().to_owned()]].concat());
    let mut attempts: Vec<_> = shuffled.iter().chain([&plain]).map(|lines| variants(lines)).collect();
    let map = format!("`{}`", problem.features.split('"').nth(1).unwrap_or_default());
    let with_features = (key("features").is_some_and(|key| key.accepts.contains(&map)) && !problem.is_arms)
        .then(|| [plain.clone(), vec![format!("features = {}", problem.features)]].concat());
    attempts.extend(with_features.iter().map(|lines| variants(lines)));
    if question.trust == Trust::Local {
        // Noise on a whole item has no pure price.
        let delta = format!("privacy = {{ delta = {:e} }}", question.delta());
        attempts.push(variants(&[with_features.unwrap_or(plain), vec![delta]].concat()));
    }
    attempts
}

/// Says in a line why a policy does not fit.
fn reason(error: &Error) -> String {
    match error {
        Error::Input(diagnostics) => diagnostics.first().map_or(String::new(), |diagnostic| diagnostic.message.clone()),
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}
