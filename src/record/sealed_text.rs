//! JSON texts that end with the SHA-256 of everything before and after it: a changed byte anywhere is noticed.
//!
//! With a key the digest is an HMAC-SHA256, which nobody without the key can make.

use super::hash::{hash_text, hex};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const KEY: &str = "\"sha256\"";
/// Hexadecimal digits of a digest.
const N_DIGITS: usize = 64;

/// Adds the digest as the last member of a JSON object, which may be pretty-printed; the text ends with a line feed.
///
/// * `key` — a key that both sides know, if the digest is made with one
pub fn seal_text(object: &str, key: Option<&[u8]>) -> String {
    let object = object.trim_end();
    let members = object.strip_suffix('}').unwrap_or(object);
    let (open, close) = if members.ends_with('\n') {
        (format!("{},\n  {KEY}: \"", members.trim_end()), "\"\n}\n")
    } else {
        (format!("{members},{KEY}:\""), "\"}\n")
    };
    format!("{open}{}{close}", digest(&format!("{open}{close}"), key))
}

/// Whether a text has its own digest at its end, made with this key or without one.
pub fn is_sealed(text: &str, key: Option<&[u8]>) -> bool {
    let Some(end) = text.rfind('"') else { return false };
    let Some(start) = end.checked_sub(N_DIGITS) else { return false };
    let (Some(open), Some(digest)) = (text.get(..start), text.get(start..end)) else { return false };
    let names_it = [format!("{KEY}: \""), format!("{KEY}:\"")].iter().any(|key| open.ends_with(key));
    names_it && self::digest(&format!("{open}{}", &text[end..]), key) == digest
}

fn digest(text: &str, key: Option<&[u8]>) -> String {
    // A key may have any length.
    match key.map(Hmac::<Sha256>::new_from_slice) {
        Some(Ok(mac)) => hex(&mac.chain_update(text).finalize().into_bytes()),
        _ => hash_text(text),
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
        // An example of RFC 4231: test case 2.
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(digest("what do ya want for nothing?", Some(b"Jefe")), known);
        let keyed = seal_text("{}", Some(b"a key"));
        assert!(is_sealed(&keyed, Some(b"a key")) && !is_sealed(&keyed, Some(b"another")) && !is_sealed(&keyed, None));
        assert!(!is_sealed(&seal_text("{}", None), Some(b"a key")));
        assert!(!is_intact("") && !is_intact("\"") && !is_intact(&"é".repeat(64)));
    }
}
