//! Compares what this build computes with what a file states.

use super::read::{Read, at, get};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The largest allowed error, and what the error of `b` in a list with this largest magnitude is divided by.
type Tolerance = (f64, fn(f64, f64) -> f64);

/// The tolerance that a file states: absolute, or relative to the innermost list (a number alone is a list of one); mixed without one.
fn tolerance(file: &Value) -> Read<Tolerance> {
    match (&file["tolerance"], &file["relative"]) {
        (Value::Null, Value::Null) => Ok((1e-9, |b, _| 1.0 + b.abs())),
        (Value::Number(_), Value::Bool(true)) => Ok((get(file, "tolerance")?, |_, largest| largest)),
        (Value::Number(_), Value::Bool(false)) => Ok((get(file, "tolerance")?, |_, _| 1.0)),
        _ => Err("`tolerance` is not a number, or `relative` not `true` or `false`".into()),
    }
}

/// Fields that are read, or say something to the reader, and are not computed.
const INPUTS: &str = "B K R T X Y Z Z_projected alpha approx_eps closed_form d delta delta_prime dictionary dim domain eps f g grid \
    h_sub initial items kernel l levels m max_norm min_gap min_margin moments n node_noise node_normals node_of_noise noise noise_matrix \
    noise_vector note notes observed p parameters params radius relative reward_noise rounds samples sigma \
    sigma_n2 sigma_y2 t0 theta tolerance unit_laplace y z";

/// Lists whose entries have scales of their own.
const ENTRY_BY_ENTRY: [&str; 2] = ["/value", "/dual_norm_times_minus_r"];

/// What came of one file.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Sections that were compared, by path in the file with `*` for the index of a list: how many numbers, and the largest error in
    /// units of its scale, infinite where something is missing or not a number.
    pub checked: BTreeMap<String, (usize, f64)>,
    /// Sections that nothing here computes.
    pub not_yet: Vec<String>,
    /// One line for each part that disagrees or cannot be understood.
    pub failures: Vec<String>,
}

impl Outcome {
    /// Compares the parts that were computed with those of the same names.
    pub fn of(file: &Value, found: Read<Value>) -> Self {
        let mut outcome = Self::default();
        let (within, found) = match tolerance(file).and_then(|within| Ok((within, found?))) {
            Ok(both) => both,
            Err(problem) => return Self { failures: vec![problem.to_string()], ..outcome },
        };
        outcome.compare(within, "", &found, file);
        for place in ["", "/runs"] {
            let fields = file.pointer(place).and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key);
            let is_computed = |key: &str| found.pointer(place).is_some_and(|found| found.get(key).is_some());
            let rest = fields.filter(|key| !is_computed(key) && INPUTS.split(' ').all(|input| input != *key));
            outcome.not_yet.extend(rest.map(|key| format!("{place}/{key}")));
        }
        outcome
    }

    fn compare(&mut self, within: Tolerance, path: &str, found: &Value, file: &Value) {
        let by_entry =
            |parts: &[Value]| parts.iter().any(Value::is_object) || ENTRY_BY_ENTRY.iter().any(|name| path.ends_with(name));
        match (found, file) {
            (Value::Object(parts), _) => {
                parts.iter().for_each(|(key, part)| self.compare(within, &format!("{path}/{key}"), part, at(file, key)));
            }
            (Value::Array(parts), Value::Array(stated)) if parts.len() == stated.len() && by_entry(parts) => {
                for (at, (part, stated)) in parts.iter().zip(stated).enumerate() {
                    self.compare(within, &format!("{path}/{at}"), part, stated);
                }
            }
            (Value::String(text), _) if file.as_str() == Some(text) => self.note(path, 1, 0.0),
            _ => self.compare_numbers(within, path, found, file),
        }
    }

    fn compare_numbers(&mut self, (most, scale): Tolerance, path: &str, found: &Value, file: &Value) {
        let (mut computed, mut expected) = (Vec::new(), Vec::new());
        flatten(found, &mut computed);
        flatten(file, &mut expected);
        if computed.len() != expected.len() {
            return self.failures.push(format!("{path}: {} numbers computed, {} in the file", computed.len(), expected.len()));
        }
        let errors = computed.iter().zip(&expected).map(|(&(a, _), &(b, list))| {
            let error = if a == b { 0.0 } else { (a - b).abs() / scale(b, list) };
            (if error.is_nan() { f64::INFINITY } else { error }, a, b)
        });
        let Some((error, a, b)) = errors.max_by(|(a, ..), (b, ..)| a.total_cmp(b)) else { return };
        if most < error {
            self.failures.push(format!("{path}: computed {a:e}, the file has {b:e}"));
        }
        self.note(path, computed.len(), error);
    }

    fn note(&mut self, path: &str, numbers: usize, largest_error: f64) {
        let parts = path.split('/').skip(1).map(|part| if part.parse::<u64>().is_ok() { "*" } else { part });
        let (all, largest) = self.checked.entry(parts.collect::<Vec<&str>>().join("/")).or_default();
        *all += numbers;
        *largest = largest_error.max(*largest);
    }

    /// Returns the largest error of all sections; 0 if there was none.
    pub fn largest_error(&self) -> f64 {
        self.checked.values().fold(0.0, |most, (_, largest)| largest.max(most))
    }

    /// Returns true only if something was checked and nothing failed.
    pub fn agrees(&self) -> bool {
        !self.checked.is_empty() && self.failures.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, (numbers, largest_error)) in &self.checked {
            writeln!(f, "  {name}: {numbers} numbers, largest error {largest_error:.1e}")?;
        }
        self.not_yet.iter().try_for_each(|section| writeln!(f, "  not yet: {section}"))?;
        self.failures.iter().try_for_each(|failure| writeln!(f, "  FAILED {failure}"))?;
        writeln!(f, "  largest error {:.1e}", self.largest_error())
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
