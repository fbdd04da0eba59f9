//! Defines the interface of every policy.

use super::{PolicyGroup, Problem, Setting, SumsServer};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::{FactValue, Facts};
use privateer_gp::posterior::{Posterior, SketchedPosterior};
use privateer_gp::score::{AxisFeatures, Basis, Change, FactorGrowth, Moments, ScoreModel};
use privateer_numerics::rng::Stream;
use privateer_privacy::sums::SumsNeed;
use privateer_privacy::{Protection, Query, Released, Signal};
use std::ops::Range;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Proposal {
    /// Play this point without scoring (starting points, uniform play), without backend counters.
    Play(usize),
    /// Play a uniformly random allowed point.
    Random {
        source: RandomSource,
        /// Number of points of the domain, where all of them are allowed.
        n_points: usize,
    },
    /// Play the allowed point with the largest upper confidence bound `mean + beta * standard deviation`.
    Score {
        /// Exploration factor, finite and at least 0.
        beta: f64,
    },
    /// Nothing can be proposed this way.
    Refused(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomSource {
    /// The stream of the initial design, shared by all policies of a trial.
    Design,
    Policy,
}

#[derive(Debug)]
pub struct PolicyStreams {
    /// Stream of the starting points, the same for all policies of a trial.
    pub start: Stream,
    pub own: Stream,
}

impl PolicyStreams {
    pub fn of(&mut self, source: RandomSource) -> &mut Stream {
        match source {
            RandomSource::Design => &mut self.start,
            RandomSource::Policy => &mut self.own,
        }
    }
}

/// Runs one algorithm in one trial.
pub trait Policy: Send {
    /// Returns what to play in the coming round.
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal;

    /// Updates the state with the released signal of the round in which `point` was played.
    fn update(&mut self, point: usize, signal: &Released<Signal>);

    /// Returns the played point with the highest posterior mean; `None` before the first play.
    fn recommend(&self) -> Option<usize>;

    /// Returns the privatizer's query for a play of `point`; empty where rewards are released.
    fn query(&self, _point: usize) -> Query<'_> {
        Query::default()
    }

    /// Returns the exploration factors of these rounds (1-based) at no information gain, and how they grow with it, where they
    /// follow from round and gain alone and the model observes every reward as it is released; `None` otherwise.
    fn factors_ahead(&self, _rounds: Range<u64>) -> Option<(Vec<f64>, FactorGrowth)> {
        None
    }

    /// Returns the model that scores come from; `None` for policies that never score.
    fn model(&mut self) -> Option<&mut dyn PolicyModel> {
        None
    }

    /// Returns the server of a policy that learns from released sums; `None` where rewards are released.
    fn server(&mut self) -> Option<&mut SumsServer> {
        None
    }
}

impl dyn Policy + '_ {
    pub fn scores(&mut self) -> Option<&dyn ScoreModel> {
        self.model().map(|model| model.scored().0)
    }
}

/// Scores points for a policy; a backend follows its changes from round to round.
pub trait PolicyModel {
    /// Returns the model itself, and what changed in it since the last call of [`PolicyModel::screened`].
    fn scored(&self) -> (&dyn ScoreModel, Change<'_>);

    /// Marks the change as applied by a backend.
    fn screened(&mut self);

    /// Assigns the next point number to a play of these rows of a product domain, one per axis.
    ///
    /// From then on the play is a point like any other.
    fn define(&mut self, _rows: &[u32]) {}
}

impl PolicyModel for Box<dyn Posterior> {
    fn scored(&self) -> (&dyn ScoreModel, Change<'_>) {
        (self.as_ref(), self.as_ref().change())
    }

    fn screened(&mut self) {
        self.as_mut().screened();
    }

    fn define(&mut self, rows: &[u32]) {
        self.as_mut().define(rows);
    }
}

impl PolicyModel for SketchedPosterior {
    fn scored(&self) -> (&dyn ScoreModel, Change<'_>) {
        (self, self.change())
    }

    fn screened(&mut self) {
        self.screened();
    }
}

type Prepare = dyn Fn(&Problem) -> Result<Box<dyn PolicyMaker>, Error> + Send + Sync;

/// Describes a policy as read from a spec.
pub struct PolicyPlan {
    /// Whether the policy supports a set of allowed points that changes every round.
    ///
    /// Those policies never insist on one point.
    pub plays_sets: bool,
    /// The number of rounds until the release of round 1 can change a play, given the horizon.
    pub patience: Box<dyn Fn(u64) -> u64 + Send + Sync>,
    /// Whether the algorithm is not this program's.
    pub is_foreign: bool,
    /// Whether the choices of a trial may depend on the trials of its block.
    ///
    /// A batch is then the whole block, whatever the number of threads.
    pub depends_on_block: bool,
    /// The kind of mechanism that the policy needs.
    pub protection: Protection,
    /// Makes what all trials of a cell share (feature tables); refuses a problem that does not suit, or tables that would be too large.
    pub prepare: Box<Prepare>,
}

impl PolicyPlan {
    /// Describes a policy of this program that plays any point and learns from rewards one by one.
    pub fn new(prepare: impl Fn(&Problem) -> Result<Box<dyn PolicyMaker>, Error> + Send + Sync + 'static) -> Self {
        Self {
            plays_sets: false,
            patience: Box::new(|_| 1),
            is_foreign: false,
            depends_on_block: false,
            protection: Protection::Rewards,
            prepare: Box::new(prepare),
        }
    }
}

pub trait PolicyMaker: Send + Sync {
    /// Returns the basis that scores are linear in; `None` for policies that never score.
    fn basis(&self) -> Option<Basis> {
        None
    }

    /// Returns a product domain's axes in the table of [`PolicyMaker::basis`], if there is one.
    fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        None
    }

    /// Returns the sums that the policy needs; `None` where rewards are released.
    fn sums(&self) -> Option<SumsNeed> {
        None
    }

    /// Returns the memory of one trial of a policy that never scores, in bytes.
    fn own_bytes(&self) -> f64 {
        0.0
    }

    /// Makes a policy before its first round.
    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error>;

    /// Makes the group that proposes for several trials, given by number and setting; `None` where each policy proposes.
    fn group(&self, _trials: &[(u64, &Setting)]) -> Result<Option<PolicyGroup>, Error> {
        Ok(None)
    }

    /// Returns the least exploration factor that the policy can have from this round on; `None` if it is unknown.
    fn least_factor(&self, _setting: &Setting, _round: u64) -> Option<f64> {
        None
    }

    /// Returns the given or estimated constants that the manifest must record, as (name, value).
    fn facts(&self, _setting: &Setting) -> Facts {
        Facts::default()
    }

    /// Predicts the mean and variance of the function at any points, in units of the reward.
    ///
    /// * `parameters` — the published part of a policy's model ([`SumsServer::parameters`])
    /// * `points` — rows of `dimension` coordinates
    fn predict(
        &self,
        _setting: &Setting,
        _parameters: &FactValue,
        _dimension: usize,
        _points: &[f64],
    ) -> Result<Vec<Moments>, Error> {
        Diagnostic::new("this policy releases no parameters: its model consists of the points played")
            .hint("policies that learn from private sums do: `jdp-gp-ucb`, `local-jdp-gp-ucb`, `jdp-linucb`")
            .refuse()
    }
}

/// A maker of policies that never score, and of which the manifest records nothing.
impl<F: Fn(&Setting) -> Result<Box<dyn Policy>, Error> + Send + Sync> PolicyMaker for F {
    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        self(setting)
    }
}
