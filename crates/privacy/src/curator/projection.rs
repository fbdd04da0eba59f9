//! Implements the random projection of a centred data set [Kharkovskii2020, algorithm 1].
//!
//! `Z = X̃ M / sqrt(r)` with a secret normal matrix `M`; a second variant always lifts the singular values [Blocki2012,
//! algorithm 3].
//!
//! **Neither is private** (erratum E16, `docs/privacy.md`): `Z` has the column space of the inputs, which differs between
//! neighbours, so one release distinguishes them with certainty. For reproducing published figures only; the ledger says "no
//! guarantee".

use super::{Curator, CuratorEntry, Inputs, InputsNeed, ReleasedInputs};
use crate::printed::kharkovskii2020::OMEGA;
use crate::{Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Raw, Refusal, Released, Request};
use privateer_numerics::linalg::{Eigen, eigen_symmetric};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Registry entry of algorithm 1.
pub const PROJECTION: CuratorEntry = CuratorEntry {
    name: "projection",
    summary: "random projection, singular values lifted when one is small: no guarantee",
    paper: "Kharkovskii2020",
    build: |request, need| build(request, need, false),
};

/// Registry entry of the variant without a branch.
pub const ALWAYS_LIFT: CuratorEntry = CuratorEntry {
    name: "projection-always-lift",
    summary: "random projection, singular values always lifted: no guarantee",
    paper: "Blocki2012",
    build: |request, need| build(request, need, true),
};

/// Share of the largest squared singular value below which smaller ones count as zero.
/// They are lost in the rounding of `X^T X`.
const LEAST_SHARE: f64 = 1e-13;

#[derive(Debug, Clone)]
struct Projection {
    request: Request,
    budget: (Epsilon, Delta),
    columns: Option<usize>,
    always_lift: bool,
}

fn build(request: &Request, need: InputsNeed, always_lift: bool) -> Result<Arc<dyn Curator>, Refusal> {
    let name = if always_lift { ALWAYS_LIFT.name } else { PROJECTION.name };
    if request.calibration.corrects() && !request.calibration.redesigns() {
        return Err(Refusal::new(
            "calibration",
            "the random projection has no corrected calibration: it keeps the column space of the inputs, which tells neighbours apart (E16)",
            "`as-printed`, to reproduce the paper without a guarantee, or `tight`",
        )
        .hint("`calibration = \"tight\"` adds Gaussian noise to every row, with the same epsilon and delta"));
    }
    if need.radius.is_some_and(|radius| radius != 1.0) {
        return Err(Refusal::new("radius", format!("`{name}` is printed for neighbours at distance 1"), "no `radius`, or 1"));
    }
    let (budget, request) = need.one_look(request)?;
    Ok(Arc::new(Projection { request, budget, columns: need.columns, always_lift }))
}

impl Projection {
    fn n_columns(&self, dimension: usize) -> usize {
        self.columns.unwrap_or(dimension)
    }

    fn omega(&self, dimension: usize) -> f64 {
        let (epsilon, delta) = (self.budget.0.get(), self.budget.1.get());
        OMEGA.scale(&[("r", self.n_columns(dimension) as f64), ("epsilon", epsilon), ("delta", delta)]).size
    }
}

impl Curator for Projection {
    /// Releases the projected rows.
    /// `M` is drawn column by column, so that more columns extend fewer.
    ///
    /// A modeler with an isotropic kernel uses only the distances between released rows. If `r` exceeds the dimension `d`, the
    /// released rows have `d` coordinates with the distances of `Z` (a simulation may rotate them; the recipient of `Z` cannot
    /// shorten it).
    fn release(&self, inputs: Raw<Inputs>, stream: &mut Stream) -> Result<Released<ReleasedInputs>, Refusal> {
        let inputs = inputs.open();
        let d = inputs.dimension();
        let r = self.n_columns(d);
        let centred = centred(&inputs);
        let lift = lift(&centred, d, self.omega(d), self.always_lift)?;
        // lift M / sqrt(r), d x r row-major.
        let mut map = vec![0.0; d * r];
        let normals: Vec<f64> = (0..d * r).map(|_| stream.normal()).collect();
        let unit = 1.0 / libm::sqrt(r as f64);
        for i in 0..d {
            for c in 0..r {
                map[i * r + c] = (0..d).map(|k| lift[i * d + k] * normals[c * d + k]).sum::<f64>() * unit;
            }
        }
        let (map, dimension) = if r <= d { (map, r) } else { (root(&map, d, r), d) };
        let values = Arc::new(product(&centred, &map, d, dimension));
        Ok(Released::mark(ReleasedInputs { dimension, values, noise_variance: 0.0, aligned: false }))
    }

    fn ledger(&self, n_rows: usize, dimension: usize) -> Ledger {
        let r = self.n_columns(dimension);
        let branch = if self.always_lift {
            "always to sqrt(s² + omega²)"
        } else {
            "to sqrt(s² + omega²) when the least is below omega, a branch that is not private itself (E17)"
        };
        let event = Event::Projection { rows: n_rows as u64, dimension: dimension as u64, columns: r as u64 };
        let formula = format!("{OMEGA} = {:.6} for r = {r}; singular values lifted {branch}", self.omega(dimension));
        let doubt = Some((
            "the released inputs keep the column space of the inputs, so one look tells two neighbouring data sets apart for certain",
            "E16",
        ));
        Ledger::of(Claim { doubt, ..Claim::of(&self.request, ClaimUnit::Row { radius: 1.0 }, event, formula) })
    }
}

/// Returns the inputs minus their column means, `n_rows x dimension`.
/// [Kharkovskii2020, algorithm 1, line 2].
pub fn centred(inputs: &Inputs) -> Vec<f64> {
    let (n, d) = (inputs.n_rows(), inputs.dimension());
    let mut values = inputs.values().to_vec();
    for j in 0..d {
        let mean = (0..n).map(|i| values[i * d + j]).sum::<f64>() / n as f64;
        (0..n).for_each(|i| values[i * d + j] -= mean);
    }
    values
}

/// Returns the singular values of a centred `n x d` matrix, in descending order.
/// Computed by the `d x d` eigenproblem; `None` if a number is not finite.
pub fn singular_values(centred: &[f64], d: usize) -> Option<Vec<f64>> {
    let eigen = eigen_symmetric(&gram(centred, d), d)?;
    let mut values: Vec<f64> = eigen.values.iter().map(|value| libm::sqrt(value.max(0.0))).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    Some(values)
}

/// Returns `X̃`, a centred `n x d` matrix with singular values lifted to `sqrt(s² + omega²)`.
///
/// They are lifted if the least is below `omega`, or always [Kharkovskii2020, algorithm 1, lines 6-10].
pub fn lifted(centred: &[f64], d: usize, omega: f64, always: bool) -> Result<Vec<f64>, Refusal> {
    Ok(product(centred, &lift(centred, d, omega, always)?, d, d))
}

/// Returns `Z = lifted M / sqrt(r)`, `n x r`, with `M` of `d x r`, all row-major.
/// [Kharkovskii2020, algorithm 1, line 10].
pub fn released_inputs(lifted: &[f64], d: usize, m: &[f64], r: usize) -> Vec<f64> {
    let unit = 1.0 / libm::sqrt(r as f64);
    let mut released_inputs = product(lifted, m, d, r);
    released_inputs.iter_mut().for_each(|z| *z *= unit);
    released_inputs
}

/// Returns `V diag(g(s)/s) V^T`, `d x d`, by which a lift multiplies the centred inputs.
/// This is the identity if no singular value is lifted.
fn lift(centred: &[f64], d: usize, omega: f64, always: bool) -> Result<Vec<f64>, Refusal> {
    let refuse = |message: String| {
        Refusal::new("mechanism", message, "inputs of full column rank: more rows than columns, none constant or repeated")
            .hint("drop constant and repeated columns, or use `input-noise`, which needs no rank")
    };
    let Some(eigen) = eigen_symmetric(&gram(centred, d), d) else {
        return Err(refuse("an input is not finite".to_owned()));
    };
    let squares: Vec<f64> = eigen.values.iter().map(|value| value.max(0.0)).collect();
    let (least, most) = squares.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &s| (lo.min(s), hi.max(s)));
    if !always && omega * omega <= least {
        let mut identity = vec![0.0; d * d];
        (0..d).for_each(|i| identity[i * d + i] = 1.0);
        return Ok(identity);
    }
    if least <= most * LEAST_SHARE {
        // The direction in U of a zero singular value is undetermined.
        return Err(refuse(
            "the centred inputs have not full column rank, and a zero singular value has no direction to be lifted along"
                .to_owned(),
        ));
    }
    Ok(function(&eigen, d, |square| libm::sqrt((square + omega * omega) / square)))
}

/// Returns `X^T X`, `d x d`, summed over the rows in order.
pub(super) fn gram(centred: &[f64], d: usize) -> Vec<f64> {
    let mut gram = vec![0.0; d * d];
    for row in centred.chunks_exact(d) {
        for i in 0..d {
            for j in 0..=i {
                gram[i * d + j] += row[i] * row[j];
            }
        }
    }
    for i in 0..d {
        for j in i + 1..d {
            gram[i * d + j] = gram[j * d + i];
        }
    }
    gram
}

/// Returns `sum_i g(values_i) v_i v_i^T`.
fn function(eigen: &Eigen, d: usize, g: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    for (value, v) in eigen.values.iter().zip(eigen.vectors.chunks_exact(d)) {
        let weight = g(value.max(0.0));
        for i in 0..d {
            for j in 0..d {
                out[i * d + j] += weight * v[i] * v[j];
            }
        }
    }
    out
}

/// Returns a `d x d` root of `map map^T`, which gives the same distances in fewer coordinates.
fn root(map: &[f64], d: usize, r: usize) -> Vec<f64> {
    let mut square = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..=i {
            let sum = (0..r).map(|c| map[i * r + c] * map[j * r + c]).sum::<f64>();
            square[i * d + j] = sum;
            square[j * d + i] = sum;
        }
    }
    match eigen_symmetric(&square, d) {
        Some(eigen) => function(&eigen, d, libm::sqrt),
        None => square,
    }
}

/// Returns `rows (n x d) times map (d x k)`, row-major.
pub(crate) fn product(rows: &[f64], map: &[f64], d: usize, k: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(rows.len() / d * k);
    for row in rows.chunks_exact(d) {
        for c in 0..k {
            out.push(row.iter().enumerate().map(|(i, x)| x * map[i * k + c]).sum());
        }
    }
    out
}
