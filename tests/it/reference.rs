//! `docs/reference.md` and `docs/columns.md` are made from the program: written by these tests with `PRIVATEER_UPDATE=1`,
//! compared without it. `docs/papers/coverage.md` is made from `coverage.tsv` beside it, whose rows name specs, pages and figures that exist.

use crate::program::{assert_current, listed, page as read, root};
use privateer::config::params::KeyDoc;
use privateer::record::{Measures, Quantity, part_columns};
use privateer::registry::{Registry, kinds};
use privateer::report::summary_columns;
use privateer::spec::{listing, run_keys};
use std::collections::BTreeSet;
use std::fmt::Write;

fn key_table<'a>(keys: impl IntoIterator<Item = &'a KeyDoc>) -> String {
    let mut table = String::from("\n| key | accepts | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let default = key.default.as_deref().unwrap_or_default().replace('|', "\\|");
        let (accepts, doc) = (key.accepts.replace('|', "\\|"), key.doc.replace('|', "\\|"));
        let _ = writeln!(table, "| `{}` | {accepts} | {default} | {doc} |", key.path);
    }
    table
}

/// What a spec holds beside the keys of the whole run.
const PARTS: &str = "
## Parts of a spec

| table | holds |
|---|---|
| `[environment]` | the problem: one [environment](#environment) or [contextual environment](#contextual-environment) |
| `[privacy]` | a [mechanism](#mechanism) and its budget, for every policy |
| `[curator]` | a [curator](#curator), where inputs are outsourced |
| `[[policy]]`, once each | a [policy](#policy) or [contextual policy](#contextual-policy) |
| `[problem]`, `[[learner]]` | in place of environment and policies: online convex optimization |
| `[sweep.product]`, `[sweep.zip]` | arrays of values by dotted key: all combinations, or one beside the other |

Each `[[policy]]` and `[[learner]]` also reads `label`, its name in results and of its random streams (absent: its kind), and
`privacy`, a table of keys that override those of `[privacy]`. A `[[policy]]` reads `curator` in the same way. `[environment]`
and `[problem]` read `label` too.
";

fn page() -> String {
    let mut page = String::from(
        "# Reference: what a spec can name\n\nThis page is for someone who looks up a key. It is made from the registry \
         (`PRIVATEER_UPDATE=1 cargo test reference`); `privateer list NAME` prints the same. Nested keys are written with dots: \
         `domain.points` is `points` in the table `domain`.\n\n## The whole run\n\nThese keys stand at the top of a spec.\n",
    );
    // The tables' own lines say nothing beyond those of their keys.
    let keys = run_keys();
    page += &key_table(keys.iter().filter(|key| !key.doc.is_empty()));
    page += PARTS;
    for kind in kinds() {
        let _ = write!(page, "\n## {kind}\n");
        for entry in listing(&Registry::builtin(), kind) {
            let paper = if entry.paper.is_empty() { String::new() } else { format!(" [{}]", entry.paper) };
            let _ = write!(page, "\n### `{}`\n\n{}{paper}\n", entry.name, entry.summary);
            let keys: Vec<_> = entry.keys.iter().filter(|key| key.path != "kind").collect();
            if !keys.is_empty() {
                page += &key_table(keys);
            }
        }
    }
    page
}

/// Returns the meaning of a column of parts or of `summary.csv`.
fn column_meaning(measures: Measures, name: &str) -> String {
    let quantities = measures.columns();
    if let Some(quantity) = quantities.iter().find(|quantity| quantity.name() == name) {
        return quantity.meaning().to_owned();
    }
    let of_cell = match name {
        "cell" => "number of the cell, from 0: one policy at one sweep point",
        "trial" => "number of the trial, from 0: one problem with its own random streams",
        "round" => "number of the round, from 1; recorded rounds may have gaps, the last one is always there",
        "point" => "index of the point or arm played; absent where the domain has no numbered points",
        "policy" => "label of the policy or learner",
        "environment" => "label of the environment or problem",
        "trials" => "number of trials",
        "rounds" => "horizon",
        "reference" => "cell without privacy that `excess`, `ratio` and `share` refer to",
        _ => "",
    };
    if !of_cell.is_empty() {
        return of_cell.to_owned();
    }
    if name.ends_with("_exponent") {
        return "fitted exponent of the curve in the round, on log axes".to_owned();
    }
    let suffixes = [
        ("_mean", "mean over trials"),
        ("_sd", "standard deviation over trials"),
        ("_se", "standard error of the mean"),
        ("_ci95_low", "lower end of the 95 % interval"),
        ("_ci95_high", "upper end of the 95 % interval"),
        ("_q05", "5 % quantile over trials"),
        ("_q25", "25 % quantile over trials"),
        ("_q50", "median over trials"),
        ("_q75", "75 % quantile over trials"),
        ("_q95", "95 % quantile over trials"),
        ("_median", "median over trials"),
    ];
    let (quantity, statistic) = suffixes
        .iter()
        .find_map(|(suffix, meaning)| name.strip_suffix(suffix).map(|quantity| (quantity, *meaning)))
        .unwrap_or_else(|| panic!("column `{name}` has no meaning: add one"));
    let of = match quantity {
        "final_regret" => "cumulative regret at the last round",
        "average_regret" => "cumulative regret at the last round, per round",
        "paired_difference" => "the first such quantity minus that of the sweep point's first policy, paired by trial",
        "excess" => "the page's quantity minus that of `reference`, paired by trial: the cost of privacy",
        "ratio" => "the page's quantity divided by that of `reference`: the cost of privacy",
        "share" => {
            "(guessing - private) / (guessing - `reference`) in the page's quantity: what privacy leaves of what can be learnt"
        }
        "risk" => "risk at the last round",
        "recommended_regret" | "simple_regret" | "best_arm_share" | "value" | "standard_error" | "suboptimality" => {
            let known = quantities.iter().find(|known| known.name() == quantity);
            return format!("{statistic}: {}", known.copied().map_or("", Quantity::meaning));
        }
        other => panic!("quantity `{other}` of column `{name}` has no meaning: add one"),
    };
    format!("{statistic}: {of}")
}

fn columns_page() -> String {
    let mut page = String::from(
        "# Columns\n\nThis page is for someone who reads a results folder with other tools. It is made from the program \
         (`PRIVATEER_UPDATE=1 cargo test reference`).\n\n`cells/*.parquet` have one row a recorded round and trial, `summary.csv` \
         one row a cell. Both also have one column for each swept key, under its dotted name. A number of `summary.csv` that too few \
         trials leave undefined is empty.\n",
    );
    for measures in Measures::ALL {
        let kind = match measures {
            Measures::Regret => "Bandits and Bayesian optimization",
            Measures::Contextual => "Contextual bandits",
            Measures::Replay => "Replays of a log",
            Measures::Risk => "Online convex optimization",
        };
        let parts = part_columns(measures).into_iter().map(str::to_owned).collect();
        for (file, columns) in [("cells/*.parquet", parts), ("summary.csv", summary_columns(measures))] {
            let _ = write!(page, "\n## {kind}: `{file}`\n\n| column | meaning |\n|---|---|\n");
            for name in columns {
                let _ = writeln!(page, "| `{name}` | {} |", column_meaning(measures, &name));
            }
        }
    }
    page
}

#[test]
fn the_reference_pages_are_current() {
    for (file, now) in [("reference", page()), ("columns", columns_page())] {
        assert_current(&root().join(format!("docs/{file}.md")), &now);
    }
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
    for spec in listed(&root().join("examples/papers")).iter().flat_map(|folder| listed(folder)) {
        let path = spec.strip_prefix(root()).expect("below").to_string_lossy();
        assert!(covered.contains(&*path), "no row of coverage.tsv names {path}");
    }
    let now = format!(
        "# Coverage of the four papers\n\nThis page is for a reader of one of the papers who looks for one of its algorithms, figures, tables or data \
         sets. **Red rows, which no spec runs: {red} of {n_rows}.** It is made from `coverage.tsv` (`PRIVATEER_UPDATE=1 cargo test coverage`). \
         `figure` is a number of the results page that the spec gives, `run` the day on which that number was written there.\n{body}"
    );
    assert_current(&root().join("docs/papers/coverage.md"), &now);
}
