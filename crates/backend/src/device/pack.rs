//! Packs a round of some slots into the buffers that its passes read.

use super::real::Real;
use super::tables::{DeviceColumns, Extent, KernelNumbers, coordinates, gram_base, kernel_error, no_form};
use super::{NewMean, Precision, SlotWork, Start};
use crate::BackendError;
use privateer_gp::score::{GramSource, VarianceForm};
use std::sync::Arc;

/// Padding of a list beyond its end.
pub const NONE: u32 = u32::MAX;

/// Slots that one workgroup of the shared projection processes together.
pub const TOGETHER: usize = 8;

/// Words at the head of the index buffer: starts of the three lists of works, and one unused.
///
/// The lists are those of projected, factored and listed works.
pub const INDEX_HEADER: usize = 4;

/// [`Start::Keep`] as a word.
pub const START_KEEP: u32 = 0;
/// Reset to mean 0 and the prior variance.
pub const START_PRIOR: u32 = 1;
/// Reset to uploaded mean and variance.
pub const START_UPLOAD: u32 = 2;
/// Reset to a factor that is added to the residual.
pub const START_ADDED: u32 = 3;
/// Reset to a factor that is subtracted from the prior.
pub const START_REMOVED: u32 = 4;

/// Bit of a work's new row in an entry of the list of projections.
pub const ROW: u32 = 1;
/// Bit of a work's new weights, see [`ROW`].
pub const WEIGHTS: u32 = 2;

/// No [`Visit`](super::Visit), as a word.
pub const VISIT_NONE: u32 = 0;
/// Mean and variance change along `p`.
pub const VISIT_ROW: u32 = 1;
/// The variance changes along `p`, and the mean is recomputed from weights.
pub const VISIT_WEIGHTS: u32 = 2;

/// Declares a struct of numbers of one type, in the order in which a pass reads them.
macro_rules! in_order {
    ($(#[$attribute:meta])* $name:ident $(<$real:ident>)?: $number:ty { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$attribute])*
        pub struct $name $(<$real>)? {
            $($(#[$doc])* pub $field: $number,)*
        }

        impl $(<$real: Copy>)? $name $(<$real>)? {
            /// Names of the fields, in order.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),*];

            /// Returns the values of the fields, in order.
            pub fn values(&self) -> [$number; { [$(stringify!($field)),*].len() }] {
                [$(self.$field),*]
            }
        }
    };
}

in_order! {
    /// A slot's part of a round as words, in the order of the buffer.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    Work: u32 {
        /// Slot whose planes are used.
        slot,
        /// Step 1 of the round: one of the `START_` words.
        start,
        /// Step 2 of the round: one of `VISIT_NONE`, `VISIT_ROW`, `VISIT_WEIGHTS`.
        visit,
        /// Stamp, returned in the answer.
        stamp,
        /// Start of the row among the coefficients.
        row_at,
        /// Length of the row and of the weights of the mean.
        row_len,
        /// Start of the list of columns among the indices: columns of a table, or points of a kernel.
        slots_at,
        /// Start of the coordinates in their buffer.
        coords_at,
        /// Start of the factor among the coefficients: packed lower triangle, then the weights.
        factor_at,
        /// Number of rows of the factor.
        factor_len,
        /// Start of the subset among the indices.
        subset_at,
        /// Number of points to score: of the subset, or all.
        n_scored,
        /// Start of the prior in its buffer.
        prior_at,
        /// Index of the kernel's formula.
        family,
        /// Number of coordinates of a point.
        dimension,
        /// Whether there is a subset.
        listed,
        /// Start of the weights of the mean among the coefficients.
        weights_at,
    }
}

in_order! {
    /// A slot's real numbers, in the order of the buffer.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    Numbers<R>: R {
        /// Factor on `p`; the variance falls by `(scale p)²`.
        scale,
        /// Factor on `p` in the change of the mean.
        mean_step,
        /// `width (1 - rho)`: factor on the standard deviation in the lower end.
        low,
        /// `width (1 + rho)`: factor on the standard deviation in the upper end.
        high,
        /// Absolute error of the score.
        c,
        /// Added to the error of the variance.
        c0,
        /// Added to the error of the variance, per unit of the root of its fall.
        c1,
        /// Added to the error of the variance, per unit of the variance.
        c2,
        /// Added to the error of the variance, per unit of the root of the variance.
        c3,
        /// Factor on the kernel's correlation.
        kernel_scale,
        /// Constant term of the kernel.
        kernel_offset,
        /// Term added to the kernel for a point with itself.
        kernel_row_term,
    }
}

/// Mean and variance of a slot, padded, in the order of its planes.
#[derive(Debug)]
pub struct Upload<R> {
    /// Slot whose planes are written.
    pub slot: usize,
    /// `2 x stride` values.
    pub values: Vec<R>,
}

/// The layout of the slots that a round runs on.
#[derive(Debug, Clone)]
pub struct SlotShape {
    /// Number of slots; 0 in the layout of tables alone.
    pub n_slots: usize,
    /// Size of the domain.
    pub extent: Extent,
    /// Source of the columns.
    pub columns: DeviceColumns,
    /// One kernel per slot, or one for all.
    pub kernels: Arc<Vec<KernelNumbers>>,
    /// Distance between the coordinates of two slots.
    pub coords_stride: usize,
    /// Largest number of coefficients of a submission.
    pub most_coefficients: usize,
}

impl SlotShape {
    /// Creates the layout of tables, without slots yet; until it is changed, for columns of a stored Gram matrix.
    pub fn new(extent: Extent) -> Self {
        let kernels = Arc::new(vec![KernelNumbers::NONE]);
        Self { n_slots: 0, extent, columns: DeviceColumns::Gram, kernels, coords_stride: 0, most_coefficients: usize::MAX }
    }

    /// Returns the most coefficients of a work over features: a factor, its weights, a row and the weights of a mean.
    ///
    /// 0 over covariances, of which a model visits few points.
    pub fn most_of_a_work(&self) -> usize {
        if let DeviceColumns::Features(n) = self.columns { n * (n + 1) / 2 + 3 * n } else { 0 }
    }

    /// Returns the data of a slot's own points.
    ///
    /// # Errors
    /// If the slots take none, or the source has no form.
    pub fn own_points<R: Real>(&self, slot: usize, gram: &dyn GramSource) -> Result<OwnPoints<R>, BackendError> {
        if self.columns != (DeviceColumns::Kernel { own: true }) || self.n_slots <= slot {
            return Err(BackendError::unsuitable("these slots take no points of their own"));
        }
        let form = gram.form().filter(|_| gram.n_points() == self.extent.n_points).ok_or_else(no_form)?;
        let coords = coordinates::<R>(&form, self.extent);
        Ok(OwnPoints {
            kernel: KernelNumbers::of(&form),
            error: kernel_error(&form, &coords, R::PRECISION),
            coords: coords.values,
            base: gram_base(gram, self.extent),
        })
    }

    /// Sets the kernel of a slot with points of its own.
    ///
    /// # Errors
    /// If the points of another slot have another number of coordinates.
    pub fn take<R>(&mut self, slot: usize, own: &OwnPoints<R>) -> Result<(), BackendError> {
        if self.kernels.is_empty() {
            let dimension = own.kernel.dimension;
            self.kernels = Arc::new(vec![KernelNumbers { dimension, ..KernelNumbers::NONE }; self.n_slots]);
            self.coords_stride = own.coords.len();
        }
        if own.coords.len() != self.coords_stride {
            return Err(BackendError::unsuitable("the points of two slots differ in their number of coordinates"));
        }
        Arc::make_mut(&mut self.kernels)[slot] = own.kernel;
        Ok(())
    }
}

/// Data of a slot's own points.
pub struct OwnPoints<R> {
    kernel: KernelNumbers,
    /// Bound on the absolute error of a kernel evaluation.
    pub error: f64,
    /// Coordinates in the layout of the passes, `dimension x stride`.
    pub coords: Vec<R>,
    /// Residual and prior, `2 x stride`.
    pub base: Vec<R>,
}

/// The buffers of a round, or of the works of some of its slots, which any thread packs.
///
/// Positions in the latter are those of a round of these works alone; [`Packed::gather`] shifts them.
#[derive(Debug, Default)]
pub struct Packed<R> {
    /// One per slot of the round.
    pub works: Vec<Work>,
    /// One per slot of the round.
    pub numbers: Vec<Numbers<R>>,
    /// Column indices and subsets; in a whole round after `INDEX_HEADER` words, and before the lists of works.
    pub indices: Vec<u32>,
    /// Rows and factors.
    pub coefficients: Vec<R>,
    /// Planes to upload.
    pub uploads: Vec<Upload<R>>,
    /// Start of the list of all columns of a table among the indices, once a factor needs it.
    columns_at: Option<u32>,
    /// Works with something to project.
    ///
    /// An entry is four times a work's index, plus 1 for its new row, 2 for its new weights, or 3 for both. Over columns
    /// that all slots share, each of the two is an entry of its own.
    pub projected: Vec<u32>,
    /// Works with a factor.
    pub factored: Vec<u32>,
    /// Works with a subset.
    pub listed: Vec<u32>,
}

impl<R: Real> Packed<R> {
    /// Joins the works of a round, in ascending order of their slots; takes the planes to upload.
    ///
    /// Returns the bytes to send.
    ///
    /// # Errors
    /// If the slots are not in order, or a buffer has more numbers than 32 bits count.
    pub fn gather<'a>(&mut self, parts: impl Iterator<Item = &'a mut Self>) -> Result<u64, BackendError> {
        self.clear();
        self.indices.resize(INDEX_HEADER, 0);
        for part in parts {
            if let (Some(last), Some(first)) = (self.works.last(), part.works.first())
                && first.slot <= last.slot
            {
                let problem = format!("slots {} and {} of a round are not in order", last.slot, first.slot);
                return Err(BackendError::unsuitable(problem));
            }
            let (at, index, coefficient) = (word(self.works.len())?, word(self.indices.len())?, word(self.coefficients.len())?);
            self.works.extend(part.works.iter().map(|work| Work {
                row_at: work.row_at + coefficient,
                weights_at: work.weights_at + coefficient,
                factor_at: work.factor_at + coefficient,
                slots_at: work.slots_at + index,
                subset_at: work.subset_at + index,
                ..*work
            }));
            self.numbers.extend_from_slice(&part.numbers);
            self.indices.extend_from_slice(&part.indices);
            self.coefficients.extend_from_slice(&part.coefficients);
            self.uploads.append(&mut part.uploads);
            self.projected.extend(part.projected.iter().map(|entry| entry + 4 * at));
            self.factored.extend(part.factored.iter().map(|entry| entry + at));
            self.listed.extend(part.listed.iter().map(|entry| entry + at));
            word(self.coefficients.len())?;
        }
        let padded = self.projected.len().next_multiple_of(TOGETHER);
        let lists = [(&self.projected, padded), (&self.factored, 0), (&self.listed, 0)];
        for (place, (list, padded)) in lists.into_iter().enumerate() {
            self.indices[place] = word(self.indices.len())?;
            self.indices.extend_from_slice(list);
            self.indices.resize(self.indices.len() + padded.saturating_sub(list.len()), NONE);
        }
        word(self.indices.len())?;
        let planes: usize = self.uploads.iter().map(|upload| upload.values.len()).sum();
        let words = self.works.len() * size_of::<Work>() + size_of_val(&self.indices[..]);
        let reals = size_of_val(&self.numbers[..]) + (self.coefficients.len() + planes) * size_of::<R>();
        Ok((words + reals) as u64)
    }

    /// Removes all works.
    fn clear(&mut self) {
        self.works.clear();
        self.numbers.clear();
        self.indices.clear();
        self.coefficients.clear();
        self.uploads.clear();
        self.columns_at = None;
        for list in [&mut self.projected, &mut self.factored, &mut self.listed] {
            list.clear();
        }
    }

    /// Adds the work of a slot beyond those added so far.
    fn add(&mut self, shape: &SlotShape, stamp: u32, slot: &SlotWork<'_>) -> Result<(), BackendError> {
        let fault = |what: &str| {
            Err(BackendError::unsuitable(format!("the round of slot {} does not fit the device: {what}", slot.slot)))
        };
        if shape.n_slots <= slot.slot || self.works.last().is_some_and(|before| slot.slot <= before.slot as usize) {
            return fault("no such slot, or not in order");
        }
        let Some(kernel) = shape.kernels.get(slot.slot.min(shape.kernels.len().wrapping_sub(1))) else {
            return fault("it has no points yet");
        };
        let at = word(self.works.len())?;
        let n_basis = if let DeviceColumns::Features(n_columns) = shape.columns { n_columns } else { slot.basis.len() };
        let own = shape.columns == DeviceColumns::Kernel { own: true };
        let mut work = Work {
            slot: slot.slot as u32,
            stamp,
            coords_at: if own { word(slot.slot * shape.coords_stride)? } else { 0 },
            prior_at: word(shape.extent.stride + if own { 2 * slot.slot * shape.extent.stride } else { 0 })?,
            n_scored: slot.subset.map_or(shape.extent.n_points, <[u32]>::len) as u32,
            family: kernel.family,
            dimension: kernel.dimension,
            ..Work::default()
        };
        let row = slot.visit.and_then(|visit| visit.row);
        let (mean_step, weights) = match slot.visit.map(|visit| visit.mean) {
            None => (0.0, None),
            Some(NewMean::Step(step)) => (step, None),
            Some(NewMean::Weights(weights)) => (0.0, Some(weights)),
        };
        let has_factor = matches!(slot.start, Start::Factor(_));
        if let DeviceColumns::Features(n_columns) = shape.columns {
            // Rows over features read all columns in order; factors read a list, one for all works.
            if has_factor {
                work.slots_at = match self.columns_at {
                    Some(place) => place,
                    None => *self.columns_at.insert(word(self.indices.len())?),
                };
                if work.slots_at as usize == self.indices.len() {
                    self.indices.extend(0..n_columns as u32);
                }
            }
        } else if row.is_some() || weights.is_some() || has_factor {
            work.slots_at = word(self.indices.len())?;
            self.indices.extend_from_slice(slot.basis);
        }
        match slot.start {
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
                self.uploads.push(Upload { slot: slot.slot, values });
            }
            Start::Factor(factor) => {
                let n = factor.weights.len();
                if n_basis != n || factor.rows.len() != n * n {
                    return fault("a factor is not of the size of the basis");
                }
                work.start = if factor.variance == VarianceForm::Added { START_ADDED } else { START_REMOVED };
                work.factor_at = word(self.coefficients.len())?;
                work.factor_len = n as u32;
                for (i, row) in factor.rows.chunks_exact(n.max(1)).enumerate() {
                    self.coefficients.extend(row[..=i].iter().map(|&value| R::of(value)));
                }
                self.coefficients.extend(factor.weights.iter().map(|&weight| R::of(weight)));
                self.factored.push(at);
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
                self.projected.push(4 * at + kind);
            }
        }
        if !shared && both != 4 * at {
            self.projected.push(both);
        }
        if let Some(subset) = slot.subset {
            work.listed = 1;
            work.subset_at = word(self.indices.len())?;
            self.indices.extend_from_slice(subset);
            self.listed.push(at);
        }
        work.visit = match (slot.visit, weights) {
            (None, _) => VISIT_NONE,
            (Some(_), None) => VISIT_ROW,
            (Some(_), Some(_)) => VISIT_WEIGHTS,
        };
        let scale = slot.visit.map_or(0.0, |visit| visit.scale);
        let rho = R::PRECISION.sqrt_error();
        self.numbers.push(Numbers {
            scale: R::of(scale),
            mean_step: R::of(mean_step),
            low: R::of(slot.beta * (1.0 - rho)),
            high: R::of(slot.beta * (1.0 + rho)),
            c: R::of(slot.band.c),
            c0: R::of(slot.band.c0),
            c1: R::of(slot.band.c1),
            c2: R::of(slot.band.c2),
            c3: R::of(slot.band.c3),
            kernel_scale: R::of(kernel.scale),
            kernel_offset: R::of(kernel.offset),
            kernel_row_term: R::of(kernel.row_term),
        });
        self.works.push(work);
        word(self.indices.len())?;
        word(self.coefficients.len())?;
        Ok(())
    }
}

/// The works of some slots in a round, in the type of their device's slots.
#[derive(Debug)]
pub enum Parcel {
    /// In f32.
    F32(Packed<f32>),
    /// In f64.
    F64(Packed<f64>),
}

/// Evaluates an expression of the works in either type.
macro_rules! either {
    ($parcel:expr, $packed:ident => $value:expr) => {
        match $parcel {
            Parcel::F32($packed) => $value,
            Parcel::F64($packed) => $value,
        }
    };
}

impl Parcel {
    /// Creates an empty parcel of a type.
    pub fn new(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self::F32(Packed::default()),
            Precision::F64 => Self::F64(Packed::default()),
        }
    }

    /// Returns its type.
    pub fn precision(&self) -> Precision {
        if matches!(self, Self::F32(_)) { Precision::F32 } else { Precision::F64 }
    }

    /// Removes all works.
    pub fn clear(&mut self) {
        either!(self, packed => packed.clear());
    }

    /// Packs the work of a slot beyond those packed so far.
    ///
    /// # Errors
    /// If the work does not fit the slots. The parcel must then be cleared.
    pub fn add(&mut self, shape: &SlotShape, stamp: u32, work: &SlotWork<'_>) -> Result<(), BackendError> {
        either!(self, packed => packed.add(shape, stamp, work))
    }

    /// Returns the number of coefficients: of rows, weights and factors.
    pub fn n_coefficients(&self) -> usize {
        either!(self, packed => packed.coefficients.len())
    }

    /// Returns the number of works.
    pub fn len(&self) -> usize {
        either!(self, packed => packed.works.len())
    }

    /// Returns whether it holds no work.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns a position in a buffer as a word.
fn word(place: usize) -> Result<u32, BackendError> {
    u32::try_from(place)
        .map_err(|_| BackendError::unsuitable(format!("a round needs a buffer of {place} numbers, more than 32 bits count")))
}
