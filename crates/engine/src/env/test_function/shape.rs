//! Defines test functions.

use super::Sizes;

/// Describes a function to be maximised, in its textbook form and in a scaled form.
#[derive(Debug)]
pub struct TestFunction {
    pub sizes: Sizes,
    /// The form of the literature, on its own box; negated where the literature minimises.
    pub textbook: Form,
    /// The form on the cube `[-1/2, 1/2]^d`, with values divided to be of order one.
    pub scaled: Form,
}

/// Describes a function of z, the point of the domain mapped from its box onto the formula's box.
#[derive(Debug)]
pub struct Form {
    /// Lower and upper end of the domain along an axis.
    pub domain: fn(usize) -> (f64, f64),
    /// Lower and upper end of the formula's box along an axis.
    pub formula_box: fn(usize) -> (f64, f64),
    /// The formula, to be maximised.
    pub formula: fn(&[f64]) -> f64,
    /// The summand of one coordinate (by its number), if the formula is a sum over coordinates.
    pub summand: Option<fn(usize, f64) -> f64>,
    /// Divisor of the values, for a number of coordinates.
    pub divisor: fn(usize) -> f64,
    /// A maximiser in the formula's coordinates, and the maximum before the division.
    pub optimum: fn(usize) -> (Vec<f64>, f64),
}

impl Form {
    /// Returns the value at a point of the domain.
    pub fn value(&self, x: &[f64]) -> f64 {
        (self.formula)(&self.moved(x, self.domain, self.formula_box)) / (self.divisor)(x.len())
    }

    /// Returns one coordinate's summand of the value; NaN if the function is not a sum.
    pub fn axis_value(&self, axis: usize, x: f64, dimension: usize) -> f64 {
        let ((a, b), (c, d)) = ((self.domain)(axis), (self.formula_box)(axis));
        let z = if (a, b) == (c, d) { x } else { c + (x - a) / (b - a) * (d - c) };
        self.summand.map_or(f64::NAN, |summand| summand(axis, z) / (self.divisor)(dimension))
    }

    /// Returns a maximiser in the domain's coordinates and the maximum of the values.
    pub fn best(&self, dimension: usize) -> (Vec<f64>, f64) {
        let (z, maximum) = (self.optimum)(dimension);
        (self.moved(&z, self.formula_box, self.domain), maximum / (self.divisor)(dimension))
    }

    fn moved(&self, x: &[f64], from: fn(usize) -> (f64, f64), to: fn(usize) -> (f64, f64)) -> Vec<f64> {
        let along = |(axis, &x): (usize, &f64)| {
            let ((a, b), (c, d)) = (from(axis), to(axis));
            if (a, b) == (c, d) { x } else { c + (x - a) / (b - a) * (d - c) }
        };
        x.iter().enumerate().map(along).collect()
    }
}

impl TestFunction {
    /// Describes a function whose scaled form is the textbook form on the cube, divided by `divisor`.
    pub const fn new(
        sizes: Sizes,
        own_box: fn(usize) -> (f64, f64),
        formula: fn(&[f64]) -> f64,
        optimum: fn(usize) -> (Vec<f64>, f64),
        divisor: fn(usize) -> f64,
    ) -> Self {
        let textbook = Form { domain: own_box, formula_box: own_box, formula, summand: None, divisor: undivided, optimum };
        let scaled = Form { domain: unit, formula_box: own_box, formula, summand: None, divisor, optimum };
        Self { sizes, textbook, scaled }
    }

    pub fn form(&self, scaled: bool) -> &Form {
        if scaled { &self.scaled } else { &self.textbook }
    }
}

pub fn unit(_axis: usize) -> (f64, f64) {
    (-0.5, 0.5)
}

pub fn undivided(_dimension: usize) -> f64 {
    1.0
}
