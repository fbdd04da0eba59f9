//! What a test function is.

/// A function to be maximised, with its textbook form and a scaled one.
#[derive(Debug)]
pub struct TestFunction {
    /// Its `kind` in specs.
    pub name: &'static str,
    /// How many coordinates it takes.
    pub sizes: Sizes,
    /// As in the literature: on its own box, its values negated where the literature minimises.
    pub textbook: Form,
    /// On the cube `[-1/2, 1/2]^d`, its values divided to be of order one.
    pub scaled: Form,
}

/// Numbers of coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// This one.
    One(usize),
    /// Up to `most`, `usual` unless stated.
    UpTo {
        /// Unless stated.
        usual: usize,
        /// The most.
        most: usize,
    },
}

/// A function of z, where z is a point of the domain moved from its box onto the box of the formula.
#[derive(Debug)]
pub struct Form {
    /// Ends of the domain along an axis.
    pub domain: fn(usize) -> (f64, f64),
    /// Ends of the formula's box along an axis.
    pub formula_box: fn(usize) -> (f64, f64),
    /// The formula, to be maximised.
    pub formula: fn(&[f64]) -> f64,
    /// What a coordinate (by its number) adds to the formula, where it is such a sum.
    pub summand: Option<fn(usize, f64) -> f64>,
    /// What its values are divided by, for a number of coordinates.
    pub divisor: fn(usize) -> f64,
    /// A maximiser in the formula's coordinates, and the maximum before the division.
    pub optimum: fn(usize) -> (Vec<f64>, f64),
}

impl Form {
    /// The value at a point of the domain.
    #[must_use]
    pub fn value(&self, x: &[f64]) -> f64 {
        (self.formula)(&self.moved(x, self.domain, self.formula_box)) / (self.divisor)(x.len())
    }

    /// What a coordinate of the domain adds to the value, where the function is such a sum; NaN where it is not.
    #[must_use]
    pub fn axis_value(&self, axis: usize, x: f64, dimension: usize) -> f64 {
        let ((a, b), (c, d)) = ((self.domain)(axis), (self.formula_box)(axis));
        let z = if (a, b) == (c, d) { x } else { c + (x - a) / (b - a) * (d - c) };
        self.summand.map_or(f64::NAN, |summand| summand(axis, z) / (self.divisor)(dimension))
    }

    /// A maximiser in the domain's coordinates, and the maximum of the values.
    #[must_use]
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
    /// The form of this variant.
    #[must_use]
    pub fn form(&self, scaled: bool) -> &Form {
        if scaled { &self.scaled } else { &self.textbook }
    }
}

/// The cube of the scaled forms.
#[must_use]
pub fn unit(_axis: usize) -> (f64, f64) {
    (-0.5, 0.5)
}

/// Values as they are.
#[must_use]
pub fn undivided(_dimension: usize) -> f64 {
    1.0
}
