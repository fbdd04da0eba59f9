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
    /// What a file of this kind has, as JSON pointers.
    marks: &'static [&'static str],
    /// Computes what the file states and compares.
    pub check: fn(&Value) -> Outcome,
}

impl Kind {
    /// True if a file has this kind's fields.
    pub fn recognises(&self, file: &Value) -> bool {
        self.marks.iter().all(|mark| file.pointer(mark).is_some())
    }
}

/// Every kind that is known.
pub const KINDS: &[Kind] = &[
    Kind { name: "kernels", marks: &["/X", "/Y", "/se", "/matern"], check: kernels::check },
    Kind { name: "quadrature and random Fourier features", marks: &["/d1", "/d2", "/rff"], check: qff::check },
    Kind { name: "test functions", marks: &["/camel", "/stybtang20", "/michalewicz10"], check: benchmarks::check },
    Kind { name: "posteriors", marks: &["/finite", "/exact2d"], check: posterior::check },
    Kind { name: "bandit sequences", marks: &["/X", "/f", "/noise", "/runs"], check: sequences::check },
    Kind { name: "Nystrom features", marks: &["/dictionary", "/pinv_sqrt", "/phi", "/residual"], check: nystrom::check },
    Kind { name: "medians and truncation", marks: &["/mom", "/truncation", "/sym_inv_sqrt"], check: truncation::check },
    Kind { name: "prefix sums of the tree", marks: &["/items", "/node_noise", "/prefixes"], check: joint::check_tree },
    Kind { name: "joint private runs", marks: &["/params", "/spectrum", "/actions", "/rounds"], check: joint::check_run },
    Kind { name: "thresholds of the curator", marks: &["/rows/0/root"], check: curator::check_omega },
    Kind { name: "curators", marks: &["/cases/0/lifted"], check: curator::check },
    Kind { name: "grids of the curator", marks: &["/largest_r", "/closed_form_value"], check: curator::check_grid },
    Kind { name: "outsourced posteriors", marks: &["/Z", "/observed", "/sets"], check: modeler::check_posterior },
    Kind { name: "Branin on a grid", marks: &["/minus_f", "/sigma_min_normalized_25"], check: benchmarks::check_branin },
    Kind { name: "modelers", marks: &["/Z_projected", "/sequences", "/delta_prime"], check: modeler::check },
    Kind { name: "calibration", marks: &["/jdp", "/zhou_tan"], check: calibration::check },
    Kind { name: "linear minimization", marks: &["/g", "/cases/0/dual_norm_times_minus_r"], check: oracles::check },
    Kind { name: "noisy prefix sums", marks: &["/z", "/noise", "/nodes_in_prefix"], check: prefix::check },
    Kind { name: "DP-TOFW", marks: &["/p", "/node_noise", "/runs"], check: frank_wolfe::check_sums },
    Kind {
        name: "DP-POFW",
        marks: &["/unit_laplace", "/base_scale_t1", "/runs", "/parameters"],
        check: frank_wolfe::check_choices,
    },
    Kind { name: "generalised Gaussian noise", marks: &["/rows/0/plus_exponent", "/moments"], check: noise::check_law },
    Kind { name: "noise levels", marks: &["/rows/0/sigma_plus", "/rows/0/sigma_gdp"], check: noise::check_levels },
    Kind { name: "DP-HDB", marks: &["/unit_laplace", "/h_sub"], check: contextual::check_choices },
    Kind { name: "linear bandits with a tree", marks: &["/node_normals", "/reward_noise"], check: contextual::check_sums },
    Kind {
        name: "baselines of convex optimization",
        marks: &["/noisy_sfw", "/noisy_sgd", "/local_md_step"],
        check: baselines::check,
    },
];

/// The kind of a file.
pub fn recognise(file: &Value) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.recognises(file))
}
