//! The checker behind the `conformance` example, also run by the tests. Knows no file names: a file is what its fields
//! say. A kind is a function that computes the parts of a file, under the names that the file has for them, and one line here.

mod bandit;
mod contextual;
mod convex;
mod gp;
mod joint;
mod outcome;
mod outsourced;
mod read;

pub use outcome::Outcome;
use serde_json::{Value, json};

pub struct Kind {
    pub name: &'static str,
    /// What a file of this kind has: JSON pointers, without their first `/`.
    marks: &'static str,
    /// The list of its cases; empty where the whole file is one.
    cases: &'static str,
    /// Computes what a case of the file states.
    compute: fn(&Value, &Value) -> read::Read<Value>,
}

impl Kind {
    /// Returns true if a file has this kind's fields.
    pub fn recognises(&self, file: &Value) -> bool {
        self.marks.split(' ').all(|mark| file.pointer(&format!("/{mark}")).is_some())
    }

    /// Computes what a file states and compares.
    pub fn check(&self, file: &Value) -> Outcome {
        let cases = || Ok(json!({ (self.cases): read::each(file, self.cases, |case| (self.compute)(file, case))? }));
        Outcome::of(file, if self.cases.is_empty() { (self.compute)(file, file) } else { cases() })
    }
}

/// Every kind that is known.
pub const KINDS: &[Kind] = &[
    Kind { name: "kernels", marks: "X Y se matern", cases: "", compute: gp::kernels },
    Kind { name: "Fourier features", marks: "d1 d2 rff", cases: "", compute: gp::fourier },
    Kind { name: "test functions", marks: "camel stybtang20 michalewicz10", cases: "", compute: gp::test_functions },
    Kind { name: "posteriors", marks: "finite exact2d", cases: "", compute: gp::posteriors },
    Kind { name: "bandit sequences", marks: "X f noise runs", cases: "", compute: bandit::sequences },
    Kind { name: "Nystrom features", marks: "dictionary pinv_sqrt phi residual", cases: "", compute: gp::nystrom_features },
    Kind { name: "medians and truncation", marks: "mom truncation sym_inv_sqrt", cases: "", compute: gp::truncation },
    Kind { name: "prefix sums of the tree", marks: "items node_noise prefixes", cases: "", compute: joint::tree },
    Kind { name: "joint private runs", marks: "params spectrum actions rounds", cases: "", compute: joint::run },
    Kind { name: "thresholds of the curator", marks: "rows/0/root", cases: "rows", compute: outsourced::thresholds },
    Kind { name: "curators", marks: "cases/0/lifted", cases: "cases", compute: outsourced::curated },
    Kind { name: "grids of the curator", marks: "largest_r closed_form_value", cases: "", compute: outsourced::grids },
    Kind { name: "outsourced posteriors", marks: "Z observed sets", cases: "sets", compute: outsourced::posteriors },
    Kind { name: "Branin on a grid", marks: "minus_f sigma_min_normalized_25", cases: "", compute: outsourced::branin },
    Kind { name: "modelers", marks: "Z_projected sequences delta_prime", cases: "sequences", compute: outsourced::sequence },
    Kind { name: "calibration", marks: "jdp zhou_tan", cases: "", compute: bandit::calibration },
    Kind { name: "linear minimization", marks: "g cases/0/dual_norm_times_minus_r", cases: "cases", compute: convex::oracle },
    Kind { name: "noisy prefix sums", marks: "z noise nodes_in_prefix", cases: "", compute: convex::prefixes },
    Kind { name: "DP-TOFW", marks: "p node_noise runs", cases: "runs", compute: convex::tree_run },
    Kind { name: "DP-POFW", marks: "unit_laplace base_scale_t1 runs parameters", cases: "", compute: convex::choice_runs },
    Kind { name: "generalised Gaussian noise", marks: "rows/0/plus_exponent moments", cases: "rows", compute: convex::law },
    Kind { name: "noise levels", marks: "rows/0/sigma_plus rows/0/sigma_gdp", cases: "rows", compute: convex::levels },
    Kind { name: "DP-HDB", marks: "unit_laplace h_sub", cases: "runs", compute: contextual::choices },
    Kind { name: "linear bandits with a tree", marks: "node_normals reward_noise", cases: "", compute: contextual::sums },
    Kind { name: "convex baselines", marks: "noisy_sfw noisy_sgd local_md_step", cases: "", compute: convex::baselines },
];

pub fn recognise(file: &Value) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.recognises(file))
}
