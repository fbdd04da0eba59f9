//! Asks the questions with known answers under `tests/answers` by running the program.
//!
//! `tests/answers/README.md` describes the format. The right answers were computed without this program's code.

use crate::program::{code, run, stderr, stdout};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// One folder's `question.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The question in words.
    question: String,
    /// Where the right answer comes from.
    source: String,
    /// Arguments of the program, one array a run, in order.
    commands: Vec<Vec<String>>,
    /// Exit code of the last run; the earlier ones end with 0.
    #[serde(default)]
    exit_code: i32,
    answer: Vec<Answer>,
}

/// Where one number stands, and what is right.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Answer {
    /// File that a run wrote; without it, the standard output of the last run.
    file: Option<PathBuf>,
    /// Column of a CSV file.
    column: Option<String>,
    /// Texts that single out one row of the CSV file, by column.
    row: BTreeMap<String, String>,
    /// JSON pointer, as in `/total/epsilon`.
    pointer: Option<String>,
    /// Text directly before the number; its first place counts.
    after: Option<String>,
    /// A query of a deployment whose only value is the number.
    sql: Option<String>,
    equals: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// Largest deviation that is still right.
    tolerance: f64,
    /// Columns of the interval around the number, of which `widened` halves widen the tolerance.
    interval: Option<[String; 2]>,
    widened: f64,
}

impl Answer {
    /// Returns the number and its tolerance.
    fn find(&self, text: &str) -> Result<(f64, f64), String> {
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| format!("{text:?} is no number"));
        match (&self.column, &self.pointer, &self.after) {
            (Some(column), None, None) => {
                let cell = |column: &str| number(&self.cell(text, column)?);
                let slack = match &self.interval {
                    Some([low, high]) => 0.5 * self.widened * (cell(high)? - cell(low)?),
                    None => 0.0,
                };
                Ok((cell(column)?, self.tolerance + slack))
            }
            (None, Some(pointer), None) => {
                let json: Value = serde_json::from_str(text).map_err(|why| format!("no JSON: {why}"))?;
                let found = json.pointer(pointer).ok_or_else(|| format!("nothing at `{pointer}`"))?;
                Ok((found.as_f64().ok_or_else(|| format!("`{pointer}` is {found}"))?, self.tolerance))
            }
            (None, None, Some(before)) => {
                let (_, rest) = text.split_once(before.as_str()).ok_or_else(|| format!("no {before:?} in:\n{text}"))?;
                let is_end = |c: char| c.is_whitespace() || [',', ';', ')', ':'].contains(&c);
                let word = rest.trim_start().split(is_end).next().unwrap_or_default();
                Ok((number(word.trim_end_matches('.'))?, self.tolerance))
            }
            _ => Err("state one of `column`, `pointer`, `after`".to_owned()),
        }
    }

    /// Returns a cell of the one row that fits.
    fn cell(&self, text: &str, column: &str) -> Result<String, String> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<BTreeMap<String, String>> =
            reader.deserialize().collect::<Result<_, _>>().map_err(|why| format!("no CSV: {why}"))?;
        let fits = |row: &&BTreeMap<String, String>| self.row.iter().all(|(key, value)| row.get(key) == Some(value));
        let mut found = rows.iter().filter(fits);
        match (found.next(), found.next()) {
            (Some(row), None) => row.get(column).cloned().ok_or_else(|| format!("no column `{column}`")),
            (None, _) => Err(format!("no row {:?}", self.row)),
            _ => Err(format!("several rows {:?}", self.row)),
        }
    }

    /// Returns what is wrong with the answer found in this text.
    fn fault(&self, text: &str) -> Option<String> {
        let (found, tolerance) = match self.find(text) {
            Ok(found) => found,
            Err(why) => return Some(why),
        };
        // A NaN is never right.
        let is_right = match (self.equals, self.at_least, self.at_most) {
            (Some(right), None, None) => (found - right).abs() <= tolerance,
            (None, Some(least), None) => least - tolerance <= found,
            (None, None, Some(most)) => found <= most + tolerance,
            _ => return Some("state one of `equals`, `at_least`, `at_most`".to_owned()),
        };
        (!is_right).then(|| format!("{found} (tolerance {tolerance}) where right is {self:?}"))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers")
}

/// Asks one question in a copy of its folder; returns what is wrong.
fn ask(question: &Path) -> Vec<String> {
    let name = question.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(question.join("question.toml")).expect("a question.toml");
    let asked: Question = toml::from_str(&text).unwrap_or_else(|why| panic!("{name}/question.toml: {why}"));
    assert!(!asked.question.is_empty() && !asked.source.is_empty() && !asked.answer.is_empty(), "{name} states too little");
    let copy = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(question).expect("the folder").map(|entry| entry.expect("an entry")) {
        fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a plain file");
    }
    let mut printed = String::new();
    for (i, words) in asked.commands.iter().enumerate() {
        let output = run(copy.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
        let expected = if i + 1 == asked.commands.len() { asked.exit_code } else { 0 };
        if code(&output) != Some(expected) {
            return vec![format!("{name}: {words:?} ends with {:?}:\n{}", code(&output), stderr(&output))];
        }
        printed = stdout(&output);
    }
    let fault = |answer: &Answer| match &answer.file {
        None => answer.fault(&printed),
        Some(file) if answer.sql.is_some() => {
            let sql = answer.sql.as_deref().unwrap_or_default();
            let found: i64 = crate::database::one(copy.path(), &file.to_string_lossy(), sql);
            Answer { sql: None, after: Some("is".to_owned()), row: BTreeMap::new(), ..answer.clone() }
                .fault(&format!("is {found}"))
        }
        Some(file) => match fs::read_to_string(copy.path().join(file)) {
            Ok(text) => answer.fault(&text),
            Err(why) => Some(format!("{}: {why}", file.display())),
        },
    };
    asked.answer.iter().filter_map(fault).map(|why| format!("{name}: {why}")).collect()
}

#[test]
fn questions_have_the_right_answers() {
    let entries = fs::read_dir(folder()).expect("questions").map(|entry| entry.expect("an entry").path());
    let mut questions: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    questions.sort();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
            faults.extend(ask(question));
        }
        faults
    };
    let faults: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a question that can be asked")).collect()
    });
    assert!(10 <= questions.len(), "{} questions", questions.len());
    assert!(faults.is_empty(), "{} answers are wrong\n\n{}\n", faults.len(), faults.join("\n"));
}

/// Every kind of answer is refused where the number is wrong, absent, ambiguous or NaN.
#[test]
fn wrong_answers_are_seen() {
    let answer = |text: &str| toml::from_str::<Answer>(text).expect("an answer");
    let csv = "policy,x,low,high\na,1.5,1,2\nb,2.5,2,3\nb,9,8,10\nc,NaN,0,0\n";
    let of_a = |rest: &str| answer(&format!("column = \"x\"\nrow = {{ policy = \"a\" }}\n{rest}")).fault(csv);
    for right in ["equals = 1.4\ntolerance = 0.2", "at_least = 1.5", "at_most = 1.5", "at_least = 1.5\ntolerance = 0.1"] {
        assert_eq!(of_a(right), None, "{right}");
    }
    assert_eq!(of_a("at_least = 2.4\ninterval = [\"low\", \"high\"]\nwidened = 2.0"), None);
    for wrong in ["equals = 1.4\ntolerance = 0.05", "equals = 1.4", "at_least = 1.6", "at_most = 1.4", ""] {
        assert!(of_a(wrong).is_some(), "{wrong}");
    }
    assert!(of_a("at_least = 2.6\ninterval = [\"low\", \"high\"]\nwidened = 2.0").is_some());
    for row in ["b", "c", "d"] {
        assert!(answer(&format!("column = \"x\"\nrow = {{ policy = \"{row}\" }}\nat_least = 0")).fault(csv).is_some(), "{row}");
    }
    let json = "{\"total\": {\"epsilon\": 2.0}}";
    assert_eq!(answer("pointer = \"/total/epsilon\"\nequals = 2").fault(json), None);
    assert!(answer("pointer = \"/total/epsilon\"\nequals = 3").fault(json).is_some());
    assert!(answer("pointer = \"/total/delta\"\nequals = 2").fault(json).is_some());
    let text = "spent: epsilon = 2.5, delta = 0";
    assert_eq!(answer("after = \"epsilon =\"\nequals = 2.5").fault(text), None);
    assert!(answer("after = \"delta =\"\nequals = 2.5").fault(text).is_some());
    assert!(answer("after = \"rho =\"\nequals = 2.5").fault(text).is_some());
}
