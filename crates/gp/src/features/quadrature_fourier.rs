//! Quadrature Fourier features: cosines and sines at quadrature nodes of the spectral density.
//!
//! Sources: Mutny2018; Dubey2021, Definition 4.
//!
//! Over a group of d coordinates the rule is the full tensor grid of all nodes, both signs: `nodes^d` frequencies. By
//! symmetry, the half whose first nonzero coordinate is positive gives the same kernel with twice the weight. Each of
//! these frequencies has a cosine and a sine; frequency 0 (for an odd number of nodes) has only a cosine. So a group has
//! `nodes^d` features: its cosines, then its sines. The features of an additive kernel are those of its groups, one after
//! the other.
//!
//! The printed weights sum to 0. The code uses the weights of the rule, `w_i / sqrt(pi)` at `sqrt(2) t_i / l`, which sum
//! to 1.

use super::measured_error;
use crate::kernel::{Kernel, Summand};
use crate::score::{AxisFeatures, FeatureTable, FourierForm};
use crate::special::MOST_NODES;
use crate::{Points, ProductDomain};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use std::ops::Range;
use std::sync::Arc;

/// The number of nodes and the largest accepted kernel error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuadratureFourier {
    /// Nodes per coordinate.
    pub nodes: usize,
    /// Largest accepted kernel error, as measured, as a share of the prior variance.
    pub max_error: f64,
}

/// Reads `nodes` and `max_error`.
pub fn parse(args: &Args<'_>) -> QuadratureFourier {
    let nodes = args.count("nodes", "nodes a coordinate: nodes^d features for each group of d coordinates");
    let max_error = args.number("max_error", "kernel error, as a share of the prior variance, beyond which features are refused");
    let plan = QuadratureFourier {
        nodes: nodes.between(1, MOST_NODES as u64).or(8) as usize,
        max_error: max_error.above(0.0).at_most(2.0).or(0.9),
    };
    args.finish();
    plan
}

/// Largest number of features of a map.
pub const MOST_FEATURES: f64 = 65_536.0;

/// Factor that lowers the amplitudes so that `|phi(x)|²` does not exceed the prior variance.
///
/// The cosine, the sine, two products and the weights each have an error of a few roundings.
const SHRINK: f64 = 1.0 - 32.0 * f64::EPSILON;

/// The features of a group of coordinates.
#[derive(Debug, Clone, PartialEq)]
struct FrequencyGroup {
    coordinates: Range<usize>,
    /// `n x d`, row-major.
    frequencies: Vec<f64>,
    /// `n`.
    amplitudes: Vec<f64>,
    /// Whether the first frequency is 0, which has no sine.
    zero: bool,
}

impl FrequencyGroup {
    fn n_features(&self) -> usize {
        2 * self.amplitudes.len() - usize::from(self.zero)
    }

    /// Builds the tensor product of one rule per coordinate, for a kernel of this variance.
    fn of_rules(coordinates: Range<usize>, rules: &[Vec<(f64, f64)>], variance: f64) -> Self {
        let (mut frequencies, mut amplitudes, mut zero) = (Vec::new(), Vec::new(), false);
        let mut index = vec![0; rules.len()];
        let count: usize = rules.iter().map(Vec::len).product();
        for _ in 0..count {
            let at = || index.iter().zip(rules).map(|(&i, rule)| rule[i]);
            let first = at().map(|(frequency, _)| frequency).find(|frequency| *frequency != 0.0);
            let weight: f64 = at().map(|(_, weight)| weight).product();
            // The frequency of opposite sign is omitted; twice the weight accounts for it.
            let weight = match first {
                Some(frequency) if frequency < 0.0 => None,
                Some(_) => Some(2.0 * weight),
                None => Some(weight),
            };
            if let Some(weight) = weight {
                frequencies.extend(at().map(|(frequency, _)| frequency));
                amplitudes.push(SHRINK * libm::sqrt(weight * variance));
                zero |= first.is_none();
            }
            for (digit, rule) in index.iter_mut().zip(rules).rev() {
                *digit += 1;
                if *digit < rule.len() {
                    break;
                }
                *digit = 0;
            }
        }
        Self { coordinates, frequencies, amplitudes, zero }
    }

    /// Writes the features of a point; `out` is `n_features` long.
    fn write(&self, x: &[f64], out: &mut [f64]) {
        let x = &x[self.coordinates.clone()];
        let n = self.amplitudes.len();
        let skipped = usize::from(self.zero);
        for (i, (w, amplitude)) in self.frequencies.chunks_exact(x.len()).zip(&self.amplitudes).enumerate() {
            let angle: f64 = w.iter().zip(x).map(|(w, x)| w * x).sum();
            out[i] = amplitude * libm::cos(angle);
            if skipped <= i {
                out[n + i - skipped] = amplitude * libm::sin(angle);
            }
        }
    }
}

/// Quadrature Fourier features as a formula, for any point.
#[derive(Debug, Clone, PartialEq)]
pub struct QuadratureMap {
    dimension: usize,
    groups: Vec<FrequencyGroup>,
    /// Error of the features against the kernel.
    pub accuracy: Accuracy,
}

/// The error of features against their kernel, in the units of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// Largest measured error over differences of points of a box.
    pub measured: f64,
    /// Theoretical bound, if one is known: [Dubey2021, Theorem 2] for the squared exponential.
    pub bound: Option<f64>,
    /// Whether the features approximate another kernel: the modified form of the Matern kernel.
    pub modified: bool,
}

/// Number of points along an axis of the box at which one-dimensional errors are measured.
const AXIS_POINTS: usize = 401;

/// Largest number of differences at which the error of a group's product is measured.
const MOST_DIFFERENCES: usize = 10_000;

impl QuadratureMap {
    /// Builds the map for points of a box with these `extents`, one per coordinate.
    ///
    /// # Errors
    /// [`Error::Input`] for a kernel without quadrature features and if the error exceeds `max_error`; [`Error::TooLarge`] for
    /// more than [`MOST_FEATURES`].
    pub fn new(kernel: &dyn Kernel, extents: &[f64], plan: QuadratureFourier) -> Result<Self, Error> {
        let map = Self::with_nodes(kernel, extents, plan.nodes)?;
        let variance = kernel.variance().unwrap_or(1.0);
        if plan.max_error * variance < map.accuracy.measured {
            return Err(map.too_coarse(kernel, extents, plan, variance));
        }
        Ok(map)
    }

    /// Builds the map as [`QuadratureMap::new`] does, without a limit on the error.
    fn with_nodes(kernel: &dyn Kernel, extents: &[f64], nodes: usize) -> Result<Self, Error> {
        let dimension = extents.len();
        let (Some(summands), Some(variance)) = (summands(kernel, dimension), kernel.variance()) else { return Err(refused()) };
        allow(nodes, &summands)?;
        let share = variance / summands.len() as f64;
        let (mut groups, mut accuracy) = (Vec::new(), Accuracy { measured: 0.0, bound: Some(0.0), modified: false });
        for Summand { coordinates, kernel } in summands {
            let d = coordinates.len();
            let Some(factors) = kernel.spectral_factors(d) else { return Err(refused()) };
            let Some(rules) = factors.iter().map(|factor| factor.spectral_rule(nodes)).collect::<Option<Vec<_>>>() else {
                return Err(refused());
            };
            let extents = &extents[coordinates.clone()];
            accuracy.modified |= kernel.axis_factors(d).is_none();
            accuracy.measured += share * product_error(&factors, &rules, extents);
            accuracy.bound = accuracy.bound.and_then(|sum| Some(sum + share * bound(&factors, nodes, extents)?));
            groups.push(FrequencyGroup::of_rules(coordinates, &rules, share));
        }
        Ok(Self { dimension, groups, accuracy })
    }

    /// Returns the number of features.
    pub fn n_features(&self) -> usize {
        self.groups.iter().map(FrequencyGroup::n_features).sum()
    }

    /// Returns, for every group, its range of coordinates and its range of features.
    pub fn blocks(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
        self.groups.iter().scan(0, |first, group| {
            let features = *first..*first + group.n_features();
            *first = features.end;
            Some((group.coordinates.clone(), features))
        })
    }

    /// Writes the features of a point of `dimension` coordinates; `out` is `n_features` long.
    ///
    /// `|out|²` is at most the prior variance.
    pub fn write(&self, x: &[f64], out: &mut [f64]) {
        for (group, (_, features)) in self.groups.iter().zip(self.blocks()) {
            group.write(x, &mut out[features]);
        }
    }

    /// Returns the features of the rows of a product domain, and the ranges of each axis.
    ///
    /// Features outside of a row's axis are zero. `None` unless every group of the kernel is one axis.
    pub fn product_table(&self, domain: &ProductDomain) -> Option<(FeatureTable, Vec<AxisFeatures>)> {
        let (n_points, n_features) = (domain.n_rows(), self.n_features());
        let mut values = vec![0.0; n_points * n_features];
        let mut ranges = Vec::new();
        for (axis, (group, (coordinates, features))) in self.groups.iter().zip(self.blocks()).enumerate() {
            if coordinates != (axis..axis + 1) {
                return None;
            }
            let (rows, points) = (domain.rows(axis), domain.axis(axis));
            let mut x = vec![0.0; self.dimension];
            for (point, row) in rows.clone().enumerate() {
                x[axis] = points.point(point)[0];
                group.write(&x, &mut values[row * n_features..][features.clone()]);
            }
            ranges.push((rows, features));
        }
        let residual = vec![0.0; n_points];
        let table = FeatureTable { n_points, n_features, values, residual, kernel_error: self.accuracy.measured, form: None };
        let axes: Vec<_> = ranges.into_iter().map(|(rows, features)| AxisFeatures::of(&table, rows, features)).collect();
        (axes.len() == domain.dimension()).then_some((table, axes))
    }

    /// Computes the features of all points.
    ///
    /// With a kernel, `kernel_error` is the larger of the error over the box of the map and the error over up to
    /// [`super::MEASURED_PAIRS`] pairs of points; without one it is the error over the box.
    pub fn table(&self, points: &Points, kernel: Option<&dyn Kernel>) -> FeatureTable {
        let (n_points, n_features) = (points.n_points(), self.n_features());
        let mut values = vec![0.0; n_points * n_features];
        for (point, row) in values.chunks_exact_mut(n_features).enumerate() {
            self.write(points.point(point), row);
        }
        let form = match &self.groups[..] {
            [group] if !group.zero => Some(FourierForm {
                dimension: self.dimension,
                points: points.coordinates().as_slice().into(),
                frequencies: group.frequencies.clone(),
                amplitudes: group.amplitudes.clone(),
                grid: None,
            }),
            _ => None,
        };
        let residual = vec![0.0; n_points];
        let mut table = FeatureTable { n_points, n_features, values, residual, kernel_error: self.accuracy.measured, form };
        if let Some(kernel) = kernel {
            table.kernel_error = table.kernel_error.max(measured_error(&table, points, kernel));
        }
        table
    }

    /// Returns frequencies and squared amplitudes of the first group, in the half layout.
    pub fn first_group(&self) -> (&[f64], Vec<f64>) {
        let group = &self.groups[0];
        (&group.frequencies, group.amplitudes.iter().map(|a| a * a).collect())
    }

    fn too_coarse(&self, kernel: &dyn Kernel, extents: &[f64], plan: QuadratureFourier, variance: f64) -> Error {
        let QuadratureFourier { nodes, max_error } = plan;
        let share = self.accuracy.measured / variance;
        let longest = extents.iter().copied().fold(0.0, f64::max);
        // The first of some larger rules that meets the limit.
        let enough = [1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0].iter().find_map(|factor| {
            let nodes = libm::ceil(factor * nodes as f64) as usize;
            let map = (nodes <= MOST_NODES).then(|| Self::with_nodes(kernel, extents, nodes).ok())??;
            let share = map.accuracy.measured / variance;
            (share <= max_error).then(|| format!("use {nodes} nodes (error {share:.1e}), "))
        });
        Diagnostic::new(format!(
            "quadrature Fourier features with {nodes} nodes a coordinate miss the kernel by {share:.2} of the prior variance: \
                 its length-scale is too small for points up to {longest} apart"
        ))
        .hint(format!(
            "{}a longer length-scale or a smaller domain, or accept the error with `max_error` (now {max_error})",
            enough.unwrap_or_default()
        ))
        .error()
    }
}

/// Returns the terms of an additive kernel; any other kernel is its own single term.
fn summands(kernel: &dyn Kernel, dimension: usize) -> Option<Vec<Summand>> {
    kernel.summands(dimension).or_else(|| {
        let whole = 0..dimension;
        Some(vec![Summand { coordinates: whole.clone(), kernel: kernel.on_coordinates(whole)? }])
    })
}

fn allow(nodes: usize, summands: &[Summand]) -> Result<(), Error> {
    let features: f64 = summands.iter().map(|summand| libm::pow(nodes as f64, summand.coordinates.len() as f64)).sum();
    if features <= MOST_FEATURES {
        return Ok(());
    }
    let d = summands.iter().map(|summand| summand.coordinates.len()).max().unwrap_or(0);
    // A trial's model holds the square of the number of features, twice.
    let bytes = |features: f64| 16.0 * features * features;
    Err(Error::TooLarge {
        what: format!("quadrature Fourier features: {nodes} nodes on each of {d} coordinates give {features:.1e} features, a model of their square"),
        needs_bytes: bytes(features),
        limit_bytes: bytes(MOST_FEATURES),
        hint: "use an `additive` kernel (features then grow with the number of groups, not with its exponential), fewer `nodes`, or `features = \"nystrom\"`".to_owned(),
    })
}

fn refused() -> Error {
    Diagnostic::new("quadrature Fourier features need a kernel with a spectral density that factorizes over coordinates")
        .expected("`squared-exponential`, `matern`, or `additive` of them")
        .hint("use `features = \"exact\"`, or no features")
        .error()
}

/// Returns the largest `|prod_j q_j(r_j) - prod_j k_j(r_j)|` over a grid of differences r.
///
/// `q_j` are the kernels of the rules. The result is at least the largest error of a factor, which is measured on a finer
/// grid.
fn product_error(factors: &[Arc<dyn Kernel>], rules: &[Vec<(f64, f64)>], extents: &[f64]) -> f64 {
    let d = factors.len();
    let value = |axis: usize, r: f64| {
        let factor = &factors[axis];
        let quadrature: f64 = rules[axis].iter().map(|(frequency, weight)| weight * libm::cos(frequency * r)).sum();
        let kernel = factor.value(&[0.0], &[r]) / factor.value(&[0.0], &[0.0]);
        (quadrature, kernel)
    };
    let along = |axis: usize, points: usize| -> Vec<(f64, f64)> {
        (0..points).map(|i| value(axis, extents[axis] * i as f64 / (points - 1) as f64)).collect()
    };
    let mut worst = 0.0_f64;
    for axis in 0..d {
        worst = along(axis, AXIS_POINTS).iter().fold(worst, |worst, (q, k)| worst.max((q - k).abs()));
    }
    // As many points per axis as the budget allows; beyond thirteen axes two would be too many.
    let points = libm::floor(libm::pow(MOST_DIFFERENCES as f64, 1.0 / d as f64)) as usize;
    if d < 2 || points < 2 {
        return worst;
    }
    let tables: Vec<Vec<(f64, f64)>> = (0..d).map(|axis| along(axis, points)).collect();
    let mut products = vec![(1.0, 1.0)];
    for table in &tables {
        products = products.iter().flat_map(|&(q, k)| table.iter().map(move |&(q1, k1)| (q * q1, k * k1))).collect();
    }
    products.iter().fold(worst, |worst, (q, k)| worst.max((q - k).abs()))
}

/// Returns `d 2^(d-1)` times the bound of one factor, for the smallest length-scale.
///
/// Source: [Dubey2021, Theorem 2].
fn bound(factors: &[Arc<dyn Kernel>], nodes: usize, extents: &[f64]) -> Option<f64> {
    let d = factors.len() as i32;
    let mut worst = 0.0_f64;
    for (factor, &extent) in factors.iter().zip(extents) {
        worst = worst.max(factor.spectral_bound(nodes, extent)?);
    }
    Some(f64::from(d) * libm::exp2(f64::from(d - 1)) * worst)
}

/// Returns the lengths of the box around these points, one per coordinate.
pub fn extents(points: &Points) -> Vec<f64> {
    let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); points.dimension()];
    for point in 0..points.n_points() {
        for ((lo, hi), x) in ends.iter_mut().zip(points.point(point)) {
            (*lo, *hi) = (lo.min(*x), hi.max(*x));
        }
    }
    ends.iter().map(|(lo, hi)| (hi - lo).max(0.0)).collect()
}

#[cfg(test)]
#[path = "quadrature_tests.rs"]
mod tests;
