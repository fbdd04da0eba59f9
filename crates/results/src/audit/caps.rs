//! Scores releases on a sphere: on which caps, of the two inputs, a release lies.

use super::{Case, Claim, Side};
use privateer_numerics::rng::Stream;
use privateer_privacy::{Event, Ledger};

/// Holds two items as vectors, in coordinates in which matrices are isotropic, and the radius of released vectors.
///
/// Shares no code with the mechanism. An item is one block of `phi phi^T`, packed, and `y phi` for each arm.
#[derive(Clone)]
pub(super) struct CapScore {
    items: [Vec<f64>; 2],
    length: f64,
    /// Least cosine in a cap; `None` where the law has no caps.
    edge: Option<f64>,
    centre: f64,
}

/// Holds one user's features, reward and arm.
pub(super) type Item = (Vec<f64>, f64, usize);

impl CapScore {
    /// Makes the score of two items over `arms` blocks; `None` for other events.
    pub(super) fn of(ledger: &Ledger, arms: usize, items: [Item; 2]) -> Option<Self> {
        let (length, edge) = match ledger.event {
            Event::Cap { length, gap, .. } => (length, Some(1.0 - gap)),
            Event::Ranks { length, .. } => (length, None),
            _ => return None,
        };
        let centre = 1.0 / (arms * items[0].0.len()).max(2) as f64;
        let items = items.map(|(phi, y, arm)| {
            let block = |at: usize| {
                let entry = |i: usize, j: usize| if at == arm { phi[i] * phi[j] } else { 0.0 };
                let gram = (0..phi.len()).flat_map(|i| (i..phi.len()).map(move |j| (i, j))).map(|(i, j)| entry(i, j));
                gram.chain(phi.iter().map(|x| if at == arm { y * x } else { 0.0 })).collect::<Vec<f64>>()
            };
            isotropic(&(0..arms).flat_map(block).collect::<Vec<f64>>(), phi.len(), centre)
        });
        Some(Self { items, length, edge, centre })
    }

    /// Returns the evidence of one release for the first item: 1 and -1 on the caps, or the larger of two cosines.
    pub(super) fn score(&self, released: &[f64], features: usize) -> f64 {
        let released = isotropic(released, features, self.centre);
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let [first, second] = [0, 1].map(|at| {
            let item = &self.items[at];
            item.iter().zip(&released).map(|(x, y)| x * y).sum::<f64>() / (norm(item) * self.length)
        });
        match self.edge {
            // Rounding moves an edge by less than 1e-9.
            Some(edge) => f64::from(u8::from(edge - 1e-9 <= first)) - f64::from(u8::from(edge - 1e-9 <= second)),
            None if second < first => first,
            None => -second,
        }
    }
}

/// Returns the entries less a multiple of the identity, with the diagonal over sqrt(2).
fn isotropic(entries: &[f64], features: usize, centre: f64) -> Vec<f64> {
    let block = features * (features + 3) / 2;
    let is_diagonal = |at: usize| (0..features).any(|row| at == row * features - row * row.saturating_sub(1) / 2);
    let change = |(at, x): (usize, &f64)| if is_diagonal(at % block) { (x - centre) * 0.5_f64.sqrt() } else { *x };
    entries.iter().enumerate().map(change).collect()
}

/// Makes the case of a transcript of releases of `width` numbers each, of which the first ones are the changed user's.
///
/// * `play` — writes the transcript of one side
pub(super) fn case(
    (name, pair): (String, String),
    claim: Claim,
    (score, features): (CapScore, usize),
    (width, releases, changed): (usize, usize, usize),
    play: impl Fn(Side, &mut Stream, &mut [f64]) -> bool + Send + Sync + 'static,
) -> Case {
    let attack = move |side: Side, stream: &mut Stream| {
        let mut row = vec![0.0; width * releases];
        if !play(side, stream, &mut row) {
            return f64::NAN;
        }
        row.chunks_exact(width).take(changed).map(|released| score.score(released, features)).sum()
    };
    Case::new(name, claim, pair, "the caps on which a release lies", attack).source("docs/proofs/privunit.md")
}
