//! How far a released reward may reach, as `ata-gp-ucb` and `moma-gp-ucb` use it: bounds v and c on the second moments of a
//! reward and of its noise, and a bound on the reward where there is one.

use super::Setting;
use crate::error::Diagnostic;
use crate::params::Args;

/// Moment bounds as a spec may state them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StatedMoments {
    /// v.
    pub reward: Option<f64>,
    /// c.
    pub noise: Option<f64>,
}

impl StatedMoments {
    /// Reads the key `moment`.
    pub fn parse_reward(args: &Args<'_>) -> Self {
        let number = args.number("moment", "v: bound on the second moment of a released reward; stated without a mechanism, truncate as for heavy tails even where rewards are bounded");
        Self { reward: number.above(0.0).optional("B² + second moment of noise and mechanism"), noise: None }
    }

    /// Reads the key `noise_moment`.
    pub fn parse_noise(args: &Args<'_>) -> Self {
        let number = args.number("noise_moment", "c: bound on the second moment of a released reward's noise");
        Self { reward: None, noise: number.above(0.0).optional("that of noise and mechanism") }
    }
}

/// Constants of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailMoments {
    /// v.
    pub reward: f64,
    /// c.
    pub noise: f64,
    /// Bound on a released reward; nothing needs to be truncated then.
    pub bound: Option<f64>,
}

impl TailMoments {
    /// `c = R² + variance of the mechanism` under a mechanism [Zhou2021, Theorem 2 and Corollary 1, with the mechanism's own
    /// variance for Laplace's 8 (B+R)²/epsilon²], the noise's variance without one; `v = B² + c`. Where R is not known, the
    /// variance stands for R², and the clip range beyond B for R.
    ///
    /// # Errors
    /// If a constant is missing; the text says which key gives it.
    pub fn of(policy: &str, setting: &Setting, stated: StatedMoments) -> Result<Self, Diagnostic> {
        let (facts, released) = (&setting.facts, &setting.released);
        let private = 0.0 < released.mechanism_variance;
        let beyond = released.clipped_bound.map(|bound| (bound - facts.bound).max(0.0));
        let squared = facts.noise_bound.or(beyond).map(|noise| noise * noise);
        let own = if private { squared.or(facts.noise_variance) } else { facts.noise_variance.or(squared) };
        let noise = stated.noise.or(own.map(|own| own + released.mechanism_variance));
        let reward = stated.reward.or(noise.map(|noise| facts.bound * facts.bound + noise));
        let bound = match released.output_bound {
            Some(bound) => Some(bound),
            None if private || stated.reward.is_some() => None,
            None => released.clipped_bound,
        };
        let (Some(reward), Some(noise)) = (reward, noise.or(stated.reward)) else {
            return Err(Diagnostic::new(format!(
                "`{policy}` needs a bound on the second moment of a reward, and the environment's noise has no known variance"
            ))
            .hint(if policy == "moma-gp-ucb" {
                "give `noise_moment = …` in the policy"
            } else {
                "give `moment = …` in the policy"
            }));
        };
        Ok(Self { reward, noise, bound })
    }
}
