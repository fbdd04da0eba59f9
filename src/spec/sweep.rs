//! Expansion of `[sweep.product]` and `[sweep.zip]` into points.

use crate::error::Diagnostic;
use crate::params::{Node, Scalar, Sink, Table, Value};

/// One point of a sweep: each swept path with its value, in the order of the spec.
pub type SweepPoint = Vec<(String, Node)>;

/// Most sweep points of one spec; more is surely a mistake.
const MOST_POINTS: usize = 100_000;

/// All points, the first key slowest; the keys of `zip` advance together, fastest. Without a sweep, one empty point.
pub fn points(table: &Table, sink: &Sink) -> Vec<SweepPoint> {
    let Some(node) = table.get("sweep") else { return vec![Vec::new()] };
    let Value::Table(sweep) = &node.value else {
        sink.push_at(
            node.span.as_ref(),
            Diagnostic::new("`sweep` is not a table").expected("`[sweep.product]` or `[sweep.zip]`"),
        );
        return vec![Vec::new()];
    };
    let mut axes: Vec<Vec<SweepPoint>> = Vec::new();
    for entry in &sweep.entries {
        let Value::Table(keys) = &entry.node.value else {
            sink.push_at(
                entry.key_span.as_ref(),
                Diagnostic::new(format!("unknown key `{}` in `sweep`", entry.key)).expected("`product` or `zip`"),
            );
            continue;
        };
        match entry.key.as_str() {
            "product" => {
                axes.extend(columns(keys, "", sink).into_iter().map(|(path, values)| {
                    values.into_iter().map(|value| vec![(path.clone(), value)]).collect::<Vec<SweepPoint>>()
                }))
            }
            "zip" => {}
            other => sink.push_at(
                entry.key_span.as_ref(),
                Diagnostic::new(format!("unknown key `{other}` in `sweep`")).expected("`product` or `zip`"),
            ),
        }
    }
    if let Some(Node { value: Value::Table(keys), span }) = sweep.get("zip") {
        let columns = columns(keys, "", sink);
        let lengths: Vec<usize> = columns.iter().map(|(_, values)| values.len()).collect();
        if let (Some(&first), true) = (lengths.first(), lengths.windows(2).any(|pair| pair[0] != pair[1])) {
            let shown: Vec<String> = columns.iter().map(|(path, values)| format!("`{path}` {}", values.len())).collect();
            sink.push_at(
                span.as_ref(),
                Diagnostic::new(format!("zipped keys have different lengths: {}", shown.join(", ")))
                    .expected(format!("{first} values each")),
            );
        } else if let Some(&length) = lengths.first() {
            axes.push(
                (0..length).map(|i| columns.iter().map(|(path, values)| (path.clone(), values[i].clone())).collect()).collect(),
            );
        }
    }
    let count = axes.iter().map(|axis| axis.len() as f64).product::<f64>();
    if (MOST_POINTS as f64) < count {
        sink.push_at(
            node.span.as_ref(),
            Diagnostic::new(format!("the sweep has {count:.0} points")).expected(format!("at most {MOST_POINTS}")),
        );
        return vec![Vec::new()];
    }
    let mut points: Vec<SweepPoint> = vec![Vec::new()];
    for axis in axes {
        points = points
            .into_iter()
            .flat_map(|point| axis.iter().map(move |step| point.iter().chain(step).cloned().collect::<SweepPoint>()))
            .collect();
    }
    points
}

/// Swept paths with their values. Quoted dotted keys and nested tables mean the same.
fn columns(keys: &Table, prefix: &str, sink: &Sink) -> Vec<(String, Vec<Node>)> {
    let mut found = Vec::new();
    for entry in &keys.entries {
        let path = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
        match &entry.node.value {
            Value::Table(nested) => found.extend(columns(nested, &path, sink)),
            Value::Array(values) if values.is_empty() => {
                sink.push_at(
                    entry.node.span.as_ref(),
                    Diagnostic::new(format!("`{path}` is swept over no value")).expected("an array of at least one value"),
                );
            }
            Value::Array(values) => {
                for value in values {
                    if scalar(&value.value).is_none() {
                        sink.push_at(
                            value.span.as_ref(),
                            Diagnostic::new(format!("`{path}` is swept over {}", value.value.type_name()))
                                .expected("numbers, words or booleans"),
                        );
                    }
                }
                if scalar_types(values) > 1 {
                    sink.push_at(
                        entry.node.span.as_ref(),
                        Diagnostic::new(format!("`{path}` is swept over values of different types"))
                            .expected("all numbers, all words or all booleans"),
                    );
                }
                found.push((path, unify(values)));
            }
            other => sink.push_at(
                entry.node.span.as_ref(),
                Diagnostic::new(format!("`{path}` in a sweep is {}", other.type_name())).expected("an array of values"),
            ),
        }
    }
    found
}

/// The plain value, if it is one.
pub fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Bool(flag) => Some(Scalar::Bool(*flag)),
        Value::Integer(integer) => Some(Scalar::Integer(*integer)),
        Value::Float(number) => Some(Scalar::Float(*number)),
        Value::Text(text) => Some(Scalar::Text(text.clone())),
        Value::Array(_) | Value::Table(_) => None,
    }
}

fn scalar_types(values: &[Node]) -> usize {
    let has = |test: fn(&Value) -> bool| usize::from(values.iter().any(|node| test(&node.value)));
    has(|v| matches!(v, Value::Integer(_) | Value::Float(_)))
        + has(|v| matches!(v, Value::Text(_)))
        + has(|v| matches!(v, Value::Bool(_)))
}

/// Whole numbers beside numbers become numbers: one type per column.
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
