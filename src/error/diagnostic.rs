//! One mistake in something the user wrote: message, place with caret, what was expected, hint.

use std::fmt;
use std::ops::Range;

/// A stretch of one of the [`Sources`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Index into the sources.
    pub source: usize,
    /// Byte range in that source's text.
    pub range: Range<usize>,
}

/// The texts a run was read from: the spec file first, then one entry per `--set` and the like.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    texts: Vec<(String, String)>,
}

impl Sources {
    /// Adds a text under the name that messages show; returns its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        self.texts.push((name.into(), text.into()));
        self.texts.len() - 1
    }

    /// The text of one source.
    #[must_use]
    pub fn text(&self, source: usize) -> &str {
        &self.texts[source].1
    }

    /// Resolves a span to file, line, column and the line's text.
    #[must_use]
    pub fn place(&self, span: &Span) -> Place {
        let (name, text) = &self.texts[span.source];
        let start = floor_char(text, span.range.start);
        let end = floor_char(text, span.range.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line_text = text[line_start..line_end].trim_end_matches('\r');
        let width = text[start..end.min(line_end)].chars().count().max(1);
        Place {
            file: name.clone(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width,
            text: Some(line_text.to_owned()),
        }
    }
}

fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// File, 1-based line and column, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name shown to the user.
    pub file: String,
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// Characters to underline.
    pub width: usize,
    /// The line itself; `None` where it would not help (a wide CSV row).
    pub text: Option<String>,
}

/// One mistake, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, with the offending value in backticks.
    pub message: String,
    /// Where.
    pub place: Option<Box<Place>>,
    /// What stands behind the caret: what was expected instead.
    pub expected: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A mistake without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, expected: None, hint: None }
    }

    /// Adds where it is.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(Box::new(place));
        self
    }

    /// Adds what was expected there.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match self.place.as_deref() {
            Some(Place { file, line, column, width, text: Some(text) }) => {
                let number = line.to_string();
                let gutter = " ".repeat(number.len());
                // Tabs before the caret are kept, so that the caret stands below its character.
                let lead: String = text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                let expected = self.expected.as_deref().map(|e| format!(" expected {e}")).unwrap_or_default();
                write!(
                    f,
                    "\n{gutter}--> {file}:{line}:{column}\n{number} | {text}\n{gutter} | {lead}{}{expected}",
                    "^".repeat(*width)
                )?;
            }
            Some(Place { file, line, column, text: None, .. }) => {
                write!(f, "\n --> {file}:{line}:{column}")?;
                if let Some(expected) = &self.expected {
                    write!(f, "\nexpected {expected}")?;
                }
            }
            None => {
                if let Some(expected) = &self.expected {
                    write!(f, "\nexpected {expected}")?;
                }
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_stands_below_the_word() {
        let mut sources = Sources::default();
        let id = sources.add("a.toml", "x = 1\n\tname = \"q\"\n");
        let place = sources.place(&Span { source: id, range: 14..17 });
        let shown = Diagnostic::new("bad `q`").at(place).expected("`p`").hint("write `p`").to_string();
        assert_eq!(shown, "error: bad `q`\n --> a.toml:2:9\n2 | \tname = \"q\"\n  | \t       ^^^ expected `p`\nhint: write `p`");
    }

    #[test]
    fn spans_beyond_the_text_do_not_panic() {
        let mut sources = Sources::default();
        let id = sources.add("a", "é");
        assert_eq!(sources.place(&Span { source: id, range: 1..99 }).line, 1);
    }
}
