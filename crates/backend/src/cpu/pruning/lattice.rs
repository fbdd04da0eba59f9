//! Places the reference points from which the blocks of a trial are bounded.
//!
//! A trial keeps exact means (and, at corners, posterior variances) there. A point x of a block is near a convex
//! combination of the block's reference points a: `|phi(x) - sum w_a phi(a)| <= R`, with R the block's radius. A quantity
//! linear in phi, such as a mean or its change, is therefore at most its largest value over the reference points plus
//! `R |theta|`. The posterior standard deviation is a norm of phi, so a score is bounded the same way, with
//! `R (|theta| + beta)`.
//!
//! * **Centres:** one reference point per block, a point of the domain; R is of first order in the size of the block.
//! * **Lattice:** for points in the plane in strips of blocks, the corners of every block, shared with its neighbours along
//!   the strip; R is of second order, like the error of bilinear interpolation.

use super::order::BlockOrder;

/// Maps consecutive blocks to consecutive reference points.
///
/// Block `first_block + i` has reference point `first_reference_point + i`, for i below `blocks`.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Position among a block's reference points: 0 for a centre, 0 to 3 for corners.
    pub corner: usize,
    pub first_block: usize,
    pub blocks: usize,
    pub first_reference_point: usize,
}

/// Number of reference points of a block of a lattice.
const CORNERS: usize = 4;

#[derive(Debug)]
pub struct ReferencePoints {
    pub views: Vec<View>,
    pub corners: usize,
    pub n: usize,
    /// First view of each block.
    views_of: Vec<u32>,
}

impl ReferencePoints {
    pub fn centres(n_blocks: usize) -> Self {
        Self {
            views: vec![View { corner: 0, first_block: 0, blocks: n_blocks, first_reference_point: 0 }],
            corners: 1,
            n: n_blocks,
            views_of: vec![0; n_blocks],
        }
    }

    /// Returns a block's reference points, each with its position among them.
    pub fn of(&self, block: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = self.views_of[block] as usize;
        self.views[first..][..self.corners]
            .iter()
            .map(move |view| (view.corner, view.first_reference_point + block - view.first_block))
    }
}

/// Reference points of blocks, with the radii and variances used in bounds.
#[derive(Debug)]
pub struct ReferenceBounds {
    pub reference_points: ReferencePoints,
    /// Bound, per block, on a point's distance from a convex combination of reference points.
    ///
    /// Distances are in the features of the covariance without the row term.
    pub radii: Vec<f64>,
    /// Prior variance of the corners as unvisited points; empty for centres, which bound means.
    pub prior: Vec<f64>,
}

impl ReferenceBounds {
    /// Creates reference points at block centres, with these radii.
    pub fn centres(radii: Vec<f64>) -> Self {
        Self { reference_points: ReferencePoints::centres(radii.len()), radii, prior: Vec::new() }
    }

    /// Returns whether reference points bound scores too: only corners do, where this saves work.
    ///
    /// Only blocks in which every point's posterior variance is a form of its features alone (and the row term) have corners.
    pub fn bound_scores(&self) -> bool {
        !self.prior.is_empty()
    }
}

/// Corners of blocks in strips.
#[derive(Debug)]
pub struct Lattice {
    pub reference_points: ReferencePoints,
    /// `n x 2`: coordinates of the corners.
    pub coordinates: Vec<f64>,
    /// Axis along which the strips follow each other.
    axis: usize,
}

/// A block's corners, and the corners' weights of each point: at least 0, with sum 1.
pub struct Corners {
    pub reference_points: [usize; CORNERS],
    pub weights: Vec<[f64; CORNERS]>,
}

impl Lattice {
    /// Builds the corners of an order in strips; `plane` holds two coordinates per point.
    pub fn of(order: &BlockOrder, plane: &[f64]) -> Option<Self> {
        let strips = order.strips.as_ref()?;
        let (long, short) = (strips.axis, 1 - strips.axis);
        let at = |point: u32, axis: usize| plane[2 * point as usize + axis];
        let (mut views, mut views_of, mut coordinates) = (Vec::new(), Vec::new(), Vec::new());
        for ends in strips.starts.windows(2) {
            let blocks = ends[1] - ends[0];
            let points = &order.points[ends[0] * order.size..ends[1] * order.size];
            let range = |points: &[u32], axis: usize| {
                let along = points.iter().map(|&point| at(point, axis));
                along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
            };
            let sides = range(points, long);
            // Neighbours meet half way between their ends; their ranges may overlap.
            let ranges: Vec<(f64, f64)> = points.chunks_exact(order.size).map(|block| range(block, short)).collect();
            let mut cuts = vec![ranges.first()?.0];
            cuts.extend(ranges.windows(2).map(|pair| f64::midpoint(pair[0].1, pair[1].0)));
            cuts.push(ranges.last()?.1);
            let first = coordinates.len() / 2;
            for side in [sides.0, sides.1] {
                for &cut in &cuts {
                    let mut corner = [0.0; 2];
                    (corner[long], corner[short]) = (side, cut);
                    coordinates.extend(corner);
                }
            }
            views_of.resize(ends[1], views.len() as u32);
            for corner in 0..CORNERS {
                let first_reference_point = first + (corner / 2) * cuts.len() + corner % 2;
                views.push(View { corner, first_block: ends[0], blocks, first_reference_point });
            }
        }
        let n = coordinates.len() / 2;
        Some(Self { reference_points: ReferencePoints { views, corners: CORNERS, n, views_of }, coordinates, axis: strips.axis })
    }

    /// Calls `with` for every block with its corners.
    pub fn each(&self, order: &BlockOrder, plane: &[f64], mut with: impl FnMut(usize, &Corners)) {
        for views in self.reference_points.views.chunks_exact(CORNERS) {
            for at in 0..views[0].blocks {
                let block = views[0].first_block + at;
                let reference_points = [0, 1, 2, 3].map(|corner| views[corner].first_reference_point + at);
                let (from, to) = (self.place(reference_points[0]), self.place(reference_points[3]));
                let share = |axis: usize, x: f64| {
                    let side = to[axis] - from[axis];
                    if side == 0.0 { 0.0 } else { ((x - from[axis]) / side).clamp(0.0, 1.0) }
                };
                // Corner 1 differs from corner 0 along the strip.
                let along = 1 - self.axis;
                let weight = |&point: &u32| {
                    let x = &plane[2 * point as usize..][..2];
                    let (u, v) = (share(1 - along, x[1 - along]), share(along, x[along]));
                    [(1.0 - u) * (1.0 - v), (1.0 - u) * v, u * (1.0 - v), u * v]
                };
                let points = &order.points[block * order.size..][..order.size];
                with(block, &Corners { reference_points, weights: points.iter().map(weight).collect() });
            }
        }
    }

    fn place(&self, reference_point: usize) -> [f64; 2] {
        [self.coordinates[2 * reference_point], self.coordinates[2 * reference_point + 1]]
    }
}
