//! What an environment is.

use super::data_derived::DerivedNumbers;
use super::noise::Noise;
use super::sets::{Sets, SetsPlan};
use crate::error::{Diagnostic, Error};
use crate::gp::kernel::Kernel;
use crate::gp::kernel::empirical::Normalise;
use crate::gp::{Points, ProductDomain, TrainReadings};
use crate::params::Args;
use crate::privacy::{Raw, RewardFacts};
use crate::rng::{Stream, Streams};
use crate::score::GramSource;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// An environment as read from a spec.
pub trait EnvironmentPlan: Send + Sync {
    /// Builds what all trials share: domain, covariance, tables.
    ///
    /// # Errors
    /// Missing or malformed data, a domain that would be too large, a kernel that does not suit.
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error>;
}

/// What an environment may use while it is built.
#[derive(Debug)]
pub struct BuildContext<'a> {
    /// The environment's streams.
    pub streams: &'a Streams,
    /// Where data files are.
    pub data: &'a DataFolder,
    /// Horizon.
    pub rounds: u64,
    /// Most bytes that one shared table or one trial may take.
    pub memory_bytes: f64,
}

impl BuildContext<'_> {
    /// Refuses what would need more memory than the spec allows.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn allow(&self, what: &str, needs_bytes: f64, hint: &str) -> Result<(), Error> {
        Self::allow_bytes(self.memory_bytes, what, needs_bytes, hint)
    }

    /// As [`BuildContext::allow`], with the limit given.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn allow_bytes(limit_bytes: f64, what: &str, needs_bytes: f64, hint: &str) -> Result<(), Error> {
        if needs_bytes <= limit_bytes {
            return Ok(());
        }
        Err(Error::TooLarge {
            what: what.to_owned(),
            needs_bytes,
            limit_bytes,
            hint: format!("{hint}, or raise `limits.memory_gib`"),
        })
    }
}

/// A problem: what all trials share.
pub trait Environment: Send + Sync {
    /// Prior covariance over the domain.
    fn gram(&self) -> &Arc<dyn GramSource>;

    /// Coordinates, if the domain has any.
    fn points(&self) -> Option<&Points>;

    /// The kernel behind the covariance, if there is one.
    fn kernel(&self) -> Option<&Arc<dyn Kernel>>;

    /// The function of one trial with its noise.
    ///
    /// # Errors
    /// A function that does not suit the noise or the unit of regret.
    fn draw(&self, trial: u64) -> Result<Instance, Error>;

    /// Whether rewards can be drawn; false where they are told and nothing is known of the function.
    fn simulates(&self) -> bool {
        true
    }

    /// What is publicly known of a reward that somebody observes elsewhere and tells; `None` where rewards are the environment's own.
    fn told_rewards(&self) -> Option<RewardFacts> {
        None
    }

    /// Facts for the manifest and the report, as (name, value).
    fn facts(&self) -> Vec<(String, serde_json::Value)>;

    /// Readings of an earlier time, if there are any: a policy may estimate moments from them.
    fn train_readings(&self) -> Option<&Arc<TrainReadings>> {
        None
    }

    /// The domain, where it is a product of axes whose points cannot be listed; [`Environment::gram`] then says nothing.
    fn product(&self) -> Option<&Arc<ProductDomain>> {
        None
    }

    /// Points of a decision set, where what may be played changes every round.
    fn set_size(&self) -> Option<usize> {
        None
    }

    /// Numbers that this environment takes from real rewards; empty where it has none.
    fn derived_from_rewards(&self) -> DerivedNumbers {
        DerivedNumbers::default()
    }

    /// Numbers that this environment takes from real inputs; empty where it has none.
    fn derived_from_inputs(&self) -> DerivedNumbers {
        DerivedNumbers::default()
    }
}

/// The function of one trial.
#[derive(Debug, Clone)]
pub struct Instance {
    values: Arc<Vec<f64>>,
    noise: Arc<dyn Noise>,
    best: usize,
    unit: f64,
    facts: RewardFacts,
    bound_stated: bool,
    largest: f64,
    sets: Option<Arc<Sets>>,
    /// Means of the plays of a product domain, by their number; `values` are then those of its rows.
    plays: Option<Vec<f64>>,
    best_mean: f64,
}

/// In which unit regret is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegretUnit {
    /// The reward's own.
    Raw,
    /// Shares of the largest mean reward.
    Relative,
}

impl RegretUnit {
    /// The unit in words, as a fact for the report.
    #[must_use]
    pub fn fact(self) -> (String, serde_json::Value) {
        let words = match self {
            Self::Raw => "that of the reward",
            Self::Relative => "shares of the largest mean reward",
        };
        ("unit of regret".to_owned(), words.into())
    }

    /// Reads the key `regret`.
    pub fn parse(args: &Args<'_>, default: &'static str) -> Self {
        match args.word(
            "regret",
            "unit of regret: the reward's own, or shares of the largest mean",
            &["raw", "relative"],
            Some(default),
        ) {
            "relative" => Self::Relative,
            _ => Self::Raw,
        }
    }
}

impl Instance {
    /// A function given by its values at all points; `bound` on |f| is the largest magnitude unless stated.
    ///
    /// # Errors
    /// Values that are not finite, outside the noise's range, or without a positive maximum under relative regret.
    pub fn new(
        values: Arc<Vec<f64>>,
        noise: Arc<dyn Noise>,
        bound: Option<f64>,
        rounds: u64,
        unit: RegretUnit,
    ) -> Result<Self, Error> {
        let finite = values.iter().all(|value| value.is_finite());
        let largest_at = (1..values.len()).fold(0, |best, point| if values[best] < values[point] { point } else { best });
        let Some(best) = (finite && !values.is_empty()).then_some(largest_at) else {
            return Err(Error::input(
                Diagnostic::new("the mean reward is not finite at every point").hint("check the table or the kernel's scale"),
            ));
        };
        if let Some((lo, hi)) = noise.range()
            && let Some(outside) = values.iter().find(|&&value| value < lo || hi < value)
        {
            return Err(Error::input(
                Diagnostic::new(format!("the noise needs mean rewards from {lo} to {hi}, and one is {outside}"))
                    .hint("add `output = \"unit\"` to the environment, or choose another noise"),
            ));
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        // Decisions tie within 1e-10 of a score: far smaller differences between points would be lost.
        if least < values[best] && values[best] - least < SMALLEST_SPREAD {
            return Err(Error::input(
                Diagnostic::new(format!("mean rewards differ by no more than {:e}", values[best] - least))
                    .hint("state rewards in other units: differences below 1e-6 drown in the tie tolerance"),
            ));
        }
        let unit = match unit {
            RegretUnit::Raw => 1.0,
            RegretUnit::Relative if 0.0 < values[best] => values[best],
            RegretUnit::Relative => {
                return Err(Error::input(
                    Diagnostic::new(format!("relative regret divides by the largest mean reward, which is {}", values[best]))
                        .hint("use `regret = \"raw\"`"),
                ));
            }
        };
        let best_mean = values[best];
        let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let facts = RewardFacts {
            bound: bound.unwrap_or(largest),
            noise_bound: noise.bound(),
            range: noise.range(),
            noise_variance: noise.variance(),
            rounds,
        };
        Ok(Self { values, noise, best, unit, facts, bound_stated: bound.is_some(), largest, sets: None, plays: None, best_mean })
    }

    /// The same function, observed through another noise; what is publicly known of its rewards stays.
    #[must_use]
    pub fn observed_through(self, noise: Arc<dyn Noise>) -> Self {
        Self { noise, ..self }
    }

    /// A function over a product domain that is the sum of functions of its axes.
    /// * `rows` — values of the rows, one axis after the other, `per_axis` each
    ///
    /// # Errors
    /// As [`Instance::new`]; noise that needs a range.
    pub fn over_axes(
        rows: Vec<f64>,
        per_axis: usize,
        noise: Arc<dyn Noise>,
        bound: Option<f64>,
        rounds: u64,
        unit: RegretUnit,
    ) -> Result<Self, Error> {
        let axes = || rows.chunks_exact(per_axis.max(1));
        let highest: f64 = axes().map(|axis| axis.iter().copied().fold(f64::NEG_INFINITY, f64::max)).sum();
        let lowest: f64 = axes().map(|axis| axis.iter().copied().fold(f64::INFINITY, f64::min)).sum();
        // The two ends stand for all points in what is checked and known of them.
        let ends = Self::new(Arc::new(vec![highest, lowest]), noise, bound, rounds, unit)?;
        Ok(Self { values: Arc::new(rows), plays: Some(Vec::new()), ..ends })
    }

    /// Gives the next number to the play of these rows of a product domain.
    pub fn define(&mut self, rows: &[u32]) {
        let mean = rows.iter().map(|&row| self.values[row as usize]).sum();
        if let Some(plays) = &mut self.plays {
            plays.push(mean);
        }
    }

    /// With decision sets that change every round.
    ///
    /// # Errors
    /// As [`SetsPlan::sets`].
    pub fn with_sets(mut self, plan: SetsPlan) -> Result<Self, Error> {
        self.sets = plan.sets(&self.values)?.map(Arc::new);
        Ok(self)
    }

    /// The decision sets, if what may be played changes every round.
    #[must_use]
    pub fn sets(&self) -> Option<&Sets> {
        self.sets.as_deref()
    }

    /// Regret of playing a point once where only these could be played, at least 0, in the instance's unit.
    #[must_use]
    pub fn regret_among(&self, point: usize, set: &[u32]) -> f64 {
        let best = set.iter().map(|&other| self.values[other as usize]).fold(self.values[point], f64::max);
        (best - self.values[point]) / self.unit
    }

    /// What is publicly known about a reward.
    #[must_use]
    pub fn facts(&self) -> &RewardFacts {
        &self.facts
    }

    /// Whether the bound on |f| was stated, and not taken from the function itself.
    #[must_use]
    pub fn bound_stated(&self) -> bool {
        self.bound_stated
    }

    /// The largest |f|.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The best point (the lowest index among ties).
    #[must_use]
    pub fn best(&self) -> usize {
        self.best
    }

    /// Mean reward of a point.
    #[must_use]
    pub fn mean(&self, point: usize) -> f64 {
        self.plays.as_ref().map_or_else(|| self.values[point], |plays| plays[point])
    }

    /// The largest mean reward.
    #[must_use]
    pub fn best_mean(&self) -> f64 {
        self.best_mean
    }

    /// Regret of playing a point once, at least 0, in the instance's unit.
    #[must_use]
    pub fn regret(&self, point: usize) -> f64 {
        ((self.best_mean - self.mean(point)) / self.unit).max(0.0)
    }

    /// One observation, sealed.
    pub fn observe(&self, point: usize, noise: &mut Stream) -> Raw<f64> {
        Raw::seal(self.noise.reward(self.mean(point), point, noise))
    }
}

/// Least difference between the largest and the smallest mean reward of a function that is not constant.
const SMALLEST_SPREAD: f64 = 1e-6;

/// What an environment's parser may ask of the registry.
pub trait Parts {
    /// Reads a kernel under `key`; `None` if wrong (the sink then knows).
    fn kernel(&self, args: &Args<'_>, key: &'static str) -> Option<KernelChoice>;

    /// Reads a noise under `key`; `None` if wrong.
    fn noise(&self, args: &Args<'_>, key: &'static str) -> Option<Arc<dyn Noise>>;
}

/// A kernel as a spec can name it.
#[derive(Clone)]
pub enum KernelChoice {
    /// A function of two points.
    Function(Arc<dyn Kernel>),
    /// Made from a table of samples.
    Empirical(Normalise),
}

/// The folder that data files are named relative to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataFolder {
    root: Option<PathBuf>,
    /// Folders that files may be read from beside the root; `None`: from anywhere.
    limits: Option<Vec<PathBuf>>,
}

impl DataFolder {
    /// Files relative to `root`, or to the working folder.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, limits: None }
    }

    /// The same folder, but files that lie neither in it nor in one of `folders` are refused: a spec may come from anybody.
    #[must_use]
    pub fn limited_to(self, folders: Vec<PathBuf>) -> Self {
        Self { limits: Some(folders), ..self }
    }

    /// Whether a file may be read. Links inside a folder may lead out of it: whoever owns the folder made them.
    fn allows(&self, path: &Path) -> bool {
        let Some(limits) = &self.limits else { return true };
        let root = self.root.as_deref().unwrap_or(Path::new("."));
        let climbs = path.components().any(|component| component == Component::ParentDir);
        let found = path.canonicalize();
        limits.iter().map(PathBuf::as_path).chain([root]).any(|folder| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let plainly_inside = !climbs && (path.starts_with(folder) || (folder == Path::new(".") && path.is_relative()));
            let really_inside =
                || matches!((&found, folder.canonicalize()), (Ok(found), Ok(folder)) if found.starts_with(&folder));
            plainly_inside || really_inside()
        })
    }

    /// The folder as an absolute path, to be found again from elsewhere.
    ///
    /// # Errors
    /// [`Error::Io`] where it is not there.
    pub fn absolute(&self) -> Result<PathBuf, Error> {
        let folder = self.root.clone().unwrap_or_else(|| PathBuf::from("."));
        folder.canonicalize().map_err(|source| Error::io("find the data folder", folder, source))
    }

    /// The path of a data file that must exist. `about` says what it is and where its publisher has it.
    ///
    /// # Errors
    /// A missing file, with `about` and how to name the folder or use the stand-in.
    pub fn find(&self, name: &str, about: Option<&str>, stand_in: bool) -> Result<PathBuf, Error> {
        let path = self.root.as_deref().unwrap_or(Path::new("")).join(name);
        // Before a look at the file: whether it exists is nothing that a spec should learn.
        if !self.allows(&path) {
            return Err(Error::input(
                Diagnostic::new(format!("the spec names `{name}`, outside of the data folder and of its own"))
                    .expected("a file below one of the two")
                    .hint("name its folder with `--data DIR`, or allow every file with `--allow-outside`"),
            ));
        }
        // A folder is there too: that it is no table is for its reader to say.
        if path.exists() {
            return Ok(path);
        }
        let what = about.map(|about| format!(" ({about})")).unwrap_or_default();
        let place = match &self.root {
            Some(root) if root.is_dir() => format!("in `{}`", root.display()),
            Some(root) => format!("in `{}`, which is not a folder", root.display()),
            None => "in the working folder".to_owned(),
        };
        let instead = if stand_in { ", or run the generated stand-in with `--set environment.stand_in=true`" } else { "" };
        Err(Error::input(
            Diagnostic::new(format!("data file `{name}`{what} is not {place}"))
                .hint(format!("name the folder that holds it with `--data DIR` or PRIVATEER_DATA{instead}")),
        ))
    }
}

impl fmt::Display for DataFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Some(root) => write!(f, "{}", root.display()),
            None => write!(f, "the working folder"),
        }
    }
}
