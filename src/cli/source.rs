//! Finds a spec and its data, and applies the changes that the command line states.

use crate::env::DataFolder;
use crate::registry::Registry;
use crate::spec::{SPEC_FILE, Sweep};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Options that change a spec or say where its data is.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// Folder that the spec's data files are relative to [default: the spec's own, where it has them, then $PRIVATEER_DATA, else the working folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Let the spec read files outside of the data folder and of its own folder
    #[arg(long)]
    allow_outside: bool,
    /// Another folder that the spec may read files of; scripts of `privateer slurm` name the folder of the spec.
    #[arg(long, value_name = "DIR", hide = true)]
    data_also: Vec<PathBuf>,
    /// Change the spec, as in `--set privacy.epsilon=2` or `--set policy.*.ridge=3`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Repetitions of every cell
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    trials: Option<u64>,
    /// Horizon
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    rounds: Option<u64>,
    /// Seed of all random streams, from 0 to 2^63 - 1
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(super) seed: Option<u64>,
    /// Folders of the specs that were read.
    #[arg(skip)]
    folders: RefCell<Vec<PathBuf>>,
}

fn whole_number(text: &str) -> Result<u64, String> {
    // TOML's integers end at 2^63 - 1, and an option changes the spec as if it stood there.
    let number = text.parse().ok().filter(|number| i64::try_from(*number).is_ok());
    number.ok_or_else(|| "expected a whole number from 0 to 2^63 - 1".to_owned())
}

/// Returns the name of the folder that a spec's results have by default.
pub fn folder_name(path: &Path) -> Result<String, Error> {
    let stem = path.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned());
    if stem.chars().all(|c| c == '.') {
        let diagnostic = Diagnostic::new(format!("the spec `{}` has no name that a folder could have", path.display()));
        return diagnostic.expected("a file such as `study.toml`").hint("name the folder with `--out DIR`").refuse();
    }
    Ok(stem)
}

impl SpecArgs {
    /// Reads and checks a spec file.
    pub fn read(&self, registry: &Registry, path: &Path) -> Result<Sweep, Error> {
        let text = self.text(path)?;
        Sweep::parse_with(registry, &path.display().to_string(), &text, &self.overrides()?)
    }

    /// Reads a spec file; its folder may then hold data files.
    pub fn text(&self, path: &Path) -> Result<String, Error> {
        let text = SPEC_FILE.read_text(path)?;
        self.folders.borrow_mut().push(path.parent().unwrap_or(Path::new("")).to_owned());
        Ok(text)
    }

    /// Returns the options that let a command in another folder read the same data.
    pub fn data_options(&self) -> Result<Vec<String>, Error> {
        let mut words = Vec::new();
        let mut add = |option: &str, folder: &Path| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let whole = folder.canonicalize().map_err(|source| Error::io("find the data folder", folder, source))?;
            words.extend([option.to_owned(), whole.display().to_string()]);
            Ok::<_, Error>(())
        };
        if let Some(folder) = &self.data {
            add("--data", folder)?;
        }
        for folder in self.own_folders() {
            add("--data-also", &folder)?;
        }
        if self.data.is_none() {
            add("--data-also", &std::env::var_os("PRIVATEER_DATA").map_or_else(PathBuf::new, PathBuf::from))?;
        }
        if self.allow_outside {
            words.push("--allow-outside".to_owned());
        }
        Ok(words)
    }

    /// Returns the folders of the specs that were read, the last one first, and those that scripts name.
    fn own_folders(&self) -> Vec<PathBuf> {
        self.folders.borrow().iter().rev().chain(&self.data_also).cloned().collect()
    }

    /// Returns the folder of data files; files elsewhere are refused, but for those beside the specs that were read before.
    ///
    /// Where no folder is stated, a file is looked for beside the specs first.
    pub fn data(&self) -> DataFolder {
        let own = self.own_folders();
        let data = data_folder(self.data.clone()).beside(if self.data.is_none() { own.clone() } else { Vec::new() });
        if self.allow_outside { data } else { data.limited_to(own) }
    }

    /// Returns the changes of a spec, each with where it was stated, the key and the value.
    pub fn overrides(&self) -> Result<Vec<(String, String, String)>, Error> {
        let mut all = Vec::new();
        for text in &self.set {
            let refuse = |problem: &str| {
                let diagnostic = Diagnostic::new(format!("`--set {text}` {problem}"));
                diagnostic.expected("`--set path=value`, as in `--set privacy.epsilon=2`").refuse()
            };
            let Some((path, value)) = text.split_once('=') else { return refuse("has no value") };
            if path.trim().is_empty() {
                return refuse("names no key");
            }
            all.push((format!("--set {path}="), path.trim().to_owned(), value.trim().to_owned()));
        }
        for (key, value) in [("trials", self.trials), ("rounds", self.rounds), ("seed", self.seed)] {
            if let Some(value) = value {
                all.push((format!("--{key} "), key.to_owned(), value.to_string()));
            }
        }
        Ok(all)
    }
}

/// Returns the folder of data files that an option names; without one, `$PRIVATEER_DATA`.
pub fn data_folder(option: Option<PathBuf>) -> DataFolder {
    DataFolder::new(option.or_else(|| std::env::var_os("PRIVATEER_DATA").map(PathBuf::from)))
}
