//! Finds data files, and limits which files a spec may read.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::similar_file;
use std::fmt;
use std::path::{Path, PathBuf};

/// Names the folder of the data files, and those of the specs, where a file is looked for first; checks access to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataFolder {
    root: Option<PathBuf>,
    /// In the order in which they are searched.
    beside: Vec<PathBuf>,
    /// Further folders that files may be read from; `None` allows every folder.
    limits: Option<Vec<PathBuf>>,
}

impl DataFolder {
    /// Creates a folder; files are relative to `root`, or to the working folder.
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, ..Self::default() }
    }

    /// Returns the same folder, with those of the specs, where a file is looked for first.
    #[must_use]
    pub fn beside(self, folders: Vec<PathBuf>) -> Self {
        Self { beside: folders, ..self }
    }

    /// Returns the same folder, limited to files below it or below one of `folders`.
    ///
    /// The limit protects against specs from untrusted authors.
    #[must_use]
    pub fn limited_to(self, folders: Vec<PathBuf>) -> Self {
        Self { limits: Some(folders), ..self }
    }

    /// Returns whether a file may be read: every link is followed first, so that none leads out of the folders.
    fn allows(&self, path: &Path) -> bool {
        let Some(limits) = &self.limits else { return true };
        let root = self.root.as_deref().unwrap_or(Path::new("."));
        let real = |path: &Path| if path.as_os_str().is_empty() { Path::new(".") } else { path }.canonicalize().ok();
        // Of a file that is missing, the folder that would hold it decides: a spec must not learn what is elsewhere.
        let Some(found) = path.ancestors().find_map(real) else { return false };
        limits.iter().map(PathBuf::as_path).chain([root]).filter_map(real).any(|folder| found.starts_with(folder))
    }

    /// Returns the first folder that has all of some files, as an absolute path, which stays valid from another working folder.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist; [`Error::Input`] if the files lie in several folders.
    pub fn holding(&self, names: &[String]) -> Result<PathBuf, Error> {
        let has = |folder: &Path, name: &String| folder.join(name).symlink_metadata().is_ok();
        // What is nowhere is not read: it has a synthetic substitute.
        let read: Vec<&String> = names.iter().filter(|name| self.folders().any(|folder| has(folder, name))).collect();
        let holds_all = |folder: &&Path| !read.is_empty() && read.iter().all(|name| has(folder, name));
        let none = if read.is_empty() { self.folders().last() } else { None };
        let Some(folder) = self.folders().find(holds_all).or(none) else {
            return Diagnostic::new("the data files are not all in one folder").expected("one folder with all of them").refuse();
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().map_err(|source| Error::io("find the data folder", folder, source))
    }

    /// Returns the folders in the order in which they are searched.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.beside.iter().map(PathBuf::as_path).chain([self.root.as_deref().unwrap_or(Path::new(""))])
    }

    /// Returns the path of a data file that must exist.
    ///
    /// `about` describes the file and says where its publisher offers it.
    ///
    /// # Errors
    /// If the file is missing; the message has `about`, and says how to name the folder or use the synthetic substitute.
    pub fn find(&self, name: &str, about: Option<&str>, synthetic: bool) -> Result<PathBuf, Error> {
        // Checked before a file is accessed: a spec must not learn whether a forbidden file exists.
        let allowed: Vec<PathBuf> = self.folders().map(|folder| folder.join(name)).filter(|path| self.allows(path)).collect();
        let Some(path) = allowed.last() else {
            return Diagnostic::new(format!("the spec names `{name}`, outside of the data folder and of its own"))
                .expected("a file below one of the two")
                .hint("name its folder with `--data DIR`, or allow every file with `--allow-outside`")
                .refuse();
        };
        // Whoever reads it reports a folder, a pipe or a link to itself.
        if let Some(found) = allowed.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Ok(found.clone());
        }
        let what = about.map(|about| format!(" ({about})")).unwrap_or_default();
        let place = match &self.root {
            Some(root) if root.is_dir() => format!("in `{}`", root.display()),
            Some(root) => format!("in `{}`, which is not a folder", root.display()),
            None => "in the working folder".to_owned(),
        };
        let or_beside = if self.beside.is_empty() { "" } else { ", nor beside the spec" };
        let instead =
            if synthetic { ", or run the generated synthetic substitute with `--set environment.synthetic=true`" } else { "" };
        Diagnostic::new(format!("data file `{name}`{what} is not {place}{or_beside}"))
            .hint({
                let near = similar_file(path).map(|near| format!("did you mean `{}`? otherwise ", near.display()));
                format!(
                    "{}name the folder that holds it with `--data DIR` (`data=` in Python) or PRIVATEER_DATA{instead}",
                    near.unwrap_or_default()
                )
            })
            .refuse()
    }
}

impl fmt::Display for DataFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Some(root) => write!(f, "{}", root.display()),
            None => write!(f, "the working folder"),
        }
    }
}
