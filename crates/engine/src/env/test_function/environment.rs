//! Provides the environment of every test function: its values on a discretized box.

use super::{Form, TestFunction};
use crate::env::domain::Place;
use crate::env::function::FunctionPlan;
use crate::env::{BuildContext, Environment, EnvironmentPlan};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::{ProductDomain, TableGram};
use std::sync::Arc;

pub struct TestEnvironment {
    function: &'static TestFunction,
    scaled: bool,
    plan: FunctionPlan,
}

impl TestEnvironment {
    pub fn parse(function: &'static TestFunction, args: &Args<'_>) -> EnvironmentPlan {
        let doc = "as in the literature, on its own box; or on [-1/2, 1/2]^d, divided so that values are of order one";
        let scaled = args.word("variant", doc, &["textbook", "scaled"], Some("textbook")) == "scaled";
        let (edges, additive) = (function.form(scaled).domain, function.textbook.summand.is_some());
        let place = Place::Box { edges, sizes: function.sizes, additive };
        let plan = Self { function, scaled, plan: FunctionPlan::parse(args, place) };
        EnvironmentPlan::new(move |context| plan.build(context))
    }

    fn form(&self) -> &'static Form {
        self.function.form(self.scaled)
    }

    /// Returns the facts over a domain of this dimension, whose largest value is `largest`.
    fn facts(&self, dimension: usize, largest: f64, size: (&'static str, usize)) -> Facts {
        let (maximiser, maximum) = self.form().best(dimension);
        let mut facts = self.plan.facts(dimension);
        facts.extend([
            (size.0, size.1.into()),
            ("variant", if self.scaled { "scaled" } else { "textbook" }.into()),
            ("maximum of the function over its box", maximum.into()),
            ("at", maximiser.into()),
            ("largest value on the domain", largest.into()),
        ]);
        facts
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Environment, Error> {
        if let Some(kernel) = &self.plan.kernel
            && let Some(product) = self.plan.domain.product(kernel, context)?
        {
            return self.over_axes(product, context);
        }
        let domain = self.plan.build(context)?;
        let (points, form) = (domain.points, self.form());
        let values = (0..points.n_points()).map(|point| form.value(points.point(point))).collect();
        let instance = self.plan.instance(values, context.rounds)?;
        let facts = self.facts(points.dimension(), instance.best_mean(), ("points", points.n_points()));
        let (points, kernel, set_size) = (Some(points), Some(domain.kernel), self.plan.set_size());
        Ok(Environment { points, kernel, set_size, ..Environment::of(instance, domain.gram, facts) })
    }

    fn over_axes(&self, product: ProductDomain, context: &BuildContext<'_>) -> Result<Environment, Error> {
        let (form, d) = (self.form(), product.dimension());
        let rows = (0..d).flat_map(|axis| {
            let points = product.axis(axis);
            (0..points.n_points()).map(move |point| form.axis_value(axis, points.point(point)[0], d)).collect::<Vec<f64>>()
        });
        let instance = self.plan.instance_over(&product, rows.collect(), context.rounds)?;
        let size = ("points on each axis, freely combined", product.rows(0).len());
        let facts = self.facts(d, instance.best_mean(), size);
        // The covariance is never evaluated, because the points cannot be listed.
        let environment = Environment::of(instance, Arc::new(TableGram::new(0, Vec::new())), facts);
        let kernel = Some(Arc::clone(product.kernel()));
        Ok(Environment { kernel, product: Some(Arc::new(product)), ..environment })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sizes, ackley, branin, camelback, hartmann, levy, michalewicz, styblinski_tang};
    use super::*;
    use privateer_gp::Points;
    use privateer_numerics::rng::{Purpose, Streams};

    fn all() -> [&'static TestFunction; 7] {
        [
            &ackley::ACKLEY,
            &branin::BRANIN,
            &camelback::CAMELBACK,
            &hartmann::HARTMANN_6,
            &levy::LEVY,
            &michalewicz::MICHALEWICZ,
            &styblinski_tang::STYBLINSKI_TANG,
        ]
    }

    /// The stated maximum is the value at the stated maximiser, which lies in the box.
    ///
    /// No random point and no neighbour of the maximiser exceeds it, and scaled values are of order one.
    #[test]
    fn optima_are_what_they_say() {
        let mut random = Streams::new(5, "optima").shared(Purpose::Domain);
        for (at, function) in all().into_iter().enumerate() {
            let sizes = match function.sizes {
                Sizes::One(d) => vec![d],
                Sizes::UpTo { usual, .. } => vec![1, 3, usual],
            };
            for d in sizes {
                for scaled in [false, true] {
                    let (form, said) = (function.form(scaled), format!("function {at} d {d} scaled {scaled}"));
                    let (at, maximum) = form.best(d);
                    let edges: Vec<(f64, f64)> = (0..d).map(form.domain).collect();
                    assert!((form.value(&at) - maximum).abs() <= 1e-12 * (1.0 + maximum.abs()), "{said}: {}", form.value(&at));
                    assert!(at.iter().zip(&edges).all(|(x, (lo, hi))| lo <= x && x <= hi), "{said}: {at:?}");
                    let slack = 1e-12 * (1.0 + maximum.abs());
                    for step in [1e-1, 1e-2, 1e-4] {
                        for (axis, (lo, hi)) in edges.iter().enumerate() {
                            for sign in [-1.0, 1.0] {
                                let mut near = at.clone();
                                near[axis] = (near[axis] + sign * step * (hi - lo)).clamp(*lo, *hi);
                                assert!(form.value(&near) <= maximum + slack, "{said}: above at {near:?}");
                            }
                        }
                    }
                    let points = Points::random_in(&edges, 2000, &mut random);
                    for point in 0..points.n_points() {
                        let value = form.value(points.point(point));
                        assert!(value <= maximum + slack, "{said}: {value} at {:?}", points.point(point));
                        assert!(!scaled || value.abs() <= 1.2, "{said}: {value}");
                    }
                }
            }
        }
    }
}
