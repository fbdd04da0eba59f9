//! Holds the formulas of the random projection of a data set [Kharkovskii2020, algorithm 1].
//!
//! Theorem 1 is false for more rows than columns, whatever `omega` is: the projection keeps the column space, so one release
//! distinguishes neighbours (erratum E16, `docs/privacy.md`).

use super::Formula;

/// The bound that singular values are lifted to.
pub const OMEGA: Formula =
    Formula::new(["Kharkovskii2020", "tables 1 to 3", "E18"], "omega = 16 sqrt(r ln(2/delta)) ln(16 r/delta)/epsilon", |x| {
        omega(x.of("r") as u32, x.of("epsilon"), x.of("delta"))
    });

/// Returns omega in the form that gives the paper's own tables (E18).
pub fn omega(n_columns: u32, epsilon: f64, delta: f64) -> f64 {
    let r = f64::from(n_columns);
    16.0 * libm::sqrt(r * libm::log(2.0 / delta)) * libm::log(16.0 * r / delta) / epsilon
}

/// Returns `omega = 16 sqrt(r) ln(2/delta) ln(16 r/delta)/epsilon`, as line 5 prints it (E18).
pub fn omega_as_printed(n_columns: u32, epsilon: f64, delta: f64) -> f64 {
    let r = f64::from(n_columns);
    16.0 * libm::sqrt(r) * libm::log(2.0 / delta) * libm::log(16.0 * r / delta) / epsilon
}

/// Returns the smallest singular value of a centred `m x m` grid whose corners have norm `norm`.
pub fn grid_singular_value(m: u32, norm: f64) -> f64 {
    let (m, a) = (f64::from(m), norm * std::f64::consts::FRAC_1_SQRT_2);
    a * libm::sqrt(m * m * (m + 1.0) / (3.0 * (m - 1.0)))
}

pub(super) const FORMULAS: &[Formula] = &[
    OMEGA,
    Formula::new(
        ["Kharkovskii2020", "algorithm 1, line 5", "E18"],
        "omega = 16 sqrt(r) ln(2/delta) ln(16 r/delta)/epsilon",
        |x| omega_as_printed(x.of("r") as u32, x.of("epsilon"), x.of("delta")),
    ),
];
