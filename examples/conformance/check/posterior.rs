//! Exact posteriors. Those over quadrature and Nystrom features are not computed so far.

use super::outcome::{Outcome, Part};
use super::read::{indices, kernel, line, number, numbers, points};
use privateer_gp::kernel::Kernel;
use privateer_gp::posterior::{ExactPosterior, Posterior};
use privateer_gp::score::{Change, GramSource, Moments, ScoreModel};
use privateer_gp::{KernelGram, Points, tabulated};
use serde_json::Value;
use std::sync::Arc;

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    let section = &file["finite"];
    let made = finite(section);
    let parts: [Part<Finite>; 3] = [
        ("mean", |finite| finite.moments(|m| m.mean)),
        ("var", |finite| finite.moments(|m| m.variance)),
        ("info_gain", |finite| vec![finite.posterior.information_gain()]),
    ];
    outcome.compare_parts("finite", &made, &parts, section);
    let covariance = made.as_ref().map_err(Clone::clone).and_then(Finite::diagonal_and_first_row);
    outcome.compare("finite cov_diag_and_first_row", covariance, &section["cov_diag_and_first_row"]);
    let section = &file["exact2d"];
    let parts: [Part<Vec<Moments>>; 2] =
        [("mean", |all| all.iter().map(|m| m.mean).collect()), ("var", |all| all.iter().map(|m| m.variance).collect())];
    outcome.compare_parts("exact2d", &queried(section), &parts, section);
    outcome.note_rest(file, &["finite", "exact2d"]);
    outcome
}

/// A posterior with the covariance that it came from.
struct Finite {
    gram: Arc<dyn GramSource>,
    ridge: f64,
    posterior: ExactPosterior,
}

impl Finite {
    /// The posterior over `points` after `rewards` at `observed`.
    fn new(kernel: Arc<dyn Kernel>, points: Points, observed: &[usize], rewards: &[f64], ridge: f64) -> Result<Self, String> {
        if observed.len() != rewards.len() {
            return Err(format!("{} points observed, {} rewards", observed.len(), rewards.len()));
        }
        if ridge <= 0.0 {
            return Err("`lam` is not positive".to_owned());
        }
        let gram = tabulated(KernelGram::new(kernel, points));
        let mut posterior = ExactPosterior::new(Arc::clone(&gram), ridge);
        for (&point, &reward) in observed.iter().zip(rewards) {
            posterior.observe(point, reward);
            posterior.screened();
        }
        Ok(Self { gram, ridge, posterior })
    }

    fn moments(&self, read: fn(&Moments) -> f64) -> Vec<f64> {
        self.posterior.all_moments().iter().map(read).collect()
    }

    /// The diagonal of the posterior covariance, then its row of point 0. Another observation of point 0 lowers every
    /// variance by `(scale p(x))²`, and `scale p(x) = cov(0, x) / sqrt(ridge + var(0))`: from that row, the covariance.
    fn diagonal_and_first_row(&self) -> Result<Vec<f64>, String> {
        let mut once_more = self.posterior.clone();
        once_more.observe(0, 0.0);
        let Change::Row { row, scale, .. } = once_more.change() else {
            return Err("one observation is not a row".to_owned());
        };
        let root = (self.ridge + self.posterior.exact(0).variance).sqrt();
        let basis = once_more.basis_points();
        let covariance = |x: usize| {
            let p: f64 = row.iter().zip(basis).map(|(r, &point)| r * self.gram.entry(point as usize, x)).sum();
            root * scale * p
        };
        let mut values = self.moments(|m| m.variance);
        values.extend((0..self.gram.n_points()).map(covariance));
        Ok(values)
    }
}

fn finite(section: &Value) -> Result<Finite, String> {
    let points = line(section, "X")?;
    let observed = indices(section, "idx", points.n_points())?;
    Finite::new(kernel(section)?, points, &observed, &numbers(section, "y")?, number(section, "lam")?)
}

/// Moments at the query points, which join the observed ones in one domain.
fn queried(section: &Value) -> Result<Vec<Moments>, String> {
    let (seen, queries) = (points(section, "X")?, points(section, "Xq")?);
    if seen.dimension() != queries.dimension() {
        return Err("`X` and `Xq` have points of different dimensions".to_owned());
    }
    let (n, all) = (seen.n_points(), seen.n_points() + queries.n_points());
    let coordinates = (0..n).map(|i| seen.point(i)).chain((0..queries.n_points()).map(|i| queries.point(i)));
    let domain = Points::new(seen.dimension(), coordinates.flatten().copied().collect());
    let observed: Vec<usize> = (0..n).collect();
    let made = Finite::new(kernel(section)?, domain, &observed, &numbers(section, "y")?, number(section, "lam")?)?;
    Ok((n..all).map(|point| made.posterior.exact(point)).collect())
}
