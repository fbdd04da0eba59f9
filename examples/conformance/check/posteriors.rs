//! Exact posteriors, medians of means, truncation, test functions. Posteriors over features are not computed so far.

use super::read::{Read, each, ensure, get, indices, kernel, line, list, matrix, points, shaped};
use privateer::env::test_function::{Form, camelback, michalewicz, styblinski_tang};
use privateer::policy::moma_gp_ucb::{median_distances, most_central};
use privateer_gp::posterior::{ExactPosterior, Posterior};
use privateer_gp::score::{Change, GramSource, ScoreModel};
use privateer_gp::{KernelGram, Points, SortedRewards, tabulated};
use privateer_numerics::linalg::{cholesky, eigen_symmetric};
use serde_json::{Value, json};
use std::sync::Arc;

pub fn posteriors(file: &Value) -> Read<Value> {
    let section = &file["finite"];
    let points = line(section, "X")?;
    let observed = indices(section, "idx", points.n_points())?;
    let gram = tabulated(KernelGram::new(kernel(section)?, points));
    let posterior = observed_posterior(&gram, &observed, section)?;
    let (mean, var): (Vec<f64>, Vec<f64>) = posterior.all_moments().iter().map(|m| (m.mean, m.variance)).unzip();
    Ok(json!({
        "finite": {
            "mean": mean,
            "info_gain": posterior.information_gain(),
            "cov_diag_and_first_row": [&var, &first_row(gram.as_ref(), &posterior, get(section, "lam")?)?],
            "var": var,
        },
        "exact2d": queried(&file["exact2d"])?,
    }))
}

fn observed_posterior(gram: &Arc<dyn GramSource>, observed: &[usize], section: &Value) -> Read<ExactPosterior> {
    let ridge: f64 = get(section, "lam")?;
    ensure(0.0 < ridge, "`lam` is not positive")?;
    let mut posterior = ExactPosterior::new(Arc::clone(gram), ridge);
    for (&point, reward) in observed.iter().zip(list(section, "y", observed.len())?) {
        posterior.observe(point, reward);
        posterior.screened();
    }
    Ok(posterior)
}

/// The posterior covariance's row of point 0. Another observation of point 0 lowers every variance by `(scale p(x))²`, and
/// `scale p(x) = cov(0, x) / sqrt(ridge + var(0))`.
fn first_row(gram: &dyn GramSource, posterior: &ExactPosterior, ridge: f64) -> Read<Vec<f64>> {
    let mut once_more = posterior.clone();
    once_more.observe(0, 0.0);
    let Change::Row { row, scale, .. } = once_more.change() else {
        return Err("one observation is not a row".into());
    };
    let root = (ridge + posterior.exact(0).variance).sqrt();
    let basis = once_more.basis_points();
    let p = |x: usize| row.iter().zip(basis).map(|(r, &point)| r * gram.entry(point as usize, x)).sum::<f64>();
    Ok((0..gram.n_points()).map(|x| root * scale * p(x)).collect())
}

/// Moments at the query points, which join the observed ones in one domain.
fn queried(section: &Value) -> Read<Value> {
    let ((d, mut coordinates), (width, queries)) = (matrix(section, "X")?, matrix(section, "Xq")?);
    ensure(d == width, "`X` and `Xq` have points of different dimensions")?;
    let observed: Vec<usize> = (0..coordinates.len() / d).collect();
    coordinates.extend(queries);
    let gram = tabulated(KernelGram::new(kernel(section)?, Points::new(d, coordinates)));
    let posterior = observed_posterior(&gram, &observed, section)?;
    let moments = (observed.len()..gram.n_points()).map(|point| posterior.exact(point));
    let (mean, var): (Vec<f64>, Vec<f64>) = moments.map(|m| (m.mean, m.variance)).unzip();
    Ok(json!({ "mean": mean, "var": var }))
}

pub fn truncation(file: &Value) -> Read<Value> {
    let medians = |case: &Value| {
        let estimates = whitened(case)?;
        Ok(json!({ "r": median_distances(&estimates), "chosen": most_central(&estimates) }))
    };
    let (n, v) = square(&file["sym_inv_sqrt"])?;
    let root = eigen_symmetric(&v, n).ok_or("no eigenvalues")?.function(|value| 1.0 / value.sqrt());
    Ok(json!({
        "mom": each(file, "mom", medians)?,
        "truncation": { "r": truncated(&file["truncation"])? },
        "sym_inv_sqrt": { "root": root },
    }))
}

/// `L^T theta_j`, `V = L L^T`: distances there are those in the norm of V.
fn whitened(case: &Value) -> Read<Vec<Vec<f64>>> {
    let (n, mut v) = square(case)?;
    cholesky(&mut v, n)?;
    let (width, theta) = matrix(case, "theta")?;
    ensure(width == n && 3 * n <= theta.len(), "`theta` does not fit `V`, or has fewer than three rows")?;
    let image = |theta: &[f64]| (0..n).map(|i| (i..n).map(|r| v[r * n + i] * theta[r]).sum()).collect();
    Ok(theta.chunks_exact(n).map(image).collect())
}

fn square(case: &Value) -> Read<(usize, Vec<f64>)> {
    let n = matrix(case, "V")?.0;
    Ok((n, shaped(case, "V", (n, n))?))
}

fn truncated(case: &Value) -> Read<Vec<f64>> {
    let (n_points, u) = matrix(case, "U")?;
    let mut lists = vec![SortedRewards::default(); n_points];
    let points = indices(case, "idx", n_points)?;
    let (rewards, levels) = (list(case, "y", points.len())?, list(case, "b", points.len())?);
    for ((point, reward), level) in points.into_iter().zip(rewards).zip(levels) {
        lists[point].insert(reward, level);
    }
    Ok(u.chunks_exact(n_points).map(|row| row.iter().zip(&lists).map(|(&u, list)| u * list.kept(u)).sum()).collect())
}

pub fn test_functions(file: &Value) -> Read<Value> {
    let (camel, tang) = (&camelback::CAMELBACK.textbook, &styblinski_tang::STYBLINSKI_TANG.textbook);
    let michalewicz = &michalewicz::MICHALEWICZ.textbook;
    Ok(json!({
        "camel": { "f": values(&file["camel"], camel, 1.0)?, "max": camel.best(2).1 },
        // On [-4, 4] and on [-5, 5].
        "stybtang20": {
            "f": values(&file["stybtang20"], tang, 0.8)?,
            "f_w5": values(&file["stybtang20"], tang, 1.0)?,
            "max": tang.best(20).1,
        },
        "michalewicz10": { "f": values(&file["michalewicz10"], michalewicz, 1.0)?, "max": michalewicz.best(10).1 },
    }))
}

/// Values at points of the unit cube, moved onto the middle `share` of the function's box.
fn values(section: &Value, form: &Form, share: f64) -> Read<Vec<f64>> {
    let points = points(section, "X")?;
    let moved = |(axis, x): (usize, &f64)| {
        let (lo, hi) = (form.domain)(axis);
        0.5 * (lo + hi) + 0.5 * share * (hi - lo) * (2.0 * x - 1.0)
    };
    let value = |point: usize| form.value(&points.point(point).iter().enumerate().map(moved).collect::<Vec<f64>>());
    Ok((0..points.n_points()).map(value).collect())
}
