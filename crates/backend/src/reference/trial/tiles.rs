//! Moments of a trial's points, tile by tile, and bounds on the scores of each tile.
//!
//! A tile applies the rows that it has not seen when it is visited. The bounds are those of block pruning, with one centre
//! a tile (`docs/derivations/block-pruning.md`).

use super::errors::{RowBand, U};
use super::posterior::{LoopPosterior, LoopUpdate};
use crate::device::loop_domain::{LoopDomain, product};
use crate::device::tables::TILE;

/// A streak, for the tiles.
#[derive(Debug)]
struct LoopRow {
    direction: Vec<f64>,
    /// Sums over its observations so far.
    squares: f64,
    steps: f64,
    band: RowBand,
}

/// The points of a tile, as of the last time that it was visited.
#[derive(Debug)]
struct LoopTile {
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Bound on the error of the variance, point by point.
    error: Vec<f64>,
    /// `p` of the row that was applied last, and that row's sums as far as they have been applied.
    p: Vec<f64>,
    row: Option<usize>,
    squares: f64,
    steps: f64,
    then: TileBound,
}

/// What bounds the scores of a tile.
#[derive(Debug, Default)]
struct TileBound {
    /// Bounds on score and posterior standard deviation at the last visit, and the exploration factor.
    largest: f64,
    deviation: f64,
    beta: f64,
    /// Mean at the centre, weights of the mean, and sum of squared innovations.
    mean: f64,
    weights: Vec<f64>,
    innovations: f64,
}

/// Moments of a tile's centre, and `p` there.
#[derive(Debug, Clone, Copy, Default)]
struct CentreMoments {
    mean: f64,
    variance: f64,
    p: f64,
}

/// Errors of scores within a round.
#[derive(Debug, Clone, Copy)]
pub struct ScoreBand {
    pub beta: f64,
    /// Error of a score: a constant, and a part per unit of the posterior standard deviation.
    pub constant: f64,
    pub share: f64,
    /// Error of a variance beyond that of its point.
    pub variance: f64,
    /// Bound on the error of any score.
    pub widest: f64,
}

/// The tiles of a trial.
#[derive(Debug)]
pub struct LoopTiles {
    rows: Vec<LoopRow>,
    tiles: Vec<LoopTile>,
    centres: Vec<CentreMoments>,
    innovations: f64,
    /// Bounds on the errors of any mean and any variance.
    pub mean_error: f64,
    pub variance_error: f64,
    /// How many tiles were visited.
    pub visited: u64,
}

impl LoopTiles {
    pub fn new(domain: &LoopDomain) -> Self {
        let prior = |point: &u32| domain.scale.prior[*point as usize];
        let tile = |tile: usize| {
            let variance: Vec<f64> = domain.points(tile).iter().map(prior).collect();
            let deviation = variance.iter().copied().fold(0.0, f64::max).sqrt();
            LoopTile {
                mean: vec![0.0; TILE],
                error: variance.iter().map(|variance| domain.scale.prior_error * variance).collect(),
                variance,
                p: vec![0.0; TILE],
                row: None,
                squares: 0.0,
                steps: 0.0,
                // The prior counts as a visit with exploration factor 0.
                then: TileBound { deviation, ..TileBound::default() },
            }
        };
        Self {
            rows: Vec::new(),
            tiles: (0..domain.order.n_blocks()).map(tile).collect(),
            centres: domain.centres.iter().map(|point| CentreMoments { variance: prior(point), ..Default::default() }).collect(),
            innovations: 0.0,
            mean_error: 0.0,
            variance_error: domain.scale.prior_error * domain.prior,
            visited: 0,
        }
    }

    /// Adds an observation, which the posterior has taken.
    pub fn observe(&mut self, domain: &LoopDomain, posterior: &LoopPosterior, update: &LoopUpdate) {
        let LoopUpdate { begun, squares, step } = *update;
        let prior = domain.prior;
        if let Some(band) = begun {
            let direction = posterior.direction.clone();
            for (centre, &point) in self.centres.iter_mut().zip(&domain.centres) {
                centre.p = product(&direction, &domain.table.row(point as usize));
            }
            self.variance_error += band.closed * prior;
            self.rows.push(LoopRow { direction, squares: 0.0, steps: 0.0, band });
        }
        let Some(row) = self.rows.last_mut() else { return };
        row.squares += squares;
        row.steps += step;
        self.innovations += step * step / squares;
        for centre in &mut self.centres {
            centre.variance -= squares * centre.p * centre.p;
            centre.mean += step * centre.p;
        }
        // A fall is at most the variance before.
        let p = (prior / squares).sqrt();
        self.variance_error += row.band.of_fall(squares, p, prior);
        let size = posterior.streak_size();
        let rounded = (domain.depth() + 4.0) * size.direction * step.abs();
        self.mean_error += U * (rounded + 2.0 * domain.size(&posterior.weights()));
    }

    /// Writes a bound on the scores of every tile.
    pub fn bound(&mut self, domain: &LoopDomain, posterior: &LoopPosterior, beta: f64, bounds: &mut Vec<f64>) {
        let weights = posterior.weights();
        let length = distance(domain, &weights, &[]);
        let tiles = self.tiles.iter().zip(&self.centres).zip(&domain.radii);
        bounds.clear();
        bounds.extend(tiles.map(|((tile, centre), radius)| {
            let then = &tile.then;
            let wider = (beta - then.beta).max(0.0) * then.deviation;
            let moved = distance(domain, &weights, &then.weights);
            let near = wider + (centre.mean - then.mean) + moved * radius;
            let reach = (beta * beta + (self.innovations - then.innovations).max(0.0) * (1.0 + 1e-9)).sqrt();
            let far = (reach - then.beta).max(0.0) * then.deviation;
            let alone = beta * (centre.variance.max(0.0).sqrt() + domain.residual.sqrt());
            let fresh = centre.mean + alone + (length + beta) * radius;
            (then.largest + near.min(far)).min(fresh)
        }));
    }

    /// Applies the rows that a tile has not seen.
    pub fn catch_up(&mut self, domain: &LoopDomain, index: usize) {
        let Self { rows, tiles, .. } = self;
        let (tile, points) = (&mut tiles[index], domain.points(index));
        self.visited += 1;
        let from = tile.row.unwrap_or(0);
        for (at, row) in rows.iter().enumerate().skip(from) {
            let is_new = tile.row != Some(at);
            if is_new {
                for (p, &point) in tile.p.iter_mut().zip(points) {
                    *p = product(&row.direction, &domain.table.row(point as usize));
                }
                (tile.row, tile.squares, tile.steps) = (Some(at), 0.0, 0.0);
            }
            let (squares, steps) = (row.squares - tile.squares, row.steps - tile.steps);
            if squares != 0.0 {
                tile.apply(squares, steps, is_new, &row.band);
                (tile.squares, tile.steps) = (row.squares, row.steps);
            }
        }
    }

    /// Returns the largest lower end of the scores of a tile, and remembers what bounds them later.
    pub fn visit(&mut self, posterior: &LoopPosterior, index: usize, band: ScoreBand) -> f64 {
        let tile = &mut self.tiles[index];
        let (mut most, mut best, mut widest) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0f64);
        for at in 0..TILE {
            let [lower, upper, deviation] = tile.score(at, band);
            (most, best, widest) = (most.max(upper), best.max(lower), widest.max(deviation));
        }
        tile.then = TileBound {
            largest: most,
            deviation: widest,
            beta: band.beta,
            mean: self.centres[index].mean,
            weights: posterior.weights(),
            innovations: self.innovations,
        };
        best
    }

    /// Adds the points of a tile whose upper ends reach a floor.
    pub fn collect(&self, domain: &LoopDomain, index: usize, band: ScoreBand, floor: f64, found: &mut Vec<u32>) {
        let tile = &self.tiles[index];
        let reaching = domain.points(index).iter().enumerate().filter(|&(at, _)| floor <= tile.score(at, band)[1]);
        found.extend(reaching.map(|(_, &point)| point));
    }
}

impl LoopTile {
    /// Applies observations along `p`.
    fn apply(&mut self, squares: f64, steps: f64, is_new: bool, band: &RowBand) {
        for at in 0..TILE {
            let (p, error) = (self.p[at], &mut self.error[at]);
            let mut before = self.variance[at].max(0.0) + *error;
            if is_new {
                *error += band.closed * before;
                before += band.closed * before;
            }
            *error = (*error + band.of_fall(squares, p, before)) * (1.0 + 8.0 * U);
            self.variance[at] -= squares * p * p;
            self.mean[at] += steps * p;
        }
    }

    /// Returns both ends of a point's score, and a bound on its posterior standard deviation.
    fn score(&self, at: usize, band: ScoreBand) -> [f64; 3] {
        let (mean, variance, error) = (self.mean[at], self.variance[at], self.error[at] + band.variance);
        let deviation = (variance + error).max(0.0).sqrt();
        let apart = band.constant + band.share * deviation;
        let lower = mean + band.beta * (variance - error).max(0.0).sqrt() - apart;
        [lower, mean + band.beta * deviation + apart, deviation]
    }
}

/// Bounds the distance between two weights of the mean; missing entries are zero.
fn distance(domain: &LoopDomain, now: &[f64], then: &[f64]) -> f64 {
    let apart: Vec<f64> = now.iter().enumerate().map(|(i, now)| now - then.get(i).copied().unwrap_or(0.0)).collect();
    let norm = |weights: &[f64]| weights.iter().map(|weight| weight.abs()).sum::<f64>();
    let rounded = U * (4.0 * domain.depth() + 8.0) * (1.0 + domain.prior);
    (product(&apart, &apart) + rounded * norm(&apart) * norm(&apart)).sqrt() + rounded * (norm(now) + norm(then))
}
