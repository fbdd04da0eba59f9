//! Runs trials of one cell in lockstep: propose, screen, decide, observe, release, update.
//!
//! A batch is split into as many parts as its backend keeps in flight; each part has its own screen. While one part is scored
//! in the background, the others decide, observe and update. Trials share nothing that is recorded, so the split changes no
//! recorded byte.

use super::decide::{decide, decide_by_axis, settled, verified};
use super::observer::{Observer, Place, Stop, TrialEnd};
use super::plays::Plays;
use super::ready_cell::{ReadyCell, ReadyTrial};
use super::scoring_error;
use super::{Measures, Trace};
use crate::env::catch_bad_reward;
use crate::policy::{PolicyGroup, PolicyStreams, Proposal, Setting, ToldReward, TrialView};
use privateer_backend::{Counters, Screen};
use privateer_config::error::Error;
use privateer_gp::posterior::take_together;
use privateer_gp::score::AxisFeatures;
use privateer_gp::score::{Candidates, TrialScore};
use privateer_numerics::rng::{Purpose, Stream};
use privateer_privacy::{Privatizer, Raw};
use std::ops::Range;
use std::sync::Arc;

/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 64;

/// Holds the state of one running trial.
pub(super) struct LockstepTrial {
    cell: u32,
    pub(super) number: u64,
    pub(super) ready: ReadyTrial,
    pub(super) privatizer: Box<dyn Privatizer>,
    noise: Stream,
    pub(super) mechanism: Stream,
    pub(super) streams: PolicyStreams,
    /// The points allowed in this round, ascending; `None` where the whole domain is allowed.
    pub(super) set: Option<Vec<u32>>,
    pub(super) sets: Stream,
    /// Numbers of the plays so far, by their rows, over a product domain.
    plays: Option<Plays>,
    cumulative: f64,
    simple: f64,
    rows: Trace,
}

impl LockstepTrial {
    fn start(cell: &ReadyCell, number: u64) -> Result<Self, Error> {
        let ready = cell.trial(number)?;
        let label = cell.plan.policy.as_str();
        let of = |purpose| cell.streams.of(number, purpose);
        let ready_sets = ready.instance.sets().is_some();
        Ok(Self {
            cell: cell.plan.index,
            number,
            privatizer: ready.mechanism.privatizer(),
            ready,
            set: ready_sets.then(Vec::new),
            sets: of(Purpose::Sets),
            plays: cell
                .environment
                .product()
                .map(|product| Plays::new((0..product.dimension()).map(|axis| product.rows(axis)).collect())),
            noise: of(Purpose::Noise),
            mechanism: of(Purpose::Mechanism(label)),
            streams: PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(label)) },
            cumulative: 0.0,
            simple: f64::INFINITY,
            rows: Trace::new(Measures::Regret),
        })
    }

    /// Draws the points that are allowed in the coming round.
    fn draw_set(&mut self) {
        self.ready.instance.draw_set(&mut self.sets, &mut self.set);
    }

    /// Returns what a policy from outside may see before the coming round.
    fn view(&mut self, round: u64) -> TrialView<'_> {
        TrialView { trial: self.number, round, allowed: self.set.as_deref(), random: &mut self.streams.own }
    }

    /// Returns the policy's proposal; a random point is drawn here, among the allowed points.
    fn propose(&mut self) -> Proposal {
        self.draw_set();
        match self.ready.policy.propose(&mut self.streams) {
            Proposal::Random { source, n_points } => {
                let stream = self.streams.of(source);
                Proposal::Play(match (&self.set, &self.plays) {
                    (Some(set), _) => set[stream.index(set.len())] as usize,
                    (None, Some(plays)) => {
                        let rows = plays.random(stream);
                        self.number(rows)
                    }
                    (None, None) => stream.index(n_points),
                })
            }
            other => other,
        }
    }

    /// Returns the number of the play of these rows of a product domain.
    fn number(&mut self, rows: Vec<u32>) -> usize {
        let Some(plays) = &mut self.plays else { return 0 };
        let (number, is_new) = plays.number(&rows);
        if is_new {
            self.ready.instance.define(&rows);
            self.ready.policy.define(&rows);
        }
        number
    }

    /// Returns the reward of a play of `point`, sealed.
    fn observe(&mut self, point: usize) -> Raw<f64> {
        self.ready.instance.observe(point, &mut self.noise)
    }

    /// Takes the reward of a play: mechanism, update; a factor may be left open.
    ///
    /// Returns the released reward, if one is released.
    fn take(&mut self, point: usize, raw: Raw<f64>, round: u64, observer: &dyn Observer) -> Option<f64> {
        let query = self.ready.policy.query(point);
        let released = self.privatizer.release(&query, raw, (&mut self.mechanism).into());
        observer.released(Place { cell: self.cell, trial: self.number, round }, &query, &released);
        drop(query);
        self.ready.policy.update_open(point, &released);
        released.reward()
    }

    /// Counts the regret of a play, and adds a row if the round is recorded.
    ///
    /// * `recommended` — the point that the policy's group recommends, if it has one
    fn count(&mut self, point: usize, round: u64, recorded: bool, recommended: Option<usize>) {
        let instance = &self.ready.instance;
        let regret = instance.regret_among(point, self.set.as_deref());
        self.cumulative += regret;
        self.simple = self.simple.min(instance.regret(point));
        if recorded {
            let recommended =
                recommended.or_else(|| self.ready.policy.recommend()).map_or(f64::NAN, |point| instance.regret(point));
            // The plays of a product domain have no point index.
            let point = self.plays.is_none().then_some(point);
            self.rows.push(self.number, round, point, [regret, self.cumulative, self.simple, recommended]);
        }
    }
}

/// Holds the results of a batch.
#[derive(Default)]
pub struct BatchResult {
    /// Recorded rows, ordered by trial, then round.
    pub rows: Trace,
    /// Counters of the batch's screens.
    pub counters: Counters,
    /// The results of its trials beyond the rows, in order.
    pub trials: Vec<TrialEnd>,
}

impl BatchResult {
    /// Adds the results of further trials.
    pub(super) fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.counters.add(&other.counters);
        self.trials.extend(other.trials);
    }
}

/// Holds the trials that share a screen.
///
/// While the screen works in the background, other parts of the batch decide, observe and update.
pub(super) struct LockstepPart {
    pub(super) trials: Vec<LockstepTrial>,
    screen: Option<Box<dyn Screen>>,
    proposals: Vec<Proposal>,
    answers: Vec<Candidates>,
    pub(super) points: Vec<usize>,
    scratch: Vec<(u32, f64)>,
    highest: Vec<f64>,
    /// Number of points, if the choices of the screen are compared with the best of them all.
    verifies: Option<u32>,
    /// Counts of what is not the screen's.
    counters: Counters,
    /// Axes of a product domain in the policy's features.
    axes: Option<Arc<[AxisFeatures]>>,
    /// What proposes for all trials, for policies from outside.
    pub(super) group: Option<PolicyGroup>,
    /// Rewards that were released in the last round.
    pub(super) released: Vec<Option<f64>>,
    pub(super) label: String,
    /// The cell's label, for messages.
    cell_label: String,
}

impl LockstepPart {
    pub(super) fn start(cell: &ReadyCell, numbers: Range<u64>, verify: bool) -> Result<Self, Error> {
        let n_trials = (numbers.end - numbers.start) as usize;
        Self::start_on(cell, numbers, cell.domain.as_ref().map(|domain| domain.open(n_trials)), verify)
    }

    /// Starts trials whose screen is opened.
    pub(super) fn start_on(
        cell: &ReadyCell,
        numbers: Range<u64>,
        screen: Option<Box<dyn Screen>>,
        verify: bool,
    ) -> Result<Self, Error> {
        let trials = numbers.map(|number| LockstepTrial::start(cell, number)).collect::<Result<Vec<LockstepTrial>, Error>>()?;
        let settings: Vec<(u64, &Setting)> = trials.iter().map(|trial| (trial.number, &trial.ready.setting)).collect();
        Ok(Self {
            group: cell.maker.group(&settings)?,
            released: Vec::new(),
            label: cell.plan.policy.clone(),
            cell_label: cell.plan.label(),
            screen,
            proposals: vec![Proposal::Play(0); trials.len()],
            answers: vec![Candidates::default(); trials.len()],
            points: vec![0; trials.len()],
            scratch: Vec::new(),
            highest: Vec::new(),
            verifies: verify.then(|| cell.environment.gram().n_points() as u32),
            counters: Counters::default(),
            axes: cell.axes.clone(),
            trials,
        })
    }

    /// Returns whether the trials wait for a device, together with others; without a screen they wait for nothing.
    pub(super) fn is_on_device(&self) -> bool {
        self.screen.as_ref().is_some_and(|screen| screen.is_on_device())
    }

    /// Frees what the screen holds; no round may follow.
    pub(super) fn close_screen(&mut self) {
        if let Some(screen) = self.screen.take() {
            self.counters.add(&screen.counters());
        }
    }

    /// Returns the requests to the screen, one for each trial that scores.
    fn requests(&self) -> Result<Vec<TrialScore<'_>>, Error> {
        let n_scored = self.proposals.iter().filter(|proposal| matches!(proposal, Proposal::Score { .. })).count();
        let mut requests = Vec::with_capacity(n_scored);
        for (i, (trial, proposal)) in self.trials.iter().zip(&self.proposals).enumerate() {
            if let Proposal::Score { beta } = *proposal {
                let policy = &trial.ready.policy;
                let Some(model) = policy.model() else { return Err(no_model(beta)) };
                let subset = trial.set.as_deref();
                requests.push(TrialScore { subset, ..TrialScore::new(i, policy.change(), beta, model) });
            }
        }
        Ok(requests)
    }

    /// Runs the first half of a round: proposals, and the start of the screen.
    pub(super) fn begin(&mut self, round: u64) -> Result<(), Error> {
        if let Some(group) = &mut self.group {
            self.trials.iter_mut().for_each(LockstepTrial::draw_set);
            let mut views: Vec<TrialView<'_>> = self.trials.iter_mut().map(|trial| trial.view(round)).collect();
            let points = group.ask(&self.label, &mut views)?;
            self.proposals.iter_mut().zip(points).for_each(|(proposal, point)| *proposal = Proposal::Play(point));
            return Ok(());
        }
        for ((trial, proposal), &near) in self.trials.iter_mut().zip(&mut self.proposals).zip(&self.points) {
            let proposed = trial.propose();
            if let Proposal::Refused(why) = proposed {
                return Err(Error::Failed { problem: why.to_owned(), hint: "please report this".to_owned() });
            }
            *proposal = settled(proposed, trial.ready.policy.model(), trial.set.as_deref(), near, &mut self.highest)?;
        }
        let mut screen = self.screen.take();
        let requests = self.requests()?;
        if let Some(screen) = screen.as_mut().filter(|_| !requests.is_empty()) {
            screen.begin(&requests).map_err(scoring_error)?;
        }
        drop(requests);
        self.screen = screen;
        Ok(())
    }

    /// Runs the second half of a round: candidates, decisions, observations, updates.
    pub(super) fn finish(&mut self, round: u64, recorded: bool, observer: &dyn Observer) -> Result<(), Error> {
        self.choose()?;
        let mut observed = 0;
        let learned = catch_bad_reward(|| {
            self.learn(round, observer, |_, trial, point| {
                observed = trial.number;
                trial.observe(point)
            })
        });
        learned.map_err(|bad| bad.in_round(&self.cell_label, observed, round))??;
        for (place, (trial, &point)) in self.trials.iter_mut().zip(&self.points).enumerate() {
            let recommended = match &mut self.group {
                Some(group) if recorded => group.recommend(&self.label, place)?,
                _ => None,
            };
            trial.count(point, round, recorded, recommended);
        }
        Ok(())
    }

    /// Decides the points that the trials play, from the proposals and the screen's candidates.
    pub(super) fn choose(&mut self) -> Result<(), Error> {
        let mut points = std::mem::take(&mut self.points);
        for (point, proposal) in points.iter_mut().zip(&self.proposals) {
            if let Proposal::Play(played) = *proposal {
                *point = played;
            }
        }
        let (mut screen, mut answers) = (self.screen.take(), std::mem::take(&mut self.answers));
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut checked = Counters::default();
        let requests = self.requests()?;
        // Over a product domain, the best row of each axis is chosen.
        let mut combined: Vec<(usize, Vec<u32>)> = Vec::new();
        if let Some(axes) = &self.axes {
            for request in &requests {
                combined.push((request.trial, decide_by_axis(axes, request.model, request.beta, &mut scratch)?));
            }
        } else if let Some(screen) = screen.as_mut().filter(|_| !requests.is_empty()) {
            let answers = &mut answers[..requests.len()];
            screen.finish(&requests, answers).map_err(scoring_error)?;
            for (request, answer) in requests.iter().zip(answers.iter()) {
                let point = decide(answer, request.model, request.beta, &mut scratch)?;
                if let Some(n_points) = self.verifies {
                    let (right, tied) = match request.subset {
                        Some(set) => verified(point, set.iter().copied(), request.model, request.beta),
                        None => verified(point, 0..n_points, request.model, request.beta),
                    };
                    checked.verified += 1;
                    checked.wrong += u64::from(!right);
                    checked.ties += u64::from(tied);
                }
                points[request.trial] = point;
            }
        } else {
            // Without a screen, all points of the small decision set are candidates.
            for request in &requests {
                let Some(set) = request.subset else { return Err(no_model(request.beta)) };
                let candidates = Candidates { points: set.to_vec() };
                points[request.trial] = decide(&candidates, request.model, request.beta, &mut scratch)?;
            }
        }
        drop(requests);
        self.counters.add(&checked);
        for (trial, rows) in combined {
            points[trial] = self.trials[trial].number(rows);
        }
        (self.screen, self.answers, self.scratch, self.points) = (screen, answers, scratch, points);
        Ok(())
    }

    /// Releases the rewards of the chosen points and updates the policies.
    ///
    /// * `observe` — the reward of a trial, by its place in the part
    pub(super) fn learn(
        &mut self,
        round: u64,
        observer: &dyn Observer,
        mut observe: impl FnMut(usize, &mut LockstepTrial, usize) -> Raw<f64>,
    ) -> Result<(), Error> {
        self.released.clear();
        for (place, (trial, &point)) in self.trials.iter_mut().zip(&self.points).enumerate() {
            if self.screen.is_some()
                && let Proposal::Score { .. } = self.proposals[place]
            {
                trial.ready.policy.screened();
            }
            let raw = observe(place, trial, point);
            self.released.push(trial.take(point, raw, round, observer));
        }
        self.close_factors();
        if let Some(group) = &mut self.group {
            let plays = self.trials.iter().zip(&self.points).zip(&self.released);
            let told = plays
                .filter_map(|((trial, &point), &released)| Some(ToldReward { trial: trial.number, point, released: released? }));
            group.tell(&self.label, round, &told.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Returns the results of trials that have ended.
    ///
    /// # Errors
    /// If an algorithm from outside fails to say what it keeps.
    pub(super) fn into_result(mut self, keeps_parameters: bool) -> Result<BatchResult, Error> {
        self.close_screen();
        let mut result = BatchResult { counters: self.counters, ..BatchResult::default() };
        for (place, trial) in self.trials.into_iter().enumerate() {
            let policy = &trial.ready.policy;
            let parameters = match &self.group {
                _ if !keeps_parameters => None,
                Some(group) => group.state(&self.label, place)?,
                None => policy.parameters(),
            };
            result.trials.push(TrialEnd {
                trial: trial.number,
                counts: trial.privatizer.counts(),
                repaired: policy.repaired(),
                parameters,
            });
            result.rows.extend(trial.rows);
        }
        Ok(result)
    }

    /// Computes the factors that this round's updates left open, those of several trials together.
    fn close_factors(&mut self) {
        let mut open: (Vec<usize>, Vec<_>) =
            self.trials.iter_mut().enumerate().filter_map(|(i, trial)| Some((i, trial.ready.policy.open_factor()?))).unzip();
        if open.0.is_empty() {
            return;
        }
        let made = take_together(&mut open.1);
        self.counters.together += made.together;
        for (i, repaired) in open.0.into_iter().zip(made.results) {
            self.trials[i].ready.policy.close_factor(repaired);
        }
    }
}

/// Runs the trials `numbers` of a cell to the end; returns `None` if stopped before.
///
/// * `verify` — whether choices are compared with the best of all points, which costs as much as a run without a screen
///
/// # Errors
/// If a trial, the backend or a decision fails.
pub fn batch(
    cell: &ReadyCell,
    numbers: Range<u64>,
    recorded: &[u64],
    verify: bool,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Option<BatchResult>, Error> {
    let n_trials = numbers.end - numbers.start;
    let n_parts = cell.domain.as_ref().map_or(1, |domain| domain.in_flight() as u64).clamp(1, n_trials.max(1));
    let size = n_trials.div_ceil(n_parts).max(1);
    let starts = numbers.clone().step_by(size as usize);
    let mut parts = starts
        .map(|first| LockstepPart::start(cell, first..(first + size).min(numbers.end), verify))
        .collect::<Result<Vec<LockstepPart>, Error>>()?;
    let mut next_recorded = recorded.iter().copied().peekable();
    for part in &mut parts {
        part.begin(1)?;
    }
    for round in 1..=cell.plan.rounds {
        if round % STOP_EVERY == 0 {
            if stop.asked() {
                return Ok(None);
            }
            observer.progressed(STOP_EVERY * n_trials);
        }
        let record = next_recorded.next_if_eq(&round).is_some();
        for part in &mut parts {
            part.finish(round, record, observer)?;
            if round < cell.plan.rounds {
                part.begin(round + 1)?;
            }
        }
    }
    observer.progressed((cell.plan.rounds % STOP_EVERY) * n_trials);
    let mut result = BatchResult::default();
    for part in parts {
        result.append(part.into_result(cell.keeps_parameters)?);
    }
    Ok(Some(result))
}

fn no_model(beta: f64) -> Error {
    Error::Failed {
        problem: format!("a policy asked for scores (beta {beta}) without having a model"),
        hint: "this is a fault of the policy, not of the spec: please report it".to_owned(),
    }
}
