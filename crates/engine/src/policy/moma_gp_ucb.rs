//! Implements `moma-gp-ucb` [Zhou2021, Algorithm 3 (MoMA-GP-UCB, LDP-MoMA-GP-UCB)].
//!
//! The estimate is a median of means over Nystrom features. An epoch plays one point k times, for k different users; user j of
//! every epoch contributes to the j-th of k least-squares estimates. The mean comes from the estimate closest to the others, by
//! the median of its distances in the norm of V. The last `T - N k` rounds, too few for an epoch, repeat the last point and
//! update nothing.

use super::nystrom_policy::{PreparedSketch, Sketch, SketchModel};
use super::tail_moments::{Moment, TailMoments};
use super::{ExplorationFactor, Policy, PolicyMaker, PolicyModel, PolicyPlan, PolicyStreams, Problem, Proposal, Setting};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::score::{Basis, lowest_within_tie};
use privateer_numerics::linalg::dot;
use privateer_privacy::{Released, Signal};
use std::sync::Arc;

const NAME: &str = "moma-gp-ucb";

pub(super) fn parse(args: &Args<'_>) -> PolicyPlan {
    let k = args.count("k", "users that play the same point, at least 3, and estimates between which the median decides");
    let (sketch, moment) = (Sketch::parse(args, ExplorationFactor::parse(args)), Moment::parse_noise(args));
    let k = k.at_least(3).optional("the theorem's ceil(24 ln(4 e T/failure_prob)) with beta `theory`, else ceil(ln T)");
    let is_theory = matches!(sketch.beta, ExplorationFactor::Theory { .. });
    let failure_prob = sketch.failure_prob;
    let users = move |rounds: u64| {
        let rounds = rounds as f64;
        let theory = || libm::ceil(24.0 * libm::log(4.0 * std::f64::consts::E * rounds / failure_prob));
        k.unwrap_or_else(|| (if is_theory { theory() } else { libm::ceil(libm::log(rounds)) } as u64).max(3))
    };
    let prepare = move |problem: &Problem| prepare(problem, &sketch, moment, users(problem.rounds));
    PolicyPlan { patience: Box::new(users), ..PolicyPlan::new(prepare) }
}

/// Makes what all trials share, with epochs of k users.
fn prepare(problem: &Problem, sketch: &Sketch, moment: Moment, k: u64) -> Result<Box<dyn PolicyMaker>, Error> {
    let plays =
        |times: String| Diagnostic::new(format!("`{NAME}` plays each point {times}, and there are {} rounds", problem.rounds));
    if problem.rounds < 3 {
        return plays("at least 3 times".to_owned()).expected("at least 3 rounds").refuse();
    }
    if problem.rounds < k {
        return plays(format!("{k} times"))
            .expected(format!("a `k` from 3 to {}", problem.rounds))
            .hint("state a smaller `k`, or run more rounds")
            .refuse();
    }
    Ok(Box::new(MomaMaker { sketch: sketch.prepare(problem)?.into(), moment, k: k as usize }))
}

struct MomaMaker {
    sketch: Arc<PreparedSketch>,
    moment: Moment,
    k: usize,
}

impl MomaMaker {
    fn moments(&self, setting: &Setting) -> Result<TailMoments, Error> {
        TailMoments::of(NAME, setting, Moment::Known, self.moment, 2.0).map_err(Error::input)
    }
}

impl PolicyMaker for MomaMaker {
    fn basis(&self) -> Option<Basis> {
        Some(self.sketch.basis())
    }

    fn facts(&self, setting: &Setting) -> Facts {
        let fact = |moments: TailMoments| self.moment.fact("c, the policy's moment bound of the noise", moments.noise, setting);
        self.moments(setting).ok().and_then(fact).into_iter().collect()
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let epochs = self.sketch.rounds / self.k as u64;
        let moments = self.moments(setting)?;
        Ok(Box::new(MomaPolicy {
            model: self.sketch.prior(),
            k: self.k,
            round: 1,
            point: None,
            rewards: Vec::new(),
            sums: Vec::new(),
            epochs,
            bound: setting.facts.bound,
            moments,
        }))
    }
}

struct MomaPolicy {
    model: SketchModel,
    k: usize,
    /// The coming round, 1-based.
    round: u64,
    /// The point of the current epoch, or of the last one.
    point: Option<u32>,
    /// Rewards of the current epoch so far, by user.
    rewards: Vec<f64>,
    /// Sums of each user's rewards at each visited point, `n_visited x k`.
    sums: Vec<f64>,
    /// N: number of epochs in the horizon.
    epochs: u64,
    bound: f64,
    moments: TailMoments,
}

impl MomaPolicy {
    fn beta(&self) -> f64 {
        let (m, keys) = (self.model.m(), &self.model.shared.keys);
        keys.beta.value(
            // B (1 + 1/sqrt(1 - accuracy)) + 3 sqrt(9 m c / ridge) [Zhou2021, Theorem 4, second moments]
            || keys.bias(self.bound) + 3.0 * libm::sqrt(9.0 * m * self.moments.noise / keys.ridge),
            || self.bound + libm::sqrt(self.moments.noise * m / keys.ridge),
        )
    }

    /// Computes the k estimates, chooses the most central, and sets it as the posterior's weights.
    fn estimate(&mut self) {
        let posterior = &self.model.posterior;
        let moments = posterior.moments(&self.sums, self.k);
        let mut whitened = moments.clone();
        posterior.whiten(&mut whitened);
        let estimates: Vec<Vec<f64>> = (0..self.k).map(|user| whitened.column(user)).collect();
        let mut theta = moments.column(most_central(&estimates));
        posterior.solve(&mut theta);
        self.model.posterior.set_theta(theta);
    }
}

/// Returns the index of the estimate whose median distance to the others is least.
///
/// Ties go to the lowest index; the result is 0 if a distance is NaN.
/// * `estimates` — at least 3, of equal length, in coordinates in which V is the identity
pub fn most_central(estimates: &[Vec<f64>]) -> usize {
    let central: Vec<(usize, f64)> = median_distances(estimates).into_iter().map(|r| -r).enumerate().collect();
    lowest_within_tie(&central).unwrap_or(0)
}

/// Returns `r_j`, the median of the distances from estimate j to the others.
///
/// For an even number of distances it is the mean of the two in the middle.
pub fn median_distances(estimates: &[Vec<f64>]) -> Vec<f64> {
    let k = estimates.len();
    let mut distances = vec![0.0; k * k];
    for j in 0..k {
        for s in 0..j {
            let apart: Vec<f64> = estimates[j].iter().zip(&estimates[s]).map(|(a, b)| a - b).collect();
            let distance = dot(&apart, &apart).sqrt();
            distances[j * k + s] = distance;
            distances[s * k + j] = distance;
        }
    }
    let median = |j: usize| {
        let row = &distances[j * k..(j + 1) * k];
        let mut others: Vec<f64> = row[..j].iter().chain(&row[j + 1..]).copied().collect();
        others.sort_by(f64::total_cmp);
        let n = others.len();
        if n.is_multiple_of(2) { 0.5 * (others[n / 2 - 1] + others[n / 2]) } else { others[n / 2] }
    };
    (0..k).map(median).collect()
}

impl Policy for MomaPolicy {
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal {
        if let Some(point) = self.point
            && (!self.rewards.is_empty() || self.epochs * (self.k as u64) < self.round)
        {
            return Proposal::Play(point as usize);
        }
        let beta = self.beta();
        self.model.propose(streams, beta)
    }

    fn model(&mut self) -> Option<&mut dyn PolicyModel> {
        Some(&mut self.model.posterior)
    }

    /// Adds the reward of one user; all rewards of an epoch count for the point of its first.
    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        let Some(reward) = signal.reward() else { return };
        let over = self.epochs * (self.k as u64) < self.round;
        self.round += 1;
        if over {
            return;
        }
        if self.rewards.is_empty() {
            self.point = Some(point as u32);
        }
        self.rewards.push(reward);
        if self.rewards.len() < self.k {
            return;
        }
        let point = self.point.map_or(point, |point| point as usize);
        let slot = self.model.update(point);
        let k = self.k;
        self.sums.resize(self.model.posterior.visits().n_distinct() * k, 0.0);
        let epoch = std::mem::take(&mut self.rewards);
        for (sum, reward) in self.sums[slot * k..(slot + 1) * k].iter_mut().zip(epoch) {
            *sum += reward;
        }
        self.estimate();
    }

    /// Returns the model's recommendation; in the first epoch, that epoch's point.
    fn recommend(&self) -> Option<usize> {
        self.model.recommend().or(self.point.map(|point| point as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};
    use proptest::prelude::*;

    proptest! {
        /// Renumbering the users permutes the medians and keeps a unique chosen estimate.
        #[test]
        fn users_can_be_permuted(seed in 0u64..10_000, k in 3usize..12, m in 1usize..6) {
            let mut stream = Streams::new(seed, "moma").of(0, Purpose::Noise);
            let estimates: Vec<Vec<f64>> = (0..k).map(|_| (0..m).map(|_| stream.student_t(2.0)).collect()).collect();
            let mut order: Vec<usize> = (0..k).collect();
            (1..k).rev().for_each(|i| order.swap(i, stream.index(i + 1)));
            let shuffled: Vec<Vec<f64>> = order.iter().map(|&from| estimates[from].clone()).collect();
            let (r, shuffled_r) = (median_distances(&estimates), median_distances(&shuffled));
            for (at, &from) in order.iter().enumerate() {
                prop_assert_eq!(shuffled_r[at], r[from]);
            }
            let (chosen, again) = (most_central(&estimates), most_central(&shuffled));
            // Mutual nearest neighbours tie, and their medians may differ in the last bit.
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-10 * (1.0 + b);
            prop_assert!(close(r[chosen], shuffled_r[again]));
            if r.iter().filter(|&&other| close(other, r[chosen])).count() == 1 {
                prop_assert_eq!(&estimates[chosen], &shuffled[again]);
            }
        }
    }

    #[test]
    fn an_outlier_is_not_chosen_and_ties_go_to_the_lowest() {
        let of = |values: &[f64]| values.iter().map(|&x| vec![x]).collect::<Vec<_>>();
        assert_eq!(most_central(&of(&[1e9, 0.1, 0.0, 0.2, -0.1])), 1);
        assert_eq!(most_central(&of(&[5.0, 5.0, 5.0])), 0);
        assert_eq!(most_central(&of(&[f64::NAN, 0.0, 1.0])), 0);
        // Three estimates: their distances are (1, 3), (1, 2) and (3, 2), and the medians are the means of these pairs.
        assert_eq!(median_distances(&of(&[0.0, 1.0, 3.0])), [2.0, 1.5, 2.5]);
    }
}
