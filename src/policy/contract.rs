//! What every policy is, and what it may know.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::{AxisFeatures, Basis, Change, FeatureTable, GramSource, Moments, ScoreModel};
use privateer_gp::{Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::{Stream, Streams};
use privateer_privacy::curator::ReleasedInputs;
use privateer_privacy::sums::{SumsFacts, SumsNeed};
use privateer_privacy::{Channel, Protection, Query, Released, RewardFacts, RewardMechanism, Signal};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a policy plays next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Proposal {
    /// This point, without scoring (starting points, uniform play). Bypasses the backend and its counters.
    Play(usize),
    /// A uniformly random one of the points that may be played, of `n_points` where all may.
    Random {
        /// From which stream.
        source: RandomSource,
        /// Points of the domain.
        n_points: usize,
    },
    /// The point with the largest `mean + beta * spread` of those that may be played.
    Score {
        /// What multiplies the spread, finite and at least 0.
        beta: f64,
    },
}

/// The random stream that a draw comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomSource {
    /// The stream of the initial design, shared by all policies of a trial.
    Design,
    /// The policy's own stream.
    Policy,
}

/// The streams a policy may draw from.
#[derive(Debug)]
pub struct PolicyStreams {
    /// Starting points: the same for all policies of a trial.
    pub start: Stream,
    /// The policy's own.
    pub own: Stream,
}

impl PolicyStreams {
    /// The stream of this kind.
    pub fn of(&mut self, source: RandomSource) -> &mut Stream {
        match source {
            RandomSource::Design => &mut self.start,
            RandomSource::Policy => &mut self.own,
        }
    }
}

/// One algorithm in one trial.
pub trait Policy: Send {
    /// What to play in the coming round.
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal;

    /// The model that scores come from; `None` for policies that never score.
    fn model(&self) -> Option<&dyn ScoreModel>;

    /// Over a product domain: gives the next number to the play of these rows, one of each axis. From then on it is a point.
    fn define(&mut self, rows: &[u32]) {
        let _ = rows;
    }

    /// What changed since [`Policy::screened`].
    fn change(&self) -> Change<'_>;

    /// Says that a backend has taken the change.
    fn screened(&mut self);

    /// What the privatizer is told when `point` is played: nothing, where rewards alone are released.
    fn query(&self, point: usize) -> Query<'_> {
        let _ = point;
        Query::default()
    }

    /// Takes the released signal of the round in which `point` was played.
    fn update(&mut self, point: usize, signal: &Released<Signal>);

    /// The point with the highest posterior mean among those played; `None` before the first.
    fn recommend(&self) -> Option<usize>;

    /// Signals taken so far.
    fn told(&self) -> u64;

    /// Rounds so far in which noise had left the model indefinite and it was repaired.
    fn repaired(&self) -> u64 {
        0
    }

    /// What of the model may be given out: released values alone, enough for [`PolicyMaker::predict`]. None where a model is made of the
    /// points played.
    fn parameters(&self) -> Option<serde_json::Value> {
        None
    }

    /// The state as plain data with a version, for [`PolicyMaker::restore`].
    fn save(&self) -> serde_json::Value;
}

/// The problem as all trials of a cell share it.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What is known of the inputs before the first trial.
    pub inputs: KnownInputs,
    /// Horizon.
    pub rounds: u64,
    /// Streams of the environment.
    pub streams: Streams,
    /// Most bytes that one shared table may take.
    pub memory_bytes: f64,
    /// Feature tables already built over this problem.
    pub tables: Arc<TableCache>,
}

/// What a policy knows of the inputs before a trial.
#[derive(Debug, Clone)]
pub enum KnownInputs {
    /// All of them, the same in every trial.
    Shared(SharedInputs),
    /// A curator gives out released inputs, other ones in every trial: [`Setting::released_inputs`].
    Released {
        /// Number of rows.
        n_points: usize,
        /// The function's kernel between the inputs themselves.
        kernel: Arc<dyn Kernel>,
    },
    /// Points of axes, freely combined: too many to list.
    Product(Arc<ProductDomain>),
}

/// Inputs that all trials share.
#[derive(Debug, Clone)]
pub struct SharedInputs {
    /// Prior covariance over the domain.
    pub gram: Arc<dyn GramSource>,
    /// Coordinates of the points, if the domain has any.
    pub points: Option<Points>,
    /// The kernel behind the covariance, if there is one.
    pub kernel: Option<Arc<dyn Kernel>>,
}

impl Problem {
    /// Number of points of the domain.
    #[must_use]
    pub fn n_points(&self) -> usize {
        match &self.inputs {
            KnownInputs::Shared(shared) => shared.gram.n_points(),
            KnownInputs::Released { n_points, .. } => *n_points,
            KnownInputs::Product(product) => product.n_rows(),
        }
    }

    /// The inputs, for a policy that needs them before the first trial.
    ///
    /// # Errors
    /// If a curator gives out others in every trial.
    pub fn shared(&self) -> Result<&SharedInputs, Error> {
        match &self.inputs {
            KnownInputs::Shared(shared) => Ok(shared),
            KnownInputs::Product(product) => Err(Error::input(
                Diagnostic::new(format!(
                    "the points of a product of {} axes cannot be listed, and this policy needs a list",
                    product.dimension()
                ))
                .expected("`uniform`, or a policy over `quadrature-fourier` features of an `additive` kernel, such as `qff-gp-ucb`")
                .hint("use another policy, or `domain = \"random\"` with a number of points"),
            )),
            KnownInputs::Released { .. } => Err(Error::input(
                Diagnostic::new("this policy makes tables of the inputs before the first trial, and a curator gives out others in every trial")
                    .hint(
                        "use `gp-ucb`, `igp-ucb` or `tgp-ucb` without `features`, or give the policy `curator = { mechanism = \"none\" }`",
                    ),
            )),
        }
    }
}

/// Feature tables of one problem, by what they were built from.
#[derive(Debug, Default)]
pub struct TableCache(Mutex<Vec<(String, Arc<FeatureTable>)>>);

impl TableCache {
    /// The table built earlier by an equal plan, else a new one. Whoever comes while it is built waits.
    ///
    /// # Errors
    /// As [`FeaturesPlan::build`].
    pub fn table(&self, plan: &dyn FeaturesPlan, problem: &Problem) -> Result<Arc<FeatureTable>, Error> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{plan:?}");
        if let Some((_, table)) = tables.iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(plan.build(problem)?);
        tables.push((key, Arc::clone(&table)));
        Ok(table)
    }
}

/// What a policy may know of a trial: public constants of the problem and of the mechanism.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Bounds on function and noise.
    pub facts: RewardFacts,
    /// What the mechanism lets through, where it releases rewards.
    pub released: ReleasedFacts,
    /// Constants of the mechanism, where it releases sums.
    pub sums: Option<SumsFacts>,
    /// Readings of an earlier time, where the environment has any.
    pub train: Option<Arc<TrainReadings>>,
    /// What the trial's curator gave out of the inputs, where there is one.
    pub released_inputs: Option<Arc<Released<ReleasedInputs>>>,
}

impl Setting {
    /// What a policy may know under this mechanism; without released inputs.
    #[must_use]
    pub fn new(facts: &RewardFacts, channel: &Channel, train: Option<Arc<TrainReadings>>) -> Self {
        let released =
            channel.rewards().map_or_else(|| ReleasedFacts::nothing(facts), |rewards| ReleasedFacts::of(rewards, facts));
        Self { facts: facts.clone(), released, sums: channel.sums().map(|sums| sums.facts()), train, released_inputs: None }
    }
}

/// Public constants of what a mechanism releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReleasedFacts {
    /// Bound on a released reward, if there is one.
    pub output_bound: Option<f64>,
    /// Worst-case variance of the mechanism's own noise; 0 without one.
    pub mechanism_variance: f64,
    /// Scale of Laplace noise, where the mechanism is Laplace.
    pub laplace_scale: Option<f64>,
    /// Bound on the magnitude of a reward before the mechanism's noise, if there is one.
    pub clipped_bound: Option<f64>,
}

impl ReleasedFacts {
    /// No reward is released.
    fn nothing(facts: &RewardFacts) -> Self {
        let clipped_bound = facts.range.map(|(lo, hi)| lo.abs().max(hi.abs()));
        Self { output_bound: None, mechanism_variance: 0.0, laplace_scale: None, clipped_bound }
    }

    /// The constants of this mechanism on this problem.
    #[must_use]
    pub fn of(mechanism: &dyn RewardMechanism, facts: &RewardFacts) -> Self {
        let clip = mechanism.clip().or(facts.range);
        Self {
            output_bound: mechanism.output_bound(),
            mechanism_variance: mechanism.noise_variance(),
            laplace_scale: mechanism.laplace_scale(),
            clipped_bound: clip.map(|(lo, hi)| lo.abs().max(hi.abs())).or(facts.noise_bound.map(|noise| facts.bound + noise)),
        }
    }
}

/// A policy as read from a spec.
pub trait PolicyPlan: Send + Sync {
    /// Whether it plays where the points that may be played change every round: it never insists on a point.
    fn plays_sets(&self) -> bool {
        false
    }

    /// Rounds of a run of `rounds` until what was released in the first can change what is played.
    fn patience(&self, rounds: u64) -> u64 {
        let _ = rounds;
        1
    }

    /// What kind of mechanism it needs.
    fn protection(&self) -> Protection {
        Protection::Rewards
    }

    /// Makes what all trials of a cell share (feature tables).
    ///
    /// # Errors
    /// If the problem does not suit the policy, or tables would be too large.
    fn prepare(&self, problem: &Problem) -> Result<Box<dyn PolicyMaker>, Error>;
}

/// Makes one trial's policy.
pub trait PolicyMaker: Send + Sync {
    /// The basis that scores are linear in; `None` for policies that never score.
    fn basis(&self) -> Option<Basis>;

    /// The axes of a product domain in the table of [`PolicyMaker::basis`], where the policy plays one.
    fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        None
    }

    /// What it asks a privatizer to sum; `None` where rewards are released.
    fn sums(&self) -> Option<SumsNeed> {
        None
    }

    /// A policy before its first round.
    ///
    /// # Errors
    /// If beta or truncation needs a constant that the problem does not have.
    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error>;

    /// What the manifest must say of constants that the policy was given or has estimated, as (name, value).
    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        let _ = setting;
        Vec::new()
    }

    /// Mean and variance of the function, in units of the reward, at any points, from the parameters of a policy
    /// ([`Policy::parameters`]).
    /// * `points` — rows of `dimension` coordinates
    ///
    /// # Errors
    /// If the parameters are not of this policy and problem, the points have another dimension than the domain, or the features have
    /// no values beyond it.
    fn predict(
        &self,
        setting: &Setting,
        parameters: &serde_json::Value,
        dimension: usize,
        points: &[f64],
    ) -> Result<Vec<Moments>, Error> {
        let _ = (setting, parameters, dimension, points);
        Err(Error::input(
            Diagnostic::new("this policy gives out no parameters: its model is made of the points played")
                .hint("policies that learn from private sums do: `jdp-gp-ucb`, `local-jdp-gp-ucb`, `jdp-linucb`"),
        ))
    }

    /// The policy whose state was saved.
    ///
    /// # Errors
    /// If the state is not one of this policy and version.
    fn restore(&self, setting: &Setting, state: serde_json::Value) -> Result<Box<dyn Policy>, Error>;
}

/// What a policy's parser may ask of the registry.
pub trait FeatureRegistry {
    /// Reads a feature map under `key`; `None` if absent or wrong (the sink then knows).
    fn features(&self, args: &Args<'_>, key: &'static str) -> Option<Arc<dyn FeaturesPlan>>;
}

/// A feature map as read from a spec. Its `Debug` text tells plans apart: equal texts build equal tables.
pub trait FeaturesPlan: Send + Sync + fmt::Debug {
    /// Features of every point of the problem's domain.
    ///
    /// # Errors
    /// If the map does not suit the kernel, or the table would be too large.
    fn build(&self, problem: &Problem) -> Result<FeatureTable, Error>;

    /// Features of other points than the domain's, with the residuals that the map leaves there; none where the map knows points of
    /// its domain alone.
    ///
    /// # Errors
    /// As [`FeaturesPlan::build`].
    fn at(&self, problem: &Problem, points: &Points) -> Result<Option<FeatureTable>, Error> {
        let _ = (problem, points);
        Ok(None)
    }

    /// Which features belong to which axis of a product domain; `None` over any other.
    fn axes(&self, problem: &Problem) -> Option<Arc<[AxisFeatures]>> {
        let _ = problem;
        None
    }

    /// What the manifest must say of a table that this plan built, as (name, value).
    fn facts(&self, problem: &Problem, table: &FeatureTable) -> Vec<(String, serde_json::Value)> {
        let _ = problem;
        vec![
            ("features".to_owned(), table.n_features.into()),
            ("kernel error of the features".to_owned(), table.kernel_error.into()),
        ]
    }
}
