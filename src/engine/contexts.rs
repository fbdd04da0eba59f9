//! Runs contextual trials: user, arm, observed reward, released signal.
//!
//! A trial is one chain of small steps, so lockstep batches would gain no speed.

use super::cell_facts::{CellFacts, CellLedger};
use super::cell_warning::CellWarning;
use super::observer::{Observer, Place, Stop};
use super::warnings::delta_warning;
use super::{Measures, Trace};
use crate::env::contextual::{ContextInstance, Contextual};
use crate::policy::contextual::{ContextPolicy, PreparedContextual, Scratch};
use crate::spec::{CellPlan, Misleading};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::interactions::{InteractionPrivatizer, seal};
use std::sync::Arc;

/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 1024;

/// The rows of a trial, and its policy after the last round.
pub type Played = (Trace, Box<dyn ContextPolicy>);

/// Holds one trial between its rounds.
pub(super) struct ContextualTrial {
    pub users: Box<dyn ContextInstance>,
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
    pub environment: Arc<dyn Contextual>,
    /// Makes the trials' policies and privatizers.
    pub prepared: PreparedContextual,
    /// Random streams of the environment.
    pub streams: Streams,
    /// Whether the environment is a log, which is replayed.
    pub replays: bool,
}

impl ContextualCell {
    /// Returns the ledger and the facts, after checking that a trial can be made.
    ///
    /// # Errors
    /// If the first trial fails.
    pub fn facts(&self) -> Result<CellFacts, Error> {
        self.environment.draw(0)?;
        let mut facts = self.environment.describe();
        facts.extend(self.prepared.maker.facts());
        let mut ledger = self.prepared.mechanism.ledger();
        self.environment.derived_numbers().state_in(&mut ledger);
        if ledger.epsilon.is_some() {
            ledger.notes.extend(self.environment.notes());
        }
        let mut warnings: Vec<CellWarning> = delta_warning(&ledger, self.plan.rounds, "interactions").into_iter().collect();
        let thin = self.environment.thin_log();
        warnings.extend(thin.map(|text| CellWarning::new(Misleading::Rounds, text.to_owned())));
        Ok(CellFacts { ledger: CellLedger { reward: ledger, inputs: None }, facts, warnings })
    }

    /// Runs one trial to the end; returns its rows and its policy, or `None` if stopped.
    ///
    /// # Errors
    /// If the environment fails, or a score is not finite.
    pub fn trial(
        &self,
        number: u64,
        recorded: &[u64],
        stop: &Stop,
        progressed: &(dyn Fn(u64) + Sync),
        observer: &dyn Observer,
    ) -> Result<Option<Played>, Error> {
        if self.replays {
            return self.replayed(number, recorded, stop, progressed);
        }
        let (mut cumulative, mut n_best) = (0.0, 0_u64);
        self.rounds((number, recorded), Measures::Contextual, stop, progressed, |trial, round, arm| {
            let means = trial.users.means();
            let regret = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) - means[arm];
            let interaction = seal(trial.users.context(), arm, trial.users.reward(arm, &mut trial.noise));
            let released = trial.privatizer.release(interaction, (&mut trial.mechanism).into());
            observer.visited(Place { cell: self.plan.index, trial: number, round }, arm, &released);
            trial.policy.update(&released);
            cumulative += regret;
            n_best += u64::from(regret <= 0.0);
            [regret, cumulative, n_best as f64 / round as f64]
        })
    }

    /// Runs the rounds of a trial: `play` observes the chosen arm and returns what is recorded of the round.
    pub(super) fn rounds(
        &self,
        (number, recorded): (u64, &[u64]),
        measures: Measures,
        stop: &Stop,
        progressed: &(dyn Fn(u64) + Sync),
        mut play: impl FnMut(&mut ContextualTrial, u64, usize) -> [f64; 3],
    ) -> Result<Option<Played>, Error> {
        let label = self.plan.policy.as_str();
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
        let mut next_recorded = recorded.iter().copied().peekable();
        for round in 1..=self.plan.rounds {
            if round % STOP_EVERY == 0 {
                if stop.asked() {
                    return Ok(None);
                }
                progressed(STOP_EVERY);
            }
            trial.users.next();
            let arm = trial.policy.choose(trial.users.context(), &mut own, &mut scratch)?;
            let measured = play(&mut trial, round, arm);
            if next_recorded.next_if_eq(&round).is_some() {
                rows.push(number, round, Some(arm), measured);
            }
        }
        progressed(self.plan.rounds % STOP_EVERY);
        Ok(Some((rows, trial.policy)))
    }
}
