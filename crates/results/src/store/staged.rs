//! Runs a sweep in a temporary folder and puts its parts into an object store while it runs.

use super::bucket::Bucket;
use super::download::{MANIFEST_NAME, parts};
use crate::record::{DigestList, Manifest, PartId, RunRecord, SPEC_NAME, TIMINGS_NAME, hash_bytes};
use crate::run::{RunFolder, RunObserver, RunOptions, run_to_folder};
use privateer_config::error::Error;
use privateer_engine::engine::{Stop, Unit, units};
use privateer_engine::spec::Sweep;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks for finished parts: what a lost node has to compute again.
const INTERVAL: Duration = Duration::from_millis(500);

/// Runs a sweep as [`run_to_folder`] does, with its parts below a prefix of an object store.
///
/// Parts of the share that are there are not computed again. Nothing stays on this machine.
///
/// # Errors
/// Those of [`run_to_folder`]; [`Error::Folder`] where the prefix holds results of another spec or other data, or the store refuses;
/// [`Error::Corrupt`] where it holds a different part under the name of one of this run. Parts that were put are kept.
pub fn run_to_store(
    sweep: &Sweep,
    bucket: &Bucket,
    options: &RunOptions,
    stop: &Stop,
    observer: &dyn RunObserver,
) -> Result<RunFolder, Error> {
    let staging = tempfile::Builder::new().prefix("privateer-").tempdir();
    let staging = staging.map_err(|source| Error::io("create a folder in", std::env::temp_dir(), source))?;
    let staging = staging.path();
    same_spec(bucket, sweep)?;
    let share: BTreeSet<Unit> = options.share.of(units(sweep))?.into_iter().collect();
    parts(bucket, staging, |PartId { cell, block }| share.contains(&Unit { cell, block }))?;
    let mut upload = Upload { bucket, staging, known: listed(staging)?, new: BTreeMap::new(), has_manifest: false };

    let (ended, ends) = channel::<()>();
    let (run, uploaded) = thread::scope(|scope| {
        let upload = &mut upload;
        let uploading = scope.spawn(move || {
            loop {
                let over = ends.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout);
                // Nobody computes for a store that does not take it.
                upload.put_listed().inspect_err(|_| stop.ask())?;
                if over {
                    return Ok(());
                }
            }
        });
        let run = run_to_folder(sweep, staging, options, stop, observer);
        drop(ended);
        (run, uploading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    // What a device got wrong leaves the store whatever else went wrong.
    upload.take_back()?;
    uploaded?;
    upload.describe()?;
    let mut run = run.map_err(|error| stored(error, bucket, staging))?;
    run.path = bucket.address().into();
    if let Some(report) = &mut run.report {
        for name in ["report.html", "summary.csv", "audit.json"] {
            let path = staging.join(name);
            // Few specs ask for an audit.
            if !path.exists() {
                continue;
            }
            let bytes = fs::read(&path).map_err(|source| Error::io("read the report", &path, source))?;
            bucket.replace(name, bytes)?;
        }
        report.report_path = bucket.address_of("report.html");
    }
    Ok(run)
}

/// Puts the resolved spec, or refuses a prefix that holds another.
fn same_spec(bucket: &Bucket, sweep: &Sweep) -> Result<(), Error> {
    match bucket.put_new(&[(SPEC_NAME.to_owned(), sweep.resolved.as_bytes().to_vec())]) {
        Err(Error::Corrupt { .. }) => {
            let hint = "choose another prefix with `--out`, or delete what is there";
            Err(Error::folder(bucket.address(), "holds results of another spec", hint))
        }
        other => other,
    }
}

/// Says of the store what a run says of its temporary folder. A stopped run has kept its parts in the store.
fn stored(error: Error, bucket: &Bucket, staging: &Path) -> Error {
    let moved = |path: PathBuf| match path.strip_prefix(staging) {
        Ok(name) if name.as_os_str().is_empty() => bucket.address().into(),
        Ok(name) => bucket.address_of(&name.display().to_string()),
        Err(_) => path,
    };
    match error {
        Error::Folder { path, problem, hint } => {
            Error::Folder { path: moved(path), problem, hint: hint.replace(&staging.display().to_string(), bucket.address()) }
        }
        Error::Corrupt { path, problem, hint } => Error::Corrupt { path: moved(path), problem, hint },
        Error::Incomplete { done, total, reason, .. } => {
            let hint = format!("the same command resumes; finished parts are in `{}`", bucket.address());
            Error::Incomplete { done, total, reason, hint }
        }
        error => error,
    }
}

/// Returns the parts and released parameters that a folder lists.
fn listed(out: &Path) -> Result<BTreeSet<String>, Error> {
    Ok(DigestList::load(out)?.names().filter(|name| name.contains('/')).map(str::to_owned).collect())
}

/// What of a folder is in the store.
struct Upload<'a> {
    bucket: &'a Bucket,
    staging: &'a Path,
    /// Files of the folder that are in the store.
    known: BTreeSet<String>,
    /// Those that this run has put there, or may have, with their SHA-256.
    new: BTreeMap<String, String>,
    has_manifest: bool,
}

impl Upload<'_> {
    /// Puts the listed files that are not in the store.
    fn put_listed(&mut self) -> Result<(), Error> {
        let (parameters, parts): (Vec<String>, Vec<String>) = listed(self.staging)?
            .into_iter()
            .filter(|name| !self.known.contains(name))
            .partition(|name| name.starts_with("parameters/"));
        if parameters.is_empty() && parts.is_empty() {
            return Ok(());
        }
        self.put_manifest()?;
        // A part that is there has its parameters beside it.
        for name in parameters.into_iter().chain(parts).collect::<Vec<_>>().chunk_by(|left, right| folder(left) == folder(right))
        {
            self.put(name)?;
        }
        Ok(())
    }

    fn put(&mut self, names: &[String]) -> Result<(), Error> {
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let path = self.staging.join(name);
            match fs::read(&path) {
                Ok(bytes) => files.push((name.clone(), bytes)),
                // The run has taken it back in the meantime.
                Err(source) if source.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(Error::io("read the part", &path, source)),
            }
        }
        // A put whose answer was lost finds its own object: all of them count as this run's, which computed the same bytes.
        let puts = self.bucket.put_new(&files);
        for (name, bytes) in files {
            self.new.insert(name.clone(), hash_bytes(&bytes));
            if puts.is_ok() {
                self.known.insert(name);
            }
        }
        puts
    }

    /// Puts the manifest unless one is stored, and refuses a stored one of other data.
    fn put_manifest(&mut self) -> Result<(), Error> {
        if self.has_manifest {
            return Ok(());
        }
        let path = Manifest::path(self.staging);
        let bytes = fs::read(&path).map_err(|source| Error::io("read the manifest", &path, source))?;
        match self.bucket.put_new(&[(MANIFEST_NAME.to_owned(), bytes)]) {
            Ok(()) => {}
            // That of another version of the program: cells may not differ.
            Err(Error::Corrupt { .. }) => {
                let other =
                    tempfile::tempdir().map_err(|source| Error::io("create a folder in", std::env::temp_dir(), source))?;
                parts(self.bucket, other.path(), |_| false)?;
                if Manifest::load(other.path())?.cells != Manifest::load(self.staging)?.cells {
                    let problem = "holds results of the same spec over other data, or of another version of the program";
                    let hint = "choose another prefix with `--out`, or run with the same data and version";
                    return Err(Error::folder(self.bucket.address(), problem, hint));
                }
            }
            Err(error) => return Err(error),
        }
        self.has_manifest = true;
        Ok(())
    }

    /// Removes what this run has put and then removed from its folder, as after a wrong answer of a device.
    fn take_back(&mut self) -> Result<(), Error> {
        let listed = listed(self.staging)?;
        for (name, digest) in self.new.iter().filter(|(name, _)| !listed.contains(*name)) {
            // A put that failed may have met the part of another run, which stays.
            if self.bucket.get(name)?.is_some_and(|bytes| hash_bytes(&bytes) == *digest) {
                self.bucket.remove(name)?;
            }
        }
        self.new.retain(|name, _| listed.contains(name));
        Ok(())
    }

    /// Puts what this run counted and how long its parts took.
    fn describe(&self) -> Result<(), Error> {
        if self.new.is_empty() {
            return Ok(());
        }
        let read = |name: &str| {
            let path = self.staging.join(name);
            fs::read(&path).map_err(|source| Error::io("read", &path, source))
        };
        let (record, timings) = (read(RunRecord::NAME)?, read(TIMINGS_NAME)?);
        // Runs of one share may count the same, but not in the same time.
        let name = hash_bytes(format!("{} {}", hash_bytes(&record), hash_bytes(&timings)).as_bytes());
        let files = [(format!("timings/{name}.csv"), timings), (format!("runs/{name}.json"), record)];
        self.bucket.put_new(&files)
    }
}

fn folder(name: &str) -> &str {
    name.split_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::super::bucket::tests::memory;
    use super::*;

    /// A withdrawn part leaves the store; the part of another run that stands under its name stays.
    #[test]
    fn only_own_bytes_are_taken_back() {
        let (bucket, _) = memory();
        let staging = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        bucket.put_new(&[file("cells/own", "wrong"), file("cells/other", "right")]).expect("put");
        let new = ["cells/own", "cells/other", "cells/gone"].map(|name| (name.to_owned(), hash_bytes(b"wrong")));
        let known = BTreeSet::new();
        let mut upload = Upload { bucket: &bucket, staging: staging.path(), known, new: new.into(), has_manifest: true };
        upload.take_back().expect("taken back");
        assert_eq!(bucket.names("cells").expect("listed"), ["other"]);
        assert!(upload.new.is_empty());
    }
}
