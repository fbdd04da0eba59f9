//! Untrusted text, escaped for terminals and XML.

use std::borrow::Cow;

/// Returns whether a character acts on the display instead of being shown.
///
/// These are control characters other than line feed and tab, marks that change the direction of text, and characters
/// outside of XML.
pub fn is_unprintable(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // The last two are outside of XML.
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Returns the text with its unprintable characters escaped, as in `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_unprintable(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
        shown
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_written_out() {
        assert_eq!(printable("a\tb\nπ · é"), "a\tb\nπ · é");
        assert_eq!(printable("\u{1b}]0;owned\u{7}"), "\\u{1b}]0;owned\\u{7}");
        assert_eq!(printable("\u{202e}\r\u{0}\u{9b}\u{ffff}"), "\\u{202e}\\u{d}\\u{0}\\u{9b}\\u{ffff}");
    }
}
