//! Length-scales: one for all coordinates, or one each.

use crate::Points;
use privateer_config::params::Args;
use std::ops::Range;
use std::sync::Arc;

/// The units of distances; every length-scale is positive and finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengthscales {
    /// One for every coordinate, for points of any dimension.
    Isotropic(f64),
    /// One per coordinate.
    PerDimension(Vec<f64>),
}

impl Lengthscales {
    /// Reads `lengthscale` or `lengthscales`, one of which is required.
    pub fn parse(args: &Args<'_>) -> Self {
        const ONE: &str = "length-scale of every coordinate, in the domain's units";
        let many = args.numbers("lengthscales", "length-scale of each coordinate (in place of `lengthscale`)");
        let lengthscale = args.number("lengthscale", ONE).above(0.0);
        if !args.has("lengthscales") {
            return Self::Isotropic(lengthscale.required());
        }
        if lengthscale.optional("`lengthscales`").is_some() {
            args.reject("lengthscale", "`lengthscale` and `lengthscales` are both given", "one of the two");
        }
        let scales = many.unwrap_or_default();
        if scales.is_empty() || scales.iter().any(|&l| l <= 0.0) {
            args.reject("lengthscales", "`lengthscales` must all be positive", "one number > 0 per coordinate");
        }
        Self::PerDimension(scales)
    }

    /// Returns the number of coordinates, or `None` if any number is allowed.
    pub fn dimension(&self) -> Option<usize> {
        match self {
            Self::Isotropic(_) => None,
            Self::PerDimension(scales) => Some(scales.len()),
        }
    }

    /// Returns the length-scale of one coordinate (1 beyond the last coordinate).
    pub fn of(&self, coordinate: usize) -> f64 {
        match self {
            Self::Isotropic(l) => *l,
            Self::PerDimension(scales) => scales.get(coordinate).copied().unwrap_or(1.0),
        }
    }

    /// Returns the length-scales of a range of coordinates.
    pub fn of_range(&self, coordinates: Range<usize>) -> Self {
        match self {
            Self::Isotropic(l) => Self::Isotropic(*l),
            Self::PerDimension(_) => Self::PerDimension(coordinates.map(|coordinate| self.of(coordinate)).collect()),
        }
    }

    /// Returns coordinates divided by their length-scales, `n_points x dimension` row-major.
    pub fn scaled(&self, points: &Points) -> Arc<[f64]> {
        if let Self::Isotropic(l) = self {
            return points.coordinates().iter().map(|x| x / l).collect();
        }
        (0..points.n_points()).flat_map(|i| points.point(i).iter().enumerate().map(|(j, x)| x / self.of(j))).collect()
    }

    /// Returns `Σ_i ((a_i - b_i) / l_i)²`, coordinates ascending; the bits are symmetric in a, b.
    pub fn squared_distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let pairs = a.iter().zip(b);
        match self {
            Self::Isotropic(l) => pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / (l * l),
            Self::PerDimension(scales) => pairs.zip(scales).map(|((x, y), l)| (x - y) * (x - y) / (l * l)).sum(),
        }
    }
}
