//! Points of a finite domain.

use std::sync::Arc;

/// `n_points` points in `dimension` coordinates, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    dimension: usize,
    coordinates: Arc<Vec<f64>>,
}

impl Points {
    /// Takes `n_points * dimension` coordinates; `dimension` must divide their number and be at least 1.
    #[must_use]
    pub fn new(dimension: usize, coordinates: Vec<f64>) -> Self {
        assert!(0 < dimension && coordinates.len().is_multiple_of(dimension), "coordinates do not fill whole points");
        Self { dimension, coordinates: Arc::new(coordinates) }
    }

    /// Number of points.
    #[must_use]
    pub fn n_points(&self) -> usize {
        self.coordinates.len() / self.dimension
    }

    /// Coordinates of a point.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The point with this index.
    #[must_use]
    pub fn point(&self, index: usize) -> &[f64] {
        &self.coordinates[index * self.dimension..(index + 1) * self.dimension]
    }
}
