//! Random deployments: every epsilon that a ledger states is at least the exact one of the worst pair of tables, and close to it where
//! all noise is Gaussian. The program is run as a user runs it, and killed now and then.
//!
//! False-alarm rate: one in 10^8 for the size of the noise (six standard deviations); all else is exact.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Deployments in one test; `PRIVATEER_DEPLOYMENTS` states another number.
const DEPLOYMENTS: u64 = 24;
/// Steps of one deployment.
const STEPS: u64 = 9;

/// SplitMix64: the test needs no more of its random numbers than that they differ.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn command(folder: &Path, words: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
    command.current_dir(folder).args(words).env_remove("PRIVATEER_DATA");
    command
}

fn run(folder: &Path, words: &[String]) -> Output {
    command(folder, words).output().expect("the program starts")
}

/// Runs a step, which may be refused and never fails in another way; whether it was done.
fn step(folder: &Path, words: &[String]) -> (bool, String) {
    let output = run(folder, words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0..=2)) && !said.contains("panicked"), "{words:?}: {said}");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Privacy and policy of sessions that release sums over users: about whole records, and about rewards at public points.
const SUMS: [(&str, &str); 2] = [
    ("mechanism = \"tree\"\nepsilon = 1.0\ndelta = 1e-5\nprotects = \"contexts and rewards\"", "jdp-linucb"),
    ("mechanism = \"tree\"\nepsilon = 1.0\ndelta = 1e-5", "jdp-linucb"),
];

fn session_spec(privacy: &str, policy: &str) -> String {
    format!(
        "rounds = 12\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"u\", \"v\"]\nstandardise = false\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\nbound = 1.0\n\
         [privacy]\n{privacy}\nclip = [-1.0, 1.0]\n[[policy]]\nkind = \"{policy}\"\n"
    )
}

/// Deployments of a few steps that always show a fault in what is added up, whatever a kill does to the random ones: files that
/// state spends, and commands. `ASKED` is the row that was asked for.
const DIRECTED: &[(&[&str], &[&str])] = &[
    // A pure loss of two points costs more than the Gaussian one of that size.
    (
        &["odometer", "duchi"],
        &[
            "odometer odometer --budget epsilon=1000,delta=0.2 --filter gaussian-dp --rows 2 --change record",
            "release --state duchi --mechanism duchi --epsilon 1 --clip 0,1 --odometer odometer --column y --round 1 0 0.5",
        ],
    ),
    // Two releases that are alike.
    (
        &["odometer", "laplace"],
        &[
            "odometer odometer --budget epsilon=1000,delta=1e-5 --filter sum --rows 2",
            "release --state laplace --mechanism laplace --epsilon 1 --clip 0,1 --odometer odometer --column y --round 1 0 0.5",
            "release --state laplace --round 2 0 0.5",
        ],
    ),
    // A small radius, then a large one.
    (
        &["odometer", "near.csv.ledger.json", "far.csv.ledger.json"],
        &[
            "odometer odometer --budget epsilon=1e12,delta=1e-5 --filter sum --rows 2 --change inputs=0.5",
            "curate table.csv --columns a,b --scales 1,1 --bound 2 --radius 0.001 --epsilon 3 --delta 1e-7 --out near.csv \
             --odometer odometer",
            "curate table.csv --columns a,b --scales 1,1 --bound 2 --radius 4 --epsilon 0.5 --delta 1e-7 --out far.csv \
             --odometer odometer",
        ],
    ),
    // Columns of unlike scales.
    (
        &["inputs.csv.ledger.json"],
        &["curate table.csv --columns a,b --scales 4,0.5 --bound 2 --radius 1 --epsilon 0.5 --delta 1e-7 --out inputs.csv"],
    ),
    // Answers about whole records beside released inputs.
    (
        &["odometer", "inputs.csv.ledger.json", "sums"],
        &[
            "odometer odometer --budget epsilon=1e12,delta=1e-4 --filter sum --rows 2 --change inputs=1",
            "curate table.csv --columns a,b --scales 1,1 --bound 2 --radius 1 --epsilon 0.5 --delta 1e-7 --out inputs.csv \
             --odometer odometer",
            "init sums sums.toml --column z --odometer odometer",
            "ask sums",
            "tell sums ASKED 0.5",
        ],
    ),
];

struct Deployment<'a> {
    folder: &'a Path,
    random: Random,
    rows: u64,
    table: Vec<[f64; 3]>,
    /// Files that state spends.
    files: Vec<String>,
    odometer: Option<String>,
    /// Squares of noise over their stated standard deviation.
    noise: Vec<f64>,
}

impl Deployment<'_> {
    fn shared(&self) -> String {
        self.odometer.as_ref().map_or(String::new(), |name| format!(" --odometer {name}"))
    }

    /// Releases inputs: random columns, units, radius, budget, and now and then a projection.
    fn curate(&mut self) {
        let name = format!("inputs{}.csv", self.files.len());
        let columns = self.random.of(&["a,b", "a,b", "a,b", "b,a", "c"]);
        let scales: &[f64] = if columns == "c" { &[2.0] } else { self.random.of(&[&[1.0, 1.0], &[1.0, 1.0], &[4.0, 0.5]]) };
        let (bound, radius) = (self.random.of(&[2.0, 3.0]), self.random.of(&[0.001, 0.3, 1.0, 4.0, 6.0]));
        let (epsilon, delta) = (self.random.of(&[0.02, 0.5, 3.0]), self.random.of(&["1e-7", "1e-3"]));
        let projection = if self.random.below(6) == 0 && columns != "c" { " --projection 1" } else { "" };
        let stated: Vec<String> = scales.iter().map(f64::to_string).collect();
        let text = format!(
            "curate table.csv --columns {columns} --scales {} --bound {bound} --radius {radius} --epsilon {epsilon} --delta {delta} \
             --out {name}{projection}{}",
            stated.join(","),
            self.shared()
        );
        if !step(self.folder, &words(&text)).0 {
            return;
        }
        self.files.push(format!("{name}.ledger.json"));
        if projection.is_empty() {
            let ledger: Value = read(self.folder, &format!("{name}.ledger.json"));
            let sigma = ledger["sigma"].as_f64().expect("a number");
            let released = fs::read_to_string(self.folder.join(&name)).expect("released inputs");
            for (row, line) in self.table.iter().zip(released.lines().skip(1)) {
                let place = |column: &str| ["a", "b", "c"].iter().position(|name| *name == column).expect("a column");
                let raw: Vec<f64> = columns.split(',').zip(scales).map(|(column, scale)| row[place(column)] / scale).collect();
                let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
                let shrink = if bound < norm { bound / norm } else { 1.0 };
                let found = line.split(',').map(|x| x.parse::<f64>().expect("a number"));
                self.noise.extend(raw.iter().zip(found).map(|(raw, found)| ((found - shrink * raw) / sigma).powi(2)));
            }
        }
    }

    /// Releases values, sometimes of a column that is also an input and written in another way.
    fn release(&mut self) {
        let mechanism = self.random.of(&[
            "laplace",
            "duchi",
            "piecewise",
            "hybrid",
            "randomised-response",
            "warped-piecewise",
            "gaussian",
            "gaussian",
        ]);
        let column = self.random.of(&["y", "y", "y", " Y", "C"]);
        let state = format!("{mechanism}{}", if column == "C" { "-c" } else { "" });
        let (row, round) = (self.random.below(self.rows), self.random.below(4) + 1);
        let mut all = words(&format!("release --state {state} --round {round}"));
        if !self.folder.join(&state).exists() {
            let delta = if mechanism == "gaussian" { " --delta 1e-4" } else { "" };
            let epsilon = self.random.of(&["0.3", "1"]);
            all.extend(words(&format!("--mechanism {mechanism} --epsilon {epsilon}{delta} --clip 0,1{}", self.shared())));
            all.extend(["--column".to_owned(), column.to_owned()]);
        }
        all.extend([row.to_string(), "0.5".to_owned()]);
        self.perhaps_killed(&all);
        self.know(&state);
    }

    /// Answers of a session: values with noise, or sums over users.
    fn answers(&mut self, of_sums: bool) {
        let state = if of_sums { "sums" } else { "session" };
        if !self.folder.join(state).exists() {
            let (privacy, policy) = if of_sums {
                self.random.of(&SUMS)
            } else {
                self.random.of(&[
                    ("mechanism = \"hybrid\"\nepsilon = 0.5", "tgp-ucb"),
                    ("mechanism = \"gaussian\"\nepsilon = 0.5\ndelta = 1e-5", "tgp-ucb"),
                ])
            };
            let spec = session_spec(privacy, policy);
            fs::write(self.folder.join(format!("{state}.toml")), spec).expect("written");
            step(self.folder, &words(&format!("init {state} {state}.toml --column z{}", self.shared())));
        }
        for _ in 0..2 {
            let (asked, row) = step(self.folder, &words(&format!("ask {state}")));
            if asked {
                self.perhaps_killed(&words(&format!("tell {state} {} 0.5", row.trim())));
            }
        }
        self.know(state);
    }

    /// Runs a command, and in one of five cases kills it at some moment.
    fn perhaps_killed(&mut self, all: &[String]) {
        if self.random.below(5) != 0 {
            step(self.folder, all);
            return;
        }
        let mut child =
            command(self.folder, all).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_micros(1000 * self.random.below(20)));
        drop(child.kill());
        child.wait().expect("it ends");
    }

    /// Uses a copy of a state or of the odometer, which is refused while the original stands.
    fn copy(&mut self) {
        let Some(name) = self.files.iter().find(|name| !name.ends_with("json")).cloned() else { return };
        fs::copy(self.folder.join(&name), self.folder.join("copy")).expect("copied");
        let used = match name.as_str() {
            "odometer" => {
                "curate table.csv --columns a,b --bound 2 --radius 1 --epsilon 1 --delta 1e-6 --out copied.csv --odometer copy"
            }
            "session" | "sums" => "ask copy",
            _ => "release --state copy --round 9 0 0.5",
        };
        let (done, _) = step(self.folder, &words(used));
        assert!(!done, "a copy of `{name}` is used while the original stands");
    }

    fn know(&mut self, file: &str) {
        if self.folder.join(file).exists() && !self.files.iter().any(|known| known == file) {
            self.files.push(file.to_owned());
        }
    }
}

fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(name)).expect("a file")).expect("JSON")
}

/// Plays one deployment and audits it: how many epsilons were compared, how many of them of Gaussian releases alone, and the squares of
/// its noise.
fn deploy(seed: u64) -> (usize, usize, Vec<f64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random(seed);
    let rows = 2 + random.below(3);
    let table: Vec<[f64; 3]> = (0..rows).map(|_| [0, 1, 2].map(|_| random.below(1000) as f64 / 200.0 - 2.5)).collect();
    let lines: String = table.iter().map(|[a, b, c]| format!("{a},{b},{c},0.5\n")).collect();
    fs::write(folder.path().join("table.csv"), format!("a,b,c,y\n{lines}")).expect("written");
    let points: String = (0..rows).map(|i| format!("{i},{}\n", (i * i) % 3)).collect();
    fs::write(folder.path().join("points.csv"), format!("u,v\n{points}")).expect("written");
    let mut made =
        Deployment { folder: folder.path(), random, rows, table, files: Vec::new(), odometer: None, noise: Vec::new() };
    if made.random.below(4) != 0 {
        let epsilon = made.random.of(&["2", "20", "1000"]);
        // At a large delta pure losses that are taken for too small Gaussian ones show.
        let (filter, delta) = if seed % 3 == 1 {
            ("gaussian-dp", "0.2")
        } else {
            (made.random.of(&["sum", "zcdp", "gaussian-dp"]), made.random.of(&["1e-5", "0.01", "0.2"]))
        };
        let change = made.random.of(&["", " --change record", " --change record", " --change values", " --change inputs=0.5"]);
        let text = format!("odometer odometer --budget epsilon={epsilon},delta={delta} --filter {filter} --rows {rows}{change}");
        assert!(step(made.folder, &words(&text)).0);
        made.odometer = Some("odometer".to_owned());
        made.know("odometer");
    }
    // Every second deployment has three kinds of releases or more.
    let kinds: Vec<u64> =
        if seed.is_multiple_of(2) { vec![0, 1, 2, 3] } else { vec![made.random.below(4), made.random.below(4)] };
    for at in 0..STEPS {
        match kinds[(at as usize + made.random.below(2) as usize) % kinds.len()] {
            0 => made.curate(),
            1 => made.release(),
            2 => made.answers(false),
            _ => made.answers(true),
        }
    }
    made.copy();
    let (stated, gaussian) = audited(made.folder, &made.files, &format!("deployment {seed}"));
    (stated, gaussian, made.noise)
}

/// Audits the files of a deployment: how many epsilons were compared, and how many of them of Gaussian releases alone.
fn audited(folder: &Path, files: &[String], which: &str) -> (usize, usize) {
    if files.is_empty() {
        return (0, 0);
    }
    let mut all = words("audit --json");
    // A release state may be called as its mechanism.
    // Nothing was made by a command that was killed before it had begun: it leaves an empty file, or none.
    let is_made = |name: &&String| {
        let found = rusqlite::Connection::open(folder.join(name)).expect("a file");
        let tables = found.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
        // The ledger of a curated table is no database.
        tables.is_ok_and(|tables| 0 < tables) || name.ends_with(".ledger.json")
    };
    all.extend(files.iter().filter(is_made).map(|name| format!("./{name}")));
    let output = run(folder, &all);
    let (found, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{which}: {said}{found}");
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let stated = found["stated"].as_array().expect("statements");
    let mut gaussian = 0;
    for line in stated {
        let (Some(stated), Some(exact)) = (line["stated"].as_f64(), line["exact"].as_f64()) else {
            panic!("{which}: every loss here is bounded: {line}");
        };
        let is_line = !line["name"].as_str().is_some_and(|name| name.ends_with("budget"));
        if is_line && line["is_gaussian"] == true {
            assert!(stated <= 1.1 * exact + 0.01, "{which}: {line}");
            gaussian += 1;
        }
    }
    (stated.len(), gaussian)
}

/// Plays a deployment of fixed steps, none of which is refused, and audits it.
fn direct(files: &[&str], steps: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("table.csv"), "a,b,c,y\n1,0.5,0.2,0.5\n-1,0.3,1,0.5\n").expect("written");
    fs::write(folder.path().join("points.csv"), "u,v\n0,0\n1,1\n").expect("written");
    fs::write(folder.path().join("sums.toml"), session_spec(SUMS[0].0, SUMS[0].1)).expect("written");
    let mut asked = String::new();
    for text in steps {
        let (done, said) = step(folder.path(), &words(&text.replace("ASKED", asked.trim())));
        assert!(done, "{text}");
        asked = said;
    }
    let files: Vec<String> = files.iter().map(|&name| name.to_owned()).collect();
    assert!(0 < audited(folder.path(), &files, steps[0]).0, "{steps:?}: nothing is stated");
}

/// No line, budget or claim is below the exact loss, none of Gaussian releases is a tenth above, and the noise has its stated size.
#[test]
fn every_stated_epsilon_is_the_exact_one() {
    DIRECTED.iter().for_each(|(files, steps)| direct(files, steps));
    let stated = std::env::var("PRIVATEER_DEPLOYMENTS").ok().and_then(|number| number.parse().ok());
    let deployments: u64 = stated.unwrap_or(DEPLOYMENTS);
    let parts: Vec<(usize, usize, Vec<f64>)> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..2)
            .map(|half| scope.spawn(move || (0..deployments / 2).map(|at| deploy(2 * at + half)).collect::<Vec<_>>()))
            .collect();
        started.into_iter().flat_map(|thread| thread.join().expect("a deployment")).collect()
    });
    let (stated, gaussian) = parts.iter().fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1));
    let noise: Vec<f64> = parts.into_iter().flat_map(|part| part.2).collect();
    println!("{stated} statements, {gaussian} of Gaussian releases alone, {} numbers with noise", noise.len());
    assert!(150 < stated && 50 < gaussian && 100 < noise.len());
    let (n, mean) = (noise.len() as f64, noise.iter().sum::<f64>() / noise.len() as f64);
    assert!((mean - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "{mean} over {n}");
}
