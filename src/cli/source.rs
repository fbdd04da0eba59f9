//! Finds a spec and its data, and applies the changes that the command line states.

use crate::env::DataFolder;
use crate::registry::Registry;
use crate::spec::{SPEC_FILE, Sweep};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
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
        let text = SPEC_FILE.read_text(path)?;
        registry.parse(&path.display().to_string(), &text, &self.overrides()?)
    }

    /// Returns the options that let a command in another folder read the same data of a spec.
    pub fn data_options(&self, spec: &Path) -> Result<Vec<String>, Error> {
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
        for folder in self.own_folders(spec) {
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

    /// Returns the folder of a spec, and those that scripts name.
    fn own_folders(&self, spec: &Path) -> Vec<PathBuf> {
        [spec.parent().unwrap_or(Path::new(""))].into_iter().map(Path::to_owned).chain(self.data_also.iter().cloned()).collect()
    }

    /// Returns where the data files of a spec are.
    pub fn data(&self, spec: &Path) -> DataFolder {
        let data = DataFolder::of_spec(self.data.clone(), self.own_folders(spec));
        if self.allow_outside { data.unlimited() } else { data }
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
