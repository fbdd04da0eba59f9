//! Sets values at dotted paths of a spec, like `privacy.epsilon` or `policy.*.ridge`.
//!
//! Further examples are `policy.tgp-ucb.ridge` and `policy.0.width.factor`.

use privateer_config::error::{Diagnostic, Span, closest};
use privateer_config::params::{Entry, Node, Table, Value};

/// Largest number of segments of a path; the deepest key of any spec has 6.
const MOST_SEGMENTS: usize = 32;

/// Sets the value at a path, and creates tables on the way.
///
/// A segment after an array of tables is an index, a label, a kind, or `*` for all. A segment in double quotes may contain
/// dots, as keys of TOML do. `key_span` is the place of the path, where mistakes in names are reported.
pub fn set(table: &mut Table, path: &str, key_span: Option<&Span>, node: &Node) -> Result<(), Diagnostic> {
    let segments = segments(path);
    if MOST_SEGMENTS < segments.len() {
        let start: String = path.chars().take(40).collect();
        return Err(Diagnostic::new(format!("the path `{start}…` has {} segments", segments.len()))
            .expected(format!("at most {MOST_SEGMENTS}, as in `privacy.epsilon`")));
    }
    if segments.iter().any(|segment| segment.is_empty() || segment.contains('"')) {
        return Err(Diagnostic::new(format!("`{path}` is not a path")).expected("keys joined by dots, as in `privacy.epsilon`"));
    }
    descend(table, &segments, &PathSetting { path, key_span, node })
}

/// Splits a path at the dots outside double quotes, and removes the quotes.
///
/// An unmatched quote stays.
fn segments(path: &str) -> Vec<&str> {
    let mut quoted = false;
    path.split(|c| {
        quoted ^= c == '"';
        c == '.' && !quoted
    })
    .map(|segment| {
        let segment = segment.trim();
        segment.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(segment)
    })
    .collect()
}

/// Returns the top-level key at which a path starts.
pub fn first(path: &str) -> &str {
    segments(path).first().copied().unwrap_or("")
}

struct PathSetting<'a> {
    path: &'a str,
    key_span: Option<&'a Span>,
    node: &'a Node,
}

fn descend(table: &mut Table, segments: &[&str], setting: &PathSetting<'_>) -> Result<(), Diagnostic> {
    let PathSetting { path, key_span, node } = *setting;
    // Handles a key that contains dots itself, as those of `[sweep.product]` do.
    let dotted = segments.join(".");
    if let Some(old) = table.get_mut(&dotted) {
        *old = node.clone();
        return Ok(());
    }
    let (&key, rest) = match segments {
        [] => return Ok(()),
        [last] => {
            match table.get_mut(last) {
                Some(old) => *old = node.clone(),
                None => table.entries.push(Entry { key: (*last).to_owned(), key_span: key_span.cloned(), node: node.clone() }),
            }
            return Ok(());
        }
        [key, rest @ ..] => (key, rest),
    };
    if table.get(key).is_none() {
        let span = key_span.cloned();
        let empty = Node { value: Value::Table(Table { entries: Vec::new(), span: span.clone() }), span: span.clone() };
        table.entries.push(Entry { key: key.to_owned(), key_span: span, node: empty });
    }
    let Some(found) = table.get_mut(key) else { return Ok(()) };
    // A bare word means `{ kind = word }`.
    if let Value::Text(word) = &found.value {
        let kind = Node { value: Value::Text(word.clone()), span: found.span.clone() };
        let entries = vec![Entry { key: "kind".to_owned(), key_span: found.span.clone(), node: kind }];
        found.value = Value::Table(Table { entries, span: found.span.clone() });
    }
    match &mut found.value {
        Value::Table(nested) => descend(nested, rest, setting),
        Value::Array(items) => {
            let (&which, rest) = match rest {
                [which, rest @ ..] if !rest.is_empty() => (which, rest),
                _ => return Err(which_error(path, key, None, items)),
            };
            let chosen: Vec<usize> = (0..items.len())
                .filter(|&i| which == "*" || which.parse() == Ok(i) || name_of(&items[i]) == Some(which))
                .collect();
            if chosen.is_empty() {
                return Err(which_error(path, key, Some(which), items));
            }
            for i in chosen {
                match &mut items[i].value {
                    Value::Table(nested) => descend(nested, rest, setting)?,
                    _ => return Err(which_error(path, key, Some(which), items)),
                }
            }
            Ok(())
        }
        other => Err(Diagnostic::new(format!("the path `{path}` goes through `{key}`, which is {}", other.type_name()))
            .expected("a path to an existing table")),
    }
}

/// Returns whether setting `outer` would overwrite a value set at `inner`.
///
/// This holds for the same key and for an enclosing key; `*` matches any segment.
pub fn covers(outer: &str, inner: &str) -> bool {
    let (outer, inner) = (segments(outer), segments(inner));
    outer.len() <= inner.len() && outer.iter().zip(&inner).all(|(a, b)| a == b || *a == "*" || *b == "*")
}

/// Returns the text under a key of one table of an array.
pub fn text_of<'n>(item: &'n Node, key: &str) -> Option<&'n str> {
    item.value.as_table()?.get(key)?.value.as_text()
}

/// Returns the label, else the kind, of one table of an array.
pub fn name_of(item: &Node) -> Option<&str> {
    text_of(item, "label").or(text_of(item, "kind"))
}

/// Returns the error for a path that selects no table of an array.
fn which_error(path: &str, key: &str, which: Option<&str>, items: &[Node]) -> Diagnostic {
    let names: Vec<&str> = items.iter().filter_map(name_of).collect();
    let mut choices = vec![format!("`{key}.*.…` for all")];
    choices.extend(names.iter().map(|name| format!("`{key}.{name}.…`")));
    let message = match which {
        Some(which) => format!("the path `{path}` names no `{key}`: none is called `{which}`"),
        None => format!("the path `{path}` does not say which `{key}`"),
    };
    let mut diagnostic = Diagnostic::new(message).expected(choices.join(" or "));
    diagnostic.hint = which.and_then(|which| closest(which, names)).map(|near| format!("did you mean `{key}.{near}`?"));
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read;
    use privateer_config::error::Sources;
    use privateer_config::params::Sink;

    fn after(text: &str, path: &str, value: &str) -> Result<String, Diagnostic> {
        let sink = Sink::new(Sources::default());
        let mut table = read::document(text, 0, &sink);
        set(&mut table, path, None, &read::value(value, 2, 0, &sink))?;
        Ok(toml::to_string(&table.to_toml()).expect("plain tables are valid TOML"))
    }

    const SPEC: &str = "kernel = \"matern\"\n[[policy]]\nkind = \"a\"\n[[policy]]\nkind = \"b\"\nlabel = \"c\"\n";

    #[test]
    fn reaches_tables_words_and_arrays() {
        assert!(after(SPEC, "privacy.epsilon", "2").expect("path").contains("[privacy]\nepsilon = 2"));
        assert!(after(SPEC, "kernel.nu", "1.5").expect("path").contains("[kernel]\nkind = \"matern\"\nnu = 1.5"));
        assert_eq!(after(SPEC, "policy.*.ridge", "3").expect("path").matches("ridge = 3").count(), 2);
        assert_eq!(after(SPEC, "policy.c.ridge", "3").expect("path").matches("ridge = 3").count(), 1);
        assert_eq!(after(SPEC, "policy.0.kind", "uniform").expect("path").matches("uniform").count(), 1);
    }

    #[test]
    fn quotes_hold_a_key_with_dots_together() {
        let swept = after(SPEC, "sweep.zip.\"privacy.epsilon\"", "[1, 2]").expect("path");
        assert!(swept.contains("[sweep.zip]\n\"privacy.epsilon\" = [1, 2]"), "{swept}");
        assert!(after(SPEC, "\"policy\".\"c\".ridge", "3").expect("path").contains("ridge = 3"));
        for torn in ["sweep.zip.\"privacy.epsilon", "a.b\"c\"", "\"\".a"] {
            assert!(after(SPEC, torn, "3").is_err(), "{torn}");
        }
        assert!(covers("\"privacy\"", "privacy.epsilon"));
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(after(SPEC, "policy.ridge", "3").expect_err("no policy named").message.contains("does not say which"));
        let error = after(SPEC, "policy.d.ridge", "3").expect_err("no such policy");
        assert!(error.message.contains("none is called `d`") && error.hint.is_none(), "{error}");
        assert!(after(SPEC, "a..b", "3").is_err());
    }

    /// Tables are written and read recursively: the depth limit prevents a stack overflow.
    #[test]
    fn deep_paths_are_refused() {
        let path = |n: usize| vec!["a"; n].join(".");
        assert!(after(SPEC, &path(32), "1").is_ok());
        for n in [33, 14_000, 30_000] {
            let error = after(SPEC, &path(n), "1").expect_err("deep");
            assert!(error.message.contains(&format!("has {n} segments")), "{error}");
        }
    }
}
