//! Parses TOML text into a table of values with places.

use privateer_config::error::{Diagnostic, Span, is_unprintable, printable};
use privateer_config::params::{Entry, Node, Sink, Table, Value};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parses a whole file; records syntax mistakes in the sink.
pub fn document(text: &str, source: usize, sink: &Sink) -> Table {
    let (parsed, errors) = DeTable::parse_recoverable(text);
    // Reports only the first error: the others are mostly its consequences.
    if let Some(error) = errors.first() {
        let span = error.span().map(|range| Span { source, range });
        sink.push_at(span.as_ref(), syntax(text, error.message(), error.span()));
    }
    table(parsed.get_ref(), parsed.span(), source, sink)
}

/// Rewrites the parser's message in terms of the file.
fn syntax(text: &str, message: &str, span: Option<Range<usize>>) -> Diagnostic {
    let found = span.clone().and_then(|range| text.get(range)).unwrap_or("").trim();
    let rest = span.and_then(|range| text.get(range.start..)).and_then(|rest| rest.lines().next()).unwrap_or("").trim();
    if message == "duplicate key" && !found.is_empty() {
        return Diagnostic::new(format!("`{found}` is given twice")).expected("one of the two");
    }
    let diagnostic = |message: &str| Diagnostic::new(format!("this is not valid TOML: {message}"));
    match message.split_once(", expected ") {
        Some((before, _)) if before == "string values must be quoted" && rest.is_empty() => {
            diagnostic("a key has no value").expected("a value")
        }
        Some((before, "literal string")) if before == "string values must be quoted" => {
            diagnostic(before).expected("a number, `true`, `false`, or a text in quotes")
        }
        Some((before, expected)) => diagnostic(before).expected(expected),
        None => diagnostic(message),
    }
}

/// Parses the value of an override; a bare word is a text.
///
/// `at` is the byte at which the value begins in the override's text, 2 or more.
pub fn value(text: &str, at: usize, source: usize, sink: &Sink) -> Node {
    let whole = Span { source, range: at..at + text.len() };
    // Pads the line so that the value starts at the same byte as in the override, which keeps places right.
    let line = format!("{}v={text}", " ".repeat(at.saturating_sub(2)));
    let (parsed, errors) = DeTable::parse_recoverable(&line);
    match parsed.get_ref().get("v").filter(|_| errors.is_empty() && parsed.get_ref().len() == 1) {
        Some(value) => convert(value, source, sink),
        None => {
            refuse_unprintable(text, &whole, sink);
            Node { value: text_or_power(text), span: Some(whole) }
        }
    }
}

/// Reports control characters in a text.
///
/// Names and labels are shown in terminals, pages and tables, where control characters would act invisibly.
fn refuse_unprintable(text: &str, span: &Span, sink: &Sink) {
    if text.contains(is_unprintable) {
        let diagnostic = Diagnostic::new(format!("`{}` holds a control character", printable(text)));
        sink.push_at(Some(span), diagnostic.expected("characters that can be shown"));
    }
}

/// Returns the number that a text such as `exp(0.5)` states, else the text.
fn text_or_power(text: &str) -> Value {
    let power = text.strip_prefix("exp(").and_then(|rest| rest.strip_suffix(')')).and_then(|x| x.trim().parse::<f64>().ok());
    match power.map(libm::exp).filter(|x| x.is_finite()) {
        Some(x) => Value::Float(x),
        None => Value::Text(text.to_owned()),
    }
}

fn table(from: &DeTable<'_>, range: Range<usize>, source: usize, sink: &Sink) -> Table {
    let mut entries: Vec<Entry> = from
        .iter()
        .inspect(|(key, _)| refuse_unprintable(key.get_ref(), &Span { source, range: key.span() }, sink))
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
        DeValue::String(text) => {
            refuse_unprintable(text, &span, sink);
            text_or_power(text)
        }
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => wrong(
                format!("the integer `{}` is out of range", integer.as_str()),
                "a whole number from -9223372036854775808 to 9223372036854775807",
            ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_e_are_numbers() {
        assert_eq!(text_or_power("exp(0.5)"), Value::Float(libm::exp(0.5)));
        for text in ["exp", "exp()", "exp(a)", "exp(1e9)", "exponential"] {
            assert_eq!(text_or_power(text), Value::Text(text.to_owned()));
        }
    }
}
