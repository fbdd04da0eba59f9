//! Prepares inputs for a curator's mechanism: centring, moving rows to a bound, scaling.
//!
//! No step increases the distance between two data sets (apart from the scale), so the mechanism's guarantee holds in its own
//! units.

use super::projection::centred;
use super::{Curator, Inputs, Preparation, ReleasedInputs};
use crate::{Ledger, Neighbours, RadiusUnits, Raw, Refusal, Released};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// A curator after centring, a bound and a scale.
/// Its released rows are in the units of the inputs.
#[derive(Debug, Clone)]
pub struct Scaled {
    inner: Arc<dyn Curator>,
    norm: Option<f64>,
    bound: Option<f64>,
}

impl Scaled {
    /// Wraps `inner`: rows are centred, moved to norm `bound` if longer, and scaled.
    ///
    /// The scale turns `bound` into `norm`. Without a bound the data's own largest norm replaces it, which is not private
    /// (erratum E19, `docs/privacy.md`).
    ///
    /// # Errors
    /// A mechanism with a guarantee, scaled by the data's own norm.
    pub fn new(inner: Arc<dyn Curator>, norm: Option<f64>, bound: Option<f64>, promises: bool) -> Result<Self, Refusal> {
        if norm.is_some() && bound.is_none() && promises {
            return Err(Refusal::new(
                "norm",
                "`norm` without `bound` scales by the data's own largest norm, which is not private (E19)",
                "a public `bound` on the norm of a centred row beside it",
            ));
        }
        Ok(Self { inner, norm, bound })
    }

    /// Returns the inputs as the mechanism receives them.
    fn prepare(&self, inputs: &Inputs) -> (Inputs, Preparation) {
        let d = inputs.dimension();
        let mut values = centred(inputs);
        let largest = values.chunks_exact(d).map(length).fold(0.0, f64::max);
        let bound = self.bound.unwrap_or(largest);
        let mut moved = 0;
        // A row at the bound is unchanged: the comparison allows for the rounding of its norm.
        for row in values.chunks_exact_mut(d) {
            let norm = length(row);
            if bound * (1.0 + 1e-12) < norm {
                row.iter_mut().for_each(|x| *x *= bound / norm);
                moved += 1;
            }
        }
        let scale = self.norm.filter(|_| 0.0 < bound).map_or(1.0, |norm| norm / bound);
        values.iter_mut().for_each(|x| *x *= scale);
        (Inputs::new(d, Arc::new(values)), Preparation { scale, moved })
    }
}

fn length(row: &[f64]) -> f64 {
    libm::sqrt(row.iter().map(|x| x * x).sum::<f64>())
}

impl Curator for Scaled {
    fn release(&self, inputs: Raw<Inputs>, stream: &mut Stream) -> Result<Released<ReleasedInputs>, Refusal> {
        let (inputs, Preparation { scale, .. }) = self.prepare(&inputs.open());
        let released_inputs = self.inner.release(Raw::seal(inputs), stream)?;
        if scale == 1.0 {
            return Ok(released_inputs);
        }
        let released_inputs = released_inputs.value();
        let values = released_inputs.values.iter().map(|z| z / scale).collect();
        let noise_variance = released_inputs.noise_variance / (scale * scale);
        Ok(Released::mark(ReleasedInputs { values: Arc::new(values), noise_variance, ..released_inputs.clone() }))
    }

    fn ledger(&self, n_rows: usize, dimension: usize) -> Ledger {
        let mut ledger = self.inner.ledger(n_rows, dimension);
        // The mechanism's radius is in units after the scaling; the ledger states it in units of the inputs.
        if let (Neighbours::WithinRadius { radius, units }, Some(norm)) = (&mut ledger.threat_model.neighbours, self.norm) {
            match self.bound {
                Some(bound) => *radius *= bound / norm,
                None => *units = RadiusUnits::ScaledByData,
            }
        }
        let bound = self.bound.map_or_else(
            || "the data's own largest norm, which is not private (E19)".to_owned(),
            |bound| format!("the public bound {bound}, to which longer rows are moved"),
        );
        ledger.notes.push(match self.norm {
            Some(norm) => {
                format!(
                    "rows are centred and scaled so that {norm} stands for {bound}; `curator.radius` counts after this scaling"
                )
            }
            None => format!("rows are centred; their norm is bounded by {bound}"),
        });
        ledger
    }

    fn preparation(&self, inputs: &Raw<Inputs>) -> Option<Preparation> {
        Some(self.prepare(inputs.look()).1)
    }
}
