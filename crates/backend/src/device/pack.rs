//! A round of some lanes, packed into the buffers that its passes read.

use super::real::Real;
use super::tables::{DeviceColumns, Extent, KernelNumbers, device_error};
use super::{LaneWork, NewMean, Start};
use privateer_config::error::Error;
use privateer_gp::score::Spread;

/// What stands in a list beyond its end.
pub const NONE: u32 = u32::MAX;

/// Lanes that one workgroup of the shared projection takes together.
pub const TOGETHER: usize = 8;

/// Words at the head of the index buffer: where the lists of projected, factored and listed work start, and one unused.
pub const INDEX_HEADER: usize = 4;

/// [`Start`] as a word.
pub const START_KEEP: u32 = 0;
/// Mean 0, variance of the prior.
pub const START_PRIOR: u32 = 1;
/// Mean and variance are there.
pub const START_UPLOAD: u32 = 2;
/// From a factor that is added to the residual.
pub const START_ADDED: u32 = 3;
/// From a factor that is taken from the prior.
pub const START_REMOVED: u32 = 4;

/// What is meant of a work in the list of what is to be projected.
pub const ROW: u32 = 1;
/// See [`ROW`].
pub const WEIGHTS: u32 = 2;

/// [`Visit`](super::Visit) as a word: none.
pub const VISIT_NONE: u32 = 0;
/// Mean and variance change along `p`.
pub const VISIT_ROW: u32 = 1;
/// The variance changes along `p`, and the mean is that of weights.
pub const VISIT_WEIGHTS: u32 = 2;

/// One lane's part of a round: words, in the order of the buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Whose planes.
    pub lane: u32,
    /// Step 1.
    pub start: u32,
    /// Step 2: one of `VISIT_NONE`, `VISIT_ROW`, `VISIT_WEIGHTS`.
    pub visit: u32,
    /// Comes back in the answer.
    pub stamp: u32,
    /// Where the row starts among the coefficients.
    pub row_at: u32,
    /// Length of the row and of the weights of the mean.
    pub row_len: u32,
    /// Where the list of columns starts among the indices: of a table, or points of a kernel.
    pub slots_at: u32,
    /// Where the coordinates start in their buffer.
    pub coords_at: u32,
    /// Where the factor starts among the coefficients: rows of a packed lower triangle, then the weights.
    pub factor_at: u32,
    /// Rows of the factor.
    pub factor_len: u32,
    /// Where the subset starts among the indices.
    pub subset_at: u32,
    /// Points to be scored: of the subset, or all.
    pub n_scored: u32,
    /// Where the prior starts in its buffer.
    pub prior_at: u32,
    /// Formula of the kernel.
    pub family: u32,
    /// Coordinates of a point.
    pub dimension: u32,
    /// Whether there is a subset.
    pub listed: u32,
    /// Where the weights of the mean start among the coefficients.
    pub weights_at: u32,
}

/// One lane's numbers, in the order of the buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Numbers<R> {
    /// What multiplies `p` in the spread.
    pub scale: R,
    /// What multiplies `p` in the mean.
    pub mean_step: R,
    /// `beta (1 - rho)`
    pub low: R,
    /// `beta (1 + rho)`
    pub high: R,
    /// Error of the score.
    pub c: R,
    /// Errors of the variance.
    pub c0: R,
    /// By the anchor.
    pub c1: R,
    /// By its square.
    pub c2: R,
    /// Factor of the kernel.
    pub kernel_scale: R,
    /// Constant term of the kernel.
    pub kernel_offset: R,
    /// What the kernel adds for a point and itself.
    pub kernel_row_term: R,
}

/// Mean and variance of a lane, padded, one after the other as in its planes.
pub struct Upload<R> {
    /// Whose planes.
    pub lane: usize,
    /// `2 x stride`.
    pub values: Vec<R>,
}

/// What a round needs to know of the lanes it runs on.
pub struct LaneShape<'a> {
    /// Lanes that there are.
    pub n_lanes: usize,
    /// Of the domain.
    pub extent: Extent,
    /// Where columns come from.
    pub columns: DeviceColumns,
    /// One for each lane, or one for all.
    pub kernels: &'a [KernelNumbers],
    /// Distance between the coordinates of two lanes.
    pub coords_stride: usize,
}

/// The buffers of a round.
#[derive(Default)]
pub struct Packed<R> {
    /// One for each lane of the round.
    pub works: Vec<Work>,
    /// One for each lane of the round.
    pub numbers: Vec<Numbers<R>>,
    /// [`INDEX_HEADER`], slots, subsets, lists of work.
    pub indices: Vec<u32>,
    /// Rows and factors.
    pub coefficients: Vec<R>,
    /// Planes that are sent.
    pub uploads: Vec<Upload<R>>,
    /// Entries of the first list: four times a work's number, and 1 for its new row, 2 for its new weights, or 3 for both; over
    /// columns that all lanes share each is an entry of its own.
    pub n_projected: usize,
    /// Number of factors.
    pub n_factored: usize,
    /// Number of subsets.
    pub n_listed: usize,
    /// Bytes of this round and of those before.
    pub sent: u64,
}

impl<R: Real> Packed<R> {
    /// Packs a round.
    ///
    /// # Errors
    /// If the work does not fit the lanes: their number, the length of a row, of a factor or of an upload.
    pub fn fill(&mut self, shape: &LaneShape<'_>, stamp: u32, round: &[LaneWork<'_>]) -> Result<(), Error> {
        *self = Self {
            works: std::mem::take(&mut self.works),
            numbers: std::mem::take(&mut self.numbers),
            indices: std::mem::take(&mut self.indices),
            coefficients: std::mem::take(&mut self.coefficients),
            sent: self.sent,
            ..Self::default()
        };
        self.works.clear();
        self.numbers.clear();
        self.coefficients.clear();
        self.indices.clear();
        self.indices.resize(INDEX_HEADER, 0);
        // Rows over features read all columns in order; factors read a list.
        if let DeviceColumns::Features(n_columns) = shape.columns
            && round.iter().any(|lane| matches!(lane.start, Start::Factor(_)))
        {
            self.indices.extend(0..n_columns as u32);
        }
        let (mut projected, mut factored, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for (at, lane) in (0u32..).zip(round) {
            let fault =
                |what: &str| Err(device_error(format!("the round of lane {} does not fit the device: {what}", lane.lane)));
            if shape.n_lanes <= lane.lane || round[..at as usize].last().is_some_and(|before| lane.lane <= before.lane) {
                return fault("no such lane, or not in order");
            }
            let Some(kernel) = shape.kernels.get(lane.lane.min(shape.kernels.len().wrapping_sub(1))) else {
                return fault("it has no points yet");
            };
            let n_basis = if let DeviceColumns::Features(n_columns) = shape.columns { n_columns } else { lane.basis.len() };
            let own = shape.columns == DeviceColumns::Kernel { own: true };
            let mut work = Work {
                lane: lane.lane as u32,
                stamp,
                slots_at: INDEX_HEADER as u32,
                coords_at: if own { word(lane.lane * shape.coords_stride)? } else { 0 },
                prior_at: word(shape.extent.stride + if own { 2 * lane.lane * shape.extent.stride } else { 0 })?,
                n_scored: lane.subset.map_or(shape.extent.n_points, <[u32]>::len) as u32,
                family: kernel.family,
                dimension: kernel.dimension,
                ..Work::default()
            };
            let row = lane.visit.and_then(|visit| visit.row);
            let (mean_step, weights) = match lane.visit.map(|visit| visit.mean) {
                None => (0.0, None),
                Some(NewMean::Step(step)) => (step, None),
                Some(NewMean::Weights(weights)) => (0.0, Some(weights)),
            };
            let factor = if let Start::Factor(factor) = lane.start { Some(factor) } else { None };
            if !matches!(shape.columns, DeviceColumns::Features(_)) && (row.is_some() || weights.is_some() || factor.is_some()) {
                work.slots_at = word(self.indices.len())?;
                self.indices.extend_from_slice(lane.basis);
            }
            match lane.start {
                Start::Keep => work.start = START_KEEP,
                Start::Prior => work.start = START_PRIOR,
                Start::Upload { mean, variance } => {
                    work.start = START_UPLOAD;
                    if mean.len() != shape.extent.n_points || variance.len() != mean.len() {
                        return fault("an upload is not of all points");
                    }
                    let mut values = vec![R::default(); 2 * shape.extent.stride];
                    for (part, plane) in values.chunks_mut(shape.extent.stride).zip([mean, variance]) {
                        part.iter_mut().zip(plane).for_each(|(value, &sent)| *value = R::of(sent));
                    }
                    self.uploads.push(Upload { lane: lane.lane, values });
                }
                Start::Factor(factor) => {
                    let n = factor.weights.len();
                    if n_basis != n || factor.rows.len() != n * n {
                        return fault("a factor is not of the size of the basis");
                    }
                    work.start = if factor.spread == Spread::Added { START_ADDED } else { START_REMOVED };
                    work.factor_at = word(self.coefficients.len())?;
                    work.factor_len = n as u32;
                    for (i, row) in factor.rows.chunks_exact(n.max(1)).enumerate() {
                        self.coefficients.extend(row[..=i].iter().map(|&value| R::of(value)));
                    }
                    self.coefficients.extend(factor.weights.iter().map(|&weight| R::of(weight)));
                    factored.push(at);
                }
            }
            let shared = matches!(shape.columns, DeviceColumns::Features(_));
            let mut both = 4 * at;
            for (values, kind) in [(row, ROW), (weights, WEIGHTS)] {
                let Some(values) = values else { continue };
                if values.len() != n_basis {
                    return fault("a row is not of the size of the basis");
                }
                let place = word(self.coefficients.len())?;
                *(if kind == ROW { &mut work.row_at } else { &mut work.weights_at }) = place;
                work.row_len = n_basis as u32;
                self.coefficients.extend(values.iter().map(|&value| R::of(value)));
                both |= kind;
                if shared {
                    projected.push(4 * at + kind);
                }
            }
            if !shared && both != 4 * at {
                projected.push(both);
            }
            if let Some(subset) = lane.subset {
                work.listed = 1;
                work.subset_at = word(self.indices.len())?;
                self.indices.extend_from_slice(subset);
                listed.push(at);
            }
            work.visit = match (lane.visit, weights) {
                (None, _) => VISIT_NONE,
                (Some(_), None) => VISIT_ROW,
                (Some(_), Some(_)) => VISIT_WEIGHTS,
            };
            let scale = lane.visit.map_or(0.0, |visit| visit.scale);
            let rho = R::PRECISION.sqrt_error();
            self.numbers.push(Numbers {
                scale: R::of(scale),
                mean_step: R::of(mean_step),
                low: R::of(lane.beta * (1.0 - rho)),
                high: R::of(lane.beta * (1.0 + rho)),
                c: R::of(lane.band.c),
                c0: R::of(lane.band.c0),
                c1: R::of(lane.band.c1),
                c2: R::of(lane.band.c2),
                kernel_scale: R::of(kernel.scale),
                kernel_offset: R::of(kernel.offset),
                kernel_row_term: R::of(kernel.row_term),
            });
            self.works.push(work);
        }
        (self.n_projected, self.n_factored, self.n_listed) = (projected.len(), factored.len(), listed.len());
        projected.resize(projected.len().next_multiple_of(TOGETHER), NONE);
        for (place, list) in [projected, factored, listed].into_iter().enumerate() {
            self.indices[place] = word(self.indices.len())?;
            self.indices.extend(list);
        }
        word(self.indices.len())?;
        word(self.coefficients.len())?;
        let planes: usize = self.uploads.iter().map(|upload| upload.values.len()).sum();
        let words = self.works.len() * size_of::<Work>() + size_of_val(&self.indices[..]);
        let reals = size_of_val(&self.numbers[..]) + (self.coefficients.len() + planes) * size_of::<R>();
        self.sent += (words + reals) as u64;
        Ok(())
    }
}

/// A place in a buffer as a word.
fn word(place: usize) -> Result<u32, Error> {
    u32::try_from(place).map_err(|_| device_error(format!("a round needs a buffer of {place} numbers, more than 32 bits count")))
}
