//! Every number that a spec can state, at both ends of what a file can hold: a check answers soon, and what it accepts runs.

use super::{contextual, environments, kernels, learners, policies};
use crate::support::run_all;
use privateer::engine::{Options, Preparation};
use privateer::env::DataFolder;
use privateer::registry::{Registry, SUMS, kinds};
use privateer::spec::{Sweep, listing, run_keys};
use privateer_backend::Cpu;
use privateer_config::error::{Error, ExitCode};
use privateer_config::params::KeyDoc;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Values at the ends of what a file can hold, and of what is accepted.
const EXTREME: [&str; 14] = [
    "-1",
    "0",
    "-0.0",
    "nan",
    "inf",
    "5e-324",
    "1e-300",
    "1e-49",
    "1e-12",
    "1e12",
    "1e49",
    "-1e49",
    "1e300",
    "9223372036854775807",
];
/// Values of which every key takes one.
const MODERATE: [&str; 9] = ["0.3", "0.9", "1", "2", "3", "1.2", "2.5", "20", "200"];

/// A spec, and the tables of it whose keys are tried.
struct Base {
    text: String,
    data: DataFolder,
    /// Where the keys stand.
    prefix: &'static str,
    keys: Vec<KeyDoc>,
}

/// One short spec for each registered item that reads numbers.
fn bases(data: &DataFolder) -> Vec<Base> {
    let mut all = Vec::new();
    let mut add = |text: String, prefix: &'static str, keys: &[KeyDoc]| {
        all.push(Base { text, data: data.clone(), prefix, keys: keys.to_vec() })
    };
    let policy = policies::spec("kind = \"tgp-ucb\"\n", "mechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n");
    let sums = policies::spec("kind = \"jdp-gp-ucb\"\n", "mechanism = \"tree\"\nepsilon = 4.0\ndelta = 1e-3\n");
    let is_sums = |name: &str| name != "none" && SUMS.iter().any(|entry| entry.name == name);
    add(policy.clone(), "", &run_keys());
    for kind in kinds() {
        for entry in listing(&Registry::builtin(), kind) {
            let name = entry.name;
            let online = |set: &str, loss: &str, learner: &str| {
                learners::spec("linear-regression", set, loss, "epsilon = 2.0\ndelta = 1e-3", &format!("kind = \"{learner}\"\n"))
            };
            let (text, prefix) = match kind {
                "environment" => {
                    // Both forms of domains and of data.
                    let mut texts = environments::settings(name);
                    if name == "points-table" {
                        texts.push(format!("{}\nstandardise = false\nscales = [1.0, 2.0]", texts[0]));
                    }
                    texts.iter().for_each(|setting| add(environments::spec(name, setting), "environment.", &entry.keys));
                    continue;
                }
                "contextual-environment" => {
                    for environment in contextual::environments().iter().filter(|text| text.contains(name)) {
                        add(contextual::spec(environment, "epsilon = 2.0", &contextual::policies()), "environment.", &entry.keys);
                    }
                    continue;
                }
                "kernel" => {
                    kernels::settings(name).iter().for_each(|set| add(kernels::spec(name, set), "environment.kernel.", &entry.keys));
                    continue;
                }
                "noise" if name == "bernoulli" => continue,
                "noise" => (policy.replace("{ kind = \"uniform\", bound = 0.5 }", &environments::noise(name)), "environment.noise."),
                "mechanism" if is_sums(name) => (sums.replace("\"tree\"", &format!("\"{name}\"")), "privacy."),
                "mechanism" => (policy.replace("\"laplace\"", &format!("\"{name}\"")), "privacy."),
                "curator" => (
                    policies::spec(
                        "kind = \"igp-ucb\"\n[curator]\nmechanism = \"input-noise\"\nepsilon = 2.0\ndelta = 1e-3\nradius = 1.0\nbound = 3.0\n",
                        "mechanism = \"none\"",
                    )
                    .replace("input-noise", name),
                    "curator.",
                ),
                "policy" => {
                    let of = policies::settings().into_iter().filter(|(policy, _)| *policy == name).take(1);
                    of.for_each(|(_, lines)| add(policies::spec(&lines, &policies::privacies(name)[2]), "policy.*.", &entry.keys));
                    continue;
                }
                "contextual-policy" => {
                    let environment = &contextual::environments()[0];
                    (contextual::spec(environment, "epsilon = 2.0", &format!("[[policy]]\nkind = \"{name}\"\n")), "policy.*.")
                }
                "features" => {
                    (policies::spec(&format!("kind = \"gp-ucb\"\nfeatures = {{ kind = \"{name}\" }}\n"), "mechanism = \"none\""), "policy.*.features.")
                }
                "problem" => (online("{ kind = \"lp-ball\", p = 1.5 }", "squared", "dp-tofw").replace("linear-regression", name), "problem."),
                "set" => (online(learners::sets("dp-tofw").iter().find(|set| set.contains(name)).expect("a setting"), "squared", "dp-tofw"), "problem.set."),
                "loss" => (online("\"simplex\"", name, "dp-tofw").replace(&format!("loss = \"{name}\""), &format!("loss = {{ kind = \"{name}\" }}")), "problem.loss."),
                "gradient-noise" => (online("{ kind = \"lp-ball\", p = 2 }", "squared", "dp-tofw"), "privacy."),
                "learner" => (online(learners::sets(name)[0], "squared", name), "learner.*."),
                other => panic!("no spec for the kind `{other}`: add it here"),
            };
            add(text, prefix, &entry.keys);
        }
    }
    for base in &mut all {
        for horizon in ["rounds = 100\n", "rounds = 60\n", "rounds = 40\n"] {
            base.text = base.text.replace(horizon, "rounds = 5\n");
        }
        if !base.text.contains("trials") {
            base.text = format!("trials = 1\n{}", base.text);
        }
    }
    all
}

/// The ways to write `value` under a key: as it is, in an array, or beside the kind of the table that reads it.
fn written(key: &KeyDoc, keys: &[KeyDoc], value: &str) -> Vec<(String, String)> {
    let array = [
        format!("[{value}]"),
        format!("[-1.5, {value}]"),
        format!("[{value}, 1.0]"),
        format!("[{value}, 1.0, 0.0, 1.0, 1.0, 1.0]"),
    ];
    let values = if key.accepts.contains("array of numbers") { array.to_vec() } else { vec![value.to_owned()] };
    let mut all: Vec<(String, String)> = values.iter().map(|value| (key.path.clone(), value.clone())).collect();
    if let Some((table, leaf)) = key.path.rsplit_once('.')
        && let Some(parent) = keys.iter().find(|other| other.path == table)
    {
        for word in parent.accepts.split('`').skip(1).step_by(2) {
            all.extend(values.iter().map(|value| (table.to_owned(), format!("{{ kind = \"{word}\", {leaf} = {value} }}"))));
        }
    }
    all
}

/// The greatest value that a key accepts.
fn greatest(key: &KeyDoc) -> Option<&str> {
    let end = [" to ", "<= "].into_iter().filter_map(|mark| key.accepts.split_once(mark)).map(|(_, rest)| rest).next()?;
    Some(end.split([' ', ',', ':', ';']).next().unwrap_or(end))
}

/// What went wrong with a check of a spec in which each of these keys has its value, and with a run of at most `most` rounds of all
/// trials; or whether it was accepted.
fn verdict(base: &Base, set: &[(String, String)], most: u64) -> Result<bool, String> {
    let overrides: Vec<_> =
        set.iter().map(|(path, value)| ("--set ".to_owned(), format!("{}{path}", base.prefix), value.clone())).collect();
    let backend = Cpu::default();
    let refused = |error: Error| match error.exit_code() {
        ExitCode::BadInput => Ok(false),
        code => Err(format!("{code:?}: {error}")),
    };
    let sweep = match Sweep::parse("spec.toml", &base.text, &overrides) {
        Ok(sweep) => sweep,
        Err(error) => return refused(error),
    };
    let preparation = Preparation::new(&sweep, &base.data, &backend);
    for plan in sweep.cells.iter() {
        if let Err(error) = preparation.facts_in_short(plan) {
            return refused(error);
        }
    }
    let trial_rounds: u64 = sweep.cells.iter().map(|cell| cell.rounds.saturating_mul(sweep.trials)).fold(0, u64::saturating_add);
    if most < trial_rounds {
        return Ok(true);
    }
    match run_all(&sweep, &base.data, &backend, Options::default()) {
        Err(error) => Err(format!("accepted, and then: {error}")),
        Ok(ran) => {
            let finite = ran.rows.values().flat_map(|rows| rows.measured()).flatten().all(|x| x.is_finite());
            if finite { Ok(true) } else { Err("accepted, and rows hold numbers that are not finite".to_owned()) }
        }
    }
}

/// What [`verdict`] says within half a minute, on a machine that has other work.
fn soon(base: &Arc<Base>, set: &[(String, String)], most: u64) -> Result<bool, String> {
    let (sender, receiver) = mpsc::channel();
    let (of_thread, set) = (Arc::clone(base), set.to_vec());
    // Left alone where it does not end: nothing else stops a search.
    std::thread::spawn(move || drop(sender.send(verdict(&of_thread, &set, most))));
    receiver.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|error| {
        Err(if error == mpsc::RecvTimeoutError::Timeout { "does not end".to_owned() } else { "a panic".to_owned() })
    })
}

/// The greatest numbers that the keys accept, each alone and those of one table together: a check asks for memory first, and ends soon.
#[test]
fn greatest_numbers_are_refused_or_checked() {
    let (_folder, data) = environments::tables();
    let mut faults = Vec::new();
    for mut base in bases(&data) {
        base.text += "\n[limits]\nmemory_gib = 0.5\n";
        let mut sets: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
        for key in base.keys.iter().filter(|key| key.accepts.contains("whole number")) {
            let table = key.path.rsplit_once('.').map_or("", |(table, _)| table);
            sets.entry(table).or_default().extend(greatest(key).map(|end| (key.path.clone(), end.to_owned())));
        }
        let mut all: Vec<Vec<(String, String)>> = sets.values().flatten().map(|one| vec![one.clone()]).collect();
        all.extend(sets.into_values().filter(|set| 1 < set.len()));
        let base = Arc::new(base);
        for set in all {
            if let Err(fault) = soon(&base, &set, 0) {
                faults.push(format!("{}{set:?}: {fault}\n{}", base.prefix, base.text));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn every_stated_number_is_refused_or_runs() {
    let (_folder, data) = environments::tables();
    let (mut faults, mut tried, mut accepted) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for base in bases(&data) {
        let base = Arc::new(base);
        for key in base.keys.iter().filter(|key| key.accepts.contains("number")) {
            let name = format!("{}{}", base.prefix, key.path);
            tried.insert(name.clone());
            // The reference states both ends.
            let states = |ends: [&str; 2]| ends.iter().all(|end| key.accepts.contains(end));
            if ![["number from ", " to "], ["a number >", " and <"], ["array of", "numbers"]].into_iter().any(states) {
                faults.push(format!("{name} accepts {}", key.accepts));
            }
            let values = EXTREME.iter().map(|value| (*value, true)).chain(MODERATE.iter().map(|value| (*value, false)));
            let all = values
                .flat_map(|(value, is_extreme)| written(key, &base.keys, value).into_iter().map(move |way| (way, is_extreme)));
            for ((path, value), is_extreme) in all {
                if !is_extreme && accepted.contains(&name) {
                    break;
                }
                match soon(&base, &[(path.clone(), value.clone())], 1000) {
                    Ok(is_accepted) => accepted.extend(is_accepted.then(|| name.clone())),
                    Err(fault) => faults.push(format!("{}{path} = {value}: {fault}\n{}", base.prefix, base.text)),
                }
            }
        }
    }
    // Whoever refuses everything would pass the rest.
    let never: Vec<&String> = tried.difference(&accepted).collect();
    assert!(faults.is_empty() && never.is_empty(), "never accepted: {never:?}\n{} faults\n{}", faults.len(), faults.join("\n\n"));
}

/// A word that is documented in place of a number is taken in quotes, and without them where it is a number in TOML.
#[test]
fn words_in_place_of_numbers_are_taken() {
    let (_folder, data) = environments::tables();
    let (mut faults, mut tried) = (Vec::new(), BTreeSet::new());
    for base in bases(&data) {
        for key in &base.keys {
            let Some((range, word)) = key.accepts.split_once(", or `").filter(|(range, _)| range.contains("number")) else {
                continue;
            };
            let Some(word) = word.strip_suffix('`').filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())) else {
                continue;
            };
            let bare = word.parse::<f64>().is_ok().then(|| word.to_owned());
            let mut hashes = BTreeSet::new();
            for value in [format!("\"{word}\"")].into_iter().chain(bare) {
                let set = ("--set ".to_owned(), format!("{}{}", base.prefix, key.path), value);
                match Sweep::parse("spec.toml", &base.text, std::slice::from_ref(&set)) {
                    Ok(sweep) => drop(hashes.insert(sweep.hash)),
                    Err(error) => faults.extend(Some(error.to_string()).filter(|error| error.contains(range))),
                }
                tried.insert((set.1, set.2));
            }
            // Both are recorded as the word.
            faults.extend((1 < hashes.len()).then(|| format!("{} = {word}: two specs", key.path)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(tried.iter().any(|(_, value)| value == "inf") && 6 <= tried.len(), "{tried:?}");
}
