//! What the program says to bad input. Each `data/errors/NAME.toml` says in its first line how it is run, in that folder;
//! `NAME.txt` is the exit code and the whole of standard error.

use crate::program::*;
use crate::support::*;
use privateer::engine;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};

#[test]
fn bad_input_is_explained() {
    let folder = data().join("errors");
    let mut cases = listed(&folder);
    cases.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    assert!(90 < cases.len(), "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let text = fs::read_to_string(&case).expect("a case");
        let first = text.lines().next().unwrap_or_default();
        let words = first.strip_prefix("# $ privateer ").unwrap_or_else(|| panic!("{}: {first}", case.display()));
        let output = run(&folder, &self::words(words));
        let said = stderr(&output);
        let found = format!("exit {}\n{said}", exit(&output));
        // Whatever the stored text says, these hold of every message.
        if !matches!(code(&output), Some(2 | 3)) || !stdout(&output).is_empty() || said.contains("panicked") || said.is_empty() {
            wrong.push(format!("{}: not a refusal\n{found}{}", case.display(), stdout(&output)));
        }
        wrong.extend(difference(&case.with_extension("txt"), &found));
    }
    assert_none(&wrong);
    assert!(!folder.join("out").exists(), "a refused run made a folder");
}

/// Values that nobody should write.
const WEIRD: [&str; 22] = [
    "-1",
    "0",
    "1e308",
    "-1e308",
    "1e-308",
    "\"\"",
    "[]",
    "{}",
    "nan",
    "inf",
    "-inf",
    "true",
    "9223372036854775807",
    "-9223372036854775808",
    "\"é∂🦀\\u0000\"",
    "[[]]",
    "[{}]",
    "{ kind = \"\" }",
    "1979-05-27",
    "'''\n'''",
    "[1, \"a\"]",
    "0.5",
];

/// One change of a text, as (what, where, which).
type Change = (u8, prop::sample::Index, prop::sample::Index);

fn changed(text: &str, (what, place, which): &Change) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = place.index(lines.len());
    match what % 6 {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[which.index(lines.len())].clone()),
        2 => {
            if let Some((key, _)) = lines[at].clone().split_once('=') {
                lines[at] = format!("{key}= {}", WEIRD[which.index(WEIRD.len())]);
            }
        }
        3 => {
            // One of the values within the line.
            let words: Vec<&str> = lines[at].split_inclusive(['=', ',', '[', '{']).collect();
            let chosen = which.index(words.len().max(1));
            let value = if what % 12 == 3 { format!("\"{}\"", "long ".repeat(2000)) } else { WEIRD[place.index(22)].to_owned() };
            let word = words.get(chosen).map(|word| format!(" {value}{}", word.chars().last().unwrap_or(' ')));
            let (before, after) = (&words[..chosen.min(words.len())], words.get(chosen + 1..).unwrap_or_default());
            lines[at] = format!("{}{}{}", before.concat(), word.unwrap_or_default(), after.concat());
        }
        4 => {
            let line = &lines[at];
            let cut = which.index(line.chars().count() + 1);
            lines[at] = line.chars().take(cut).collect();
        }
        _ => lines[at].push_str(WEIRD[which.index(WEIRD.len())]),
    }
    lines.join("\n")
}

/// Specs beyond this are read, and not made ready: they would only be slow.
fn is_small(sweep: &Sweep) -> bool {
    sweep.cells.len() <= 200 && sweep.trials <= 1000
}

/// No text makes the reader panic, and what it accepts can be made ready or is refused with words.
#[test]
fn no_text_panics() {
    let example = include_str!("../../examples/ldp-epsilon-sweep.toml");
    let small =
        example.replace("points = 100", "points = 7").replace("rounds = 2000", "rounds = 9").replace("trials = 20", "trials = 2");
    assert_ne!(example, small);
    let config = Config {
        cases: 3000,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    };
    let changes = prop::collection::vec(any::<Change>(), 1..4);
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&changes, |changes| {
        let text = changes.iter().fold(small.clone(), |text, change| changed(&text, change));
        match Sweep::parse("spec.toml", &text, &[]) {
            Err(error) => {
                let said = error.to_string();
                prop_assert!(said.starts_with("error: ") && said.lines().all(|line| line.chars().count() < 700), "{said}");
            }
            Ok(mut sweep) if is_small(&sweep) => {
                sweep.memory_bytes = sweep.memory_bytes.min(1e6);
                let (data, backend) = (DataFolder::default(), Cpu::default());
                let preparation = Preparation::new(&sweep, &data, &backend);
                let quick = sweep.trials <= 4 && sweep.cells.iter().all(|cell| cell.rounds <= 20);
                let run = || engine::run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::new(), &()).err();
                let played = quick.then(run).flatten();
                for error in
                    played.into_iter().chain(sweep.cells.iter().take(12).filter_map(|cell| preparation.facts(cell).err()))
                {
                    prop_assert!(error.to_string().starts_with("error: "), "{error}");
                }
            }
            Ok(_) => {}
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Keys that hints state exist: in the parts that every specification has, or in the environment of the one that is wrong.
#[test]
fn hints_name_keys_that_exist() {
    let reference = page("docs/reference.md");
    // (part, item, key)
    let (mut part, mut item, mut known) = ("", "", Vec::new());
    for line in reference.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            item = title.trim_matches('`');
        } else if let Some(title) = line.strip_prefix("## ") {
            (part, item) = (title, "");
        } else if let Some(path) = line.strip_prefix("| `").and_then(|rest| rest.split('`').next()) {
            known.extend(path.split('.').map(|name| (part, item, name.trim_matches(['[', ']']))));
        }
    }
    let of_environments = |part: &str| part == "environment" || part == "contextual-environment";
    let mut n_keys = 0;
    for path in listed(&data().join("errors")) {
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let spec = fs::read_to_string(path.with_extension("toml")).unwrap_or_default();
        let said = fs::read_to_string(&path).expect("a message");
        for hint in said.lines().filter(|line| line.starts_with("hint: ")) {
            for code in hint.split('`').skip(1).step_by(2) {
                let Some((key, _)) = code.split_once(" = ") else { continue };
                let key = key.trim_matches('"').rsplit('.').next().unwrap_or(key);
                let is_kind = |item: &str| item.is_empty() || spec.contains(&format!("kind = \"{item}\""));
                let exists = key == "kind"
                    || known.iter().any(|(part, item, known)| *known == key && (!of_environments(part) || is_kind(item)));
                assert!(exists, "{}: no key `{key}` in {hint}", path.display());
                n_keys += 1;
            }
        }
    }
    assert!(20 < n_keys, "{n_keys}");
}
