//! Defines finite domains with coordinates.

use super::BuildContext;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::{Points, ProductDomain};
use privateer_numerics::rng::Purpose;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct DomainPlan {
    kind: DomainKind,
    /// Lower and upper end of each axis.
    edges: Vec<(f64, f64)>,
    points: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DomainKind {
    Grid,
    Random,
    Ball,
    Axes,
}

/// States the box in which the domain of an environment may lie.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Anywhere,
    Box {
        /// Lower and upper end of an axis.
        edges: fn(usize) -> (f64, f64),
        /// The numbers of coordinates that a spec may state.
        sizes: Sizes,
        /// Whether the function is a sum over coordinates.
        additive: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    One(usize),
    /// Up to `most`, by default `usual`.
    UpTo {
        usual: usize,
        most: usize,
    },
}

/// Describes a grid with the structure of a Kronecker product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridShape {
    pub dimension: usize,
    pub points_per_axis: usize,
    pub lo: f64,
    pub hi: f64,
}

impl DomainPlan {
    pub fn parse(args: &Args<'_>, place: Place) -> Self {
        let (doc, kinds): (_, &[&'static str]) = match place {
            Place::Anywhere => ("where the function lives: a grid, uniformly random points of a cube, or of a ball", &ANYWHERE),
            Place::Box { additive: false, .. } => {
                ("points of the function's box: a grid, or uniformly random ones", &ANYWHERE[..2])
            }
            Place::Box { additive: true, .. } => (
                "points of the function's box: a grid, uniformly random ones, or points of each axis, freely combined",
                &["grid", "random", "axes"],
            ),
        };
        let Some(variant) = args.variant("domain", doc, kinds, Some("grid")) else {
            return Self { kind: DomainKind::Grid, edges: vec![(0.0, 1.0)], points: 1 };
        };
        let nested = &variant.args;
        let kind = match variant.kind.as_str() {
            "random" => DomainKind::Random,
            "ball" => DomainKind::Ball,
            "axes" => DomainKind::Axes,
            _ => DomainKind::Grid,
        };
        let points = nested
            .count("points", "points on each axis of a grid or of `axes`; points in all of a random domain")
            .at_least(1)
            .or(100);
        let dimension = |default: usize, most: usize| {
            nested.count("dimension", "coordinates of a point").between(1, most as u64).or(default as u64) as usize
        };
        let edges = match place {
            Place::Anywhere => {
                let dimension = dimension(1, 1000);
                if kind == DomainKind::Ball {
                    let radius = nested.number("radius", "radius of the ball around 0").above(0.0).at_most(1e9).or(1.0);
                    vec![(-radius, radius); dimension]
                } else {
                    let lo = nested.number("lo", "lowest coordinate").or(0.0);
                    let hi = nested.number("hi", "highest coordinate").or(1.0);
                    if hi <= lo {
                        let message = format!("the domain ends at {hi}, not above its start {lo}");
                        nested.reject("hi", message, format!("a number > {lo}"));
                    }
                    nested.documents("radius", "of a ball around 0: a number >= 1e-50 and <= 1e50, 1 unless given");
                    vec![(lo, hi); dimension]
                }
            }
            Place::Box { edges, sizes: Sizes::One(dimension), .. } => (0..dimension).map(edges).collect(),
            Place::Box { edges, sizes: Sizes::UpTo { usual, most }, .. } => (0..dimension(usual, most)).map(edges).collect(),
        };
        nested.finish();
        args.absorb(nested);
        Self { kind, edges, points }
    }

    pub fn dimension(&self) -> usize {
        self.edges.len()
    }

    /// Returns the number of points, as a float because a spec may state absurd numbers.
    pub fn n_points(&self) -> f64 {
        match self.kind {
            DomainKind::Grid | DomainKind::Axes => libm::pow(self.points as f64, self.dimension() as f64),
            DomainKind::Random | DomainKind::Ball => self.points as f64,
        }
    }

    /// Returns the product of axes, if the domain is one: at least two points on each axis.
    pub fn product(&self, kernel: &Arc<dyn Kernel>, context: &BuildContext<'_>) -> Result<Option<ProductDomain>, Error> {
        if self.kind != DomainKind::Axes {
            return Ok(None);
        }
        let rows = self.points as f64 * self.dimension() as f64;
        context.allow(&format!("{rows:.0} points of axes"), 64.0 * rows, "lower `points`")?;
        Ok(Some(ProductDomain::new(self.edges.clone(), self.points as usize, Arc::clone(kernel))))
    }

    /// Returns the shape, if the domain is a grid of equal axes.
    pub fn grid(&self) -> Option<GridShape> {
        let (lo, hi) = self.edges[0];
        let alike = self.kind == DomainKind::Grid && self.edges.iter().all(|edge| *edge == (lo, hi));
        alike.then_some(GridShape { dimension: self.dimension(), points_per_axis: self.points as usize, lo, hi })
    }

    pub fn build(&self, context: &BuildContext<'_>) -> Result<Points, Error> {
        let (n, d) = (self.n_points(), self.dimension());
        // Memory for the coordinates, and for function, mean, variance and score of one trial.
        let needs = 8.0 * n * (d as f64 + 4.0);
        let shape = match self.kind {
            DomainKind::Grid | DomainKind::Axes => format!("{} points on each of {d} axes", self.points),
            DomainKind::Random | DomainKind::Ball => format!("{} random points", self.points),
        };
        let (what, hint) = (format!("a domain of {n:.0} points ({shape})"), "lower `points` or `dimension`");
        context.allow(&what, needs, hint)?;
        if f64::from(u32::MAX) < n {
            // All devices index points by 32 bits.
            let limit_bytes = 8.0 * f64::from(u32::MAX) * (d as f64 + 4.0);
            return Err(Error::TooLarge { what, needs_bytes: needs, limit_bytes, hint: hint.to_owned() });
        }
        let points = self.points as usize;
        let mut stream = context.streams.shared(Purpose::Domain);
        Ok(match self.kind {
            DomainKind::Grid | DomainKind::Axes => Points::grid_in(&self.edges, points),
            DomainKind::Random => Points::random_in(&self.edges, points, &mut stream),
            DomainKind::Ball => Points::random_ball(d, points, self.edges[0].1, &mut stream),
        })
    }
}

const ANYWHERE: [&str; 3] = ["grid", "random", "ball"];
