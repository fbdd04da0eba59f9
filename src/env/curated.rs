//! The ledger beside a file of released images: what a modeler must know to read them.

use crate::error::Error;
use crate::privacy::release::Release;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What `privateer curate` writes beside the images. Holds nothing of the data but what was released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CuratedLedger {
    /// Always [`CuratedLedger::FORMAT`].
    pub format: String,
    /// Version of this layout.
    pub version: u32,
    /// Version of the program that wrote it.
    pub program_version: String,
    /// Columns of the images.
    pub columns: Vec<String>,
    /// Number of rows; public.
    pub rows: u64,
    /// SHA-256 of the file of images; empty where there is none.
    pub sha256: String,
    /// Neighbours differ in one row, by at most this, in units of the images.
    pub radius: f64,
    /// Public bound on the norm of a row, in units of the images.
    pub bound: f64,
    /// What was taken from each input column; public.
    pub centre: Vec<f64>,
    /// What each input column was divided by after that; public.
    pub scales: Vec<f64>,
    /// Standard deviation of the noise in each number of an image.
    pub sigma: f64,
    /// Privacy loss of one row.
    pub epsilon: f64,
    /// Failure probability.
    pub delta: f64,
    /// What the release promises, in its own words.
    pub ledger: serde_json::Value,
}

impl CuratedLedger {
    /// Tells such files from others.
    pub const FORMAT: &'static str = "privateer curated inputs";
    /// The version that this program writes and reads.
    pub const VERSION: u32 = 1;

    /// The ledger of rows that were neither moved nor scaled before their release.
    #[must_use]
    pub fn of(rows: &Release<Vec<f64>>, columns: &[&str], n_rows: u64, radius: f64, bound: f64, sigma: f64) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: n_rows,
            sha256: String::new(),
            radius,
            bound,
            centre: vec![0.0; columns.len()],
            scales: vec![1.0; columns.len()],
            sigma,
            epsilon: rows.ledger().epsilon,
            delta: rows.ledger().delta,
            ledger: serde_json::json!(rows.ledger()),
        }
    }

    /// Reads a ledger.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is no such ledger or of a newer layout.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io("read the ledger", path, source))?;
        let corrupt = |problem: String| Error::Corrupt {
            path: path.to_owned(),
            problem,
            hint: "name the `.ledger.json` that `privateer curate` wrote beside the images".to_owned(),
        };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|source| corrupt(format!("is not JSON ({source})")))?;
        if value["format"] != Self::FORMAT {
            return Err(corrupt("is not the ledger of released images".to_owned()));
        }
        match value["version"].as_u64() {
            Some(version) if version == u64::from(Self::VERSION) => {}
            Some(version) if u64::from(Self::VERSION) < version => {
                return Err(Error::Corrupt {
                    path: path.to_owned(),
                    problem: format!("has version {version}; this program reads up to {}", Self::VERSION),
                    hint: "use the program that wrote it, or a newer one".to_owned(),
                });
            }
            _ => return Err(corrupt("has no version that this program knows".to_owned())),
        }
        serde_json::from_value(value).map_err(|source| corrupt(format!("is not a whole ledger ({source})")))
    }

    /// The variance of the noise in each coordinate of an image, for images of all their columns.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the ledger is of other images.
    pub fn noise_variance(&self, path: &Path, dimension: usize) -> Result<f64, Error> {
        if self.columns.len() != dimension || !(self.sigma.is_finite() && 0.0 < self.sigma) {
            return Err(Error::Corrupt {
                path: path.to_owned(),
                problem: format!(
                    "is of images with {} columns and noise {}, not of {dimension} columns",
                    self.columns.len(),
                    self.sigma
                ),
                hint: "name all columns of the images in `inputs`".to_owned(),
            });
        }
        Ok(self.sigma * self.sigma)
    }
}
