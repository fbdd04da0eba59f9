//! Computes the digests of a folder: SHA-256, in lower-case hexadecimal.

use sha2::{Digest, Sha256};
use std::io::Read;

/// Returns SHA-256 of a text, in hexadecimal: the hash of a resolved spec.
pub fn hash_text(text: &str) -> String {
    hash_bytes(text.as_bytes())
}

/// Returns SHA-256 of a file's bytes, in hexadecimal.
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns SHA-256 of what is read, in hexadecimal.
pub(super) fn hash_of(read: impl Read) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    feed(&mut hasher, read)?;
    Ok(hex(&hasher.finalize()))
}

/// Adds what is read to a digest, in pieces: a large file takes no memory.
pub(super) fn feed(hasher: &mut Sha256, mut read: impl Read) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match read.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n_bytes) => hasher.update(&buffer[..n_bytes]),
            Err(source) if source.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_sha256() {
        assert_eq!(hash_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
