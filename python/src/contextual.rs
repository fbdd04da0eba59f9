//! A contextual policy of the user: an instance for each trial, one call a round.

use super::guard::RunGuard;
use super::items::{KeyValues, OwnItem};
use super::policy::{chosen, generator, read_states, written};
use numpy::{PyArray1, PyArrayMethods};
use privateer::config::facts::FactValue;
use privateer::numerics::rng::Stream;
use privateer::policy::contextual::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, PreparedContextual, Scratch};
use privateer::privacy::gram::GramLayout;
use privateer::privacy::interactions::{
    CalibratedInteractions, ContextFacts, InteractionMechanism, InteractionNeed, InteractionPrivatizer, InteractionSignal,
    InteractionSumsNeed,
};
use privateer::privacy::{Calibration, Guarantee, Ledger, Refusal, Released, Request};
use privateer::{Error, PolicyFailure};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, Mutex, PoisonError};

/// Under which condition a claim about contexts holds.
const CONDITION: &str = "foreign code that sees each user's own context to choose an arm; it holds if `ask` stores nothing of it";

/// Describes the policy of a spec.
pub struct OwnContextual {
    pub item: Arc<OwnItem>,
    pub keys: KeyValues,
    pub guard: Arc<RunGuard>,
}

/// Returns the rounds that release sums: every round, or under the tight calibration rounds that grow by a tenth.
fn due(rounds: u64, calibration: Calibration) -> Arc<[u64]> {
    let growth = if calibration.redesigns() { 1.1 } else { 1.0 };
    let next = |round: &u64| Some(((*round as f64 * growth).ceil() as u64).max(round + 1)).filter(|next| *next <= rounds);
    std::iter::successors(Some(1), next).collect()
}

impl OwnContextual {
    fn need(&self, facts: &ContextFacts, request: &Request) -> InteractionNeed {
        if self.item.learns.as_deref() != Some("sums") {
            return InteractionNeed::Unchanged;
        }
        let due = due(facts.rounds, request.calibration);
        InteractionNeed::Sums(InteractionSumsNeed { due, context_length: facts.length, local: false })
    }

    fn prepare(&self, facts: &ContextFacts, request: &Request) -> Result<PreparedContextual, Refusal> {
        let mechanism = self.need(facts, request).calibrated(facts, request)?;
        let units = match &mechanism {
            CalibratedInteractions::Sums(sums) => (sums.context_unit(), sums.reward_unit()),
            _ => (1.0, 1.0),
        };
        let (item, keys, guard) = (Arc::clone(&self.item), self.keys.clone(), Arc::clone(&self.guard));
        let maker = Maker { item, keys, guard, facts: facts.clone(), units };
        let make = move || PythonContextual { maker: maker.clone(), round: 0, state: Mutex::default() };
        let mechanism = Claimed { mechanism, by: self.item.name.clone() };
        Ok(PreparedContextual { maker: ContextPolicyMaker::new(make), mechanism: Box::new(mechanism) })
    }
}

impl From<OwnContextual> for ContextPolicyPlan {
    fn from(plan: OwnContextual) -> Self {
        Self::new(move |facts, request| plan.prepare(facts, request))
    }
}

/// The mechanism of a policy from outside, whose ledger says that nobody here has verified what the policy stores.
struct Claimed {
    mechanism: CalibratedInteractions,
    /// Name of the policy.
    by: String,
}

impl InteractionMechanism for Claimed {
    fn privatizer(&self) -> Box<dyn InteractionPrivatizer> {
        self.mechanism.privatizer()
    }

    fn ledger(&self) -> Ledger {
        let mut ledger = self.mechanism.ledger();
        if ledger.guarantee == Guarantee::Holds {
            ledger.guarantee = Guarantee::Unverified { claimed_by: self.by.clone(), proof: CONDITION.to_owned() };
        }
        ledger
    }
}

#[derive(Clone)]
struct Maker {
    item: Arc<OwnItem>,
    keys: KeyValues,
    guard: Arc<RunGuard>,
    facts: ContextFacts,
    /// Units of contexts and of rewards in released sums.
    units: (f64, f64),
}

/// The instance of a trial, from its first round on.
#[derive(Default)]
struct State {
    policy: Option<Py<PyAny>>,
    /// Why `tell` has failed: the next round says so.
    failed: Option<String>,
}

struct PythonContextual {
    maker: Maker,
    round: u64,
    state: Mutex<State>,
}

impl PythonContextual {
    fn raised(&self, method: &str, round: u64, error: PyErr) -> PolicyFailure {
        self.maker.guard.raised(Some(round), &format!("{}.{method}", self.maker.item.class_name), error)
    }

    fn started(&self, py: Python<'_>, own: &mut Stream) -> Result<Py<PyAny>, PolicyFailure> {
        let Maker { item, keys, guard, facts, .. } = &self.maker;
        let policy = item.instance_with(py, keys, guard, ["start", "ask", "tell"])?;
        let mut start = || -> PyResult<()> {
            let ContextFacts { n_arms, dimension, rounds, length, mean_range, noise_sd, .. } = *facts;
            let problem = py.import(intern!(py, "privateer.own"))?.getattr("ContextualProblem")?;
            let problem = problem.call1((n_arms, dimension, rounds, length, mean_range, noise_sd))?;
            policy.call_method1("start", (problem, PyList::new(py, [generator(py, own)?])?)).map(drop)
        };
        start().map_err(|error| self.raised("start", self.round + 1, error))?;
        Ok(policy.unbind())
    }
}

impl ContextPolicy for PythonContextual {
    fn choose(&self, context: &[f64], own: &mut Stream, _scratch: &mut Scratch) -> Result<usize, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = |py: Python<'_>| {
            if let Some(why) = state.failed.take() {
                return Err(why.into());
            }
            let policy = match state.policy.take() {
                Some(policy) => policy,
                None => self.started(py, own)?,
            };
            let asked = PyArray1::from_slice(py, context)
                .reshape([1, context.len()])
                .and_then(|contexts| policy.bind(py).call_method1(intern!(py, "ask"), (self.round + 1, contexts)));
            state.policy = Some(policy);
            let answer = asked.map_err(|error| self.raised("ask", self.round + 1, error))?;
            let arms = chosen(&answer, 1, self.maker.facts.n_arms, "arms")
                .map_err(|found| format!("`{}.ask` returned {found}", self.maker.item.class_name))
                .map_err(|problem| self.maker.guard.refuse(Some(self.round + 1), problem))?;
            Ok(arms[0] as usize)
        };
        self.maker.guard.call(ask).map_err(|why| Error::Failed {
            problem: format!("policy `{}` failed in round {}: {why}", self.maker.item.name, self.round + 1),
            hint: "finished blocks are kept; mend the policy, and the same run resumes".to_owned(),
        })
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.round += 1;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { policy: Some(policy), failed: None } = &*state else { return };
        let told = self.maker.guard.call(|py| {
            let told = |numbers: &[f64]| PyArray1::from_slice(py, numbers);
            let (policy, tell) = (policy.bind(py), intern!(py, "tell"));
            let call = || match *signal.value() {
                InteractionSignal::Interaction(seen) => {
                    let contexts = told(seen.context).reshape([1, seen.context.len()])?;
                    policy.call_method1(tell, (contexts, PyArray1::from_slice(py, &[seen.arm as i64]), told(&[seen.reward])))
                }
                InteractionSignal::Sums { layout, entries, gram_std } => {
                    let (k, d, (context, reward)) = (layout.n_blocks, layout.dimension, self.maker.units);
                    let (mut grams, mut moments) = sums(layout, entries);
                    grams.iter_mut().for_each(|entry| *entry *= context * context);
                    moments.iter_mut().for_each(|entry| *entry *= context * reward);
                    let (grams, moments) = (told(&grams).reshape([1, k, d, d])?, told(&moments).reshape([1, k, d])?);
                    policy.call_method1(tell, (grams, moments, told(&[gram_std * context * context])))
                }
                _ => Ok(py.None().into_bound(py)),
            };
            call().map(drop).map_err(|error| self.raised("tell", self.round, error))
        });
        if let Err(why) = told {
            state.failed = Some(why.to_string());
        }
    }

    fn parameters(&self) -> Result<Option<FactValue>, Error> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Maker { item, guard, .. } = &self.maker;
        let read = |py: Python<'_>| match (&state.failed, &state.policy) {
            (Some(why), _) => Err(why.clone().into()),
            (None, Some(policy)) if written(policy.bind(py), "state") => {
                Ok(read_states(py, policy.bind(py), guard, &item.class_name, 1)?.pop())
            }
            (None, _) => Ok(None),
        };
        guard.call(read).map_err(|why| Error::Failed {
            problem: format!("policy `{}` failed in its state: {why}", item.name),
            hint: "finished blocks are kept; mend the policy, and the same run resumes".to_owned(),
        })
    }
}

/// Returns the symmetric matrix and the vector of each arm, float64[arms, features, features] and float64[arms, features].
pub fn sums(layout: GramLayout, entries: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (d, n) = (layout.dimension, layout.n_rows());
    let (mut grams, mut moments) = (vec![0.0; layout.n_blocks * d * d], Vec::with_capacity(layout.n_blocks * d));
    for (arm, gram) in grams.chunks_exact_mut(d * d).enumerate() {
        let (group, first) = layout.place(arm);
        let (packed, moment) = layout.group(entries, group);
        moments.extend_from_slice(&moment[first..first + d]);
        for i in 0..d {
            // Row r of the packed triangle starts at r n - r (r - 1)/2, with its diagonal entry.
            let row = first + i;
            let start = row * n - row * row.saturating_sub(1) / 2;
            for j in i..d {
                gram[i * d + j] = packed[start + j - i];
                gram[j * d + i] = packed[start + j - i];
            }
        }
    }
    (grams, moments)
}
