//! The checker behind the `conformance` example, also run by the tests. Knows no file names: a file is what its fields
//! say. A kind is a function that computes the parts of a file, under the names that the file has for them, and one line here.

mod bandit;
mod calibration;
mod contextual;
mod convex;
mod joint;
mod kernels;
mod outcome;
mod outsourced;
mod posteriors;
mod read;

pub use outcome::Outcome;
use serde_json::Value;

/// One kind of file.
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    /// What a file of this kind has: JSON pointers, without their first `/`.
    marks: &'static str,
    /// Computes what the file states.
    compute: fn(&Value) -> read::Read<Value>,
}

impl Kind {
    /// Returns true if a file has this kind's fields.
    pub fn recognises(&self, file: &Value) -> bool {
        self.marks.split(' ').all(|mark| file.pointer(&format!("/{mark}")).is_some())
    }

    /// Computes what a file states and compares.
    pub fn check(&self, file: &Value) -> Outcome {
        Outcome::of(file, (self.compute)(file))
    }
}

/// Every kind that is known.
pub const KINDS: &[Kind] = &[
    Kind { name: "kernels", marks: "X Y se matern", compute: kernels::kernels },
    Kind { name: "Fourier features", marks: "d1 d2 rff", compute: kernels::fourier },
    Kind { name: "test functions", marks: "camel stybtang20 michalewicz10", compute: posteriors::test_functions },
    Kind { name: "posteriors", marks: "finite exact2d", compute: posteriors::posteriors },
    Kind { name: "bandit sequences", marks: "X f noise runs", compute: bandit::sequences },
    Kind { name: "Nystrom features", marks: "dictionary pinv_sqrt phi residual", compute: kernels::nystrom_features },
    Kind { name: "medians and truncation", marks: "mom truncation sym_inv_sqrt", compute: posteriors::truncation },
    Kind { name: "prefix sums of the tree", marks: "items node_noise prefixes", compute: joint::tree },
    Kind { name: "joint private runs", marks: "params spectrum actions rounds", compute: joint::run },
    Kind { name: "thresholds of the curator", marks: "tolerance rows/0/root", compute: outsourced::thresholds },
    Kind { name: "curators", marks: "tolerance cases/0/lifted", compute: outsourced::curators },
    Kind { name: "grids of the curator", marks: "tolerance largest_r closed_form_value", compute: outsourced::grids },
    Kind { name: "outsourced posteriors", marks: "tolerance Z observed sets", compute: outsourced::posteriors },
    Kind { name: "Branin on a grid", marks: "tolerance minus_f sigma_min_normalized_25", compute: outsourced::branin },
    Kind { name: "modelers", marks: "tolerance Z_projected sequences delta_prime", compute: outsourced::modelers },
    Kind { name: "calibration", marks: "jdp zhou_tan", compute: calibration::check },
    Kind { name: "linear minimization", marks: "tolerance g cases/0/dual_norm_times_minus_r", compute: convex::oracles },
    Kind { name: "noisy prefix sums", marks: "tolerance z noise nodes_in_prefix", compute: convex::prefixes },
    Kind { name: "DP-TOFW", marks: "tolerance p node_noise runs", compute: convex::tree_runs },
    Kind { name: "DP-POFW", marks: "tolerance unit_laplace base_scale_t1 runs parameters", compute: convex::choice_runs },
    Kind { name: "generalised Gaussian noise", marks: "tolerance rows/0/plus_exponent moments", compute: convex::law },
    Kind { name: "noise levels", marks: "tolerance rows/0/sigma_plus rows/0/sigma_gdp", compute: convex::levels },
    Kind { name: "DP-HDB", marks: "tolerance unit_laplace h_sub", compute: contextual::choices },
    Kind { name: "linear bandits with a tree", marks: "tolerance node_normals reward_noise", compute: contextual::sums },
    Kind { name: "convex baselines", marks: "tolerance noisy_sfw noisy_sgd local_md_step", compute: convex::baselines },
];

/// The kind of a file.
pub fn recognise(file: &Value) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.recognises(file))
}
