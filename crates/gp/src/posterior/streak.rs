//! The current streak of a linear model: the effect of its observations along one direction.

/// The effect of one observation.
///
/// With `p(x) = u · c(x)`, where `u` is the direction of the streak, the posterior variance of a point falls by
/// `(scale p(x))²` and its mean rises by `mean_step * p(x)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreakUpdate {
    /// Factor of `p` in the posterior standard deviation.
    pub scale: f64,
    /// Factor of `p` in the mean.
    pub mean_step: f64,
    /// Whether the direction equals that of the observation before.
    pub repeated: bool,
}

/// A streak of observations at coordinates `c`, which moves the model along `u = V^{-1} c`.
///
/// `V` is the precision at the start: `V_j^{-1} = V^{-1} - j / (1 + j q) u u^T`, `theta_j = theta + a u`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Streak {
    /// `j`: number of observations.
    pub count: f64,
    /// `q = c · u`: leverage of the first observation.
    pub leverage: f64,
    /// `c · theta` at the start.
    pub mean: f64,
    /// `a`: coefficient of `u` in the mean of the weights.
    pub coefficient: f64,
}

impl Streak {
    pub fn new(leverage: f64, mean: f64) -> Self {
        Self { count: 0.0, leverage: leverage.max(0.0), mean, coefficient: 0.0 }
    }

    pub fn observe(&mut self, ridge: f64, reward: f64, repeated: bool) -> StreakUpdate {
        let surprise = reward - (self.mean + self.coefficient * self.leverage);
        // With j observations before this one: V_j^{-1} c = u / (1 + j q), leverage q_j = q / (1 + j q), and
        // 1 + q_j = (1 + (j + 1) q) / (1 + j q).
        let before = 1.0 + self.count * self.leverage;
        let after = before + self.leverage;
        self.count += 1.0;
        let mean_step = surprise / after;
        self.coefficient += mean_step;
        // The variance falls by ridge (u_j · c')² / (1 + q_j) = ridge p² / (before * after).
        StreakUpdate { scale: (ridge / (before * after)).sqrt(), mean_step, repeated }
    }

    /// Returns the coefficient of `u u^T` in the downdate of `V^{-1}`.
    pub fn downdate(&self) -> f64 {
        self.count / (1.0 + self.count * self.leverage)
    }

    pub fn gain(&self) -> f64 {
        // The sum over the streak of ½ ln(1 + q_j), q_j = q / (1 + j q), telescopes.
        0.5 * libm::log1p(self.count * self.leverage)
    }
}
