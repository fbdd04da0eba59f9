//! Defines the interface of every policy and what a policy may know.

use super::{PolicyGroup, ReleasedFacts, SumsServer};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_gp::kernel::Kernel;
use privateer_gp::posterior::{Posterior, SketchedPosterior};
use privateer_gp::score::{AxisFeatures, Basis, Change, FeatureTable, GramSource, Moments, ScoreModel};
use privateer_gp::{KernelGram, Plays, Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::{Stream, Streams};
use privateer_privacy::curator::ReleasedInputs;
use privateer_privacy::sums::{SumsFacts, SumsNeed};
use privateer_privacy::{Channel, Protection, Query, Released, RewardFacts, Signal};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// States what a policy plays next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Proposal {
    /// Play this point without scoring (starting points, uniform play), without backend counters.
    Play(usize),
    /// Play a uniformly random allowed point.
    Random {
        /// The stream that the draw comes from.
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

/// Names the random stream that a draw comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomSource {
    /// The stream of the initial design, shared by all policies of a trial.
    Design,
    /// The policy's own stream.
    Policy,
}

/// Holds the random streams that a policy may draw from.
#[derive(Debug)]
pub struct PolicyStreams {
    /// Stream of the starting points, the same for all policies of a trial.
    pub start: Stream,
    /// The policy's own stream.
    pub own: Stream,
}

impl PolicyStreams {
    /// Returns the stream of this source.
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

    /// Returns the exploration factor of a round (1-based), where it follows from the round alone and the model observes every
    /// reward as it is released; `None` otherwise.
    fn factor_ahead(&self, _round: u64) -> Option<f64> {
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
    /// Returns the model's scores; `None` for policies that never score.
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

/// Describes the problem that all trials of a cell share.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The policy's knowledge of the inputs before the first trial.
    pub inputs: KnownInputs,
    /// Largest number of points at which features are computed: a check takes a sample of a larger domain.
    pub table_points: usize,
    /// Horizon.
    pub rounds: u64,
    /// Random streams of the environment.
    pub streams: Streams,
    /// Largest size of one shared table, in bytes.
    pub memory_bytes: f64,
    /// Feature tables that were already built for this problem.
    pub tables: Arc<TableCache>,
}

/// States what a policy knows of the inputs before a trial.
#[derive(Debug, Clone)]
pub enum KnownInputs {
    /// All inputs are known, the same in every trial.
    Shared(SharedInputs),
    /// A curator releases noisy inputs, different ones in every trial: [`Setting::released_inputs`].
    Released {
        /// Number of rows.
        n_points: usize,
        /// The function's kernel between the inputs themselves.
        kernel: Arc<dyn Kernel>,
    },
    /// All combinations of the axes' points, too many to list.
    Product(Arc<ProductDomain>),
}

/// Holds the inputs that all trials share.
#[derive(Debug, Clone)]
pub struct SharedInputs {
    /// Prior covariance over the domain.
    pub gram: Arc<dyn GramSource>,
    /// Coordinates of the points, if the domain has any.
    pub points: Option<Points>,
    /// The kernel of the covariance, if there is one.
    pub kernel: Option<Arc<dyn Kernel>>,
}

impl Problem {
    /// Returns the number of points of the domain.
    pub fn n_points(&self) -> usize {
        match &self.inputs {
            KnownInputs::Shared(shared) => shared.gram.n_points(),
            KnownInputs::Released { n_points, .. } => *n_points,
            KnownInputs::Product(product) => product.n_rows(),
        }
    }

    /// Returns the inputs as [`Problem::shared`] does, at most `table_points` of them: spread over all, with both ends.
    ///
    /// Inputs without coordinates or kernel are a table already, and are returned whole.
    ///
    /// # Errors
    /// As [`Problem::shared`].
    pub fn tabulated(&self) -> Result<SharedInputs, Error> {
        let shared = self.shared()?;
        let (SharedInputs { points: Some(points), kernel: Some(kernel), .. }, true) =
            (shared, self.table_points < self.n_points())
        else {
            return Ok(shared.clone());
        };
        let (all, most) = (points.n_points(), self.table_points.max(2));
        let some = (0..most).flat_map(|at| points.point(at * (all - 1) / (most - 1)).iter().copied()).collect();
        let points = Points::new(points.dimension(), some);
        let gram = Arc::new(KernelGram::new(Arc::clone(kernel), points.clone()));
        Ok(SharedInputs { gram, points: Some(points), kernel: Some(Arc::clone(kernel)) })
    }

    /// Returns the number of points, for a policy that names them by their places.
    ///
    /// # Errors
    /// If the domain is a product of axes.
    pub fn listed(&self) -> Result<usize, Error> {
        if matches!(self.inputs, KnownInputs::Product(_)) {
            self.shared()?;
        }
        Ok(self.n_points())
    }

    /// Returns the inputs, for a policy that needs them before the first trial.
    ///
    /// # Errors
    /// If a curator releases different inputs in every trial, or the domain is a product of axes.
    pub fn shared(&self) -> Result<&SharedInputs, Error> {
        match &self.inputs {
            KnownInputs::Shared(shared) => Ok(shared),
            KnownInputs::Product(product) => Diagnostic::new(format!(
                    "the points of a product of {} axes cannot be listed, and this policy needs a list",
                    product.dimension()
                ))
                .expected("`uniform`, or a policy over `quadrature-fourier` features of an `additive` kernel, such as `qff-gp-ucb`")
                .hint("use another policy, or `domain = \"random\"` with a number of points").refuse(),
            KnownInputs::Released { .. } => Diagnostic::new("this policy tabulates the inputs before the first trial, and a curator releases different ones in every trial")
                    .hint(
                        "use `gp-ucb`, `igp-ucb` or `tgp-ucb` without `features`, or give the policy `curator = { mechanism = \"none\" }`",
                    ).refuse(),
        }
    }
}

/// Caches the feature tables of one problem with their prior bounds, by the `Debug` text of the plan that built them.
#[derive(Debug, Default)]
pub struct TableCache(Mutex<Vec<(String, Arc<FeatureTable>, f64)>>);

impl TableCache {
    /// Returns the table of an equal plan and its [`Plays::prior_bound`] if they exist, else builds them.
    ///
    /// Other threads wait while a table is being built.
    ///
    /// # Errors
    /// As [`FeaturesPlan::build`].
    pub fn table(&self, plan: &dyn FeaturesPlan, problem: &Problem) -> Result<(Arc<FeatureTable>, f64), Error> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{plan:?}");
        if let Some((_, table, bound)) = tables.iter().find(|(known, ..)| *known == key) {
            return Ok((Arc::clone(table), *bound));
        }
        let table = Arc::new(plan.build(problem)?);
        let bound = Plays::new(Arc::clone(&table), plan.axes(problem)).prior_bound();
        tables.push((key, Arc::clone(&table), bound));
        Ok((table, bound))
    }
}

/// Holds what a policy may know of a trial: public constants of the problem and of the mechanism.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Bounds on the function and the noise.
    pub facts: RewardFacts,
    /// Constants of the reward mechanism, where rewards are released.
    pub released: ReleasedFacts,
    /// Constants of the sums mechanism, where sums are released.
    pub sums: Option<SumsFacts>,
    /// Proved sub-Gaussian scale of the observation noise; `None` for heavy or unknown tails.
    pub noise_scale: Option<f64>,
    /// Earlier sensor readings, where the environment has any.
    pub train: Option<Arc<TrainReadings>>,
    /// The released inputs of the trial, where the environment has a curator.
    pub released_inputs: Option<Arc<Released<ReleasedInputs>>>,
}

impl Setting {
    /// Creates the setting under this mechanism, without released inputs.
    pub fn new(facts: &RewardFacts, noise_scale: Option<f64>, channel: &Channel, train: Option<Arc<TrainReadings>>) -> Self {
        let released =
            channel.rewards().map_or_else(|| ReleasedFacts::nothing(facts), |rewards| ReleasedFacts::of(rewards, facts));
        let sums = channel.sums().map(|sums| sums.facts());
        Self { facts: facts.clone(), released, sums, noise_scale, train, released_inputs: None }
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
    /// As [`PolicyPlan::prepare`].
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

    /// Makes what all trials of a cell share (feature tables).
    ///
    /// # Errors
    /// If the problem does not suit the policy, or its tables would be too large.
    pub fn prepare(&self, problem: &Problem) -> Result<Box<dyn PolicyMaker>, Error> {
        (self.prepare)(problem)
    }
}

/// Makes one trial's policy.
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
    ///
    /// # Errors
    /// If the exploration factor or the truncation needs a constant that the problem does not have.
    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error>;

    /// Makes the group that proposes for several trials, given by number and setting; `None` where each policy proposes.
    ///
    /// # Errors
    /// If the algorithm cannot start.
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
    ///
    /// # Errors
    /// If the parameters are not of this policy and problem, the points have another dimension than the domain, or the features
    /// are defined on the domain's points only.
    fn predict(
        &self,
        _setting: &Setting,
        _parameters: &serde_json::Value,
        _dimension: usize,
        _points: &[f64],
    ) -> Result<Vec<Moments>, Error> {
        Diagnostic::new("this policy releases no parameters: its model consists of the points played")
            .hint("policies that learn from private sums do: `jdp-gp-ucb`, `local-jdp-gp-ucb`, `jdp-linucb`")
            .refuse()
    }
}

/// Describes a feature map as read from a spec; plans of equal `Debug` text build equal tables.
pub trait FeaturesPlan: Send + Sync + fmt::Debug {
    /// Builds the features of every point of the problem's domain.
    ///
    /// # Errors
    /// If the map does not suit the kernel, or the table would be too large.
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error>;

    /// Builds the features and residuals of points outside the domain.
    ///
    /// `None` where the map is defined on the domain's points only.
    ///
    /// # Errors
    /// As [`FeaturesPlan::build`].
    fn at(&self, _problem: &Problem, _points: &Points) -> Result<Option<FeatureTable>, Error> {
        Ok(None)
    }

    /// Returns the features of each axis of a product domain; `None` over any other domain.
    fn axes(&self, _problem: &Problem) -> Option<Arc<[AxisFeatures]>> {
        None
    }

    /// Returns what the manifest must record of a table that this plan built, as (name, value).
    fn facts(&self, _problem: &Problem, table: &FeatureTable) -> Facts {
        [("features", table.n_features.into()), ("kernel error of the features", table.kernel_error.into())].into()
    }
}
