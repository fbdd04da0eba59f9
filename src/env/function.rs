//! What environments over a domain with coordinates share: domain, kernel, noise, unit of regret, rescaling.

use super::domain::Place;
use super::noise::Noise;
use super::{BuildContext, DomainPlan, Environment, Instance, KernelChoice, Parts, RegretUnit};
use crate::error::{Diagnostic, Error};
use crate::gp::kernel::Kernel;
use crate::gp::{KernelGram, Points, tabulated};
use crate::params::Args;
use crate::rng::{Purpose, Stream, Streams};
use crate::score::GramSource;
use std::sync::Arc;

/// The keys that function environments share.
#[derive(Clone)]
pub struct FunctionPlan {
    /// The domain.
    pub domain: DomainPlan,
    /// The kernel; `None` only after a mistake in the spec.
    pub kernel: Option<Arc<dyn Kernel>>,
    noise: Option<Arc<dyn Noise>>,
    bound: Option<f64>,
    unit_output: bool,
    regret: RegretUnit,
}

impl FunctionPlan {
    /// Reads `domain`, `kernel`, `noise`, `bound`, `output`, `regret`.
    pub fn parse(args: &Args<'_>, parts: &dyn Parts, place: Place) -> Self {
        let kernel = match parts.kernel(args, "kernel") {
            Some(KernelChoice::Function(kernel)) => Some(kernel),
            Some(KernelChoice::Empirical(_)) => {
                args.reject(
                    "kernel",
                    "an empirical covariance needs a table of samples",
                    "a kernel between points, such as `squared-exponential`",
                );
                None
            }
            None => None,
        };
        Self {
            domain: DomainPlan::parse(args, place),
            kernel,
            noise: parts.noise(args, "noise"),
            bound: args
                .number("bound", "B: public bound on |f|")
                .above(0.0)
                .optional("the trial's largest |f|, as in [Zhou2021]"),
            unit_output: args.word("output", "`unit` maps each trial's function onto [0, 1]", &["raw", "unit"], Some("raw"))
                == "unit",
            regret: RegretUnit::parse(args, "raw"),
        }
    }

    /// Points and covariance; small domains get the whole Gram matrix as a table.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn build(&self, context: &BuildContext<'_>) -> Result<FunctionDomain, Error> {
        let points = self.domain.build(context)?;
        let Some(kernel) = self.kernel.clone() else {
            return Err(Error::input(Diagnostic::new("the environment has no kernel")));
        };
        if let Some(expected) = kernel.dimension()
            && expected != points.dimension()
        {
            return Err(Error::input(
                Diagnostic::new(format!(
                    "the kernel has {expected} length-scales and the domain {} dimensions",
                    points.dimension()
                ))
                .hint("give one `lengthscale`, or as many `lengthscales` as dimensions"),
            ));
        }
        let gram = tabulated(KernelGram::new(Arc::clone(&kernel), points.clone()));
        Ok(FunctionDomain { points, kernel, gram })
    }

    /// The unit of regret.
    #[must_use]
    pub fn regret_unit(&self) -> RegretUnit {
        self.regret
    }

    /// The instance of a trial from the function's values.
    ///
    /// # Errors
    /// As [`Instance::new`].
    pub fn instance(&self, mut values: Vec<f64>, rounds: u64) -> Result<Instance, Error> {
        if self.unit_output {
            let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let span = if lo < hi { hi - lo } else { 1.0 };
            for value in &mut values {
                *value = (*value - lo) / span;
            }
        }
        let Some(noise) = self.noise.clone() else {
            return Err(Error::input(Diagnostic::new("the environment has no noise")));
        };
        Instance::new(Arc::new(values), noise, self.bound, rounds, self.regret)
    }
}

/// Points and covariance of a function environment.
#[derive(Clone)]
pub struct FunctionDomain {
    /// The points.
    pub points: Points,
    /// The kernel.
    pub kernel: Arc<dyn Kernel>,
    /// The covariance of the points.
    pub gram: Arc<dyn GramSource>,
}

/// Draws one trial's function: its values at all points of the domain.
pub type DrawFunction = Box<dyn Fn(&FunctionDomain, &mut Stream) -> Vec<f64> + Send + Sync>;

/// An environment over a domain with coordinates; what tells one from another is how a function is drawn.
pub struct FunctionEnvironment {
    plan: FunctionPlan,
    domain: FunctionDomain,
    draw: DrawFunction,
    streams: Streams,
    rounds: u64,
    /// Facts beside those of every function environment.
    own_facts: Vec<(String, serde_json::Value)>,
}

impl FunctionEnvironment {
    /// The environment of `plan` over `domain`, which it built.
    #[must_use]
    pub fn new(
        plan: FunctionPlan,
        domain: FunctionDomain,
        context: &BuildContext<'_>,
        own_facts: Vec<(String, serde_json::Value)>,
        draw: DrawFunction,
    ) -> Self {
        Self { plan, domain, draw, streams: context.streams.clone(), rounds: context.rounds, own_facts }
    }
}

impl Environment for FunctionEnvironment {
    fn gram(&self) -> &Arc<dyn GramSource> {
        &self.domain.gram
    }

    fn points(&self) -> Option<&Points> {
        Some(&self.domain.points)
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        Some(&self.domain.kernel)
    }

    fn draw(&self, trial: u64) -> Result<Instance, Error> {
        let values = (self.draw)(&self.domain, &mut self.streams.of(trial, Purpose::Function));
        self.plan.instance(values, self.rounds)
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        let mut facts = vec![
            ("points".to_owned(), self.domain.points.n_points().into()),
            ("dimension".to_owned(), self.domain.points.dimension().into()),
        ];
        facts.extend(self.own_facts.iter().cloned());
        facts.push(self.plan.regret.fact());
        facts
    }
}
