//! Runs contextual trials: user, arm, observed reward, released signal.
//!
//! A trial is one chain of small steps, so lockstep batches would gain no speed.

use super::cell_facts::CellFacts;
use super::observer::{Observer, Place, Stop};
use super::warnings::{CellWarning, delta_warning};
use super::{Measures, Trace};
use crate::env::contextual::Contextual;
use crate::policy::contextual::{ContextPolicy, PreparedContextual, Scratch};
use crate::spec::{CellPlan, Misleading};
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::interactions::seal;
use std::sync::Arc;

/// Number of rounds between two checks of the stop flag.
pub(super) const STOP_EVERY: u64 = 1024;

/// The rows of a trial, and its policy after the last round.
pub type Played = (Trace, Box<dyn ContextPolicy>);

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
        Ok(CellFacts { ledger, inputs: None, facts, warnings })
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
        let label = self.plan.policy.as_str();
        let of = |purpose| self.streams.of(number, purpose);
        let (mut noise, mut mechanism) = (of(Purpose::Noise), of(Purpose::Mechanism(label)));
        let mut own = of(Purpose::Policy(label));
        let mut users = self.environment.draw(number)?;
        let (mut policy, mut privatizer) = (self.prepared.maker.make(), self.prepared.mechanism.privatizer());
        let (mut scratch, mut rows) = (Scratch::default(), Trace::new(Measures::Contextual));
        let (mut cumulative, mut n_best) = (0.0, 0_u64);
        let mut next_recorded = recorded.iter().copied().peekable();
        for round in 1..=self.plan.rounds {
            if round % STOP_EVERY == 0 {
                if stop.asked() {
                    return Ok(None);
                }
                progressed(STOP_EVERY);
            }
            users.next();
            let arm = policy.choose(users.context(), &mut own, &mut scratch)?;
            let means = users.means();
            let regret = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) - means[arm];
            let interaction = seal(users.context(), arm, users.reward(arm, &mut noise));
            let released = privatizer.release(interaction, &mut mechanism);
            observer.visited(Place { cell: self.plan.index, trial: number, round }, arm, &released);
            policy.update(&released);
            cumulative += regret;
            n_best += u64::from(regret <= 0.0);
            if next_recorded.next_if_eq(&round).is_some() {
                rows.push(number, round, Some(arm), [regret, cumulative, n_best as f64 / round as f64]);
            }
        }
        progressed(self.plan.rounds % STOP_EVERY);
        Ok(Some((rows, policy)))
    }
}
