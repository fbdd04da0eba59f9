//! Inputs, their released inputs, and what every curator can do.

use crate::{Calibration, Delta, Epsilon, Ledger, Raw, Refusal, Released};
use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// The inputs of a problem: `n_rows x dimension` numbers, row-major. Raw until a curator has released inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    dimension: usize,
    values: Arc<Vec<f64>>,
}

impl Inputs {
    /// Takes `n_rows * dimension` numbers; `dimension` must divide their number and be at least 1.
    #[must_use]
    pub fn new(dimension: usize, values: Arc<Vec<f64>>) -> Self {
        assert!(0 < dimension && values.len().is_multiple_of(dimension), "numbers do not fill whole rows");
        Self { dimension, values }
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.dimension
    }

    /// Numbers of a row.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// All numbers, row-major.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The released row of every row of the inputs, in order, and what a modeler must know to read them. A row is released once, however often it
/// is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedInputs {
    /// Coordinates of a released row.
    pub dimension: usize,
    /// `n_rows x dimension`, row-major.
    pub values: Arc<Vec<f64>>,
    /// Variance of the noise in each coordinate; 0 where there is none.
    pub noise_variance: f64,
    /// Whether coordinate `j` of a released row is coordinate `j` of its row (up to noise), so that length-scales of their own keep
    /// their meaning.
    pub aligned: bool,
}

/// A calibrated curator, shared by all trials of a cell.
pub trait Curator: Send + Sync + fmt::Debug {
    /// Releases released inputs of all rows. Consumes a number of stream words that depends on the sizes alone.
    ///
    /// # Errors
    /// Inputs that the mechanism is not defined for.
    fn release(&self, inputs: Raw<Inputs>, stream: &mut Stream) -> Result<Released<ReleasedInputs>, Refusal>;

    /// What is claimed and what is delivered, for inputs of this size.
    fn ledger(&self, n_rows: usize, dimension: usize) -> Ledger;

    /// What was done to these inputs before the mechanism, for the manifest of a simulation: never to be released.
    fn facts(&self, inputs: &Raw<Inputs>) -> Vec<(String, serde_json::Value)> {
        let _ = inputs;
        Vec::new()
    }
}

/// What a spec asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct CuratorRequest {
    /// Which calibration of the paper.
    pub calibration: Calibration,
    /// Privacy loss.
    pub epsilon: Epsilon,
    /// Failure probability.
    pub delta: Delta,
    /// Neighbours differ in one row, by at most this (L2, in units of the inputs that the curator sees); > 0. `None`: not stated.
    pub radius: Option<f64>,
    /// Coordinates of a released row; `None`: as many as the inputs have.
    pub columns: Option<usize>,
}

/// One line of the registry.
#[derive(Debug, Clone, Copy)]
pub struct CuratorEntry {
    /// Name in a spec.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Key of the source.
    pub paper: &'static str,
    /// Calibrates the curator for a request.
    pub build: fn(&CuratorRequest) -> Result<Arc<dyn Curator>, Refusal>,
}

/// The curator that `auto` stands for: the paper's own where the paper is followed, the one with a guarantee otherwise.
#[must_use]
pub fn resolve_curator(calibration: Calibration) -> &'static str {
    match calibration {
        Calibration::AsPrinted | Calibration::Corrected => "projection",
        Calibration::Tight => "input-noise",
    }
}
