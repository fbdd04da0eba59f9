//! Selects the blocks that a round must score: those that may hold the best point.

use super::interpolation::{Checks, Slack};
use super::trial::PrunedTrial;
use crate::cpu::path::WORK_OF_A_SCORE;
use privateer_gp::score::tie_margin;

/// Number of turns in which the search picks the block with the highest bound.
const PICKED: usize = 4;

/// Blocks scored before bounds are refined, and the largest number left without refinement.
const REFINED: usize = 1;
const FEW: usize = 2;

/// Bounds on the errors of means, variances and scores.
#[derive(Debug, Clone, Copy)]
pub struct ScoreErrors {
    pub mean: f64,
    pub variance: f64,
    pub score: f64,
}

impl PrunedTrial {
    /// Returns the smallest score that may be among the best.
    fn floor(best: f64, errors: ScoreErrors) -> f64 {
        best - tie_margin(best) - 6.0 * errors.score
    }

    /// Scores the block with the highest bound, a few times, then all that reach the best score.
    ///
    /// Returns the best score.
    pub fn score_blocks(&mut self, beta: f64, errors: ScoreErrors) -> f64 {
        let (mut best, mut from) = (f64::NEG_INFINITY, 0);
        for turn in 0.. {
            let floor = Self::floor(best, errors);
            if turn == REFINED && self.shared.by_reference.bound_scores() && FEW < self.bounds.reaching(floor) {
                self.bounds.refine(beta, &self.shared);
                self.cost.work += self.bounds.work_of_refining();
            }
            let next = if turn < PICKED { self.bounds.highest(floor) } else { self.bounds.reaching_from(from, floor) };
            let Some(block) = next else { break };
            from = if turn < PICKED { 0 } else { block + 1 };
            best = best.max(self.score(block, beta, errors));
        }
        best
    }

    /// Scores blocks after interpolated bound checks; returns the best score.
    ///
    /// The block with the highest bound is checked, and scored once no other block has a higher bound. Then all blocks
    /// whose bounds reach that score are checked.
    pub fn check_and_score(&mut self, checks: &mut Checks, beta: f64, errors: ScoreErrors) -> f64 {
        checks.round += 1;
        let slack = Slack {
            beta,
            prior: self.shared.norm * self.shared.norm,
            theta: self.bounds.length,
            // Eigenvalues lie in 0 to 1, so the sum of their squares is at most their sum.
            n: self.errors.trace.min(self.history.points().len() as f64).sqrt() * (1.0 + 1e-6),
            mean: errors.mean,
            variance: errors.variance,
        };
        let mut best = f64::NEG_INFINITY;
        // The block that held the best point is often the only candidate block, and updating it mostly costs no more than a
        // check.
        if let Some(block) = checks.leader.filter(|&block| self.missed(block) <= 1) {
            best = self.score(block, beta, errors);
            if self.bounds.highest(Self::floor(best, errors)).is_none() {
                return best;
            }
        }
        // Refining costs less than the additional checks without it.
        self.bounds.refine(beta, &self.shared);
        self.cost.work += self.bounds.work_of_refining();
        checks.update();
        let mut all = false;
        while let Some(block) = self.bounds.highest(Self::floor(best, errors)) {
            if self.check_block(checks, block, slack) {
                continue;
            }
            let score = self.score(block, beta, errors);
            if best < score {
                checks.leader = Some(block);
            }
            best = best.max(score);
            if !all {
                all = true;
                let floor = Self::floor(best, errors);
                let mut from = 0;
                while let Some(block) = self.bounds.reaching_from(from, floor) {
                    self.check_block(checks, block, slack);
                    from = block + 1;
                }
            }
        }
        best
    }

    /// Checks a block.
    ///
    /// Returns false if the block was checked this round already, or if checks do not suit it.
    fn check_block(&mut self, checks: &mut Checks, block: usize, slack: Slack) -> bool {
        if checks.checked[block] == checks.round {
            return false;
        }
        let Some((score, square)) = checks.bound(block, slack) else { return false };
        checks.checked[block] = checks.round;
        checks.bounded += 1;
        // For features, where no block is raised.
        let bound = &mut self.bounds.blocks.now[block];
        *bound = bound.min(score);
        self.bounds.bounded(block, score, square.sqrt(), slack.beta, &self.shared);
        self.cost.work += self.shared.order.size * (checks.work() + WORK_OF_A_SCORE);
        true
    }

    fn score(&mut self, block: usize, beta: f64, errors: ScoreErrors) -> f64 {
        let (score, square) = self.take(block, beta);
        self.bounds.blocks.now[block] = f64::NEG_INFINITY;
        self.bounds.bounded(block, score, (square + errors.variance).sqrt(), beta, &self.shared);
        self.scored.push(block as u32);
        score
    }
}
