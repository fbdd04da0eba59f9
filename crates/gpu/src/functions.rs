//! Evaluates functions that are sums of kernels at every point, and finds where each may be the largest or the least.
//!
//! Values stay on the device, for lanes that begin with them. How far they are from the host's:
//! `docs/derivations/device-loop.md`.

use super::buffers::{filled, storage, uniform};
use super::device::{GpuShared, run};
use super::layout::{self, LayoutShape};
use super::pipeline::Pass;
use super::readback::read;
use privateer_backend::BackendError;
use privateer_backend::device::{
    Chunk, Coordinates, Extent, FunctionEnds, KernelNumbers, LoopDomain, Numbers, Precision, TILE, Work, coordinates,
    kernel_error,
};
use privateer_gp::score::{KernelFamily, KernelForm};
use privateer_gp::{FunctionValues, KernelSum};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most points that are listed of a function.
const MOST_ENDS: usize = 7;

/// Most terms of a function, most iterations of a thread, as `trial.wgsl` says, and covariances of a submission: some 0.1 s of a slow card.
const MOST_TERMS: usize = KernelSum::MOST_TERMS;
const MOST_ITERATIONS: usize = 60_000;
const MOST_COVARIANCES: usize = 1 << 30;

/// Functions by address, with their values on a device.
pub type MadeFunctions = Mutex<BTreeMap<usize, MadeFunction>>;

/// A function whose values are on the device.
#[derive(Debug, Clone)]
pub struct MadeFunction {
    sum: Arc<KernelSum>,
    pub values: wgpu::Buffer,
    /// Place of its first value, in bytes.
    pub offset: u64,
    /// Bound on the distance of a value from the host's.
    pub error: f64,
    /// Bytes up and down.
    pub bytes: (u64, u64),
}

/// Returns what tells functions apart as long as they are held.
pub fn address(function: &FunctionValues) -> usize {
    match function {
        FunctionValues::Listed(values) => Arc::as_ptr(values).addr(),
        FunctionValues::Sum(sum) => Arc::as_ptr(sum).addr(),
    }
}

/// Returns a function's values; `None` if they are not on the device.
pub fn of(made: &MadeFunctions, function: &FunctionValues) -> Option<MadeFunction> {
    made.lock().unwrap_or_else(PoisonError::into_inner).get(&address(function)).cloned()
}

/// Evaluates functions over one covariance, and keeps their values; `None` for one that the host must evaluate.
pub fn evaluate(
    shared: &GpuShared,
    domain: &LoopDomain,
    made: &MadeFunctions,
    sums: &[Arc<KernelSum>],
) -> Result<Vec<Option<FunctionEnds>>, BackendError> {
    let n_terms = sums.iter().map(|sum| sum.centres().len()).max().unwrap_or(0);
    let gram = sums.first().map(|sum| sum.gram()).filter(|gram| sums.iter().all(|sum| Arc::ptr_eq(sum.gram(), gram)));
    let form = gram.and_then(|gram| gram.form()).filter(|form| form.row_term == 0.0 && form.family != KernelFamily::Linear);
    let fits = |form: &KernelForm| (1..=MOST_TERMS).contains(&n_terms) && n_terms * (form.dimension + 2) <= MOST_ITERATIONS;
    let Some(form) = form.filter(fits) else { return Ok(vec![None; sums.len()]) };
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    // Functions that nobody else holds are not asked for any more.
    made.retain(|_, made| 1 < Arc::strong_count(&made.sum));
    let (extent, stride) = (Extent::new(domain.n_points()), domain.n_tiles() * TILE);
    let by_point: Coordinates<f64> = coordinates(&form, extent);
    let by_tile: Vec<f64> = by_point.values.chunks(extent.stride).flat_map(|axis| domain.tiled(axis)).collect();
    let kernel = KernelNumbers::of(&form);
    let work = Work { family: kernel.family, dimension: kernel.dimension, ..Work::default() };
    let numbers = Numbers { kernel_scale: kernel.scale, kernel_offset: kernel.offset, ..Numbers::<f64>::default() };
    let shape = LayoutShape::new(extent, Chunk { first: 0, len: stride }, n_terms);
    let shape = LayoutShape { dimension: kernel.dimension, stride: stride as u32, ..shape };
    let (shape, work) = (uniform(shared, &shape.words())?, filled(shared, "work", &work.values())?);
    let (numbers, source) = (filled(shared, "numbers", &numbers.values())?, filled(shared, "coordinates", &by_tile)?);
    // Terms are off, and both sums of them round.
    let rounded = 2.0 * (n_terms as f64 + 3.0) * Precision::F64.unit() * (kernel.scale.abs() + kernel.offset.abs());
    let of_terms = 1.01 * (kernel_error(&form, &by_point, Precision::F64) + rounded);
    let across = stride as u32 / shared.workgroup(Precision::F64)?.threads();
    let fit = usize::try_from(shared.max_binding).unwrap_or(usize::MAX) / (8 * stride);
    let most = fit.min(shared.max_groups).min(MOST_COVARIANCES / (stride * n_terms)).max(1);
    let mut found = Vec::with_capacity(sums.len());
    for sums in sums.chunks(most) {
        let n = sums.len();
        let (mut positions, mut weights) = (vec![0u32; n * n_terms], vec![0.0; n * n_terms]);
        for (at, sum) in sums.iter().enumerate() {
            for (term, &(point, weight)) in sum.centres().iter().enumerate() {
                positions[at * n_terms + term] = domain.position(point as u32);
                weights[at * n_terms + term] = weight;
            }
        }
        let errors: Vec<f64> =
            weights.chunks(n_terms).map(|weights| of_terms * weights.iter().map(|weight| weight.abs()).sum::<f64>()).collect();
        // Both ends of a difference are off, and it rounds.
        let widths: Vec<f64> = errors.iter().map(|error| 2.25 * error).collect();
        let values = storage(shared, "values of functions", (8 * n * stride) as u64)?;
        let lists = storage(shared, "ends", (4 * n * (MOST_ENDS + 1)) as u64)?;
        let maxima = storage(shared, "maxima", (16 * n) as u64)?;
        let buffers = [
            (layout::SHAPE, &shape),
            (layout::WORKS, &work),
            (layout::NUMBERS, &numbers),
            (layout::SOURCE, &source),
            (layout::INDICES, &filled(shared, "centres", &positions)?),
            (layout::COEFFICIENTS, &filled(shared, "weights", &weights)?),
            (layout::BASE, &filled(shared, "widths", &widths)?),
            (layout::PLANES, &values),
            (layout::ANSWERS, &lists),
            (layout::MAXIMA, &maxima),
        ];
        let pipelines = [("values", [across, n as u32]), ("ends", [n as u32, 1])].map(|(entry, groups)| {
            let pipeline = shared.pipeline(Pass::new("functions", entry, Precision::F64))?;
            let bound = pipeline.bind(shared, &buffers)?;
            Ok((pipeline, bound, groups))
        });
        let [of_values, of_ends] = pipelines;
        let passes = [of_values?, of_ends?];
        let dispatches = [&passes[0], &passes[1]].map(|(pipeline, bound, groups)| (pipeline, bound, *groups));
        let parts = [(&maxima, 0, (16 * n) as u64), (&lists, 0, (4 * n * (MOST_ENDS + 1)) as u64)];
        let answers: Vec<u32> = read(shared, "evaluate functions", &parts, |encoder| run(encoder, &dispatches))?;
        let (maxima, lists) = answers.split_at(4 * n);
        let maxima: Vec<f64> = bytemuck::pod_collect_to_vec(maxima);
        for (at, (sum, list)) in sums.iter().zip(lists.chunks_exact(MOST_ENDS + 1)).enumerate() {
            let points = list[1..].iter().take(list[0] as usize).map(|&position| domain.point(position));
            let points = points.collect::<Option<Vec<u32>>>().filter(|points| points.len() == list[0] as usize);
            let (values, offset, error) = (values.clone(), (8 * at * stride) as u64, errors[at]);
            let bytes = ((12 * n_terms + 8) as u64, (16 + 4 * list.len()) as u64);
            found.push(points.map(|points| FunctionEnds { values: [maxima[2 * at], maxima[2 * at + 1]], error, points }));
            made.insert(Arc::as_ptr(sum).addr(), MadeFunction { sum: Arc::clone(sum), values, offset, error, bytes });
        }
    }
    Ok(found)
}
