//! Scores transcripts: the linear discriminant of releases, and a logistic fit on plays.

use super::logistic;
use crate::audit::fit::discriminant;
use privateer_engine::engine::{Quantity, Trace};
use privateer_numerics::linalg::dot;

/// Number of groups in which points, arms or regrets are counted.
const GROUPS: usize = 24;
/// Row width: counts of each group, the indicator of the first row's group, and a constant.
const WIDTH: usize = 2 * GROUPS + 1;

/// Holds rows of one width, one per replay, of either side.
pub(super) struct Transcripts {
    pub(super) width: usize,
    pub(super) first: Vec<f64>,
    pub(super) second: Vec<f64>,
}

impl Transcripts {
    /// Scores the second half of either side by the linear discriminant fitted on the first half.
    ///
    /// It is the likelihood ratio if both sides are normal with the same covariance.
    pub(super) fn discriminant(&self) -> (Vec<f64>, Vec<f64>) {
        let weights = discriminant(self.width, self.fitted(&self.first), self.fitted(&self.second));
        (self.scored(&self.first, &weights), self.scored(&self.second, &weights))
    }

    /// Scores the second half of either side by a logistic fit on the first half.
    pub(super) fn logistic(&self) -> (Vec<f64>, Vec<f64>) {
        let (one, other) = (self.fitted(&self.first), self.fitted(&self.second));
        let labels: Vec<bool> = (0..(one.len() + other.len()) / self.width).map(|row| row < one.len() / self.width).collect();
        let weights = logistic::fit(&[one, other].concat(), self.width, &labels);
        (self.scored(&self.first, &weights), self.scored(&self.second, &weights))
    }

    /// Scores all rows of either side by a formula.
    pub(super) fn scores(&self, score: impl Fn(&[f64]) -> f64) -> (Vec<f64>, Vec<f64>) {
        let of = |rows: &[f64]| rows.chunks_exact(self.width).map(&score).collect();
        (of(&self.first), of(&self.second))
    }

    fn fitted<'a>(&self, rows: &'a [f64]) -> &'a [f64] {
        &rows[..rows.len() / self.width / 2 * self.width]
    }

    fn scored(&self, rows: &[f64], weights: &[f64]) -> Vec<f64> {
        rows[self.fitted(rows).len()..].chunks_exact(self.width).map(|row| dot(row, weights)).collect()
    }
}

/// Counts what was played after round 1, among `n_points` points or arms.
///
/// Plays without a number are grouped by their regret.
pub(super) fn played(rows: &Trace, samples: u64, n_points: usize) -> Transcripts {
    let mut all = vec![0.0; 2 * samples as usize * WIDTH];
    // The scale uses only the replays of the fit, independently of the judged ones. Larger regrets fall into the last group.
    let fits = |trial: u32| u64::from(trial) % samples < samples / 2;
    let fitting = rows.trial.iter().zip(&rows[Quantity::Regret]).filter(|(trial, _)| fits(**trial));
    let largest = fitting.fold(f64::MIN_POSITIVE, |largest, (_, &regret)| largest.max(regret));
    let mut seen = vec![false; 2 * samples as usize];
    for (i, (&trial, &round)) in rows.trial.iter().zip(&rows.round).enumerate() {
        let row = &mut all[trial as usize * WIDTH..][..WIDTH];
        row[2 * GROUPS] = 1.0;
        let share = match rows.point[i] {
            Some(point) => point as f64 / n_points.max(1) as f64,
            None => rows[Quantity::Regret][i] / largest,
        };
        let group = ((share * GROUPS as f64) as usize).min(GROUPS - 1);
        if 1 < round {
            row[group] += 1.0;
            if !std::mem::replace(&mut seen[trial as usize], true) {
                row[GROUPS + group] = 1.0;
            }
        }
    }
    let second = all.split_off(samples as usize * WIDTH);
    Transcripts { width: WIDTH, first: all, second }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};

    /// The discriminant separates two correlated normal laws as far as they differ.
    ///
    /// Their means differ along one direction; a third entry that repeats the second does no harm.
    #[test]
    fn the_discriminant_finds_what_there_is() {
        let mut random = Streams::new(1, "fit").of(0, Purpose::Noise);
        let mut rows = |shift: f64| -> Vec<f64> {
            let mut row = || {
                let (a, b) = (random.normal(), random.normal());
                [a + shift, a + 0.5 * b, a + 0.5 * b]
            };
            (0..20_000).flat_map(|_| row()).collect()
        };
        let (first, second) = (rows(0.5), rows(-0.5));
        let (one, other) = Transcripts { width: 3, first, second }.discriminant();
        assert_eq!((one.len(), other.len()), (10_000, 10_000));
        let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
        let deviation =
            |scores: &[f64]| (scores.iter().map(|x| (x - mean(scores)).powi(2)).sum::<f64>() / scores.len() as f64).sqrt();
        // Given the second entry, a has variance 1 - 1/1.25: mu = 1/sqrt(0.2). The sampling error is about 1 %.
        let mu = (mean(&one) - mean(&other)) / deviation(&one);
        assert!((mu * 0.2_f64.sqrt() - 1.0).abs() < 0.05, "{mu}");
    }
}
