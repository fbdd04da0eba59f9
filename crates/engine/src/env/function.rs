//! Provides the common part of environments over a domain with coordinates.
//!
//! It covers domain, kernel, noise, unit of regret and rescaling.

use super::domain::Place;
use super::instance::within_range;
use super::noise::{Noise, parse_noise};
use super::{BuildContext, DomainPlan, Environment, Instance, KernelSums, MeanRange, RegretUnit, SetsPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::kernel::{Kernel, KernelChoice, parse_kernel};
use privateer_gp::score::GramSource;
use privateer_gp::{KernelGram, KernelSum, Points, ProductDomain, tabulated};
use privateer_numerics::rng::{Purpose, Stream};
use std::sync::Arc;

/// Holds the keys that function environments share.
#[derive(Clone)]
pub struct FunctionPlan {
    pub domain: DomainPlan,
    /// The kernel; `None` only after a mistake in the spec.
    pub kernel: Option<Arc<dyn Kernel>>,
    noise: Arc<dyn Noise>,
    bound: Option<MeanRange>,
    output: Output,
    sets: SetsPlan,
    regret: RegretUnit,
}

/// Reads the key `kernel` of points with coordinates; an empirical covariance is refused with these words.
pub(super) fn parse_point_kernel(args: &Args<'_>, refusal: &str, expected: &str) -> Option<Arc<dyn Kernel>> {
    match parse_kernel(args, "kernel")? {
        KernelChoice::Function(kernel) => Some(kernel),
        KernelChoice::Empirical(_) => {
            args.reject("kernel", refusal, expected);
            None
        }
    }
}

impl FunctionPlan {
    pub fn parse(args: &Args<'_>, place: Place) -> Self {
        let kernel = parse_point_kernel(
            args,
            "an empirical covariance needs a table of samples",
            "a kernel between points, such as `squared-exponential`",
        );
        Self {
            domain: DomainPlan::parse(args, place),
            kernel,
            noise: parse_noise(args),
            bound: MeanRange::parse(args, "the trial's largest |f|, as in [Zhou2021]"),
            output: Output::parse(args),
            sets: SetsPlan::parse(args),
            regret: RegretUnit::parse(args, "raw"),
        }
    }

    /// Builds points and covariance; a small domain stores the whole Gram matrix as a table.
    pub fn build(&self, context: &BuildContext<'_>) -> Result<FunctionDomain, Error> {
        let points = self.domain.build(context)?;
        let Some(kernel) = self.kernel.clone() else {
            return Diagnostic::new("the environment has no kernel").refuse();
        };
        if let Some(expected) = kernel.dimension()
            && expected != points.dimension()
        {
            return Diagnostic::new(format!(
                "the kernel has {expected} length-scales and the domain {} dimensions",
                points.dimension()
            ))
            .hint("give one `lengthscale`, or as many `lengthscales` as dimensions")
            .refuse();
        }
        let gram = tabulated(KernelGram::new(Arc::clone(&kernel), points.clone()));
        Ok(FunctionDomain { points, kernel, gram })
    }

    /// Returns the size of a decision set; `None` where the whole domain is allowed.
    pub fn set_size(&self) -> Option<usize> {
        self.sets.size()
    }

    /// Returns what the report must state of every function environment, beside the number of its points.
    pub fn facts(&self, dimension: usize) -> Facts {
        let sets = match self.sets {
            SetsPlan::Whole => None,
            SetsPlan::Random { points } => Some(format!("{points} points, drawn each round")),
            SetsPlan::Gap { points, good, bad } => {
                Some(format!("{points} points, drawn each round: one with a mean of at least {good}, the others at most {bad}"))
            }
        };
        let mut facts = Facts::from([("dimension", dimension.into()), self.regret.fact()]);
        facts.extend(sets.map(|words| ("decision sets (regret is to the best of each)", words.into())));
        facts
    }

    /// Makes the instance of a function over a product domain from the values of its rows.
    pub fn instance_over(&self, product: &ProductDomain, rows: Vec<f64>, rounds: u64) -> Result<Instance, Error> {
        if self.sets != SetsPlan::Whole || self.output != Output::Raw {
            return Diagnostic::new("`sets` and `output` need points that can be listed")
                .hint("use `domain = \"random\"`")
                .refuse();
        }
        let (per_axis, noise) = (product.rows(0).len(), Arc::clone(&self.noise));
        Instance::over_axes(rows, per_axis, noise, self.bound, rounds, self.regret)
    }

    /// Makes the instance of a trial from the function's values.
    pub fn instance(&self, mut values: Vec<f64>, rounds: u64) -> Result<Instance, Error> {
        self.output.rescale(&mut values)?;
        let noise = Arc::clone(&self.noise);
        within_range(&values, noise.as_ref(), "add `output = \"unit\"` to the environment, or choose another `noise`")?;
        Instance::new(Arc::new(values), noise, self.bound, rounds, self.regret)?.with_sets(self.sets)
    }

    /// Returns how functions over `domain`, which this plan built, are drawn without their values, from the law of their centres.
    ///
    /// `None` where all values are needed.
    pub fn sums(
        &self,
        domain: &FunctionDomain,
        context: &BuildContext<'_>,
        draw: impl Fn(&FunctionDomain, &mut Stream) -> Vec<(usize, f64)> + Send + Sync + 'static,
    ) -> Option<KernelSums> {
        if self.sets != SetsPlan::Whole || self.output != Output::Raw {
            return None;
        }
        let (streams, rounds, domain) = (context.streams.clone(), context.rounds, domain.clone());
        let (noise, bound, unit) = (Arc::clone(&self.noise), self.bound, self.regret);
        Some(KernelSums {
            draw: Box::new(move |trial| {
                let centres = draw(&domain, &mut streams.of(trial, Purpose::Function));
                KernelSum::new(Arc::clone(&domain.gram), centres)
            }),
            instance: Box::new(move |sum, ends| Instance::of_sum(sum, ends, Arc::clone(&noise), bound, rounds, unit).ok()),
        })
    }

    /// Makes the environment over `domain`, which this plan built, from the law of its functions.
    pub fn environment(
        &self,
        domain: FunctionDomain,
        context: &BuildContext<'_>,
        own_facts: Facts,
        draw: impl Fn(&FunctionDomain, &mut Stream) -> Vec<f64> + Send + Sync + 'static,
    ) -> Environment {
        let mut facts = self.facts(domain.points.dimension());
        facts.push("points", domain.points.n_points());
        facts.extend(own_facts);
        let (plan, streams, rounds) = (self.clone(), context.streams.clone(), context.rounds);
        let (gram, points, kernel) = (domain.gram.clone(), Some(domain.points.clone()), Some(domain.kernel.clone()));
        let draw = move |trial| plan.instance(draw(&domain, &mut streams.of(trial, Purpose::Function)), rounds);
        Environment { points, kernel, set_size: self.set_size(), ..Environment::new(gram, facts, draw) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Raw,
    Unit,
    Peak,
}

impl Output {
    fn parse(args: &Args<'_>) -> Self {
        let doc = "`unit` maps each trial's function onto [0, 1], `peak` divides it by its largest value";
        args.choice("output", doc, &[("raw", Self::Raw), ("unit", Self::Unit), ("peak", Self::Peak)], "raw")
    }

    fn rescale(self, values: &mut [f64]) -> Result<(), Error> {
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::Raw => {}
            Self::Unit => {
                let span = if lo < hi { hi - lo } else { 1.0 };
                values.iter_mut().for_each(|value| *value = (*value - lo) / span);
            }
            Self::Peak if 0.0 < hi => values.iter_mut().for_each(|value| *value /= hi),
            Self::Peak => {
                return Diagnostic::new(format!("`output = \"peak\"` divides by the largest value, which is {hi}"))
                    .hint("use `output = \"unit\"`, or functions with positive values")
                    .refuse();
            }
        }
        Ok(())
    }
}

#[derive(Clone)]
pub struct FunctionDomain {
    pub points: Points,
    pub kernel: Arc<dyn Kernel>,
    pub gram: Arc<dyn GramSource>,
}
