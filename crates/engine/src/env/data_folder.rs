//! Finds data files, and limits which files a spec may read.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::similar_file;
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
    /// Creates a folder; files are relative to `root`, or to the working folder, and may be anywhere.
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, ..Self::default() }
    }

    /// Returns where the files of one spec are: in the stated folder; without one beside the spec, else in `$PRIVATEER_DATA`, else in
    /// the working folder.
    ///
    /// Files elsewhere are refused, which protects against specs from untrusted authors.
    ///
    /// * `own` — the spec's folder, and others that it may read from
    pub fn of_spec(stated: Option<PathBuf>, own: Vec<PathBuf>) -> Self {
        let beside = if stated.is_none() { own.clone() } else { Vec::new() };
        let root = stated.or_else(|| std::env::var_os("PRIVATEER_DATA").map(PathBuf::from));
        Self { root, beside, limits: Some(own) }
    }

    /// Returns the same folder; files may be anywhere.
    #[must_use]
    pub fn unlimited(self) -> Self {
        Self { limits: None, ..self }
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

    /// Returns the folder that some files are taken from, as an absolute path, which stays valid from another working folder; without
    /// a file the data folder.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist; [`Error::Input`] if the files are taken from several folders.
    pub fn holding(&self, names: &[String]) -> Result<PathBuf, Error> {
        // What is nowhere is not read: it has a synthetic substitute.
        let mut taken = names.iter().filter_map(|name| Some((name, self.taken_from(name)?)));
        let none = String::new();
        let (first, folder) = taken.next().unwrap_or((&none, self.root()));
        if let Some((other, elsewhere)) = taken.find(|(_, other)| *other != folder) {
            let [one, two] = [folder.join(first), elsewhere.join(other)].map(|path| path.display().to_string());
            return Diagnostic::new(format!("the data files `{one}` and `{two}` are in two folders"))
                .expected("all in one folder")
                .hint("name it with `--data DIR` (`data=` in Python)")
                .refuse();
        }
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        folder.canonicalize().map_err(|source| Error::io("find the data folder", folder, source))
    }

    /// Returns whether a file of this name is taken from one place by both.
    pub fn takes_alike(&self, other: &Self, name: &str) -> bool {
        let place = |of: &Self| of.taken_from(name).and_then(|folder| folder.join(name).canonicalize().ok());
        place(self) == place(other)
    }

    /// Returns where a file is taken from, or would be, in words.
    pub fn place_of(&self, name: &str) -> String {
        let folder = self.taken_from(name).unwrap_or(self.root());
        if folder.as_os_str().is_empty() { "the working folder".to_owned() } else { folder.display().to_string() }
    }

    fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new(""))
    }

    /// Returns the first folder that has a file of this name which may be read.
    pub fn taken_from(&self, name: &str) -> Option<&Path> {
        self.folders().find(|folder| self.is_there(&folder.join(name)))
    }

    /// Returns whether something has this name that may be read; whoever reads it reports a folder, a pipe or a link to itself.
    fn is_there(&self, path: &Path) -> bool {
        self.allows(path) && path.symlink_metadata().is_ok()
    }

    /// Returns whether a folder that may be read has a link of this name to a file that may not.
    fn leads_outside(&self, path: &Path) -> bool {
        !self.allows(path) && path.parent().is_some_and(|folder| self.allows(folder)) && path.symlink_metadata().is_ok()
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.beside.iter().map(PathBuf::as_path).chain([self.root()])
    }

    /// Returns the path of a data file that must exist.
    ///
    /// `about` describes the file and says where its publisher offers it.
    ///
    /// # Errors
    /// If the file is missing; the message has `about`, and says how to name the folder or use the synthetic substitute.
    pub fn find(&self, name: &str, about: Option<&str>, synthetic: bool) -> Result<PathBuf, Error> {
        let paths: Vec<PathBuf> = self.folders().map(|folder| folder.join(name)).collect();
        // Checked before a file is accessed: a spec must not learn whether a forbidden file exists. A link beside the spec is not passed
        // over in favour of another file.
        let first = paths.iter().find(|path| self.is_there(path) || self.leads_outside(path));
        if paths.iter().all(|path| !self.allows(path)) || first.is_some_and(|path| self.leads_outside(path)) {
            return Diagnostic::new(format!("the spec names `{name}`, outside of the data folder and of its own"))
                .expected("a file below one of the two")
                .hint("name its folder with `--data DIR`, or allow every file with `--allow-outside`")
                .refuse();
        }
        if let Some(path) = first {
            return Ok(path.clone());
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
                let near = paths
                    .iter()
                    .find_map(|path| similar_file(path))
                    .map(|near| format!("did you mean `{}`? otherwise ", near.display()));
                format!(
                    "{}name the folder that holds it with `--data DIR` (`data=` in Python) or PRIVATEER_DATA{instead}",
                    near.unwrap_or_default()
                )
            })
            .refuse()
    }
}
