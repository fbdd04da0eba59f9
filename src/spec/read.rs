//! TOML text to a table of values with places.

use crate::error::{Diagnostic, Span};
use crate::params::{Entry, Node, Sink, Table, Value};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parses a whole file; syntax mistakes go to the sink.
pub fn document(text: &str, source: usize, sink: &Sink) -> Table {
    let (parsed, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let span = error.span().map(|range| Span { source, range });
        sink.push_at(span.as_ref(), Diagnostic::new(format!("this is not valid TOML: {}", error.message())));
    }
    table(parsed.get_ref(), parsed.span(), source, sink)
}

/// Parses the right-hand side of an override; a bare word counts as a text.
pub fn value(text: &str, source: usize, sink: &Sink) -> Node {
    let line = format!("value = {text}");
    let (parsed, errors) = DeTable::parse_recoverable(&line);
    let whole = Some(Span { source, range: 0..usize::MAX });
    let read = parsed.get_ref().get("value").filter(|_| errors.is_empty() && parsed.get_ref().len() == 1);
    match read {
        Some(value) => {
            let mut node = convert(value, source, sink);
            replace_spans(&mut node, &whole);
            node
        }
        None => Node { value: Value::Text(text.to_owned()), span: whole },
    }
}

/// Every place inside an override is the override itself.
fn replace_spans(node: &mut Node, span: &Option<Span>) {
    node.span = span.clone();
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace_spans(item, span)),
        Value::Table(table) => {
            table.span = span.clone();
            for entry in &mut table.entries {
                entry.key_span = span.clone();
                replace_spans(&mut entry.node, span);
            }
        }
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) => {}
    }
}

fn table(from: &DeTable<'_>, range: Range<usize>, source: usize, sink: &Sink) -> Table {
    let mut entries: Vec<Entry> = from
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: Some(Span { source, range: key.span() }),
            node: convert(value, source, sink),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.as_ref().map_or(0, |span| span.range.start));
    Table { entries, span: Some(Span { source, range }) }
}

fn convert(from: &Spanned<DeValue<'_>>, source: usize, sink: &Sink) -> Node {
    let span = Span { source, range: from.span() };
    let wrong = |message: String, expected: &str| {
        sink.push_at(Some(&span), Diagnostic::new(message).expected(expected));
        Value::Integer(0)
    };
    let value = match from.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => wrong(format!("the integer `{}` is too large", integer.as_str()), "an integer of at most 63 bits"),
        },
        DeValue::Float(float) => match float.as_str().parse::<f64>() {
            Ok(number) => Value::Float(number),
            Err(_) => wrong(format!("`{}` is not a number", float.as_str()), "a number"),
        },
        DeValue::Datetime(datetime) => wrong(format!("`{datetime}` is a date"), "a text, number, boolean, array or table"),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| convert(item, source, sink)).collect()),
        DeValue::Table(nested) => Value::Table(table(nested, from.span(), source, sink)),
    };
    Node { value, span: Some(span) }
}
