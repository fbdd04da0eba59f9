//! Stores the parameters that policies release at the end of a run: one file per part, written where the spec requests it.
//!
//! A file stands on its own: it holds the resolved spec, from which the feature map follows, and the released numbers of each
//! trial. Reads no part and computes nothing.

use super::digests::{ListedFile, write_listed};
use super::{PartId, SCHEMA_VERSION, disk};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::FactValue;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What kind of file it is; stands in the file, so that another JSON file is not taken for one.
const KIND: &str = "privateer parameters";

const WRITTEN: &str = "a run with `record = { parameters = true }` writes such files to `OUT/parameters`";

const SIMULATED: &str = "simulated: not a private release";

/// Holds released parameters of the trials of one part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    kind: String,
    schema_version: u32,
    /// Which program wrote it.
    pub program_version: String,
    /// On which path the values were released.
    provenance: String,
    /// The resolved spec.
    pub spec: String,
    /// The cell's index in it.
    pub cell: u32,
    /// The cell in words.
    pub label: String,
    /// One entry a trial.
    pub trials: Vec<TrialParameters>,
}

/// Holds released parameters of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialParameters {
    /// The trial, 0-based.
    pub trial: u64,
    /// What the policy gave out.
    pub parameters: FactValue,
}

impl Parameters {
    /// Makes the parameters of a part's trials.
    pub fn new(spec: String, cell: u32, label: String, trials: Vec<TrialParameters>) -> Self {
        Self {
            kind: KIND.to_owned(),
            schema_version: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            provenance: SIMULATED.to_owned(),
            spec,
            cell,
            label,
            trials,
        }
    }

    /// Returns where the parameters of a part lie in an output folder: `parameters/c0003-b0001.json`.
    pub fn path(out: &Path, id: PartId) -> PathBuf {
        out.join(Self::listed_name(id))
    }

    /// Returns the name of the parameters of a part in the list of digests.
    pub fn listed_name(id: PartId) -> String {
        format!("parameters/{}.json", id.file_name().trim_end_matches(".parquet"))
    }

    /// Writes the file whole and lists its digest.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn save(&self, out: &Path, id: PartId) -> Result<(), Error> {
        let bytes = serde_json::json!(self).to_string().into_bytes();
        write_listed(out, &[ListedFile { name: Self::listed_name(id), bytes }], "write the parameters")
    }

    /// Reads a parameters file.
    ///
    /// # Errors
    /// [`Error::Input`] where the file is missing, [`Error::Io`] where it cannot be read, [`Error::Corrupt`] where it is something else or of another version.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bytes = disk::read(path, "read the parameters").map_err(|error| match error {
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Diagnostic::new(format!("there is no file `{}`", path.display())).hint(WRITTEN).error()
            }
            error => error,
        })?;
        let corrupt = |problem: String| Error::corrupt(path, problem, WRITTEN);
        let value: FactValue = serde_json::from_slice(&bytes).map_err(|source| corrupt(format!("is no JSON file ({source})")))?;
        if value["kind"].as_str() != Some(KIND) {
            return Err(corrupt("holds no parameters of a private policy".to_owned()));
        }
        if value["schema_version"] != SCHEMA_VERSION.into() {
            return Err(corrupt(format!(
                "has layout version {}, and this program reads {SCHEMA_VERSION}",
                value["schema_version"]
            )));
        }
        value.read().map_err(|source| corrupt(format!("is damaged ({source})")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::remove_listed;
    use super::*;
    use std::fs;

    #[test]
    fn files_come_back_and_others_are_refused() {
        let out = tempfile::tempdir().expect("a folder");
        let id = PartId { cell: 3, block: 1 };
        let trials =
            vec![TrialParameters { trial: 50, parameters: FactValue::of(&serde_json::json!({"entries": [0.1, 1e300]})) }];
        let written = Parameters::new("seed = 7".to_owned(), 3, "a".to_owned(), trials);
        written.save(out.path(), id).expect("written");
        let path = Parameters::path(out.path(), id);
        assert!(path.ends_with("parameters/c0003-b0001.json"));
        assert_eq!(Parameters::load(&path).expect("read"), written);
        let text = fs::read_to_string(&path).expect("a text");
        for (changed, said) in [
            (text.replace(KIND, "something else"), "holds no parameters"),
            (text.replace("\"schema_version\":1", "\"schema_version\":9"), "layout version 9"),
            (text[..text.len() / 2].to_owned(), "no JSON"),
            (text.replace("\"trials\"", "\"runs\""), "damaged"),
        ] {
            fs::write(&path, changed).expect("written");
            let error = Parameters::load(&path).expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
        for _ in 0..2 {
            remove_listed(out.path(), &Parameters::listed_name(id), "remove").expect("removed, or gone already");
        }
        assert!(matches!(Parameters::load(&path), Err(Error::Input(_))));
    }
}
