//! Checks every file of a results folder.

use super::digests::{DIGESTS_NAME, DigestList, FileState};
use super::folder::SPEC_NAME;
use super::{Folder, Manifest, PartId, Trace, disk, hash_text, part_bytes, read_part};
use privateer_config::error::Error;
use std::collections::BTreeSet;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// States what was found in a results folder.
#[derive(Debug)]
pub struct Verification {
    /// The manifest, which has its own digest.
    pub manifest: Manifest,
    /// Parts that are the ones that were written.
    pub done: BTreeSet<PartId>,
    /// Number of files whose bytes were compared.
    pub n_files: usize,
    /// Everything that is wrong, one line each.
    pub problems: Vec<String>,
}

/// Compares every file of a results folder with the list of digests, and every part with the manifest.
///
/// Calls `each` after every file, with the number of them in all.
///
/// # Errors
/// [`Error::Folder`] where it is not a results folder, [`Error::Corrupt`] where its manifest is altered or of another version,
/// [`Error::Io`] where a file cannot be read.
pub fn verify(out: &Path, each: &(dyn Fn(u64) + Sync)) -> Result<Verification, Error> {
    let manifest = Folder::manifest(out)?;
    let list = DigestList::load(out)?;
    let mut found = Verification { done: BTreeSet::new(), n_files: 1, problems: Vec::new(), manifest };
    if hash_text(&found.manifest.spec_text) != found.manifest.spec_hash {
        found.problems.push("`manifest.json` states a spec whose hash is another".to_owned());
    }
    match compare_file(out, SPEC_NAME, &mut std::iter::once(found.manifest.spec_text.clone()))? {
        FileState::Intact => found.n_files += 1,
        FileState::Missing => found.problems.push(format!("`{SPEC_NAME}` is missing")),
        _ => found.problems.push(format!("`{SPEC_NAME}` is not the spec of `manifest.json`")),
    }
    let n_names = list.names().count() as u64;
    for name in list.names() {
        each(n_names);
        match list.state(out, name) {
            Ok(FileState::Intact) => {
                found.n_files += 1;
                if let Some(id) =
                    name.strip_prefix("cells/").and_then(PartId::from_file_name).filter(|id| found.manifest.has(*id))
                {
                    match part_problem(out, &found.manifest, id)? {
                        None => drop(found.done.insert(id)),
                        Some(problem) => found.problems.push(format!("`{name}` {problem}")),
                    }
                }
            }
            Ok(state) => found.problems.push(format!("`{name}` {}", state.problem())),
            Err(Error::Corrupt { problem, .. }) => found.problems.push(format!("`{name}` {problem}")),
            Err(error) => return Err(error),
        }
    }
    if !list.is_sound(out, found.done.len() < found.manifest.parts().len())? {
        found.problems.push(format!("`{DIGESTS_NAME}` has a line that is not one of the list"));
    }
    Ok(found)
}

/// Compares a file that follows from others with the pieces of text that they give: intact, altered or missing.
///
/// # Errors
/// [`Error::Io`] where it cannot be read.
pub fn compare_file(out: &Path, name: &str, pieces: &mut dyn Iterator<Item = String>) -> Result<FileState, Error> {
    let path = out.join(name);
    let file = match disk::open(&path).map_err(|source| disk::refused(&path, "read the file", source)) {
        Ok(file) => file,
        Err(Error::Corrupt { .. }) => return Ok(FileState::Altered),
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(FileState::Missing),
        Err(error) => return Err(error),
    };
    let mut file = BufReader::new(file);
    let mut read = |most: usize| {
        let mut found = Vec::with_capacity(most);
        let read = file.by_ref().take(most as u64).read_to_end(&mut found);
        read.map(|_| found).map_err(|source| Error::io("read the file", &path, source))
    };
    for piece in pieces {
        if read(piece.len())? != piece.as_bytes() {
            return Ok(FileState::Altered);
        }
    }
    Ok(if read(1)?.is_empty() { FileState::Intact } else { FileState::Altered })
}

/// Returns what is wrong with a part whose bytes are listed: its rows, or columns that the manifest contradicts.
fn part_problem(out: &Path, manifest: &Manifest, id: PartId) -> Result<Option<String>, Error> {
    let path = id.path(out);
    let (header, rows) = match read_part(&path, manifest.most_rows()) {
        Ok(read) => read,
        Err(Error::Corrupt { problem, .. }) => return Ok(Some(problem)),
        Err(error) => return Err(error),
    };
    if header.spec_hash != manifest.spec_hash || header.id != id {
        return Ok(Some(format!("is {} of spec {}", header.id, header.spec_hash)));
    }
    let cells = manifest.cells_of(id);
    if rows.len() != cells.len() {
        return Ok(Some(format!("holds {} cells in place of {}", rows.len(), cells.len())));
    }
    let first = id.block * manifest.block;
    let trials = first..manifest.trials.min(first.saturating_add(manifest.block));
    let is_other = |rows: &Trace| {
        rows.trial.iter().any(|trial| !trials.contains(trial)) || rows.round.iter().any(|&round| manifest.rounds < round)
    };
    if rows.iter().any(is_other) {
        return Ok(Some("holds trials or rounds of another part".to_owned()));
    }
    // A part follows from its rows and its cells, to the byte; another version may pack the same columns differently.
    let same_version = manifest.program_version == env!("CARGO_PKG_VERSION");
    if same_version && part_bytes(&manifest.spec_hash, id, cells, &rows)? != disk::read(&path, "read the part")? {
        return Ok(Some("has other columns than its rows and `manifest.json` give".to_owned()));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_compared_piece_by_piece() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = |pieces: &[&str]| {
            let mut pieces = pieces.iter().map(|&piece| piece.to_owned());
            compare_file(folder.path(), "a", &mut pieces).expect("readable")
        };
        assert_eq!(state(&["ab"]), FileState::Missing);
        std::fs::write(folder.path().join("a"), "abcd").expect("written");
        assert_eq!([state(&["abcd"]), state(&["a", "", "bc", "d"])], [FileState::Intact; 2]);
        for other in [&["abc"][..], &["ab", "cde"], &["abcd", "e"], &["abxd"], &[]] {
            assert_eq!(state(other), FileState::Altered, "{other:?}");
        }
        std::fs::create_dir(folder.path().join("b")).expect("made");
        let state = compare_file(folder.path(), "b", &mut std::iter::empty()).expect("said");
        assert_eq!(state, FileState::Altered);
    }
}
