//! Asks the questions with known answers under `tests/answers` by running the program.
//!
//! `tests/answers/README.md` describes the format. The right answers were computed without this program's code.

use crate::program::*;
use privateer::run::thread_pool;
use rayon::prelude::*;
use serde::Deserialize;

/// One folder's `question.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
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
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Answer {
    /// File that a run wrote; without it, the standard output of the last run.
    file: Option<PathBuf>,
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
            (None, None, None) if self.sql.is_some() => Ok((number(text)?, self.tolerance)),
            _ => Err("state one of `column`, `pointer`, `after`, `sql`".to_owned()),
        }
    }

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

    /// Says what is wrong with the answer found in this text.
    fn check(&self, text: &str) -> Result<(), String> {
        let (found, tolerance) = self.find(text)?;
        // A NaN is never right.
        let is_right = match (self.equals, self.at_least, self.at_most) {
            (Some(right), None, None) => (found - right).abs() <= tolerance,
            (None, Some(least), None) => least - tolerance <= found,
            (None, None, Some(most)) => found <= most + tolerance,
            _ => return Err("state one of `equals`, `at_least`, `at_most`".to_owned()),
        };
        if is_right { Ok(()) } else { Err(format!("{found} (tolerance {tolerance}) where right is {self:?}")) }
    }
}

/// Asks one question in a copy of its folder; returns what is wrong.
fn ask(question: &Path) -> Vec<String> {
    let name = question.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(question.join("question.toml")).expect("a question.toml");
    let asked: Question = toml::from_str(&text).unwrap_or_else(|why| panic!("{name}/question.toml: {why}"));
    assert!(!asked.question.is_empty() && !asked.source.is_empty() && !asked.answer.is_empty(), "{name} states too little");
    let copy = folder();
    files(question).iter().for_each(|(name, bytes)| copy.write(name, bytes));
    let mut printed = String::new();
    for (i, words) in asked.commands.iter().enumerate() {
        let output = copy.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let expected = if i + 1 == asked.commands.len() { asked.exit_code } else { 0 };
        if code(&output) != Some(expected) {
            return vec![format!("{name}: {words:?} ends with {:?}:\n{}", code(&output), stderr(&output))];
        }
        printed = stdout(&output);
    }
    let text = |answer: &Answer| match (&answer.file, &answer.sql) {
        (None, _) => Ok(printed.clone()),
        (Some(file), Some(sql)) => Ok(copy.one::<i64>(&file.to_string_lossy(), sql).to_string()),
        (Some(file), None) => fs::read_to_string(copy.join(file)).map_err(|why| format!("{}: {why}", file.display())),
    };
    let faults = asked.answer.iter().filter_map(|answer| text(answer).and_then(|text| answer.check(&text)).err());
    faults.map(|why| format!("{name}: {why}")).collect()
}

#[test]
fn questions_have_the_right_answers() {
    let mut questions = listed(&root().join("tests/answers"));
    questions.retain(|path| path.is_dir());
    // Each waits for a program: the threads of other tests' runs stay free.
    let two = thread_pool(Some(2)).expect("threads");
    let faults: Vec<String> = two.install(|| questions.par_iter().flat_map_iter(|question| ask(question)).collect());
    assert!(10 <= questions.len(), "{} questions", questions.len());
    assert!(faults.is_empty(), "{} answers are wrong\n\n{}\n", faults.len(), faults.join("\n"));
}

/// Every kind of answer is refused where the number is wrong, absent, ambiguous or NaN.
#[test]
fn wrong_answers_are_seen() {
    let answer = |text: &str| toml::from_str::<Answer>(text).expect("an answer");
    let csv = "policy,x,low,high\na,1.5,1,2\nb,2.5,2,3\nb,9,8,10\nc,NaN,0,0\n";
    let of_a = |rest: &str| answer(&format!("column = \"x\"\nrow = {{ policy = \"a\" }}\n{rest}")).check(csv);
    for right in ["equals = 1.4\ntolerance = 0.2", "at_least = 1.5", "at_most = 1.5", "at_least = 1.5\ntolerance = 0.1"] {
        assert_eq!(of_a(right), Ok(()), "{right}");
    }
    assert_eq!(of_a("at_least = 2.4\ninterval = [\"low\", \"high\"]\nwidened = 2.0"), Ok(()));
    for wrong in ["equals = 1.4\ntolerance = 0.05", "equals = 1.4", "at_least = 1.6", "at_most = 1.4", ""] {
        assert!(of_a(wrong).is_err(), "{wrong}");
    }
    assert!(of_a("at_least = 2.6\ninterval = [\"low\", \"high\"]\nwidened = 2.0").is_err());
    for row in ["b", "c", "d"] {
        assert!(answer(&format!("column = \"x\"\nrow = {{ policy = \"{row}\" }}\nat_least = 0")).check(csv).is_err(), "{row}");
    }
    let json = "{\"total\": {\"epsilon\": 2.0}}";
    assert_eq!(answer("pointer = \"/total/epsilon\"\nequals = 2").check(json), Ok(()));
    assert!(answer("pointer = \"/total/epsilon\"\nequals = 3").check(json).is_err());
    assert!(answer("pointer = \"/total/delta\"\nequals = 2").check(json).is_err());
    let text = "spent: epsilon = 2.5, delta = 0";
    assert_eq!(answer("after = \"epsilon =\"\nequals = 2.5").check(text), Ok(()));
    assert!(answer("after = \"delta =\"\nequals = 2.5").check(text).is_err());
    assert!(answer("after = \"rho =\"\nequals = 2.5").check(text).is_err());
}
