//! Defines what an algorithm from outside implements, and what it is told.

use super::super::{FeaturesPlan, MeanNoise, ReleasedFacts};
use privateer_config::facts::FactValue;
use privateer_gp::Points;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::GramSource;
use privateer_numerics::rng::Stream;
use privateer_privacy::RewardFacts;
use privateer_privacy::sums::{Sums, SumsFacts};
use std::error::Error;
use std::sync::Arc;

/// Why an algorithm cannot go on; the run ends with its message.
pub type PolicyFailure = Box<dyn Error + Send + Sync>;

/// States what is publicly known before the first round.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PolicyStart {
    /// Number of points of the domain.
    pub n_points: usize,
    /// Coordinates of the points, if the domain has any.
    pub points: Option<Points>,
    /// Prior covariance of the points.
    pub covariance: Arc<dyn GramSource>,
    /// The kernel of the covariance, if there is one.
    pub kernel: Option<Arc<dyn Kernel>>,
    /// Features whose running sums are released, where an algorithm learns from those.
    pub features: Option<SumsFeatures>,
    /// Horizon.
    pub rounds: u64,
    /// The trials, in the order of every later call.
    pub trials: Vec<TrialFacts>,
}

/// Holds the features of all points that enter released sums.
///
/// They are those of the spec over their largest length, so that none is longer than 1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SumsFeatures {
    /// Number of features of a point.
    pub n_features: usize,
    /// Features, `n_points x n_features`, row-major.
    pub rows: Arc<[f64]>,
    /// Largest length of the features of the spec.
    pub norm: f64,
}

impl SumsFeatures {
    /// Returns the features of a point.
    pub fn row(&self, point: usize) -> &[f64] {
        &self.rows[point * self.n_features..(point + 1) * self.n_features]
    }
}

/// States the public constants of one trial.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TrialFacts {
    /// Number of the trial, from 0.
    pub trial: u64,
    /// Bounds on the function and its noise.
    pub rewards: RewardFacts,
    /// Constants of the mechanism that releases the rewards.
    pub released: ReleasedFacts,
    /// Noise on the mean of a batch, where a trusted server or a shuffler releases those; `None` where rewards arrive one by one.
    pub batches: Option<MeanNoise>,
    /// Constants of the mechanism that releases sums or a choice; `None` where rewards are released.
    pub sums: Option<SumsFacts>,
}

/// One trial that waits for its next point.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrialView<'a> {
    /// Number of the trial, from 0.
    pub trial: u64,
    /// Place of the trial in [`PolicyStart::trials`].
    pub place: usize,
    /// The coming round, from 1.
    pub round: u64,
    /// The points that may be played in this round, ascending; `None` where all of them may.
    pub allowed: Option<&'a [u32]>,
    /// The trial's own random stream.
    pub random: &'a mut Stream,
}

/// What one trial has played, and the reward that its mechanism released.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ToldReward {
    /// Number of the trial, from 0.
    pub trial: u64,
    /// Place of the trial in [`PolicyStart::trials`].
    pub place: usize,
    /// The point that was played.
    pub point: usize,
    /// The released reward, or the mean of a batch: never the reward itself, unless the mechanism is `none`.
    pub released: f64,
}

/// What a server has released of one trial in place of rewards.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToldRelease<'a> {
    /// Number of the trial, from 0.
    pub trial: u64,
    /// Place of the trial in [`PolicyStart::trials`].
    pub place: usize,
    /// What was released.
    pub released: Release<'a>,
}

/// A release of a trusted server in place of rewards.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Release<'a> {
    /// Noisy sums over all rounds so far of features times features, and of features times reward minus
    /// [`SumsFacts::centre`]; they replace the earlier ones.
    Sums(&'a Sums),
    /// The candidate that the exponential mechanism has chosen, by its place among those that were played, and its point.
    Choice {
        /// Place, from 0.
        candidate: usize,
        /// The point.
        point: usize,
    },
}

/// An algorithm that runs many trials at once.
///
/// Trials are told apart by their place. Every call has all of them, in order, unless [`BatchPolicy::users`] says otherwise. What
/// is chosen in one trial should depend on that trial alone: see [`super::OwnPolicy::batched`]. An error of any method, whatever keeps the
/// algorithm from going on, ends the run.
pub trait BatchPolicy: Send {
    /// Returns the next point of each of these trials.
    fn ask(&mut self, trials: &mut [TrialView<'_>]) -> Result<Vec<usize>, PolicyFailure>;

    /// Learns the released reward of each of these trials, or the mean of what was released of the users of a batch.
    fn tell(&mut self, told: &[ToldReward]) -> Result<(), PolicyFailure>;

    /// Learns what a server has released in place of rewards: [`super::OwnPolicy::over_sums`], [`super::OwnPolicy::by_choice`].
    fn learn(&mut self, _told: &[ToldRelease<'_>]) -> Result<(), PolicyFailure> {
        Err(NO_LEARN.into())
    }

    /// Returns how many users play the point that was last chosen for the trial at this place: a batch, at least 1.
    ///
    /// The trial is next asked after the last of them, and told their mean. A batch that the horizon cuts off is not told.
    fn users(&self, _place: usize) -> u64 {
        1
    }

    /// Returns the point that the trial at this place would recommend now.
    ///
    /// `None` stands for the point of the largest average, the chosen candidate, or under sums the point that was played last.
    fn recommend(&self, _place: usize) -> Result<Option<usize>, PolicyFailure> {
        Ok(None)
    }

    /// Returns what the trial at this place keeps of its model after the last round; stored where the spec says
    /// `record = { parameters = true }`.
    fn state(&self, _place: usize) -> Result<Option<FactValue>, PolicyFailure> {
        Ok(None)
    }
}

/// An algorithm that runs one trial.
///
/// It learns released rewards alone. What a mechanism has not released is a [`privateer_privacy::Raw`] value, which nobody
/// outside of that crate can open:
///
/// ```compile_fail,E0624
/// # extern crate privateer_engine as privateer;
/// fn peek(reward: privateer::privacy::Raw<f64>) -> f64 {
///     reward.open()
/// }
/// ```
pub trait TrialPolicy: Send {
    /// Returns the next point.
    fn ask(&mut self, trial: &mut TrialView<'_>) -> usize;

    /// Learns the released reward of a point, or the mean of a batch.
    fn tell(&mut self, point: usize, released: f64);

    /// Learns what a server has released in place of rewards, as [`BatchPolicy::learn`]; an error ends the run.
    fn learn(&mut self, _released: Release<'_>) -> Result<(), PolicyFailure> {
        Err(NO_LEARN.into())
    }

    /// Returns how many users play the point that was last chosen, as [`BatchPolicy::users`].
    fn users(&self) -> u64 {
        1
    }

    /// Returns the point that it would recommend now; `None` as in [`BatchPolicy::recommend`].
    fn recommend(&self) -> Option<usize> {
        None
    }

    /// Returns what it keeps of its model after the last round; stored where the spec says `record = { parameters = true }`.
    fn state(&self) -> Option<FactValue> {
        None
    }
}

const NO_LEARN: &str = "it asks for sums or a choice and has no `learn` that takes them";

pub(super) struct EachTrial<P>(pub(super) Vec<P>);

impl<P: TrialPolicy> BatchPolicy for EachTrial<P> {
    fn ask(&mut self, trials: &mut [TrialView<'_>]) -> Result<Vec<usize>, PolicyFailure> {
        Ok(trials.iter_mut().map(|trial| self.0[trial.place].ask(trial)).collect())
    }

    fn tell(&mut self, told: &[ToldReward]) -> Result<(), PolicyFailure> {
        told.iter().for_each(|told| self.0[told.place].tell(told.point, told.released));
        Ok(())
    }

    fn learn(&mut self, told: &[ToldRelease<'_>]) -> Result<(), PolicyFailure> {
        told.iter().try_for_each(|told| self.0[told.place].learn(told.released))
    }

    fn users(&self, place: usize) -> u64 {
        self.0[place].users()
    }

    fn state(&self, place: usize) -> Result<Option<FactValue>, PolicyFailure> {
        Ok(self.0.get(place).and_then(|policy| policy.state()))
    }

    fn recommend(&self, place: usize) -> Result<Option<usize>, PolicyFailure> {
        Ok(self.0[place].recommend())
    }
}

/// Who stands between the users and an algorithm from outside.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    /// Each user's reward is released by itself.
    Rewards,
    /// A trusted server or a shuffler releases the mean of each batch, of which the least may be stated.
    Batches(Option<u64>),
    /// A trusted server releases running sums of these features, with this number of rounds from one release to the next.
    Sums(Arc<dyn FeaturesPlan>, u64),
    /// A trusted server releases one of this number of candidates, each scored by this number of users.
    Choice(u64, u64),
}
