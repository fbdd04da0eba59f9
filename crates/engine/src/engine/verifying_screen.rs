//! Compares every choice that follows from a screen's candidates with the best of all points in f64.

use super::decide::decide;
use privateer_backend::{BackendError, Counters, Screen};
use privateer_gp::score::{Candidates, ScoreModel, TrialScore, lowest_within_tie, tie_margin};

/// Wraps a screen, and counts the choices that are not the best.
pub(super) struct VerifyingScreen {
    screen: Box<dyn Screen>,
    n_points: u32,
    checked: Counters,
}

impl VerifyingScreen {
    /// Returns the screen, wrapped if its choices are to be compared.
    pub(super) fn around(screen: Box<dyn Screen>, n_points: usize, verify: bool) -> Box<dyn Screen> {
        if verify { Box::new(Self { screen, n_points: n_points as u32, checked: Counters::default() }) } else { screen }
    }
}

impl Screen for VerifyingScreen {
    fn begin(&mut self, trials: &[TrialScore<'_>]) -> Result<(), BackendError> {
        self.screen.begin(trials)
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], answers: &mut [Candidates]) -> Result<(), BackendError> {
        self.screen.finish(trials, answers)?;
        for (TrialScore { model, beta, subset, .. }, answer) in trials.iter().zip(answers.iter()) {
            // A score that is not finite is an error of the decision itself.
            let Ok(choice) = decide(answer, *model, *beta, &mut Vec::new()) else { continue };
            let (right, tied) = match subset {
                Some(set) => verified(choice, set.iter().copied(), *model, *beta),
                None => verified(choice, 0..self.n_points, *model, *beta),
            };
            self.checked.verified += 1;
            self.checked.wrong += u64::from(!right);
            self.checked.ties += u64::from(tied);
        }
        Ok(())
    }

    fn is_on_device(&self) -> bool {
        self.screen.is_on_device()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.screen.counters();
        counters.add(&self.checked);
        counters
    }
}

/// Compares a choice with the best of `points`, all scored in f64.
///
/// Returns whether it is the best, and whether others lie within the tie tolerance of the largest score.
fn verified(choice: usize, points: impl Iterator<Item = u32>, model: &dyn ScoreModel, beta: f64) -> (bool, bool) {
    let scores: Vec<(u32, f64)> = points.map(|point| (point, model.exact(point as usize).upper(beta))).collect();
    let best = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    let floor = best - tie_margin(best);
    let tied = 1 < scores.iter().filter(|(_, score)| floor <= *score).count();
    (lowest_within_tie(&scores) == Some(choice as u32), tied)
}
