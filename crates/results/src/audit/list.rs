//! Lists the audits: one line per mechanism, and one per false claim.

use super::{
    Case, curators, ftrl, gradients, hidden, interactions, prefix, printed, recommendation, release, rewards, steps, sums,
    vertices,
};
use privateer_config::error::Error;
use privateer_privacy::curator::input_noise;
use privateer_privacy::mechanism::{duchi, gaussian, hybrid, laplace, none, piecewise, response, warped};
use privateer_privacy::sums::{batch, joint, local, none as sums_none, privunit, shuffle};

/// Describes a registered audit.
#[derive(Debug, Clone, Copy)]
pub struct AuditEntry {
    /// Name of the mechanism, or of the fault of the claim.
    pub name: &'static str,
    /// The erratum that states that the claim is false.
    pub erratum: Option<&'static str>,
    /// One line that describes the audit.
    pub summary: &'static str,
    /// Learners and contextual policies that release by it, for example `dp-tofw with gaussian`.
    ///
    /// The part after `with` is the noise in their ledgers.
    pub of: &'static [&'static str],
    /// Makes the cases of the audit.
    pub cases: fn() -> Result<Vec<Case>, Error>,
}

/// Every mechanism, by its registered name.
pub static AUDITS: &[AuditEntry] = &[
    sound("none", "no privacy", || rewards::cases(&none::ENTRY)),
    sound("laplace", "Laplace noise on one reward", || rewards::cases(&laplace::ENTRY)),
    sound("duchi", "one bit for one reward", || rewards::cases(&duchi::ENTRY)),
    sound("piecewise", "a two-level density for one reward", || rewards::cases(&piecewise::ENTRY)),
    sound("hybrid", "density or bit for one reward", || rewards::cases(&hybrid::ENTRY)),
    sound("randomised-response", "one of k levels for one reward", || rewards::cases(&response::ENTRY)),
    sound("warped-piecewise", "a two-level density over spaced values", || rewards::cases(&warped::ENTRY)),
    sound("gaussian", "Gaussian noise on one reward", || rewards::cases(&gaussian::ENTRY)),
    sound("tree", "running sums by the binary tree", || Ok(prefix::cases("tree"))),
    sound("honaker", "running sums by the weighted tree", || Ok(prefix::cases("honaker"))),
    sound("blt", "running sums by buffered Toeplitz matrices", || Ok(prefix::cases("blt"))),
    sound("sqrt-toeplitz", "running sums by the square root", || Ok(prefix::cases("sqrt-toeplitz"))),
    sound("banded-toeplitz", "running sums by the banded square root", || Ok(prefix::cases("banded-toeplitz"))),
    sound("normalised-toeplitz", "running sums by columns of one norm", || Ok(prefix::cases("normalised-toeplitz"))),
    sound("gram-prefix", "running sums of phi phi^T and y phi", || Ok(prefix::gram_cases())),
    sound("sums-none", "sums over users, no privacy", || sums::cases(&sums_none::ENTRY)),
    sound("sums-tree", "sums over users by the tree", || sums::cases(&joint::ENTRIES[0])),
    sound("sums-honaker", "sums over users by the weighted tree", || sums::cases(&joint::ENTRIES[1])),
    sound("sums-blt", "sums over users by buffered Toeplitz matrices", || sums::cases(&joint::ENTRIES[2])),
    sound("sums-sqrt-toeplitz", "sums over users by the square root", || sums::cases(&joint::ENTRIES[3])),
    sound("sums-banded-toeplitz", "sums over users by the banded square root", || sums::cases(&joint::ENTRIES[4])),
    sound("sums-normalised-toeplitz", "sums over users by columns of one norm", || sums::cases(&joint::ENTRIES[5])),
    sound("reward-sums", "sums of rewards at public points", sums::of_rewards),
    sound("sums-local-gaussian", "every user's own item", || sums::cases(&local::ENTRY)),
    sound("sums-privunit", "every user's own item as a point of a sphere", || sums::cases(&privunit::ENTRY)),
    sound("sums-batch-laplace", "sums of batches, Laplace noise", || sums::cases(&batch::ENTRIES[0])),
    sound("sums-batch-gaussian", "sums of batches, Gaussian noise", || sums::cases(&batch::ENTRIES[1])),
    sound("sums-batch-shuffle", "means of shuffled answers of batches", || sums::cases(&shuffle::ENTRY)),
    sound("sums-exponential", "one candidate, chosen by its rewards", recommendation::cases),
    sound("input-noise", "Gaussian noise on rows of inputs", || curators::cases(&input_noise::ENTRY)),
    sound("gradients-gaussian", "running sums of gradients, independent normals", || gradients::sums(false))
        .of(&["dp-tofw with gaussian"]),
    sound("gradients-generalized-gaussian", "the same, generalised Gaussian", || gradients::sums(true))
        .of(&["dp-tofw with generalized-gaussian"]),
    sound("ftrl-gaussian", "running sums of plain gradients, independent normals", || ftrl::cases(false))
        .of(&["dp-ftrl with gaussian"]),
    sound("ftrl-generalized-gaussian", "the same, generalised Gaussian", || ftrl::cases(true))
        .of(&["dp-ftrl with generalized-gaussian"]),
    sound("phased-gaussian", "noisy means of phases of a hidden descent", hidden::phases).of(&["phased-sgd with gaussian"]),
    sound("snowball-gaussian", "the last iterate of a hidden descent", hidden::snowball).of(&["snowball-sgd with gaussian"]),
    sound("giga-gaussian", "every iterate of a hidden descent", hidden::iterates).of(&["noisy-giga with gaussian"]),
    sound("choices-gumbel", "choices of a vertex by the exponential mechanism", || vertices::choices(true))
        .of(&["dp-pofw with gumbel"]),
    sound("choices-laplace", "choices of a vertex with Laplace noise", || vertices::choices(false)).of(&["dp-pofw with laplace"]),
    sound("sample-gaussian", "one gradient a sample, independent normals", || steps::samples("gaussian"))
        .of(&["local-md with gaussian"]),
    sound("sample-generalized-gaussian", "the same, generalised Gaussian", || steps::samples("generalized-gaussian"))
        .of(&["local-md with generalized-gaussian"]),
    sound("sample-privunit", "one gradient a sample, as a point of a sphere", || steps::samples("privunit"))
        .of(&["local-md with privunit"]),
    sound("batch-gaussian", "mean gradients of batches, independent normals", || steps::batches(false))
        .of(&["noisy-sfw with gaussian"]),
    sound("batch-generalized-gaussian", "the same, generalised Gaussian", || steps::batches(true))
        .of(&["noisy-sfw with generalized-gaussian"]),
    sound("stored-gaussian", "gradients of secretly drawn samples", steps::stored).of(&["noisy-sgd with gaussian"]),
    sound("visits-tree", "sums over interactions by the tree", || interactions::sums("tree")).of(&["dp-linucb with tree"]),
    sound("visits-honaker", "sums over interactions by the weighted tree", || interactions::sums("honaker"))
        .of(&["dp-linucb with honaker"]),
    sound("visits-blt", "sums over interactions by buffered Toeplitz matrices", || interactions::sums("blt"))
        .of(&["dp-linucb with blt"]),
    sound("visits-sqrt-toeplitz", "sums over interactions by the square root", || interactions::sums("sqrt-toeplitz"))
        .of(&["dp-linucb with sqrt-toeplitz"]),
    sound("visits-banded-toeplitz", "sums over interactions by the banded square root", || interactions::sums("banded-toeplitz"))
        .of(&["dp-linucb with banded-toeplitz"]),
    sound("visits-normalised-toeplitz", "sums over interactions by columns of one norm", || {
        interactions::sums("normalised-toeplitz")
    })
    .of(&["dp-linucb with normalised-toeplitz"]),
    sound("visits-own", "every user's own item", || interactions::sums("own")).of(&["ldp-linucb with local-gaussian"]),
    sound("visits-privunit", "every user's own item as a point of a sphere", || interactions::sums("privunit"))
        .of(&["ldp-linucb with privunit"]),
    sound("visits-gumbel", "choices of every arm by the exponential mechanism", || interactions::choices("gumbel"))
        .of(&["dp-hdb with gumbel"]),
    sound("visits-laplace", "choices of every arm with Laplace noise", || interactions::choices("laplace"))
        .of(&["dp-hdb with laplace"]),
    sound("discrete-laplace", "release of one number", || release::cases("discrete-laplace", &laplace::ENTRY, 2.0)),
    sound("bit", "release of one bit", || release::cases("bit", &duchi::ENTRY, 2.0)),
    sound("hybrid-on-a-grid", "release of one number, bounded", || release::cases("hybrid-on-a-grid", &hybrid::ENTRY, 2.0)),
    sound("piecewise-on-a-grid", "release of one number by the two-level density", || {
        release::cases("piecewise-on-a-grid", &piecewise::ENTRY, 2.0)
    }),
    sound("response-on-levels", "release of one of k levels", || release::cases("response-on-levels", &response::ENTRY, 2.0)),
    sound("warped-on-a-grid", "release of one of the spaced values", || release::cases("warped-on-a-grid", &warped::ENTRY, 2.0)),
    sound("discrete-gaussian", "release of one number, Gaussian", || release::cases("discrete-gaussian", &gaussian::ENTRY, 4.0)),
    sound("discrete-gaussian-rows", "release of rows", || Ok(curators::released())),
    sound("discrete-gaussian-sums", "release of sums over users", sums::released),
    sound("exact-reward-sums", "release of sums of rewards at public points", sums::released_rewards),
    sound("exact-sums-batch-laplace", "release of sums of batches", || sums::released_of(&batch::ENTRIES[0])),
    sound("exact-sums-batch-gaussian", "release of sums of batches, Gaussian", || sums::released_of(&batch::ENTRIES[1])),
    sound("ranked-points", "release of everybody's own point of a sphere", sums::released_points),
    sound("exact-exponential", "release of one candidate", recommendation::released),
];

/// Every printed claim that an attack refutes.
pub static PRINTED: &[AuditEntry] = &[
    broken("laplace-unclipped", "E3", "a bound that holds with high probability instead of a clip", printed::e3),
    broken("leaf-noise", "E6", "noise in the leaves of the tree alone", printed::e6),
    broken("gram-corner", "E8", "the corner y² released, noise for the root of S", printed::e8),
    broken("local-gram", "E13", "sensitivity of a Gram matrix per element", printed::e13),
    broken("local-sums", "E14", "local sums with the printed noise for bounded rewards", printed::e14),
    broken("projection", "E16", "the random projection, either branch", printed::e16),
    broken("projection-always-lift", "E16", "the same, always lifted", printed::e16_always_lifted),
    broken("gamma-scale", "E23", "scale of the Gamma law of the generalised Gaussian", gradients::printed_gamma_scale),
    broken("choice-of-one-score", "E27", "noise for the change of one score", printed::e27),
    broken("first-gradient", "E28", "the first gradient whole", vertices::whole_first_gradient),
    broken("synthetic-update", "E30", "no update of the arms not pulled", interactions::without_synthetic_updates),
    broken("recommendation-of-a-prior", "E32", "noise for a change that is rare under a prior", recommendation::of_a_prior),
];

const fn sound(name: &'static str, summary: &'static str, cases: fn() -> Result<Vec<Case>, Error>) -> AuditEntry {
    AuditEntry { name, erratum: None, summary, of: &[], cases }
}

impl AuditEntry {
    const fn of(self, of: &'static [&'static str]) -> Self {
        Self { of, ..self }
    }
}

const fn broken(
    name: &'static str,
    erratum: &'static str,
    summary: &'static str,
    cases: fn() -> Result<Vec<Case>, Error>,
) -> AuditEntry {
    AuditEntry { erratum: Some(erratum), ..sound(name, summary, cases) }
}

/// Returns the audits of this name, or of this erratum (case-insensitive).
pub fn find(name: &str) -> Vec<&'static AuditEntry> {
    let meant =
        |entry: &&AuditEntry| entry.name == name || entry.erratum.is_some_and(|erratum| erratum.eq_ignore_ascii_case(name));
    AUDITS.iter().chain(PRINTED).filter(meant).collect()
}
