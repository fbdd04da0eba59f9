//! Reads what a user names: regular files and standard input, each with a largest size, and with the true reason of a failure.

use crate::error::{self, Diagnostic, Error, closest, readable_bytes};
use serde::Deserialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What is read, for messages, and how much of it at most.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The noun, as in "spec".
    pub what: &'a str,
    /// What the file should be, as in "a spec in TOML".
    pub expected: &'a str,
    /// Largest size in bytes.
    pub most_bytes: u64,
    /// What to do about a larger one.
    pub hint: &'a str,
}

impl<'a> Input<'a> {
    /// States an input of at most 1 MiB.
    pub const fn small(what: &'a str, expected: &'a str) -> Self {
        Self { what, expected, most_bytes: 1 << 20, hint: "check that it is the file you mean" }
    }

    /// Reads a whole regular file.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that is missing, too large or not a regular one, [`Error::Io`] where the system refuses.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let file = open_regular(path).map_err(|source| self.refused(path, source))?;
        // The stated size of a file spares reading it; what is read is counted all the same.
        if self.most_bytes < file.metadata().map_or(0, |found| found.len()) {
            return Err(self.too_large(path));
        }
        self.read_stream(path, file)
    }

    /// Reads a whole regular file as text.
    ///
    /// # Errors
    /// As [`Input::read`], and [`Error::Input`] for bytes that are not UTF-8.
    pub fn read_text(&self, path: &Path) -> Result<String, Error> {
        String::from_utf8(self.read(path)?).map_err(|_| self.mistake(format!("`{}` is not a text file", path.display())))
    }

    /// Reads a stream to its end, as standard input or what a packed file holds; `from` names it.
    ///
    /// # Errors
    /// [`Error::Input`] for one that is too large, [`Error::Io`] where reading fails, also for want of memory.
    pub fn read_stream(&self, from: &Path, source: impl Read) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        source.take(self.most_bytes + 1).read_to_end(&mut bytes).map_err(|source| self.refused(from, source))?;
        if self.most_bytes < bytes.len() as u64 { Err(self.too_large(from)) } else { Ok(bytes) }
    }

    /// Returns the error for an input that is larger than the limit.
    pub fn too_large(&self, from: &Path) -> Error {
        let most = readable_bytes(self.most_bytes as f64);
        let problem = Diagnostic::new(format!("the {} `{}` is larger than the limit of {most}", self.what, from.display()));
        problem.expected(self.expected).hint(self.hint).error()
    }

    fn mistake(&self, problem: String) -> Error {
        Diagnostic::new(problem).expected(self.expected).error()
    }

    /// Returns the error for a file that could not be opened or read.
    pub fn refused(&self, path: &Path, source: io::Error) -> Error {
        let shown = path.display();
        let problem = match source.kind() {
            _ if is_not_regular(&source) => format!("the {} `{shown}` is not a regular file", self.what),
            _ if error::is_link_loop(&source) => {
                format!("the {} `{shown}` is a link to itself, or one of too many links", self.what)
            }
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                let hint =
                    similar_file(path).map_or("check the path".to_owned(), |near| format!("did you mean `{}`?", near.display()));
                let problem = Diagnostic::new(format!("there is no {} `{shown}`", self.what));
                return problem.expected(self.expected).hint(hint).error();
            }
            _ => return Error::io(format!("read the {}", self.what), path, source),
        };
        self.mistake(problem)
    }
}

/// Kind and version of a JSON file of this program; the rest of the file takes no memory.
#[derive(Debug, Deserialize)]
pub struct FileHead {
    /// What the file is.
    pub format: String,
    /// The version of its layout.
    version: Option<f64>,
}

impl FileHead {
    /// Returns the version, if it is a natural number.
    pub fn version(&self) -> Option<u64> {
        self.version.filter(|version| version.fract() == 0.0 && (0.0..1e15).contains(version)).map(|version| version as u64)
    }
}

/// Opens a regular file for reading. A pipe, a device or a folder is refused before it is opened: it may have no end.
///
/// # Errors
/// Of the system, or one that [`is_not_regular`] knows.
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular_or_absent(path)?;
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(NotRegular.into()) }
}

/// Refuses a path at which something else than a regular file stands.
///
/// # Errors
/// One that [`is_not_regular`] knows.
pub fn regular_or_absent(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(NotRegular.into()),
        _ => Ok(()),
    }
}

/// Whether an error says that a file is not a regular one.
pub fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotRegular>())
}

/// Marks the refusal of a file that is not a regular one.
#[derive(Debug)]
struct NotRegular;

impl From<NotRegular> for io::Error {
    fn from(mark: NotRegular) -> Self {
        Self::new(ErrorKind::InvalidInput, mark)
    }
}

impl fmt::Display for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a regular file")
    }
}

impl std::error::Error for NotRegular {}

/// Returns the file of the same folder whose name is closest to that of a missing file, if one is likely meant.
pub fn similar_file(missing: &Path) -> Option<PathBuf> {
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    let near = closest(missing.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(missing.with_file_name(near))
}
