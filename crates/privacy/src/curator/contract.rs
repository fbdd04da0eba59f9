//! Defines inputs, released inputs, and the interface of every curator.

use crate::{Calibrated, Delta, Epsilon, Ledger, Raw, Refusal, Released, Request};
use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// Holds the inputs of a problem: `n_rows x dimension` numbers, row-major.
/// They are raw until a curator has released them.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    dimension: usize,
    values: Arc<Vec<f64>>,
}

impl Inputs {
    /// Takes `n_rows * dimension` numbers; `dimension` must be at least 1 and divide their number.
    pub fn new(dimension: usize, values: Arc<Vec<f64>>) -> Self {
        assert!(0 < dimension && values.len().is_multiple_of(dimension), "numbers do not fill whole rows");
        Self { dimension, values }
    }

    /// Returns the number of rows.
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.dimension
    }

    /// Returns the numbers per row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns all numbers, row-major.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// Holds the released inputs, in row order, and their public description.
/// A row has one released version, however often it is requested.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedInputs {
    /// Coordinates of a released row.
    pub dimension: usize,
    /// `n_rows x dimension`, row-major.
    pub values: Arc<Vec<f64>>,
    /// Variance of the noise in each coordinate; 0 without noise.
    pub noise_variance: f64,
    /// Whether coordinate `j` of a released row is coordinate `j` of its row, up to noise.
    /// Then length-scales per coordinate keep their meaning.
    pub aligned: bool,
}

/// Provides a calibrated curator, shared by all trials of a cell.
pub trait Curator: Send + Sync + fmt::Debug {
    /// Releases all rows; the number of random-stream words depends on the sizes only.
    ///
    /// # Errors
    /// Inputs that the mechanism is not defined for.
    fn release(&self, inputs: Raw<Inputs>, stream: &mut Stream) -> Result<Released<ReleasedInputs>, Refusal>;

    /// Returns claimed and delivered loss for inputs of this size.
    fn ledger(&self, n_rows: usize, dimension: usize) -> Ledger;

    /// Returns what the preparation of these inputs does, for the manifest of a simulation; `None` if nothing is prepared.
    fn preparation(&self, inputs: &Raw<Inputs>) -> Option<Preparation> {
        let _ = inputs;
        None
    }
}

/// States how inputs are prepared; it depends on the raw data and must never be released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preparation {
    /// Factor by which the inputs are multiplied before the mechanism.
    pub scale: f64,
    /// Number of rows beyond the bound, which are moved to it.
    pub moved: usize,
}

/// States what a curator protects and releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InputsNeed {
    /// Largest L2 distance between neighbours, which differ in one row; > 0.
    /// In units of the inputs that the curator receives; `None` if not stated.
    pub radius: Option<f64>,
    /// Coordinates of a released row; `None` for as many as the inputs have.
    pub columns: Option<usize>,
}

impl InputsNeed {
    /// Returns the budget of one look, which covers one row once, and the request at it.
    pub(super) fn one_look(self, request: &Request) -> Result<((Epsilon, Delta), Request), Refusal> {
        if self.columns == Some(0) {
            return Err(Refusal::new("columns", "`columns` is 0", "a whole number >= 1"));
        }
        let budget = (request.epsilon()?, request.delta(1)?);
        Ok((budget, Request { budget: budget.into(), ..*request }))
    }
}

/// Describes one curator in the registry.
#[derive(Debug, Clone, Copy)]
pub struct CuratorEntry {
    /// Name in specs.
    pub name: &'static str,
    /// One-line summary for listings.
    pub summary: &'static str,
    /// Key of the paper.
    pub paper: &'static str,
    /// Calibrates the curator for a request.
    /// The request has the name of the entry, not `auto`.
    pub build: fn(&Request, InputsNeed) -> Calibrated<dyn Curator>,
}
