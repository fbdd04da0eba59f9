//! The tree over `[x, y]^T [x, y]` of linear bandits [ShariffSheffet2018, algorithm 1, section 4.2], quoted from memory.

/// Standard deviation of a node, `4 sqrt(n) L² ln(4/delta)/epsilon` with `L² >= |x|² + y²` (their variance is `16 n L⁴ ln(4/delta)²/epsilon²`).
#[must_use]
pub fn sigma(nodes: u32, squared_norm: f64, epsilon: f64, delta: f64) -> f64 {
    4.0 * libm::sqrt(f64::from(nodes)) * squared_norm * libm::log(4.0 / delta) / epsilon
}

/// `gamma = sigma sqrt(m/Upsilon) (sqrt(n) + sqrt(2 ln(2T/alpha)))`: what noise on the vector adds to beta, `Upsilon` as in
/// `dubey2021::spectrum`, `n` the features of all arms.
#[must_use]
pub fn gamma(sigma: f64, nodes: u32, upsilon: f64, n_features: usize, rounds: u64, failure_prob: f64) -> f64 {
    let log = libm::log(2.0 * rounds as f64 / failure_prob);
    sigma * libm::sqrt(f64::from(nodes) / upsilon) * (libm::sqrt(n_features as f64) + libm::sqrt(2.0 * log))
}

/// What beta is made of [Shariff2018, proposition 5].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetaTerms {
    /// Standard deviation of a reward around its mean.
    pub noise_sd: f64,
    /// l: bound on the length of a context.
    pub length: f64,
    /// b: norm of all arms' parameters together.
    pub bound: f64,
    /// Features of all arms.
    pub n_features: usize,
    /// Least and largest regularizer that noise and shift make.
    pub spectrum: (f64, f64),
    /// See [`gamma`].
    pub gamma: f64,
    /// alpha.
    pub failure_prob: f64,
}

impl BetaTerms {
    /// `sigma sqrt(2 ln(2/alpha) + n ln(most/least + t l²/(n least))) + b sqrt(most) + gamma` in round t.
    #[must_use]
    pub fn beta(&self, round: u64) -> f64 {
        let ((least, most), n, t) = (self.spectrum, self.n_features as f64, round as f64);
        let volume = libm::log(most / least + t * self.length * self.length / (n * least));
        let deviation = libm::sqrt(2.0 * libm::log(2.0 / self.failure_prob) + n * volume);
        self.noise_sd * deviation + self.bound * libm::sqrt(most) + self.gamma
    }
}
