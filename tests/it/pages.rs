//! What README and guides show is what the program says.

use crate::program::{code, ends, run, stderr, stdout};
use std::fs;
use std::path::Path;

/// Returns the fenced blocks of a page that begin with this fence line.
fn blocks<'a>(page: &'a str, fence: &str) -> Vec<&'a str> {
    page.split(&format!("\n```{fence}\n")).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn read(page: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("a page")
}

#[test]
fn readme_is_short() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 120, "README.md has {} lines", readme.lines().count());
    let long: Vec<&str> = readme.lines().filter(|line| 100 < line.chars().count() && !line.starts_with('|')).collect();
    assert!(long.is_empty(), "README.md has lines of more than 100 columns: {long:#?}");
}

/// Without `--locked` a build takes other versions of dependencies than those that were tested, under a promise of equal bits.
#[test]
fn every_shown_install_is_locked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.to_owned()];
    let mut n_seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let is_made = ["target", ".git", "book", "out", "node_modules"].contains(&name.as_str());
            if path.is_dir() && !path.is_symlink() && !is_made {
                folders.push(path);
            } else if ["md", "rs", "sh", "py", "toml", "yml", "yaml"].iter().any(|end| name.ends_with(&format!(".{end}"))) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                for line in text.lines().filter(|line| line.contains(concat!("cargo ", "install "))) {
                    n_seen += 1;
                    assert!(line.contains("--locked"), "{}: {line}", path.display());
                }
            }
        }
    }
    assert!(3 <= n_seen, "{n_seen} lines");
}

#[test]
fn shown_specs_are_valid_and_the_shown_mistake_is_explained_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let table: String = std::iter::once("x,y,value\n".to_owned())
        .chain((0..40).map(|i| format!("{},{},{}\n", f64::from(i) / 40.0, f64::from(i % 7) / 7.0, f64::from(i % 11) / 11.0)))
        .collect();
    fs::write(folder.path().join("sensors.csv"), table).expect("the table");
    for page in ["README.md", "docs/guides/own-data.md", "docs/guides/own-spec.md"] {
        let text = read(page);
        let specs: Vec<&str> = blocks(&text, "toml").into_iter().filter(|block| block.contains("rounds = ")).collect();
        assert!(!specs.is_empty(), "{page} shows no spec");
        for spec in specs {
            fs::write(folder.path().join("sweep.toml"), spec).expect("the spec");
            let checked = run(folder.path(), &["check", "sweep.toml"]);
            assert_eq!(code(&checked), Some(0), "{page}: {}{}", stdout(&checked), stderr(&checked));
        }
    }
    let readme = read("README.md");
    let spec = blocks(&readme, "toml")[0];
    fs::write(folder.path().join("sweep.toml"), spec.replacen("\"tight\"", "\"tigth\"", 1)).expect("the spec");
    let refused = run(folder.path(), &["check", "sweep.toml"]);
    assert_eq!(code(&refused), Some(2));
    let shown = blocks(&readme, "text")[0];
    assert!(stderr(&refused).contains(shown), "README.md shows\n{shown}\nand the program says\n{}", stderr(&refused));
}

/// Keys that change together share an axis; a key of its own divides panels.
#[test]
fn zipped_keys_share_a_panel() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = |kind: &str| {
        format!(
            "seed = 1\nrounds = 5\ntrials = 2\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", dimension = 1, points = 9 }}\n\
             kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n[privacy]\n\
             mechanism = \"none\"\n[[policy]]\nkind = \"uniform\"\n[sweep.{kind}]\n\"environment.domain.dimension\" = [1, 2]\n\
             \"environment.domain.points\" = [9, 3]\n"
        )
    };
    for (kind, divided) in [("zip", false), ("product", true)] {
        fs::write(folder.path().join("sweep.toml"), spec(kind)).expect("the spec");
        ends(&run(folder.path(), &["run", "sweep.toml", "--out", kind, "--backend", "cpu", "--quiet"]), 0, &[]);
        let figure = folder.path().join(kind).join("plots/final-0-environment-domain-dimension.svg");
        let figure = fs::read_to_string(figure).expect("the figure");
        assert_eq!(figure.contains("points = 9"), divided, "{kind}");
        let page = fs::read_to_string(folder.path().join(kind).join("report.html")).expect("the page");
        assert_eq!(page.contains("(with it: environment.domain.points)"), !divided, "{kind}");
    }
    let spec = spec("zip").replace("mechanism = \"none\"", "mechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]").replace(
        "[sweep.zip]",
        "[[policy]]\nkind = \"gp-ucb\"\nlabel = \"plain\"\nprivacy = { mechanism = \"none\" }\n[sweep.zip]\n\"privacy.epsilon\" = [1.0, 2.0]",
    );
    fs::write(folder.path().join("sweep.toml"), spec).expect("the spec");
    ends(&run(folder.path(), &["run", "sweep.toml", "--out", "cost", "--backend", "cpu", "--quiet"]), 0, &[]);
    let page = fs::read_to_string(folder.path().join("cost/report.html")).expect("the page");
    let caption = "Cost of privacy against epsilon (with it: environment.domain.dimension, environment.domain.points): ";
    assert_eq!(page.matches(caption).count(), 2, "the ratio and the difference");
}
