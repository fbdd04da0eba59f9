//! Defines what a policy may know of a problem and of a trial.

use super::ReleasedFacts;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::{AxisFeatures, FeatureTable, GramSource};
use privateer_gp::{KernelGram, Plays, Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::Streams;
use privateer_privacy::curator::ReleasedInputs;
use privateer_privacy::sums::SumsFacts;
use privateer_privacy::{Channel, Released, RewardFacts};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
        n_points: usize,
        /// The function's kernel between the inputs themselves.
        kernel: Arc<dyn Kernel>,
    },
    /// All combinations of the axes' points, too many to list.
    Product(Arc<ProductDomain>),
}

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
