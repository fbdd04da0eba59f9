//! Lays out tables and kernels for the passes.

use super::Precision;
use super::real::Real;
use crate::BackendError;
use privateer_gp::score::{FeatureTable, FourierForm, GramSource, KernelFamily, KernelForm};

/// Points per tile; planes and columns are padded to a multiple, and a workgroup has a thread each.
pub const TILE: usize = 256;

/// Planes of a slot, in this order: `p`, mean, variance, error of the variance.
pub const PLANES: usize = 4;

/// Numbers of a point's planes that a round reads and writes: it reads all, and writes all but `p`.
pub const PLANE_NUMBERS: usize = 2 * PLANES - 1;

/// Largest size in bytes of a Gram matrix that is computed once from its form and kept whole.
///
/// Columns of a larger matrix are evaluated whenever they are needed.
pub const MADE_GRAM_BYTES: usize = 64 << 20;

/// `1 / n!` for n = 13 down to 0, the terms of the exponential.
pub const INVERSE_FACTORIALS: [f64; 14] = [
    1.605_904_383_682_161_5e-10,
    2.087_675_698_786_81e-9,
    2.505_210_838_544_172e-8,
    2.755_731_922_398_589e-7,
    2.755_731_922_398_589e-6,
    2.480_158_730_158_73e-5,
    1.984_126_984_126_984e-4,
    1.388_888_888_888_889e-3,
    8.333_333_333_333_333e-3,
    4.166_666_666_666_666_4e-2,
    1.666_666_666_666_666_6e-1,
    0.5,
    1.0,
    1.0,
];

/// Size of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Number of points.
    pub n_points: usize,
    /// Number of points with padding: the length of a plane.
    pub stride: usize,
}

impl Extent {
    /// Pads a number of points to whole tiles.
    pub fn new(n_points: usize) -> Self {
        Self { n_points, stride: n_points.div_ceil(TILE) * TILE }
    }

    /// Returns the number of tiles of [`TILE`] points.
    pub fn n_tiles(self) -> usize {
        self.stride / TILE
    }
}

/// A range of points whose columns are in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Index of the first point.
    pub first: usize,
    /// Number of points with padding: the length of a column here.
    pub len: usize,
}

/// Source of a slot's columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DeviceColumns {
    /// A table shared by all slots, with this number of columns; every row uses all of them.
    Features(usize),
    /// A shared table with one column per point, of which a slot uses those of its basis.
    Gram,
    /// Columns evaluated from coordinates, a slot's own or shared.
    Kernel {
        /// Whether each slot has coordinates and prior of its own.
        own: bool,
    },
}

/// Parameters of a kernel for a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelNumbers<R = f64> {
    /// Index of the formula, in the order of [`KernelFamily`].
    pub family: u32,
    /// Number of coordinates of a point.
    pub dimension: u32,
    /// Factor on the correlation.
    pub scale: R,
    /// Constant term.
    pub offset: R,
    /// Term added for a point with itself.
    pub row_term: R,
}

impl KernelNumbers {
    /// Value used where there is no kernel.
    pub const NONE: Self = Self { family: 0, dimension: 0, scale: 0.0, offset: 0.0, row_term: 0.0 };

    /// Returns the parameters of a formula.
    pub fn of(form: &KernelForm) -> Self {
        let family = match form.family {
            KernelFamily::SquaredExponential => 0,
            KernelFamily::MaternHalf => 1,
            KernelFamily::MaternThreeHalves => 2,
            KernelFamily::MaternFiveHalves => 3,
            KernelFamily::Linear => 4,
        };
        let KernelForm { scale, offset, row_term, .. } = *form;
        Self { family, dimension: form.dimension as u32, scale, offset, row_term }
    }

    /// Rounds the parameters to a type.
    pub fn rounded<R: Real>(self) -> KernelNumbers<R> {
        let Self { family, dimension, scale, offset, row_term } = self;
        KernelNumbers { family, dimension, scale: R::of(scale), offset: R::of(offset), row_term: R::of(row_term) }
    }
}

/// Coordinates in the layout of the passes.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinates<R> {
    /// `dimension x stride`: one coordinate of all points is contiguous.
    pub values: Vec<R>,
    /// Largest magnitude of a value.
    pub largest: f64,
    /// Largest magnitude before centring.
    pub unmoved: f64,
}

/// Rounds coordinates; a kernel of distances has them centred in their range first.
///
/// Centring changes no distance and reduces the rounding.
pub fn coordinates<R: Real>(form: &KernelForm, extent: Extent) -> Coordinates<R> {
    let (d, n) = (form.dimension, extent.n_points);
    let mut values = vec![R::default(); d * extent.stride];
    let (mut largest, mut unmoved) = (0.0f64, 0.0f64);
    for axis in 0..d {
        let along = || (0..n).map(|point| form.points[point * d + axis]);
        let (low, high) = along().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), z| (low.min(z), high.max(z)));
        let middle = if form.family == KernelFamily::Linear { 0.0 } else { low / 2.0 + high / 2.0 };
        for (value, z) in values[axis * extent.stride..].iter_mut().zip(along()) {
            *value = R::of(z - middle);
            largest = largest.max((z - middle).abs());
            unmoved = unmoved.max(z.abs());
        }
    }
    Coordinates { values, largest, unmoved }
}

/// Returns a bound on the error of a kernel that passes evaluate in a type.
///
/// Let `u` be the unit roundoff, `d` the number of coordinates, of magnitude up to `Z`, and every formula in units of its
/// scale. The rounding of two coordinates moves a distance by at most `2 u Z sqrt(d)`, and no `rho` has a slope above 1.
/// The relative error of a distance, `(d + 3)/2 u` for the sum of squares and at most `16 u` for the square root, is
/// multiplied by `|r rho'(r)| < 1`. The reduced argument of `exp` loses at most `u`, its polynomial and the one before it
/// at most `10 u`. A quarter is added for terms of second order. The linear family has `1.25 (d + 6) u` times `d Z²`. In
/// f64 the host's own formula has the same error, so the bound is doubled; and the host rounded the coordinates in f64
/// before centring.
pub fn kernel_error<R>(form: &KernelForm, coords: &Coordinates<R>, precision: Precision) -> f64 {
    let (u, d, largest) = (precision.unit(), form.dimension as f64, coords.largest);
    let host = if form.family == KernelFamily::Linear { 0.0 } else { 4.0 * Precision::F64.unit() * coords.unmoved * d.sqrt() };
    let relative = match form.family {
        KernelFamily::Linear => 1.25 * (d + 6.0) * d * largest * largest,
        _ => 2.5 * largest * d.sqrt() + d + 36.0,
    };
    let sides = if precision == Precision::F64 { 2.0 } else { 1.0 };
    let tiny = 1e4 * precision.tiny() * (1.0 + form.scale.abs());
    host * form.scale.abs() + sides * (u * (relative * form.scale.abs() + 2.0 * (form.offset.abs() + form.row_term.abs())) + tiny)
}

/// Angles beyond this lose digits in the passes' reduction: quarter turns no longer fit 20 bits.
pub const LARGEST_ANGLE: f64 = 1.6e6;

/// Returns a bound on the error of Fourier features that a pass computes in f64.
///
/// The error is relative to the host's features: both sums of an angle round, and sine and cosine by up to 4 roundoffs. Those that
/// the host computes by axis also round in each product of two coordinates' waves.
/// Returns `None` if angles are too large for the passes.
pub fn features_error(form: &FourierForm) -> Option<f64> {
    let d = form.dimension;
    let most = |values: &[f64], axis: usize| values.iter().skip(axis).step_by(d).fold(0.0f64, |most, v| most.max(v.abs()));
    let angle: f64 = (0..d).map(|axis| most(&form.frequencies, axis) * most(&form.points, axis)).sum();
    let amplitude = form.amplitudes.iter().fold(0.0f64, |most, a| most.max(a.abs()));
    let u = Precision::F64.unit();
    let by_axis = if form.grid.is_some() { 8.0 * d as f64 } else { 0.0 };
    (angle <= LARGEST_ANGLE).then_some(amplitude * u * (2.0 * (d as f64 + 3.0) * angle + 16.0 + by_axis))
}

/// Returns a chunk's feature columns, each `chunk.len` long, zero beyond the last point.
pub fn feature_columns<R: Real>(table: &FeatureTable, chunk: Chunk) -> Vec<R> {
    let mut values = vec![R::default(); table.n_features * chunk.len];
    for at in 0..chunk.len.min(table.n_points.saturating_sub(chunk.first)) {
        for (feature, &value) in table.row(chunk.first + at).iter().enumerate() {
            values[feature * chunk.len + at] = R::of(value);
        }
    }
    values
}

/// Returns a chunk's columns of a stored Gram matrix; `None` if the matrix is not stored.
pub fn gram_columns<R: Real>(gram: &dyn GramSource, chunk: Chunk) -> Option<Vec<R>> {
    let n = gram.n_points();
    let mut values = vec![R::default(); n * chunk.len];
    for point in 0..n {
        let column = gram.dense_column(point)?.get(chunk.first..).unwrap_or(&[]);
        for (value, &k) in values[point * chunk.len..(point + 1) * chunk.len].iter_mut().zip(column) {
            *value = R::of(k);
        }
    }
    Some(values)
}

/// Returns the residuals, then the prior variances, of all points, rounded and padded; `of` returns both of a point.
fn base<R: Real>(extent: Extent, of: impl Fn(usize) -> [f64; 2]) -> Vec<R> {
    let mut values = vec![R::default(); 2 * extent.stride];
    for point in 0..extent.n_points {
        [values[point], values[extent.stride + point]] = of(point).map(R::of);
    }
    values
}

/// Returns residual and prior variance of a feature table.
pub fn features_base<R: Real>(table: &FeatureTable, extent: Extent) -> Vec<R> {
    base(extent, |point| {
        let square = table.row(point).iter().fold(0.0, |sum, phi| sum + phi * phi);
        [table.residual[point], table.residual[point] + square]
    })
}

/// Returns the prior variance of a covariance, which has no residual.
pub fn gram_base<R: Real>(gram: &dyn GramSource, extent: Extent) -> Vec<R> {
    base(extent, |point| [0.0, gram.diagonal(point)])
}

/// Creates the error of a covariance that is neither a table nor a formula.
pub fn no_form() -> BackendError {
    BackendError::unsuitable("this kernel is neither a table nor one of the formulas that a device evaluates")
}
