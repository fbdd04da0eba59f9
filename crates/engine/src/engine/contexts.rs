//! Runs contextual trials: user, arm, observed reward, released signal.
//!
//! A trial is one chain of small steps, so lockstep batches would gain no speed.

use super::cell_facts::{CellFacts, CellLedger};
use super::cell_warning::CellWarning;
use super::observer::Place;
use super::rounds::{BatchResult, Rounds};
use super::warnings::delta_warning;
use super::{Measures, Trace};
use crate::env::contextual::{Contextual, Users};
use crate::policy::contextual::{ContextPolicy, PreparedContextual, Scratch};
use crate::spec::{CellPlan, Misleading};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::Released;
use privateer_privacy::interactions::{InteractionPrivatizer, InteractionSignal, seal};
use std::ops::Range;
use std::sync::Arc;

/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 1024;

/// The rows of a trial, and its policy after the last round.
pub(super) type Played = (Trace, Box<dyn ContextPolicy>);

/// Holds one trial between its rounds.
pub(super) struct ContextualTrial {
    pub users: Users,
    pub policy: Box<dyn ContextPolicy>,
    pub privatizer: Box<dyn InteractionPrivatizer>,
    pub noise: Stream,
    pub mechanism: Stream,
}

/// Holds a contextual cell prepared for its trials.
pub struct ContextualCell {
    /// The cell's plan.
    pub plan: CellPlan,
    /// The problem.
    pub environment: Arc<Contextual>,
    /// Makes the trials' policies and privatizers.
    pub prepared: PreparedContextual,
    /// Random streams of the environment.
    pub streams: Streams,
    /// Whether the environment is a log, which is replayed.
    pub replays: bool,
    /// Whether policies must return their parameters at the end.
    pub keeps_parameters: bool,
}

impl ContextualCell {
    /// Returns the ledger and the facts, after checking that a trial can be made.
    ///
    /// # Errors
    /// If the first trial fails.
    pub fn facts(&self) -> Result<CellFacts, Error> {
        self.environment.draw(0)?;
        let mut facts = self.environment.described.clone();
        facts.extend(self.prepared.maker.facts.clone());
        let mut ledger = self.prepared.mechanism.ledger();
        self.environment.derived_numbers.state_in(&mut ledger);
        if ledger.epsilon.is_some() {
            ledger.notes.extend(self.environment.notes.iter().cloned());
        }
        let mut warnings: Vec<CellWarning> = delta_warning(&ledger, self.plan.rounds, "interactions").into_iter().collect();
        let thin = self.environment.thin_log.clone();
        warnings.extend(thin.map(|text| CellWarning::new(Misleading::Rounds, text)));
        Ok(CellFacts { ledger: CellLedger { reward: ledger, inputs: None }, facts, warnings })
    }

    /// Runs one trial after another to the end; returns `None` if stopped.
    pub(super) fn batch(&self, numbers: Range<u64>, rounds: &Rounds<'_>) -> Result<Option<BatchResult>, Error> {
        let mut result = BatchResult::default();
        for number in numbers {
            let trial = if self.replays { self.replay(number, rounds)? } else { self.trial(number, rounds)? };
            let Some((rows, policy)) = trial else { return Ok(None) };
            result.add(number, rows, if self.keeps_parameters { policy.parameters()? } else { None });
        }
        Ok(Some(result))
    }

    /// Runs one trial to the end.
    fn trial(&self, number: u64, rounds: &Rounds<'_>) -> Result<Option<Played>, Error> {
        let (mut cumulative, mut n_best) = (0.0, 0_u64);
        self.play(number, Measures::Contextual, rounds, |trial, round, arm| {
            let means = trial.users.means();
            let regret = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) - means[arm];
            trial.learn(arm, |released| {
                rounds.observer.visited(Place { cell: self.plan.index, trial: number, round }, arm, released);
            });
            cumulative += regret;
            n_best += u64::from(regret <= 0.0);
            [regret, cumulative, n_best as f64 / round as f64]
        })
    }

    /// Runs the rounds of a trial: `play` observes the chosen arm and returns what is recorded of the round.
    pub(super) fn play(
        &self,
        number: u64,
        measures: Measures,
        rounds: &Rounds<'_>,
        mut play: impl FnMut(&mut ContextualTrial, u64, usize) -> [f64; 3],
    ) -> Result<Option<Played>, Error> {
        let label = &*self.plan.policy;
        let of = |purpose| self.streams.of(number, purpose);
        let mut own = of(Purpose::Policy(label));
        let mut trial = ContextualTrial {
            users: self.environment.draw(number)?,
            policy: self.prepared.maker.make(),
            privatizer: self.prepared.mechanism.privatizer(),
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(label)),
        };
        let (mut scratch, mut rows) = (Scratch::default(), Trace::new(measures));
        let finished = rounds.play(self.plan.rounds, 1, STOP_EVERY, |round, recorded| {
            trial.users.next();
            let arm = trial.policy.choose(trial.users.context(), &mut own, &mut scratch)?;
            let measured = play(&mut trial, round, arm);
            if recorded {
                rows.push(number, round, Some(arm), measured);
            }
            Ok(())
        })?;
        Ok(finished.then_some((rows, trial.policy)))
    }
}

impl ContextualTrial {
    /// Draws the reward of an arm, releases the interaction, and updates the policy.
    ///
    /// * `heard` — sees what is released
    pub(super) fn learn(&mut self, arm: usize, heard: impl FnOnce(&Released<InteractionSignal<'_>>)) {
        let interaction = seal(self.users.context(), arm, self.users.reward(arm, &mut self.noise));
        let released = self.privatizer.release(interaction, (&mut self.mechanism).into());
        heard(&released);
        self.policy.update(&released);
    }
}
