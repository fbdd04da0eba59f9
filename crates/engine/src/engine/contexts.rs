//! Runs contextual trials: user, arm, observed reward, released signal.

use super::Measures;
use super::cell_info::{CellFacts, CellLedger};
use super::cell_warning::CellWarning;
use super::observer::{Observer, Place, TrialEnd};
use super::replay::Replay;
use super::rounds::{BatchResult, Recorded, Rounds, Trials};
use super::warnings::delta_warning;
use crate::env::contextual::{Contextual, Users};
use crate::policy::contextual::{ContextPolicy, PreparedContextual, Scratch};
use crate::spec::{CellPlan, Misleading};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::ReleaseCounts;
use privateer_privacy::interactions::{InteractionPrivatizer, seal};
use std::ops::Range;
use std::sync::Arc;

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
    pub(super) fn facts(&self) -> Result<CellFacts, Error> {
        (self.environment.draw)(0)?;
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

    /// Runs trials to the end; returns `None` if stopped before.
    pub(super) fn batch(&self, numbers: Range<u64>, rounds: &Rounds<'_>) -> Result<Option<BatchResult>, Error> {
        let measures = if self.replays { Measures::Replay } else { Measures::Contextual };
        let parts = numbers.map(|number| Ok(Recorded::new(self.trial(number)?, number..number + 1, measures)));
        rounds.play(self.plan.rounds, parts.collect::<Result<_, Error>>()?)
    }

    /// Makes a trial before its first round.
    fn trial(&self, number: u64) -> Result<ContextualTrial<'_>, Error> {
        let of = |purpose| self.streams.of(number, purpose);
        Ok(ContextualTrial {
            cell: self,
            number,
            users: (self.environment.draw)(number)?,
            replay: self.replays.then(|| Replay::new(self.environment.facts.rounds)),
            policy: (self.prepared.maker.make)(),
            privatizer: self.prepared.mechanism.privatizer(),
            own: of(Purpose::Policy(&self.plan.policy)),
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(&self.plan.policy)),
            scratch: Scratch::default(),
            arm: 0,
            n_best: 0,
            measured: [0.0; 3],
        })
    }
}

/// Holds one trial between its rounds.
struct ContextualTrial<'c> {
    cell: &'c ContextualCell,
    number: u64,
    users: Users,
    /// The estimates, if the users are those of a log.
    replay: Option<Replay>,
    policy: Box<dyn ContextPolicy>,
    privatizer: Box<dyn InteractionPrivatizer>,
    own: Stream,
    noise: Stream,
    mechanism: Stream,
    scratch: Scratch,
    /// The arm of this round.
    arm: usize,
    /// Number of rounds in which the best arm was played.
    n_best: u64,
    /// What is measured of the last counted round.
    measured: [f64; 3],
}

impl Trials for ContextualTrial<'_> {
    type Row = [f64; 3];

    fn decide(&mut self) -> Result<(), Error> {
        self.users.next();
        self.arm = self.policy.choose(self.users.context(), &mut self.own, &mut self.scratch)?;
        Ok(())
    }

    fn learn(&mut self, round: u64, observer: &dyn Observer) -> Result<(), Error> {
        let arm = self.arm;
        // Each row takes one word in any case, so that all policies see the same random numbers.
        let takes = |replay: &mut Replay| replay.takes(self.users.logged(), arm, self.noise.uniform());
        if self.replay.as_mut().is_none_or(takes) {
            let interaction = seal(self.users.context(), arm, self.users.reward(arm, &mut self.noise));
            let released = self.privatizer.release(interaction, (&mut self.mechanism).into());
            if self.replay.is_none() {
                observer.visited(Place { cell: self.cell.plan.index, trial: self.number, round }, arm, &released);
            }
            self.policy.update(&released);
        }
        if let Some(replay) = &self.replay {
            self.measured = replay.measured();
            return Ok(());
        }
        let means = self.users.means();
        let regret = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) - means[arm];
        self.n_best += u64::from(regret <= 0.0);
        self.measured = [regret, self.measured[1] + regret, self.n_best as f64 / round as f64];
        Ok(())
    }

    fn row(&mut self, _place: usize) -> Result<(Option<usize>, [f64; 3]), Error> {
        Ok((Some(self.arm), self.measured))
    }

    fn end(self) -> Result<(Counters, Vec<TrialEnd>), Error> {
        let parameters = if self.cell.keeps_parameters { self.policy.parameters()? } else { None };
        let end = TrialEnd { trial: self.number, counts: ReleaseCounts::default(), repaired: 0, parameters };
        Ok((Counters::default(), vec![end]))
    }
}
