//! Computes how much of what can be learnt privacy leaves: 0 is guessing, 1 is the policy without privacy.

use super::cell_data::{CellData, problem_of};
use super::collect::ReportRun;
use super::stats::{Ratio, SampleMoments};
use crate::record::Quantity;

/// Width of an interval from which on the report says how many trials would do.
const WIDE: f64 = 0.3;

/// Says how much of what can be learnt a private cell learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What can be learnt: the quantity under guessing minus that of the reference, paired.
    pub learnt: SampleMoments,
    /// (guessing - private) / (guessing - reference), not clamped.
    ///
    /// `None` where the reference does not beat guessing beyond chance.
    pub left: Option<Ratio>,
}

impl Share {
    /// Computes the share of a private cell; `None` if nobody guesses.
    pub(super) fn of(run: &ReportRun, cell: &CellData, reference: &CellData, quantity: Quantity) -> Option<Self> {
        let gains: Vec<(f64, f64)> = gains(run, cell, quantity)?.into_iter().zip(gains(run, reference, quantity)?).collect();
        let learnt = SampleMoments::of(&gains.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
        let left = Ratio::signed(&gains).filter(|left| left.interval.is_some() || gains.len() < 2);
        Some(Self { learnt, left })
    }

    /// Returns how many trials would narrow a wide interval, as variances fall with one over their number.
    pub(super) fn enough_trials(&self, n_trials: u32) -> Option<u64> {
        let (low, high) = self.left?.interval.filter(|(low, high)| WIDE < high - low)?;
        let needed = f64::from(n_trials) * ((high - low) / WIDE) * ((high - low) / WIDE);
        let place = 10_f64.powi(needed.log10().floor() as i32 - 1).max(1.0);
        Some(((needed / place).ceil() * place) as u64)
    }
}

/// Returns what a cell gains over guessing in each trial.
fn gains(run: &ReportRun, cell: &CellData, quantity: Quantity) -> Option<Vec<f64>> {
    let sign = if quantity == run.words.measure && !run.words.less_is_better() { -1.0 } else { 1.0 };
    if quantity == Quantity::Suboptimality {
        return Some(cell.ends.iter().map(|end| 1.0 - cell.at_end(end, quantity)).collect());
    }
    let guess = guess(run, cell)?;
    // Who guesses recommends a point like those played, not the best of them.
    let (played, per) = match quantity {
        Quantity::RecommendedRegret => (Quantity::CumulativeRegret, f64::from(guess.last_round)),
        other => (other, 1.0),
    };
    let pairs = cell.ends.iter().zip(guess.ends.iter());
    Some(pairs.map(|(end, other)| sign * (guess.at_end(other, played) / per - cell.at_end(end, quantity))).collect())
}

/// Returns the cell that plays at random on the same problem.
pub(super) fn guess<'r>(run: &'r ReportRun, cell: &CellData) -> Option<&'r CellData> {
    run.index.guessing.get(&problem_of(cell)).map(|&guess| &run.cells[guess])
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, planted};
    use super::super::settings::Settings;
    use super::super::words::ReportWords;
    use super::*;
    use crate::record::Measures;
    use std::sync::Arc;

    /// A private policy's level, the share of it, and words of the headline.
    type Case = (fn(f64) -> f64, f64, &'static str);

    const GUESS: Planted = Planted { policy: "uniform", level: |_| 240.0, ..OPEN };

    /// Returns a run in which guessing loses 240, the reference 40 and the private policy `level`.
    fn losing(level: fn(f64) -> f64) -> ReportRun {
        planted(&[1.0], &[Planted { level, ..PRIVATE }, OPEN, GUESS], 6)
    }

    /// Replaces what each trial of a cell lost.
    fn lose(run: &mut ReportRun, cell: usize, losses: impl Fn(f64) -> f64) {
        Arc::make_mut(&mut run.cells[cell].ends).iter_mut().for_each(|end| end.values[1] = losses(f64::from(end.trial)));
    }

    fn share(run: &ReportRun) -> Share {
        Share::of(run, &run.cells[0], &run.cells[1], Quantity::CumulativeRegret).expect("somebody guesses")
    }

    fn said(run: &ReportRun) -> String {
        let answer = Answer::of(run, &Settings::of(run));
        let n_words = answer.lead.join(" ").split(' ').filter(|word| word.contains(char::is_alphanumeric)).count();
        assert!(answer.lead.len() <= 2 && n_words <= 40, "{:?}", answer.lead);
        [answer.lead, answer.details].concat().join(" ")
    }

    #[test]
    fn planted_shares_are_found_and_said() {
        let levels: [Case; 5] = [
            (|_| 40.0, 1.0, "At ε = 1 the only private policy, tgp-ucb, keeps 100 % of what can be learnt. "),
            (|_| 240.0, 0.0, "keeps 0 % of what can be learnt, not distinguishable from guessing. "),
            (|_| 340.0, -0.5, "keeps -50 % of what can be learnt, worse than guessing. "),
            (|_| 20.0, 1.1, "keeps 110 % of what can be learnt, more than without privacy. "),
            (
                |_| 90.0,
                0.75,
                "75 % of what can be learnt. Final cumulative regret after 400 rounds, at ε = 1: 240.0 ± 5.7 by guessing, 90.0 ± 5.7",
            ),
        ];
        for (level, expected, words) in levels {
            let run = losing(level);
            let left = share(&run).left.expect("the reference learns");
            let (low, high) = left.interval.expect("six trials");
            assert!((left.value - expected).abs() + (low - expected).abs() + (high - expected).abs() < 1e-6, "{left:?}");
            assert!(said(&run).contains(words), "{}", said(&run));
            assert!(said(&run).contains("cost nothing in a simulation and epsilon in life"), "{}", said(&run));
        }
    }

    /// Noise teaches nothing: a reference that is worse than its private twin beyond chance is named, on the page and at its end.
    #[test]
    fn a_reference_that_noise_beats_is_named() {
        let named = |run: &ReportRun| said(run).contains("“igp-ucb” does worse than tgp-ucb");
        for (level, is_named) in [(20.0, true), (39.0, false), (40.0, false), (90.0, false)] {
            let mut run = losing(|_| 40.0);
            lose(&mut run, 0, |trial| level + 7.0 * (trial % 2.0));
            lose(&mut run, 1, |trial| 40.0 + 7.0 * (trial % 2.0));
            assert_eq!(named(&run), is_named, "{level}: {}", said(&run));
            // Chance of the size of the difference says nothing.
            lose(&mut run, 1, |trial| 40.0 + 47.0 * (trial % 2.0) - 20.0);
            assert!(!named(&run), "{level}: {}", said(&run));
        }
    }

    #[test]
    fn a_reference_that_learns_nothing_is_the_headline() {
        let mut run = losing(|_| 90.0);
        lose(&mut run, 1, |trial| 230.0 + 18.0 * (trial % 2.0));
        lose(&mut run, 2, |_| 240.0);
        let found = share(&run);
        assert_eq!(found.left, None);
        assert!(found.learnt.low() <= Some(0.0) && Some(0.0) <= found.learnt.high());
        let said = said(&run);
        let first = "At ε = 1 nothing can be said of the only private policy, tgp-ucb, because its reference “igp-ucb” does not beat \
                     guessing beyond chance.";
        assert!(said.starts_with(first), "{said}");
        assert!(
            said.contains("Look at clip, bound, kernel and exploration factor") && !said.contains("of what can be learnt"),
            "{said}"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let text = said(&planted(&[1.0], &[PRIVATE, OPEN], 6));
        assert!(
            text.contains("add a policy that guesses (`kind = \"uniform\"`) and tgp-ucb with `privacy = { mechanism"),
            "{text}"
        );
        let text = said(&planted(&[1.0], &[PRIVATE, GUESS], 6));
        assert!(text.contains("± 5.7 by guessing, 100.0 ± 5.7 with privacy. Missing for a comparison with the same policy: add tgp-ucb with `privacy = { mechanism"), "{text}");
    }

    /// A learner is compared with its starting point, whose suboptimality is 1 by definition.
    #[test]
    fn learners_need_nobody_who_guesses() {
        let mut run = losing(|_| 90.0);
        run.words = ReportWords::of(Measures::Risk, false, None);
        for (cell, left) in [(0, 0.625), (1, 0.5), (2, 1.25)] {
            run.cells[cell].info_mut().measures = Measures::Risk;
            Arc::make_mut(&mut run.cells[cell].ends).iter_mut().for_each(|end| end.values = vec![0.0, left].into());
        }
        let text = said(&run);
        assert!(text.contains("tgp-ucb, keeps 75 % of what can be learnt. Final suboptimality"), "{text}");
        assert!(text.contains("1 at the starting point, 0.625 ± 0 with privacy") && !text.contains("dd a "), "{text}");
    }

    #[test]
    fn one_trial_has_a_share_without_an_interval() {
        let run = planted(&[1.0], &[PRIVATE, OPEN, GUESS], 1);
        assert_eq!(share(&run).left, Some(Ratio { value: 0.7, interval: None }));
        assert!(said(&run).contains("One trial tells nothing about chance"), "{}", said(&run));
    }

    /// Rewards in another unit, or shifted together with the best one, are the same problem.
    #[test]
    fn scale_and_shift_change_no_share() {
        let mut run = losing(|_| 90.0);
        lose(&mut run, 0, |trial| 90.0 + 7.0 * (trial % 3.0));
        let before = share(&run).left.expect("the reference learns");
        for cell in 0..3 {
            Arc::make_mut(&mut run.cells[cell].ends)
                .iter_mut()
                .for_each(|end| end.values[1] = 1e-3 * (end.values[1] + 17.0 * f64::from(end.trial)));
        }
        let after = share(&run).left.expect("the reference learns");
        let ((low, high), (new_low, new_high)) = before.interval.zip(after.interval).expect("bounded");
        assert!(
            (before.value - after.value).abs() + (low - new_low).abs() + (high - new_high).abs() < 1e-9,
            "{before:?} {after:?}"
        );
        assert!(low < high, "{before:?}");
    }

    /// Recommendations are compared with a random point, and a wide interval names the trials that narrow it.
    #[test]
    fn recommendations_and_wide_intervals_are_said() {
        let mut run = losing(|_| 90.0);
        for (cell, recommended) in [(0, 0.3), (1, 0.1), (2, 0.2)] {
            Arc::make_mut(&mut run.cells[cell].ends).iter_mut().for_each(|end| end.values[3] = recommended);
        }
        // A random point loses 240 / 400 a round: (0.6 - 0.3) / (0.6 - 0.1).
        assert!(said(&run).contains("In the regret of the recommended point the share is 60 % ("), "{}", said(&run));
        assert_eq!(share(&run).enough_trials(6), None);
        lose(&mut run, 0, |trial| 90.0 + 100.0 * (trial % 2.0));
        let found = share(&run);
        let (low, high) = found.left.and_then(|left| left.interval).expect("bounded");
        let enough = found.enough_trials(6).expect("wide");
        assert!(((high - low) * (6.0 / enough as f64).sqrt() - WIDE).abs() < 0.02, "{enough} for {low} to {high}");
        assert!(said(&run).contains(" trials would narrow it to 30 points."), "{}", said(&run));
    }
}
