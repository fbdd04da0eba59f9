//! Implements the convex hull of stated vertices.

use super::lp_ball::parse_norm;
use super::{ConstraintSet, SetPlan};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, dot, solve_spd};
use privateer_privacy::gradients::Vertices;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Polytope {
    norm: Norm,
    dimension: usize,
    /// The vertices, row-major, one per row.
    rows: Arc<Vec<f64>>,
    diameter: f64,
}

pub fn parse(args: &Args<'_>) -> Box<SetPlan> {
    let rows = args.numbers("vertices", "coordinates of the vertices, one vertex after the other");
    if rows.is_none() {
        args.missing("vertices", "an array of numbers, one vertex after the other");
    }
    let (norm, rows) = (parse_norm(args, "exponent of the geometry's norm", 1.0), rows.unwrap_or_default());
    Box::new(move |dimension| match Polytope::new(norm, dimension, rows.clone()) {
        Some(polytope) => Ok(Arc::new(polytope)),
        None => Err(Error::input(
            Diagnostic::new(format!("`vertices` has {} numbers for a problem of dimension {dimension}", rows.len()))
                .expected(format!("a multiple of {dimension}, at least one vertex")),
        )),
    })
}

impl Polytope {
    /// Creates the hull of these vertices, one after another.
    ///
    /// `None` if there is no vertex, or one is incomplete or not finite.
    pub fn new(norm: Norm, dimension: usize, rows: Vec<f64>) -> Option<Self> {
        let fine =
            dimension != 0 && !rows.is_empty() && rows.len().is_multiple_of(dimension) && rows.iter().all(|x| x.is_finite());
        if !fine {
            return None;
        }
        let all: Vec<&[f64]> = rows.chunks(dimension).collect();
        let mut diameter: f64 = 0.0;
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                let gap: Vec<f64> = a.iter().zip(*b).map(|(a, b)| a - b).collect();
                diameter = diameter.max(norm.size(&gap));
            }
        }
        Some(Self { norm, dimension, rows: Arc::new(rows), diameter })
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.rows[index * self.dimension..(index + 1) * self.dimension]
    }

    /// Returns the index of the vertex with the least product with g, the lowest among equals.
    fn least(&self, g: &[f64]) -> usize {
        let mut best = (0, f64::INFINITY);
        for (i, vertex) in self.rows.chunks(self.dimension).enumerate() {
            let score = dot(vertex, g);
            if score < best.1 {
                best = (i, score);
            }
        }
        best.0
    }

    /// Returns the weights of these vertices' affine combination nearest to `theta`.
    ///
    /// `None` if the vertices are affinely dependent.
    fn affine(&self, chosen: &[usize], theta: &[f64]) -> Option<Vec<f64>> {
        let k = chosen.len();
        let gaps: Vec<Vec<f64>> = chosen.iter().map(|&i| self.row(i).iter().zip(theta).map(|(v, x)| v - x).collect()).collect();
        // Minimises |sum w_i gap_i|² with sum w = 1: the Gram matrix with ones added solves G w = 1 up to a factor.
        let scale = gaps.iter().map(|gap| dot(gap, gap)).fold(f64::MIN_POSITIVE, f64::max);
        let mut gram = vec![0.0; k * k];
        for (i, a) in gaps.iter().enumerate() {
            for (j, b) in gaps.iter().enumerate() {
                gram[i * k + j] = dot(a, b) / scale + 1.0;
            }
        }
        privateer_numerics::linalg::cholesky(&mut gram, k).ok()?;
        let mut weights = vec![1.0; k];
        solve_spd(&gram, &mut weights);
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        weights.iter().all(|w| w.is_finite()).then_some(weights)
    }
}

impl ConstraintSet for Polytope {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn norm(&self) -> Norm {
        self.norm
    }

    fn diameter(&self) -> f64 {
        self.diameter
    }

    fn centre(&self) -> Vec<f64> {
        let (n, mut centre) = (self.count() as f64, vec![0.0; self.dimension]);
        for vertex in self.rows.chunks(self.dimension) {
            centre.iter_mut().zip(vertex).for_each(|(centre, x)| *centre += x / n);
        }
        centre
    }

    fn minimise(&self, g: &[f64], out: &mut [f64]) {
        out.copy_from_slice(self.row(self.least(g)));
    }

    /// Computes the nearest point by Wolfe's method (Mathematical Programming 11, 1976).
    ///
    /// The method grows a set of vertices whose nearest affine combination is convex.
    fn project(&self, theta: &mut [f64]) {
        let goal = theta.to_vec();
        let point = |chosen: &[usize], weights: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            for (&i, w) in chosen.iter().zip(weights) {
                out.iter_mut().zip(self.row(i)).for_each(|(out, x)| *out += w * x);
            }
        };
        let nearest = (0..self.count()).fold((0, f64::INFINITY), |best, i| {
            let gap = self.row(i).iter().zip(&goal).map(|(v, x)| (v - x) * (v - x)).sum::<f64>();
            if gap < best.1 { (i, gap) } else { best }
        });
        let (mut chosen, mut weights) = (vec![nearest.0], vec![1.0]);
        let size = nearest.1.max(f64::MIN_POSITIVE);
        let mut here = self.row(nearest.0).to_vec();
        for _ in 0..20 * (self.count() + 10) {
            let gap: Vec<f64> = here.iter().zip(&goal).map(|(a, b)| a - b).collect();
            let candidate = self.least(&gap);
            let gain = dot(&gap, &here) - dot(&gap, self.row(candidate));
            if gain <= 1e-14 * (size + dot(&gap, &gap)) || chosen.contains(&candidate) {
                break;
            }
            chosen.push(candidate);
            weights.push(0.0);
            while let Some(affine) = self.affine(&chosen, &goal) {
                if affine.iter().all(|w| 0.0 <= *w) {
                    weights = affine;
                    break;
                }
                // Moves towards the affine point as far as the weights stay nonnegative; a vertex then leaves.
                let mut step: f64 = 1.0;
                for (w, a) in weights.iter().zip(&affine).filter(|(_, a)| **a < 0.0) {
                    step = step.min(w / (w - a));
                }
                weights.iter_mut().zip(&affine).for_each(|(w, a)| *w += step * (a - *w));
                let mut at = (0..weights.len()).fold(0, |least, i| if weights[i] < weights[least] { i } else { least });
                loop {
                    chosen.remove(at);
                    weights.remove(at);
                    match weights.iter().position(|w| *w <= 0.0) {
                        Some(next) if 1 < weights.len() => at = next,
                        _ => break,
                    }
                }
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|w| *w /= sum);
            }
            point(&chosen, &weights, &mut here);
        }
        theta.copy_from_slice(&here);
    }

    /// Decides by the distance to the projection, in units of the diameter.
    fn contains(&self, theta: &[f64], tolerance: f64) -> bool {
        if theta.len() != self.dimension {
            return false;
        }
        let mut near = theta.to_vec();
        self.project(&mut near);
        let gap: f64 = near.iter().zip(theta).map(|(a, b)| (a - b) * (a - b)).sum();
        libm::sqrt(gap) <= (tolerance + 1e-7) * self.diameter.max(1e-300)
    }

    fn vertices(&self) -> Option<Arc<dyn Vertices>> {
        Some(Arc::new(self.clone()))
    }

    fn vertex(&self, index: usize, out: &mut [f64]) {
        out.copy_from_slice(self.row(index));
    }

    fn words(&self) -> String {
        format!("hull of {} points in {} dimensions, {} geometry", self.count(), self.dimension, self.norm)
    }
}

impl Vertices for Polytope {
    fn count(&self) -> usize {
        self.rows.len() / self.dimension
    }

    fn scores(&self, direction: &[f64], out: &mut [f64]) {
        for (out, vertex) in out.iter_mut().zip(self.rows.chunks(self.dimension)) {
            *out = dot(vertex, direction);
        }
    }
}
