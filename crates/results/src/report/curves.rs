//! Computes regret curves of one cell: means at all recorded rounds, distributions at a few.

use super::stats::{Quantiles, SampleMoments, exponent, known};
use std::sync::Arc;

/// Largest number of rounds of a cell for which each trial's value is stored.
pub(super) const N_KEPT: usize = 200;

/// Moments and quantiles over trials at one round.
pub(super) type CurvePoint = (Option<SampleMoments>, Option<Quantiles>);

/// Holds the cumulative regret over trials at the stored rounds.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Stored rounds, ascending, including the last one; cells share them.
    pub(super) rounds: Arc<[u32]>,
    values: CurveValues,
}

/// Holds a curve in the form that takes less memory.
#[derive(Clone, Debug)]
enum CurveValues {
    /// Few trials: the value of each, round by round.
    Trials(Box<[f64]>),
    /// Many trials: what is computed from their values, one entry per round.
    Points(Box<[CurvePoint]>),
}

impl Curve {
    /// Returns the stored rounds with the numbers at them.
    pub(super) fn points(&self) -> impl Iterator<Item = (u32, CurvePoint)> {
        let at = |place: usize| match &self.values {
            CurveValues::Trials(values) => {
                let n_trials = values.len() / self.rounds.len();
                point(&values[place * n_trials..][..n_trials])
            }
            CurveValues::Points(points) => points[place],
        };
        self.rounds.iter().enumerate().map(move |(place, round)| (*round, at(place)))
    }
}

fn point(values: &[f64]) -> CurvePoint {
    let known = known(values);
    (SampleMoments::of(&known), Quantiles::of(&known))
}

/// Collects the trials of a cell one after another.
pub(super) struct CurveBuilder {
    rounds: Vec<u32>,
    sums: Vec<f64>,
    kept: Vec<usize>,
    values: Vec<Vec<f64>>,
    n_trials: usize,
}

impl CurveBuilder {
    pub(super) fn new(rounds: &[u32]) -> Self {
        let kept = kept_rounds(rounds);
        Self { rounds: rounds.to_vec(), sums: vec![0.0; rounds.len()], values: vec![Vec::new(); kept.len()], kept, n_trials: 0 }
    }

    /// Returns whether a trial was recorded at the same rounds as the first one.
    pub(super) fn accepts(&self, rounds: &[u32]) -> bool {
        self.rounds == rounds
    }

    /// Adds one trial's cumulative regret, one number per recorded round.
    pub(super) fn add(&mut self, cumulative: &[f64]) {
        self.n_trials += 1;
        for (sum, value) in self.sums.iter_mut().zip(cumulative) {
            *sum += value;
        }
        for (values, at) in self.values.iter_mut().zip(&self.kept) {
            values.push(cumulative[*at]);
        }
    }

    /// Returns the curve and the fitted exponent.
    ///
    /// Where `answers_late`, the curve begins with the first answer: the rounds before it repeat the starting point.
    pub(super) fn finish(mut self, answers_late: bool) -> (Curve, Option<f64>) {
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.n_trials as f64).collect();
        let starts = |values: &Vec<f64>| values.iter().all(|value| *value == 1.0);
        let n_before = if answers_late { self.values.iter().take_while(|values| starts(values)).count() } else { 0 };
        if n_before < self.values.len() {
            self.kept.drain(..n_before);
            self.values.drain(..n_before);
        }
        let rounds = self.kept.iter().map(|at| self.rounds[*at]).collect();
        let values = if self.n_trials * size_of::<f64>() < size_of::<CurvePoint>() {
            CurveValues::Trials(self.values.concat().into())
        } else {
            CurveValues::Points(self.values.iter().map(|values| point(values)).collect())
        };
        (Curve { rounds, values }, exponent(&self.rounds, &means))
    }
}

/// Returns the indices of the rounds to store.
///
/// All rounds are stored if they are few. Otherwise half of the stored ones are evenly spaced and half evenly spaced in the
/// logarithm, so that both kinds of axis are well covered.
fn kept_rounds(rounds: &[u32]) -> Vec<usize> {
    let n = rounds.len();
    if n <= N_KEPT {
        return (0..n).collect();
    }
    let half = N_KEPT / 2;
    let (first, last) = (f64::from(rounds[0].max(1)), f64::from(rounds[n - 1].max(1)));
    let mut kept: Vec<usize> = (0..half).map(|i| i * (n - 1) / (half - 1)).collect();
    for i in 0..half {
        let round = first * (last / first).powf(i as f64 / (half - 1) as f64);
        kept.push(rounds.partition_point(|&known| f64::from(known) < round).min(n - 1));
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rounds_span_the_run() {
        for n in [1_u32, 2, 200, 201, 5000, 100_000] {
            let rounds: Vec<u32> = (1..=n).collect();
            let kept = kept_rounds(&rounds);
            assert!(kept.len() <= N_KEPT && kept.is_sorted(), "{n}");
            assert_eq!((kept[0], *kept.last().expect("last")), (0, n as usize - 1));
        }
        assert!(kept_rounds(&[]).is_empty());
    }

    #[test]
    fn means_and_exponent_come_from_all_rounds() {
        let rounds: Vec<u32> = (1..=1000).collect();
        let mut builder = CurveBuilder::new(&rounds);
        for scale in [1.0, 3.0] {
            builder.add(&rounds.iter().map(|&t| scale * f64::from(t).sqrt()).collect::<Vec<_>>());
        }
        assert!(builder.accepts(&rounds) && !builder.accepts(&rounds[1..]));
        let (curve, exponent) = builder.finish(false);
        assert_eq!(curve.points().last().and_then(|(_, (moments, _))| moments).expect("last").mean, 2.0 * 1000.0_f64.sqrt());
        assert!((exponent.expect("fitted") - 0.5).abs() < 1e-12);
    }

    /// A curve over few trials holds their values, and gives the same numbers.
    #[test]
    fn points_are_those_of_all_trials() {
        for n_trials in [1, 3, 12, 13, 40] {
            let value = |trial: u32, round: u32| if trial == 1 { f64::NAN } else { f64::from(trial * trial + round) };
            let mut builder = CurveBuilder::new(&[1, 2, 3]);
            (0..n_trials).for_each(|trial| builder.add(&[1, 2, 3].map(|round| value(trial, round))));
            let (curve, _) = builder.finish(false);
            assert_eq!(matches!(curve.values, CurveValues::Trials(_)), n_trials <= 12);
            let expected = [1, 2, 3].map(|round| {
                let known: Vec<f64> = (0..n_trials).filter(|trial| *trial != 1).map(|trial| value(trial, round)).collect();
                (round, (SampleMoments::of(&known), Quantiles::of(&known)))
            });
            assert_eq!(curve.points().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn late_learners_begin_with_their_first_answer() {
        let mut builder = CurveBuilder::new(&[1, 2, 3, 4]);
        builder.add(&[1.0, 1.0, 0.5, 0.25]);
        let (curve, _) = builder.finish(true);
        assert_eq!(*curve.rounds, [3, 4]);
    }
}
