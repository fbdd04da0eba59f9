//! Kernels: symmetric to the last bit, positive semi-definite.

use crate::support::prepared;
use privateer::env::DataFolder;
use privateer::registry::{KERNELS, names};
use privateer_gp::features::exact::exact;
use privateer_gp::score::GramSource;
use privateer_numerics::linalg;
use std::sync::Arc;

/// Settings of each kernel worth a look; the first is for use elsewhere.
pub fn settings(name: &str) -> Vec<&'static str> {
    match name {
        "squared-exponential" => {
            vec!["lengthscale = 0.3", "lengthscale = 3.0, variance = 2.0", "lengthscales = [0.05, 0.7]"]
        }
        "matern" => vec![
            "nu = 2.5, lengthscale = 0.3",
            "nu = 0.5, lengthscale = 0.1",
            "nu = 1.5, lengthscales = [0.3, 2.0]",
            "nu = 3.5, lengthscale = 1.0",
            "nu = 0.8, lengthscale = 0.3",
        ],
        "linear" => vec!["scale = 1.0", "scale = 0.5, bias = 0.25"],
        "additive" => vec![
            "part = { kind = \"squared-exponential\", lengthscale = 0.3, variance = 0.7 }",
            "group_size = 2, part = { kind = \"matern\", nu = 1.5, lengthscales = [0.3, 2.0] }",
        ],
        "empirical-covariance" => vec!["", "normalise = \"covariance\""],
        other => panic!("no settings for the kernel `{other}`: add them here"),
    }
}

/// A spec over random points in two dimensions, or over a generated table.
pub fn spec(name: &str, setting: &str) -> String {
    let comma = if setting.is_empty() { "" } else { ", " };
    let kernel = format!("kernel = {{ kind = \"{name}\"{comma}{setting} }}");
    let environment = if name == "empirical-covariance" {
        format!("kind = \"arms-table\"\nsynthetic = true\n{kernel}")
    } else {
        let domain = "domain = { kind = \"random\", dimension = 2, points = 60, lo = -1.0, hi = 2.0 }";
        format!("kind = \"rkhs\"\n{domain}\nnoise = \"none\"\n{kernel}")
    };
    format!("rounds = 10\n[environment]\n{environment}\n[[policy]]\nkind = \"uniform\"\n")
}

fn gram(name: &str, setting: &str) -> Arc<dyn GramSource> {
    let text = spec(name, setting);
    let cell = prepared(&text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0])).expect("a cell");
    // The kernel itself, where there is one, and not only the table made of one triangle of it.
    if let (Some(kernel), Some(points)) = (cell.environment.kernel.as_ref(), cell.environment.points.as_ref()) {
        for a in 0..points.n_points() {
            for b in 0..=a {
                let (x, y) = (points.point(a), points.point(b));
                assert_eq!(kernel.value(x, y).to_bits(), kernel.value(y, x).to_bits(), "{name} {setting}");
                assert_eq!(kernel.value(x, y).to_bits(), cell.environment.gram.entry(a, b).to_bits());
            }
            let own = kernel.value(points.point(a), points.point(a));
            assert_eq!(kernel.variance().unwrap_or(own).to_bits(), own.to_bits(), "{name} {setting}");
        }
    }
    Arc::clone(&cell.environment.gram)
}

#[test]
fn symmetric_and_positive_semi_definite() {
    for name in names(KERNELS) {
        for setting in settings(name) {
            let gram = gram(name, setting);
            let n = gram.n_points();
            let largest = (0..n).map(|i| gram.diagonal(i)).fold(0.0, f64::max);
            assert!(0.0 < largest && largest.is_finite(), "{name} {setting}");
            let mut matrix = Vec::with_capacity(n * n);
            let mut column = vec![0.0; n];
            for i in 0..n {
                gram.column(i, 0, &mut column);
                assert_eq!(gram.diagonal(i).to_bits(), gram.entry(i, i).to_bits());
                for (j, &value) in column.iter().enumerate() {
                    assert_eq!(value.to_bits(), gram.entry(i, j).to_bits(), "{name} {setting}");
                    assert_eq!(value.to_bits(), gram.entry(j, i).to_bits(), "{name} {setting}");
                    assert!(value * value <= gram.diagonal(i) * gram.diagonal(j) * (1.0 + 1e-12), "{name} {setting} {i} {j}");
                }
                matrix.extend_from_slice(&column);
                // Eigenvalues are at least -n roundings of the largest: a ridge of 1e-12 of it must suffice.
                matrix[i * n + i] += 1e-12 * largest;
            }
            assert!(linalg::cholesky(&mut matrix, n).is_ok(), "{name} {setting} is not positive semi-definite");
            assert!(exact(gram.as_ref(), 1e-10, n).is_ok(), "{name} {setting}");
        }
    }
}
