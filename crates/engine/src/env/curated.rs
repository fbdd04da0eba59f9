//! Defines the ledger of a file of released inputs, which states what a modeler must know.

use super::csv_table::{CsvShape, listed, text_sha256};
use privateer_config::error::Error;
use privateer_config::facts::FactValue;
use privateer_config::input::{FileHead, Input};
use privateer_privacy::odometer::{InputSpace, RowsFacts, Spend};
use privateer_privacy::release::{PublicProjection, Release, ReleaseLedger};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// Holds the ledger that `privateer curate` writes: public or released numbers only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CuratedLedger {
    /// Always [`CuratedLedger::FORMAT`].
    pub format: String,
    pub version: u32,
    /// Version of the program that wrote it.
    pub program_version: String,
    /// Columns of the released inputs.
    pub columns: Vec<String>,
    /// Columns of the raw table that were read; those of a projection have other names.
    pub sources: Vec<String>,
    /// Number of rows; public.
    pub rows: u64,
    /// SHA-256 of the text of the file of released inputs.
    pub sha256: String,
    /// Neighbours differ in one row, by at most this distance.
    ///
    /// In units of the released inputs (before a projection).
    pub radius: f64,
    /// Public bound on the norm of a row, in units of the released inputs (before a projection).
    pub bound: f64,
    /// Centre that was subtracted from each input column; public.
    pub centre: Vec<f64>,
    /// Scale by which each centred input column was divided; public.
    pub scales: Vec<f64>,
    /// Projection that was applied to the scaled rows, if one reduced their columns; public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<PublicProjection>,
    /// Who declared bound, centre and scales public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public: Option<String>,
    /// Standard deviation of the noise in each number of an image.
    pub sigma: f64,
    /// Privacy loss of one row.
    pub epsilon: f64,
    pub delta: f64,
    /// The promise of the release, in its own words.
    pub ledger: ReleaseLedger,
    /// SHA-256 of all fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl CuratedLedger {
    /// The value of `format`, which distinguishes ledgers from other files.
    pub const FORMAT: &'static str = "privateer curated inputs";
    /// Version that this program writes and reads; 3 since ledgers name the columns that were read.
    pub const VERSION: u32 = 3;

    /// Returns ledger and file of rows released without centring, scaling or projection.
    ///
    /// The file must be written unchanged, because the ledger holds its hash. Radius, bound and sigma are those that the
    /// release was calibrated with.
    pub fn with_released_inputs(
        rows: &Release<Vec<f64>>,
        columns: &[&str],
        radius: f64,
        bound: f64,
        sigma: f64,
    ) -> (Self, String) {
        let released_inputs = text(columns, rows.value());
        let ledger = Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            sources: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: (rows.value().len() / columns.len().max(1)) as u64,
            sha256: text_sha256(&released_inputs),
            radius,
            bound,
            centre: vec![0.0; columns.len()],
            scales: vec![1.0; columns.len()],
            projection: None,
            public: None,
            sigma,
            epsilon: rows.ledger().epsilon,
            delta: rows.ledger().delta,
            ledger: rows.ledger().clone(),
            digest: None,
        };
        (ledger.sealed(), released_inputs)
    }

    /// Returns what the release takes from every record; `None` where the ledger does not say what was done.
    pub fn spend(&self) -> Option<Spend> {
        let facts = RowsFacts {
            space: InputSpace::new(&self.sources, &self.scales),
            radius_and_bound: (self.radius, self.bound),
            sigma_and_step: (self.sigma, self.ledger.grid?),
            columns_and_stretch: (self.columns.len(), self.projection.as_ref().map_or(1.0, |map| map.stretch)),
            claim: (self.epsilon, self.delta),
        };
        let is_whole = self.sources.len() == self.scales.len() && 0.0 < self.radius && 0.0 < self.bound && 0.0 < self.sigma;
        is_whole.then(|| Some(Spend::of_rows(self.sha256.get(..32)?, &self.ledger.mechanism, facts))).flatten()
    }

    /// The same ledger with its own digest, after a change.
    #[must_use]
    pub fn sealed(self) -> Self {
        Self { digest: Some(digest(FactValue::of(&self))), ..self }
    }

    /// Reads a ledger.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let expected = "the `.ledger.json` that `privateer curate` wrote beside the released inputs";
        let bytes = Input { most_bytes: 1 << 26, ..Input::small("ledger", expected) }.read(path)?;
        let corrupt = |problem: String| Error::Corrupt {
            path: path.to_owned(),
            problem,
            hint: "name the `.ledger.json` that `privateer curate` wrote beside the released inputs".to_owned(),
        };
        // Other files are not worth the memory that their values take.
        let head = match serde_json::from_slice::<FileHead>(&bytes) {
            Ok(head) if head.format == Self::FORMAT => head,
            Err(source) if !source.is_data() => return Err(corrupt(format!("is not JSON ({source})"))),
            _ => return Err(corrupt("is not the ledger of released inputs".to_owned())),
        };
        match head.version() {
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
        let value: FactValue = serde_json::from_slice(&bytes).map_err(|source| corrupt(format!("is not JSON ({source})")))?;
        if value["digest"].as_str() != Some(&digest(value.clone())) {
            return Err(corrupt("is not the ledger that was written: its SHA-256 is not the one at its end".to_owned()));
        }
        value.read().map_err(|source| corrupt(format!("is not a whole ledger ({source})")))
    }

    /// Returns the variance of the noise in each released coordinate.
    ///
    /// Checks first that the ledger belongs to these released inputs.
    /// * `path`, `inputs` — the two files
    /// * `inputs` — the columns that are read as coordinates: all of the released columns
    pub fn noise_variance(&self, path: &Path, released_inputs: &Path, inputs: &[String]) -> Result<f64, Error> {
        let corrupt = |path: &Path, problem: String, hint: &str| {
            Err(Error::Corrupt { path: path.to_owned(), problem, hint: hint.to_owned() })
        };
        if !(self.sigma.is_finite() && 0.0 < self.sigma) {
            return corrupt(path, format!("states noise of {}", self.sigma), "restore it as `privateer curate` wrote it");
        }
        let found = CsvShape::read(released_inputs)?;
        let shown = path.display();
        let problem = if found.columns != self.columns {
            format!("has columns {}, and its ledger `{shown}` is of {}", listed(&found.columns), listed(&self.columns))
        } else if found.rows as u64 != self.rows {
            format!("has {} rows, and its ledger `{shown}` is of {}", found.rows, self.rows)
        } else if found.sha256 != self.sha256 {
            format!(
                "is not the file that its ledger `{shown}` is of: SHA-256 {}, expected {}",
                found.sha256,
                if self.sha256.is_empty() { "none" } else { &self.sha256 }
            )
        } else {
            String::new()
        };
        if !problem.is_empty() {
            return corrupt(
                released_inputs,
                problem,
                "use released inputs and ledger of one release, both as `privateer curate` wrote them: rows and noise are known by their place in the file",
            );
        }
        let mut sorted = inputs.to_vec();
        sorted.sort();
        let mut columns = self.columns.clone();
        columns.sort();
        if sorted != columns {
            return corrupt(
                path,
                format!("is of released inputs with columns {}, and `inputs` are {}", listed(&self.columns), listed(inputs)),
                "name every column of the released inputs once in `inputs`",
            );
        }
        Ok(self.sigma * self.sigma)
    }
}

/// Returns the SHA-256 of a ledger without its digest, as compact JSON with sorted keys.
fn digest(mut ledger: FactValue) -> String {
    if let FactValue::Table(members) = &mut ledger {
        members.remove("digest");
    }
    text_sha256(&ledger.to_string())
}

/// Formats the released inputs: a header, then one row per line, with numbers to the last bit.
fn text(columns: &[&str], values: &[f64]) -> String {
    let quoted = |name: &&str| {
        if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { (*name).to_owned() }
    };
    let mut text = columns.iter().map(quoted).collect::<Vec<_>>().join(",");
    text.push('\n');
    for row in values.chunks_exact(columns.len().max(1)) {
        for (at, value) in row.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{value}", if at == 0 { "" } else { "," });
        }
        text.push('\n');
    }
    text
}
