//! Kernels, features, exact posteriors, medians of means, truncation, test functions. Posteriors over features are not computed so far.

use super::read::*;
use privateer::env::test_function::{Form, camelback, michalewicz, styblinski_tang};
use privateer::policy::moma_gp_ucb::most_central;
use privateer_gp::SortedRewards;
use privateer_gp::features::nystrom::nystrom;
use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
use privateer_gp::features::random_fourier::random_fourier;
use privateer_gp::kernel::additive::Additive;
use privateer_gp::kernel::empirical::{Normalise, empirical_covariance};
use privateer_gp::nystrom::is_included;
use privateer_gp::posterior::ExactPosterior;
use privateer_gp::score::GramSource;
use privateer_gp::special::gauss_hermite;

pub fn kernels(file: &Value, _: &Value) -> Read<Value> {
    let table = |kernel: &dyn Kernel, [rows, columns]: [&str; 2]| -> Read<Value> {
        let (rows, columns) = (points(file, rows)?, points(file, columns)?);
        ensure(rows.dimension() == columns.dimension(), "rows and columns have points of different dimensions")?;
        let row = |i| (0..columns.n_points()).map(|j| kernel.value(rows.point(i), columns.point(j))).collect::<Vec<f64>>();
        Ok((0..rows.n_points()).map(row).collect())
    };
    let empirical = |normalise: Normalise| -> Read<Value> {
        let (n_columns, samples) = matrix(file, "samples")?;
        Ok(json!(empirical_covariance(&samples, n_columns, normalise)?))
    };
    // By length-scale, or by `l=…,nu=…`.
    let by_parameters = |section: &str| {
        let read = |key: &String| {
            let (name, l, nu) = match key.strip_prefix("l=").and_then(|rest| rest.split_once(",nu=")) {
                Some((l, nu)) => ("matern", l, Some(nu)),
                None => ("se", key.as_str(), None),
            };
            let parsed = |text: &str| text.parse::<f64>().map_err(|error| format!("`{key}`: {error}"));
            let kernel = kernel(&json!({ "name": name, "l": parsed(l)?, "nu": nu.map(parsed).transpose()? }))?;
            Ok((key.clone(), table(kernel.as_ref(), ["X", "Y"])?))
        };
        file[section].as_object().into_iter().flatten().map(|(key, _)| read(key)).collect::<Read<Value>>()
    };
    let of_grid = |keys: Value| table(kernel(&keys)?.as_ref(), ["grid"; 2]);
    Ok(json!({
        "se": by_parameters("se")?,
        "matern": by_parameters("matern")?,
        "se_grid_0.2": of_grid(json!({ "l": 0.2 }))?,
        "matern_grid_l0.2_nu2.5": of_grid(json!({ "name": "matern", "l": 0.2, "nu": 2.5 }))?,
        "linear": table(&LinearKernel::new(1.0, 0.0), ["X", "Y"])?,
        "empirical_correlation": empirical(Normalise::Standardised)?,
        "empirical_covariance_over_max": empirical(Normalise::CovarianceOverMax)?,
    }))
}

pub fn fourier(file: &Value, _: &Value) -> Read<Value> {
    let (section, additive) = (&file["additive"], points(file, "additive/X")?);
    let whole = Additive::new(kernel(section)?, 1).ok_or("the kernel has no coordinates")?;
    let (points, (dimension, frequencies)) = (points(file, "rff/X")?, matrix(file, "rff/W")?);
    ensure(dimension == points.dimension(), "`X` and `W` have different dimensions")?;
    let ball_error = |entry: &Value| {
        let (kernel, grid) = (kernel(entry)?, Points::grid(2, 81, -4.0, 4.0));
        let map = quadrature_map(entry, kernel.as_ref(), &[4.0, 4.0])?;
        Ok(json!({ "max_error_diff4": largest_error(&map, kernel.as_ref(), &grid) }))
    };
    Ok(json!({
        "d1": each(file, "d1", |entry| quadrature(entry, &[1.0], 201))?,
        "d2": each(file, "d2", |entry| quadrature(entry, &[1.0, 1.0], 21))?,
        "additive": { "features": quadrature_map(section, &whole, &extents(&additive))?.table(&additive, None).values },
        "ball2": each(file, "ball2", ball_error)?,
        "rff": { "features": random_fourier(&points, &frequencies, 1.0, None).values },
    }))
}

/// The map over points of a box.
pub fn quadrature_map(entry: &Value, kernel: &dyn Kernel, extents: &[f64]) -> Read<QuadratureMap> {
    Ok(QuadratureMap::new(kernel, extents, QuadratureFourier { nodes: whole(entry, "mbar", SIZE)?, max_error: 2.0 })?)
}

/// The kernel's largest error over these differences of length 4 at most: their features against those of 0 in the middle.
fn largest_error(map: &QuadratureMap, kernel: &dyn Kernel, differences: &Points) -> f64 {
    let (table, zero) = (map.table(differences, None), differences.n_points() / 2);
    let inside = |(_, r): &(usize, &[f64])| dot(r, r) <= 16.0 + 1e-9;
    let all = differences.coordinates().chunks_exact(differences.dimension()).enumerate().filter(inside);
    let errors = all.map(|(at, r)| (dot(&table.row(at), &table.row(zero)) - kernel.value(r, differences.point(zero))).abs());
    errors.fold(0.0, f64::max)
}

/// All inner products of a table's rows.
fn products(table: &FeatureTable) -> Vec<f64> {
    let n = table.n_points;
    (0..n * n).map(|at| dot(&table.row(at / n), &table.row(at % n))).collect()
}

/// Features on the unit cube, their errors at differences of its grids.
fn quadrature(entry: &Value, extents: &[f64], n_differences: usize) -> Read<Value> {
    let kernel = kernel(entry)?;
    let map = quadrature_map(entry, kernel.as_ref(), extents)?;
    let table = map.table(&points(entry, "X")?, None);
    let worst = largest_error(&map, kernel.as_ref(), &Points::grid(extents.len(), n_differences, -1.0, 1.0));
    let (nodes, weights): (Vec<f64>, Vec<f64>) = gauss_hermite(whole(entry, "mbar", SIZE)?).into_iter().unzip();
    let (frequencies, first_weights) = map.first_group();
    let found = json!({
        "max_error_grid101": worst,
        "max_error_grid11x11": worst,
        "nodes": nodes,
        "weights": if extents.len() == 1 { weights } else { first_weights },
        "m_half": map.n_features(),
        "half": table.values,
        "frequencies": frequencies,
        "gram": products(&table),
        "bound_theorem2": map.accuracy.bound,
    });
    Ok(stated(found, entry))
}

/// The Nystrom features of a file's `X` over its dictionary.
pub fn features(file: &Value, dictionary: &str) -> Read<(Arc<dyn GramSource>, Vec<usize>, FeatureTable)> {
    let gram = tabulated(KernelGram::new(kernel(&file["kernel"])?, points(file, "X")?));
    let dictionary = indices(file, dictionary, gram.n_points())?;
    let table = nystrom(gram.as_ref(), &dictionary.iter().map(|&point| point as u32).collect::<Vec<_>>())?;
    Ok((gram, dictionary, table))
}

pub fn nystrom_features(file: &Value, _: &Value) -> Read<Value> {
    let (gram, dictionary, table) = features(file, "dictionary")?;
    let covariance: Vec<f64> =
        dictionary.iter().flat_map(|&a| dictionary.iter().map(move |&b| (a, b))).map(|(a, b)| gram.entry(a, b)).collect();
    // The largest uniform number that still draws a point: of one play, or of all its plays.
    let (section, [q]) = (&file["inclusion"], numbers(file, "inclusion/q")?);
    let (variances, counts): (Vec<f64>, Vec<f64>) = (get(section, "sigma2")?, get(section, "counts")?);
    let edge = |(variance, plays): (&f64, f64)| last_true(0.0, 1.0, |u| Ok(is_included(q * variance, plays, u)));
    let per_play = variances.iter().map(|variance| edge((variance, 1.0))).collect::<Read<Vec<f64>>>()?;
    let point = variances.iter().zip(counts).map(edge).collect::<Read<Vec<f64>>>()?;
    Ok(json!({
        "pinv_sqrt": inverse_root(&covariance, dictionary.len())?,
        "K_D": covariance,
        "phi": table.values,
        "residual": table.residual,
        "duplicate": { "gram": products(&features(file, "duplicate/dictionary")?.2) },
        "inclusion": { "per_play": per_play, "point": point },
    }))
}

/// The symmetric `V^{-1/2}`.
fn inverse_root(v: &[f64], n: usize) -> Read<Vec<f64>> {
    Ok(eigen_symmetric(v, n).ok_or("no eigenvalues")?.function(|value| 1.0 / value.sqrt()))
}

/// The exact posterior after these rewards.
pub fn posterior(
    (kernel, points, ridge): (Arc<dyn Kernel>, Points, f64),
    rewards: impl Iterator<Item = (usize, f64)>,
) -> Read<ExactPosterior> {
    ensure(0.0 < ridge, "the noise variance is not positive")?;
    let mut posterior = ExactPosterior::new(tabulated(KernelGram::new(kernel, points)), ridge);
    rewards.for_each(|(point, reward)| posterior.observe(point, reward));
    Ok(posterior)
}

/// Means and variances.
pub fn unzipped(moments: impl Iterator<Item = Moments>) -> (Vec<f64>, Vec<f64>) {
    moments.map(|Moments { mean, variance }| (mean, variance)).unzip()
}

pub fn posteriors(file: &Value, _: &Value) -> Read<Value> {
    let (section, x, ridge) = (&file["finite"], points(file, "finite/X")?, get(file, "finite/lam")?);
    let observed = indices(section, "idx", x.n_points())?;
    let y = shaped(section, "y", (observed.len(), 1))?;
    let finite = posterior((kernel(&section["kernel"])?, x, ridge), observed.into_iter().zip(y))?;
    let (mean, var) = unzipped(finite.all_moments().into_iter());
    // Another reward at point 0 moves means by their covariance with it, if it is off by the variance of a reward there.
    let mut once_more = finite.clone();
    once_more.observe(0, mean[0] + var[0] + ridge);
    let row: Vec<f64> = once_more.all_moments().iter().zip(&mean).map(|(moved, mean)| moved.mean - mean).collect();
    // Query points join the observed ones in one domain.
    let (section, (d, mut x), (width, queries)) = (&file["exact2d"], matrix(file, "exact2d/X")?, matrix(file, "exact2d/Xq")?);
    ensure(d == width, "`X` and `Xq` have points of different dimensions")?;
    let n = x.len() / d;
    x.extend(queries);
    let rewards = shaped(section, "y", (n, 1))?.into_iter().enumerate();
    let exact = posterior((kernel(&section["kernel"])?, Points::new(d, x), get(section, "lam")?), rewards)?;
    let (queried, queried_var) = unzipped(exact.all_moments().into_iter().skip(n));
    Ok(json!({
        "finite": {
            "mean": mean,
            "info_gain": finite.information_gain(),
            "cov_diag_and_first_row": [&var, &row],
            "var": var,
        },
        "exact2d": { "mean": queried, "var": queried_var },
    }))
}

pub fn truncation(file: &Value, _: &Value) -> Read<Value> {
    // `L^T theta_j`, `V = L L^T`: distances there are those in the norm of V.
    let medians = |case: &Value| {
        let (n, mut v) = square(case)?;
        cholesky(&mut v, n)?;
        let (width, theta) = matrix(case, "theta")?;
        ensure(width == n && 3 * n <= theta.len(), "`theta` does not fit `V`, or has fewer than three rows")?;
        let image = |theta: &[f64]| (0..n).map(|i| (i..n).map(|r| v[r * n + i] * theta[r]).sum()).collect();
        let estimates: Vec<Vec<f64>> = theta.chunks_exact(n).map(image).collect();
        Ok(json!({ "r": median_distances(&estimates), "chosen": most_central(&estimates) }))
    };
    let (n, v) = square(&file["sym_inv_sqrt"])?;
    let (case, (n_points, u)) = (&file["truncation"], matrix(file, "truncation/U")?);
    let mut lists = vec![SortedRewards::default(); n_points];
    let points = indices(case, "idx", n_points)?;
    let (rewards, levels) = (shaped(case, "y", (points.len(), 1))?, shaped(case, "b", (points.len(), 1))?);
    for ((point, reward), level) in points.into_iter().zip(rewards).zip(levels) {
        lists[point].insert(reward, level);
    }
    let kept = |row: &[f64]| row.iter().zip(&lists).map(|(&u, list)| u * list.kept(u)).sum::<f64>();
    Ok(json!({
        "mom": each(file, "mom", medians)?,
        "truncation": { "r": u.chunks_exact(n_points).map(kept).collect::<Vec<f64>>() },
        "sym_inv_sqrt": { "root": inverse_root(&v, n)? },
    }))
}

fn square(case: &Value) -> Read<(usize, Vec<f64>)> {
    let n = matrix(case, "V")?.0;
    Ok((n, shaped(case, "V", (n, n))?))
}

pub fn test_functions(file: &Value, _: &Value) -> Read<Value> {
    // Values at points of the unit cube, moved onto the middle `share` of the function's box.
    let values = |section: &str, form: &Form, share: f64| -> Read<Vec<f64>> {
        let (d, x) = matrix(file, &format!("{section}/X"))?;
        let moved = |(axis, x): (usize, &f64)| {
            let (lo, hi) = (form.domain)(axis);
            0.5 * (lo + hi) + 0.5 * share * (hi - lo) * (2.0 * x - 1.0)
        };
        Ok(x.chunks_exact(d).map(|x| form.value(&x.iter().enumerate().map(moved).collect::<Vec<f64>>())).collect())
    };
    let (camel, tang) = (&camelback::CAMELBACK.textbook, &styblinski_tang::STYBLINSKI_TANG.textbook);
    let michalewicz = &michalewicz::MICHALEWICZ.textbook;
    Ok(json!({
        "camel": { "f": values("camel", camel, 1.0)?, "max": camel.best(2).1 },
        // On [-4, 4] and on [-5, 5].
        "stybtang20": {
            "f": values("stybtang20", tang, 0.8)?,
            "f_w5": values("stybtang20", tang, 1.0)?,
            "max": tang.best(20).1,
        },
        "michalewicz10": { "f": values("michalewicz10", michalewicz, 1.0)?, "max": michalewicz.best(10).1 },
    }))
}
