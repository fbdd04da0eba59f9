//! `docs/papers/coverage.md` is made from `coverage.tsv` beside it, whose rows name specs, pages and figures that exist.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

fn read(path: &str) -> String {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row is red, and counted, where no spec runs it.
#[test]
fn the_coverage_page_is_current() {
    let (mut body, mut red, mut n_rows, mut covered) = (String::new(), 0, 0, BTreeSet::new());
    for line in read("docs/papers/coverage.tsv").lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        if let [title] = cells[..] {
            let _ = write!(
                body,
                "\n## {title}\n\n| item | spec | figure | verdict | run | settings that differ |\n|---|---|---|---|---|---|\n"
            );
            continue;
        }
        let [page, item, spec, figure, verdict, date, differs] = cells[..] else { panic!("seven cells: {line}") };
        n_rows += 1;
        let text = read(&format!("docs/papers/{page}.md"));
        assert!(!verdict.is_empty() && text.contains(figure), "{item}: {page}.md has no `{figure}`");
        let shown = if spec.is_empty() {
            red += 1;
            "**🔴 no spec**".to_owned()
        } else {
            let path = format!("examples/papers/{spec}.toml");
            // `every_example_is_sound_as_written` checks each of these specs.
            assert!(!read(&path).is_empty());
            let stem = spec.split('/').next_back().expect("a name");
            assert!(text.contains(stem), "{item}: {page}.md does not name `{stem}`");
            assert!(date.len() == 10 && date.starts_with("20"), "{item}: `{date}` is no date");
            covered.insert(path.clone());
            format!("[`{stem}`](../../{path})")
        };
        let _ = writeln!(body, "| {item} | {shown} | [{figure}]({page}.md) | {verdict} | {date} | {differs} |");
    }
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/papers");
    for folder in std::fs::read_dir(papers).expect("papers").map(|entry| entry.expect("an entry").path()) {
        for spec in std::fs::read_dir(&folder).expect("specs").map(|entry| entry.expect("an entry").path()) {
            let end = spec.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect::<Vec<_>>();
            let path = format!("examples/papers/{}/{}", end[1], end[0]);
            assert!(covered.contains(&path), "no row of coverage.tsv names {path}");
        }
    }
    let now = format!(
        "# Coverage of the four papers\n\nThis page is for a reader of one of the papers who looks for one of its algorithms, figures, tables or data \
         sets. **Red rows, which no spec runs: {red} of {n_rows}.** It is made from `coverage.tsv` (`PRIVATEER_UPDATE=1 cargo test coverage`). \
         `figure` is a number of the results page that the spec gives, `run` the day on which that number was written there.\n{body}"
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/papers/coverage.md");
    if std::env::var_os("PRIVATEER_UPDATE").is_some() {
        std::fs::write(&path, &now).expect("docs is writable");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == now, "docs/papers/coverage.md is out of date: run `PRIVATEER_UPDATE=1 cargo test coverage`");
}
