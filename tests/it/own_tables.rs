//! Tables as their owners have them: what `check`, `run` and `fit` say of clips, cells, separators and columns that mislead.

use crate::program::{code, folder, refused, run, stderr, stdout};
use std::fs;
use std::path::Path;

/// Runs the program and returns its exit code and all that it says.
fn said(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = run(folder, words);
    (code(&output), format!("{}{}", stdout(&output), stderr(&output)))
}

/// Writes a table of 36 points on a grid, whose value is `value(i)` in row `i`.
fn points(folder: &Path, value: impl Fn(usize) -> f64) {
    let rows: String = (0..36).map(|i| format!("{},{},{:?}\n", (i / 6) as f64 / 10.0, (i % 6) as f64 / 10.0, value(i))).collect();
    fs::write(folder.join("t.csv"), format!("x,y,value\n{rows}")).expect("written");
}

/// Runs `check --strict` of a points table with these keys and this clip.
fn checked(folder: &Path, keys: &str, clip: &str) -> (Option<i32>, String) {
    spec(folder, keys, clip);
    said(folder, &["check", "t.toml", "--strict"])
}

fn spec(folder: &Path, keys: &str, clip: &str) {
    let text = format!(
        "rounds = 2000\ntrials = 4\n[environment]\nkind = \"points-table\"\nfile = \"t.csv\"\ninputs = [\"x\", \"y\"]\nvalue = \"value\"\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 0.4 }}\n{keys}\n[privacy]\nmechanism = \"hybrid\"\nepsilon = 8.0\n\
         clip = {clip}\n[[policy]]\nkind = \"tgp-ucb\"\nbeta = {{ kind = \"constant\", value = 1.0 }}\n"
    );
    fs::write(folder.join("t.toml"), text).expect("written");
}

const NOISE: &str = "noise = { kind = \"gaussian\", sd = 0.1 }";

#[test]
fn clips_and_bounds_are_held_against_the_values_of_a_table() {
    let here = &folder();
    let raw = |rest: &str| format!("standardise = false\n{NOISE}\n{rest}");
    points(here, |i| -1.0 + i as f64 / 17.5);
    assert_eq!(checked(here, &raw("bound = 1.0"), "[-1.5, 1.5]").0, Some(0), "the clip holds every value");
    refused(checked(here, &raw("bound = 0.5"), "[-1.5, 1.5]"), &["`bound` on the mean reward is exceeded at 50 %"]);
    refused(checked(here, &raw("bound = 1.0"), "[-1.5, 0.0]"), &["outside at 50 % of the points"]);
    // Without `--strict`, what makes the answer false stands first, in the terminal and on the page; where nothing does, the answer.
    for (bound, clip, first) in [("1.0", "[-1.5, 0.0]", "The answer below is false"), ("1.0", "[-1.5, 1.5]", "At ε = 8")] {
        spec(here, &raw(&format!("bound = {bound}")), clip);
        let output = run(here, &["run", "t.toml", "--rounds", "200", "--out", clip]);
        let answer =
            stdout(&output).lines().rev().nth(if first.contains("false") { 2 } else { 1 }).unwrap_or_default().to_owned();
        assert!(answer.starts_with(first), "{}", stdout(&output));
        let page = fs::read_to_string(here.join(clip).join("report.html")).expect("a page");
        let at = |text: &str| page.find(text).unwrap_or(usize::MAX);
        assert_eq!(at("The answer below is false") < at("<p class=\"answer\""), first.contains("false"), "{clip}");
        assert_ne!(at("<p class=\"answer\""), usize::MAX);
    }
    points(here, |i| 100.0 + i as f64 / 35.0);
    for public in ["", "public = [\"range\"]"] {
        refused(checked(here, &raw(&format!("bound = 1.0\n{public}")), "[-1.5, 1.5]"), &["outside at 100 % of the points"]);
        let spec = fs::read_to_string(here.join("t.toml")).expect("written");
        let arms = "rounds = 9\ntrials = 2\n[environment]\nkind = \"arms-table\"\ntest = \"t.csv\"\ntrain = \"t.csv\"\nbound = 1.0\n\
                    [privacy]\nmechanism = \"hybrid\"\nepsilon = 8.0\nclip = [-1, 1]\n[[policy]]\nkind = \"tgp-ucb\"\n";
        for text in [spec.as_str(), arms] {
            let data = privateer::env::DataFolder::new(Some(here.to_path_buf()));
            let notes = crate::support::prepared(text, &data, |sweep, preparation| {
                preparation.facts(&sweep.cells[0]).expect("facts").ledger.reward.notes
            });
            assert!(notes.iter().all(|note| !note.contains("largest |f|")), "{notes:?}");
        }
    }
    points(here, |i| 20.0 + 360.0 * i as f64 / 35.0);
    let units = format!("units = \"data\"\nbound = 400.0\npublic = [\"standardisation\"]\n{NOISE}");
    let (code, text) = checked(here, &units, "[0.0, 400.0]");
    assert_eq!(code, Some(0), "the clip holds 20 to 380: {text}");
}

#[test]
fn a_hint_names_a_key_of_the_environment() {
    let here = &folder();
    points(here, |i| i as f64);
    let (code, text) = checked(here, "standardise = false\nbound = 40.0\nnoise = { kind = \"bernoulli\" }", "[0, 1]");
    assert!(code == Some(2) && text.contains("the noise needs") && !text.contains("`output"), "{text}");
    let function = "rounds = 5\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 40 }\n\
                    kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"bernoulli\" }\n[[policy]]\n\
                    kind = \"uniform\"\n";
    fs::write(here.join("f.toml"), function).expect("written");
    refused(said(here, &["check", "f.toml"]), &["add `output = \"unit\"`"]);
    fs::write(here.join("f.toml"), function.replace("noise =", "output = \"unit\"\nnoise =")).expect("written");
    assert_eq!(said(here, &["check", "f.toml"]).0, Some(0), "the hinted key exists");
}

#[test]
fn the_range_of_seeds_is_that_of_a_specification() {
    let here = &folder();
    points(here, |i| i as f64 / 35.0);
    spec(here, &format!("standardise = false\nbound = 1.0\n{NOISE}"), "[-1, 1]");
    assert_eq!(said(here, &["check", "t.toml", "--seed", "9223372036854775807"]).0, Some(0));
    for beyond in ["9223372036854775808", "18446744073709551615"] {
        refused(said(here, &["check", "t.toml", "--seed", beyond]), &["from 0 to 2^63 - 1"]);
    }
}

#[test]
fn relative_regret_is_a_share_of_the_largest_mean_in_the_file() {
    let here = &folder();
    points(here, |i| 100.0 + i as f64);
    let regret = |standardise: bool| {
        let keys = format!("regret = \"relative\"\nbound = 500.0\nstandardise = {standardise}\n{NOISE}");
        spec(here, &keys, "[-9, 9]");
        let text = fs::read_to_string(here.join("t.toml")).expect("written");
        let (head, _) = text.split_once("[privacy]").expect("a section");
        let ran = crate::support::sweep(&format!("references = false\n{head}[[policy]]\nkind = \"uniform\"\n"));
        let data = privateer::env::DataFolder::new(Some(here.to_path_buf()));
        let ran = crate::support::run_all(&ran, &data, &privateer_backend::Cpu::default(), privateer::engine::Options::default());
        let ran = ran.expect("a run");
        let rows = ran.rows.values().next().expect("rows");
        rows[privateer::engine::Quantity::CumulativeRegret].last().copied().expect("a row") / 2000.0
    };
    for standardise in [false, true] {
        // The largest mean is 135 and the average 117.5.
        let share = regret(standardise);
        assert!((share - 17.5 / 135.0).abs() < 0.01, "standardise = {standardise}: {share}");
    }
}

#[test]
fn a_huge_cell_is_named() {
    let here = &folder();
    let fit = ["fit", "t.csv", "--inputs", "x,y", "--value", "value"];
    points(here, |i| if i == 7 { 1e308 } else { i as f64 / 35.0 });
    for words in [&fit[..], &[&fit[..], &["--raw"]].concat()] {
        let (code, text) = said(here, words);
        assert!(code == Some(2) && text.contains("overflows f64") && !text.contains("constant"), "{text}");
    }
    for standardise in [false, true] {
        refused(checked(here, &format!("standardise = {standardise}\nbound = 1.0\n{NOISE}"), "[-1.5, 1.5]"), &["overflow"]);
    }
    let keys = format!("public = [\"standardisation\", \"range\"]\n{NOISE}");
    points(here, |i| if i == 7 { 900.0 } else { i as f64 / 35.0 });
    refused(checked(here, &keys, "[-7, 7]"), &["outlier", "row 8 of the table"]);
    points(here, |i| i as f64 / 35.0);
    assert_eq!(checked(here, &keys, "[-7, 7]").0, Some(0));
}

/// One table as different programs write it gives one answer; what cannot be read is named.
#[test]
fn tables_are_read_as_programs_write_them() {
    let here = &folder();
    points(here, |i| libm::sin(i as f64 * 0.3));
    let plain = fs::read_to_string(here.join("t.csv")).expect("a table");
    let fit = ["fit", "t.csv", "--inputs", "x,y", "--value", "value"];
    let fitted = stdout(&run(here, &fit));
    let drop = plain
        .lines()
        .enumerate()
        .flat_map(|(i, line)| [line.to_owned()].into_iter().chain((i == 5).then(|| "0.3,NA,7".to_owned())));
    for (text, more) in [
        (plain.replace(',', ";"), None),
        (plain.replace(',', ";").replace('.', ","), None),
        (plain.replace(',', "\t"), None),
        (format!("# measured in May\n#\n{plain}"), None),
        (format!("# measured in May\n# {plain}"), None),
        (drop.collect::<Vec<_>>().join("\n"), Some("--drop-missing")),
    ] {
        fs::write(here.join("t.csv"), &text).expect("written");
        let words: Vec<&str> = fit.into_iter().chain(more).collect();
        assert_eq!(stdout(&run(here, &words)).replace("missing = \"drop\"\n", ""), fitted, "{text}");
    }
    refused(said(here, &fit), &["column `y` has `NA`", "`--drop-missing`"]);
    refused(checked(here, NOISE, "[-3, 3]"), &["`missing = \"drop\"`"]);
    assert_eq!(checked(here, &format!("{NOISE}\nmissing = \"drop\""), "[-3, 3]").0, Some(0));
    // Arms of the same kind: years among the names, a column of dates left out, an occasion without a reading.
    fs::write(here.join("a.csv"), "day;2016;2017\n1.5.;0,5;1,5\n2.5.;0,7;\n3.5.;0,6;1,2\n").expect("written");
    let arms = |more: &str| {
        let text = format!(
            "rounds = 9\ntrials = 2\n[environment]\nkind = \"arms-table\"\ntest = \"a.csv\"\ntrain = \"a.csv\"\n{more}\n[[policy]]\nkind = \"uniform\"\n"
        );
        fs::write(here.join("a.toml"), text).expect("written");
        said(here, &["check", "a.toml"])
    };
    assert_eq!(arms("except = [\"day\"]\nmissing = \"drop\"").0, Some(0), "{:?}", arms("except = [\"day\"]\nmissing = \"drop\""));
    for (more, cause) in [
        ("header = \"yes\"\nmissing = \"drop\"", "column `day` has text"),
        ("except = [\"day\"]", "column `2017` has an empty cell"),
        ("header = \"yes\"\nexcept = [\"dya\"]", "did you mean `day`?"),
        ("except = [\"day\"]\ncolumns = [\"2016\"]", "either `columns` or `except`"),
    ] {
        let (code, text) = arms(more);
        assert!(code == Some(2) && text.contains(cause), "{more}: {text}");
    }
}

/// A recorded part of a run is a Parquet file like any other.
#[test]
fn a_parquet_file_is_a_table() {
    let here = &folder();
    points(here, |i| i as f64 / 35.0);
    spec(here, NOISE, "[-2, 2]");
    assert_eq!(said(here, &["run", "t.toml", "--rounds", "40", "--out", "out"]).0, Some(0));
    let part = here.join("out/cells/c0000-b0000.parquet");
    let bytes = fs::read(part).expect("a part");
    fs::write(here.join("p.parquet"), &bytes).expect("written");
    let fit = ["fit", "p.parquet", "--inputs", "round,trial", "--value", "regret"];
    let (code, text) = said(here, &fit);
    assert!(code == Some(0) && text.contains("file = \"p.parquet\""), "{text}");
    // No flip of a byte ends in a panic.
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x55;
        fs::write(here.join("p.parquet"), &flipped).expect("written");
        let (code, text) = said(here, &fit);
        assert!(matches!(code, Some(0 | 2)) && !text.contains("panicked"), "byte {at}: {text}");
    }
}

/// Returns what `check --strict` says of a table of three arms after a first column.
fn arms(folder: &Path, first: impl Fn(usize) -> f64, mean: f64, factor: f64) -> (Option<i32>, String) {
    let row = |i: usize| {
        let wave = |k: f64| mean + 0.3 * k + libm::sin(i as f64 * (1.0 + k));
        format!("{},{},{},{}\n", first(i), wave(0.0), wave(1.0), wave(2.0))
    };
    fs::write(folder.join("a.csv"), format!("first,b,c,d\n{}", (0..40).map(row).collect::<String>())).expect("written");
    let text = format!(
        "rounds = 200\ntrials = 2\nreferences = false\n[environment]\nkind = \"arms-table\"\ntest = \"a.csv\"\ntrain = \"a.csv\"\n\
         bound = 3000.0\nregret = \"raw\"\n[[policy]]\nkind = \"tgp-ucb\"\nbeta = {{ kind = \"constant\", value = {factor:?} }}\n"
    );
    fs::write(folder.join("a.toml"), text).expect("written");
    said(folder, &["check", "a.toml", "--strict"])
}

#[test]
fn columns_that_count_and_factors_that_never_explore_are_warned_of() {
    let here = &folder();
    let wavy = |mean: f64| move |i: usize| mean + libm::cos(i as f64 * 1.7);
    refused(arms(here, |i| 1950.0 + i as f64, 1.0, 1.0), &["index column", "`first`"]);
    let (code, text) = arms(here, wavy(23.0), 23.0, 1.0);
    assert!(code == Some(2) && text.contains("prior mean") && !text.contains("index column"), "{text}");
    for (mean, factor) in [(0.5, 1.0), (23.0, 20.0)] {
        let (code, text) = arms(here, wavy(mean), mean, factor);
        assert_eq!(code, Some(0), "{mean}, {factor}: {text}");
    }
}

/// What `fit` prints is a specification that checks, of tables of any units, and with `--public` one with a guarantee.
#[test]
fn a_fit_is_a_specification_without_warnings() {
    let here = &folder();
    for seed in 0..10 {
        let (grid, _) = crate::metamorphic::warty(seed);
        grid.write_to(here, "t.csv");
        let positive = grid.rows.iter().all(|row| 0.0 < row[row.len() - 1]);
        let inputs = grid.names[..grid.names.len() - 1].join(",");
        for more in [&[][..], &["--public"], &["--per-coordinate", "--public"], &["--log", "--public"], &["--raw", "--public"]] {
            if more[..].contains(&"--log") && !positive {
                continue;
            }
            let words = [&["fit", "t.csv", "--inputs", &inputs, "--value", "out"], more].concat();
            let output = run(here, &words);
            if more.contains(&"--raw") && stderr(&output).contains("far from 0, the prior mean") {
                continue;
            }
            assert_eq!(code(&output), Some(0), "{}", stderr(&output));
            fs::write(here.join("fit.toml"), stdout(&output)).expect("written");
            let (code, text) = said(here, &["check", "fit.toml", "--strict"]);
            // One table has an outlier, which is said.
            let is_odd = seed == 4 && text.contains("outlier");
            assert!(code == Some(0) || is_odd, "table {seed}, {more:?}: {text}");
            assert!(is_odd || text.contains("no guarantee") != more.contains(&"--public"), "table {seed}, {more:?}: {text}");
        }
    }
}

/// Inputs of very different sizes get scales of their own, where columns keep the file's units.
#[test]
fn a_fit_in_the_units_of_the_file_scales_its_inputs() {
    let here = &folder();
    let cells = |i: usize| {
        let (price, discount) = (5.0 + (i % 9) as f64 * 4.0, (i / 9) as f64 * 0.1);
        format!("{price},{discount},{}\n", libm::sin(0.2 * price) + libm::cos(9.0 * discount))
    };
    fs::write(here.join("t.csv"), format!("price,discount,value\n{}", (0..54).map(cells).collect::<String>())).expect("written");
    let fit = ["fit", "t.csv", "--inputs", "price,discount", "--value", "value", "--raw"];
    // By Python's statistics.pstdev: 10.328 and 0.17078.
    assert!(said(here, &fit).1.contains("scales = [10.328, 0.170783]"), "{}", said(here, &fit).1);
    fs::write(here.join("t.toml"), stdout(&run(here, &fit))).expect("written");
    assert_eq!(said(here, &["check", "t.toml", "--strict"]).0, Some(0));
}

/// Rewards of a point of several rows are those of a random row: by five standard errors of 20 000 draws, false alarm below 1e-5.
#[test]
fn rows_with_equal_inputs_are_one_point() {
    let here = &folder();
    fs::write(here.join("t.csv"), "x,value\n1,5\n0,2\n-0.0,4\n1,6\n0,9\n2,7\n").expect("written");
    let text = |rest: &str| {
        format!(
            "rounds = 5\n[environment]\nkind = \"points-table\"\nfile = \"t.csv\"\ninputs = [\"x\"]\nvalue = \"value\"\nstandardise = false\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\n{rest}\n[[policy]]\nkind = \"uniform\"\n"
        )
    };
    let data = privateer::env::DataFolder::new(Some(here.to_path_buf()));
    crate::support::prepared(&text("noise = { kind = \"gaussian\", sd = 0.5 }"), &data, |sweep, preparation| {
        let cell = preparation.cell(&sweep.cells[0]).expect("a cell");
        let instance = cell.environment.draw(0).expect("a table");
        let means: Vec<f64> = (0..cell.environment.gram.n_points()).map(|point| instance.mean(point)).collect();
        assert_eq!(means, [5.0, 5.5, 7.0]);
        // The values of a point and the noise: (9 + 1 + 16) / 3, 1 / 4 and 0, and a quarter each.
        for (point, variance) in [(0, 26.0 / 3.0 + 0.25), (1, 0.5), (2, 0.25)] {
            let mut stream = crate::support::stream("replicates");
            let n = 20_000.0;
            let squares: Vec<f64> = (0..20_000)
                .map(|_| crate::support::opened(instance.observe(point, &mut stream)) - means[point])
                .map(|error| error * error)
                .collect();
            let mean = squares.iter().sum::<f64>() / n;
            let error = (squares.iter().map(|square| (square - mean) * (square - mean)).sum::<f64>() / n / n).sqrt();
            assert!((mean - variance).abs() < 5.0 * error, "point {point}: {mean} for {variance}");
        }
    });
    spec(here, "standardise = false", "[0, 10]");
    fs::write(here.join("t.toml"), text("noise = \"none\"\nreplicates = \"apart\"")).expect("written");
    let (code, said_apart) = said(here, &["check", "t.toml", "--strict"]);
    assert!(code == Some(2) && said_apart.contains("3 of 6 points have the inputs of another point"), "{said_apart}");
    let session = format!(
        "{}[privacy]\nmechanism = \"laplace\"\nepsilon = 1\n",
        text("noise = { kind = \"uniform\", bound = 1 }\nbound = [0, 10]")
    );
    fs::write(here.join("s.toml"), session.replace("uniform\"\n", "tgp-ucb\"\n")).expect("written");
    let (code, refused) = said(here, &["init", "state", "s.toml"]);
    assert!(code == Some(2) && refused.contains("`replicates = \"apart\"`"), "{refused}");
}

/// A range with both ends: its default clip has no part below the least reward, and ends that values exceed are named.
#[test]
fn a_bound_may_be_a_range() {
    let here = &folder();
    points(here, |i| -1.0 + 4.0 * i as f64 / 35.0);
    let check = |bound: &str, clip: &str| {
        let keys =
            format!("standardise = false\nnoise = {{ kind = \"uniform\", bound = 0.5 }}\nbound = {bound}\npublic = [\"range\"]");
        checked(here, &keys, clip)
    };
    let (code, text) = check("[-1, 3]", "[-1.5, 3.5]");
    assert_eq!(code, Some(0), "{text}");
    refused(check("[-0.9, 3]", "[-1.5, 3.5]"), &["`bound` on the mean reward is exceeded at 2.78 %"]);
    for wrong in ["[3, -1]", "[-1]", "[-1, inf]", "[1, 2, 3]", "[\"a\", 2]", "0", "-1"] {
        let (code, text) = check(wrong, "[-1.5, 3.5]");
        assert!(code == Some(2) && text.contains("or `[lo, hi]` with lo < hi"), "{wrong}: {text}");
    }
    let laplace = |bound: &str| {
        spec(here, &format!("standardise = false\nnoise = {{ kind = \"uniform\", bound = 0.5 }}\nbound = {bound}"), "[0, 1]");
        let text =
            fs::read_to_string(here.join("t.toml")).expect("written").replace("clip = [0, 1]\n", "").replace("hybrid", "laplace");
        let data = privateer::env::DataFolder::new(Some(here.to_path_buf()));
        crate::support::prepared(&text, &data, |sweep, preparation| {
            preparation.facts(&sweep.cells[0]).expect("facts").ledger.reward.clip
        })
    };
    assert_eq!((laplace("[-1, 3]"), laplace("3")), (Some([-1.5, 3.5]), Some([-3.5, 3.5])));
}

/// The card of a table: as a command, in `check`, and at the head of the page.
#[test]
fn a_table_has_a_card() {
    let here = &folder();
    let rows: String =
        (0..40).map(|i| format!("{i},{},{},{}\n", i % 5, i % 4, if i == 7 { 900.0 } else { f64::from(i % 9) })).collect();
    fs::write(here.join("t.csv"), format!("row,x,y,value\n{rows}41,1,NA,3\n")).expect("written");
    let look = ["look", "t.csv", "--inputs", "x,y", "--value", "value", "--clip", "0,5"];
    let (code, text) = said(here, &look);
    // 40 rows of 20 inputs; values 6, 7, 8 and 900 are above 5: 12 rows.
    for part in ["41 rows", "20 distinct inputs in 40 rows, whose values scatter by", "row 8 has", "30 % of the rows"] {
        assert!(code == Some(0) && text.contains(part), "{part}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&said(here, &[&look[..], &["--json"]].concat()).1).expect("JSON");
    assert_eq!((&json["rows"], &json["columns"][2]["missing"]), (&41.into(), &1.into()));
    refused(said(here, &["look", "t.csv", "--value", "value", "--clip", "5,0"]), &["`--clip` is no range"]);
    refused(said(here, &["look", "t.csv", "--value", "valeu"]), &["did you mean `value`?"]);
    spec(here, &format!("missing = \"drop\"\n{NOISE}"), "[-9, 9]");
    let card = "t.csv: 40 rows, 1 more left out for a missing number, 20 points of distinct inputs; `value` from 0 to 900";
    assert!(said(here, &["check", "t.toml"]).1.contains(card), "{}", said(here, &["check", "t.toml"]).1);
    assert_eq!(said(here, &["run", "t.toml", "--rounds", "20", "--out", "out"]).0, Some(0));
    let page = fs::read_to_string(here.join("out/report.html")).expect("a page");
    assert!(page.find("The table t.csv: 40 rows").is_some_and(|at| at < page.find("<nav").unwrap_or(0)));
}

/// A log from which nothing can be learnt is named.
#[test]
fn a_thin_log_is_named() {
    let here = &folder();
    let check = |every: usize| {
        let rows: String = (0..2000).map(|i| format!("{},{},{},0.05\n", i % 7, i % 20, u8::from(i % every == 0))).collect();
        fs::write(here.join("l.csv"), format!("x,arm,reward,p\n{rows}")).expect("written");
        let text = "rounds = 2000\ntrials = 2\n[environment]\nkind = \"logged-replay\"\nfile = \"l.csv\"\nnumbers = [\"x\"]\nlows = [0]\n\
                    highs = [7]\narm = \"arm\"\narms = [\"0\", \"1\", \"2\", \"3\"]\nreward = \"reward\"\npropensity = \"p\"\n[[policy]]\nkind = \"random-arm\"\n";
        fs::write(here.join("l.toml"), text).expect("written");
        said(here, &["check", "l.toml", "--strict"])
    };
    assert_eq!(check(3).0, Some(0));
    refused(check(211), &["learns from about 100 rows of the log"]);
}

/// No column is an input and what comes of it.
#[test]
fn a_feature_is_not_an_outcome() {
    let here = &folder();
    let rows: String = (0..60).map(|i| format!("{},{},{},{},{},0.5\n", i % 7, i % 5, i % 3, i % 2, 1 - i % 2)).collect();
    fs::write(here.join("u.csv"), format!("a,b,label,r,s,p\n{rows}")).expect("written");
    let users = "kind = \"contexts-table\"\nlows = [0, 0]\nhighs = [7, 7]\nnumbers =";
    let log = "kind = \"logged-replay\"\nlows = [0, 0]\nhighs = [7, 7]\narm = \"label\"\narms = [\"0\", \"1\"]\nreward = \"r\"\npropensity = \"p\"\nnumbers =";
    let points = "kind = \"points-table\"\nkernel = { kind = \"linear\" }\nnoise = \"none\"\nvalue = \"r\"\ninputs =";
    for (keys, policy, is_right) in [
        (format!("{users} [\"a\", \"b\"]\nlabel = \"label\"\ncuts = [1]"), "random-arm", true),
        (format!("{users} [\"a\", \"label\"]\nlabel = \"label\"\ncuts = [1]"), "random-arm", false),
        (format!("{users} [\"a\", \"r\"]\nrewards = [\"r\", \"s\"]"), "random-arm", false),
        (format!("{users} [\"a\", \"b\"]\ncategories = [\"b\"]\nrewards = [\"r\", \"s\"]"), "random-arm", false),
        (format!("{log} [\"a\", \"b\"]"), "random-arm", true),
        (format!("{log} [\"a\", \"r\"]"), "random-arm", false),
        (format!("{log} [\"a\", \"label\"]"), "random-arm", false),
        (format!("{points} [\"a\", \"b\"]"), "uniform", true),
        (format!("{points} [\"a\", \"r\"]"), "uniform", false),
    ] {
        fs::write(
            here.join("u.toml"),
            format!("rounds = 50\n[environment]\nfile = \"u.csv\"\n{keys}\n[[policy]]\nkind = \"{policy}\"\n"),
        )
        .expect("written");
        let (code, text) = said(here, &["check", "u.toml"]);
        assert!(code == Some(if is_right { 0 } else { 2 }) && (is_right || text.contains("error: column `")), "{keys}: {text}");
    }
}

/// Kernels, noises and clips that do not fit a table, and the same ones a factor nearer.
#[test]
fn kernels_noises_and_clips_are_held_against_a_table() {
    let here = &folder();
    points(here, |i| libm::sin(i as f64 * 0.7));
    let check = |lengthscale: f64, sd: f64, clip: &str| {
        let keys = format!("standardise = false\nbound = 1.0\nnoise = {{ kind = \"gaussian\", sd = {sd:?} }}");
        spec(here, &keys, clip);
        let text = fs::read_to_string(here.join("t.toml")).expect("written");
        fs::write(here.join("t.toml"), text.replace("lengthscale = 0.4", &format!("lengthscale = {lengthscale:?}")))
            .expect("written");
        said(here, &["check", "t.toml", "--strict"])
    };
    assert_eq!(check(0.4, 0.1, "[-1.5, 1.5]"), (Some(0), check(0.4, 0.1, "[-1.5, 1.5]").1));
    for (lengthscale, sd, clip, cause) in [
        (9.0, 0.1, "[-1.5, 1.5]", "takes them for one point"),
        (0.03, 0.1, "[-1.5, 1.5]", "correlates 36 of 36 points with no other"),
        (0.4, 2.0, "[-1.0, 1.0]", "of the rewards lie outside of the clip"),
        (0.4, 100.0, "[-300, 300]", "no policy can tell points apart"),
    ] {
        let (code, text) = check(lengthscale, sd, clip);
        assert!(code == Some(2) && text.contains(cause), "{lengthscale}, {sd}, {clip}: {text}");
    }
    for (lengthscale, sd, clip) in [(2.0, 0.1, "[-1.5, 1.5]"), (0.06, 0.1, "[-1.5, 1.5]"), (0.4, 0.5, "[-1.0, 1.0]")] {
        let (code, text) = check(lengthscale, sd, clip);
        assert_eq!(code, Some(0), "{lengthscale}, {sd}, {clip}: {text}");
    }
}

/// A clip that holds every mean and cuts rows off may turn the order of points around.
#[test]
fn a_clip_that_cuts_rows_of_the_best_point_is_named() {
    let here = &folder();
    // The last point has mean 2.5, and 0.75 after the clip to [0, 3].
    let rows: String = (0..10).map(|i| format!("0.{i},0,{}\n", 0.2 * f64::from(i))).collect();
    fs::write(here.join("t.csv"), format!("x,y,value\n{rows}3,0,10\n3,0,0\n3,0,0\n3,0,0\n")).expect("written");
    let keys = "standardise = false\nbound = [0, 3]\nnoise = \"none\"";
    refused(checked(here, keys, "[0, 3]"), &["another point seems the best, which loses 0.7 a round"]);
    let (code, text) = checked(here, keys, "[0, 10]");
    assert_eq!(code, Some(0), "{text}");
}

/// Rows that lack a number do not move the numbers of others, and hide no column that counts.
#[test]
fn rows_that_are_left_out_keep_the_numbers_of_the_others() {
    let here = &folder();
    let row = |i: usize| match i {
        2 | 5 => "NA,0,1\n".to_owned(),
        8 => "8,1,900\n".to_owned(),
        _ => format!("{i},{},{}\n", i % 3, i % 4),
    };
    fs::write(here.join("t.csv"), format!("x,y,value\n{}", (0..20).map(row).collect::<String>())).expect("written");
    let (_, text) = said(here, &["look", "t.csv", "--inputs", "x,y", "--value", "value"]);
    assert!(text.matches("row 9 has").count() == 2 && !text.contains("row 7 has"), "{text}");
    refused(checked(here, &format!("missing = \"drop\"\n{NOISE}"), "[-9, 9]"), &["row 9 of the table"]);
    fs::write(here.join("a.csv"), "id,a,b\n1,2,3\n2,NA,4\n3,3,4\n4,2,1\n5,3,3\n").expect("written");
    let arms = "rounds = 9\ntrials = 2\n[environment]\nkind = \"arms-table\"\nmissing = \"drop\"\ntest = \"a.csv\"\ntrain = \"a.csv\"\n[[policy]]\nkind = \"uniform\"\n";
    fs::write(here.join("a.toml"), arms).expect("written");
    refused(said(here, &["check", "a.toml", "--strict"]), &["except = [\"id\"]"]);
}

/// Names that TOML quotes in its own way; values far from the prior mean.
#[test]
fn a_fit_prints_what_a_specification_reads() {
    let here = &folder();
    let rows: String = (0..30).map(|i| format!("{},{},{}\n", i % 6, i / 6, 1000.0 + libm::sin(f64::from(i)))).collect();
    fs::write(here.join("t.csv"), format!("e\u{301} x,y\u{a0}z,\"va \"\"l\"\"\"\n{rows}")).expect("written");
    let fit = ["fit", "t.csv", "--inputs", "e\u{301} x,y\u{a0}z", "--value", "va \"l\""];
    let output = run(here, &fit);
    fs::write(here.join("f.toml"), stdout(&output)).expect("written");
    let (code, text) = said(here, &["check", "f.toml", "--strict"]);
    assert_eq!(code, Some(0), "{}{text}", stderr(&output));
    refused(said(here, &[&fit[..], &["--raw"]].concat()), &["far from 0, the prior mean"]);
}
