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

/// One kind of file.
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    /// What a file of this kind has: JSON pointers, without their first `/`.
    marks: &'static str,
    /// The list of its cases; empty where the whole file is one.
    cases: &'static str,
    /// Computes what a case of the file states.
    compute: fn(&Value, &Value) -> read::Read<Value>,
}

impl Kind {
    const fn new(
        name: &'static str,
        marks: &'static str,
        cases: &'static str,
        compute: fn(&Value, &Value) -> read::Read<Value>,
    ) -> Self {
        Self { name, marks, cases, compute }
    }

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
    Kind::new("kernels", "X Y se matern", "", gp::kernels),
    Kind::new("Fourier features", "d1 d2 rff", "", gp::fourier),
    Kind::new("test functions", "camel stybtang20 michalewicz10", "", gp::test_functions),
    Kind::new("posteriors", "finite exact2d", "", gp::posteriors),
    Kind::new("bandit sequences", "X f noise runs", "", bandit::sequences),
    Kind::new("Nystrom features", "dictionary pinv_sqrt phi residual", "", gp::nystrom_features),
    Kind::new("medians and truncation", "mom truncation sym_inv_sqrt", "", gp::truncation),
    Kind::new("prefix sums of the tree", "items node_noise prefixes", "", joint::tree),
    Kind::new("joint private runs", "params spectrum actions rounds", "", joint::run),
    Kind::new("thresholds of the curator", "tolerance rows/0/root", "rows", outsourced::thresholds),
    Kind::new("curators", "tolerance cases/0/lifted", "cases", outsourced::curated),
    Kind::new("grids of the curator", "tolerance largest_r closed_form_value", "", outsourced::grids),
    Kind::new("outsourced posteriors", "tolerance Z observed sets", "sets", outsourced::posteriors),
    Kind::new("Branin on a grid", "tolerance minus_f sigma_min_normalized_25", "", outsourced::branin),
    Kind::new("modelers", "tolerance Z_projected sequences delta_prime", "sequences", outsourced::sequence),
    Kind::new("calibration", "jdp zhou_tan", "", bandit::calibration),
    Kind::new("linear minimization", "tolerance g cases/0/dual_norm_times_minus_r", "cases", convex::oracle),
    Kind::new("noisy prefix sums", "tolerance z noise nodes_in_prefix", "", convex::prefixes),
    Kind::new("DP-TOFW", "tolerance p node_noise runs", "runs", convex::tree_run),
    Kind::new("DP-POFW", "tolerance unit_laplace base_scale_t1 runs parameters", "", convex::choice_runs),
    Kind::new("generalised Gaussian noise", "tolerance rows/0/plus_exponent moments", "rows", convex::law),
    Kind::new("noise levels", "tolerance rows/0/sigma_plus rows/0/sigma_gdp", "rows", convex::levels),
    Kind::new("DP-HDB", "tolerance unit_laplace h_sub", "runs", contextual::choices),
    Kind::new("linear bandits with a tree", "tolerance node_normals reward_noise", "", contextual::sums),
    Kind::new("convex baselines", "tolerance noisy_sfw noisy_sgd local_md_step", "", convex::baselines),
];

/// The kind of a file.
pub fn recognise(file: &Value) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.recognises(file))
}
