//! What a check found.

use serde_json::Value;

/// How far a number may be from the file's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// `|a - b| <= 1e-9 (1 + |b|)`: the files under `bo`.
    Mixed,
    /// `|a - b| <=` this.
    Absolute(f64),
    /// `|a - b| <=` this times the largest `|b|` of the innermost list (a number alone is a list of one).
    Relative(f64),
}

impl Tolerance {
    /// As a file states it: `tolerance` and `relative`.
    pub fn stated(file: &Value) -> Result<Self, String> {
        let tolerance = file["tolerance"].as_f64().ok_or("the file has no `tolerance`")?;
        let relative = file["relative"].as_bool().ok_or("the file has no `relative`")?;
        Ok(if relative { Self::Relative(tolerance) } else { Self::Absolute(tolerance) })
    }

    fn most(self) -> f64 {
        match self {
            Self::Mixed => 1e-9,
            Self::Absolute(tolerance) | Self::Relative(tolerance) => tolerance,
        }
    }

    /// What an error is divided by: `b` and the largest magnitude of its list.
    fn scale(self, b: f64, list: f64) -> f64 {
        match self {
            Self::Mixed => 1.0 + b.abs(),
            Self::Absolute(_) => 1.0,
            Self::Relative(_) => list,
        }
    }
}

/// A section of a file that was computed and compared.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its path in the file.
    pub name: String,
    /// How many numbers were compared.
    pub numbers: usize,
    /// The largest error in units of its scale (see [`Tolerance`]), infinite where something is missing or not a number.
    pub largest_error: f64,
}

/// The state of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Something was checked, and all of it agrees.
    Agrees,
    /// Something is beyond the tolerance, or nothing was checked.
    Disagrees,
}

/// A field of a file, and what of a computation it holds.
pub type Part<T> = (&'static str, fn(&T) -> Vec<f64>);

/// What came of one file.
#[derive(Debug, Clone)]
pub struct Outcome {
    within: Tolerance,
    /// Sections that were compared.
    pub checked: Vec<Section>,
    /// Sections that nothing here computes.
    pub not_yet: Vec<String>,
    /// One line for each section that disagrees or cannot be understood.
    pub failures: Vec<String>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { within: Tolerance::Mixed, checked: Vec::new(), not_yet: Vec::new(), failures: Vec::new() }
    }
}

impl Outcome {
    /// With the tolerance that the file states; a file that states none has failed.
    pub fn stated(file: &Value) -> Self {
        match Tolerance::stated(file) {
            Ok(within) => Self { within, ..Self::default() },
            Err(problem) => Self { failures: vec![problem], ..Self::default() },
        }
    }

    /// Compares a section: `found` is what this build computes (nested lists flattened, innermost last), `file` what the
    /// file says. An error on the way to `found` is a failure of the section.
    pub fn compare(&mut self, section: &str, found: Result<Vec<f64>, String>, file: &Value) {
        let found = match found {
            Ok(found) => found,
            Err(problem) => return self.failures.push(format!("{section}: {problem}")),
        };
        let mut expected = Vec::new();
        flatten(file, &mut expected);
        if found.is_empty() || found.len() != expected.len() {
            return self.failures.push(format!("{section}: {} numbers computed, {} in the file", found.len(), expected.len()));
        }
        let error = |(a, (b, list)): (&f64, &(f64, f64))| {
            let difference = (a - b).abs();
            let error = if difference == 0.0 { 0.0 } else { difference / self.within.scale(*b, *list) };
            if error.is_nan() { f64::INFINITY } else { error }
        };
        let errors: Vec<f64> = found.iter().zip(&expected).map(error).collect();
        let largest_error = errors.iter().fold(0.0, |m: f64, e| m.max(*e));
        if self.within.most() < largest_error
            && let Some(at) = errors.iter().position(|e| *e == largest_error)
        {
            self.failures.push(format!("{section}: number {at} is {:e}, the file has {:e}", found[at], expected[at].0));
        }
        self.checked.push(Section { name: section.to_owned(), numbers: found.len(), largest_error });
    }

    /// Compares numbers under their names, each a list of its own.
    pub fn compare_named(&mut self, section: &str, found: Result<Vec<(&str, f64)>, String>, file: &Value) {
        match found {
            Ok(found) => {
                for (name, value) in found {
                    self.compare(&format!("{section} {name}"), Ok(vec![value]), &file[name]);
                }
            }
            Err(problem) => self.failures.push(format!("{section}: {problem}")),
        }
    }

    /// Compares parts of what was computed with the fields of their names.
    pub fn compare_parts<T>(&mut self, section: &str, found: &Result<T, String>, parts: &[Part<T>], file: &Value) {
        match found {
            Ok(found) => {
                for (name, part) in parts {
                    self.compare(&format!("{section} {name}"), Ok(part(found)), &file[*name]);
                }
            }
            Err(problem) => self.failures.push(format!("{section}: {problem}")),
        }
    }

    /// Notes every field of `file` that is neither among `known` nor a comment as not yet checked.
    pub fn note_rest(&mut self, file: &Value, known: &[&str]) {
        let fields = file.as_object().into_iter().flat_map(|fields| fields.keys());
        let comments = ["note", "notes", "domain", "closed_form", "tolerance", "relative"];
        self.not_yet.extend(fields.filter(|key| !known.contains(&key.as_str()) && !comments.contains(&key.as_str())).cloned());
    }

    /// The largest error of all sections; 0 if there was none.
    pub fn largest_error(&self) -> f64 {
        self.checked.iter().fold(0.0, |m, section| m.max(section.largest_error))
    }

    /// Agrees only if something was checked and nothing failed.
    pub fn verdict(&self) -> Verdict {
        if self.checked.is_empty() || !self.failures.is_empty() { Verdict::Disagrees } else { Verdict::Agrees }
    }
}

/// Numbers in order, each with the largest magnitude of its innermost list; anything else becomes NaN, which agrees with
/// nothing.
fn flatten(value: &Value, out: &mut Vec<(f64, f64)>) {
    let number = |item: &Value| item.as_f64().unwrap_or(f64::NAN);
    match value {
        Value::Array(items) if items.iter().any(Value::is_array) => items.iter().for_each(|item| flatten(item, out)),
        Value::Array(items) => {
            let largest = items.iter().map(|item| number(item).abs()).fold(0.0, f64::max);
            out.extend(items.iter().map(|item| (number(item), largest)));
        }
        other => out.push((number(other), number(other).abs())),
    }
}
