//! The kinds of reference files, by name.

use super::outcome::Outcome;
use super::{
    baselines, benchmarks, calibration, contextual, curator, frank_wolfe, joint, kernels, modeler, noise, nystrom, oracles,
    posterior, prefix, qff, sequences, truncation,
};
use serde_json::Value;

/// One kind of file.
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    /// True if a file has this kind's fields.
    pub recognise: fn(&Value) -> bool,
    /// Computes what the file states and compares.
    pub check: fn(&Value) -> Outcome,
}

/// Every kind that is known.
pub const KINDS: &[Kind] = &[
    Kind { name: "kernels", recognise: kernels::recognise, check: kernels::check },
    Kind { name: "quadrature and random Fourier features", recognise: qff::recognise, check: qff::check },
    Kind { name: "test functions", recognise: benchmarks::recognise, check: benchmarks::check },
    Kind { name: "posteriors", recognise: posterior::recognise, check: posterior::check },
    Kind { name: "bandit sequences", recognise: sequences::recognise, check: sequences::check },
    Kind { name: "Nystrom features", recognise: nystrom::recognise, check: nystrom::check },
    Kind { name: "medians and truncation", recognise: truncation::recognise, check: truncation::check },
    Kind { name: "prefix sums of the tree", recognise: joint::recognise_tree, check: joint::check_tree },
    Kind { name: "joint private runs", recognise: joint::recognise_run, check: joint::check_run },
    Kind { name: "thresholds of the curator", recognise: curator::recognise_omega, check: curator::check_omega },
    Kind { name: "curators", recognise: curator::recognise, check: curator::check },
    Kind { name: "grids of the curator", recognise: curator::recognise_grid, check: curator::check_grid },
    Kind { name: "outsourced posteriors", recognise: modeler::recognise_posterior, check: modeler::check_posterior },
    Kind { name: "Branin on a grid", recognise: benchmarks::recognise_branin, check: benchmarks::check_branin },
    Kind { name: "modelers", recognise: modeler::recognise, check: modeler::check },
    Kind { name: "calibration", recognise: calibration::recognise, check: calibration::check },
    Kind { name: "linear minimization", recognise: oracles::recognise, check: oracles::check },
    Kind { name: "noisy prefix sums", recognise: prefix::recognise, check: prefix::check },
    Kind { name: "DP-TOFW", recognise: frank_wolfe::recognise_sums, check: frank_wolfe::check_sums },
    Kind { name: "DP-POFW", recognise: frank_wolfe::recognise_choices, check: frank_wolfe::check_choices },
    Kind { name: "generalised Gaussian noise", recognise: noise::recognise_law, check: noise::check_law },
    Kind { name: "noise levels", recognise: noise::recognise_levels, check: noise::check_levels },
    Kind { name: "DP-HDB", recognise: contextual::recognise_choices, check: contextual::check_choices },
    Kind { name: "linear bandits with a tree", recognise: contextual::recognise_sums, check: contextual::check_sums },
    Kind { name: "baselines of convex optimization", recognise: baselines::recognise, check: baselines::check },
];

/// The kind of a file.
pub fn recognise(file: &Value) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| (kind.recognise)(file))
}
