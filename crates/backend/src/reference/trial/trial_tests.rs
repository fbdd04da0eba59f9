//! Plays the loop beside the CPU path, over random and hard cases, and with planted faults.

use super::LoopTrial;
use super::errors::{LoopFactor, U};
use super::posterior::LoopPosterior;
use crate::device::loop_domain::LoopDomain;
use crate::reference::cases::{CaseDraws, TestBasis, TestGram, doubled};
use crate::{Backend, Cpu, Screen};
use privateer_gp::features::exact::exact;
use privateer_gp::features::largest_error;
use privateer_gp::posterior::{ExactPosterior, FeaturePosterior, Posterior};
use privateer_gp::score::{Basis, Candidates, FactorGrowth, GramSource, KernelFamily, TrialScore, lowest_within_tie};
use std::sync::Arc;

/// A trial as the host plays it: the CPU's screen, and exact scores of its candidates.
struct Canonical {
    model: Box<dyn Posterior>,
    screen: Box<dyn Screen>,
}

/// Returns the posterior of the host.
fn posterior(basis: &Basis, ridge: f64) -> Box<dyn Posterior> {
    match basis {
        Basis::Table(table) => Box::new(FeaturePosterior::new(Arc::clone(table), ridge)),
        Basis::Gram(gram) => Box::new(ExactPosterior::new(Arc::clone(gram), ridge)),
        Basis::Own(_) => unreachable!("a shared basis"),
    }
}

impl Canonical {
    fn new(basis: &Basis, ridge: f64) -> Self {
        let screen = Cpu::default().prepare(basis).expect("the processor").open(1);
        Self { model: posterior(basis, ridge), screen }
    }

    fn decide(&mut self, least: f64, growth: FactorGrowth) -> u32 {
        let beta = grown(least, growth, self.model.information_gain());
        let mut found = [Candidates::default()];
        let request = TrialScore::new(0, self.model.change(), beta, self.model.as_ref());
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

/// Draws points of a line or of the plane with one of three covariances; every point can stand twice.
fn covariance(draws: &mut CaseDraws, kind: usize, twice: bool) -> Basis {
    let (family, n, dimension) =
        [(KernelFamily::SquaredExponential, 600, 2), (KernelFamily::MaternFiveHalves, 200, 2), (KernelFamily::MaternHalf, 5, 1)]
            [kind];
    let mut gram = TestGram::smooth(draws, family, n, dimension);
    if twice {
        gram.form.points = [&gram.form.points[..], &gram.form.points[..]].concat().into();
    }
    Basis::Gram(Arc::new(gram))
}

const GROWTHS: [FactorGrowth; 2] = [FactorGrowth { slope: 1.5, offset: 0.0 }, FactorGrowth { slope: 0.3, offset: 2.3 }];

/// A trial's surroundings: what every round has, and the values of the function.
struct Surroundings {
    basis: Basis,
    domain: Arc<LoopDomain>,
    ridge: f64,
    growth: FactorGrowth,
    rounds: Vec<(f64, f64)>,
    values: Vec<f64>,
    /// The values as the loop has them.
    near: Vec<f64>,
}

impl Surroundings {
    fn new(draws: &mut CaseDraws, basis: Basis, ridge: f64, beta: f64, n_rounds: usize) -> Self {
        let domain = Arc::new(LoopDomain::new(&basis).expect("features"));
        let table = &domain.table;
        // A linear function of the features, so that rounds settle.
        let weights = draws.numbers(table.n_features, -1.0, 1.0);
        let value = |x: usize| table.row(x).iter().zip(&weights).map(|(c, w)| c * w).sum();
        let values: Vec<f64> = (0..table.n_points).map(value).collect();
        let near = values.clone();
        let rounds = (0..n_rounds).map(|_| (beta, draws.number(-0.1, 0.1))).collect();
        Self { basis, domain, ridge, growth: FactorGrowth::default(), rounds, values, near }
    }

    fn trial(&self) -> LoopTrial {
        LoopTrial::new(Arc::clone(&self.domain), self.ridge, self.growth)
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

    /// Plays all rounds but the first, which the host decides, until one is left open; returns whether an action is not the host's.
    fn is_wrong_alone(&self, first: u32) -> bool {
        let (mut actions, mut trial) = (vec![first], self.trial());
        trial.observe(first, self.values[first as usize] + self.rounds[0].1);
        trial.play(&self.rounds[1..], &self.near, &mut actions);
        self.replay(&actions).is_err()
    }

    /// Replays actions with choices; returns the state after them, or the first round that the host plays otherwise.
    fn replay(&self, actions: &[u32]) -> Result<Canonical, usize> {
        let mut host = Canonical::new(&self.basis, self.ridge);
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
            cases.push((Basis::Table(doubled(&table)), ridge, beta));
        }
        if 1e-4 < ridge {
            cases.push((covariance(&mut draws, 0, true), ridge, beta));
        }
        cases.push((Basis::Table(table), ridge, beta));
        cases.push((TestBasis::features(&mut draws, 300, 7).to_basis(), ridge, beta));
        cases.extend((0..3).map(|kind| (covariance(&mut draws, kind, false), ridge, beta)));
    }
    let growths = [FactorGrowth::default()].into_iter().chain(GROWTHS);
    for (case, (growth, (basis, ridge, beta))) in
        growths.flat_map(|growth| cases.iter().map(move |case| (growth, case))).enumerate()
    {
        let around = Surroundings { growth, ..Surroundings::new(&mut draws, basis.clone(), *ridge, *beta, 60) };
        let (actions, forced) = around.play(around.trial());
        // A round that the host decides replays the actions before it; this replays the last ones.
        assert_eq!(around.replay(&actions).err(), None, "case {case}");
        assert!(forced <= 4, "case {case}: {forced} rounds undecided at a ridge of {ridge}");
    }
}

/// Values that are off by their bound change no certified action, and leave more rounds to the host; without the bound they do.
#[test]
fn values_off_by_their_bound_change_no_action() {
    let mut draws = CaseDraws(59);
    let (mut wrong, mut left) = (0, 0);
    for off in [1e-12, 1e-9, 1e-4, 1e-3, 1e-2, 0.1, 0.3] {
        let table = TestBasis::smooth(&mut draws, 700);
        let mut around = Surroundings::new(&mut draws, Basis::Table(table), 1e-2, 0.5, 60);
        around.near.iter_mut().for_each(|value| *value += draws.number(-off, off));
        let (actions, forced) = around.play(around.trial().off_by(off));
        assert_eq!(around.replay(&actions).err(), None, "{off}");
        assert!(1e-9 < off || forced <= 3, "{off}: {forced} rounds undecided");
        left += forced;
        wrong += usize::from(around.is_wrong_alone(actions[0]));
    }
    assert!(0 < wrong && 20 < left, "{wrong} trials without a bound are wrong, {left} rounds were left: nothing was tested");
}

/// Features that are cut off early change no certified action, and leave more rounds to the host; without their error they do.
#[test]
fn coarse_features_change_no_action() {
    let mut draws = CaseDraws(60);
    let (mut wrong, mut left) = (0, 0);
    for tolerance in [1e-9, 1e-8, 1e-7, 1e-6, 1e-5] {
        for _ in 0..4 {
            let Basis::Gram(gram) = covariance(&mut draws, 0, false) else { unreachable!("a covariance") };
            let mut around = Surroundings::new(&mut draws, Basis::Gram(Arc::clone(&gram)), 1e-2, 0.5, 60);
            let table = exact(gram.as_ref(), tolerance, 600).expect("features");
            let error = largest_error(&table, gram.as_ref());
            around.domain = Arc::new(LoopDomain::of_features(table.clone(), error));
            let (actions, forced) = around.play(around.trial());
            assert_eq!(around.replay(&actions).err(), None, "{tolerance}");
            left += forced;
            around.domain = Arc::new(LoopDomain::of_features(table, 0.0));
            wrong += usize::from(around.is_wrong_alone(actions[0]));
        }
    }
    assert!(0 < wrong && 40 < left, "{wrong} trials without a bound are wrong, {left} rounds were left: nothing was tested");
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
    let tables = [(doubled(&smooth), 1e-2), (doubled(&smooth), 1e-4), (smooth, 1e-6)];
    let tables = tables.into_iter().map(|(table, ridge)| (Basis::Table(table), ridge, false));
    let grams = [(0, true, 1e-2), (0, true, 1e-4), (0, false, 1e-6), (1, false, 1e-2), (1, false, 1e-6)];
    let grams = grams.map(|(kind, twice, ridge)| (covariance(&mut draws, kind, twice), ridge, twice));
    for (basis, ridge, hides_ties) in tables.chain(grams) {
        let around = Surroundings::new(&mut draws, basis, ridge, 1.0, 200);
        let (mut trial, mut host) = (around.trial(), posterior(&around.basis, ridge));
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
        assert!(open <= if hides_ties { 199 } else { 3 }, "{open} recommendations undecided at a ridge of {ridge}");
    }
}

/// The scores of the loop's posterior stay within the stated distance of the model that decides, also after many rotations.
#[test]
fn the_distance_bounds_what_the_models_differ_by() {
    let mut draws = CaseDraws(58);
    let table = Basis::Table(TestBasis::smooth(&mut draws, 600));
    let gram = covariance(&mut draws, 0, false);
    let ridges = [(1e-2, 0.0), (1e-4, 0.0), (1e-6, 0.0), (1e-2, 1e-8), (1e-4, 1e-8)];
    for (basis, (ridge, off)) in [table, gram].iter().flat_map(|basis| ridges.map(|ridge| (basis, ridge))) {
        let domain = LoopDomain::new(basis).expect("features");
        let (mut own, mut host) = (LoopPosterior::new(&domain, ridge), posterior(basis, ridge));
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
                let of_fall = distance.of_fall(own.squares(), found.along);
                let rounded = distance.variance_rounding + of_fall + 2.0 * distance.deviation_rounding * deviation;
                assert!(of_mean <= distance.mean * deviation + distance.mean_rounding, "{ridge}: mean off by {of_mean:e}");
                assert!(of_variance <= distance.share * found.variance.max(0.0) + rounded, "{ridge}: by {of_variance:e}");
                differs |= of_mean != 0.0;
            }
        }
        assert!(differs, "both models have the same bits: nothing was compared");
    }
}

/// The covariance of points without variance, or with one entry that is not a number.
#[derive(Debug)]
struct Odd(Option<(usize, usize)>);

impl GramSource for Odd {
    fn n_points(&self) -> usize {
        300
    }

    fn entry(&self, a: usize, b: usize) -> f64 {
        match self.0 {
            None => 0.0,
            Some(odd) if odd == (a, b) || odd == (b, a) => f64::NAN,
            Some(_) => 1.0,
        }
    }
}

#[test]
fn no_lane_plays_what_has_no_features_or_no_error() {
    assert!(LoopDomain::new(&Basis::Gram(Arc::new(Odd(None)))).is_none());
    let domain = LoopDomain::new(&Basis::Gram(Arc::new(Odd(Some((7, 280)))))).expect("a constant is one feature");
    let mut trial = LoopTrial::new(Arc::new(domain), 0.01, FactorGrowth::default());
    trial.observe(3, 0.5);
    assert_eq!(trial.decide(1.0), None);
}
