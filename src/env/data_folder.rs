//! Finds data files, and limits which files a spec may read.

use privateer_config::error::{Diagnostic, Error, closest};
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// Names the folder of the data files and checks access to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataFolder {
    root: Option<PathBuf>,
    /// Further folders that files may be read from; `None` allows every folder.
    limits: Option<Vec<PathBuf>>,
}

impl DataFolder {
    /// Creates a folder; files are relative to `root`, or to the working folder.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { root, limits: None }
    }

    /// Returns the same folder, limited to files below it or below one of `folders`.
    ///
    /// The limit protects against specs from untrusted authors.
    #[must_use]
    pub fn limited_to(self, folders: Vec<PathBuf>) -> Self {
        Self { limits: Some(folders), ..self }
    }

    /// Returns whether a file may be read.
    ///
    /// Links inside a folder may lead out of it, because the folder's owner made them.
    fn allows(&self, path: &Path) -> bool {
        let Some(limits) = &self.limits else { return true };
        let root = self.root.as_deref().unwrap_or(Path::new("."));
        let climbs = path.components().any(|component| component == Component::ParentDir);
        let found = path.canonicalize();
        limits.iter().map(PathBuf::as_path).chain([root]).any(|folder| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let plainly_inside = !climbs && (path.starts_with(folder) || (folder == Path::new(".") && path.is_relative()));
            let really_inside =
                || matches!((&found, folder.canonicalize()), (Ok(found), Ok(folder)) if found.starts_with(&folder));
            plainly_inside || really_inside()
        })
    }

    /// Returns the folder as an absolute path, which stays valid from another working folder.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist.
    pub fn absolute(&self) -> Result<PathBuf, Error> {
        let folder = self.root.clone().unwrap_or_else(|| PathBuf::from("."));
        folder.canonicalize().map_err(|source| Error::io("find the data folder", folder, source))
    }

    /// Returns the path of a data file that must exist.
    ///
    /// `about` describes the file and says where its publisher offers it.
    ///
    /// # Errors
    /// If the file is missing; the message has `about`, and says how to name the folder or use the synthetic substitute.
    pub fn find(&self, name: &str, about: Option<&str>, synthetic: bool) -> Result<PathBuf, Error> {
        let path = self.root.as_deref().unwrap_or(Path::new("")).join(name);
        // Checked before the file is accessed: a spec must not learn whether a forbidden file exists.
        if !self.allows(&path) {
            return Err(Error::input(
                Diagnostic::new(format!("the spec names `{name}`, outside of the data folder and of its own"))
                    .expected("a file below one of the two")
                    .hint("name its folder with `--data DIR`, or allow every file with `--allow-outside`"),
            ));
        }
        // A folder passes this check too; its reader reports that it is not a table.
        if path.exists() {
            return Ok(path);
        }
        let what = about.map(|about| format!(" ({about})")).unwrap_or_default();
        let place = match &self.root {
            Some(root) if root.is_dir() => format!("in `{}`", root.display()),
            Some(root) => format!("in `{}`, which is not a folder", root.display()),
            None => "in the working folder".to_owned(),
        };
        let instead =
            if synthetic { ", or run the generated synthetic substitute with `--set environment.synthetic=true`" } else { "" };
        Err(Error::input(Diagnostic::new(format!("data file `{name}`{what} is not {place}")).hint({
            let near = similar_file(&path).map(|near| format!("did you mean `{}`? otherwise ", near.display()));
            format!("{}name the folder that holds it with `--data DIR` or PRIVATEER_DATA{instead}", near.unwrap_or_default())
        })))
    }
}

/// Returns the file of the same folder whose name is closest to that of a missing file, if one is likely meant.
#[must_use]
pub fn similar_file(missing: &Path) -> Option<PathBuf> {
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(|name| !name.starts_with('.')).collect();
    names.sort();
    let near = closest(missing.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(missing.with_file_name(near))
}

impl fmt::Display for DataFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Some(root) => write!(f, "{}", root.display()),
            None => write!(f, "the working folder"),
        }
    }
}
