//! Cells of a sweep whose policy or learner is wrapped in a broken one; everything else is the engine's own.

use privateer::oco::learner::{LearnerBatch, LearnerPlan, LearnerStreams, PreparedLearner, Setting};
use privateer::policy::contextual::{ContextPolicyPlan, PreparedContextual};
use privateer::spec::{Sweep, Task};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::Sample;
use privateer_privacy::interactions::{
    ContextFacts, Interaction, InteractionMechanism, InteractionPrivatizer, InteractionSignal,
};
use privateer_privacy::noise::Noise;
use privateer_privacy::{Ledger, Raw, Released};
use std::sync::Arc;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// All rounds draw from the start of the same stream: one draw serves all.
    Forgetful,
    /// Noise is calibrated for one step in a run of many: nothing is composed.
    Impatient,
}

pub fn broken(mut sweep: Sweep, fault: Fault) -> Sweep {
    for cell in Arc::make_mut(&mut sweep.cells) {
        match &mut cell.task {
            Task::Contextual(task) => task.policy_plan = Arc::new(policy(Arc::clone(&task.policy_plan), fault)),
            Task::Online(task) => task.learner = Arc::new(learner(Arc::clone(&task.learner), fault)),
            Task::Bandit(_) => panic!("mechanisms of rewards are made by the engine"),
        }
    }
    sweep
}

fn policy(inner: Arc<ContextPolicyPlan>, fault: Fault) -> ContextPolicyPlan {
    ContextPolicyPlan::new(move |facts, request| {
        let rounds = if fault == Fault::Impatient { facts.n_arms as u64 } else { facts.rounds };
        // One over the rounds would be another claim.
        let used = (inner.prepare)(&ContextFacts { rounds, ..facts.clone() }, request)?;
        let honest = (inner.prepare)(facts, request)?.mechanism;
        let mechanism = FaultyMechanism { honest, used: used.mechanism, fault };
        Ok(PreparedContextual { maker: used.maker, mechanism: Box::new(mechanism) })
    })
}

struct FaultyMechanism {
    honest: Box<dyn InteractionMechanism>,
    used: Box<dyn InteractionMechanism>,
    fault: Fault,
}

impl InteractionMechanism for FaultyMechanism {
    fn privatizer(&self) -> Box<dyn InteractionPrivatizer> {
        Box::new(FaultyInteractions { inner: self.used.privatizer(), first: None, fault: self.fault })
    }

    fn ledger(&self) -> Ledger {
        self.honest.ledger()
    }
}

struct FaultyInteractions {
    inner: Box<dyn InteractionPrivatizer>,
    first: Option<Stream>,
    fault: Fault,
}

impl InteractionPrivatizer for FaultyInteractions {
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, noise: Noise<'_>) -> Released<InteractionSignal<'a>> {
        let Noise::Simulated(stream) = noise else { panic!("a simulated run has {noise:?}") };
        let mut again = self.first.get_or_insert_with(|| stream.clone()).clone();
        self.inner.release(interaction, if self.fault == Fault::Forgetful { &mut again } else { stream }.into())
    }
}

fn learner(inner: Arc<LearnerPlan>, fault: Fault) -> LearnerPlan {
    LearnerPlan::new(true, move |setting, request, learning_rate| {
        let rounds = if fault == Fault::Impatient { 1 } else { setting.rounds };
        let used = (inner.prepare)(&Setting { rounds, ..setting.clone() }, request, learning_rate)?.make;
        let honest = (inner.prepare)(setting, request, learning_rate)?;
        let make = move |n_trials| Box::new(Learns { inner: used(n_trials), first: Vec::new(), fault }) as Box<dyn LearnerBatch>;
        Ok(PreparedLearner { make: Box::new(make), ..honest })
    })
}

struct Learns {
    inner: Box<dyn LearnerBatch>,
    /// The streams of noise before the first round, by trial.
    first: Vec<Stream>,
    fault: Fault,
}

impl LearnerBatch for Learns {
    fn observe_all(&mut self, samples: Vec<Raw<Sample<'_>>>, streams: &mut [LearnerStreams]) -> Result<(), Error> {
        if self.first.is_empty() {
            self.first.extend(streams.iter().map(|streams| streams.mechanism.clone()));
        }
        if self.fault == Fault::Forgetful {
            streams.iter_mut().zip(&self.first).for_each(|(streams, first)| streams.mechanism = first.clone());
        }
        self.inner.observe_all(samples, streams)
    }

    fn iterate_of(&self, trial: usize) -> &[f64] {
        self.inner.iterate_of(trial)
    }
}
