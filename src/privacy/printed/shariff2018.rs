//! The tree over `[x, y]^T [x, y]` of linear bandits [ShariffSheffet2018, algorithm 1, section 4.2], quoted from memory.

/// Standard deviation of a node, `4 sqrt(n) L² ln(4/delta)/epsilon` with `L² >= |x|² + y²` (their variance is `16 n L⁴ ln(4/delta)²/epsilon²`).
#[must_use]
pub fn sigma(nodes: u32, squared_norm: f64, epsilon: f64, delta: f64) -> f64 {
    4.0 * libm::sqrt(f64::from(nodes)) * squared_norm * libm::log(4.0 / delta) / epsilon
}
