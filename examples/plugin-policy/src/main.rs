//! Adds a policy of our own to `privateer`: Thompson sampling over random Fourier features, from released rewards.
//!
//! ```text
//! cargo run -p plugin-policy -- run examples/plugin-policy/thompson.toml
//! ```
//!
//! The program is `privateer` with one more policy: every command works, on `igp-ucb` and on ours alike, with the same
//! functions, noise and seeds. `server.toml` sets `users`: a trusted server then releases the mean of that many rewards at a time.

use nalgebra::{Cholesky, DMatrix, DVector};
use privateer::{OwnPolicy, PolicyFailure, PolicyStart, Registry, TrialFacts, TrialPolicy, TrialView};

/// One trial: a Bayesian linear model over features, sampled once a round.
struct Thompson {
    /// Features of all points, one point in each column.
    features: DMatrix<f64>,
    /// Inverse covariance of the weights, times the variance of a released reward.
    precision: DMatrix<f64>,
    /// Sum of released reward times features.
    moment: DVector<f64>,
    /// Standard deviation of a released reward.
    deviation: f64,
    /// Number of users who play a point before their mean is released.
    users: u64,
}

/// Draws features `sqrt(2/m) cos(w · x + b)` of a squared-exponential kernel with this length-scale.
fn features(start: &PolicyStart, m: usize, lengthscale: f64) -> Result<DMatrix<f64>, PolicyFailure> {
    let points = start.points.as_ref().ok_or("thompson needs points with coordinates")?;
    // The same features in every trial: any fixed seed will do.
    let mut random = privateer::numerics::rng::Streams::new(7, "thompson").shared(privateer::numerics::rng::Purpose::Features);
    let frequencies = DMatrix::from_fn(m, points.dimension(), |_, _| random.normal() / lengthscale);
    let phases = DVector::from_fn(m, |_, _| random.uniform_in(0.0, std::f64::consts::TAU));
    let scale = (2.0 / m as f64).sqrt();
    Ok(DMatrix::from_fn(m, start.n_points, |row, point| {
        let product: f64 = frequencies.row(row).iter().zip(points.point(point)).map(|(w, x)| w * x).sum();
        scale * (product + phases[row]).cos()
    }))
}

impl Thompson {
    fn start(start: &PolicyStart, trial: &TrialFacts, m: usize, lengthscale: f64, users: u64) -> Result<Self, PolicyFailure> {
        let own = trial.rewards.noise_variance.or(trial.rewards.noise_bound.map(|bound| bound * bound)).unwrap_or(1.0);
        let one_by_one = (own + trial.released.mechanism_variance) / users as f64;
        let variance = trial.batches.map_or(one_by_one, |batches| batches.variance(users as f64));
        Ok(Self {
            features: features(start, m, lengthscale)?,
            precision: DMatrix::identity(m, m) * variance,
            moment: DVector::zeros(m),
            deviation: variance.sqrt(),
            users,
        })
    }

    fn factor(&self) -> Cholesky<f64, nalgebra::Dyn> {
        Cholesky::new(self.precision.clone()).expect("a sum of squares and a positive diagonal")
    }

    fn best(&self, weights: &DVector<f64>, allowed: Option<&[u32]>) -> usize {
        let scores = self.features.tr_mul(weights);
        let all: Vec<usize> = (0..scores.len()).collect();
        let points = allowed.map_or(all, |allowed| allowed.iter().map(|&point| point as usize).collect());
        points.into_iter().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
    }
}

impl TrialPolicy for Thompson {
    fn ask(&mut self, trial: &mut TrialView<'_>) -> usize {
        let factor = self.factor();
        let normals = DVector::from_fn(self.moment.len(), |_, _| trial.random.normal());
        // L^-T z has covariance (L L^T)^-1.
        let draw = factor.l().transpose().solve_upper_triangular(&normals).expect("a positive diagonal");
        let weights = factor.solve(&self.moment) + draw * self.deviation;
        self.best(&weights, trial.allowed)
    }

    fn tell(&mut self, point: usize, released: f64) {
        let phi = self.features.column(point).clone_owned();
        self.precision += &phi * phi.transpose();
        self.moment += phi * released;
    }

    fn users(&self) -> u64 {
        self.users
    }

    fn recommend(&self) -> Option<usize> {
        Some(self.best(&self.factor().solve(&self.moment), None))
    }
}

/// What `privateer` has, and our policy.
fn registry() -> Registry {
    Registry::builtin().with_policy("thompson", "Thompson sampling over random Fourier features", |args| {
        let m = args.count("features", "number of random features").between(1, 1000).or(40) as usize;
        let lengthscale = args.number("lengthscale", "length-scale of the kernel that they stand for").above(0.0).or(0.2);
        let users = args
            .count("users", "users of a batch, whose mean a trusted server or a shuffler releases")
            .between(1, 1_000_000)
            .or(1);
        let policy = OwnPolicy::per_trial(move |start, trial| Thompson::start(start, trial, m, lengthscale, users));
        if users == 1 { policy } else { policy.in_batches(Some(users)) }
    })
}

fn main() -> std::process::ExitCode {
    privateer::cli::main_with(&registry(), std::env::args_os()).into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn keeps_the_contract() {
        for policy in ["thompson", "kind = \"thompson\"\nusers = 5"] {
            privateer::testing::policy_contract(&super::registry(), policy).expect("the contract");
        }
    }
}
