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
    /// Creates points from `n_points * dimension` coordinates; `dimension` is at least 1.
    pub fn new(dimension: usize, coordinates: Vec<f64>) -> Self {
        Self::shared(dimension, Arc::new(coordinates))
    }

    /// Creates points as [`Points::new`] does, over shared coordinates.
    pub fn shared(dimension: usize, coordinates: Arc<Vec<f64>>) -> Self {
        assert!(0 < dimension && coordinates.len().is_multiple_of(dimension), "coordinates do not fill whole points");
        Self { dimension, coordinates }
    }

    /// Returns all coordinates, row-major.
    pub fn coordinates(&self) -> &Arc<Vec<f64>> {
        &self.coordinates
    }

    /// Creates the grid of `points_per_axis^dimension` points on the cube `[lo, hi]^dimension`.
    ///
    /// It is row-major (last axis fastest) and includes both ends; a single point per axis is the middle. The caller has
    /// checked that the points fit into memory.
    pub fn grid(dimension: usize, points_per_axis: usize, lo: f64, hi: f64) -> Self {
        Self::grid_in(&vec![(lo, hi); dimension], points_per_axis)
    }

    /// Creates a grid as [`Points::grid`] does, on the box with these ends per coordinate.
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

    /// Draws `n_points` independent uniform points of the box with these ends per coordinate.
    ///
    /// The points use one word per coordinate, point by point.
    pub fn random_in(edges: &[(f64, f64)], n_points: usize, stream: &mut Stream) -> Self {
        let mut coordinates = Vec::with_capacity(n_points * edges.len());
        for _ in 0..n_points {
            coordinates.extend(edges.iter().map(|&(lo, hi)| stream.uniform_in(lo, hi)));
        }
        Self::new(edges.len(), coordinates)
    }

    /// Draws `n_points` independent uniform points of the ball around 0.
    ///
    /// A point is a direction from normals, at the fraction `u^(1/d)` of the radius for a uniform `u`; it uses `d + 1`
    /// words.
    pub fn random_ball(dimension: usize, n_points: usize, radius: f64, stream: &mut Stream) -> Self {
        let mut coordinates = Vec::with_capacity(n_points * dimension);
        for _ in 0..n_points {
            let direction: Vec<f64> = (0..dimension).map(|_| stream.normal()).collect();
            let length = libm::sqrt(direction.iter().map(|x| x * x).sum::<f64>());
            let distance = radius * libm::pow(stream.uniform(), 1.0 / dimension as f64);
            // All normals equal to zero has probability 0; the point would then be the centre.
            let factor = if 0.0 < length { distance / length } else { 0.0 };
            coordinates.extend(direction.iter().map(|x| factor * x));
        }
        Self::new(dimension, coordinates)
    }

    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        self.coordinates.len() / self.dimension
    }

    /// Returns the number of coordinates of a point.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the point with this index.
    pub fn point(&self, index: usize) -> &[f64] {
        &self.coordinates[index * self.dimension..(index + 1) * self.dimension]
    }
}

/// Returns `points` equispaced values from `lo` to `hi`, both included; a single one is the middle.
pub fn grid_axis(points: usize, lo: f64, hi: f64) -> Vec<f64> {
    if points == 1 {
        return vec![lo + 0.5 * (hi - lo)];
    }
    // The last value is `hi` itself, since lo + (hi - lo) may round to another number.
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

    /// Checks that a share 2^-d of the points of a ball of radius 2 lies within radius 1.
    ///
    /// The limit is five standard errors (false alarm below 1e-6, fixed seed).
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
        let points = Points::random_in(&[(-0.5, 2.0); 3], 200, &mut stream);
        assert_eq!((points.n_points(), points.dimension()), (200, 3));
        assert!((0..200).all(|i| points.point(i).iter().all(|x| (-0.5..=2.0).contains(x))));
    }
}
