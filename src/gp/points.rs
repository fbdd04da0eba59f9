//! Points of a finite domain.

use crate::rng::Stream;
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

    /// As [`Points::new`], over coordinates that others hold too.
    #[must_use]
    pub fn shared(dimension: usize, coordinates: Arc<Vec<f64>>) -> Self {
        assert!(0 < dimension && coordinates.len().is_multiple_of(dimension), "coordinates do not fill whole points");
        Self { dimension, coordinates }
    }

    /// All coordinates, row-major.
    #[must_use]
    pub fn coordinates(&self) -> &Arc<Vec<f64>> {
        &self.coordinates
    }

    /// The grid of `points_per_axis^dimension` points on the cube `[lo, hi]^dimension`, row-major (last axis fastest), both
    /// ends included; a single point per axis stands in the middle. The caller has checked that so many points fit.
    #[must_use]
    pub fn grid(dimension: usize, points_per_axis: usize, lo: f64, hi: f64) -> Self {
        let axis = grid_axis(points_per_axis, lo, hi);
        let n_points = (0..dimension).fold(1, |product: usize, _| product.saturating_mul(points_per_axis));
        let mut coordinates = Vec::with_capacity(n_points.saturating_mul(dimension));
        let mut index = vec![0; dimension];
        for _ in 0..n_points {
            coordinates.extend(index.iter().map(|&i| axis[i]));
            for digit in index.iter_mut().rev() {
                *digit += 1;
                if *digit < points_per_axis {
                    break;
                }
                *digit = 0;
            }
        }
        Self::new(dimension, coordinates)
    }

    /// `n_points` independent uniform points of the cube `[lo, hi]^dimension`. One word a coordinate, point by point.
    #[must_use]
    pub fn random_uniform(dimension: usize, n_points: usize, lo: f64, hi: f64, stream: &mut Stream) -> Self {
        Self::new(dimension, (0..n_points * dimension).map(|_| stream.uniform_in(lo, hi)).collect())
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

/// `points` equispaced values from `lo` to `hi`, both included; a single one is the middle.
#[must_use]
pub fn grid_axis(points: usize, lo: f64, hi: f64) -> Vec<f64> {
    if points == 1 {
        return vec![lo + 0.5 * (hi - lo)];
    }
    // The last one by name, since rounding could leave lo + (hi - lo) beside hi.
    (0..points).map(|i| if i + 1 == points { hi } else { lo + (hi - lo) * i as f64 / (points - 1) as f64 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn grids_are_row_major_with_both_ends() {
        let grid = Points::grid(2, 3, -1.0, 1.0);
        assert_eq!(grid.n_points(), 9);
        assert_eq!(grid.point(0), [-1.0, -1.0]);
        assert_eq!(grid.point(1), [-1.0, 0.0]);
        assert_eq!(grid.point(5), [0.0, 1.0]);
        assert_eq!(grid.point(8), [1.0, 1.0]);
        assert_eq!(Points::grid(3, 1, 0.0, 1.0).point(0), [0.5; 3]);
        assert_eq!(Points::grid(2, 0, 0.0, 1.0).n_points(), 0);
        assert_eq!(grid_axis(8, 0.1, 0.7)[7], 0.7);
    }

    #[test]
    fn random_points_stay_in_the_cube() {
        let mut stream = Streams::new(3, "points").shared(Purpose::Domain);
        let points = Points::random_uniform(3, 200, -0.5, 2.0, &mut stream);
        assert_eq!((points.n_points(), points.dimension()), (200, 3));
        assert!((0..200).all(|i| points.point(i).iter().all(|x| (-0.5..=2.0).contains(x))));
    }
}
