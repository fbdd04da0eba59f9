//! One error in user input: message, place with a caret, expectation and hint.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A range of one of the [`Sources`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Index into the sources.
    pub source: usize,
    /// Byte range in that source's text.
    pub range: Range<usize>,
}

/// The texts that a command reads: the spec file, then one entry per `--set` or similar option.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    texts: Vec<Source>,
}

/// One text with the name that messages show.
#[derive(Debug, Clone)]
struct Source {
    name: String,
    text: String,
    /// Line at which the text begins, 1-based; 0 for the command line.
    first_line: usize,
    /// Byte at which each line begins.
    line_starts: Vec<usize>,
}

/// Name of the source of command-line input: one line, so its places have no line number.
pub const COMMAND_LINE: &str = "command line";

impl Sources {
    /// Adds a text under the name that messages show; returns its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        let name = name.into();
        let first_line = usize::from(name != COMMAND_LINE);
        self.push(name, text.into(), first_line)
    }

    /// Adds what a call of a program states, at this line of its source file; returns its index.
    pub fn add_call(&mut self, file: impl Into<String>, line: usize, text: impl Into<String>) -> usize {
        self.push(file.into(), text.into(), line)
    }

    fn push(&mut self, name: String, text: String, first_line: usize) -> usize {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        self.texts.push(Source { name, text, first_line, line_starts });
        self.texts.len() - 1
    }

    /// Returns the text of one source.
    pub fn text(&self, source: usize) -> &str {
        &self.texts[source].text
    }

    /// Resolves a span to file, line, column and the line's text.
    pub fn place(&self, span: &Span) -> Place {
        let Source { name, text, first_line, line_starts } = &self.texts[span.source];
        let start = floor_char(text, span.range.start);
        let end = floor_char(text, span.range.end.max(start));
        let line = line_starts.partition_point(|&begins| begins <= start).saturating_sub(1);
        let line_start = line_starts[line];
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line_text = text[line_start..line_end].trim_end_matches('\r');
        let width = text[start..end.min(line_end)].chars().count().max(1);
        Place {
            file: name.clone(),
            line: first_line + line,
            column: text[line_start..start].chars().count() + 1,
            width,
            text: (line_text.len() <= LONGEST_KEPT).then(|| line_text.to_owned()),
        }
    }
}

impl Place {
    /// Creates the place of a file as a whole.
    pub fn whole(file: impl Into<String>) -> Self {
        Self { file: file.into(), line: 0, column: 1, width: 1, text: None }
    }

    /// Returns `file:line:column`, or the file alone if there is no line.
    fn shown(&self) -> String {
        if self.line == 0 { self.file.clone() } else { format!("{}:{}:{}", self.file, self.line, self.column) }
    }

    /// Returns the part of a line around the caret, and the caret's 0-based column and width in it.
    fn window(&self, text: &str) -> (String, usize, usize) {
        let n_chars = text.chars().count();
        let at = self.column.saturating_sub(1).min(n_chars);
        if n_chars <= LONGEST_LINE {
            return (text.to_owned(), at, self.width);
        }
        let start = if at < LONGEST_LINE / 2 { 0 } else { at - LONGEST_LINE / 4 };
        let end = n_chars.min(start + LONGEST_LINE);
        let (head, tail) = (if 0 < start { "…" } else { "" }, if end < n_chars { "…" } else { "" });
        let body: String = text.chars().skip(start).take(end - start).collect();
        let lead = at - start + head.chars().count();
        (format!("{head}{body}{tail}"), lead, self.width.min(end - at).max(1))
    }
}

/// Longest line that a place keeps, in bytes.
const LONGEST_KEPT: usize = 1 << 16;
/// Largest number of characters of a line in a message.
const LONGEST_LINE: usize = 160;
/// Largest number of characters of a quoted word in a long message.
const LONGEST_WORD: usize = 80;
/// Length in bytes up to which a message is shown without cuts.
const LONGEST_MESSAGE: usize = 400;

/// Returns the message with very long quoted words cut.
fn shortened(message: &str) -> Cow<'_, str> {
    if message.len() <= LONGEST_MESSAGE {
        return Cow::Borrowed(message);
    }
    let cut = |(i, part): (usize, &str)| match part.char_indices().nth(LONGEST_WORD) {
        Some((end, _)) if i % 2 == 1 => format!("{}…", &part[..end]),
        _ => part.to_owned(),
    };
    Cow::Owned(message.split('`').enumerate().map(cut).collect::<Vec<String>>().join("`"))
}

fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A file with 1-based line and column, and the text of that line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name shown to the user.
    pub file: String,
    /// 1-based line; 0 for the file as a whole or the command line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// Number of characters to underline.
    pub width: usize,
    /// The line itself; `None` if it would not help (a wide CSV row).
    pub text: Option<String>,
}

/// One error in user input, ready to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, with the offending value in backticks.
    pub message: String,
    /// Place of the error.
    pub place: Option<Box<Place>>,
    /// The expected input, shown behind the caret.
    pub expected: Option<String>,
    /// Advice on how to fix the error.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Creates an error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, expected: None, hint: None }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: Some(Box::new(place)), ..self }
    }

    /// Sets the expected input.
    #[must_use]
    pub fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// Sets the advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", shortened(&self.message))?;
        match self.place.as_deref() {
            Some(place @ Place { text: Some(text), .. }) => {
                let number = if place.line == 0 { " ".to_owned() } else { place.line.to_string() };
                let gutter = " ".repeat(number.len());
                let (text, at, width) = place.window(text);
                // Tabs before the caret are copied, so that the caret is below its character.
                let lead: String = text.chars().take(at).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                let expected = self.expected.as_deref().map(|e| format!(" expected {}", shortened(e))).unwrap_or_default();
                let (arrow, carets) = (place.shown(), "^".repeat(width));
                write!(f, "\n{gutter}--> {arrow}\n{number} | {text}\n{gutter} | {lead}{carets}{expected}")?;
            }
            place => {
                if let Some(place) = place {
                    write!(f, "\n --> {}", place.shown())?;
                }
                if let Some(expected) = &self.expected {
                    write!(f, "\nexpected {}", shortened(expected))?;
                }
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {}", shortened(hint))?;
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
    fn long_lines_are_cut_around_the_caret() {
        let mut sources = Sources::default();
        let id = sources.add("a.toml", format!("x = \"{}\"", "é".repeat(5000)));
        let shown = Diagnostic::new("long").at(sources.place(&Span { source: id, range: 4..9000 })).to_string();
        assert!(shown.chars().count() < 400 && shown.contains("1 | x = \"é"), "{shown}");
        let shown = Diagnostic::new("end").at(sources.place(&Span { source: id, range: 10_003..10_005 })).to_string();
        assert!(shown.contains("| …éé") && shown.ends_with('^'), "{shown}");
    }

    #[test]
    fn very_long_words_are_cut() {
        let shown = Diagnostic::new(format!("unknown key `{}` in `spec`", "é".repeat(3000))).to_string();
        assert_eq!(shown, format!("error: unknown key `{}…` in `spec`", "é".repeat(80)));
    }

    #[test]
    fn the_command_line_has_no_line_numbers() {
        let mut sources = Sources::default();
        let id = sources.add(COMMAND_LINE, "--set a=b");
        let shown = Diagnostic::new("bad `b`").at(sources.place(&Span { source: id, range: 8..9 })).to_string();
        assert_eq!(shown, "error: bad `b`\n --> command line\n  | --set a=b\n  |         ^");
        assert_eq!(Diagnostic::new("bad").at(Place::whole("a.toml")).to_string(), "error: bad\n --> a.toml");
    }

    #[test]
    fn spans_beyond_the_text_do_not_panic() {
        let mut sources = Sources::default();
        let id = sources.add("a", "é");
        assert_eq!(sources.place(&Span { source: id, range: 1..99 }).line, 1);
    }
}
