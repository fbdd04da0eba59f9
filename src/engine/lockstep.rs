//! Some trials of one cell in lockstep: propose, screen, decide, observe, release, update.

use super::decide::decide;
use super::observer::{Rows, Stop};
use super::prepare::{ReadyCell, ReadyTrial};
use crate::backend::{Counters, Screen};
use crate::error::Error;
use crate::policy::{PolicyStreams, Proposal};
use crate::privacy::Privatizer;
use crate::rng::{Purpose, Stream};
use crate::score::{Candidates, TrialScore};
use std::ops::Range;

/// Rounds between two looks at the stop flag.
const STOP_EVERY: u64 = 64;

/// One trial as it runs.
struct Trial {
    number: u64,
    ready: ReadyTrial,
    privatizer: Box<dyn Privatizer>,
    noise: Stream,
    mechanism: Stream,
    streams: PolicyStreams,
    cumulative: f64,
    simple: f64,
    rows: Rows,
}

impl Trial {
    fn start(cell: &ReadyCell, number: u64) -> Result<Self, Error> {
        let ready = cell.trial(number)?;
        let label = cell.plan.policy.as_str();
        let of = |purpose| cell.streams.of(number, purpose);
        Ok(Self {
            number,
            privatizer: ready.mechanism.privatizer(),
            ready,
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(label)),
            streams: PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(label)) },
            cumulative: 0.0,
            simple: f64::INFINITY,
            rows: Rows::default(),
        })
    }

    /// Plays a point: observation, mechanism, update, and the row if this round is recorded.
    fn play(&mut self, point: usize, round: u64, recorded: bool) {
        let instance = &self.ready.instance;
        let raw = instance.observe(point, &mut self.noise);
        let released = self.privatizer.release(raw, &mut self.mechanism);
        self.ready.policy.update(point, &released);
        let regret = instance.regret(point);
        self.cumulative += regret;
        self.simple = self.simple.min(regret);
        if recorded {
            let recommended = self.ready.policy.recommend().map_or(f64::NAN, |point| instance.regret(point));
            self.rows.trial.push(self.number as u32);
            self.rows.round.push(round as u32);
            self.rows.point.push(Some(point as i64));
            self.rows.regret.push(regret);
            self.rows.cumulative_regret.push(self.cumulative);
            self.rows.simple_regret.push(self.simple);
            self.rows.recommended_regret.push(recommended);
        }
    }
}

/// What a batch gives back.
pub struct BatchResult {
    /// Rows, ordered by trial, then round.
    pub rows: Rows,
    /// What its screens counted.
    pub counters: Counters,
}

/// Runs trials `numbers` of a cell to the end. `None` if stopped on the way.
///
/// # Errors
/// Whatever a trial, the backend or a decision refuses.
pub fn batch(
    cell: &ReadyCell,
    numbers: Range<u64>,
    recorded: &[u64],
    stop: &Stop,
    progressed: &(dyn Fn(u64) + Sync),
) -> Result<Option<BatchResult>, Error> {
    let mut trials = numbers.map(|number| Trial::start(cell, number)).collect::<Result<Vec<Trial>, Error>>()?;
    let mut screen: Option<Box<dyn Screen>> = cell.domain.as_ref().map(|domain| domain.open(trials.len()));
    let mut answers = vec![Candidates::default(); trials.len()];
    let mut proposals = vec![Proposal::Play(0); trials.len()];
    let mut points = vec![0usize; trials.len()];
    let mut scratch = Vec::new();
    let mut next_recorded = recorded.iter().copied().peekable();
    for round in 1..=cell.plan.rounds {
        if round % STOP_EVERY == 0 {
            if stop.asked() {
                return Ok(None);
            }
            progressed(STOP_EVERY * trials.len() as u64);
        }
        for (trial, proposal) in trials.iter_mut().zip(&mut proposals) {
            *proposal = trial.ready.policy.propose(&mut trial.streams);
        }
        screen_and_decide(&mut trials, &proposals, screen.as_deref_mut(), &mut answers, &mut points, &mut scratch)?;
        let record = next_recorded.next_if_eq(&round).is_some();
        for (trial, &point) in trials.iter_mut().zip(&points) {
            trial.play(point, round, record);
        }
    }
    progressed((cell.plan.rounds % STOP_EVERY) * trials.len() as u64);
    let mut rows = Rows::default();
    for trial in trials {
        rows.extend(trial.rows);
    }
    Ok(Some(BatchResult { rows, counters: screen.map(|screen| screen.counters()).unwrap_or_default() }))
}

/// Fills `points` with each trial's next point.
fn screen_and_decide(
    trials: &mut [Trial],
    proposals: &[Proposal],
    screen: Option<&mut (dyn Screen + '_)>,
    answers: &mut [Candidates],
    points: &mut [usize],
    scratch: &mut Vec<(u32, f64)>,
) -> Result<(), Error> {
    let mut requests: Vec<TrialScore<'_>> = Vec::with_capacity(trials.len());
    for (i, (trial, proposal)) in trials.iter().zip(proposals).enumerate() {
        match *proposal {
            Proposal::Play(point) => points[i] = point,
            Proposal::Score { width } => {
                let policy = &trial.ready.policy;
                let Some(model) = policy.model() else { return Err(no_model(&width)) };
                requests.push(TrialScore::new(i, policy.change(), width, model));
            }
        }
    }
    if requests.is_empty() {
        return Ok(());
    }
    let Some(screen) = screen else { return Err(no_model(&0.0)) };
    let answers = &mut answers[..requests.len()];
    screen.round(&requests, answers)?;
    for (request, answer) in requests.iter().zip(answers.iter()) {
        points[request.trial] = decide(answer, request.model, request.width, scratch)?;
    }
    drop(requests);
    for (trial, proposal) in trials.iter_mut().zip(proposals) {
        if let Proposal::Score { .. } = proposal {
            trial.ready.policy.screened();
        }
    }
    Ok(())
}

fn no_model(width: &f64) -> Error {
    Error::Failed {
        problem: format!("a policy asked for scores (width {width}) without having a model"),
        hint: "this is a fault of the policy, not of the spec: please report it".to_owned(),
    }
}
