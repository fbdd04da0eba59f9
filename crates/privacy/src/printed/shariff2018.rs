//! Holds the formulas of the tree over `[x, y]^T [x, y]` of linear bandits, quoted from memory.
//! Source: [ShariffSheffet2018, algorithm 1, section 4.2].

use super::Formula;

/// A node's standard deviation, quoted from memory.
pub const SIGMA: Formula =
    Formula::new(["ShariffSheffet2018", "section 4.2", ""], "sigma = 4 sqrt(n) S ln(4/delta)/epsilon", |x| {
        sigma(x.of("n") as u32, x.of("S"), x.of("epsilon"), x.of("delta"))
    });

/// Returns a node's standard deviation, `4 sqrt(n) L² ln(4/delta)/epsilon` with `L² >= |x|² + y²`.
/// (The paper states the variance, `16 n L⁴ ln(4/delta)²/epsilon²`.)
pub fn sigma(nodes: u32, squared_norm: f64, epsilon: f64, delta: f64) -> f64 {
    4.0 * libm::sqrt(f64::from(nodes)) * squared_norm * libm::log(4.0 / delta) / epsilon
}

/// Returns the term that noise on the vector adds to the exploration factor.
/// `gamma = sigma sqrt(m/Upsilon) (sqrt(n) + sqrt(2 ln(2T/alpha)))`, with `Upsilon` as in `dubey2021::spectrum`, `m` the nodes
/// and `n` the features of all arms.
pub fn gamma(sigma: f64, nodes: u32, upsilon: f64, n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    let log = libm::log(2.0 * rounds as f64 / failure_prob);
    sigma * libm::sqrt(f64::from(nodes) / upsilon) * (libm::sqrt(n_features as f64) + libm::sqrt(2.0 * log))
}

/// Holds the terms of the exploration factor [Shariff2018, proposition 5].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetaTerms {
    /// Standard deviation of a reward around its mean.
    pub noise_sd: f64,
    /// Bound l on the length of a context.
    pub length: f64,
    /// Bound b on the norm of all arms' parameters together.
    pub bound: f64,
    /// Number of features of all arms.
    pub n_features: usize,
    /// Least and largest regulariser that result from noise and shift.
    pub spectrum: (f64, f64),
    /// Result of [`gamma`].
    pub gamma: f64,
    /// Failure probability alpha.
    pub failure_prob: f64,
}

impl BetaTerms {
    /// Returns the exploration factor in round t.
    /// `sigma sqrt(2 ln(2/alpha) + n ln(most/least + t l²/(n least))) + b sqrt(most) + gamma`.
    pub fn beta(&self, round: u64) -> f64 {
        let ((least, most), n, t) = (self.spectrum, self.n_features as f64, round as f64);
        let volume = libm::log(most / least + t * self.length * self.length / (n * least));
        let deviation = libm::sqrt(2.0 * libm::log(2.0 / self.failure_prob) + n * volume);
        self.noise_sd * deviation + self.bound * libm::sqrt(most) + self.gamma
    }
}

pub(super) const FORMULAS: &[Formula] = &[
    SIGMA,
    Formula::new(
        ["ShariffSheffet2018", "proposition 5", ""],
        "gamma = sigma sqrt(n/Upsilon) (sqrt(m) + sqrt(2 ln(2 T/alpha)))",
        |x| gamma(x.of("sigma"), x.of("n") as u32, x.of("Upsilon"), x.of("m") as usize, x.of("T") as u64, x.of("alpha")),
    ),
];
