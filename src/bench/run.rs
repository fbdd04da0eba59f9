//! The loop that is timed: lockstep batches as a run makes them, batches in parallel.

use super::ceiling::Ceilings;
use super::full_rank::{Common, FullRank, TRIALS};
use super::learner::{BenchLearner, Player, Team};
use super::outcome::{Measured, Regret, checksum, median_and_p99};
use super::{BenchInstance, Job, Workload, memory};
use crate::engine::decide;
use crate::engine::scoring_error;
use privateer_backend::{Backend, Counters, Domain, Screen, UpdateKind};
use privateer_config::error::Error;
use privateer_gp::posterior::FeaturePosterior;
use privateer_gp::score::{Basis, Candidates, TrialScore, lowest_within_tie};
use privateer_numerics::linalg::LANES;
use privateer_numerics::rng::Streams;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// A backend and what is to be said of it.
#[derive(Debug)]
pub struct Machine {
    /// Who screens.
    pub backend: Arc<dyn Backend>,
    /// What it runs on, for readers.
    pub device: String,
    /// Types that screens compute in, "float32" or "float64": of rows over features, and of whole factors. Decisions are in
    /// f64 on all.
    pub dtypes: [&'static str; 2],
    /// A device that is emulated on the CPU: its speed says nothing.
    pub software_adapter: bool,
    /// What the device can do at most, where that was measured.
    pub ceilings: Option<Ceilings>,
}

/// How it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchOptions {
    /// Times that the whole loop is run.
    pub repeat: usize,
    /// Whether every choice is compared with the best of all points in f64, after the timing.
    pub verify: bool,
}

/// Seconds by part, summed over threads.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Split {
    /// Posterior updates (with the tree's noise and the factor for `fullrank`).
    pub update: f64,
    /// Screens: from the change to the candidates.
    pub screen: f64,
    /// Decisions among the candidates.
    pub decide: f64,
    /// The part of `screen` that the first round took: most screens start there.
    pub first_screen: f64,
}

impl Split {
    fn add(&mut self, other: &Self) {
        self.update += other.update;
        self.screen += other.screen;
        self.decide += other.decide;
        self.first_screen += other.first_screen;
    }
}

/// What the loop asks of a job.
pub(super) trait Trials: Sync {
    /// Number of trials.
    fn trials(&self) -> usize;

    /// Number of rounds.
    fn rounds(&self) -> usize;

    /// What multiplies the posterior standard deviation in round 1, 2, ….
    fn beta(&self, round: usize) -> f64;

    /// How models change; updates of whole factors are long enough to be distributed over threads where batches are few.
    fn update_kind(&self) -> UpdateKind;

    /// Trials in a row, each of which has made its first observation.
    fn team(&self, first: usize, end: usize) -> Result<Team, Error>;

    /// The reward of round 1, 2, …; round 0 is the observation before them.
    fn reward(&self, point: usize, round: usize, trial: usize) -> f64;
}

/// Everything that a trial over features needs and shares.
struct Setup<'a> {
    job: &'a Job,
    instance: &'a BenchInstance,
    prior_bound: f64,
    streams: Streams,
}

impl Trials for Setup<'_> {
    fn trials(&self) -> usize {
        self.job.trials
    }

    fn rounds(&self) -> usize {
        self.job.rounds
    }

    fn beta(&self, round: usize) -> f64 {
        self.job.beta_of(round)
    }

    fn update_kind(&self) -> UpdateKind {
        match self.job.workload {
            Workload::Incremental => UpdateKind::RankOne,
            Workload::FullRank => UpdateKind::Full,
        }
    }

    fn team(&self, first: usize, end: usize) -> Result<Team, Error> {
        let job = self.job;
        let start = |trial: usize| (self.instance.start[trial], self.reward(self.instance.start[trial], 0, trial));
        let one = |trial: usize| -> Box<dyn BenchLearner> {
            let table = Arc::clone(&self.instance.table);
            let mut posterior = FeaturePosterior::with_prior_bound(table, self.prior_bound, job.ridge);
            let (point, reward) = start(trial);
            BenchLearner::observe(&mut posterior, point, reward);
            Box::new(posterior)
        };
        let lanes = |first: usize| {
            let (starts, rewards): (Vec<_>, Vec<_>) = (first..end.min(first + TRIALS)).map(start).unzip();
            let common = Common {
                table: Arc::clone(&self.instance.table),
                prior_bound: self.prior_bound,
                ridge: job.ridge,
                node_std: job.node_std,
                rounds: job.rounds,
            };
            FullRank::new(common, &self.streams, first, &starts, &rewards)
        };
        Ok(match job.workload {
            Workload::Incremental => Team::Each((first..end).map(one).collect()),
            Workload::FullRank => Team::Lanes((first..end).step_by(TRIALS).map(lanes).collect::<Result<_, Error>>()?),
        })
    }

    fn reward(&self, point: usize, round: usize, trial: usize) -> f64 {
        self.instance.f[point] + self.instance.noise[round * self.job.trials + trial]
    }
}

/// Trials that share a screen.
pub(super) struct TrialGroup {
    /// Number of the first trial.
    first: usize,
    /// Until the last round; then what it counted stands in `counters`, and its memory is free for others, as in a run.
    screen: Option<Box<dyn Screen>>,
    counters: Counters,
    team: Team,
    answers: Vec<Candidates>,
    scratch: Vec<(u32, f64)>,
    /// Points of the round.
    points: Vec<usize>,
    rewards: Vec<f64>,
    /// `rounds x trials`.
    actions: Vec<u32>,
    n_candidates: Vec<u32>,
    n_ties: u64,
    split: Split,
    /// Updates run on all threads: there are fewer batches than threads.
    over_threads: bool,
}

impl TrialGroup {
    fn open(setup: &dyn Trials, domain: &dyn Domain, first: usize, end: usize, over_threads: bool) -> Result<Self, Error> {
        let n = end - first;
        Ok(Self {
            first,
            screen: Some(domain.open(n)),
            counters: Counters::default(),
            team: setup.team(first, end)?,
            answers: vec![Candidates::default(); n],
            scratch: Vec::new(),
            points: vec![0; n],
            rewards: Vec::new(),
            actions: Vec::with_capacity(n * setup.rounds()),
            n_candidates: Vec::with_capacity(n * setup.rounds()),
            n_ties: 0,
            split: Split::default(),
            over_threads,
        })
    }

    fn begin(&mut self, beta: f64, clock: &mut Clock) -> Result<(), Error> {
        let players = self.team.players();
        if let Some(screen) = &mut self.screen {
            screen.begin(&requests(&players, beta)).map_err(scoring_error)?;
        }
        self.split.screen += clock.lap();
        Ok(())
    }

    fn finish(&mut self, beta: f64, clock: &mut Clock) -> Result<(), Error> {
        let players = self.team.players();
        let requests = requests(&players, beta);
        if let Some(screen) = &mut self.screen {
            screen.finish(&requests, &mut self.answers).map_err(scoring_error)?;
        }
        self.split.screen += clock.lap();
        self.team.foresee(&self.answers);
        for ((point, request), answer) in self.points.iter_mut().zip(&requests).zip(&self.answers) {
            *point = decide(answer, request.model, beta, &mut self.scratch)?;
            // More than one candidate: the decision has left their exact scores in `scratch`.
            if 1 < answer.points.len() {
                let plain = self.scratch.iter().copied().reduce(|best, next| if best.1 < next.1 { next } else { best });
                self.n_ties += u64::from(plain.is_some_and(|(first_best, _)| first_best as usize != *point));
            }
        }
        drop(requests);
        drop(players);
        self.split.decide += clock.lap();
        self.team.screened();
        self.actions.extend(self.points.iter().map(|&point| point as u32));
        self.n_candidates.extend(self.answers.iter().map(|answer| answer.points.len() as u32));
        Ok(())
    }

    fn update(&mut self, setup: &dyn Trials, round: usize, clock: &mut Clock) -> Result<(), Error> {
        let rewards = self.points.iter().enumerate().map(|(i, &point)| setup.reward(point, round, self.first + i));
        self.rewards.clear();
        self.rewards.extend(rewards);
        self.team.observe(&self.points, &self.rewards, self.over_threads)?;
        self.split.update += clock.lap();
        Ok(())
    }
}

/// Time since it was last asked: where phases follow each other, each asks it once.
struct Clock(Instant);

impl Clock {
    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let then = std::mem::replace(&mut self.0, now);
        (now - then).as_secs_f64()
    }
}

fn requests<'a>(players: &'a [Player<'_>], beta: f64) -> Vec<TrialScore<'a>> {
    players.iter().enumerate().map(|(i, player)| player.request(i, beta)).collect()
}

/// Groups of one batch, all rounds: while one group is screened, the trials of another are updated.
pub(super) fn batch(setup: &dyn Trials, groups: &mut [TrialGroup]) -> Result<(), Error> {
    let rounds = setup.rounds();
    let mut clock = Clock(Instant::now());
    for group in groups.iter_mut() {
        group.begin(setup.beta(1), &mut clock)?;
    }
    for round in 1..=rounds {
        for group in groups.iter_mut() {
            group.finish(setup.beta(round), &mut clock)?;
            if round == 1 {
                group.split.first_screen = group.split.screen;
            }
            group.update(setup, round, &mut clock)?;
            if round < rounds {
                group.begin(setup.beta(round + 1), &mut clock)?;
            }
        }
    }
    for group in groups {
        group.counters = group.screen.take().map(|screen| screen.counters()).unwrap_or_default();
    }
    Ok(())
}

/// The batches of all trials, their screens open and their first observations made.
pub(super) fn batches(setup: &dyn Trials, domain: &dyn Domain) -> Result<Vec<Vec<TrialGroup>>, Error> {
    let (trials, threads) = (setup.trials(), rayon::current_num_threads());
    // A device takes whole batches; on the CPU they are cut finer where threads would be idle.
    let in_flight = domain.in_flight().max(1);
    let wanted = domain.batch(setup.update_kind());
    let size = if in_flight == 1 { wanted.min(trials.div_ceil(threads)) } else { wanted }.clamp(1, trials);
    // Whole factors are made for that many trials at once, fewer cost as much.
    let size = if setup.update_kind() == UpdateKind::Full { size.next_multiple_of(LANES) } else { size };
    let over_threads = setup.update_kind() == UpdateKind::Full && trials.div_ceil(size) < threads;
    let part = size.div_ceil(in_flight);
    let n = trials.div_ceil(size);
    // As many for each thread, all alike: else the last one leaves a thread idle.
    let even = in_flight == 1 && setup.update_kind() == UpdateKind::RankOne;
    let n = if even { n.next_multiple_of(threads).min(trials) } else { n };
    let begins = |batch: usize| if even { batch * trials / n } else { (batch * size).min(trials) };
    (0..n)
        .map(|batch| {
            let (first, end) = (begins(batch), begins(batch + 1));
            let open = |first: usize| TrialGroup::open(setup, domain, first, (first + part).min(end), over_threads);
            (first..end).step_by(part).map(open).collect()
        })
        .collect()
}

/// Runs a job and measures it, on the threads of `pool`.
///
/// Not timed: table, screens and the observation before the first round. Timed: everything else, the first screen included.
///
/// # Errors
/// Whatever a screen, a model or a decision refuses; [`Error::CheckSaidNo`] if two repetitions choose differently.
pub fn measure(
    job: &Job,
    instance: &BenchInstance,
    machine: &Machine,
    pool: &rayon::ThreadPool,
    options: BenchOptions,
) -> Result<Measured, Error> {
    let begun = Instant::now();
    let peak_known = memory::forget_peak();
    let prior_bound = FeaturePosterior::prior_bound(&instance.table);
    let setup = Setup { job, instance, prior_bound, streams: Streams::new(job.seed, "bench") };
    let domain = pool.install(|| machine.backend.prepare(&Basis::Table(Arc::clone(&instance.table)))).map_err(scoring_error)?;
    let (mut seconds, mut cpu_seconds) = (Vec::new(), Vec::new());
    let mut setup_seconds = 0.0;
    let mut last: Option<Played> = None;
    for repeat in 0..options.repeat {
        let mut batches = pool.install(|| batches(&setup, domain.as_ref()))?;
        if repeat == 0 {
            setup_seconds = begun.elapsed().as_secs_f64();
        }
        let (started, cpu) = (Instant::now(), memory::cpu_seconds());
        pool.install(|| batches.par_iter_mut().with_max_len(1).try_for_each(|groups| batch(&setup, groups)))?;
        let took = started.elapsed().as_secs_f64();
        cpu_seconds.extend(memory::cpu_seconds().zip(cpu).map(|(after, before)| after - before));
        let is_best = seconds.iter().all(|&other| took < other);
        seconds.push(took);
        let played = Played::of(&setup, batches.into_iter().flatten());
        if let Some(last) = last.as_mut() {
            if last.actions != played.actions {
                return Err(Error::CheckSaidNo(format!(
                    "{} on {}: repetition {} chose other points than the first",
                    job.workload.name(),
                    machine.backend.name(),
                    repeat + 1
                )));
            }
            if is_best {
                *last = played;
            }
        } else {
            last = Some(played);
        }
    }
    let peak_bytes = if peak_known { memory::peak_bytes() } else { None };
    let played = last.unwrap_or_default();
    let wrong = if options.verify { Some(pool.install(|| verify(&setup, job.points, &played.actions))?) } else { None };
    let (candidates_median, candidates_p99) = median_and_p99(played.n_candidates);
    Ok(Measured {
        job: *job,
        origin: instance.origin.clone(),
        kernel_error: instance.table.kernel_error,
        backend: machine.backend.name().to_owned(),
        device: machine.device.clone(),
        dtype: machine.dtypes[usize::from(job.workload == Workload::FullRank)],
        software_adapter: machine.software_adapter,
        ceilings: machine.ceilings.clone(),
        threads: pool.current_num_threads(),
        setup_seconds,
        seconds,
        cpu_seconds,
        split: played.split,
        candidates_median,
        candidates_p99,
        n_ties: played.n_ties,
        counters: played.counters,
        regret: Regret::of(job, &instance.f, &played.actions),
        actions_crc: checksum(&played.actions),
        wrong,
        peak_bytes,
    })
}

/// What one repetition leaves.
#[derive(Default)]
pub(super) struct Played {
    /// `rounds x trials`.
    pub(super) actions: Vec<u32>,
    n_candidates: Vec<u32>,
    n_ties: u64,
    pub(super) counters: Counters,
    pub(super) split: Split,
}

impl Played {
    pub(super) fn of(setup: &dyn Trials, groups: impl Iterator<Item = TrialGroup>) -> Self {
        let trials = setup.trials();
        let mut played = Self { actions: vec![0; setup.rounds() * trials], ..Self::default() };
        for group in groups {
            let n = group.points.len();
            for (round, points) in group.actions.chunks_exact(n).enumerate() {
                played.actions[round * trials + group.first..][..n].copy_from_slice(points);
            }
            played.n_candidates.extend(group.n_candidates);
            played.n_ties += group.n_ties;
            played.counters.add(&group.counters);
            played.split.add(&group.split);
        }
        played
    }
}

/// Plays the same actions again and counts those that are not the lowest-placed best of all points in f64.
pub(super) fn verify(setup: &dyn Trials, n: usize, actions: &[u32]) -> Result<u64, Error> {
    let trials = setup.trials();
    let wrong_of = |trial: usize| -> Result<u64, Error> {
        let mut team = setup.team(trial, trial + 1)?;
        let mut scores = Vec::with_capacity(n);
        let mut wrong = 0;
        for (i, played) in actions.iter().skip(trial).step_by(trials).enumerate() {
            let point = *played as usize;
            scores.clear();
            for request in requests(&team.players(), setup.beta(i + 1)) {
                scores.extend((0..n).map(|point| (point, request.model.exact(point).upper(request.beta))));
            }
            wrong += u64::from(lowest_within_tie(&scores) != Some(point));
            team.observe(&[point], &[setup.reward(point, i + 1, trial)], false)?;
        }
        Ok(wrong)
    };
    (0..trials).into_par_iter().with_max_len(1).map(wrong_of).try_reduce(|| 0, |a, b| Ok(a + b))
}
