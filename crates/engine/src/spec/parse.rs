//! Reads a spec's text, with what a command line states instead, as a checked sweep.

use super::reader::SpecReader;
use super::sweep::swept_paths;
use super::wildcard::expanded;
use super::{Sweep, path, read};
use crate::registry::Registry;
use privateer_config::error::{COMMAND_LINE, Diagnostic, Error, Sources, Span};
use privateer_config::params::{Sink, Table};

impl Sweep {
    /// Reads a spec that names what this program has.
    ///
    /// `overrides` as in [`Registry::parse`].
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake found.
    pub fn parse(file: &str, text: &str, overrides: &[(String, String, String)]) -> Result<Self, Error> {
        Registry::builtin().parse(file, text, overrides)
    }
}

impl Registry {
    /// Reads a spec that may name what was added.
    ///
    /// * `file` — the name that messages show
    /// * `overrides` — (option as written up to its value, path, value), applied in order
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake found.
    pub fn parse(&self, file: &str, text: &str, overrides: &[(String, String, String)]) -> Result<Sweep, Error> {
        let mut sources = Sources::default();
        let file_source = sources.add(file, text);
        let place = |(option, key_path, value): &(String, String, String)| {
            let at = option.find(key_path.as_str()).unwrap_or(0);
            Span { source: sources.add(COMMAND_LINE, format!("{option}{value}")), range: at..at + key_path.len() }
        };
        let key_spans: Vec<Span> = overrides.iter().map(place).collect();
        let sink = Sink::new(sources).with_added(self.added().clone());
        let mut base = read::document(text, file_source, &sink);
        sink.into_result()?;
        for ((option, key_path, value), key_span) in overrides.iter().zip(&key_spans) {
            let node = read::value(value, option.len(), key_span.source, &sink);
            for path in expanded(&base, key_path, self) {
                if let Err(diagnostic) = path::set(&mut base, &path, Some(key_span), &node) {
                    sink.push_at(Some(key_span), diagnostic);
                }
            }
        }
        sink.into_result()?;
        for ((_, key_path, _), key_span) in overrides.iter().zip(&key_spans) {
            if let Some(swept) = swept_paths(&base).into_iter().find(|swept| path::covers(swept, key_path)) {
                sink.push_at(
                    Some(key_span),
                    Diagnostic::new(format!("`{key_path}` is swept by the spec, so setting it would change nothing"))
                        .expected("a key that is not swept")
                        .hint(format!("sweep other values: `--set 'sweep.product.{swept}=[…]'`")),
                );
            }
        }
        checked(&base, &sink, file)
    }
}

/// Checks the tree of a spec, from a file or a builder.
pub(super) fn checked(base: &Table, sink: &Sink, file: &str) -> Result<Sweep, Error> {
    let sweep = SpecReader::new(base, sink).read(file);
    sink.into_result()?;
    Ok(sweep)
}
