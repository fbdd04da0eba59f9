//! Finite domains with coordinates.

use super::BuildContext;
use crate::error::Error;
use crate::gp::Points;
use crate::params::Args;
use crate::rng::Purpose;

/// A domain as read from a spec.
#[derive(Debug, Clone, PartialEq)]
pub struct DomainPlan {
    kind: DomainKind,
    dimension: u64,
    points: u64,
    lo: f64,
    hi: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DomainKind {
    Grid,
    Random,
}

/// A grid that a Kronecker product can use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridShape {
    /// Number of coordinates.
    pub dimension: usize,
    /// Points on each axis.
    pub points_per_axis: usize,
    /// Lowest coordinate.
    pub lo: f64,
    /// Highest coordinate.
    pub hi: f64,
}

impl DomainPlan {
    /// Reads the key `domain`.
    pub fn parse(args: &Args<'_>) -> Self {
        let variant = args.variant(
            "domain",
            "where the function lives: a grid, or uniformly random points",
            &["grid", "random"],
            Some("grid"),
        );
        let Some(variant) = variant else { return Self { kind: DomainKind::Grid, dimension: 1, points: 1, lo: 0.0, hi: 1.0 } };
        let nested = &variant.args;
        let kind = if variant.kind == "random" { DomainKind::Random } else { DomainKind::Grid };
        let dimension = nested.count("dimension", "coordinates of a point").between(1, 1000).or(1);
        let points =
            nested.count("points", "points on each axis of a grid; points in all of a random domain").at_least(1).or(100);
        let lo = nested.number("lo", "lowest coordinate").or(0.0);
        let hi = nested.number("hi", "highest coordinate").or(1.0);
        if hi <= lo {
            nested.reject("hi", format!("the domain ends at {hi}, not above its start {lo}"), format!("a number > {lo}"));
        }
        nested.finish();
        args.absorb(nested);
        Self { kind, dimension, points, lo, hi }
    }

    /// Number of points, as a float because it may be absurd.
    #[must_use]
    pub fn n_points(&self) -> f64 {
        match self.kind {
            DomainKind::Grid => libm::pow(self.points as f64, self.dimension as f64),
            DomainKind::Random => self.points as f64,
        }
    }

    /// The shape, if it is a grid.
    #[must_use]
    pub fn grid(&self) -> Option<GridShape> {
        (self.kind == DomainKind::Grid).then_some(GridShape {
            dimension: self.dimension as usize,
            points_per_axis: self.points as usize,
            lo: self.lo,
            hi: self.hi,
        })
    }

    /// The points.
    ///
    /// # Errors
    /// [`Error::TooLarge`] with what the domain and one trial on it would need.
    pub fn build(&self, context: &BuildContext<'_>) -> Result<Points, Error> {
        let n = self.n_points();
        // Coordinates once; function, mean, spread² and score of one trial.
        let needs = 8.0 * n * (self.dimension as f64 + 4.0);
        let shape = match self.kind {
            DomainKind::Grid => format!("{} points on each of {} axes", self.points, self.dimension),
            DomainKind::Random => format!("{} random points", self.points),
        };
        context.allow(&format!("a domain of {n:.0} points ({shape})"), needs, "lower `points` or `dimension`")?;
        if f64::from(u32::MAX) < n {
            // Points are indexed by 32 bits on every device.
            return Err(Error::TooLarge {
                what: format!("a domain of {n:.0} points ({shape})"),
                needs_bytes: needs,
                limit_bytes: 8.0 * f64::from(u32::MAX) * (self.dimension as f64 + 4.0),
                hint: "lower `points` or `dimension`".to_owned(),
            });
        }
        Ok(match self.kind {
            DomainKind::Grid => Points::grid(self.dimension as usize, self.points as usize, self.lo, self.hi),
            DomainKind::Random => {
                let mut stream = context.streams.shared(Purpose::Domain);
                Points::random_uniform(self.dimension as usize, self.points as usize, self.lo, self.hi, &mut stream)
            }
        })
    }
}
