//! What is audited: one line a mechanism, one line a false claim.

use super::{Case, choice, prefix, printed, release, rewards};
use crate::error::Error;
use crate::privacy::mechanism::{duchi, gaussian, hybrid, laplace, none, piecewise};

/// A registered audit.
#[derive(Debug, Clone, Copy)]
pub struct AuditEntry {
    /// Name of the mechanism, or of the erratum in small letters.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its cases.
    pub cases: fn() -> Result<Vec<Case>, Error>,
}

/// Every mechanism, by its registered name.
pub static AUDITS: &[AuditEntry] = &[
    AuditEntry { name: "none", summary: "no privacy", cases: || rewards::cases(&none::ENTRY) },
    AuditEntry { name: "laplace", summary: "Laplace noise on one reward", cases: || rewards::cases(&laplace::ENTRY) },
    AuditEntry { name: "duchi", summary: "one bit for one reward", cases: || rewards::cases(&duchi::ENTRY) },
    AuditEntry { name: "piecewise", summary: "a two-level density for one reward", cases: || rewards::cases(&piecewise::ENTRY) },
    AuditEntry { name: "hybrid", summary: "density or bit for one reward", cases: || rewards::cases(&hybrid::ENTRY) },
    AuditEntry { name: "gaussian", summary: "Gaussian noise on one reward", cases: || rewards::cases(&gaussian::ENTRY) },
    AuditEntry { name: "tree", summary: "running sums by the binary tree", cases: || Ok(prefix::cases("tree")) },
    AuditEntry { name: "honaker", summary: "running sums by the weighted tree", cases: || Ok(prefix::cases("honaker")) },
    AuditEntry { name: "blt", summary: "running sums by buffered Toeplitz matrices", cases: || Ok(prefix::cases("blt")) },
    AuditEntry { name: "square-root", summary: "running sums by the square root", cases: || Ok(prefix::cases("square-root")) },
    AuditEntry { name: "gram-prefix", summary: "running sums of phi phi^T and y phi", cases: || Ok(prefix::gram_cases()) },
    AuditEntry { name: "discrete-laplace", summary: "release of one number", cases: || Ok(release::laplace()) },
    AuditEntry { name: "bit", summary: "release of one bit", cases: || Ok(release::bit()) },
    AuditEntry { name: "hybrid-on-a-grid", summary: "release of one number, bounded", cases: || Ok(release::density()) },
    AuditEntry { name: "discrete-gaussian-vector", summary: "release of one vector", cases: || Ok(release::vector()) },
    AuditEntry { name: "discrete-gaussian-tree", summary: "release of running sums", cases: || Ok(release::tree()) },
    AuditEntry { name: "exponential", summary: "release of one choice", cases: || Ok(choice::cases()) },
];

/// Every printed claim that an attack refutes, by its erratum.
pub static PRINTED: &[AuditEntry] = &[
    AuditEntry {
        name: "e3",
        summary: "a bound that holds with high probability in the place of a clip",
        cases: printed::zhou2021::e3,
    },
    AuditEntry { name: "e6", summary: "noise in the leaves of the tree alone", cases: printed::dubey2021::e6 },
    AuditEntry { name: "e8", summary: "the corner y² released with the root of S", cases: printed::dubey2021::e8 },
    AuditEntry { name: "e13", summary: "sensitivity of a Gram matrix per element", cases: printed::dubey2021::e13 },
    AuditEntry { name: "e14", summary: "local sums with the printed noise for bounded rewards", cases: printed::dubey2021::e14 },
    AuditEntry { name: "e16", summary: "the random projection, either branch", cases: printed::kharkovskii2020::e16 },
    AuditEntry { name: "e23", summary: "scale of the Gamma law", cases: printed::han2022::e23 },
    AuditEntry { name: "e27", summary: "noise for the change of one score", cases: printed::han2022::e27 },
    AuditEntry { name: "e28", summary: "the first gradient whole", cases: printed::han2022::e28 },
    AuditEntry { name: "e30", summary: "no synthetic update of the arms not pulled", cases: printed::han2022::e30 },
];

/// The audit of this name (errata in any letters).
#[must_use]
pub fn find(name: &str) -> Option<&'static AuditEntry> {
    AUDITS.iter().chain(PRINTED).find(|entry| entry.name.eq_ignore_ascii_case(name))
}
