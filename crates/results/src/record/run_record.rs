//! Keeps what the machine did in a run: backend, threads, share of the sweep, counts. Results never depend on it.

use super::disk;
use super::whole_file::write_whole;
use privateer_config::error::Error;
use privateer_config::facts::FactValue;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

const NOTE: &str = "what the machine did: differs between equal runs, has no digest, and is not compared by `privateer verify`";

/// States how a run was computed; written to `run.json`, outside of digests and comparisons.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct RunRecord {
    /// Says to readers what the file is.
    #[serde(default)]
    note: String,
    /// Name of the backend.
    pub backend: String,
    /// Why the backend was chosen, where it was chosen for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_reason: Option<String>,
    /// The graphics adapter, where one was used.
    pub adapter: Option<String>,
    /// Features of the processor that the backend used.
    pub cpu_features: Vec<String>,
    /// Worker threads.
    pub threads: usize,
    /// The shard, as in `1/4`; `None` for a whole run.
    pub shard: Option<String>,
    /// Events worth knowing (repairs, fallbacks), by name.
    #[serde(deserialize_with = "counts")]
    pub counters: Count,
}

/// Reads counts; none where another program wrote something else.
fn counts<'de, D: Deserializer<'de>>(from: D) -> Result<Count, D::Error> {
    let none = || Count::Named(BTreeMap::new());
    Ok(FactValue::deserialize(from)?.read().unwrap_or_else(|_| none()))
}

/// A count, or counts by name.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Count {
    /// How often.
    Number(u64),
    /// Counts by name.
    Named(BTreeMap<String, Count>),
    /// The records of several folders.
    Folders(Vec<RunRecord>),
}

impl Count {
    /// Returns counts by name.
    pub fn named<N: Into<String>>(counts: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Named(counts.into_iter().map(|(name, count)| (name.into(), count)).collect())
    }

    /// Returns a count of the first level; 0 if it is absent.
    pub fn of(&self, name: &str) -> u64 {
        let Self::Named(counts) = self else { return 0 };
        if let Some(Self::Number(count)) = counts.get(name) { *count } else { 0 }
    }

    /// Adds counts of the same names; anything else takes the place of what was here.
    pub fn add(&mut self, more: Self) {
        match (self, more) {
            (Self::Number(count), Self::Number(more)) => *count = count.saturating_add(more),
            (Self::Named(counts), Self::Named(more)) => {
                for (name, count) in more {
                    match counts.entry(name) {
                        Entry::Occupied(mut known) => known.get_mut().add(count),
                        Entry::Vacant(free) => drop(free.insert(count)),
                    }
                }
            }
            (known, more) => *known = more,
        }
    }
}

impl RunRecord {
    /// Name of the file in a results folder.
    pub const NAME: &str = "run.json";

    /// Creates the record of a whole run that has counted nothing yet.
    pub fn new(backend: String, adapter: Option<String>, cpu_features: Vec<String>, threads: usize) -> Self {
        let counters = Count::Named(BTreeMap::new());
        Self { note: NOTE.to_owned(), backend, backend_reason: None, adapter, cpu_features, threads, shard: None, counters }
    }

    /// Returns the record of a folder that joins those of several runs; `None` without any.
    pub fn joined(records: &[Self]) -> Option<Self> {
        let first = records.first()?;
        let counters = match records {
            [only] => only.counters.clone(),
            several => Count::named([("by_folder", Count::Folders(several.to_vec()))]),
        };
        Some(Self { shard: None, counters, ..first.clone() })
    }

    /// Returns where the record lies in a results folder.
    pub fn path(out: &Path) -> PathBuf {
        out.join(Self::NAME)
    }

    /// Writes `run.json` whole.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk refuses.
    pub fn save(&self, out: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::failed(format!("`run.json`: {error}"), "please report this"))?;
        write_whole(&Self::path(out), format!("{text}\n").as_bytes(), "write what the machine did")
    }

    /// Reads `run.json`; `None` where it is missing or unreadable, since no result depends on it.
    pub fn of(out: &Path) -> Option<Self> {
        Self::parse(&disk::read(&Self::path(out), "read what the machine did").ok()?)
    }

    /// Reads a record from its bytes; `None` where they hold something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
