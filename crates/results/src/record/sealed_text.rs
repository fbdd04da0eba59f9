//! JSON texts that end with the SHA-256 of everything before and after it: a changed byte anywhere is noticed.
//!
//! With a key the digest is an HMAC-SHA256, which nobody without the key can make.

use super::hash::{feed, hex};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

const KEY: &str = "\"sha256\"";
/// Hexadecimal digits of a digest.
const N_DIGITS: usize = 64;

/// Adds the digest as the last member of a JSON object, which may be pretty-printed; the text ends with a line feed.
///
/// * `key` — a key that both sides know, if the digest is made with one
pub fn seal_text(object: &str, key: Option<&[u8]>) -> String {
    let mut text = object.to_owned();
    let close = open(&mut text);
    let digest = digest([&text, close], key);
    text.push_str(&digest);
    text.push_str(close);
    text
}

/// Ends a text before the digits of its digest, and returns what follows them.
fn open(text: &mut String) -> &'static str {
    text.truncate(text.trim_end().len());
    text.truncate(text.strip_suffix('}').unwrap_or(text).len());
    let is_pretty = text.ends_with('\n');
    text.truncate(if is_pretty { text.trim_end().len() } else { text.len() });
    text.push_str(&if is_pretty { format!(",\n  {KEY}: \"") } else { format!(",{KEY}:\"") });
    if is_pretty { "\"\n}\n" } else { "\"}\n" }
}

/// Writes a JSON object as [`seal_text`] returns it without a key, piece by piece.
pub(super) struct SealedWriter<W> {
    inner: W,
    hasher: Sha256,
    /// The end of the text.
    held: Vec<u8>,
}

/// Fewest bytes of the end that a [`SealedWriter`] holds, and most that follow the digest in a file.
const N_HELD: usize = 1 << 16;

impl<W: Write> SealedWriter<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, hasher: Sha256::new(), held: Vec::new() }
    }

    /// Writes the digest, and returns what was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let mut text = String::from_utf8(self.held).map_err(io::Error::other)?;
        let close = open(&mut text);
        let digest = hex(&self.hasher.chain_update(&text).chain_update(close).finalize());
        self.inner.write_all([&text, &digest, close].concat().as_bytes())?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for SealedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        // Pieces are short: what is held is moved once for many of them.
        if 2 * N_HELD < self.held.len() {
            let n_ready = self.held.len() - N_HELD;
            // A character is not divided: the rest is read as text.
            let n_ready = (0..=n_ready).rev().find(|&at| self.held[at].is_ascii()).unwrap_or(0);
            self.hasher.update(&self.held[..n_ready]);
            self.inner.write_all(&self.held[..n_ready])?;
            self.held.drain(..n_ready);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a file has its own digest at its end, made without a key; its text is not in memory whole.
pub(super) fn is_sealed_file(file: &mut File) -> io::Result<bool> {
    let n_bytes = file.seek(SeekFrom::End(0))?;
    let n_before = n_bytes.saturating_sub(N_HELD as u64);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(n_before))?;
    file.read_to_end(&mut end)?;
    let found = end.iter().rposition(|&byte| byte == b'"').and_then(|last| Some((last.checked_sub(N_DIGITS)?, last)));
    let Some((start, last)) = found else { return Ok(false) };
    let mut hasher = Sha256::new();
    file.rewind()?;
    feed(&mut hasher, Read::by_ref(file).take(n_before))?;
    file.rewind()?;
    let names_it = [format!("{KEY}: \""), format!("{KEY}:\"")].iter().any(|key| end[..start].ends_with(key.as_bytes()));
    let digest = hex(&hasher.chain_update(&end[..start]).chain_update(&end[last..]).finalize());
    Ok(names_it && digest.as_bytes() == &end[start..last])
}

/// Whether a text has its own digest at its end, made with this key or without one.
pub fn is_sealed(text: &str, key: Option<&[u8]>) -> bool {
    let Some(end) = text.rfind('"') else { return false };
    let Some(start) = end.checked_sub(N_DIGITS) else { return false };
    let (Some(open), Some(digest)) = (text.get(..start), text.get(start..end)) else { return false };
    let names_it = [format!("{KEY}: \""), format!("{KEY}:\"")].iter().any(|key| open.ends_with(key));
    names_it && self::digest([open, &text[end..]], key) == digest
}

/// Returns the digest of a text in two pieces.
fn digest([open, close]: [&str; 2], key: Option<&[u8]>) -> String {
    // A key may have any length.
    match key.map(Hmac::<Sha256>::new_from_slice) {
        Some(Ok(mac)) => hex(&mac.chain_update(open).chain_update(close).finalize().into_bytes()),
        _ => hex(&Sha256::new().chain_update(open).chain_update(close).finalize()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_seen() {
        let is_intact = |text: &str| is_sealed(text, None);
        let value = serde_json::json!({"a": [1, 2.5], "b": {"c": "x\n"}});
        for text in [value.to_string(), format!("{value:#}\n")] {
            let whole = seal_text(&text, None);
            assert!(is_intact(&whole), "{whole}");
            let read: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
            assert_eq!((&read["a"], &read["b"]), (&value["a"], &value["b"]));
            for bit in 0..8 * whole.len() {
                let mut flipped = whole.clone().into_bytes();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(!String::from_utf8(flipped).is_ok_and(|text| is_intact(&text)), "bit {bit}");
            }
            for cut in 0..whole.len() {
                assert!(!is_intact(&whole[..cut]) && !is_intact(&whole[cut + 1..]));
            }
        }
        // Written in pieces of any length, also within characters and beyond what is held.
        let long = format!("{:#}", serde_json::json!({ "a": "é".repeat(N_HELD), "b": [1, 2] }));
        for n_bytes in [1, 7, 1000, 1 << 20] {
            let mut written = SealedWriter::new(Vec::new());
            long.as_bytes().chunks(n_bytes).for_each(|piece| written.write_all(piece).expect("written"));
            assert_eq!(written.finish().expect("written"), seal_text(&long, None).as_bytes());
        }
        let is_intact_file = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(bytes).expect("written");
            is_sealed_file(&mut file).expect("read")
        };
        let whole = seal_text(&long, None).into_bytes();
        assert!(is_intact_file(&whole));
        for at in [5, long.len() / 2, long.len() - 3, whole.len() - 4] {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            assert!(!is_intact_file(&altered), "{at}");
        }
        // An example of RFC 4231: test case 2.
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(digest(["what do ya want ", "for nothing?"], Some(b"Jefe")), known);
        let keyed = seal_text("{}", Some(b"a key"));
        assert!(is_sealed(&keyed, Some(b"a key")) && !is_sealed(&keyed, Some(b"another")) && !is_sealed(&keyed, None));
        assert!(!is_sealed(&seal_text("{}", None), Some(b"a key")));
        assert!(!is_intact("") && !is_intact("\"") && !is_intact(&"é".repeat(64)));
    }
}
