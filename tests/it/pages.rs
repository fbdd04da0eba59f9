//! What README and guides show is what the program says.

use crate::program::*;

/// Returns the fenced blocks of a page, in order, each with the word behind its fence.
fn fenced(page: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = page.split("\n```").collect();
    parts.iter().skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

/// Returns the fenced blocks of a page that have this word behind their fence.
fn blocks<'a>(page: &'a str, fence: &str) -> Vec<&'a str> {
    fenced(page).into_iter().filter(|(word, _)| *word == fence).map(|(_, block)| block).collect()
}

/// The page about deployments says that every command runs as shown: commands have no word behind their fence.
#[test]
fn commands_of_a_deployment_run_as_shown() {
    let here = &folder();
    let text = page("docs/deploying.md");
    let mut n_run = 0;
    for (word, block) in fenced(&text) {
        match word {
            "" if block.contains("sqlite3") && here.shell("sqlite3 -version").status.code() != Some(0) => {
                println!("skipped: no sqlite3")
            }
            "" => {
                ends(&here.shell(&format!("set -e\n{block}")), 0, &[]);
                n_run += 1;
            }
            "toml" => here.write("modeler.toml", block),
            _ => {}
        }
    }
    assert!(9 <= n_run, "{n_run} blocks");
    // The refusal that is shown is that of a third answer about one record.
    let again = "privateer release --mechanism hybrid --epsilon 2 --clip 0,1 --budget epsilon=4 --state spent";
    let last = here.shell(&format!("for round in 1 2 3; do {again} --round $round 17 0.83 >answer.json; done"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&stderr(&last)).contains(&words(blocks(&text, "text")[0])), "{}", stderr(&last));
}

/// The table, the chart and the sentences of the page about one's own data.
#[test]
fn the_shown_answer_about_a_table_is_the_answer() {
    let here = &folder();
    let name = "docs/guides/own-data.md";
    let text = page(name);
    let commands = blocks(&text, "");
    ends(&here.shell(commands[0]), 0, &[]);
    let said = here.shell(commands[1]);
    ends(&said, 0, &[]);
    let said = stdout(&said);
    let found = said.split("\nreport: ").next().unwrap_or_default();
    let shown = blocks(&text, "text")[0];
    assert_current(&root().join(name), &text.replace(shown, found));
}

#[test]
fn readme_is_short() {
    let readme = page("README.md");
    assert!(readme.lines().count() <= 120, "README.md has {} lines", readme.lines().count());
    let long: Vec<&str> = readme.lines().filter(|line| 100 < line.chars().count() && !line.starts_with('|')).collect();
    assert!(long.is_empty(), "README.md has lines of more than 100 columns: {long:#?}");
}

/// Without `--locked` a build takes other versions of dependencies than those that were tested, under a promise of equal bits.
#[test]
fn every_shown_install_is_locked() {
    let is_made = |name: &str| ["target", ".git", "book", "out", "node_modules"].contains(&name);
    let enters = |folder: &Path| !folder.is_symlink() && !is_made(&folder.file_name().expect("a name").to_string_lossy());
    let is_shown = |path: &PathBuf| {
        path.extension().is_some_and(|end| ["md", "rs", "sh", "py", "toml", "yml", "yaml"].iter().any(|shown| end == *shown))
    };
    let mut n_seen = 0;
    for path in walk(root(), &enters).into_iter().filter(is_shown) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for line in text.lines().filter(|line| line.contains(concat!("cargo ", "install "))) {
            n_seen += 1;
            assert!(line.contains("--locked"), "{}: {line}", path.display());
        }
    }
    assert!(3 <= n_seen, "{n_seen} lines");
}

#[test]
fn shown_specs_are_valid_and_the_shown_mistake_is_explained_so() {
    let here = &folder();
    let table: String = std::iter::once("x,y,value\n".to_owned())
        .chain((0..40).map(|i| format!("{},{},{}\n", f64::from(i) / 40.0, f64::from(i % 7) / 7.0, f64::from(i % 11) / 11.0)))
        .collect();
    here.write("sensors.csv", table);
    for name in ["README.md", "docs/guides/own-data.md", "docs/guides/own-spec.md"] {
        let text = page(name);
        let specs: Vec<&str> = blocks(&text, "toml").into_iter().filter(|block| block.contains("rounds = ")).collect();
        assert!(!specs.is_empty(), "{name} shows no spec");
        for spec in specs {
            here.write("sweep.toml", spec);
            let checked = here.run(&["check", "sweep.toml"]);
            assert_eq!(code(&checked), Some(0), "{name}: {}{}", stdout(&checked), stderr(&checked));
        }
    }
    let readme = page("README.md");
    let spec = blocks(&readme, "toml")[0];
    here.write("sweep.toml", spec.replacen("\"tight\"", "\"tigth\"", 1));
    here.ends(&["check", "sweep.toml"], 2, &[blocks(&readme, "text")[0]]);
}

/// Keys that change together share an axis; a key of its own divides panels.
#[test]
fn zipped_keys_share_a_panel() {
    let here = &folder();
    let spec = |kind: &str| {
        format!(
            "seed = 1\nrounds = 5\ntrials = 2\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", dimension = 1, points = 9 }}\n\
             kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n[privacy]\n\
             mechanism = \"none\"\n[[policy]]\nkind = \"uniform\"\n[sweep.{kind}]\n\"environment.domain.dimension\" = [1, 2]\n\
             \"environment.domain.points\" = [9, 3]\n"
        )
    };
    for (kind, divided) in [("zip", false), ("product", true)] {
        here.write("sweep.toml", spec(kind));
        here.ends(&["run", "sweep.toml", "--out", kind, "--backend", "cpu", "--quiet"], 0, &[]);
        let figure = here.text(&format!("{kind}/plots/final-0-environment-domain-dimension.svg"));
        assert_eq!(figure.contains("points = 9"), divided, "{kind}");
        let page = here.text(&format!("{kind}/report.html"));
        assert_eq!(page.contains("(with it: environment.domain.points)"), !divided, "{kind}");
    }
    let spec = spec("zip").replace("mechanism = \"none\"", "mechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]").replace(
        "[sweep.zip]",
        "[[policy]]\nkind = \"gp-ucb\"\nlabel = \"plain\"\nprivacy = { mechanism = \"none\" }\n[sweep.zip]\n\"privacy.epsilon\" = [1.0, 2.0]",
    );
    here.write("sweep.toml", spec);
    here.ends(&["run", "sweep.toml", "--out", "cost", "--backend", "cpu", "--quiet"], 0, &[]);
    let page = here.text("cost/report.html");
    let caption = "Cost of privacy against epsilon (with it: environment.domain.dimension, environment.domain.points): ";
    assert_eq!(page.matches(caption).count(), 2, "the ratio and the difference");
}
