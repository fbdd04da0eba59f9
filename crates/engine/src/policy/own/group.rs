//! Guards the calls of an algorithm from outside: what it returns is checked, and what it throws ends the run with a message.

use super::contract::Stage;
use super::{BatchPolicy, Release, ToldRelease, ToldReward, TrialView};
use privateer_config::error::{Error, guarded};
use privateer_config::facts::FactValue;
use privateer_gp::posterior::Visits;
use privateer_privacy::{Released, Signal};

/// Trials that one algorithm from outside runs together.
///
/// A trial is asked at the start of each of its batches and told at their ends; a batch is one user unless the algorithm says more.
pub struct PolicyGroup {
    policy: Box<dyn BatchPolicy>,
    n_points: usize,
    label: String,
    batches: Vec<OpenBatch>,
    stage: Stage,
}

/// The users of one trial who play one point.
#[derive(Default)]
struct OpenBatch {
    point: usize,
    /// Number of users who have yet to play.
    left: u64,
    /// Least number of users whose mean is released.
    least: u64,
    /// Sum and number of what was released of the batch: each reward, or the mean at its end alone.
    released: (f64, u64),
    /// The candidates so far, and their rewards without privacy.
    candidates: Vec<usize>,
    scored: Visits,
    chosen: Option<usize>,
}

impl OpenBatch {
    fn n_candidates(&self) -> u64 {
        self.candidates.len() as u64
    }

    /// Takes a choice among the candidates; returns it.
    fn choose(&mut self, candidate: usize) -> Option<Release<'static>> {
        let point = *self.candidates.get(candidate)?;
        self.chosen = Some(point);
        Some(Release::Choice { candidate, point })
    }
}

impl PolicyGroup {
    /// * `least` — the least number of users of a batch of each trial
    pub(super) fn new(policy: Box<dyn BatchPolicy>, n_points: usize, stage: Stage, least: impl Iterator<Item = u64>) -> Self {
        let batches = least.map(|least| OpenBatch { least, ..OpenBatch::default() }).collect();
        Self { policy, n_points, label: "from outside".to_owned(), batches, stage }
    }

    #[must_use]
    pub fn named(self, label: &str) -> Self {
        Self { label: label.to_owned(), ..self }
    }

    /// Returns the next point of each trial, all of which are given.
    pub fn ask(&mut self, mut trials: Vec<TrialView<'_>>) -> Result<Vec<usize>, Error> {
        let round = trials.first().map_or(0, |trial| trial.round);
        let Self { policy, label, batches, stage, .. } = self;
        let failed = |why: String| failure(label, &format!("round {round}"), why);
        trials.retain(|trial| batches[trial.place].left == 0);
        if !trials.is_empty() {
            let points = guarded(|| policy.ask(&mut trials)).map_err(failed)?;
            if points.len() != trials.len() {
                return Err(failed(format!("it returned {} points for {} trials", points.len(), trials.len())));
            }
            for (trial, &point) in trials.iter().zip(&points) {
                let number = trial.trial;
                if self.n_points <= point {
                    let last = self.n_points - 1;
                    return Err(failed(format!("in trial {number} it chose point {point}, and the last is {last}")));
                }
                if trial.allowed.is_some_and(|allowed| allowed.binary_search(&(point as u32)).is_err()) {
                    return Err(failed(format!("in trial {number} it chose point {point}, which is not allowed in this round")));
                }
                let batch = &mut batches[trial.place];
                let users = match *stage {
                    Stage::Choice(count, users) if batch.n_candidates() < count => {
                        batch.candidates.push(point);
                        users
                    }
                    Stage::Rewards | Stage::Batches(_) => guarded(|| Ok(policy.users(trial.place))).map_err(failed)?,
                    Stage::Sums(..) | Stage::Choice(..) => 1,
                };
                if 1 < users && trial.allowed.is_some() {
                    let why = "in an environment with decision sets, which change within a batch";
                    return Err(failed(format!("in trial {number} its batch has {users} users, {why}")));
                }
                if users < batch.least {
                    let least = batch.least;
                    return Err(failed(format!("in trial {number} its batch has {users} users, and the least is {least}")));
                }
                (batch.point, batch.left, batch.released) = (point, users, (0.0, 0));
            }
        }
        Ok(batches.iter().map(|batch| batch.point).collect())
    }

    /// Returns whether the batch of the trial at this place is to be released after this round.
    pub fn ends(&self, place: usize) -> bool {
        let batch = &self.batches[place];
        batch.left == 1
            && match self.stage {
                // The mean of each batch is released at its end, sums as the query of each trial says.
                Stage::Rewards | Stage::Batches(_) => true,
                Stage::Sums(..) => false,
                Stage::Choice(count, _) => batch.n_candidates() == count,
            }
    }

    /// Takes what was released of each trial in a round; tells sums, choices and the means of the batches that end.
    ///
    /// * `released` — the number of each trial, and what was released
    pub fn tell<'a>(&mut self, round: u64, released: impl Iterator<Item = (u64, &'a Released<Signal>)>) -> Result<(), Error> {
        let (mut told, mut releases) = (Vec::new(), Vec::new());
        let Self { policy, label, batches, stage, .. } = self;
        for (place, ((trial, signal), batch)) in released.zip(batches).enumerate() {
            batch.left -= 1;
            match (signal.value(), &*stage) {
                // Without privacy rewards arrive one by one, and the best average is chosen.
                (Signal::Reward(_), Stage::Choice(..)) if batch.chosen.is_some() => {}
                (Signal::Reward(reward), Stage::Choice(count, _)) => {
                    batch.scored.add(batch.point, *reward);
                    if batch.left == 0 && batch.n_candidates() == *count {
                        let best = batch.scored.best_average();
                        let best = batch.candidates.iter().position(|point| Some(*point) == best);
                        let release = best.and_then(|candidate| batch.choose(candidate));
                        releases.extend(release.map(|released| ToldRelease { trial, place, released }));
                    }
                }
                (Signal::Reward(reward), _) => {
                    let (sum, n) = batch.released;
                    batch.released = (if n == 0 { *reward } else { sum + reward }, n + 1);
                }
                (Signal::Sums(sums), _) => releases.push(ToldRelease { trial, place, released: Release::Sums(sums) }),
                (Signal::Choice(candidate), _) => {
                    releases.extend(batch.choose(*candidate).map(|released| ToldRelease { trial, place, released }));
                }
                (Signal::Item(_) | Signal::Nothing, _) => {}
            }
            let (sum, n) = batch.released;
            if batch.left == 0 && 0 < n {
                told.push(ToldReward { trial, place, point: batch.point, released: sum / n as f64 });
            }
        }
        let failed = |why| failure(label, &format!("round {round}"), why);
        if !releases.is_empty() {
            guarded(|| policy.learn(&releases)).map_err(failed)?;
        }
        if told.is_empty() { Ok(()) } else { guarded(|| policy.tell(&told)).map_err(failed) }
    }

    /// Returns the point that the trial at this place recommends, if the algorithm says one.
    pub fn recommend(&self, place: usize) -> Result<Option<usize>, Error> {
        let failed = |why: String| failure(&self.label, "its recommendation", why);
        let point = guarded(|| self.policy.recommend(place)).map_err(failed)?;
        match point {
            Some(point) if self.n_points <= point => Err(failed(format!("there is no point {point}"))),
            point => Ok(point.or(self.batches[place].chosen)),
        }
    }

    /// Returns what the trial at this place keeps of its model, if the algorithm says it.
    pub fn state(&self, place: usize) -> Result<Option<FactValue>, Error> {
        guarded(|| self.policy.state(place)).map_err(|why| failure(&self.label, "its state", why))
    }
}

pub(super) fn failure(label: &str, at: &str, why: String) -> Error {
    Error::Failed {
        problem: format!("policy `{label}` failed in {at}: {why}"),
        hint: "finished blocks are kept; mend the policy, and the same run resumes".to_owned(),
    }
}
