//! `privateer verify`: whether a results folder holds what was written and its report what the parts give, and on request whether
//! computing it again gives the same bytes.

use super::output::{note, say};
use super::progress::metered;
use crate::env::DataFolder;
use crate::record::{self, Verification};
use crate::registry::Registry;
use crate::report::{ComparedReport, compare_report};
use crate::run::{RunOptions, check_threads, choose_parts, run_again};
use clap::Args;
use privateer_config::error::Error;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Also compute K randomly chosen parts again and compare their bytes: finds what was forged together with its digests
    #[arg(long, value_name = "K", default_value_t = 0)]
    rerun: usize,
    /// Folder that the spec's data files are relative to [default: $PRIVATEER_DATA, else the working folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Worker threads, at most 16 for each core [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// How many problems are shown.
const N_SHOWN: usize = 100;

/// Checks a folder.
pub fn verify(registry: &Registry, args: &VerifyArgs) -> Result<(), Error> {
    check_threads(args.threads)?;
    let Verification { manifest, done, n_files, mut problems } = metered("files", |each| record::verify(&args.folder, each))?;
    let chosen = choose_parts(&done, args.rerun);
    if !chosen.is_empty() {
        note(&format!("computing {} parts again", chosen.len()));
        let options = RunOptions {
            data: DataFolder::of_spec(args.data.clone(), Vec::new()),
            threads: args.threads,
            ..RunOptions::default()
        };
        problems.extend(metered("parts", |each| run_again(registry, &args.folder, &manifest, &chosen, &options, each))?);
    }
    let (total, version) = (manifest.parts().len(), manifest.program_version.clone());
    let is_whole = done.len() == total;
    let is_checkable = is_whole && version == env!("CARGO_PKG_VERSION");
    // The report reads the manifest again: with many cells two of them fill memory.
    drop(manifest);
    // A report is made of sound parts.
    let report = if is_checkable && problems.is_empty() {
        metered("cells", |each| compare_report(&args.folder, each))?
    } else {
        ComparedReport::default()
    };
    problems.extend(
        report.altered.iter().map(|name| format!("`{name}` is not what the parts give; `privateer report` writes it again")),
    );
    if !problems.is_empty() {
        let shown = problems.iter().take(N_SHOWN).map(|problem| format!("\n  {problem}")).collect::<String>();
        let rest = problems.len().saturating_sub(N_SHOWN);
        let more = if rest == 0 { String::new() } else { format!("\n  and {rest} more") };
        return Err(Error::CheckSaidNo(format!("`{}` does not hold what was written:{shown}{more}", args.folder.display())));
    }
    let incomplete =
        |reason: String, hint: &str| Err(Error::Incomplete { done: done.len(), total, reason, hint: hint.to_owned() });
    if !is_whole {
        return incomplete("the parts that are there are intact".to_owned(), "finish the run with the command that started it");
    }
    if !report.missing.is_empty() {
        let reason = format!("the report lacks `{}`", report.missing.join("`, `"));
        return incomplete(reason, "`privateer report DIR` writes it");
    }
    say(&format!("{} files are those that were written, {} parts among them", n_files + report.n_intact, done.len()));
    if !is_checkable {
        say(&format!(
            "summary.csv, plots and report.html were not checked: version {version} made them, and this is {}",
            env!("CARGO_PKG_VERSION")
        ));
    }
    if !chosen.is_empty() {
        say(&format!("{} parts were computed again, with the same bytes", chosen.len()));
    }
    Ok(())
}
