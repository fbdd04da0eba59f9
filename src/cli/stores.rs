//! Places for results: folders, and object stores as `s3://BUCKET/PREFIX`.

use crate::engine::Stop;
use crate::run::{RunFolder, RunObserver, RunOptions, run_to_folder};
use crate::spec::Sweep;
#[cfg(feature = "stores")]
use crate::store::{Bucket, download, run_to_store};
#[cfg(not(feature = "stores"))]
use privateer_config::error::Diagnostic;
use privateer_config::error::Error;
use std::path::{Path, PathBuf};
#[cfg(feature = "stores")]
use tempfile::TempDir;

/// Whether a path is an address in an object store, or tries to be one.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// Returns what joins the shards that ran into `out`.
pub fn merge_command(out: &Path) -> String {
    let inputs = if is_address(out) { out.display().to_string() } else { "DIR…".to_owned() };
    format!("privateer merge {inputs} --out DIR")
}

/// Parses an argument that has to be a folder of this machine.
///
/// # Errors
/// What is said of an address in an object store.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    if is_address(Path::new(text)) { Err("expected a folder of this machine".to_owned()) } else { Ok(text.into()) }
}

/// Refuses an address that this program cannot write to.
///
/// # Errors
/// [`Error::Input`] for one that is not `s3://BUCKET/PREFIX`, or any where the program was built without object stores.
pub fn check(out: &Path) -> Result<(), Error> {
    if is_address(out) { open(out).map(|_| ()) } else { Ok(()) }
}

/// Runs a sweep into a folder or an object store.
///
/// # Errors
/// Those of the run.
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
    Err(Error::input(diagnostic.expected("a folder").hint("build it with `cargo install privateer --features stores`")))
}

/// Folders to merge: those of this machine, and copies of what object stores hold.
#[derive(Debug)]
pub struct Inputs {
    /// The folders.
    pub folders: Vec<PathBuf>,
    /// Those that are copies; removed in the end.
    #[cfg(feature = "stores")]
    _copies: Vec<TempDir>,
}

impl Inputs {
    /// Copies what has to be copied.
    ///
    /// # Errors
    /// [`Error::Folder`] where nothing is below an address; those of the store and the disk.
    #[cfg(feature = "stores")]
    pub fn of(folders: &[PathBuf]) -> Result<Self, Error> {
        let mut inputs = Self { folders: Vec::new(), _copies: Vec::new() };
        for folder in folders {
            if !is_address(folder) {
                inputs.folders.push(folder.clone());
                continue;
            }
            let copy = tempfile::Builder::new().prefix("privateer-").tempdir();
            let copy = copy.map_err(|source| Error::io("create a folder in", std::env::temp_dir(), source))?;
            if !download(&open(folder)?, copy.path())? {
                return Err(Error::Folder {
                    path: folder.clone(),
                    problem: "holds no results".to_owned(),
                    hint: "give the address that `privateer run --out` wrote to, once a part is done".to_owned(),
                });
            }
            inputs.folders.push(copy.path().to_owned());
            inputs._copies.push(copy);
        }
        Ok(inputs)
    }

    /// Refuses addresses of object stores.
    ///
    /// # Errors
    /// [`Error::Input`] for each of them.
    #[cfg(not(feature = "stores"))]
    pub fn of(folders: &[PathBuf]) -> Result<Self, Error> {
        folders.iter().try_for_each(|folder| check(folder))?;
        Ok(Self { folders: folders.to_vec() })
    }
}
