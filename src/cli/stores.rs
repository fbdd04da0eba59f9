//! Places for results: folders, folders of shards, and object stores as `s3://BUCKET/PREFIX`.

use crate::engine::{Shard, Stop};
use crate::record::{Folder, Manifest, RunRecord, shares_in};
use crate::run::{RunFolder, RunObserver, RunOptions, run_to_folder};
use crate::spec::Sweep;
#[cfg(feature = "stores")]
use crate::store::{Bucket, download, run_to_store, stored_parts};
#[cfg(not(feature = "stores"))]
use privateer_config::error::Diagnostic;
use privateer_config::error::Error;
use std::path::{Path, PathBuf};
#[cfg(feature = "stores")]
use tempfile::TempDir;

/// Whether a path is an address in an object store, or tries to be one.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://") || text.starts_with("s3:"))
}

/// Returns where a shard of a run into `out` writes: a folder of its own in it, or the object store, which shards share.
pub fn place_of_shard(out: &Path, shard: Shard) -> Result<PathBuf, Error> {
    if is_address(out) {
        return Ok(out.to_owned());
    }
    if Manifest::path(out).exists() {
        Folder::manifest(out)?;
        let of = RunRecord::of(out).and_then(|record| record.shard);
        // The folder that the shard itself has made.
        if of.as_deref().and_then(|text| text.parse::<Shard>().ok()) == Some(shard) {
            return Ok(out.to_owned());
        }
        let problem = match of {
            Some(other) => format!("holds the results of another share of a sweep, {other}"),
            None => "holds the results of a run that is not divided into shards".to_owned(),
        };
        return Err(Error::folder(out, problem, "choose another folder with `--out DIR`: each shard gets a folder in it"));
    }
    Ok(out.join(format!("shard-{}-of-{}", shard.index + 1, shard.count)))
}

/// Returns what joins the shares of a run, one of which is in `out`.
pub fn merge_command(out: &Path, is_shard: bool) -> String {
    let inputs = match out.parent() {
        _ if is_address(out) => out.display().to_string(),
        Some(parent) if is_shard => parent.display().to_string(),
        _ => "DIR…".to_owned(),
    };
    format!("privateer merge {inputs} --out DIR")
}

/// Returns the results folders that a folder stands for: itself, or the shares in it.
pub fn results_in(folder: &Path) -> Vec<PathBuf> {
    let shares = if Manifest::path(folder).exists() { Vec::new() } else { shares_in(folder) };
    // What is wrong with a folder of neither kind is said where it is opened.
    if shares.is_empty() { vec![folder.to_owned()] } else { shares }
}

/// Parses an argument that has to be a folder of this machine.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    if is_address(Path::new(text)) { Err("expected a folder of this machine".to_owned()) } else { Ok(text.into()) }
}

/// Refuses an address that this program cannot write to.
pub fn check(out: &Path) -> Result<(), Error> {
    if is_address(out) { open(out).map(|_| ()) } else { Ok(()) }
}

/// Runs a sweep into a folder or an object store.
pub fn run_into(
    out: &Path,
    sweep: &Sweep,
    options: &RunOptions,
    stop: &Stop,
    observer: &dyn RunObserver,
) -> Result<RunFolder, Error> {
    #[cfg(feature = "stores")]
    if is_address(out) {
        return run_to_store(sweep, &open(out)?, options, stop, observer);
    }
    run_to_folder(sweep, out, options, stop, observer)
}

#[cfg(feature = "stores")]
fn open(out: &Path) -> Result<Bucket, Error> {
    Bucket::open(&out.display().to_string())
}

#[cfg(not(feature = "stores"))]
fn open(out: &Path) -> Result<(), Error> {
    let diagnostic = Diagnostic::new(format!("`{}` is an object store, and this program was built without them", out.display()));
    diagnostic.expected("a folder").hint("build it with `cargo install --locked privateer --features stores`").refuse()
}

/// Returns how many parts an object store holds, and how many a whole run has; `None` for a folder of this machine.
#[cfg(feature = "stores")]
pub fn progress(place: &Path) -> Result<Option<(u64, u64)>, Error> {
    if !is_address(place) {
        return Ok(None);
    }
    stored_parts(&open(place)?)?.map(Some).ok_or_else(|| nothing_at(place))
}

/// Refuses an address of an object store; returns `None` for a folder of this machine.
#[cfg(not(feature = "stores"))]
pub fn progress(place: &Path) -> Result<Option<(u64, u64)>, Error> {
    check(place).map(|()| None)
}

#[cfg(feature = "stores")]
fn nothing_at(place: &Path) -> Error {
    let hint = "give the address that `privateer run --out` wrote to, once a part is done";
    Error::folder(place, "holds no results", hint)
}

/// Folders to merge: those of this machine, and copies of what object stores hold.
#[derive(Debug)]
pub struct Inputs {
    pub folders: Vec<PathBuf>,
    /// Those that are copies; removed in the end.
    #[cfg(feature = "stores")]
    _copies: Vec<TempDir>,
}

impl Inputs {
    /// Copies what has to be copied.
    #[cfg(feature = "stores")]
    pub fn of(folders: &[PathBuf]) -> Result<Self, Error> {
        let mut inputs = Self { folders: Vec::new(), _copies: Vec::new() };
        for folder in folders {
            if !is_address(folder) {
                inputs.folders.extend(results_in(folder));
                continue;
            }
            let copy = tempfile::Builder::new().prefix("privateer-").tempdir();
            let copy = copy.map_err(|source| Error::io("create a folder in", std::env::temp_dir(), source))?;
            if !download(&open(folder)?, copy.path())? {
                return Err(nothing_at(folder));
            }
            inputs.folders.push(copy.path().to_owned());
            inputs._copies.push(copy);
        }
        Ok(inputs)
    }

    /// Refuses addresses of object stores.
    #[cfg(not(feature = "stores"))]
    pub fn of(folders: &[PathBuf]) -> Result<Self, Error> {
        folders.iter().try_for_each(|folder| check(folder))?;
        Ok(Self { folders: folders.iter().flat_map(|folder| results_in(folder)).collect() })
    }
}
