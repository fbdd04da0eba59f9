//! Where a file stands: no copy, no other file and no hard link takes its place.

use super::failure::NAME_ONE;
use super::file::{DeploymentFile, connect};
use privateer_config::error::{Diagnostic, Error};
use rusqlite::OpenFlags;
use std::path::Path;

/// Rolls back what a killed command left in a file, if it did: the journal beside it says so.
pub(super) fn roll_back_killed(path: &Path) {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    if Path::new(&journal).exists()
        && let Ok(db) = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    {
        // The first read does it. Where it cannot be done now, whoever opens the file says why.
        let _ = db.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0));
    }
}

pub(super) fn refuse_others(shown: &Path, real: &Path) -> Result<(), Error> {
    if DeploymentFile::is_one(real)? {
        return Ok(());
    }
    let (problem, hint) = if DeploymentFile::is_absent(real) {
        ("is empty: a command that was killed before it made anything leaves such a file", "make it again: it counts as absent")
    } else {
        ("is not a deployment of this program", NAME_ONE)
    };
    Err(Error::corrupt(shown, problem, hint))
}

pub(super) fn refuse_hard_links(shown: &Path, real: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    if real.metadata().is_ok_and(|found| 1 < std::os::unix::fs::MetadataExt::nlink(&found)) {
        let hint = "delete the other hard links: a write through one name would not be seen through another";
        return Err(Error::corrupt(shown, "is one file under several names (hard links)", hint));
    }
    let _ = (shown, real);
    Ok(())
}

/// Fails where the file of this random name still stands where this one was.
pub(super) fn refuse_copy_of(id: &str, shown: &Path, real: &Path, place: &Path) -> Result<(), Error> {
    let Some(place) = place.canonicalize().ok().filter(|place| place != real) else { return Ok(()) };
    if !DeploymentFile::is_one(&place).unwrap_or(true) {
        return Ok(());
    }
    let other = connect(&place, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let other = other.ok().and_then(|db| db.query_row("SELECT id FROM deployment", [], |row| row.get::<_, String>(0)).ok());
    // What stands there and cannot be read may be the original.
    if other.is_some_and(|other| other != id) {
        return Ok(());
    }
    let place = place.display();
    let hint = format!(
        "go on with `{place}`, or delete it if this one takes its place: what one of the two spends, the other would not know"
    );
    Err(Error::corrupt(shown, format!("is a copy: the deployment still stands at `{place}`"), &hint))
}

/// Returns a path as the text that a file keeps of it.
pub(super) fn place_of(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| {
        let hint =
            "rename the folder or the file: a deployment keeps its place as text, to tell a copy from a file that has moved";
        Diagnostic::new(format!("`{}` is a path that is not UTF-8", path.display())).hint(hint).error()
    })
}
