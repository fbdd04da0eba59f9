//! `docs/reference.md` is what the registry says: written by this test with `PRIVATEER_UPDATE=1`, compared without it.

use privateer::registry::{Registry, kinds};
use privateer::spec::listing;
use std::fmt::Write;
use std::path::PathBuf;

fn page() -> String {
    let mut page = String::from(
        "# Reference: what a spec can name\n\nMade from the registry (`PRIVATEER_UPDATE=1 cargo test reference`); `privateer list NAME` prints \
         the same. Nested keys are written with dots: `domain.points` is `points` in the table `domain`.\n",
    );
    for kind in kinds() {
        let _ = write!(page, "\n## {kind}\n");
        for entry in listing(&Registry::builtin(), kind) {
            let paper = if entry.paper.is_empty() { String::new() } else { format!(" [{}]", entry.paper) };
            let _ = write!(page, "\n### `{}`\n\n{}{paper}\n", entry.name, entry.summary);
            let keys: Vec<_> = entry.keys.iter().filter(|key| key.path != "kind").collect();
            if keys.is_empty() {
                continue;
            }
            page.push_str("\n| key | accepts | default | meaning |\n|---|---|---|---|\n");
            for key in keys {
                let default = key.default.as_deref().map_or_else(String::new, |default| default.replace('|', "\\|"));
                let _ = writeln!(
                    page,
                    "| `{}` | {} | {default} | {} |",
                    key.path,
                    key.accepts.replace('|', "\\|"),
                    key.doc.replace('|', "\\|")
                );
            }
        }
    }
    page
}

#[test]
fn the_reference_page_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md");
    let now = page();
    if std::env::var_os("PRIVATEER_UPDATE").is_some() {
        std::fs::write(&path, &now).expect("docs is writable");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == now, "docs/reference.md is out of date: run `PRIVATEER_UPDATE=1 cargo test reference`");
}
