//! Defines the interface of environments.

use super::data_derived::DerivedNumbers;
use super::data_folder::DataFolder;
use super::instance::Instance;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::memory::allow;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::GramSource;
use privateer_gp::{KernelSum, Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::Streams;
use privateer_privacy::RewardFacts;
use std::sync::Arc;

type Build<T> = dyn Fn(&BuildContext<'_>) -> Result<T, Error> + Send + Sync;

/// Describes an environment as read from a spec: over points, or (`T = Contextual`) of users with contexts.
pub struct EnvironmentPlan<T = Environment> {
    /// The data files that the environment reads, as the spec names them.
    pub data_files: Vec<String>,
    /// Whether the environment is a log of another policy's interactions.
    ///
    /// A run on a log estimates the value of a policy and reports no regret.
    pub replays: bool,
    /// Builds what all trials share, such as domain, covariance and tables; refuses data that are missing or malformed, a domain that
    /// would be too large, and keys that do not suit each other.
    pub build: Box<Build<T>>,
}

impl<T> EnvironmentPlan<T> {
    /// Describes an environment without data files by the function that builds it.
    pub fn new(build: impl Fn(&BuildContext<'_>) -> Result<T, Error> + Send + Sync + 'static) -> Self {
        Self { data_files: Vec::new(), replays: false, build: Box::new(build) }
    }

    /// States the data files that the environment reads, as the spec names them.
    #[must_use]
    pub fn reading(self, data_files: Vec<String>) -> Self {
        Self { data_files, ..self }
    }
}

/// Holds what an environment may use while it is built.
#[derive(Debug)]
pub struct BuildContext<'a> {
    /// The environment's random streams.
    pub streams: &'a Streams,
    /// Folder of the data files.
    pub data: &'a DataFolder,
    /// Horizon.
    pub rounds: u64,
    /// Largest size of one shared table or of one trial, in bytes.
    pub memory_bytes: f64,
}

impl BuildContext<'_> {
    /// Largest size of the text of a data file, packed and unpacked: an eighth of the memory of a table.
    pub fn file_bytes(&self) -> u64 {
        (self.memory_bytes / 8.0) as u64
    }

    /// Checks a memory need against the spec's limit.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the need exceeds the limit.
    pub fn allow(&self, what: &str, needs_bytes: f64, hint: &str) -> Result<(), Error> {
        allow(self.memory_bytes, what, needs_bytes, hint)
    }
}

type Draw = dyn Fn(u64) -> Result<Instance, Error> + Send + Sync;
type DrawSum = dyn Fn(u64) -> Option<KernelSum> + Send + Sync;
type OfSum = dyn Fn(Arc<KernelSum>, [usize; 2]) -> Option<Instance> + Send + Sync;

/// Makes the functions of trials whose values are computed only where they are asked for.
pub struct KernelSums {
    /// Draws the terms of the function of one trial; `None` where all values together cost little.
    pub draw: Box<DrawSum>,
    /// Makes the instance, by the points of the largest and the least value; `None` where only all values tell whether it suits.
    pub instance: Box<OfSum>,
}

/// Represents a problem, shared by all trials.
pub struct Environment {
    /// Prior covariance over the domain; of no points over a product domain.
    pub gram: Arc<dyn GramSource>,
    /// The points' coordinates, if the domain has any.
    pub points: Option<Points>,
    /// The kernel of the covariance, if there is one.
    pub kernel: Option<Arc<dyn Kernel>>,
    /// Facts for the manifest and the report, as (name, value).
    pub facts: Facts,
    /// Draws the function of one trial with its noise; refuses one that does not suit the noise or the unit of regret.
    pub draw: Box<Draw>,
    /// How functions are drawn without their values; `None` where they are no sums of kernels.
    pub sums: Option<KernelSums>,
    /// Whether rewards can be drawn; false where they are told and nothing is known of the function.
    pub simulates: bool,
    /// What is publicly known of a reward that somebody observes elsewhere and tells; `None` where rewards are the environment's own.
    pub told_rewards: Option<RewardFacts>,
    /// The proved sub-Gaussian scale of the noise of told rewards; `None` where none is proved.
    pub told_noise_scale: Option<f64>,
    /// The hash of the table that the problem is read from, if it has one.
    pub fingerprint: Option<String>,
    /// The first row, from 0, of the table's rows that are each point; `None` where points are rows.
    pub file_rows: Option<Vec<usize>>,
    /// The number of the table's rows where several of them are one point.
    pub merged_rows: Option<usize>,
    /// The name of a column that counts rows or years, yet is played as an arm.
    pub index_column: Option<String>,
    /// Earlier readings, if there are any; a policy may estimate moments from them.
    pub train_readings: Option<Arc<TrainReadings>>,
    /// The domain if it is a product of axes, too large to list.
    pub product: Option<Arc<ProductDomain>>,
    /// The size of a decision set, where the allowed points change every round.
    pub set_size: Option<usize>,
    /// Which numbers the environment takes from real rewards; empty if there are none.
    pub derived_from_rewards: DerivedNumbers,
    /// Which numbers the environment takes from real inputs; empty if there are none.
    pub derived_from_inputs: DerivedNumbers,
}

impl Environment {
    /// Creates a problem over a listed domain without coordinates, whose rewards are its own.
    pub fn new(
        gram: Arc<dyn GramSource>,
        facts: Facts,
        draw: impl Fn(u64) -> Result<Instance, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            gram,
            points: None,
            kernel: None,
            facts,
            draw: Box::new(draw),
            sums: None,
            simulates: true,
            told_rewards: None,
            told_noise_scale: None,
            fingerprint: None,
            file_rows: None,
            merged_rows: None,
            index_column: None,
            train_readings: None,
            product: None,
            set_size: None,
            derived_from_rewards: DerivedNumbers::default(),
            derived_from_inputs: DerivedNumbers::default(),
        }
    }

    /// Creates a problem with the same function in every trial.
    pub fn of(instance: Instance, gram: Arc<dyn GramSource>, facts: Facts) -> Self {
        Self::new(gram, facts, move |_| Ok(instance.clone()))
    }

    /// Returns the first row, from 0, of the table's rows that are this point.
    pub fn file_row(&self, point: usize) -> usize {
        self.file_rows.as_ref().map_or(point, |rows| rows[point])
    }
}
