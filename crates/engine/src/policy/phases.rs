//! Plays phases: each gives every one of its points one streak of plays, and drops points at its end.
//!
//! A [`PhaseRule`] plans a phase from released values and public numbers before it begins, so that a trusted server can release one
//! sum for each streak. **Invariant:** each play is in one streak, and each streak is released once, in its last round.

use super::mean_noise::MeanNoise;
use super::{Policy, PolicyMaker, PolicyStreams, Proposal, Setting};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_privacy::{Query, Released, Signal};

pub(super) trait PhaseRule: Send {
    /// Returns the streaks of a phase, at least one: the place of a point among the survivors, and a number of plays above 0.
    ///
    /// No place occurs twice.
    fn plan(&mut self, state: &PhaseState) -> Vec<(usize, u64)>;

    /// Returns posterior means of all survivors and the half-widths of their intervals, from the means of the streaks.
    ///
    /// `None` where they cannot be computed: nothing is dropped.
    fn bounds(&mut self, state: &PhaseState, streaks: &[(usize, u64)], means: Vec<f64>) -> Option<(Vec<f64>, Vec<f64>)>;
}

pub(super) type MakeRule = dyn Fn(&Setting) -> Result<(MeanNoise, Box<dyn PhaseRule>), Diagnostic> + Send + Sync;

pub(super) type StateFacts = dyn Fn(&Setting) -> Facts + Send + Sync;

pub(super) struct PhasesMaker {
    pub(super) n_points: usize,
    /// Memory of one trial, in bytes.
    pub(super) bytes: f64,
    pub(super) rule: Box<MakeRule>,
    pub(super) facts: Box<StateFacts>,
}

impl PolicyMaker for PhasesMaker {
    fn own_bytes(&self) -> f64 {
        self.bytes
    }

    fn facts(&self, setting: &Setting) -> Facts {
        (self.facts)(setting)
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let (noise, rule) = (self.rule)(setting).map_err(Error::input)?;
        let survivors = (0..self.n_points as u32).collect();
        let state = PhaseState { phase: 0, start: 0, plays: 0, survivors, means: Vec::new(), sum: 0.0, best: None };
        let mut policy = PhasesPolicy { noise, rule, state, streaks: Vec::new(), in_streak: 0 };
        policy.plan();
        Ok(Box::new(policy))
    }
}

/// Holds the state of a phase; its streaks follow from it.
pub(super) struct PhaseState {
    /// The phase, 0-based.
    pub(super) phase: u64,
    /// Rounds before the phase, and rounds of the phase so far.
    pub(super) start: u64,
    plays: u64,
    /// Points that are left, ascending.
    pub(super) survivors: Vec<u32>,
    means: Vec<f64>,
    sum: f64,
    /// The best of the points that the phase before played.
    pub(super) best: Option<u32>,
}

struct PhasesPolicy {
    noise: MeanNoise,
    rule: Box<dyn PhaseRule>,
    state: PhaseState,
    streaks: Vec<(usize, u64)>,
    in_streak: u64,
}

impl PhasesPolicy {
    /// Returns the point and the length of the open streak.
    fn streak(&self) -> (usize, u64) {
        let (place, plays) = self.streaks[self.state.means.len()];
        (self.state.survivors[place] as usize, plays)
    }

    /// Drops the points whose upper bound is below the largest lower bound, and plans the next phase.
    fn end_phase(&mut self) {
        let state = &mut self.state;
        let observed = std::mem::take(&mut state.means);
        if let Some((means, widths)) = self.rule.bounds(state, &self.streaks, observed) {
            let best = means.iter().zip(&widths).map(|(mean, width)| mean - width).fold(f64::NEG_INFINITY, f64::max);
            let played = self.streaks.iter().map(|streak| streak.0).max_by(|a, b| means[*a].total_cmp(&means[*b]));
            state.best = played.map(|place| state.survivors[place]);
            let mut upper = means.iter().zip(&widths).map(|(mean, width)| mean + width);
            state.survivors.retain(|_| upper.next().is_none_or(|upper| best <= upper));
        }
        (state.phase, state.start, state.plays) = (state.phase + 1, state.start + state.plays, 0);
        self.plan();
    }

    /// Plans the phase; a shuffler mixes no fewer plays of a point than those it was calibrated for.
    fn plan(&mut self) {
        self.streaks = self.rule.plan(&self.state);
        self.streaks.iter_mut().for_each(|(_, plays)| *plays = (*plays).max(self.noise.least));
    }
}

impl Policy for PhasesPolicy {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        Proposal::Play(self.streak().0)
    }

    fn query(&self, _point: usize) -> Query<'_> {
        Query { release: self.in_streak + 1 == self.streak().1, ..Query::default() }
    }

    fn update(&mut self, _point: usize, signal: &Released<Signal>) {
        let length = self.streak().1;
        self.state.sum += signal.reward().unwrap_or(0.0);
        self.state.plays += 1;
        self.in_streak += 1;
        if self.in_streak < length {
            return;
        }
        // A server releases the mean of the streak, in its last round.
        let sum = std::mem::take(&mut self.state.sum);
        self.state.means.push(if self.noise.is_batched { sum } else { sum / length as f64 });
        self.in_streak = 0;
        if self.state.means.len() == self.streaks.len() {
            self.end_phase();
        }
    }

    fn recommend(&self) -> Option<usize> {
        let highest = self.state.means.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let of_this = highest.map(|(streak, _)| self.state.survivors[self.streaks[streak].0]);
        let only = (0 < self.state.start + self.state.plays).then(|| self.streak().0);
        self.state.best.or(of_this).map(|point| point as usize).or(only)
    }
}
