//! What all trials over a basis share, or one trial over inputs of its own: blocks of neighbouring points, their centres and radii.

use super::covariance::{Covariance, Entries};
use super::formula::{Formula, Made};
use super::order::{Coordinates, MOST_AXES, Order, SMALL_SIZE};
use super::source::Source;
use crate::backend::scale::Scale;
use crate::score::{FeatureTable, GramSource};
use std::sync::Arc;

/// Fewer blocks are not worth their bounds.
const FEWEST_BLOCKS: usize = 8;

/// The shared part of the lazy road.
#[derive(Debug)]
pub struct Blocks {
    pub order: Order,
    pub source: Covariance,
    /// What is added to the covariance of a point and itself.
    pub row_term: f64,
    /// Of each block, the point whose mean is kept exactly.
    pub centres: Vec<u32>,
    /// Of each block, a bound on `|phi(x) - phi(centre)|`, phi the features of the covariance without the row term.
    pub radii: Vec<f64>,
    /// `n_blocks x size`: prior spread².
    pub prior: Vec<f64>,
    /// Relative rounding of `prior`.
    pub prior_error: f64,
    /// Of each block, its root's largest.
    pub widest: Vec<f64>,
    /// Largest `|phi|`.
    pub norm: f64,
}

impl Blocks {
    /// Whether a domain of so many points is worth blocks.
    pub fn suit(n_points: usize) -> bool {
        FEWEST_BLOCKS * SMALL_SIZE <= n_points
    }

    /// The blocks of a table; `None` where the domain is too small for them.
    pub fn of(table: &Arc<FeatureTable>, scale: &Scale) -> Option<Self> {
        let (n, m) = (table.n_points, table.n_features);
        if !Self::suit(n) {
            return None;
        }
        let (values, stride) = match &table.form {
            Some(form) if form.points.len() == n * form.dimension => (&form.points[..], form.dimension),
            _ => (&table.values[..], m),
        };
        let size = Order::size_for(n);
        let order = Order::halved(n, size, Coordinates { values, stride, axes: stride.min(MOST_AXES) });
        let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let (mut centres, mut radii) = (Vec::new(), Vec::new());
        for block in order.points.chunks_exact(order.size) {
            let mut middle = vec![0.0; m];
            for &point in block {
                middle.iter_mut().zip(table.row(point as usize)).for_each(|(sum, x)| *sum += x / order.size as f64);
            }
            let from_middle = |&point: &u32| square(&middle, table.row(point as usize));
            let centre = block.iter().copied().min_by(|a, b| from_middle(a).total_cmp(&from_middle(b))).unwrap_or(0);
            let of_centre = table.row(centre as usize);
            let most = block.iter().map(|&point| square(of_centre, table.row(point as usize))).fold(0.0, f64::max);
            centres.push(centre);
            // Differences and squares round by some shares of themselves, and of m terms.
            radii.push(most.sqrt() * (1.0 + 4.0 * (m as f64 + 4.0) * f64::EPSILON));
        }
        let source = Covariance::Features(Source::of(table, &order, &centres, scale.norm));
        let prior: Vec<f64> = order.points.iter().map(|&point| scale.prior[point as usize]).collect();
        let made = Self {
            order,
            source,
            row_term: 0.0,
            centres,
            radii,
            prior,
            prior_error: scale.prior_error,
            widest: Vec::new(),
            norm: scale.norm,
        };
        Some(made.with_widest())
    }

    /// The blocks of a covariance over a domain, `None` where the domain is too small for them; `own` where one trial alone asks.
    pub fn of_gram(gram: &Arc<dyn GramSource>, own: bool) -> Option<Self> {
        let n = gram.n_points();
        if !Self::suit(n) {
            return None;
        }
        let size = Order::size_for(n);
        let form = gram.form().filter(|form| 0 < form.dimension && form.points.len() == n * form.dimension);
        let made = match form {
            Some(form) => {
                let coordinates = Coordinates { values: &form.points, stride: form.dimension, axes: form.dimension };
                let all: Vec<u32> = (0..n as u32).collect();
                let range = coordinates.range(&all);
                let order =
                    if own { Order::in_strips(all, size, coordinates, &range) } else { Order::halved(n, size, coordinates) };
                let Made { formula, centres, radii } = Formula::of(&form, &order, &range);
                let mut prior = formula.diagonals(&order.points);
                prior.iter_mut().for_each(|prior| *prior += form.row_term);
                Self {
                    order,
                    source: Covariance::Formula(formula),
                    row_term: form.row_term,
                    centres,
                    radii,
                    prior,
                    prior_error: 0.0,
                    widest: Vec::new(),
                    norm: 0.0,
                }
            }
            None => {
                let order = Order::as_given(n, size);
                let prior: Vec<f64> = order.points.iter().map(|&point| gram.diagonal(point as usize)).collect();
                let centres: Vec<u32> = order.points.chunks_exact(order.size).map(|block| block[block.len() / 2]).collect();
                let radius = |(block, centre): (&[u32], &u32)| {
                    let own = gram.diagonal(*centre as usize);
                    let square = |&x: &u32| {
                        let shared = gram.entry(*centre as usize, x as usize);
                        let diagonal = gram.diagonal(x as usize);
                        // Three values, each rounded by some shares of the two largest.
                        (diagonal + own - 2.0 * shared).max(0.0) + 16.0 * f64::EPSILON * (diagonal + own)
                    };
                    block.iter().map(square).fold(0.0, f64::max).sqrt()
                };
                let radii = order.points.chunks_exact(order.size).zip(&centres).map(radius).collect();
                let source = Covariance::Entries(Entries { gram: Arc::clone(gram), centres: centres.clone() });
                Self { order, source, row_term: 0.0, centres, radii, prior, prior_error: 0.0, widest: Vec::new(), norm: 0.0 }
            }
        };
        let mut made = made.with_widest();
        made.norm = made.widest.iter().copied().fold(0.0, f64::max) * (1.0 + 1e-9);
        // The largest prior spread², by which the values of two formulas differ at most.
        made.prior_error = 4.0 * f64::EPSILON + 2.0 * made.source.error() / (made.norm * made.norm).max(f64::MIN_POSITIVE);
        Some(made)
    }

    fn with_widest(mut self) -> Self {
        let largest = |block: &[f64]| block.iter().copied().fold(0.0, f64::max).sqrt();
        self.widest = self.prior.chunks_exact(self.order.size).map(largest).collect();
        self
    }

    /// Writes the basis function of a visited point at the points of a block: the covariance with the row term.
    #[inline(always)]
    pub fn column<const FUSED: bool>(&self, point: usize, block: usize, out: &mut [f64]) {
        self.source.column::<FUSED>(point, block, &self.order, out);
        if self.row_term != 0.0 && self.order.places[point].0 as usize == block {
            let points = &self.order.points[block * out.len()..];
            // The last block repeats its last point.
            out.iter_mut().zip(points).filter(|(_, x)| **x as usize == point).for_each(|(out, _)| *out += self.row_term);
        }
    }
}
