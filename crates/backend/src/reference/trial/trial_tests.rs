//! Plays the loop beside the CPU path, over random and hard cases, and with planted faults.

use super::LoopTrial;
use super::posterior::LoopPosterior;
use crate::device::loop_domain::LoopDomain;
use crate::reference::cases::{CaseDraws, TestBasis, doubled};
use crate::{Backend, Cpu, Screen};
use privateer_gp::posterior::{FeaturePosterior, Posterior};
use privateer_gp::score::{Basis, Candidates, FeatureTable, ScoreModel, TrialScore, lowest_within_tie};
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

    fn decide(&mut self, beta: f64) -> u32 {
        let mut found = [Candidates::default()];
        let request = TrialScore::new(0, self.model.change(), beta, &self.model);
        self.screen.round(&[request], &mut found).expect("a round");
        self.model.screened();
        let exact = |&point: &u32| (point, self.model.exact(point as usize).upper(beta));
        lowest_within_tie(&found[0].points.iter().map(exact).collect::<Vec<_>>()).expect("finite scores")
    }
}

/// A trial's surroundings: what every round has, and the values of the function.
struct Surroundings {
    table: Arc<FeatureTable>,
    ridge: f64,
    rounds: Vec<(f64, f64)>,
    values: Vec<f64>,
}

impl Surroundings {
    fn new(draws: &mut CaseDraws, table: Arc<FeatureTable>, ridge: f64, beta: f64, n_rounds: usize) -> Self {
        // A linear function of the features, so that rounds settle.
        let weights = draws.numbers(table.n_features, -1.0, 1.0);
        let value = |x: usize| table.row(x).iter().zip(&weights).map(|(c, w)| c * w).sum();
        let values = (0..table.n_points).map(value).collect();
        let rounds = (0..n_rounds).map(|_| (beta, draws.number(-0.1, 0.1))).collect();
        Self { table, ridge, rounds, values }
    }

    fn trial(&self) -> LoopTrial {
        LoopTrial::new(Arc::new(LoopDomain::new(&Basis::Table(Arc::clone(&self.table))).expect("features")), self.ridge)
    }

    /// Plays all rounds on the device, with the host's choice where it must decide; returns actions and undecided rounds.
    fn play(&self, mut trial: LoopTrial) -> (Vec<u32>, usize) {
        let (mut actions, mut forced) = (Vec::new(), 0);
        while actions.len() < self.rounds.len() {
            trial.play(&self.rounds[actions.len()..], &self.values, &mut actions);
            if let Some(&(beta, noise)) = self.rounds.get(actions.len()) {
                forced += 1;
                let point = self.replay(&actions).expect("certified actions").decide(beta);
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
            if host.decide(beta) != action {
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
    for (case, (table, ridge, beta)) in cases.into_iter().enumerate() {
        let around = Surroundings::new(&mut draws, table, ridge, beta, 60);
        let (actions, forced) = around.play(around.trial());
        // A round that the host decides replays the actions before it; this replays the last ones.
        assert_eq!(around.replay(&actions).err(), None, "case {case}");
        assert!(forced <= 3, "case {case}: {forced} rounds undecided at a ridge of {ridge}");
    }
}

/// A ridge that rounding hides leaves every round to the host.
#[test]
fn a_ridge_without_a_bound_is_not_decided() {
    let mut draws = CaseDraws(57);
    let table = TestBasis::smooth(&mut draws, 300);
    let mut trial = LoopTrial::new(Arc::new(LoopDomain::new(&Basis::Table(table)).expect("features")), 1e-13);
    trial.observe(5, 0.1);
    assert_eq!(trial.decide(2.0), None);
}

/// The scores of the loop's posterior stay within the stated distance of the model that decides, also after many rotations.
#[test]
fn the_distance_bounds_what_the_models_differ_by() {
    let mut draws = CaseDraws(58);
    for ridge in [1e-2, 1e-4, 1e-6] {
        let table = TestBasis::smooth(&mut draws, 600);
        let domain = LoopDomain::new(&Basis::Table(Arc::clone(&table))).expect("features");
        let (mut own, mut host) = (LoopPosterior::new(&domain, ridge), FeaturePosterior::new(table, ridge));
        let mut differs = false;
        for _ in 0..300 {
            let (point, reward) = (17 * draws.below(30), draws.number(-1.0, 1.0));
            own.observe(&domain, point as u32, reward).expect("room");
            host.observe(point, reward);
            let distance = own.errors.distance(own.n_factored() as f64, &own.streak_size()).expect("a bound");
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
