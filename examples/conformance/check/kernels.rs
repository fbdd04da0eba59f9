//! Kernels, empirical covariances, quadrature and random Fourier features, and Nystrom features.

use super::read::{
    Read, all, each, ensure, get, indices, kernel, last_true, lengthscales, line, matrix, points, size, squared_exponential,
    stated,
};
use privateer_gp::features::nystrom::nystrom;
use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
use privateer_gp::features::random_fourier::random_fourier;
use privateer_gp::kernel::additive::Additive;
use privateer_gp::kernel::empirical::{Normalise, empirical_covariance};
use privateer_gp::kernel::linear::LinearKernel;
use privateer_gp::kernel::matern::Matern;
use privateer_gp::kernel::{Kernel, Lengthscales};
use privateer_gp::nystrom::{Embedding, is_included};
use privateer_gp::score::{FeatureTable, GramSource};
use privateer_gp::special::gauss_hermite;
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::linalg::{Columns, dot};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub fn kernels(file: &Value) -> Read<Value> {
    let entries = |name: &str| file[name].as_object().into_iter().flat_map(Map::keys);
    let grid = |kernel: &dyn Kernel| table(kernel, file, "grid", "grid");
    let empirical = |normalise: Normalise| -> Read<Value> {
        let (n_columns, samples) = matrix(file, "samples")?;
        Ok(json!(empirical_covariance(&samples, n_columns, normalise)?))
    };
    let (mut found, mut se, mut matern) = (json!({}), json!({}), json!({}));
    for name in file.as_object().into_iter().flat_map(Map::keys) {
        found[name] = match name.as_str() {
            "se_grid_0.2" => grid(&squared_exponential(&json!({ "l": 0.2 }))?)?,
            "matern_grid_l0.2_nu2.5" => grid(&Matern::new(2.5, Lengthscales::Isotropic(0.2), 1.0))?,
            "linear" => table(&LinearKernel::new(1.0, 0.0), file, "X", "Y")?,
            "empirical_correlation" => empirical(Normalise::Standardised)?,
            "empirical_covariance_over_max" => empirical(Normalise::CovarianceOverMax)?,
            _ => continue,
        };
    }
    for key in entries("se") {
        se[key] = table(&squared_exponential(&json!({ "l": parsed(key)? }))?, file, "X", "Y")?;
    }
    for key in entries("matern") {
        let parts = key.strip_prefix("l=").and_then(|rest| rest.split_once(",nu="));
        let (l, nu) = parts.ok_or_else(|| format!("`{key}` is not of the form `l=…,nu=…`"))?;
        matern[key] = table(&Matern::new(parsed(nu)?, lengthscales(&json!({ "l": parsed(l)? }))?, 1.0), file, "X", "Y")?;
    }
    (found["se"], found["matern"]) = (se, matern);
    Ok(found)
}

fn parsed(text: &str) -> Read<f64> {
    text.parse().map_err(|_| format!("`{text}` is not a number").into())
}

fn table(kernel: &dyn Kernel, file: &Value, rows: &str, columns: &str) -> Read<Value> {
    let (rows, columns) = (points(file, rows)?, points(file, columns)?);
    ensure(rows.dimension() == columns.dimension(), "rows and columns have points of different dimensions")?;
    let row = |i: usize| (0..columns.n_points()).map(|j| kernel.value(rows.point(i), columns.point(j))).collect::<Vec<f64>>();
    Ok((0..rows.n_points()).map(row).collect())
}

pub fn fourier(file: &Value) -> Read<Value> {
    let additive = points(file, "additive/X")?;
    let kernel = Additive::new(Arc::new(squared_exponential(&file["additive"])?), 1).ok_or("the kernel has no coordinates")?;
    let features = quadrature_map(&file["additive"], &kernel, &extents(&additive))?.table(&additive, None).values;
    let (points, (dimension, frequencies)) = (points(file, "rff/X")?, matrix(file, "rff/W")?);
    ensure(dimension == points.dimension(), "`X` and `W` have different dimensions")?;
    Ok(json!({
        "d1": each(file, "d1", |entry| quadrature(1, entry))?,
        "d2": each(file, "d2", |entry| quadrature(2, entry))?,
        "additive": { "features": features },
        "ball2": each(file, "ball2", ball_error)?,
        "rff": { "features": random_fourier(&points, &frequencies, 1.0, None).values },
    }))
}

/// The map over points of a box.
pub fn quadrature_map(entry: &Value, kernel: &dyn Kernel, extents: &[f64]) -> Read<QuadratureMap> {
    Ok(QuadratureMap::new(kernel, extents, QuadratureFourier { nodes: size(entry, "mbar")?, max_error: 2.0 })?)
}

/// All inner products of a table's rows.
fn products(table: &FeatureTable) -> Vec<f64> {
    let n = table.n_points;
    (0..n * n).map(|at| dot(table.row(at / n), table.row(at % n))).collect()
}

fn quadrature(dimension: usize, entry: &Value) -> Read<Value> {
    let (kernel, points) = (squared_exponential(entry)?, points(entry, "X")?);
    let map = quadrature_map(entry, &kernel, &vec![1.0; dimension])?;
    let table = map.table(&points, None);
    // Errors over all pairs of a grid of the unit cube.
    let grid = Points::grid(dimension, if dimension == 1 { 101 } else { 11 }, 0.0, 1.0);
    let n = grid.n_points();
    let approximate = products(&map.table(&grid, None)).into_iter().enumerate();
    let errors = approximate.map(|(at, k)| (k - kernel.value(grid.point(at / n), grid.point(at % n))).abs());
    let worst = errors.fold(0.0, f64::max);
    let (nodes, weights): (Vec<f64>, Vec<f64>) = gauss_hermite(size(entry, "mbar")?).into_iter().unzip();
    let (frequencies, first_weights) = map.first_group();
    let found = json!({
        "max_error_grid101": worst,
        "max_error_grid11x11": worst,
        "nodes": nodes,
        "weights": if dimension == 1 { weights } else { first_weights },
        "m_half": map.n_features(),
        "half": table.values,
        "frequencies": frequencies,
        "gram": products(&table),
        "bound_theorem2": map.accuracy.bound,
    });
    Ok(stated(found, entry))
}

/// The kernel's error over differences of a disk: features of a difference against those of 0.
fn ball_error(entry: &Value) -> Read<Value> {
    let kernel = squared_exponential(entry)?;
    let map = quadrature_map(entry, &kernel, &[4.0, 4.0])?;
    let features = |x: &[f64]| {
        let mut out = vec![0.0; map.n_features()];
        map.write(x, &mut out);
        out
    };
    let (origin, grid) = (features(&[0.0, 0.0]), || (-40..=40).map(|i| f64::from(i) / 10.0));
    let disk = grid().flat_map(|x| grid().map(move |y| [x, y])).filter(|[x, y]| x * x + y * y <= 16.0);
    let errors = disk.map(|r| (dot(&features(&r), &origin) - kernel.value(&r, &[0.0, 0.0])).abs());
    Ok(json!({ "max_error_diff4": errors.fold(0.0, f64::max) }))
}

pub fn nystrom_features(file: &Value) -> Read<Value> {
    let gram = tabulated(KernelGram::new(kernel(file)?, line(file, "X")?));
    let features = |key: &str| -> Read<FeatureTable> { Ok(nystrom(gram.as_ref(), &dictionary(file, key, gram.n_points())?)?) };
    let table = features("dictionary")?;
    let (covariance, root) = root(gram.as_ref(), &dictionary(file, "dictionary", gram.n_points())?)?;
    Ok(json!({
        "K_D": covariance,
        "pinv_sqrt": root,
        "phi": table.values,
        "residual": table.residual,
        "duplicate": { "gram": products(&features("duplicate/dictionary")?) },
        "inclusion": inclusion(&file["inclusion"])?,
    }))
}

fn dictionary(file: &Value, key: &str, n_points: usize) -> Read<Vec<u32>> {
    Ok(indices(file, key, n_points)?.into_iter().map(|point| point as u32).collect())
}

/// `K_D` and `K_D^{-1/2} = O L^{-1}`.
fn root(gram: &dyn GramSource, points: &[u32]) -> Read<(Vec<f64>, Vec<f64>)> {
    let embedding = Embedding::of(points, |a, b| gram.entry(a as usize, b as usize));
    let m = embedding.m();
    ensure(m == points.len(), "the dictionary is not of full rank")?;
    let covariance = (0..m * m).map(|e| gram.entry(points[e / m] as usize, points[e % m] as usize)).collect();
    let mut inverse = Columns::zeros(m, m);
    (0..m).for_each(|i| inverse.row_mut(i)[i] = 1.0);
    embedding.coordinates(&mut inverse);
    let rotation = embedding.rotation().ok_or("no eigenvalues")?;
    let entry = |i: usize, j: usize| (0..m).map(|k| rotation[i * m + k] * inverse.row(k)[j]).sum();
    Ok((covariance, (0..m * m).map(|e| entry(e / m, e % m)).collect()))
}

/// The largest uniform number that still draws a point: of one play, or of all its plays.
fn inclusion(section: &Value) -> Read<Value> {
    let [q] = all(section, ["q"])?;
    let (variances, counts): (Vec<f64>, Vec<f64>) = (get(section, "sigma2")?, get(section, "counts")?);
    let edge = |(variance, plays): (&f64, f64)| last_true(0.0, 1.0, 60, |u| Ok(is_included(q * variance, plays, u)));
    let per_play = variances.iter().map(|variance| edge((variance, 1.0))).collect::<Read<Vec<f64>>>()?;
    let point = variances.iter().zip(counts).map(edge).collect::<Read<Vec<f64>>>()?;
    Ok(json!({ "per_play": per_play, "point": point }))
}
