//! Implements `ucb1` \[Auer2002\]: arms without a kernel, of which the largest upper confidence bound is played.
//!
//! The bound is the mean of n plays plus `sqrt(8 ln t) R / sqrt(n)` for rewards of sub-Gaussian scale R, which is the printed
//! `sqrt(2 ln t / n)` for rewards in [0, 1]. Noise of a local mechanism counts in R, and Laplace noise has a bound of its own.

use super::mean_noise::MeanNoise;
use super::{ExplorationFactor, Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, Setting};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_gp::posterior::Visits;
use privateer_privacy::{Released, Signal};

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let beta = ExplorationFactor::parse(args);
    PolicyPlan::new(move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let n_points = problem.listed()?;
        let make = move |setting: &Setting| -> Result<Box<dyn Policy>, Error> {
            let noise = MeanNoise::of(setting).map_err(Error::input)?;
            let (visits, arms) = (Visits::default(), vec![0.0; n_points]);
            Ok(Box::new(Ucb1 { beta, noise, visits, told: 0, means: arms.clone(), deviations: arms.clone(), scores: arms }))
        };
        Ok(Box::new(make))
    })
}

struct Ucb1 {
    beta: ExplorationFactor,
    noise: MeanNoise,
    visits: Visits,
    told: u64,
    /// Mean of each arm and its standard deviation; 0 before the first play.
    means: Vec<f64>,
    deviations: Vec<f64>,
    /// Memory that is used again.
    scores: Vec<f64>,
}

impl Policy for Ucb1 {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        let n = self.means.len();
        if self.visits.n_distinct() < n {
            return Proposal::Play((0..n).find(|&arm| self.visits.slot(arm).is_none()).unwrap_or(0));
        }
        let log = libm::log(self.told as f64 + 1.0);
        // How much more Laplace noise adds, for each squared deviation.
        let mut single = 0.0;
        let normal = self.beta.value(
            || {
                let (normal, laplace) = self.noise.factors(4.0 * log);
                single = laplace / (normal * self.noise.reward);
                normal
            },
            || libm::sqrt(log),
        );
        for ((score, mean), deviation) in self.scores.iter_mut().zip(&self.means).zip(&self.deviations) {
            *score = mean + normal * deviation.max(single * deviation * deviation);
        }
        let largest = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Proposal::Play(self.scores.iter().position(|score| *score == largest).unwrap_or(0))
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        let (slot, _) = self.visits.add(point, reward);
        self.told += 1;
        let (arm, n) = (self.visits.points[slot] as usize, self.visits.counts[slot] as f64);
        self.means[arm] = self.visits.sums[slot] / n;
        self.deviations[arm] = libm::sqrt(self.noise.variance(n));
    }

    fn recommend(&self) -> Option<usize> {
        self.visits.best_average()
    }
}
