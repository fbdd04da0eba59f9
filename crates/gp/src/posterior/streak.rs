//! The open streak of a linear model: what its observations do along one direction.

use crate::score::Moments;
use privateer_numerics::linalg::rounded_share;
use serde::{Deserialize, Serialize};

/// What one observation did: with `p(x) = u · c(x)`, `u` the direction of the streak, spread² of a point fell by
/// `(scale p(x))²` and its mean rose by `mean_step * p(x)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// What multiplies `p` in the spread.
    pub scale: f64,
    /// What multiplies `p` in the mean.
    pub mean_step: f64,
    /// Whether the direction is that of the observation before.
    pub repeated: bool,
}

/// Observations at coordinates c along `u = V^{-1} c`, V that at their start: `V_j^{-1} = V^{-1} - j / (1 + j q) u u^T`, `theta_j = theta + a u`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Streak {
    /// `j`.
    pub count: f64,
    /// `q = c · u`: the leverage of the first observation.
    pub leverage: f64,
    /// `c · theta` at the start.
    pub mean: f64,
    /// `a`: what multiplies `u` in the mean of the weights.
    pub coefficient: f64,
}

impl Streak {
    /// A streak without observations yet.
    pub fn new(leverage: f64, mean: f64) -> Self {
        Self { count: 0.0, leverage: leverage.max(0.0), mean, coefficient: 0.0 }
    }

    /// One more observation, of this reward.
    pub fn observe(&mut self, ridge: f64, reward: f64, repeated: bool) -> Observed {
        let surprise = reward - (self.mean + self.coefficient * self.leverage);
        // With j observations before this one: V_j^{-1} c = u / (1 + j q), leverage q_j = q / (1 + j q), and
        // 1 + q_j = (1 + (j + 1) q) / (1 + j q).
        let before = 1.0 + self.count * self.leverage;
        let after = before + self.leverage;
        self.count += 1.0;
        let mean_step = surprise / after;
        self.coefficient += mean_step;
        // spread² falls by ridge (u_j · c')² / (1 + q_j) = ridge p² / (before * after).
        Observed { scale: (ridge / (before * after)).sqrt(), mean_step, repeated }
    }

    /// What multiplies `u u^T` in the downdate that the streak stands for.
    pub fn downdate(&self) -> f64 {
        self.count / (1.0 + self.count * self.leverage)
    }

    /// Its information gain.
    pub fn gain(&self) -> f64 {
        // sum over the streak of ½ ln(1 + q_j), q_j = q / (1 + j q): the product telescopes.
        0.5 * libm::log1p(self.count * self.leverage)
    }

    /// Whether saved numbers are possible.
    pub fn is_sound(&self) -> bool {
        let numbers = [self.count, self.leverage, self.mean, self.coefficient];
        numbers.iter().all(|x| x.is_finite()) && 0.0 <= self.count && 0.0 <= self.leverage
    }
}

/// Bounds on what updates of sums of so many terms rounded off in mean and variance, for points of prior variance at most `prior`: by so much they may differ from
/// the sum of what each observation was said to change. See [`rounded_share`].
pub fn rounded(terms: f64, updates: u64, prior: f64, mean_scale: f64) -> Moments {
    let share = rounded_share(terms, updates as f64);
    Moments { mean: share * mean_scale, variance: share * prior }
}
