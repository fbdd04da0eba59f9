//! Plays rounds: finds the points that may be the best, and certifies the action among them.

use super::errors::{Distance, LoopFactor, U};
use super::posterior::{Evaluated, LoopPosterior};
use super::tiles::{LoopTiles, ScoreBand};
use crate::device::loop_domain::{LoopDomain, product};
use privateer_gp::posterior::REBUILD_EVERY;
use privateer_gp::score::{FactorGrowth, tie_margin};
use std::sync::Arc;

/// Most points that a round decides among.
const MOST_CANDIDATES: usize = 64;

/// Smallest ridge, as a share of the prior variance, of the form of the posterior that the loop follows.
const LEAST_RIDGE: f64 = 1e-10;

/// A trial that a workgroup plays.
#[derive(Debug)]
pub struct LoopTrial {
    domain: Arc<LoopDomain>,
    posterior: LoopPosterior,
    tiles: LoopTiles,
    observations: u64,
    /// Whether an observation did not fit.
    is_full: bool,
    growth: FactorGrowth,
    bounds: Vec<f64>,
}

impl LoopTrial {
    /// Creates a trial without observations; `ridge > 0`.
    pub fn new(domain: Arc<LoopDomain>, ridge: f64, growth: FactorGrowth) -> Self {
        let (posterior, tiles) = (LoopPosterior::new(&domain, ridge), LoopTiles::new(&domain));
        Self { domain, posterior, tiles, observations: 0, is_full: false, growth, bounds: Vec::new() }
    }

    /// States a bound on the distance of its rewards from those of the model that decides.
    #[must_use]
    pub fn off_by(mut self, rewards: f64) -> Self {
        self.posterior.errors.rewards = rewards;
        self
    }

    /// Returns how many tiles were visited.
    pub fn tiles_visited(&self) -> u64 {
        self.tiles.visited
    }

    /// Adds an observation, whoever chose its point.
    pub fn observe(&mut self, point: u32, reward: f64) {
        self.observations += 1;
        match self.posterior.observe(&self.domain, point, reward) {
            Some(update) if !self.is_full => self.tiles.observe(&self.domain, &self.posterior, &update),
            _ => self.is_full = true,
        }
    }

    /// Plays rounds until the host must decide one, and appends the actions.
    ///
    /// * `rounds` — exploration factor at no information gain, and noise of each
    /// * `values` — the function, by point
    pub fn play(&mut self, rounds: &[(f64, f64)], values: &[f64], actions: &mut Vec<u32>) {
        for &(beta, noise) in rounds {
            let Some(point) = self.decide(beta) else { return };
            actions.push(point);
            self.observe(point, values[point as usize] + noise);
        }
    }

    /// Decides a round with this exploration factor at no information gain, at least 0: the point that the model that decides
    /// would play.
    ///
    /// `None` leaves the round to the host: several points may be its choice, the state has no bound, or it is the first round.
    pub fn decide(&mut self, least: f64) -> Option<u32> {
        let distance = self.distance().filter(|_| 0 < self.observations)?;
        let (k, open) = (self.posterior.n_factored() as f64, self.posterior.streak_size());
        let factor = self.posterior.errors.factor(k, &open, least, self.growth);
        let band = self.band(factor, &distance);
        let found = self.candidates(factor.beta, band)?;
        if let [only] = found[..] {
            return Some(only);
        }
        self.compare(&found, factor, distance)
    }

    /// Returns the visited point with the highest posterior mean by the tie rule, where it is certain.
    pub fn recommend(&self) -> Option<u32> {
        let (posterior, mut distance) = (&self.posterior, self.distance()?);
        distance.mean_rounding += posterior.errors.left(posterior.n_factored() as f64, &posterior.streak_size());
        let weights = posterior.weights();
        let ends = |(&point, count): (&u32, &f64)| {
            let mean = product(&weights, &self.domain.table.row(point as usize));
            // The posterior variance of a visited point is at most the regularizer over its count.
            let of_model = distance.mean * (posterior.ridge() / count).sqrt() + distance.mean_rounding;
            let error = of_model + 16.0 * U * (1.0 + mean.abs());
            (point, [mean - error, mean + error])
        };
        let means: Vec<(u32, [f64; 2])> = posterior.points.iter().zip(&posterior.counts).map(ends).collect();
        let best = means.iter().map(|(_, [lower, _])| *lower).fold(f64::NEG_INFINITY, f64::max);
        let floor = best - tie_margin(best);
        let mut found: Vec<u32> = means.iter().filter(|(_, [_, upper])| floor <= *upper).map(|&(point, _)| point).collect();
        found.sort_unstable();
        match found[..] {
            [only] => Some(only),
            _ if found.len() <= MOST_CANDIDATES => self.compare(&found, LoopFactor { beta: 0.0, error: 0.0 }, distance),
            _ => None,
        }
    }

    /// Returns the distance to the model that decides; `None` where it has no bound or another form.
    fn distance(&self) -> Option<Distance> {
        let follows = !self.is_full
            && self.observations < REBUILD_EVERY
            && self.posterior.points.len() <= self.domain.most_points()
            && LEAST_RIDGE * self.domain.prior <= self.posterior.ridge();
        let k = self.posterior.n_factored() as f64;
        self.posterior.errors.distance(k, &self.posterior.streak_size()).filter(|_| follows)
    }

    fn band(&self, factor: LoopFactor, distance: &Distance) -> ScoreBand {
        let (deviation, LoopFactor { beta, error }) = (self.domain.prior.sqrt(), factor);
        let most = beta + error;
        let magnitude = self.domain.size(&self.posterior.weights()) + most * deviation;
        let constant =
            self.tiles.mean_error + distance.mean_rounding + most * distance.deviation_rounding + 16.0 * U * (1.0 + magnitude);
        let share = distance.mean + most * distance.share + error;
        // A fall is at most the prior variance.
        let squares = self.posterior.squares();
        let p = (self.domain.prior / squares.max(f64::MIN_POSITIVE)).sqrt();
        let variance = distance.variance_rounding + distance.of_fall(squares, p);
        let widest = constant + share * deviation + most * (2.0 * (self.tiles.variance_error + variance)).sqrt();
        ScoreBand { beta, constant, share, variance, widest }
    }

    /// Visits tiles, best first; returns the points that may be the best, ascending. `None` if they are too many.
    fn candidates(&mut self, beta: f64, band: ScoreBand) -> Option<Vec<u32>> {
        self.tiles.bound(&self.domain, &self.posterior, beta, &mut self.bounds);
        let (mut best, mut visited) = (f64::NEG_INFINITY, Vec::new());
        loop {
            let highest = (0..self.bounds.len()).max_by(|&a, &b| self.bounds[a].total_cmp(&self.bounds[b]))?;
            if self.bounds[highest] + 3.0 * band.widest < best - tie_margin(best) || self.bounds[highest] == f64::NEG_INFINITY {
                break;
            }
            self.bounds[highest] = f64::NEG_INFINITY;
            self.tiles.catch_up(&self.domain, highest);
            best = best.max(self.tiles.visit(&self.posterior, highest, band));
            visited.push(highest);
        }
        let mut found = Vec::new();
        for tile in visited {
            self.tiles.collect(&self.domain, tile, band, best - tie_margin(best), &mut found);
        }
        // The last tile repeats its last point.
        found.sort_unstable();
        found.dedup();
        (best.is_finite() && (1..=MOST_CANDIDATES).contains(&found.len())).then_some(found)
    }

    /// Compares points by differences of their scores, and applies the tie rule to what is certain of them.
    fn compare(&self, points: &[u32], factor: LoopFactor, distance: Distance) -> Option<u32> {
        let (Self { posterior, domain, .. }, LoopFactor { beta, error: of_factor }) = (self, factor);
        let most = beta + of_factor;
        let scored: Vec<ScoredCandidate> = points
            .iter()
            .map(|&point| {
                let found = posterior.evaluate(domain, point);
                let variance = domain.scale.residual(point as usize) + found.variance.max(0.0);
                let rounding = distance.variance_rounding + distance.of_fall(posterior.squares(), found.along);
                let lower = (variance - rounding).max(0.0).sqrt();
                let rounding = distance.mean_rounding
                    + most * (variance.sqrt() - lower + distance.deviation_rounding)
                    + 16.0 * U * (1.0 + found.mean.abs() + most * variance.sqrt());
                ScoredCandidate { found, deviation: variance.sqrt(), rounding }
            })
            .collect();
        let upper = |one: &ScoredCandidate| one.found.mean + beta * one.deviation;
        let first = scored.iter().max_by(|a, b| upper(a).total_cmp(&upper(b)))?;
        let interval = |one: &ScoredCandidate| {
            if one.found.point == first.found.point {
                return [0.0; 2];
            }
            let square = posterior.apart(domain, &one.found, &first.found).max(0.0) + 2.0 * distance.variance_rounding;
            let apart = square.sqrt() + 2.0 * distance.deviation_rounding;
            let of_deviation = one.deviation - first.deviation;
            let of_variance = most * distance.share * (apart + 0.5 * of_deviation.abs());
            let error = distance.mean * apart + of_variance + of_factor * of_deviation.abs() + one.rounding + first.rounding;
            let difference = (one.found.mean - first.found.mean) + beta * of_deviation;
            [difference - error, difference + error]
        };
        let intervals: Vec<[f64; 2]> = scored.iter().map(interval).collect();
        let best = upper(first);
        let apart = (distance.mean + most * distance.share + of_factor) * first.deviation + first.rounding;
        // The margin of ties at both ends of the best score, and the rounding of its subtraction.
        let tie = [tie_margin((best.abs() - apart).max(0.0)), tie_margin(best.abs() + apart)];
        let rounded = 4.0 * U * (1.0 + best.abs());
        certain(&intervals, [tie[0] - rounded, tie[1] + rounded]).map(|at| points[at])
    }
}

/// A candidate that was evaluated from the factor.
struct ScoredCandidate {
    found: Evaluated,
    deviation: f64,
    /// Roundings of both models' evaluations.
    rounding: f64,
}

/// Returns which of these scores, in ascending order of points, the tie rule chooses, if that is certain.
///
/// * `intervals` — ends of each score, less a common number
/// * `tie` — bounds on the margin of ties
fn certain(intervals: &[[f64; 2]], tie: [f64; 2]) -> Option<usize> {
    let lowest_best = intervals.iter().map(|[lower, _]| *lower).fold(f64::NEG_INFINITY, f64::max);
    // Earlier points are certainly no choice: they lie below the margin of the best.
    let at = intervals.iter().position(|[_, upper]| lowest_best - tie[1] <= *upper)?;
    let others = intervals.iter().enumerate().filter(|(other, _)| *other != at);
    let best_other = others.map(|(_, [_, upper])| *upper).fold(f64::NEG_INFINITY, f64::max);
    // Either this point is the best itself, or the best is another one that it ties with.
    (best_other - tie[0] <= intervals[at][0]).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tie_rule_is_applied_to_what_is_certain() {
        let tie = [1.0, 1.0];
        // One clear best; the lowest of certain ties; a tie that is not certain.
        assert_eq!(certain(&[[-5.0, -4.0], [0.0, 0.1], [-9.0, -8.0]], tie), Some(1));
        assert_eq!(certain(&[[-0.2, -0.1], [0.0, 0.0], [-0.1, 0.1]], tie), Some(0));
        assert_eq!(certain(&[[-1.2, -0.9], [0.0, 0.0]], tie), None);
        // A later point may tie or not: the choice is the same.
        assert_eq!(certain(&[[0.0, 0.0], [-1.2, -0.9]], tie), Some(0));
        // Whichever of the two is the best, the first one is chosen.
        assert_eq!(certain(&[[-0.5, 0.5], [0.0, 0.0]], tie), Some(0));
        // The best is uncertain, and the first point may be out of its reach.
        assert_eq!(certain(&[[-0.9, -0.8], [0.0, 0.0], [-0.3, 0.3]], tie), None);
        assert_eq!(certain(&[[f64::NAN; 2]], tie), None);
    }
}
