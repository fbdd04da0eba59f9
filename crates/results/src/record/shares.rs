//! Finds the folders of shards that a folder holds.

use super::Manifest;
use std::path::{Path, PathBuf};

/// Beginnings of the names of folders that hold a share of a sweep: those of `run --shard`, and of the jobs of `slurm`.
const SHARE_FOLDERS: [&str; 2] = ["shard-", "task-"];

/// Returns the results folders of the shares in a folder, in order of their names.
pub fn shares_in(folder: &Path) -> Vec<PathBuf> {
    let is_share = |name: &str| SHARE_FOLDERS.iter().any(|start| name.starts_with(start));
    let mut shares: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| is_share(&name.to_string_lossy())) && Manifest::path(path).exists())
        .collect();
    // `shard-2-of-16` before `shard-10-of-16`.
    shares.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    shares
}
