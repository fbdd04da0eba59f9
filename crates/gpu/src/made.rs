//! Computes tables on the device, and compares a sample with the host's values.

use super::buffers::{GpuNumber, filled, storage, uniform};
use super::device::{GpuShared, run};
use super::layout::{self, LayoutShape};
use super::pipeline::Pass;
use super::readback::{guarded, read};
use privateer_backend::BackendError;
use privateer_backend::device::{
    Chunk, Coordinates, Extent, KernelNumbers, Numbers, Precision, Work, coordinates, features_error, kernel_error,
};
use privateer_gp::score::{FeatureTable, FourierForm, GramSource, KernelForm};

/// Columns compared, and points of each.
const SAMPLED_COLUMNS: usize = 64;
const SAMPLED_POINTS: usize = 32;

/// A table in chunks of points, with a bound on its error beyond a rounding.
pub struct DeviceTable {
    pub sources: Vec<wgpu::Buffer>,
    /// Absolute error bound.
    pub error: f64,
}

/// Computes Fourier features in f64 and writes them as `R`.
///
/// Returns `None` if device or shader cannot compute them, or if a sample is wrong.
pub fn features<R: GpuNumber>(
    shared: &GpuShared,
    table: &FeatureTable,
    extent: Extent,
    chunks: &[Chunk],
) -> Result<Option<DeviceTable>, BackendError> {
    let Some(form) = table.form.as_ref().filter(|form| shared.has_f64 && form.amplitudes.len() <= shared.max_groups) else {
        return Ok(None);
    };
    let Some(error) = features_error(form) else { return Ok(None) };
    let n_frequencies = form.amplitudes.len();
    let coords = filled(shared, "coordinates", &plain_coordinates(form, extent))?;
    let coefficients: Vec<f64> = form.amplitudes.iter().chain(&form.frequencies).copied().collect();
    let coefficients = filled(shared, "frequencies", &coefficients)?;
    let mut sources = Vec::new();
    for &chunk in chunks {
        let shape = LayoutShape { dimension: form.dimension as u32, ..LayoutShape::new(extent, chunk, n_frequencies) };
        let pass = Pass::making("features", Precision::F64, R::PRECISION);
        let inputs = [(layout::SOURCE, &coords), (layout::COEFFICIENTS, &coefficients)];
        let source = make::<R>(shared, pass, shape, table.n_features, n_frequencies, &inputs)?;
        let as_it_should = |column: usize, point: usize, value: f64| {
            let want = table.row(point)[column];
            (value - want).abs() <= 4.0 * R::PRECISION.unit() * want.abs() + error + R::PRECISION.tiny()
        };
        if !sample::<R>(shared, &source, extent, chunk, table.n_features)?.into_iter().all(|(c, p, v)| as_it_should(c, p, v)) {
            return Ok(None);
        }
        sources.push(source);
    }
    Ok(Some(DeviceTable { sources, error }))
}

/// Evaluates a whole Gram matrix in `W` and writes it as `R`; `None` if a sample is wrong.
pub fn gram<W: GpuNumber, R: GpuNumber>(
    shared: &GpuShared,
    source: &dyn GramSource,
    form: &KernelForm,
    extent: Extent,
    chunks: &[Chunk],
) -> Result<Option<DeviceTable>, BackendError> {
    let n = extent.n_points;
    let coords: Coordinates<W> = coordinates(form, extent);
    let error = kernel_error(form, &coords, W::PRECISION);
    let kernel = KernelNumbers::of(form).rounded::<W>();
    let work = Work { family: kernel.family, dimension: kernel.dimension, ..Work::default() };
    let numbers = Numbers {
        kernel_scale: kernel.scale,
        kernel_offset: kernel.offset,
        kernel_row_term: kernel.row_term,
        ..Numbers::<W>::default()
    };
    let works = filled(shared, "work", &work.values())?;
    let numbers = filled(shared, "numbers", &numbers.values())?;
    let slots: Vec<u32> = (0..n as u32).collect();
    let indices = filled(shared, "points", &slots)?;
    let coords = filled(shared, "coordinates", &coords.values)?;
    let mut sources = Vec::new();
    for &chunk in chunks {
        let pass = Pass::making("gram", W::PRECISION, R::PRECISION);
        let inputs =
            [(layout::WORKS, &works), (layout::NUMBERS, &numbers), (layout::INDICES, &indices), (layout::SOURCE, &coords)];
        let made = make::<R>(shared, pass, LayoutShape::new(extent, chunk, n), n, n, &inputs)?;
        let as_it_should = |column: usize, point: usize, value: f64| {
            let want = source.entry(column, point);
            (value - want).abs() <= 2.0 * R::PRECISION.unit() * want.abs() + error + R::PRECISION.tiny()
        };
        if !sample::<R>(shared, &made, extent, chunk, n)?.into_iter().all(|(c, p, v)| as_it_should(c, p, v)) {
            return Ok(None);
        }
        sources.push(made);
    }
    Ok(Some(DeviceTable { sources, error }))
}

/// Returns the coordinates unchanged: one coordinate of all points is contiguous.
fn plain_coordinates(form: &FourierForm, extent: Extent) -> Vec<f64> {
    let d = form.dimension;
    let mut values = vec![0.0; d * extent.stride];
    for point in 0..extent.n_points {
        for axis in 0..d {
            values[axis * extent.stride + point] = form.points[point * d + axis];
        }
    }
    values
}

/// Computes one chunk of a table: `n_columns` columns, by `groups` rows of workgroups.
fn make<R: GpuNumber>(
    shared: &GpuShared,
    pass: Pass,
    shape: LayoutShape,
    n_columns: usize,
    groups: usize,
    inputs: &[(u32, &wgpu::Buffer)],
) -> Result<wgpu::Buffer, BackendError> {
    let table = storage(shared, "table", (n_columns * shape.chunk_len as usize * size_of::<R>()) as u64)?;
    let across = shape.chunk_len / shared.workgroup(pass.real)?.threads();
    let shape = uniform(shared, &shape.words())?;
    let pipeline = shared.pipeline(pass)?;
    let mut buffers = vec![(layout::SHAPE, &shape), (layout::TABLE, &table)];
    buffers.extend_from_slice(inputs);
    let group = pipeline.bind(shared, &buffers)?;
    guarded(shared, "make a table", |device| {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
        run(&mut encoder, &[(&pipeline, &group, [across, groups as u32])]);
        shared.queue.submit([encoder.finish()]);
    })?;
    Ok(table)
}

/// Reads a sample of a table (column, point, value), with the last column and the last point.
fn sample<R: GpuNumber>(
    shared: &GpuShared,
    table: &wgpu::Buffer,
    extent: Extent,
    chunk: Chunk,
    n_columns: usize,
) -> Result<Vec<(usize, usize, f64)>, BackendError> {
    let n = chunk.len.min(extent.n_points - chunk.first);
    let (columns, points) = (SAMPLED_COLUMNS.min(n_columns), SAMPLED_POINTS.min(n));
    let places: Vec<(usize, usize)> =
        (1..=columns).map(|i| (i * n_columns / columns - 1, (i * n / columns).saturating_sub(points).min(n - points))).collect();
    let size = size_of::<R>() as u64;
    let parts: Vec<(&wgpu::Buffer, u64, u64)> =
        places.iter().map(|&(column, first)| (table, (column * chunk.len + first) as u64 * size, points as u64 * size)).collect();
    let values: Vec<R> = read(shared, "give back a sample", &parts, |_| ())?;
    let at = places.into_iter().flat_map(|(column, first)| (first..first + points).map(move |point| (column, point)));
    Ok(at.zip(values).map(|((column, point), value)| (column, chunk.first + point, value.wide())).collect())
}
