//! Adds Gaussian noise to every row, after a public projection: `Z = X P + N(0, sigma²)`.
//!
//! Source: (Kenthapadi2013). The noise of a row is drawn once. Proof: `docs/proofs/rows.md`.

use super::projection::{gram, product};
use super::{Curator, CuratorEntry, Inputs, InputsNeed, ReleasedInputs};
use crate::planted::{self, PlantedFault};
use crate::{Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Raw, Refusal, Released, Request, analytic_gaussian_sigma};
use privateer_numerics::linalg::eigen_symmetric;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: CuratorEntry = CuratorEntry {
    name: "input-noise",
    summary: "Gaussian noise on every row, behind a public projection where fewer columns are asked for",
    paper: "Kenthapadi2013",
    build,
};

/// Default seed of the projection.
pub const PUBLIC_SEED: u64 = 0;

#[derive(Debug, Clone)]
struct InputNoise {
    request: Request,
    budget: (Epsilon, Delta),
    columns: Option<usize>,
    radius: f64,
}

fn build(request: &Request, need: InputsNeed) -> Result<Arc<dyn Curator>, Refusal> {
    let expected = "a finite number > 0: neighbours differ in one row by at most this (L2)";
    let radius = match need.radius {
        Some(radius) if radius.is_finite() && 0.0 < radius => radius,
        Some(radius) => return Err(Refusal::new("radius", format!("`radius` is {radius}"), expected)),
        None => {
            return Err(Refusal::new("radius", "`input-noise` needs to know what it protects", expected)
                .hint("1 for the paper's neighbours; twice the largest norm of a row protects the whole row (E20)"));
        }
    };
    let (budget, request) = need.one_look(request)?;
    Ok(Arc::new(InputNoise { request, budget, columns: need.columns, radius }))
}

impl InputNoise {
    /// Returns the `d x r` projection of inputs with `d` columns; `None` if every column is kept.
    fn projection(&self, d: usize) -> Option<(Vec<f64>, usize)> {
        self.columns.filter(|&r| r < d).map(|r| (public_projection(d, r, PUBLIC_SEED), r))
    }

    fn sigma(&self, d: usize) -> f64 {
        let stretch = self.projection(d).map_or(1.0, |(map, r)| largest_singular_value(&map, d, r));
        // sigma = radius sigma_max(P) sigma_AG(epsilon, delta) [Kenthapadi2013; BalleWang2018, theorem 8]
        self.radius * stretch * analytic_gaussian_sigma(self.budget.0, self.budget.1)
    }
}

impl Curator for InputNoise {
    fn release(&self, inputs: Raw<Inputs>, stream: &mut Stream) -> Result<Released<ReleasedInputs>, Refusal> {
        let inputs = inputs.open();
        let d = inputs.dimension();
        let projection = self.projection(d);
        let (mut values, dimension) = match &projection {
            Some((map, r)) => (product(inputs.values(), map, d, *r), *r),
            None => (inputs.values().to_vec(), d),
        };
        let (sigma, share) = (self.sigma(d), planted::noise_share(PlantedFault::RowNoise));
        let mut normals = vec![0.0; values.len()];
        stream.normals(&mut normals);
        values.iter_mut().zip(normals).for_each(|(value, normal)| *value += share * sigma * normal);
        let aligned = projection.is_none();
        Ok(Released::mark(ReleasedInputs { dimension, values: Arc::new(values), noise_variance: sigma * sigma, aligned }))
    }

    fn ledger(&self, _n_rows: usize, dimension: usize) -> Ledger {
        let sigma = self.sigma(dimension);
        let stretch = self.projection(dimension).map_or(1.0, |(map, r)| largest_singular_value(&map, dimension, r));
        let (unit, event) =
            (ClaimUnit::Row { radius: self.radius }, Event::Gaussian { sigma, sensitivity: self.radius * stretch });
        let formula = format!(
            "sigma = radius sigma_max(P) sigma_AG(epsilon, delta) = {sigma:.6}, the analytic Gaussian mechanism [BalleWang2018]"
        );
        Ledger::of(Claim::of(&self.request, unit, event, formula))
    }
}

/// Returns the public projection from `d` columns to `r`, `d x r`, row-major.
/// Its columns are orthogonal, of length `sqrt(d/r)` and uniform among all such: squared distances are kept on average, and
/// stretched by `d/r` at most, the least of any matrix that keeps them. It is public: a seed gives everyone the same matrix.
pub fn public_projection(d: usize, r: usize, seed: u64) -> Vec<f64> {
    let mut stream = Streams::new(seed, "public projection").shared(Purpose::Features);
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(r);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    while columns.len() < r.min(d) {
        let mut next: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
        // Twice, so that rounding leaves nothing of the columns before.
        for other in columns.iter().chain(&columns) {
            let share = product(&next, other);
            next.iter_mut().zip(other).for_each(|(x, y)| *x -= share * y);
        }
        let length = libm::sqrt(product(&next, &next));
        // Normal columns are shorter with probability below 1e-6 in one dimension, and less in more.
        if 1e-6 < length {
            next.iter_mut().for_each(|x| *x /= length);
            columns.push(next);
        }
    }
    let length = libm::sqrt(d as f64 / r as f64);
    (0..d).flat_map(|i| columns.iter().map(move |column| length * column[i])).collect()
}

/// Returns `sigma_max` of a `d x r` matrix with `r <= d`.
pub fn largest_singular_value(map: &[f64], d: usize, r: usize) -> f64 {
    let square = gram(&map[..d * r], r);
    // The trace bounds the largest eigenvalue if the iterations fail.
    let bound = (0..r).map(|a| square[a * r + a]).sum::<f64>();
    let largest = eigen_symmetric(&square, r).map_or(bound, |eigen| eigen.values.iter().copied().fold(0.0, f64::max));
    libm::sqrt(largest) * (1.0 + 1e-12)
}
