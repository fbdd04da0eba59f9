//! Defines the interface of environments.

use super::data_derived::DerivedNumbers;
use super::data_folder::DataFolder;
use super::instance::Instance;
use privateer_config::error::Error;
use privateer_config::memory::allow;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::GramSource;
use privateer_gp::{Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::Streams;
use privateer_privacy::RewardFacts;
use std::sync::Arc;

/// Describes an environment as read from a spec: over points, or (`T = dyn Contextual`) of users with contexts.
pub trait EnvironmentPlan<T: ?Sized = dyn Environment>: Send + Sync {
    /// Builds what all trials share, such as domain, covariance and tables.
    ///
    /// # Errors
    /// If data are missing or malformed, the domain would be too large, or keys do not suit each other.
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<T>, Error>;

    /// Returns the data files that the environment reads, as the spec names them.
    fn data_files(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Returns whether the environment is a log of another policy's interactions.
    ///
    /// A run on a log estimates the value of a policy and reports no regret.
    fn replays(&self) -> bool {
        false
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
    #[must_use]
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

/// Represents a problem, shared by all trials.
pub trait Environment: Send + Sync {
    /// Returns the name of a column that counts rows or years, yet is played as an arm.
    fn index_column(&self) -> Option<&str> {
        None
    }

    /// Returns the prior covariance over the domain.
    fn gram(&self) -> &Arc<dyn GramSource>;

    /// Returns the points' coordinates, if the domain has any.
    fn points(&self) -> Option<&Points>;

    /// Returns the kernel of the covariance, if there is one.
    fn kernel(&self) -> Option<&Arc<dyn Kernel>>;

    /// Draws the function of one trial with its noise.
    ///
    /// # Errors
    /// If the function does not suit the noise or the unit of regret.
    fn draw(&self, trial: u64) -> Result<Instance, Error>;

    /// Whether rewards can be drawn; false where they are told and nothing is known of the function.
    fn simulates(&self) -> bool {
        true
    }

    /// What is publicly known of a reward that somebody observes elsewhere and tells; `None` where rewards are the environment's own.
    fn told_rewards(&self) -> Option<RewardFacts> {
        None
    }

    /// Returns the proved sub-Gaussian scale of the noise of told rewards; `None` where none is proved.
    fn told_noise_scale(&self) -> Option<f64> {
        None
    }

    /// Returns facts for the manifest and the report, as (name, value).
    fn facts(&self) -> Vec<(String, serde_json::Value)>;

    /// Returns the hash of the table that the problem is read from, if it has one.
    fn fingerprint(&self) -> Option<&str> {
        None
    }

    /// Returns the first row, from 0, of the table's rows that are this point.
    fn file_row(&self, point: usize) -> usize {
        point
    }

    /// Returns the number of the table's rows where several of them are one point.
    fn merged_rows(&self) -> Option<usize> {
        None
    }

    /// Returns earlier readings, if there are any; a policy may estimate moments from them.
    fn train_readings(&self) -> Option<&Arc<TrainReadings>> {
        None
    }

    /// Returns the domain if it is a product of axes, too large to list.
    ///
    /// [`Environment::gram`] then has no points.
    fn product(&self) -> Option<&Arc<ProductDomain>> {
        None
    }

    /// Returns the size of a decision set, where the allowed points change every round.
    fn set_size(&self) -> Option<usize> {
        None
    }

    /// Returns which numbers the environment takes from real rewards; empty if there are none.
    fn derived_from_rewards(&self) -> DerivedNumbers {
        DerivedNumbers::default()
    }

    /// Returns which numbers the environment takes from real inputs; empty if there are none.
    fn derived_from_inputs(&self) -> DerivedNumbers {
        DerivedNumbers::default()
    }
}
