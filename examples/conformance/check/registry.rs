//! The kinds of reference files, by name.

use super::outcome::Outcome;
use super::{benchmarks, calibration, curator, joint, kernels, modeler, nystrom, posterior, qff, sequences, truncation};
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
    Kind { name: "modelers", recognise: modeler::recognise, check: modeler::check },
    Kind { name: "calibration", recognise: calibration::recognise, check: calibration::check },
];

/// The kind of a file.
pub fn recognise(file: &Value) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| (kind.recognise)(file))
}
