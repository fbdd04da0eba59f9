//! Defines the interface of environments.

use super::data_derived::DerivedNumbers;
use super::noise::Noise;
use super::sets::{Sets, SetsPlan};
use super::value_units::ValueUnits;
use privateer_config::error::{Diagnostic, Error, closest};
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::score::GramSource;
use privateer_gp::{Points, ProductDomain, TrainReadings};
use privateer_numerics::rng::{Stream, Streams};
use privateer_privacy::{Raw, RewardFacts};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Describes an environment as read from a spec.
pub trait EnvironmentPlan: Send + Sync {
    /// Builds what all trials share: domain, covariance and tables.
    ///
    /// # Errors
    /// If data are missing or malformed, the domain would be too large, or the kernel does not suit.
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error>;

    /// Returns the data files that the environment reads, as the spec names them.
    fn data_files(&self) -> Vec<&str> {
        Vec::new()
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
    /// Checks a memory need against the spec's limit.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the need exceeds the limit.
    pub fn allow(&self, what: &str, needs_bytes: f64, hint: &str) -> Result<(), Error> {
        Self::allow_bytes(self.memory_bytes, what, needs_bytes, hint)
    }

    /// Works as [`BuildContext::allow`], with a given limit.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the need exceeds the limit.
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

/// Represents a problem, shared by all trials.
pub trait Environment: Send + Sync {
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

    /// Returns facts for the manifest and the report, as (name, value).
    fn facts(&self) -> Vec<(String, serde_json::Value)>;

    /// Returns the hash of the table that the problem is read from, if it has one.
    fn fingerprint(&self) -> Option<&str> {
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

/// Holds the function of one trial with its noise.
#[derive(Debug, Clone)]
pub struct Instance {
    values: Arc<Vec<f64>>,
    noise: Arc<dyn Noise>,
    best: usize,
    unit: f64,
    facts: RewardFacts,
    bound_stated: bool,
    largest: f64,
    least: f64,
    /// How values of the data become rewards, where the spec states `bound` and `privacy.clip` in units of the data.
    units: Option<ValueUnits>,
    sets: Option<Arc<Sets>>,
    /// Means of a product domain's plays, by number; `values` then holds the means of its rows.
    plays: Option<Vec<f64>>,
    best_mean: f64,
    start: Option<usize>,
}

/// States the unit in which regret is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegretUnit {
    /// The unit of the reward.
    Raw,
    /// Fractions of the largest mean reward.
    Relative,
}

impl RegretUnit {
    /// Returns the unit in words, as a fact for the report.
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
    /// Creates a function from its values at all points.
    ///
    /// `bound` on |f| is the largest magnitude unless stated.
    ///
    /// # Errors
    /// If a value is not finite or outside the noise's range, if values differ by less than the tie tolerance resolves, or
    /// without a positive maximum under relative regret.
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
        // Decisions tie within 1e-10 of a score, so far smaller differences between points would be lost.
        if least < values[best] && values[best] - least < SMALLEST_RANGE {
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
        Ok(Self {
            values,
            noise,
            best,
            unit,
            facts,
            bound_stated: bound.is_some(),
            largest,
            least,
            units: None,
            sets: None,
            plays: None,
            best_mean,
            start: None,
        })
    }

    /// States how values of the data become rewards, where clip ranges are stated in units of the data.
    #[must_use]
    pub(crate) fn in_units(self, units: Option<ValueUnits>) -> Self {
        Self { units, ..self }
    }

    /// Returns how values of the data become rewards, if clip ranges are stated in units of the data.
    #[must_use]
    pub(crate) fn value_units(&self) -> Option<ValueUnits> {
        self.units
    }

    /// Returns the same function with another noise; its rewards' public facts stay unchanged.
    #[must_use]
    pub fn observed_through(self, noise: Arc<dyn Noise>) -> Self {
        Self { noise, ..self }
    }

    /// States the point of the first round where a policy would draw one at random: replays start where the original did.
    #[must_use]
    pub fn started_at(self, point: usize) -> Self {
        Self { start: Some(point), ..self }
    }

    /// Returns the stated point of the first round.
    #[must_use]
    pub fn start(&self) -> Option<usize> {
        self.start
    }

    /// Creates a function over a product domain as the sum of functions of its axes.
    ///
    /// * `rows` — values of the rows, one axis after another, `per_axis` each
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
        // The highest and the lowest value represent all points in the checks and in the public facts.
        let ends = Self::new(Arc::new(vec![highest, lowest]), noise, bound, rounds, unit)?;
        Ok(Self { values: Arc::new(rows), plays: Some(Vec::new()), ..ends })
    }

    /// Assigns the next point number to the play of these rows of a product domain.
    pub fn define(&mut self, rows: &[u32]) {
        let mean = rows.iter().map(|&row| self.values[row as usize]).sum();
        if let Some(plays) = &mut self.plays {
            plays.push(mean);
        }
    }

    /// Adds decision sets that change every round.
    ///
    /// # Errors
    /// As [`SetsPlan::sets`].
    pub fn with_sets(mut self, plan: SetsPlan) -> Result<Self, Error> {
        self.sets = plan.sets(&self.values)?.map(Arc::new);
        Ok(self)
    }

    /// Returns the decision sets, if the allowed points change every round.
    #[must_use]
    pub fn sets(&self) -> Option<&Sets> {
        self.sets.as_deref()
    }

    /// Draws the points that are allowed in the next round, where they change every round.
    pub fn draw_set(&self, random: &mut Stream, set: &mut Option<Vec<u32>>) {
        if let (Some(sets), Some(set)) = (&self.sets, set) {
            sets.draw(random, set);
        }
    }

    /// Returns the regret of one play of `point` where only the points of `set` are allowed; `None` allows all.
    ///
    /// It is at least 0, in the instance's unit.
    #[must_use]
    pub fn regret_among(&self, point: usize, set: Option<&[u32]>) -> f64 {
        let Some(set) = set else { return self.regret(point) };
        let best = set.iter().map(|&other| self.values[other as usize]).fold(self.values[point], f64::max);
        (best - self.values[point]) / self.unit
    }

    /// Returns the public facts of a reward.
    #[must_use]
    pub fn facts(&self) -> &RewardFacts {
        &self.facts
    }

    /// Returns whether the bound on |f| was stated, as opposed to computed from the function.
    #[must_use]
    pub fn bound_stated(&self) -> bool {
        self.bound_stated
    }

    /// Returns the largest |f|.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Returns the least and the largest mean reward.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        (self.least, self.best_mean)
    }

    /// Returns the share of the points whose mean reward is outside of a range; `None` over a product domain.
    #[must_use]
    pub fn share_outside(&self, low: f64, high: f64) -> Option<f64> {
        let n_outside = self.values.iter().filter(|value| !(low..=high).contains(*value)).count();
        self.plays.is_none().then(|| n_outside as f64 / self.values.len() as f64)
    }

    /// Returns the best point (the lowest index among ties).
    #[must_use]
    pub fn best(&self) -> usize {
        self.best
    }

    /// Returns the mean reward of a point.
    #[must_use]
    pub fn mean(&self, point: usize) -> f64 {
        self.plays.as_ref().map_or_else(|| self.values[point], |plays| plays[point])
    }

    /// Returns the largest mean reward.
    #[must_use]
    pub fn best_mean(&self) -> f64 {
        self.best_mean
    }

    /// Returns the regret of playing a point once, at least 0, in the instance's unit.
    #[must_use]
    pub fn regret(&self, point: usize) -> f64 {
        ((self.best_mean - self.mean(point)) / self.unit).max(0.0)
    }

    /// Draws one observation, sealed.
    pub fn observe(&self, point: usize, noise: &mut Stream) -> Raw<f64> {
        Raw::seal(self.noise.reward(self.mean(point), point, noise))
    }
}

/// Smallest difference between the largest and the least mean reward, unless they are equal.
const SMALLEST_RANGE: f64 = 1e-6;

/// Names the folder of the data files and checks access to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataFolder {
    root: Option<PathBuf>,
    /// Further folders that files may be read from; `None` allows every folder.
    limits: Option<Vec<PathBuf>>,
}

impl DataFolder {
    /// Creates a folder; files are relative to `root`, or to the working folder.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, limits: None }
    }

    /// Returns the same folder, limited to files below it or below one of `folders`.
    ///
    /// The limit protects against specs from untrusted authors.
    #[must_use]
    pub fn limited_to(self, folders: Vec<PathBuf>) -> Self {
        Self { limits: Some(folders), ..self }
    }

    /// Returns whether a file may be read.
    ///
    /// Links inside a folder may lead out of it, because the folder's owner made them.
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

    /// Returns the folder as an absolute path, which stays valid from another working folder.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist.
    pub fn absolute(&self) -> Result<PathBuf, Error> {
        let folder = self.root.clone().unwrap_or_else(|| PathBuf::from("."));
        folder.canonicalize().map_err(|source| Error::io("find the data folder", folder, source))
    }

    /// Returns the path of a data file that must exist.
    ///
    /// `about` describes the file and says where its publisher offers it.
    ///
    /// # Errors
    /// If the file is missing; the message has `about`, and says how to name the folder or use the synthetic substitute.
    pub fn find(&self, name: &str, about: Option<&str>, synthetic: bool) -> Result<PathBuf, Error> {
        let path = self.root.as_deref().unwrap_or(Path::new("")).join(name);
        // Checked before the file is accessed: a spec must not learn whether a forbidden file exists.
        if !self.allows(&path) {
            return Err(Error::input(
                Diagnostic::new(format!("the spec names `{name}`, outside of the data folder and of its own"))
                    .expected("a file below one of the two")
                    .hint("name its folder with `--data DIR`, or allow every file with `--allow-outside`"),
            ));
        }
        // A folder passes this check too; its reader reports that it is not a table.
        if path.exists() {
            return Ok(path);
        }
        let what = about.map(|about| format!(" ({about})")).unwrap_or_default();
        let place = match &self.root {
            Some(root) if root.is_dir() => format!("in `{}`", root.display()),
            Some(root) => format!("in `{}`, which is not a folder", root.display()),
            None => "in the working folder".to_owned(),
        };
        let instead =
            if synthetic { ", or run the generated synthetic substitute with `--set environment.synthetic=true`" } else { "" };
        Err(Error::input(Diagnostic::new(format!("data file `{name}`{what} is not {place}")).hint({
            let near = similar_file(&path).map(|near| format!("did you mean `{}`? otherwise ", near.display()));
            format!("{}name the folder that holds it with `--data DIR` or PRIVATEER_DATA{instead}", near.unwrap_or_default())
        })))
    }
}

/// Returns the file of the same folder whose name is closest to that of a missing file, if one is likely meant.
#[must_use]
pub fn similar_file(missing: &Path) -> Option<PathBuf> {
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(|name| !name.starts_with('.')).collect();
    names.sort();
    let near = closest(missing.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(missing.with_file_name(near))
}

impl fmt::Display for DataFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Some(root) => write!(f, "{}", root.display()),
            None => write!(f, "the working folder"),
        }
    }
}
