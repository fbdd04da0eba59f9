//! Stores tables on the device.

use super::buffers::{GpuNumber, filled, rows_of_a_piece, storage, uniform, upload_rows};
use super::device::GpuShared;
use super::layout::LayoutShape;
use super::made::{self, DeviceTable};
use super::slots::GpuSlots;
use privateer_backend::device::{
    Chunk, DeviceColumns, DeviceSlots, Extent, KernelNumbers, MADE_GRAM_BYTES, PLANES, Precision, SlotShape, TILE, Tables,
    coordinates, feature_columns, features_base, gram_base, gram_columns, kernel_error, no_form,
};
use privateer_backend::{BackendError, UpdateKind};
use privateer_gp::score::{Basis, FeatureTable, GramSource};
use std::marker::PhantomData;
use std::sync::Arc;

/// Number of coordinates assumed for a slot with points of its own, in memory estimates.
const LIKELY_DIMENSION: usize = 8;

/// A range of points with the sizes and columns that its passes bind.
#[derive(Debug, Clone)]
pub struct TableSource {
    pub chunk: Chunk,
    pub shape: wgpu::Buffer,
    pub columns: wgpu::Buffer,
}

/// Tables in one floating-point type.
pub struct GpuTables<R> {
    pub shared: Arc<GpuShared>,
    /// Layout of the slots; without a kernel if each slot has its own.
    pub shape: SlotShape,
    /// One per chunk.
    pub sources: Vec<TableSource>,
    /// Residual and prior.
    pub base: wgpu::Buffer,
    kernel_error: f64,
    real: PhantomData<R>,
}

impl<R: GpuNumber> GpuTables<R> {
    /// Stores tables on a device.
    pub fn new(shared: &Arc<GpuShared>, basis: &Basis) -> Result<Self, BackendError> {
        let extent = Extent::new(basis.n_points());
        if extent.n_points == 0 || shared.max_groups < extent.n_tiles() {
            return Err(BackendError::unsuitable(format!(
                "{} points are more, or fewer, than a device can hold",
                extent.n_points
            )));
        }
        let mut tables = Self {
            shared: Arc::clone(shared),
            shape: SlotShape::new(extent),
            sources: Vec::new(),
            base: filled::<R>(shared, "base", &[R::default(); 2])?,
            kernel_error: 0.0,
            real: PhantomData,
        };
        tables.shape.most_coefficients = usize::try_from(shared.max_binding).unwrap_or(usize::MAX) / size_of::<R>();
        match basis {
            Basis::Table(table) => {
                tables.shape.columns = DeviceColumns::Features(table.n_features);
                tables.base = filled(shared, "base", &features_base::<R>(table, extent))?;
                tables.put_features(table)?;
            }
            Basis::Gram(source) => {
                tables.base = filled(shared, "base", &gram_base::<R>(&**source, extent))?;
                tables.put_gram(&**source)?;
            }
            Basis::Own(_) => {
                tables.shape.columns = DeviceColumns::Kernel { own: true };
                tables.shape.kernels = Arc::default();
                tables.put_whole(&[R::default()])?;
            }
        }
        Ok(tables)
    }

    /// Splits a table of `n_columns` columns into chunks of points.
    fn chunks(&self, n_columns: usize) -> Result<Vec<Chunk>, BackendError> {
        let tile_bytes = (TILE * size_of::<R>() * n_columns.max(1)) as u64;
        // Passes over columns have at most as many workgroups per tile as a factor has.
        let groups = TILE / self.shared.workgroup(R::PRECISION)?.block();
        let most = (self.shared.max_groups / groups).min(self.shape.extent.n_tiles());
        let tiles = usize::try_from(self.shared.max_binding / tile_bytes).unwrap_or(usize::MAX).min(most);
        if tiles == 0 {
            return Err(BackendError::unsuitable(format!(
                "a table of {n_columns} columns is too wide for {}",
                self.shared.facts.name
            )));
        }
        let (step, stride) = (tiles * TILE, self.shape.extent.stride);
        Ok((0..stride).step_by(step).map(|first| Chunk { first, len: step.min(stride - first) }).collect())
    }

    fn put(&mut self, chunk: Chunk, n_columns: usize, columns: wgpu::Buffer) -> Result<(), BackendError> {
        let shape = uniform(&self.shared, &LayoutShape::new(self.shape.extent, chunk, n_columns).words())?;
        self.sources.push(TableSource { chunk, shape, columns });
        Ok(())
    }

    /// Stores the coordinates of all points in one buffer.
    fn put_whole(&mut self, coords: &[R]) -> Result<(), BackendError> {
        let chunk = Chunk { first: 0, len: self.shape.extent.stride };
        if self.shared.max_groups < chunk.len / self.shared.workgroup(R::PRECISION)?.block() {
            return Err(BackendError::unsuitable(format!(
                "{} points are more than a device evaluates kernels of",
                self.shape.extent.n_points
            )));
        }
        let columns = filled(&self.shared, "coordinates", coords)?;
        self.put(chunk, 0, columns)
    }

    fn put_made(&mut self, chunks: &[Chunk], n_columns: usize, made: DeviceTable) -> Result<(), BackendError> {
        self.kernel_error = made.error;
        for (&chunk, columns) in chunks.iter().zip(made.sources) {
            self.put(chunk, n_columns, columns)?;
        }
        Ok(())
    }

    fn put_features(&mut self, table: &FeatureTable) -> Result<(), BackendError> {
        let chunks = self.chunks(table.n_features)?;
        if R::PRECISION == Precision::F32
            && let Some(made) = made::features::<R>(&self.shared, table, self.shape.extent, &chunks)?
        {
            return self.put_made(&chunks, table.n_features, made);
        }
        for chunk in chunks {
            let columns = Self::sent(&self.shared, table, chunk)?;
            self.put(chunk, table.n_features, columns)?;
        }
        Ok(())
    }

    /// Stores a chunk's features, of which the host lays out a part at a time.
    pub fn sent(shared: &GpuShared, table: &FeatureTable, chunk: Chunk) -> Result<wgpu::Buffer, BackendError> {
        let columns = storage(shared, "features", (table.n_features * chunk.len * size_of::<R>()) as u64)?;
        let most = (rows_of_a_piece::<R>(table.n_features) / TILE).max(1) * TILE;
        for first in (0..chunk.len).step_by(most) {
            let rows = first..chunk.len.min(first + most);
            let part = feature_columns::<R>(table, Chunk { first: chunk.first + first, len: rows.len() });
            upload_rows(shared, &columns, chunk.len, rows, &part)?;
        }
        Ok(columns)
    }

    fn put_gram(&mut self, source: &dyn GramSource) -> Result<(), BackendError> {
        let n = self.shape.extent.n_points;
        if source.dense_column(0).is_some() {
            for chunk in self.chunks(n)? {
                let columns = gram_columns::<R>(source, chunk).ok_or_else(no_form)?;
                let columns = filled(&self.shared, "gram", &columns)?;
                self.put(chunk, n, columns)?;
            }
            return Ok(());
        }
        let form = source.form().ok_or_else(no_form)?;
        if n * self.shape.extent.stride * size_of::<R>() <= MADE_GRAM_BYTES && n <= self.shared.max_groups {
            let chunks = self.chunks(n)?;
            let made = if self.shared.has_f64 {
                made::gram::<f64, R>(&self.shared, source, &form, self.shape.extent, &chunks)?
            } else {
                made::gram::<f32, R>(&self.shared, source, &form, self.shape.extent, &chunks)?
            };
            let wrong = || BackendError::unsuitable(format!("{} evaluates this kernel wrongly", self.shared.facts.name));
            return self.put_made(&chunks, n, made.ok_or_else(wrong)?);
        }
        let coords = coordinates::<R>(&form, self.shape.extent);
        self.shape.columns = DeviceColumns::Kernel { own: false };
        self.shape.kernels = Arc::new(vec![KernelNumbers::of(&form)]);
        self.kernel_error = kernel_error(&form, &coords, R::PRECISION);
        self.put_whole(&coords.values)
    }
}

impl<R: GpuNumber> Tables for GpuTables<R> {
    fn most_slots(&self, update_kind: UpdateKind) -> usize {
        let (size, stride) = (size_of::<R>(), self.shape.extent.stride);
        let each = match self.shape.columns {
            DeviceColumns::Features(n) if update_kind == UpdateKind::RankOne => 2 * n * size,
            DeviceColumns::Features(_) => self.shape.most_of_a_work() * size,
            DeviceColumns::Gram | DeviceColumns::Kernel { own: false } => 0,
            DeviceColumns::Kernel { own: true } => LIKELY_DIMENSION * stride * size,
        };
        let bytes = each.max(PLANES * stride * size) as u64;
        usize::try_from(self.shared.max_binding / bytes).unwrap_or(usize::MAX).clamp(1, self.shared.max_groups)
    }

    fn kernel_error(&self) -> f64 {
        self.kernel_error
    }

    fn slots(&self, n_slots: usize) -> Result<Box<dyn DeviceSlots>, BackendError> {
        Ok(Box::new(GpuSlots::new(self, n_slots)?))
    }
}
