//! Feature maps: no longer than the prior allows, and an error that is stated truthfully.

use super::kernels::settings;
use crate::support::prepared;
use privateer::env::{DataFolder, Environment};
use privateer::policy::{KnownInputs, Problem, SharedInputs};
use privateer::registry::{FEATURES, KERNELS, names};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Sink, Table};
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::Streams;

/// The problem of a kernel over this many random points.
fn problem(kernel: &str, setting: &str, points: usize) -> Option<Problem> {
    if kernel == "empirical-covariance" {
        return None;
    }
    let text = format!(
        "rounds = 10\n[environment]\nkind = \"rkhs\"\nnoise = \"none\"\nkernel = {{ kind = \"{kernel}\", {setting} }}\n\
         domain = {{ kind = \"random\", dimension = 2, points = {points} }}\n[[policy]]\nkind = \"uniform\"\n"
    );
    let cell = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
    let Environment { gram, points, kernel, .. } = &*cell.environment;
    Some(Problem {
        inputs: KnownInputs::Shared(SharedInputs { gram: gram.clone(), points: points.clone(), kernel: kernel.clone() }),
        table_points: usize::MAX,
        rounds: 10,
        streams: Streams::new(3, "features"),
        memory_bytes: 1e9,
        tables: Default::default(),
    })
}

/// Builds a plan from no keys.
fn plan<T>(build: impl FnOnce(&Args<'_>) -> T) -> T {
    let (table, sink) = (Table::default(), Sink::new(Sources::default()));
    let plan = build(&Args::new(&table, "features", &sink));
    sink.into_result().expect("no key is required");
    plan
}

#[test]
fn length_and_stated_error() {
    for entry in FEATURES {
        let plan = plan(entry.build);
        let mut built = 0;
        for kernel in names(KERNELS) {
            for setting in settings(kernel) {
                // So few points that the error is measured over every pair.
                let Some(problem) = problem(kernel, setting, 22) else { continue };
                let features = match plan.build(&problem) {
                    Ok(features) => features,
                    Err(error) => {
                        assert_ne!(entry.name, "exact", "{kernel} {setting}: {error}");
                        continue;
                    }
                };
                let gram = &problem.shared().expect("shared").gram;
                built += 1;
                let said = format!("{} of {kernel}, {setting}", entry.name);
                assert_eq!((features.n_points, features.residual.len()), (22, 22), "{said}");
                assert_eq!(features.values.len(), 22 * features.n_features, "{said}");
                let mut worst = 0.0_f64;
                for a in 0..22 {
                    let length = dot(&features.row(a), &features.row(a));
                    assert!(length <= gram.diagonal(a) * (1.0 + 1e-9), "{said}: |phi|² = {length}");
                    assert!(0.0 <= features.residual[a], "{said}");
                    for b in 0..22 {
                        worst = worst.max((dot(&features.row(a), &features.row(b)) - gram.entry(a, b)).abs());
                    }
                }
                let scale = (0..22).map(|a| gram.diagonal(a)).fold(0.0, f64::max);
                let rounding = 1e-12 * scale;
                assert!(worst <= features.kernel_error + rounding, "{said}: {worst} beyond {}", features.kernel_error);
                if entry.name == "exact" {
                    assert!(features.kernel_error <= 1e-10 * scale, "{said}");
                } else if entry.name == "quadrature-fourier" {
                    // Measured over the whole box of the domain, not at its points alone.
                    assert!(features.kernel_error <= 0.9 * scale, "{said}");
                } else {
                    assert!(features.kernel_error <= worst + rounding, "{said}: states more than there is");
                }
                // The same features again: they are drawn from the environment's stream.
                assert_eq!(features, plan.build(&problem).expect("again"), "{said}");
            }
        }
        assert!(0 < built, "{} suits no kernel", entry.name);
    }
}

/// A check computes features at a sample of a large domain: as many of them, with the same stated error where it is of the box, and
/// memory is asked for all points.
#[test]
fn features_of_a_sample() {
    for entry in FEATURES {
        let plan = plan(entry.build);
        let all = problem("squared-exponential", "lengthscale = 0.2", 400).expect("a problem");
        let some = Problem { table_points: 100, ..all.clone() };
        let (whole, sampled) = (plan.build(&all).expect("features"), plan.build(&some).expect("features"));
        // A dictionary names points by their numbers.
        let expected = if entry.name == "nystrom" { 400 } else { 100 };
        assert_eq!((whole.n_points, sampled.n_points), (400, expected), "{}", entry.name);
        if entry.name != "exact" {
            assert_eq!(whole.n_features, sampled.n_features, "{}", entry.name);
            let scarce = Problem { memory_bytes: 7.9 * (400 * whole.n_features) as f64, ..some };
            assert!(plan.build(&scarce).expect_err("too little memory").to_string().contains("400 points"), "{}", entry.name);
        }
    }
}
