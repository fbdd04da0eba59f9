//! Wraps a plain function over points: a simulator, or an expensive black box.

use super::bad_reward::BadReward;
use super::function::parse_point_kernel;
use super::noise::Noise;
use super::{BuildContext, Environment, EnvironmentPlan, Instance, MeanRange, RegretUnit, SetsPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::rng::{Purpose, Stream};
use std::fmt;
use std::sync::Arc;

type DrawReward = Arc<dyn Fn(&[f64], &mut Stream) -> f64 + Send + Sync>;
type MeanReward = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// Number of rewards that are drawn at each point where no mean is stated.
const SAMPLES: u32 = 400;

/// Describes an environment over stated points whose rewards a function draws.
///
/// Regret needs mean rewards. Without [`FnEnvironment::with_mean`] they are estimated before the first trial, from
/// [`FnEnvironment::with_samples`] rewards at each point; the report states their largest standard error.
///
/// Keys in a spec: `kernel` (unless [`FnEnvironment::with_kernel`] fixes it), `sets`, `bound` and `regret`.
///
/// ```
/// # extern crate privateer_engine as privateer;
/// use privateer::{FnEnvironment, Registry};
/// let registry = Registry::builtin().with_environment("dose", "response to a dose from 0 to 1", |args| {
///     let doses = (0..21).map(|i| f64::from(i) / 20.0).collect();
///     FnEnvironment::new(1, doses, |dose, random| (3.0 * dose[0]).sin() + 0.1 * random.normal()).read(args)
/// });
/// let sweep = registry.parse(
///     "dose.toml",
///     r#"
///         rounds = 10
///         environment = { kind = "dose", kernel = { kind = "matern", nu = 2.5, lengthscale = 0.3 } }
///         policy = [{ kind = "igp-ucb" }]
///     "#,
///     &[],
/// )?;
/// # Ok::<(), privateer::Error>(())
/// ```
#[derive(Clone)]
pub struct FnEnvironment {
    points: Points,
    reward: DrawReward,
    mean: Option<MeanReward>,
    samples: u32,
    range: Option<(f64, f64)>,
    kernel: Option<Arc<dyn Kernel>>,
    bound: Option<MeanRange>,
    sets: SetsPlan,
    regret: RegretUnit,
}

impl FnEnvironment {
    /// Describes an environment.
    ///
    /// * `dimension` — number of coordinates of a point, at least 1
    /// * `coordinates` — of all points, one point after another
    /// * `reward` — draws one reward at a point, of which `dimension` coordinates are given; it may draw any number of words
    pub fn new(
        dimension: usize,
        coordinates: Vec<f64>,
        reward: impl Fn(&[f64], &mut Stream) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            points: Points::new(dimension, coordinates),
            reward: Arc::new(reward),
            mean: None,
            samples: SAMPLES,
            range: None,
            kernel: None,
            bound: None,
            sets: SetsPlan::Whole,
            regret: RegretUnit::Raw,
        }
    }

    /// States the mean reward at a point, so that it need not be estimated.
    pub fn with_mean(self, mean: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        Self { mean: Some(Arc::new(mean)), ..self }
    }

    /// Sets the number of rewards that are drawn at each point to estimate means and variance, at least 2.
    #[must_use]
    pub fn with_samples(self, samples: u32) -> Self {
        Self { samples: samples.max(2), ..self }
    }

    /// States the hard range of rewards, which is public; rewards outside of it are moved to its ends.
    #[must_use]
    pub fn with_range(self, lo: f64, hi: f64) -> Self {
        Self { range: Some((lo, hi)), ..self }
    }

    /// Fixes the kernel, which the spec states otherwise.
    #[must_use]
    pub fn with_kernel(self, kernel: impl Kernel + 'static) -> Self {
        Self { kernel: Some(Arc::new(kernel)), ..self }
    }

    /// Reads the keys of the environment's table.
    #[must_use]
    pub fn read(mut self, args: &Args<'_>) -> Self {
        if self.kernel.is_none() {
            let refusal = "an empirical covariance needs a table of samples";
            self.kernel = parse_point_kernel(args, refusal, "a kernel between points");
        }
        self.bound = MeanRange::parse(args, "the largest |f|");
        self.sets = SetsPlan::parse(args);
        self.regret = RegretUnit::parse(args, "raw");
        self
    }

    /// Returns the means, the largest variance around them, and the largest standard error of a mean.
    fn moments(&self, stream: &mut Stream) -> Result<(Vec<f64>, f64, f64), Error> {
        let n = f64::from(self.samples);
        let (mut means, mut largest) = (Vec::with_capacity(self.points.n_points()), 0.0f64);
        for point in 0..self.points.n_points() {
            let x = self.points.point(point);
            let draw = |at: u32| match kept((self.reward)(x, stream), self.range) {
                reward if reward.is_finite() => Ok(reward),
                reward => {
                    let bad = BadReward { reward, point, coordinates: x.to_vec() };
                    Err(not_finite(format!("{bad}, in draw {} of {} before the first round", at + 1, self.samples)))
                }
            };
            let drawn: Vec<f64> = (0..self.samples).map(draw).collect::<Result<_, Error>>()?;
            let average = drawn.iter().sum::<f64>() / n;
            let squares: f64 = drawn.iter().map(|reward| (reward - average) * (reward - average)).sum();
            largest = largest.max(squares / (n - 1.0));
            let mean = self.mean.as_ref().map_or(average, |mean| mean(x));
            if !mean.is_finite() {
                return Err(not_finite(format!("the environment has the mean reward {mean} at point {point}, {x:?}")));
            }
            means.push(mean);
        }
        let error = if self.mean.is_some() { 0.0 } else { libm::sqrt(largest / n) };
        Ok((means, largest, error))
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Environment, Error> {
        let (n, d) = (self.points.n_points(), self.points.dimension());
        let refuse = |problem: String, hint: &str| Diagnostic::new(problem).hint(hint).refuse();
        if n == 0 || d == 0 || self.points.coordinates().iter().any(|x| !x.is_finite()) {
            return refuse(
                format!("the environment has {n} points of {d} coordinates"),
                "state at least one point, of finite coordinates",
            );
        }
        if let Some((lo, hi)) = self.range.filter(|(lo, hi)| !(lo < hi && lo.is_finite() && hi.is_finite())) {
            return refuse(format!("the range of rewards is [{lo}, {hi}]"), "state two finite numbers lo < hi");
        }
        let Some(kernel) = self.kernel.clone() else {
            return refuse("the environment has no kernel".to_owned(), "state the key `kernel`");
        };
        if let Some(expected) = kernel.dimension().filter(|&expected| expected != d) {
            return refuse(
                format!("the kernel has {expected} length-scales and the points {d} coordinates"),
                "give one `lengthscale`, or as many `lengthscales` as coordinates",
            );
        }
        let (means, variance, error) = self.moments(&mut context.streams.shared(Purpose::Function))?;
        if !variance.is_finite() {
            return refuse(
                "the variance of the environment's rewards overflows f64".to_owned(),
                "return smaller numbers, or state a range that they are moved into",
            );
        }
        let noise = FnNoise { points: self.points.clone(), reward: Arc::clone(&self.reward), range: self.range, variance };
        let instance = Instance::new(Arc::new(means), Arc::new(noise), self.bound, context.rounds, self.regret)?;
        let gram = tabulated(KernelGram::new(Arc::clone(&kernel), self.points.clone()));
        let instance = instance.with_sets(self.sets)?;
        let means = match &self.mean {
            Some(_) => "stated by the program".to_owned(),
            None => format!("estimated from {} rewards each, standard error at most {error:.2e}", self.samples),
        };
        let facts =
            Facts::from([("points", n.into()), ("dimension", d.into()), ("mean rewards", means.into()), self.regret.fact()]);
        let (points, kernel, set_size) = (Some(self.points.clone()), Some(kernel), self.sets.size());
        Ok(Environment { points, kernel, set_size, ..Environment::of(instance, gram, facts) })
    }
}

fn not_finite(problem: String) -> Error {
    Diagnostic::new(problem).hint("return a finite number for every point and draw").error()
}

/// Returns a reward, moved into the range.
fn kept(reward: f64, range: Option<(f64, f64)>) -> f64 {
    range.map_or(reward, |(lo, hi)| reward.clamp(lo, hi))
}

impl From<FnEnvironment> for EnvironmentPlan {
    fn from(plan: FnEnvironment) -> Self {
        Self::new(move |context| plan.build(context))
    }
}

struct FnNoise {
    points: Points,
    reward: DrawReward,
    range: Option<(f64, f64)>,
    variance: f64,
}

impl fmt::Debug for FnNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnNoise").field("variance", &self.variance).finish_non_exhaustive()
    }
}

impl Noise for FnNoise {
    /// Draws from a stream of its own, so that however many words the function takes, later rounds draw the same.
    fn reward(&self, _mean: f64, point: usize, stream: &mut Stream) -> f64 {
        let reward = kept((self.reward)(self.points.point(point), &mut stream.fork()), self.range);
        if !reward.is_finite() {
            BadReward { reward, point, coordinates: self.points.point(point).to_vec() }.end_round();
        }
        reward
    }

    fn variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }
}
