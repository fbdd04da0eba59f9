//! Expands `[sweep.product]` and `[sweep.zip]` into sweep points.

use super::path::{covers, first};
use super::written::nested;
use privateer_config::error::{Diagnostic, Span, closest};
use privateer_config::params::{Entry, Node, Scalar, Sink, Table, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Holds the sweep points as axes, of which every combination is one; without a sweep there is one empty point.
#[derive(Debug, Default)]
pub struct SweepPoints {
    /// The first axis changes slowest.
    axes: Vec<Vec<Vec<Step>>>,
    /// Top-level keys that each axis sets.
    sections: Vec<BTreeSet<String>>,
}

impl SweepPoints {
    pub fn len(&self) -> usize {
        self.axes.iter().map(Vec::len).product()
    }

    /// Returns the place of a point on each axis.
    fn places(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut places: Vec<usize> = (self.axes.iter().rev())
            .map(|axis| {
                let place = rest % axis.len();
                rest /= axis.len();
                place
            })
            .collect();
        places.reverse();
        places
    }

    /// Returns a point.
    ///
    /// * `number` — place in the canonical order, less than [`SweepPoints::len`]
    pub fn at(&self, number: usize) -> Vec<Step> {
        self.axes.iter().zip(self.places(number)).flat_map(|(axis, place)| axis[place].iter().cloned()).collect()
    }

    /// Returns the number of combinations of the values of the keys below a top-level key.
    pub fn n_of(&self, section: &str) -> usize {
        self.n_where(|key| key == section)
    }

    /// Returns the number of combinations of the values of keys that advance alone or with keys outside of a top-level key.
    pub fn n_beside(&self, section: &str) -> usize {
        self.n_where(|key| key != section)
    }

    /// Returns the number of combinations of the values of axes, one of whose top-level keys is such a key.
    fn n_where(&self, is_one: impl Fn(&str) -> bool) -> usize {
        let axes = self.axes.iter().zip(&self.sections).filter(|(_, keys)| keys.iter().any(|key| is_one(key)));
        axes.map(|(axis, _)| axis.len()).product()
    }

    /// Returns a number that two points share exactly where they have the same values of the keys below a top-level key.
    pub fn section_key(&self, number: usize, section: &str) -> u64 {
        let axes = self.axes.iter().zip(self.places(number)).zip(&self.sections).filter(|(_, keys)| keys.contains(section));
        axes.fold(0, |key, ((axis, place), _)| key * axis.len() as u64 + place as u64)
    }
}

/// Names a sweep point, whose values are looked up: sweeps have many points.
#[derive(Debug, Clone, Default)]
pub struct Swept {
    pub(super) points: Arc<SweepPoints>,
    pub(super) number: u32,
}

impl Swept {
    /// Returns the swept keys with their values, in the order of the spec.
    pub fn values(&self) -> Arc<[(Arc<str>, Scalar)]> {
        let value = |step: &Step| Some((Arc::clone(&step.path), scalar(&step.node.value)?));
        let steps = self.points.axes.iter().zip(self.points.places(self.number as usize));
        steps.flat_map(|(axis, place)| axis[place].iter().filter_map(value)).collect()
    }

    pub(super) fn point(&self) -> Vec<Step> {
        self.points.at(self.number as usize)
    }
}

/// Holds one swept path at one of its values.
#[derive(Debug, Clone)]
pub struct Step {
    pub path: Arc<str>,
    /// Place at which the path is written.
    pub key_span: Option<Span>,
    pub node: Node,
}

struct Column {
    path: String,
    key_span: Option<Span>,
    values: Vec<Node>,
}

impl Column {
    fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let path: Arc<str> = self.path.as_str().into();
        self.values.iter().map(move |node| Step { path: Arc::clone(&path), key_span: self.key_span.clone(), node: node.clone() })
    }
}

/// Keys that belong to the whole run and cannot be swept.
const FIXED: [&str; 10] =
    ["references", "seed", "trials", "block", "name", "record", "limits", "audit", "accepted_warnings", "sweep"];

/// Largest number of sweep points of one spec; more would surely be a mistake.
const MOST_POINTS: usize = 1_000_000;
/// Largest number of combinations of the swept values of one section, as of `policy`: each is read and checked.
pub(super) const MOST_OF_SECTION: usize = 100_000;
/// Largest number of swept keys of one spec: each is compared with each.
const MOST_KEYS: usize = 1000;
/// Largest number of values in all points of one spec, each point with its own value of each key.
const MOST_VALUES: f64 = 4e6;

/// Returns all sweep points.
///
/// The first key changes slowest; the keys of `zip` advance together, fastest.
pub fn points(table: &Table, sink: &Sink) -> SweepPoints {
    let Some(node) = table.get("sweep") else { return SweepPoints::default() };
    let refused = |diagnostic: Diagnostic| {
        sink.push_at(node.span.as_ref(), diagnostic);
        SweepPoints::default()
    };
    let Value::Table(sweep) = &node.value else {
        return refused(Diagnostic::new("`sweep` is not a table").expected("`[sweep.product]` or `[sweep.zip]`"));
    };
    let mut axes: Vec<Vec<Vec<Step>>> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for entry in &sweep.entries {
        match (entry.key.as_str(), &entry.node.value) {
            ("product", Value::Table(keys)) => {
                for column in columns(keys, "", &mut known, sink) {
                    twice(&column, sink);
                    axes.push(column.steps().map(|step| vec![step]).collect());
                }
            }
            ("zip", Value::Table(_)) => {}
            _ => sink.push_at(entry.key_span.as_ref(), unknown(entry)),
        }
    }
    if let Some(Node { value: Value::Table(keys), span }) = sweep.get("zip") {
        let columns = columns(keys, "", &mut known, sink);
        let lengths: Vec<usize> = columns.iter().map(|column| column.values.len()).collect();
        if let (Some(&first), true) = (lengths.first(), lengths.windows(2).any(|pair| pair[0] != pair[1])) {
            let shown: Vec<String> = columns.iter().map(|column| format!("`{}` {}", column.path, column.values.len())).collect();
            sink.push_at(
                span.as_ref(),
                Diagnostic::new(format!("zipped keys have different numbers of values: {}", shown.join(", ")))
                    .expected(format!("{first} values each, as the first key has")),
            );
        } else if let Some(&length) = lengths.first() {
            let columns: Vec<Vec<Step>> = columns.iter().map(|column| column.steps().collect()).collect();
            let rows: Vec<Vec<Step>> = (0..length).map(|i| columns.iter().map(|steps| steps[i].clone()).collect()).collect();
            let mut seen = BTreeSet::new();
            let shown =
                |row: &Vec<Step>| row.iter().map(|step| step.node.value.to_toml().to_string()).collect::<Vec<_>>().join(", ");
            if let Some(row) = rows.iter().find(|row| !seen.insert(shown(row))) {
                sink.push_at(
                    row.first().and_then(|step| step.node.span.as_ref()),
                    Diagnostic::new(format!("the zipped values {} stand twice", shown(row)))
                        .expected("each combination once")
                        .hint("for more repetitions raise `trials`"),
                );
            }
            axes.push(rows);
        }
    }
    let count = axes.iter().map(|axis| axis.len() as f64).product::<f64>();
    let (most, n_keys) = (MOST_POINTS as f64, known.len());
    if most < count || MOST_VALUES < count * n_keys as f64 || MOST_KEYS <= n_keys {
        let shown = if count < 1e15 { count.to_string() } else { format!("{count:.1e}") };
        return refused(
            Diagnostic::new(format!("the sweep has {shown} points of {n_keys} keys"))
                .expected(format!("at most {most} points, fewer than {MOST_KEYS} keys and {MOST_VALUES} values in all"))
                .hint("keys below `[sweep.zip]` advance together in place of all combinations"),
        );
    }
    let keys = |axis: &Vec<Vec<Step>>| axis.iter().take(1).flatten().map(|step| first(&step.path).to_owned()).collect();
    let points = SweepPoints { sections: axes.iter().map(keys).collect(), axes };
    let sections: BTreeSet<&String> = points.sections.iter().flatten().collect();
    if let Some(section) = sections.into_iter().find(|section| MOST_OF_SECTION < points.n_of(section)) {
        return refused(
            Diagnostic::new(format!("the sweep has {} combinations of keys of `{section}`", points.n_of(section)))
                .expected(format!("at most {MOST_OF_SECTION}"))
                .hint("sweep fewer values of them, or divide them among several specs"),
        );
    }
    points
}

/// Returns the paths that a spec sweeps, well-formed or not.
pub fn swept_paths(table: &Table) -> Vec<String> {
    fn leaves(prefix: &str, entry: &Entry) -> Vec<String> {
        let path = joined(prefix, entry);
        match &entry.node.value {
            Value::Table(keys) => keys.entries.iter().flat_map(|entry| leaves(&path, entry)).collect(),
            _ => vec![path],
        }
    }
    let forms = nested(table, "sweep").into_iter().flat_map(|sweep| &sweep.entries);
    forms
        .filter_map(|form| form.node.value.as_table())
        .flat_map(|keys| &keys.entries)
        .flat_map(|entry| leaves("", entry))
        .collect()
}

/// Returns the path of a key below another path.
fn joined(prefix: &str, entry: &Entry) -> String {
    if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) }
}

/// Returns the error for a key of `[sweep]` other than `[sweep.product]` and `[sweep.zip]`.
fn unknown(entry: &Entry) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(format!("unknown key `{}` in `sweep`", entry.key)).expected("`product` or `zip`");
    diagnostic.hint = match closest(&entry.key, ["product", "zip"]) {
        Some(near) => Some(format!("did you mean `[sweep.{near}]`?")),
        None => Some("swept keys stand below `[sweep.product]` (all combinations) or `[sweep.zip]` (paired)".to_owned()),
    };
    diagnostic
}

/// Reports a value that a product contains twice, because its cells would be equal.
fn twice(column: &Column, sink: &Sink) {
    let mut seen = BTreeSet::new();
    if let Some(node) = column.values.iter().find(|node| !seen.insert(node.value.to_toml().to_string())) {
        sink.push_at(
            node.span.as_ref(),
            Diagnostic::new(format!("`{}` is swept over `{}` twice", column.path, node.value.shown()))
                .expected("each value once")
                .hint("for more repetitions raise `trials`"),
        );
    }
}

/// Returns the swept paths with their values, without those that have mistakes.
///
/// Quoted dotted keys and nested tables are equivalent.
fn columns(keys: &Table, prefix: &str, known: &mut Vec<String>, sink: &Sink) -> Vec<Column> {
    let mut found = Vec::new();
    for entry in &keys.entries {
        let path = joined(prefix, entry);
        if MOST_KEYS <= known.len() {
            break;
        }
        let values = match &entry.node.value {
            Value::Table(nested) => {
                found.extend(columns(nested, &path, known, sink));
                continue;
            }
            Value::Array(values) => values,
            other => {
                sink.push_at(
                    entry.node.span.as_ref(),
                    Diagnostic::new(format!("`{path}` in a sweep is {}", other.type_name())).expected("an array of values"),
                );
                continue;
            }
        };
        let on_key = |diagnostic: Diagnostic| sink.push_at(entry.key_span.as_ref(), diagnostic);
        if FIXED.contains(&path.split('.').next().unwrap_or("")) {
            on_key(
                Diagnostic::new(format!("`{path}` cannot be swept"))
                    .expected("a key of the environment, the privacy, a policy, or `rounds`"),
            );
        } else if known.contains(&path) {
            on_key(Diagnostic::new(format!("`{path}` is swept twice")).expected("each key once in all of `[sweep]`"));
        } else if let Some(other) = known.iter().find(|known| covers(known, &path) || covers(&path, known)) {
            on_key(Diagnostic::new(format!("`{path}` and `{other}` set the same key")).expected("one swept key for each"));
        } else if let Some((node, diagnostic)) = bad_values(&path, &entry.node, values) {
            sink.push_at(node.span.as_ref(), diagnostic);
        } else {
            known.push(path.clone());
            found.push(Column { path, key_span: entry.key_span.clone(), values: unify(values) });
        }
    }
    found
}

/// Returns the fault in an array of values, with its place; else `None`.
fn bad_values<'n>(path: &str, array: &'n Node, values: &'n [Node]) -> Option<(&'n Node, Diagnostic)> {
    if values.is_empty() {
        let diagnostic = Diagnostic::new(format!("`{path}` is swept over no value"));
        return Some((array, diagnostic.expected("an array of at least one value")));
    }
    if let Some(value) = values.iter().find(|value| scalar(&value.value).is_none()) {
        let diagnostic = Diagnostic::new(format!("`{path}` is swept over {}", value.value.type_name()));
        return Some((value, diagnostic.expected("numbers, words or booleans")));
    }
    let odd = values.iter().find(|value| kind(&value.value) != kind(&values[0].value))?;
    let diagnostic = Diagnostic::new(format!("`{path}` is swept over {}s and {}s", kind(&values[0].value), kind(&odd.value)));
    Some((odd, diagnostic.expected(format!("a {}, as the first value is", kind(&values[0].value)))))
}

pub fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Bool(flag) => Some(Scalar::Bool(*flag)),
        Value::Integer(integer) => Some(Scalar::Integer(*integer)),
        Value::Float(number) if !number.is_finite() => Some(Scalar::Text(number.to_string())),
        Value::Float(number) => Some(Scalar::Float(*number)),
        Value::Text(text) => Some(Scalar::Text(text.clone())),
        Value::Array(_) | Value::Table(_) => None,
    }
}

/// Returns the kind of a plain value; a column can mix values of one kind.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        // `inf` stands for a word.
        Value::Float(number) if !number.is_finite() => "word",
        Value::Integer(_) | Value::Float(_) => "number",
        Value::Text(_) => "word",
        Value::Array(_) => "array",
        Value::Table(_) => "table",
    }
}

/// Converts whole numbers to floats where a column has both, so that it has one type.
fn unify(values: &[Node]) -> Vec<Node> {
    let mixed = values.iter().any(|node| matches!(node.value, Value::Float(_)));
    values
        .iter()
        .map(|node| match node.value {
            Value::Integer(integer) if mixed => Node { value: Value::Float(integer as f64), span: node.span.clone() },
            _ => node.clone(),
        })
        .collect()
}
