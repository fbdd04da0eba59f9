//! Builds the library that makes SQLite's file operations fail.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

static BUILT: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (library, source) = (folder.path().join("shim.so"), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c"));
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl").output();
    let built = built.expect("a C compiler, which SQLite needs too");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (folder, library)
});

pub fn library() -> &'static PathBuf {
    &BUILT.1
}
