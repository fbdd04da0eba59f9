//! Rules of the house that a program can read: who imports whom, what `mod.rs` may hold, whose business what is.

use crate::program::*;

/// The rooms of `privateer-engine`, those of `privateer-results` from `fit` on, and, above them, crate `deploy` and the command line, lowest first, each with the rooms it may
/// import from. What other crates may use of each other is in their manifests.
const ROOMS: [(&str, &[&str]); 17] = [
    ("env", &[]),
    ("oco", &[]),
    ("policy", &["oco"]),
    ("registry", &["env", "oco", "policy"]),
    ("spec", &["env", "oco", "policy", "registry"]),
    ("engine", &["env", "oco", "policy", "spec"]),
    ("fit", &["env"]),
    ("record", &["engine"]),
    ("audit", &["env", "oco", "policy", "registry", "spec", "engine"]),
    ("report", &["record", "audit"]),
    // Of `report` the style of pages.
    ("deploy", &["env", "registry", "spec", "engine", "record", "audit", "report"]),
    ("run", &["env", "registry", "spec", "engine", "record", "audit", "report"]),
    ("cost", &["env", "policy", "registry", "spec", "engine", "fit", "record", "report", "run"]),
    ("bench", &["env", "policy", "registry", "spec", "engine", "record", "run"]),
    ("store", &["spec", "engine", "record", "run"]),
    ("testing", &["env", "policy", "registry", "spec", "engine", "run"]),
    (
        "cli",
        &["env", "registry", "spec", "engine", "bench", "fit", "cost", "record", "audit", "deploy", "report", "run", "store"],
    ),
];

fn sources(folder: &str) -> BTreeMap<PathBuf, String> {
    let files = walk(&root().join(folder), &|_| true).into_iter();
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| (path.clone(), page(&path.to_string_lossy()))).collect()
}

fn assert_tidy(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn all_sources() -> BTreeMap<PathBuf, String> {
    sources("src").into_iter().chain(sources("crates")).collect()
}

fn room_of(path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root()).ok()?.to_string_lossy();
    let folders = ["crates/engine/src/", "crates/results/src/", "src/"];
    let relative = folders.iter().find_map(|folder| relative.strip_prefix(folder));
    let deploy = path.starts_with(root().join("crates/deploy/src")).then(|| "deploy".to_owned());
    relative.and_then(|relative| relative.split_once('/')).map(|(room, _)| room.to_owned()).or(deploy)
}

/// The text before the first test module: what ships.
fn shipped<'a>(path: &Path, text: &'a str) -> &'a str {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Files of tests alone are declared under `#[cfg(test)]` in their `mod.rs`.
    if ["tests.rs", "contract_tests.rs", "law.rs"].contains(&name.as_str()) || name.ends_with("_tests.rs") {
        return "";
    }
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// Code without line comments, line by line.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(i, line)| (i + 1, line))
}

/// Rooms named by `crate::ROOM`, `privateer_engine::ROOM` or `privateer_results::ROOM` in a piece of code.
fn imported(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in code_lines(text) {
        let names = ["crate::", "privateer_engine::", "privateer_results::"];
        for rest in names.iter().flat_map(|name| line.split(name).skip(1)) {
            // `crate::{record, report}` names several.
            let parts: Vec<&str> = match rest.strip_prefix('{') {
                Some(inside) => inside.split('}').next().unwrap_or_default().split(',').collect(),
                None => vec![rest],
            };
            let name = |part: &str| part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.extend(parts.into_iter().map(|part| (number, name(part))));
        }
    }
    found
}

fn layer_faults(sources: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in sources {
        let Some(room) = room_of(path) else { continue };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
            faults.push(format!("room `{room}` is not in the table"));
            continue;
        };
        for (line, target) in imported(shipped(path, text)) {
            if target != room && !allowed.contains(&target.as_str()) && ROOMS.iter().any(|(name, _)| *name == target) {
                faults.push(format!("{}:{line}: `{room}` imports from `{target}`", path.display()));
            }
        }
    }
    faults
}

#[test]
fn rooms_import_only_from_lower_rooms() {
    assert_tidy(&layer_faults(&all_sources()));
}

/// A default feature is on in a build of the workspace, and off below the program and the Python module: what a crate has by default
/// would be compiled twice, with all above it. An empty crate for graphics adapters costs nothing.
#[test]
fn crates_below_the_program_have_no_default_features() {
    let manifests = walk(&root().join("crates"), &|_| true).into_iter().filter(|path| path.ends_with("Cargo.toml"));
    let with_default = manifests.filter(|path| {
        let manifest: toml::Table = page(&path.to_string_lossy()).parse().expect("TOML");
        manifest.get("features").is_some_and(|features| features.get("default").is_some())
    });
    assert_eq!(with_default.collect::<Vec<_>>(), [root().join("crates/gpu/Cargo.toml")]);
}

#[test]
fn a_planted_import_is_caught() {
    let planted = |room: &str, line: &str| {
        let path = format!(
            "crates/{}/planted.rs",
            if room == "deploy" { "deploy/src".to_owned() } else { format!("engine/src/{room}") }
        );
        layer_faults(&BTreeMap::from([(root().join(path), line.to_owned())])).len()
    };
    assert_eq!(planted("policy", "use crate::env::Instance;"), 1);
    assert_eq!(planted("spec", "use crate::{engine::Session, env};"), 1);
    assert_eq!(planted("oco", "fn f() { crate::policy::plan(); }"), 1);
    assert_eq!(planted("deploy", "use privateer_results::run::Plan;"), 1);
    assert_eq!(planted("attic", ""), 1);
    assert_eq!(planted("policy", "// use crate::env::Instance;\nuse crate::oco::Learner;"), 0);
}

/// Each rule: what shipped code must not hold, in which folders or files it may, and why.
const FORBIDDEN: [(&[&str], &[&str], &str); 11] = [
    (&[".unwrap()"], &[], "what a user can cause is an error, not a panic"),
    (&["todo!(", "unimplemented!("], &[], "no stubs"),
    (
        &["Calibration::AsPrinted", "Calibration::Corrected", "Calibration::Tight"],
        // Attacks, the release of single values and examples state a calibration, and compare none.
        &[
            "crates/privacy/src/calibration.rs",
            "crates/privacy/examples",
            "crates/results/src/audit",
            "crates/deploy/src/release.rs",
            "crates/engine/src/engine/cell_info.rs",
        ],
        "one function compares calibrations; a mechanism states its event, its printed formula and its closed form",
    ),
    (&["Pcg64"], &["crates/numerics/src/rng"], "only `rng` makes simulation generators"),
    (
        &["println!", "print!("],
        &["src/cli", "crates/gpu/build.rs", "crates/privacy/examples"],
        "only the command line, build scripts and examples print",
    ),
    (
        &[".exp()", ".ln()", ".powf(", ".powi(", ".sin()", ".cos()", ".tan()", ".ln_1p()", ".exp_m1()", ".log10()", ".cbrt()"],
        &["crates/results/src/report", "src/cli"],
        "transcendental functions of recorded numbers come from libm",
    ),
    (
        &["mul_add"],
        &[
            "crates/backend/src/cpu/factor.rs",
            "crates/backend/src/cpu/panels.rs",
            "crates/backend/src/cpu/pivots/kernels.rs",
            "crates/backend/src/cpu/pruning/kernels.rs",
            "crates/backend/src/cpu/pruning/interpolation/stencil.rs",
            "crates/backend/src/cpu/pruning/products.rs",
            "crates/numerics/src/linalg/cholesky/batch8.rs",
            "crates/numerics/src/linalg/reflected/",
            "crates/numerics/src/linalg/cholesky/factor_upper.rs",
        ],
        "no operation that is fused on some processors alone; a screen whose band allows for both may, and a routine that is fused on all of them",
    ),
    (
        &["clap::"],
        &["src/cli", "crates/results/src/cost", "crates/deploy"],
        "only the command line reads arguments; functions take typed options, which say once how they are stated",
    ),
    (&["HashMap", "HashSet"], &[], "iteration order would not be reproducible"),
    (
        &["SystemTime", "thread_rng"],
        &["src/cli/status.rs", "crates/deploy/src/file.rs"],
        "no clock and no entropy in results; what is left of a run is told by the clock",
    ),
    (
        &["getrandom", "ChaCha"],
        &["crates/privacy/src/noise/entropy.rs"],
        "no entropy in results: releases of real data alone are keyed by the operating system, in one file",
    ),
];

#[test]
fn forbidden_words_stay_where_they_belong() {
    let mut faults = Vec::new();
    for (path, text) in all_sources() {
        let file = path.strip_prefix(root()).unwrap_or(&path);
        for (words, places, why) in FORBIDDEN {
            if places.iter().any(|place| file.starts_with(place)) {
                continue;
            }
            for (number, line) in code_lines(shipped(&path, &text)) {
                for word in words.iter().filter(|word| line.contains(*word)) {
                    // `eprintln!` contains `println!`: it is for messages of the command line alone as well.
                    faults.push(format!("{}:{number}: `{word}`: {why}", path.display()));
                }
            }
        }
    }
    assert_tidy(&faults);
}

/// Shipped files that may name JSON of no type of its own, each with the reason; others hold a `FactValue` or a type of theirs.
const UNTYPED: [(&str, &str); 2] = [
    ("crates/deploy/src/seal.rs", "a serialiser: seals are digests of data of any type, as one canonical text"),
    (
        "crates/results/src/record/stored_cells.rs",
        "a serialiser: values of cells of several types stand in one list, with sorted keys",
    ),
];

#[test]
fn json_without_a_type_stays_in_serialisers() {
    let is_value = |path: &str| {
        let end = if path.starts_with('{') { "}" } else { "<>()[]{},; " };
        let path = path.split(|c| end.contains(c)).next().unwrap_or(path);
        path.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Value")
    };
    let is_named = |line: &str| line.split("serde_json::").skip(1).any(is_value);
    let named: Vec<String> = all_sources()
        .iter()
        .filter(|(path, text)| code_lines(shipped(path, text)).any(|(_, line)| is_named(line)))
        .map(|(path, _)| path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned())
        .collect();
    assert_eq!(named, UNTYPED.map(|(file, _)| file));
}

#[test]
fn every_file_says_what_it_is_and_stays_small() {
    let mut faults = Vec::new();
    for (path, text) in all_sources().into_iter().chain(sources("tests")).chain(sources("examples")).chain(sources("benches")) {
        if !text.starts_with("//!") {
            faults.push(format!("{} has no module doc", path.display()));
        }
        if 800 < text.lines().count() {
            faults.push(format!("{} is longer than 800 lines", path.display()));
        }
    }
    assert_tidy(&faults);
}

#[test]
fn mod_files_only_declare() {
    let mut faults = Vec::new();
    let declares = |path: &Path| path.ends_with("mod.rs") || path.ends_with("src/lib.rs");
    for (path, text) in all_sources().into_iter().filter(|(path, _)| declares(path)) {
        let words = ["fn ", "struct ", "enum ", "trait ", "impl ", "const ", "static "];
        let does_more = |line: &str| words.iter().any(|word| line.trim_start().trim_start_matches("pub ").starts_with(word));
        let lines = code_lines(&text).filter(|(_, line)| does_more(line));
        let fault = |number| format!("{}:{number}: a `mod.rs` declares modules and does nothing else", path.display());
        faults.extend(lines.map(|(number, _)| fault(number)));
    }
    assert_tidy(&faults);
}

#[test]
fn the_architecture_page_names_every_room() {
    let page = page("ARCHITECTURE.md");
    let missing: Vec<&str> = ROOMS.iter().map(|(room, _)| *room).filter(|room| !page.contains(&format!("`{room}`"))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not mention {missing:?}");
    for path in listed(&root().join("crates")) {
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(page.contains(&format!("`privateer-{name}`")), "ARCHITECTURE.md does not mention privateer-{name}");
    }
}

/// `matrixmultiply` picks its loops by the processor at run time, and with them the order of sums: nalgebra goes without it.
#[test]
fn products_do_not_depend_on_the_processor() {
    let lock = page("Cargo.lock");
    let package = |lock: &str| lock.split("[[package]]").find(|text| text.contains("name = \"nalgebra\"\n")).map(str::to_owned);
    assert!(package(&lock).is_some_and(|text| !text.contains("\"matrixmultiply\"")));
    // The planted fault: its feature `std` brings it.
    let planted = lock.replace(" \"approx\",", " \"approx\",\n \"matrixmultiply\",");
    assert!(package(&planted).is_some_and(|text| text.contains("\"matrixmultiply\"")));
}
