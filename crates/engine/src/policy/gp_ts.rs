//! Implements `gp-ts` [Chowdhury2017, Algorithm 2]: Thompson sampling, the best point of a function drawn from the posterior.
//!
//! Round t draws `theta ~ N(theta_hat, v_t² ridge V^-1)` and plays the point that maximises `theta · phi(x)`, where
//! `V = Phi^T Phi + ridge I`: the spread of the drawn function is v_t posterior standard deviations. Without `features`, features
//! leave out at most a thousandth of the largest prior variance.

use super::gp_policy::{Ridge, failure_prob};
use super::noise_scale::NoiseScale;
use super::{
    ExplorationFactor, FeaturesPlan, Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, Setting, parse_features,
};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::memory::allow;
use privateer_config::params::Args;
use privateer_gp::features::exact::Exact;
use privateer_gp::posterior::{RootModel, Visits};
use privateer_gp::score::{FeatureTable, lowest_within_tie};
use privateer_privacy::{Released, Signal};
use std::sync::Arc;

/// Tolerance of the features where the spec names none.
const TOLERANCE: f64 = 1e-3;

/// Points whose values are drawn at once.
const AT_ONCE: usize = 1024;

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let (beta, failure_prob) = (ExplorationFactor::parse_measuring(args), failure_prob(args));
    let ridge = Ridge::parse(args, Ridge::Stated(1.0));
    let features = parse_features(args)
        .unwrap_or_else(|| Arc::new(Exact { tolerance: TOLERANCE, ..Exact::default() }) as Arc<dyn FeaturesPlan>);
    PolicyPlan::new(move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        // Over a product domain the points cannot be listed.
        problem.shared()?;
        let (table, _) = problem.tables.table(features.as_ref(), problem)?;
        let facts = features.facts(problem, &table);
        let needs = 8.0 * table.values.len() as f64;
        allow(problem.memory_bytes, "the features of all points", needs, "lower `features` or the domain's points")?;
        Ok(Box::new(ThompsonMaker { table, facts, ridge, beta, failure_prob }))
    })
}

struct ThompsonMaker {
    table: Arc<FeatureTable>,
    facts: Facts,
    ridge: Ridge,
    beta: ExplorationFactor,
    failure_prob: f64,
}

impl PolicyMaker for ThompsonMaker {
    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let ridge = self.ridge.value(setting).map_err(Error::input)?;
        let noise = NoiseScale::of(self.beta, setting).map_err(Error::input)?;
        let model = RootModel::new(ridge, self.table.n_features);
        Ok(Box::new(Thompson {
            table: Arc::clone(&self.table),
            beta: self.beta,
            bound: setting.facts.bound,
            noise: noise.value / libm::sqrt(ridge),
            log: 1.0 + libm::log(2.0 / self.failure_prob),
            normals: vec![0.0; model.stride()],
            model,
            visits: Visits::default(),
        }))
    }

    fn facts(&self, setting: &Setting) -> Facts {
        let mut facts = self.facts.clone();
        facts.extend(NoiseScale::of(self.beta, setting).ok().and_then(NoiseScale::fact));
        facts.extend(self.ridge.fact(setting));
        facts
    }
}

struct Thompson {
    table: Arc<FeatureTable>,
    beta: ExplorationFactor,
    bound: f64,
    /// Scale of a reward's noise over the root of the ridge.
    noise: f64,
    /// 1 + ln(2 / failure).
    log: f64,
    model: RootModel,
    visits: Visits,
    /// Memory that is used again.
    normals: Vec<f64>,
}

impl Policy for Thompson {
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal {
        let (table, gain) = (&self.table, self.model.gain());
        let factor = self.beta.value(
            || self.bound + self.noise * libm::sqrt(2.0 * (gain + self.log)),
            || self.bound + self.noise * libm::sqrt(gain),
        );
        streams.own.normals(&mut self.normals[..table.n_features]);
        let theta = self.model.weights(&self.normals, factor);
        let mut best = (0, f64::NEG_INFINITY);
        let mut values = [0.0; AT_ONCE];
        for first in (0..table.n_points).step_by(AT_ONCE) {
            let values = &mut values[..AT_ONCE.min(table.n_points - first)];
            table.products(&theta, first, values);
            let drawn = values.iter().enumerate().map(|(at, &value)| (first + at, value));
            best = drawn.fold(best, |best, next| if best.1 < next.1 { next } else { best });
        }
        Proposal::Play(best.0)
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        self.model.observe(&self.table.row(point), reward);
        self.visits.add(point, reward);
    }

    fn recommend(&self) -> Option<usize> {
        let mean = |&point: &u32| (point, self.model.mean(&self.table.row(point as usize)));
        let means: Vec<(u32, f64)> = self.visits.points.iter().map(mean).collect();
        lowest_within_tie(&means).map(|point| point as usize)
    }
}
