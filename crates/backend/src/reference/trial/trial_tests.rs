//! Plays the loop beside the CPU path, over random and hard cases, and with planted faults.

use super::LoopTrial;
use super::errors::{LoopFactor, U};
use super::posterior::LoopPosterior;
use crate::device::loop_domain::LoopDomain;
use crate::reference::cases::{CaseDraws, TestBasis, doubled};
use crate::{Backend, Cpu, Screen};
use privateer_gp::posterior::{FeaturePosterior, Posterior};
use privateer_gp::score::{Basis, Candidates, FactorGrowth, FeatureTable, ScoreModel, TrialScore, lowest_within_tie};
use std::sync::Arc;

/// A trial as the host plays it: the CPU's screen, and exact scores of its candidates.
struct Canonical {
    model: FeaturePosterior,
    screen: Box<dyn Screen>,
}

impl Canonical {
    fn new(table: &Arc<FeatureTable>, ridge: f64) -> Self {
        let screen = Cpu::default().prepare(&Basis::Table(Arc::clone(table))).expect("the processor").open(1);
        Self { model: FeaturePosterior::new(Arc::clone(table), ridge), screen }
    }

    fn decide(&mut self, least: f64, growth: FactorGrowth) -> u32 {
        let beta = grown(least, growth, self.model.information_gain());
        let mut found = [Candidates::default()];
        let request = TrialScore::new(0, self.model.change(), beta, &self.model);
        self.screen.round(&[request], &mut found).expect("a round");
        self.model.screened();
        let exact = |&point: &u32| (point, self.model.exact(point as usize).upper(beta));
        lowest_within_tie(&found[0].points.iter().map(exact).collect::<Vec<_>>()).expect("finite scores")
    }
}

/// Returns an exploration factor at a gain.
fn grown(least: f64, growth: FactorGrowth, gain: f64) -> f64 {
    let FactorGrowth { slope, offset } = growth;
    least + slope * (libm::sqrt(gain + offset) - libm::sqrt(offset))
}

const GROWTHS: [FactorGrowth; 2] = [FactorGrowth { slope: 1.5, offset: 0.0 }, FactorGrowth { slope: 0.3, offset: 2.3 }];

/// A trial's surroundings: what every round has, and the values of the function.
struct Surroundings {
    table: Arc<FeatureTable>,
    ridge: f64,
    growth: FactorGrowth,
    rounds: Vec<(f64, f64)>,
    values: Vec<f64>,
    /// The values as the loop has them.
    near: Vec<f64>,
}

impl Surroundings {
    fn new(draws: &mut CaseDraws, table: Arc<FeatureTable>, ridge: f64, beta: f64, n_rounds: usize) -> Self {
        // A linear function of the features, so that rounds settle.
        let weights = draws.numbers(table.n_features, -1.0, 1.0);
        let value = |x: usize| table.row(x).iter().zip(&weights).map(|(c, w)| c * w).sum();
        let values: Vec<f64> = (0..table.n_points).map(value).collect();
        let near = values.clone();
        let rounds = (0..n_rounds).map(|_| (beta, draws.number(-0.1, 0.1))).collect();
        Self { table, ridge, growth: FactorGrowth::default(), rounds, values, near }
    }

    fn trial(&self) -> LoopTrial {
        let domain = LoopDomain::new(&Basis::Table(Arc::clone(&self.table))).expect("features");
        LoopTrial::new(Arc::new(domain), self.ridge, self.growth)
    }

    /// Plays all rounds on the device, with the host's choice where it must decide; returns actions and undecided rounds.
    fn play(&self, mut trial: LoopTrial) -> (Vec<u32>, usize) {
        let (mut actions, mut forced) = (Vec::new(), 0);
        while actions.len() < self.rounds.len() {
            trial.play(&self.rounds[actions.len()..], &self.near, &mut actions);
            if let Some(&(beta, noise)) = self.rounds.get(actions.len()) {
                forced += 1;
                let point = self.replay(&actions).expect("certified actions").decide(beta, self.growth);
                actions.push(point);
                trial.observe(point, self.values[point as usize] + noise);
            }
        }
        (actions, forced)
    }

    /// Replays actions with choices; returns the state after them, or the first round that the host plays otherwise.
    fn replay(&self, actions: &[u32]) -> Result<Canonical, usize> {
        let mut host = Canonical::new(&self.table, self.ridge);
        for (round, (&action, &(beta, noise))) in actions.iter().zip(&self.rounds).enumerate() {
            if host.decide(beta, self.growth) != action {
                return Err(round);
            }
            host.model.observe(action as usize, self.values[action as usize] + noise);
        }
        Ok(host)
    }
}

/// Every certified action is the host's, over random tables and hard ones; nearly all rounds are certified.
#[test]
fn certified_actions_are_those_of_the_host() {
    let mut draws = CaseDraws(54);
    let mut cases = Vec::new();
    for (ridge, beta) in [(1e-2, 2.0), (1e-2, 0.0), (1e-4, 0.5), (1e-6, 2.0)] {
        let table = TestBasis::smooth(&mut draws, 700);
        if 1e-6 < ridge {
            // Below, the distance exceeds the tolerance, and no tie is certain.
            cases.push((doubled(&table), ridge, beta));
        }
        cases.push((table, ridge, beta));
        cases.push((TestBasis::features(&mut draws, 300, 7).table(), ridge, beta));
    }
    let growths = [FactorGrowth::default()].into_iter().chain(GROWTHS);
    for (case, ((table, ridge, beta), growth)) in cases.into_iter().cycle().zip(growths.flat_map(|one| [one; 10])).enumerate() {
        let around = Surroundings { growth, ..Surroundings::new(&mut draws, table, ridge, beta, 60) };
        let (actions, forced) = around.play(around.trial());
        // A round that the host decides replays the actions before it; this replays the last ones.
        assert_eq!(around.replay(&actions).err(), None, "case {case}");
        assert!(forced <= 3, "case {case}: {forced} rounds undecided at a ridge of {ridge}");
    }
}

/// Values that are off by their bound change no certified action, and leave more rounds to the host; without the bound they do.
#[test]
fn values_off_by_their_bound_change_no_action() {
    let mut draws = CaseDraws(59);
    let (mut wrong, mut left) = (0, 0);
    for off in [1e-12, 1e-9, 1e-4, 1e-3, 1e-2, 0.1, 0.3] {
        let table = TestBasis::smooth(&mut draws, 700);
        let mut around = Surroundings::new(&mut draws, table, 1e-2, 0.5, 60);
        around.near.iter_mut().for_each(|value| *value += draws.number(-off, off));
        let (actions, forced) = around.play(around.trial().off_by(off));
        assert_eq!(around.replay(&actions).err(), None, "{off}");
        assert!(1e-9 < off || forced <= 3, "{off}: {forced} rounds undecided");
        left += forced;
        // The host decides the first round.
        let (mut unbounded, mut trial) = (vec![actions[0]], around.trial());
        trial.observe(actions[0], around.values[actions[0] as usize] + around.rounds[0].1);
        trial.play(&around.rounds[1..], &around.near, &mut unbounded);
        wrong += usize::from(around.replay(&unbounded).is_err());
    }
    assert!(0 < wrong && 20 < left, "{wrong} trials without a bound are wrong, {left} rounds were left: nothing was tested");
}

/// A ridge that rounding hides leaves every round to the host.
#[test]
fn a_ridge_without_a_bound_is_not_decided() {
    let mut draws = CaseDraws(57);
    let table = TestBasis::smooth(&mut draws, 300);
    let domain = LoopDomain::new(&Basis::Table(table)).expect("features");
    let mut trial = LoopTrial::new(Arc::new(domain), 1e-13, FactorGrowth::default());
    trial.observe(5, 0.1);
    assert_eq!((trial.decide(2.0), trial.recommend()), (None, None));
}

/// Factors between no gain and the largest are within the roundings that are counted.
#[test]
fn growing_factors_lie_on_their_curve() {
    for (a, b, offset) in [(1.0, 0.3, 0.0), (0.0, 14.0, 2.3), (5.0, 1e-3, 700.0)] {
        let exact = |gain: f64| a + b * libm::sqrt(gain + offset);
        let growth = FactorGrowth::between(exact(0.0), exact(FactorGrowth::MOST_GAIN), offset);
        for gain in [1e-9, 0.1, 3.0, 50.0, 2006.0] {
            let apart = (grown(exact(0.0), growth, gain) - exact(gain)).abs();
            assert!(apart <= 128.0 * U * exact(gain), "{a} + {b} sqrt({gain} + {offset}) is off by {apart:e}");
        }
    }
}

/// Every certified recommendation is the host's, also among points that stand twice; nearly all are certified.
#[test]
fn certified_recommendations_are_those_of_the_host() {
    let mut draws = CaseDraws(59);
    let smooth = TestBasis::smooth(&mut draws, 300);
    for (table, ridge) in [(doubled(&smooth), 1e-2), (doubled(&smooth), 1e-4), (smooth, 1e-6)] {
        let around = Surroundings::new(&mut draws, table, ridge, 1.0, 200);
        let (mut trial, mut host) = (around.trial(), FeaturePosterior::new(Arc::clone(&around.table), ridge));
        let (mut open, n_points) = (0, around.values.len());
        for (_, noise) in &around.rounds {
            let point = (23 * draws.below(12) + n_points / 2 * draws.below(2)).min(n_points - 1);
            let reward = around.values[point] + noise;
            trial.observe(point as u32, reward);
            host.observe(point, reward);
            match trial.recommend() {
                Some(named) => assert_eq!(Some(named as usize), host.recommend(), "ridge {ridge}"),
                None => open += 1,
            }
        }
        assert!(open <= 3, "{open} recommendations undecided at a ridge of {ridge}");
    }
}

/// The scores of the loop's posterior stay within the stated distance of the model that decides, also after many rotations.
#[test]
fn the_distance_bounds_what_the_models_differ_by() {
    let mut draws = CaseDraws(58);
    for (ridge, off) in [(1e-2, 0.0), (1e-4, 0.0), (1e-6, 0.0), (1e-2, 1e-8), (1e-4, 1e-8)] {
        let table = TestBasis::smooth(&mut draws, 600);
        let domain = LoopDomain::new(&Basis::Table(Arc::clone(&table))).expect("features");
        let (mut own, mut host) = (LoopPosterior::new(&domain, ridge), FeaturePosterior::new(table, ridge));
        own.errors.rewards = off;
        let mut differs = false;
        for _ in 0..300 {
            let (point, reward) = (17 * draws.below(30), draws.number(-1.0, 1.0));
            own.observe(&domain, point as u32, reward + draws.number(-off, off)).expect("room");
            host.observe(point, reward);
            let (k, open) = (own.n_factored() as f64, own.streak_size());
            let distance = own.errors.distance(k, &open).expect("a bound");
            for growth in GROWTHS {
                let LoopFactor { beta, error } = own.errors.factor(k, &open, 0.5, growth);
                let apart = (beta - grown(0.5, growth, host.information_gain())).abs();
                assert!(apart <= error && error < 1e-3, "{ridge}: factor off by {apart:e}, bound {error:e}");
            }
            for _ in 0..4 {
                let point = draws.below(600);
                let (found, exact) = (own.evaluate(&domain, point as u32), host.exact(point));
                let residual = domain.scale.residual(point);
                let deviation = found.variance.max(0.0).sqrt();
                let [of_mean, of_variance] =
                    [(found.mean - exact.mean).abs(), (residual + found.variance.max(0.0) - exact.variance).abs()];
                let rounded = distance.variance_rounding + 2.0 * distance.deviation_rounding * deviation;
                assert!(of_mean <= distance.mean * deviation + distance.mean_rounding, "{ridge}: mean off by {of_mean:e}");
                assert!(of_variance <= distance.share * found.variance.max(0.0) + rounded, "{ridge}: by {of_variance:e}");
                differs |= of_mean != 0.0;
            }
        }
        assert!(differs, "both models have the same bits: nothing was compared");
    }
}
