//! Points of a finite domain.

use privateer_numerics::rng::Stream;
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
        Self::grid_in(&vec![(lo, hi); dimension], points_per_axis)
    }

    /// As [`Points::grid`] on the box with these ends, one pair a coordinate.
    #[must_use]
    pub fn grid_in(edges: &[(f64, f64)], points_per_axis: usize) -> Self {
        let axes: Vec<Vec<f64>> = edges.iter().map(|&(lo, hi)| grid_axis(points_per_axis, lo, hi)).collect();
        let dimension = axes.len();
        let n_points = (0..dimension).fold(1, |product: usize, _| product.saturating_mul(points_per_axis));
        let mut coordinates = Vec::with_capacity(n_points.saturating_mul(dimension));
        let mut index = vec![0; dimension];
        for _ in 0..n_points {
            coordinates.extend(index.iter().zip(&axes).map(|(&i, axis)| axis[i]));
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
        Self::random_in(&vec![(lo, hi); dimension], n_points, stream)
    }

    /// As [`Points::random_uniform`] on the box with these ends, one pair a coordinate.
    #[must_use]
    pub fn random_in(edges: &[(f64, f64)], n_points: usize, stream: &mut Stream) -> Self {
        let mut coordinates = Vec::with_capacity(n_points * edges.len());
        for _ in 0..n_points {
            coordinates.extend(edges.iter().map(|&(lo, hi)| stream.uniform_in(lo, hi)));
        }
        Self::new(edges.len(), coordinates)
    }

    /// `n_points` independent uniform points of the ball around 0: a direction by normals, and the root `u^(1/d)` of a uniform
    /// share of the radius. `d + 1` words a point.
    #[must_use]
    pub fn random_ball(dimension: usize, n_points: usize, radius: f64, stream: &mut Stream) -> Self {
        let mut coordinates = Vec::with_capacity(n_points * dimension);
        for _ in 0..n_points {
            let direction: Vec<f64> = (0..dimension).map(|_| stream.normal()).collect();
            let length = libm::sqrt(direction.iter().map(|x| x * x).sum::<f64>());
            let distance = radius * libm::pow(stream.uniform(), 1.0 / dimension as f64);
            // All normals zero at once does not happen; it would be the centre.
            let factor = if 0.0 < length { distance / length } else { 0.0 };
            coordinates.extend(direction.iter().map(|x| factor * x));
        }
        Self::new(dimension, coordinates)
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
    use privateer_numerics::rng::{Purpose, Streams};

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

    /// In a ball of radius 2 a share 2^-d lies within 1: within five standard errors (false alarm below 1e-6, fixed seed).
    #[test]
    fn random_points_fill_the_ball() {
        for d in [1, 2, 5] {
            let mut stream = Streams::new(3, "ball").shared(Purpose::Domain);
            let points = Points::random_ball(d, 20_000, 2.0, &mut stream);
            let length = |i: usize| libm::sqrt(points.point(i).iter().map(|x| x * x).sum::<f64>());
            assert!((0..20_000).all(|i| length(i) <= 2.0 * (1.0 + 1e-12)));
            let (inside, share) = ((0..20_000).filter(|&i| length(i) <= 1.0).count() as f64, libm::exp2(-(d as f64)));
            let error = libm::sqrt(20_000.0 * share * (1.0 - share));
            assert!((inside - 20_000.0 * share).abs() <= 5.0 * error, "{d}: {inside}");
            let sides = (0..20_000).filter(|&i| 0.0 < points.point(i)[d - 1]).count() as f64;
            assert!((sides - 10_000.0).abs() <= 5.0 * libm::sqrt(5_000.0), "{d}: {sides}");
        }
    }

    #[test]
    fn random_points_stay_in_the_cube() {
        let mut stream = Streams::new(3, "points").shared(Purpose::Domain);
        let points = Points::random_uniform(3, 200, -0.5, 2.0, &mut stream);
        assert_eq!((points.n_points(), points.dimension()), (200, 3));
        assert!((0..200).all(|i| points.point(i).iter().all(|x| (-0.5..=2.0).contains(x))));
    }
}
