//! Implements `generalized-linear`: fresh contexts, and one parameter vector per arm.
//!
//! The mean reward is `zeta(<x, theta_a>)` [Han2022, section 4.1].

use super::user_file::parse_link;
use super::{Contextual, User, Users};
use crate::env::noise::{Noise, parse_noise};
use crate::env::{BuildContext, EnvironmentPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, dot};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::interactions::{ContextFacts, Link};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
enum ContextLaw {
    Gaussian,
    /// Independent, uniform on [-1, 1].
    Uniform,
    /// This number of nonzero entries, at random places.
    Sparse(usize),
}

impl ContextLaw {
    /// Draws all entries.
    ///
    /// * `places` — a permutation of the positions, which sparse vectors change
    /// * `nonzero` — draws an entry of a sparse vector
    fn fill(self, entries: &mut [f64], places: &mut [usize], stream: &mut Stream, nonzero: impl Fn(&mut Stream) -> f64) {
        match self {
            Self::Gaussian => stream.normals(entries),
            Self::Uniform => entries.iter_mut().for_each(|entry| *entry = stream.uniform_in(-1.0, 1.0)),
            Self::Sparse(nonzeros) => {
                entries.fill(0.0);
                for i in 0..nonzeros {
                    let j = i + stream.index(entries.len() - i);
                    places.swap(i, j);
                    entries[places[i]] = nonzero(stream);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterScale {
    Largest,
    Length,
    None,
}

#[derive(Debug, Clone)]
struct GeneralizedLinearPlan {
    n_arms: usize,
    dimension: usize,
    contexts: ContextLaw,
    scale: ParameterScale,
    parameters: ContextLaw,
    positive: bool,
    radius: f64,
    link: Link,
    margin: f64,
    noise: Arc<dyn Noise>,
}

/// Number of contexts that are drawn to check the margin.
///
/// A spec is refused if too few of them satisfy it. A user is accepted as drawn after `MOST_TRIES` draws that violate it.
const PROBES: usize = 2000;
/// Number of these contexts that must satisfy the margin.
const LEAST_KEPT: usize = 20;
const MOST_TRIES: usize = 100_000;

fn law(args: &Args<'_>, key: &'static str, doc: &'static str, default: &'static str) -> Option<ContextLaw> {
    let variant = args.variant(key, doc, &["gaussian", "uniform", "sparse"], Some(default))?;
    let law = match variant.kind.as_str() {
        "gaussian" => ContextLaw::Gaussian,
        "uniform" => ContextLaw::Uniform,
        _ => ContextLaw::Sparse(
            variant.args.count("nonzeros", "entries that are not zero, at random places").between(1, 1_000_000).or(5) as usize,
        ),
    };
    variant.args.finish();
    Some(law)
}

pub fn parse(args: &Args<'_>) -> EnvironmentPlan<Contextual> {
    let dimension = args.count("dimension", "d: features of a context").between(1, 100_000).required() as usize;
    let n_arms = args.count("arms", "K: arms").between(2, 10_000).or(2) as usize;
    let contexts = law(args, "contexts", "law of a context's entries", "gaussian").unwrap_or(ContextLaw::Gaussian);
    args.documents("contexts.nonzeros", "a whole number from 1 to 4294967295: entries of a `sparse` context, 5 unless given");
    let scale = args.choice(
        "scale",
        "what is 1 of every context: its largest entry, its Euclidean length, or neither (entries are cut off at 6)",
        &[("largest", ParameterScale::Largest), ("length", ParameterScale::Length), ("none", ParameterScale::None)],
        "largest",
    );
    let parameters =
        law(args, "parameters", "law of an arm's parameters before they are scaled", "sparse").unwrap_or(ContextLaw::Sparse(5));
    args.documents(
        "parameters.nonzeros",
        "a whole number from 1 to 4294967295: entries of a `sparse` arm, 5 unless given, all of the same size",
    );
    let signs = args.word("signs", "signs of the entries of sparse arms", &["positive", "random"], Some("positive"));
    let radius = args.number("radius", "l1 norm of every arm's parameters").above(0.0).at_most(1e6).or(1.0);
    let link = parse_link(args);
    let margin = args
        .number("margin", "users whose best arm is ahead of their second by less do not come, in units of the reward")
        .at_least(0.0)
        .at_most(1e6)
        .or(0.0);
    for (law, key) in [(contexts, "contexts"), (parameters, "parameters")] {
        if let ContextLaw::Sparse(nonzeros) = law
            && 0 < dimension
            && dimension < nonzeros
        {
            args.reject(
                key,
                format!("{nonzeros} entries cannot differ from zero in {dimension} dimensions"),
                "at most as many `nonzeros` as `dimension`",
            );
        }
    }
    let noise = parse_noise(args);
    let plan = GeneralizedLinearPlan {
        n_arms,
        dimension,
        contexts,
        scale,
        parameters,
        positive: signs == "positive",
        radius,
        link,
        margin,
        noise,
    };
    EnvironmentPlan::new(move |context| plan.build(context))
}

impl GeneralizedLinearPlan {
    fn build(&self, context: &BuildContext<'_>) -> Result<Contextual, Error> {
        let noise = Arc::clone(&self.noise);
        context.allow(
            &format!("parameters of {} arms in {} dimensions", self.n_arms, self.dimension),
            16.0 * self.n_arms as f64 * self.dimension as f64,
            "lower `arms` or `dimension`",
        )?;
        let entries = match self.contexts {
            ContextLaw::Sparse(nonzeros) => nonzeros,
            _ => self.dimension,
        } as f64;
        // Normal draws by inversion stay below 8.3; without scaling, entries are cut off at 6.
        let (largest_entry, length) = match self.scale {
            ParameterScale::Largest => (1.0, libm::sqrt(entries)),
            ParameterScale::Length => (1.0, 1.0),
            ParameterScale::None if self.contexts == ContextLaw::Gaussian => (CUT_OFF, CUT_OFF * libm::sqrt(entries)),
            ParameterScale::None => (1.0, libm::sqrt(entries)),
        };
        let parameter_length = match self.parameters {
            ContextLaw::Sparse(nonzeros) => self.radius / libm::sqrt(nonzeros as f64),
            _ => self.radius,
        };
        let most = (largest_entry * self.radius).min(length * parameter_length);
        let mean_range = self.link.range(most);
        if let Some((lo, hi)) = noise.range()
            && (mean_range.0 < lo || hi < mean_range.1)
        {
            return Diagnostic::new(format!(
                "the noise needs mean rewards from {lo} to {hi}, and they lie from {} to {}",
                mean_range.0, mean_range.1
            ))
            .hint("add `link = \"logistic\"` to the environment, or choose another noise")
            .refuse();
        }
        let range = noise.range().or(noise.bound().map(|bound| (mean_range.0 - bound, mean_range.1 + bound)));
        let facts = ContextFacts {
            n_arms: self.n_arms,
            dimension: self.dimension,
            largest_entry,
            length,
            parameter_l1: self.radius,
            parameter_length,
            mean_range,
            range,
            noise_sd: noise.variance().map(libm::sqrt),
            link: self.link,
            margin: self.margin,
            rounds: context.rounds,
        };
        let link = Link::NAMED.iter().find(|(_, link)| *link == facts.link).map(|(name, _)| *name);
        let described = Facts::from([
            ("largest entry of a context, at most", facts.largest_entry.into()),
            ("length of a context, at most", facts.length.into()),
            ("l1 norm of an arm's parameters", facts.parameter_l1.into()),
            ("range of mean rewards", vec![facts.mean_range.0, facts.mean_range.1].into()),
            ("link", link.into()),
            ("margin", facts.margin.into()),
            ("unit of regret", "that of the reward".into()),
        ]);
        let (plan, streams) = (self.clone(), context.streams.clone());
        Ok(Contextual::new(facts, described, move |trial| {
            let (user, mut source) = (User::new(plan.dimension, plan.n_arms), plan.draw(&streams, trial)?);
            Ok(Users::new(user, Some(Arc::clone(&noise)), move |user| source.next(user)))
        }))
    }

    fn draw(&self, streams: &Streams, trial: u64) -> Result<UserSource, Error> {
        let mut stream = streams.of(trial, Purpose::Function);
        let mut theta = vec![0.0; self.n_arms * self.dimension];
        for arm in theta.chunks_exact_mut(self.dimension) {
            parameters(self, &mut stream, arm);
        }
        let source = UserSource {
            plan: self.clone(),
            stream: streams.of(trial, Purpose::Contexts),
            supports: supports(&theta, self.dimension),
            theta,
            places: (0..self.dimension).collect(),
        };
        if 0.0 < self.margin {
            let mut probe = UserSource { stream: streams.of(trial, Purpose::Domain), ..source.clone() };
            let mut user = User::new(self.dimension, self.n_arms);
            let kept = (0..PROBES).filter(|_| {
                probe.draw(&mut user);
                self.margin <= ahead(&user.means)
            });
            let kept = kept.count();
            if kept < LEAST_KEPT {
                return Diagnostic::new(format!(
                    "only {kept} of {PROBES} users keep a margin of {} in trial {trial}",
                    self.margin
                ))
                .hint("lower `margin`, or the number of `arms`")
                .refuse();
            }
        }
        Ok(source)
    }
}

/// Magnitude at which the entries of unscaled normal contexts are cut off.
const CUT_OFF: f64 = 6.0;

/// Fills an arm's parameters and scales them to l1 norm `radius`.
fn parameters(plan: &GeneralizedLinearPlan, stream: &mut Stream, arm: &mut [f64]) {
    let sign = |stream: &mut Stream| if stream.bernoulli(0.5) && !plan.positive { -1.0 } else { 1.0 };
    let mut places: Vec<usize> = (0..arm.len()).collect();
    plan.parameters.fill(arm, &mut places, stream, sign);
    let size: f64 = arm.iter().map(|x| x.abs()).sum();
    if 0.0 < size {
        arm.iter_mut().for_each(|entry| *entry *= plan.radius / size);
    }
}

/// Returns the positions and values of each arm's nonzero parameters.
fn supports(theta: &[f64], dimension: usize) -> Vec<Vec<(u32, f64)>> {
    let of = |arm: &[f64]| arm.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(i, x)| (i as u32, *x)).collect();
    theta.chunks_exact(dimension).map(of).collect()
}

#[derive(Clone)]
struct UserSource {
    plan: GeneralizedLinearPlan,
    stream: Stream,
    theta: Vec<f64>,
    supports: Vec<Vec<(u32, f64)>>,
    /// Scratch of sparse contexts: a permutation of the positions.
    places: Vec<usize>,
}

impl UserSource {
    /// Draws a user that satisfies the margin.
    fn next(&mut self, user: &mut User) {
        self.draw(user);
        if 0.0 < self.plan.margin {
            for _ in 0..MOST_TRIES {
                if self.plan.margin <= ahead(&user.means) {
                    return;
                }
                self.draw(user);
            }
        }
    }

    fn draw(&mut self, User { context, means, .. }: &mut User) {
        let d = context.len();
        self.plan.contexts.fill(context, &mut self.places, &mut self.stream, |stream| stream.uniform_in(-1.0, 1.0));
        let size = match self.plan.scale {
            ParameterScale::Largest => Norm::MAX.size(context),
            ParameterScale::Length => libm::sqrt(dot(context, context)),
            ParameterScale::None => {
                context.iter_mut().for_each(|x| *x = x.clamp(-CUT_OFF, CUT_OFF));
                1.0
            }
        };
        if 0.0 < size {
            let factor = 1.0 / size;
            context.iter_mut().for_each(|x| *x *= factor);
        }
        for ((mean, support), theta) in means.iter_mut().zip(&self.supports).zip(self.theta.chunks_exact(d)) {
            // Where few parameters are nonzero, the sum runs over these alone.
            let z = if 4 * support.len() <= d {
                support.iter().map(|&(at, value)| context[at as usize] * value).sum()
            } else {
                dot(context, theta)
            };
            *mean = self.plan.link.mean(z);
        }
    }
}

/// Returns the difference between the largest and the second-largest mean reward.
fn ahead(means: &[f64]) -> f64 {
    let (mut best, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for &mean in means {
        if best < mean {
            (best, second) = (mean, best);
        } else if second < mean {
            second = mean;
        }
    }
    best - second
}
