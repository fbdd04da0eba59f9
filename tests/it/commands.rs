//! Whole commands: exit code, standard output and standard error, as stored in `data/commands`.

use crate::program::*;

const SPEC: &str = r#"
rounds = 20
trials = 2

[environment]
kind = "rkhs"
domain = { kind = "grid", dimension = 1, points = 10 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 1.0 }

[[policy]]
kind = "uniform"
"#;

/// All that a command said; hashes and versions are masked.
fn shown(output: &Output) -> String {
    let text = format!("exit {}\n--- stdout\n{}--- stderr\n{}", exit(output), stdout(output), stderr(output));
    let masked = text.split_inclusive(char::is_whitespace).map(|word| {
        let bare = word.trim_end();
        let is_hash = bare.len() == 64 && bare.chars().all(|c| c.is_ascii_hexdigit());
        if is_hash { word.replace(bare, "HASH") } else { word.to_owned() }
    });
    masked.collect::<String>().replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn commands_say_what_is_stored() {
    let here = &folder_with(SPEC);
    for example in ["examples/ldp-epsilon-sweep.toml", "examples/papers/han2022/figure-5-3.toml"] {
        here.write(example, page(example));
    }
    let cases = [
        ("no-arguments", ""),
        ("version", "--version"),
        ("help", "--help"),
        ("help-run", "run --help"),
        ("help-bench", "bench --help"),
        ("help-account", "account --help"),
        ("help-audit", "audit --help"),
        ("audit-list", "audit --list"),
        ("audit-spec", "audit spec.toml --samples 5000 --set privacy.epsilon=1"),
        ("audit-laplace", "audit laplace none --samples 2000"),
        ("audit-refuted", "audit e3 --samples 2000"),
        ("audit-false-alarms", "audit duchi --samples 1000 --false-alarms 3"),
        ("account-laplace", "account laplace --epsilon 1 --clip -1,1"),
        ("account-hybrid-budget", "account hybrid --epsilon 2 --delta 1e-6 --participations 20 --clip 0,1"),
        ("account-gaussian", "account gaussian --answer-epsilon 1 --delta 1e-5 --clip 0,1"),
        ("account-printed", "account laplace --answer-epsilon 1 --calibration as-printed --clip -1,1"),
        ("account-none", "account none"),
        ("account-gram-budget", "account gram-prefix --epsilon 1 --delta 0.01 --horizon 1024 --radius 0.5"),
        ("account-vector-json", "account vector-prefix --sigma 30 --factorisation tree --participations 3 --json"),
        ("account-too-often", "account vector-prefix --sigma 3 --participations 3 --horizon 20 --separation 10"),
        ("account-too-often-in-a-spec", "account examples/ldp-epsilon-sweep.toml --participations 10000000"),
        ("account-example", "account examples/ldp-epsilon-sweep.toml"),
        ("account-samples", "account examples/papers/han2022/figure-5-3.toml --set privacy.calibration=tight"),
        ("list", "list"),
        ("list-policy", "list policy"),
        ("list-mechanism", "list mechanism"),
        ("list-tgp-ucb", "list tgp-ucb"),
        ("list-nope", "list nope"),
        ("check-example", "check examples/ldp-epsilon-sweep.toml"),
        ("check-negative-seed", "check spec.toml --seed -1"),
        ("ask-no-file", "ask absent.json"),
        ("check-two", "check spec.toml examples/ldp-epsilon-sweep.toml --set rounds=5"),
        ("run-quiet", "run spec.toml --quiet --threads 1"),
    ];
    let differences: Vec<String> = cases
        .iter()
        .filter_map(|(name, line)| difference(&data().join(format!("commands/{name}.txt")), &shown(&here.run(&words(line)))))
        .collect();
    assert_none(&differences);
    assert!(here.holds("out/spec/report.html"), "the quiet run left no report");
}

#[test]
fn listings_are_json_on_request() {
    let here = &folder();
    let value = here.fine_json(&["list", "--json"]);
    let kinds: Vec<&String> = value.as_object().expect("an object").keys().collect();
    assert_eq!(kinds.len(), 14, "{kinds:?}");
    assert!(value["policy"].as_array().is_some_and(|policies| policies.iter().any(|policy| policy["name"] == "tgp-ucb")));
    assert_eq!(here.fine_json(&["list", "laplace", "--json"])["mechanism"][0]["name"], "laplace");
}

#[test]
fn completions_are_for_their_shell() {
    let here = &folder();
    for (shell, start) in [("bash", "_privateer()"), ("zsh", "#compdef privateer"), ("fish", "# Print an optspec")] {
        let output = here.ends(&["completions", shell], 0, &[]);
        assert!(stdout(&output).starts_with(start), "{shell}: {}", stdout(&output).lines().next().unwrap_or_default());
        assert!(stderr(&output).is_empty());
    }
}

/// A reader that leaves early is no error, on either stream.
#[cfg(unix)]
#[test]
fn closed_pipes_are_no_error() {
    let here = &folder_with(SPEC);
    here.write("wrong.toml", "rounds = 0\n");
    // Words, where the streams go, what reads the pipe, exit code.
    for (words, streams, reader, code) in [
        ("list", "", "| head -1", 0),
        ("list tgp-ucb", "", "| true", 0),
        ("completions bash", "", "| head -1", 0),
        ("--help", "", "| true", 0),
        ("run spec.toml", "", "| true", 0),
        ("run spec.toml --out a", "2>&1", "| true", 0),
        ("run spec.toml --out b", ">/dev/null 2>&-", "", 0),
        ("run spec.toml --out c", ">&- 2>/dev/null", "", 0),
        ("check wrong.toml", "2>&1", "| true", 2),
        ("check wrong.toml", "2>&-", "", 2),
        // An export replaces no file of the results, nothing of another kind and no device.
        ("report a --table --format csv --out a/manifest.json", "", "", 2),
        ("report a --table --format csv --out a/summary.csv", "", "", 2),
        ("report a --table --format csv --out wrong.toml", "", "", 2),
        ("report a --table --format csv --out /dev/null", "", "", 2),
        ("report a --table --format csv --out table.csv", "", "", 0),
        ("report a --table --format csv --out table.csv", "", "", 0),
        ("verify a", "", "", 0),
    ] {
        // The program waits until its reader is gone.
        let line = format!("(sleep 0.05; exec privateer {words} {streams}) {reader}; exit ${{PIPESTATUS[0]}}");
        let output = here.shell(&line);
        let said = stderr(&output);
        assert!(output.status.code() == Some(code) && !said.contains("panicked"), "{line}: {said}");
    }
    for out in ["out/spec", "a", "b", "c"] {
        assert!(here.holds(&format!("{out}/report.html")), "{out} has no report");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let here = &folder_with(SPEC);
    for words in ["list", "account laplace --answer-epsilon 1 --clip=-1,1 --json", "run spec.toml"] {
        let output = here.shell(&format!("privateer {words} >/dev/full"));
        ends(&output, 4, &["cannot print"]);
    }
}

/// Sweeps whose cells would fill the memory are refused before they are built: those that are read one by one, and too many parts.
#[test]
fn sweeps_beyond_the_limits_are_refused_first() {
    let here = &folder_with(SPEC);
    let values = |n: usize| (1..=n).map(|at| format!("{}", at as f64 / n as f64)).collect::<Vec<_>>().join(", ");
    let swept = |keys: &[(&str, usize)]| {
        let lines: Vec<String> = keys.iter().map(|(key, n)| format!("{key} = [{}]\n", values(*n))).collect();
        format!("[sweep.product]\n{}", lines.concat())
    };
    let private = "[[policy]]\nkind = \"tgp-ucb\"\nridge = 3.0\n[privacy]\nepsilon = 1.0\n";
    let lengths = ("environment.kernel.lengthscale", 400);
    let learner = "rounds = 10\ntrials = 1\n[problem]\nkind = \"linear-regression\"\ndimension = 2\n\
        set = { kind = \"lp-ball\", p = 1.5, radius = 1.0 }\n[[learner]]\nkind = \"dp-tofw\"\n[privacy]\nepsilon = 1.0\n";
    let of_points = |more: &str, keys: &[(&str, usize)]| SPEC.replace("trials = 2\n", more) + private + &swept(keys);
    for (spec, said, advice) in [
        (
            of_points("trials = 1\n", &[lengths, ("policy.1.ridge", 400)]),
            "the sweep has 160000 problems, each of which is read by itself",
            "`references = false`",
        ),
        (
            of_points("trials = 1\nreferences = false\n", &[lengths, ("privacy.epsilon", 2000)]),
            "the sweep would have 1600000 parts",
            "sweep fewer values, list fewer policies",
        ),
        (
            of_points("trials = 9\nblock = 1\nreferences = false\n", &[lengths, ("privacy.epsilon", 200)]),
            "the sweep would have 1440000 parts",
            "raise `block`",
        ),
        (
            learner.to_owned() + &swept(&[("problem.set.radius", 400), ("privacy.epsilon", 400)]),
            "the sweep has 160000 problems, each of which is read by itself",
            "divide the sweep among several specs",
        ),
    ] {
        here.write("spec.toml", &spec);
        here.ends(&["check", "spec.toml"], 2, &[said, advice]);
    }
}

#[test]
fn every_command_refuses_numbers_of_threads_that_cannot_be_started() {
    let here = &finished(SPEC);
    let lines = [
        "run spec.toml --out other",
        "bench constant-factor",
        "verify out",
        "devices --for spec.toml",
        "cost --spec spec.toml",
        "best --spec spec.toml",
        "new --spec spec.toml",
    ];
    let help = stdout(&here.ends(&["--help"], 0, &[]));
    let commands = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    for command in commands.filter(|name| name.chars().all(|c| c.is_ascii_lowercase())) {
        let takes = here.run(&[command, "--help"]);
        let is_tried = lines.iter().any(|line| line.split(' ').next() == Some(command));
        assert_eq!(stdout(&takes).contains("--threads"), is_tried, "{command}");
    }
    for line in lines {
        for threads in ["0", "4097", "18446744073709551615"] {
            let words: Vec<&str> = line.split(' ').chain(["--threads", threads]).collect();
            here.ends(&words, 2, &[&format!("error: {threads} worker threads cannot be started"), "from 1 to 4096"]);
        }
    }
}

/// An option that says nothing about what is priced, or no time, is refused and not passed over.
#[test]
fn options_without_meaning_are_refused() {
    let here = &folder_with(SPEC);
    for (line, said) in [
        ("account gram-prefix --epsilon 1 --delta 1e-5 --clip=-3,3", "`--clip` says nothing about `gram-prefix`"),
        ("account laplace --answer-epsilon 1 --clip=-1,1 --neighbours replace", "`--neighbours` says nothing about `laplace`"),
        ("account spec.toml --epsilon 3", "`--epsilon` says nothing about `spec.toml`"),
        ("account spec.toml --budget epsilon=4", "`--budget` says nothing about `spec.toml`"),
        ("slurm spec.toml --tasks 2 --out array --time bogus", "`--time` is `bogus`"),
        ("release --mechanism hybrid --epsilon 2 --delta 1e-6 --clip 0,1 --state new 5 0.4", "answers of `hybrid` are pure"),
    ] {
        here.ends(&words(line), 2, &[said]);
    }
    assert!(!here.holds("new") && !here.holds("array"));
}
