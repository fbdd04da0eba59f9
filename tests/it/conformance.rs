//! The stored reference numbers, through the checker of the `conformance` example; and the checker itself: it must catch
//! a wrong number.

#[path = "../../examples/conformance/check/mod.rs"]
mod check;

use crate::program::{json, listed, page, root};
use serde_json::Value;

fn cases() -> Vec<(String, Value)> {
    let folders = ["bo", "oco", "pogp"].map(|folder| root().join("tests/cases").join(folder));
    let named = |path: &std::path::PathBuf| {
        (path.file_name().expect("a name").to_string_lossy().into_owned(), json(&page(&path.to_string_lossy())))
    };
    folders.iter().flat_map(|folder| listed(folder)).map(|path| named(&path)).collect()
}

#[test]
fn every_file_is_of_one_kind_and_agrees_as_far_as_it_is_known() {
    let cases = cases();
    assert_eq!(cases.len(), 28);
    for (name, file) in cases {
        let kinds: Vec<&check::Kind> = check::KINDS.iter().filter(|kind| kind.recognises(&file)).collect();
        let [kind] = kinds[..] else { panic!("{name} is {:?}", kinds.iter().map(|kind| kind.name).collect::<Vec<_>>()) };
        let outcome = kind.check(&file);
        let numbers: usize = outcome.checked.values().map(|(numbers, _)| numbers).sum();
        println!("{name}: {numbers} numbers, largest error {:.1e}, not yet: {:?}", outcome.largest_error(), outcome.not_yet);
        assert!(outcome.failures.is_empty(), "{name}: {:?}", outcome.failures);
        assert!(outcome.agrees(), "{name}");
        let is_whole = ["qff.json", "benchmarks.json", "kernels.json"].contains(&name.as_str());
        assert!(!is_whole || outcome.not_yet.is_empty(), "{name}: {:?}", outcome.not_yet);
        // Two squared exponential, ten Matern, two grids, linear, two empirical.
        assert!(name != "kernels.json" || outcome.checked.len() == 17, "{}", outcome.checked.len());
        // Noise variances of 1e-5 leave eight digits fewer than ridges of order one.
        let usual = if name.starts_with("posterior_200") || name.starts_with("modeler") { 1e-9 } else { 1e-12 };
        assert!(outcome.largest_error() < usual, "{name}: within the tolerance, but worse than it ever was");
    }
}

#[test]
fn nothing_checked_is_no_agreement() {
    let file = serde_json::json!({"X": [], "f": [], "noise": {}, "runs": {}, "unheard-of": 1});
    let outcome = check::recognise(&file).expect("known").check(&file);
    assert_eq!((outcome.agrees(), outcome.not_yet), (false, vec!["/unheard-of".to_owned()]));
}

/// The place of the last number of a section, whose name has `*` for an index.
fn last_number(value: &Value, place: String, path: &[&str]) -> Option<String> {
    let within = |key: &str, value, rest| last_number(value, format!("{place}/{key}"), rest);
    let rest = path.get(1..).unwrap_or_default();
    match (path, value) {
        ([] | ["*", ..], Value::Array(items)) => {
            items.iter().enumerate().rev().find_map(|(at, item)| within(&at.to_string(), item, rest))
        }
        (["*", ..], Value::Object(members)) => members.iter().find_map(|(key, value)| within(key, value, rest)),
        ([], value) => value.is_number().then_some(place),
        ([key, ..], value) => within(key, value.get(key)?, rest),
    }
}

fn section_of(failure: &str) -> String {
    let place = failure.split(": ").next().unwrap_or_default();
    let parts = place.split('/').skip(1).map(|part| if part.parse::<u64>().is_ok() { "*" } else { part });
    parts.collect::<Vec<&str>>().join("/")
}

/// Every section that agrees fails with a number moved by a millionth, also beside others; with that number missing or one short, it
/// does not agree.
#[test]
fn a_planted_fault_is_caught_in_every_section() {
    let mut n_sections = 0;
    for (name, file) in cases() {
        let kind = check::recognise(&file).expect("known");
        let mut moved = file.clone();
        let mut sections = Vec::new();
        for (section, (numbers, _)) in kind.check(&file).checked {
            let path: Vec<&str> = section.split('/').collect();
            let Some(pointer) = last_number(&file, String::new(), &path) else { continue };
            let value = file.pointer(&pointer).and_then(Value::as_f64).expect("a number");
            *moved.pointer_mut(&pointer).expect("a number") = Value::from(value + 1e-6 * (1.0 + value.abs()));
            sections.push((section, numbers, pointer));
        }
        let failed: Vec<String> = kind.check(&moved).failures.iter().map(|failure| section_of(failure)).collect();
        for (section, numbers, pointer) in sections {
            assert!(failed.contains(&section), "{name}{pointer}: {failed:?}");
            n_sections += 1;
            let (mut faulty, (row, key)) = (file.clone(), pointer.rsplit_once('/').expect("a row"));
            let agrees = |file: &Value| {
                let outcome = kind.check(file);
                outcome.failures.is_empty() && outcome.checked.get(&section).is_some_and(|same| same.0 == numbers)
            };
            *faulty.pointer_mut(&pointer).expect("a number") = Value::Null;
            assert!(!agrees(&faulty), "{name}{pointer}: null");
            match faulty.pointer_mut(row).expect("a row") {
                Value::Array(numbers) => drop(numbers.pop()),
                row => drop(row.as_object_mut().expect("a row").remove(key)),
            }
            assert!(!agrees(&faulty), "{name}{pointer}: one number short");
        }
    }
    assert!(150 < n_sections, "{n_sections}");
}

#[test]
fn malformed_files_are_failures_and_never_panics() {
    for text in ["{}", "[]", "null", "3", "{\"X\": 1}"] {
        assert!(check::recognise(&serde_json::from_str(text).expect("JSON")).is_none());
    }
    for text in [
        r#"{"X": [], "Y": [], "se": {"0.2": [[1.0]]}, "matern": {"nu": [[1.0]], "l=a,nu=1": [[1.0]]}}"#,
        r#"{"X": [[1.0]], "Y": [[1.0, 2.0]], "se": {"0.2": [[1.0]]}, "matern": {}}"#,
        r#"{"X": [[1.0], [1.0, 2.0]], "Y": 2, "se": {"x": 1.0}, "matern": [], "samples": [], "empirical_correlation": [[1.0]]}"#,
        r#"{"d1": 1, "d2": 1, "rff": {}}"#,
        r#"{"finite": {}, "exact2d": 3}"#,
        r#"{"finite": {"X": [], "idx": [], "y": [], "lam": 1, "kernel": {"name": "se", "l": 1}}, "exact2d": {}}"#,
        r#"{"finite": {"X": [0], "idx": [1], "y": [1], "lam": 1, "kernel": {"name": "se", "l": 1}}, "exact2d": {}}"#,
        r#"{"finite": {"X": [0], "idx": [0], "y": [1], "lam": 0, "kernel": {"name": "se", "l": 0}}, "exact2d": {}}"#,
        r#"{"X": 1, "f": [], "noise": {}, "runs": {"igp_ucb": {}, "tgp_ldp": {"params": {"R": 1}}}}"#,
        r#"{"jdp": [], "zhou_tan": {}}"#,
        r#"{"jdp": [{"alpha": -1, "beta": 2}], "zhou_tan": [{"B": 1, "R": 1, "laplace_scale": 1, "v": 1, "lam": 0, "delta": 2, "T": -1, "tgp_beta": [{"t": 0, "info": 0}]}]}"#,
        r#"{"tolerance": 1, "relative": true, "g": [[1.0]], "cases": [{"p": "0.5", "radius": 1, "dual_norm_times_minus_r": [1.0]}]}"#,
        r#"{"tolerance": 1, "relative": true, "z": [[1.0]], "noise": [[1.0, 2.0]], "nodes_in_prefix": 3}"#,
        r#"{"tolerance": 1, "relative": true, "p": "2", "radius": 1, "node_noise": [], "runs": [{"lr": 1, "start": "whole"}], "X": [[1.0]], "y": [1.0]}"#,
        r#"{"tolerance": 1, "relative": true, "unit_laplace": [[1.0]], "base_scale_t1": 1, "parameters": {}, "runs": [{}], "X": [[1.0]], "y": [1.0]}"#,
        r#"{"tolerance": 1, "relative": true, "rows": [{"plus_exponent": 1, "p": "1.5", "d": 2, "direction": [[1, 2]], "r2": []}], "moments": 1}"#,
        r#"{"tolerance": 1, "relative": true, "rows": [{"sigma_plus": 1, "sigma_gdp": 1, "p": "2", "d": 1, "n": 0, "eps": -1}]}"#,
        r#"{"tolerance": 1, "relative": true, "noisy_sfw": {"X": [[1.0]], "y": []}, "noisy_sgd": 1, "local_md_step": [{"p": 2}]}"#,
        r#"{"tolerance": 1, "Z": [[1.0]], "observed": [0], "y": [1.0], "sets": []}"#,
        r#"{"tolerance": 1, "relative": "true", "z": [[1.0]], "noise": [[1.0]], "nodes_in_prefix": [[1]]}"#,
        r#"{"d1": 1, "d2": 1, "rff": {"X": [[1.0]], "W": [[1.0, 2.0]], "features": [[1.0]]}}"#,
    ] {
        let file = serde_json::from_str(text).expect("JSON");
        let outcome = check::recognise(&file).expect("known").check(&file);
        assert!(!outcome.failures.is_empty(), "{text}");
    }
}

/// A stored draw that is one number short, or has a number too many, is not taken for another.
#[test]
fn stored_draws_of_another_length_are_failures() {
    let draws = ["hdb_60 /unit_laplace/0/3", "pofw /unit_laplace/3", "tofw_p2 /node_noise/3", "tree_n13 /noise/2"];
    let more =
        ["baselines /noisy_sgd/noise/0", "baselines /noisy_sfw/noise/1", "dpucb /node_normals/3", "local_jdp /noise_vector/3"];
    for (name, place) in draws.iter().chain(&more).map(|draw| draw.split_once(' ').expect("a file and a place")) {
        let (_, file) = cases().into_iter().find(|(file, _)| file.strip_suffix(".json") == Some(name)).expect("a file");
        for is_short in [true, false] {
            let mut file = file.clone();
            let draw = file.pointer_mut(place).and_then(Value::as_array_mut).expect("a draw");
            if is_short {
                drop(draw.pop())
            } else {
                draw.push(draw[0].clone())
            }
            assert!(!check::recognise(&file).expect("known").check(&file).failures.is_empty(), "{name}{place} {is_short}");
        }
    }
}

/// Each number of a file's own settings, replaced by one that does not fit.
#[test]
fn settings_that_do_not_fit_are_failures_and_never_panics() {
    let mut n_run = 0;
    for (name, whole) in cases() {
        let kind = check::recognise(&whole).expect("known");
        for pointer in ["", "/params", "/parameters"] {
            let Some(settings) = whole.pointer(pointer).and_then(Value::as_object) else { continue };
            for (key, _) in settings.iter().filter(|(_, value)| value.is_number()) {
                for replaced in [-1.0, 0.0, 0.5, 3.0, 1e9, 1e300] {
                    let mut file = whole.clone();
                    file.pointer_mut(pointer).expect("the settings")[key] = replaced.into();
                    let checked = std::panic::catch_unwind(|| drop(kind.check(&file)));
                    assert!(checked.is_ok(), "{name}: `{pointer}/{key}` = {replaced}");
                    n_run += 1;
                }
            }
        }
    }
    assert!(50 < n_run, "{n_run}");
}
