//! Everything a spec can name, with its keys: the registry's entries, and for mechanisms the keys of `[privacy]`, for curators those of `[curator]`.

use super::curator::curator_keys;
use super::privacy::privacy_keys;
use crate::registry::{Kind, documentation};

/// Everything of one kind ([`crate::registry::kinds`]); empty for an unknown kind.
#[must_use]
pub fn listing(kind: &str) -> Vec<Kind> {
    let mut entries = documentation(kind);
    if kind == "mechanism" {
        for entry in &mut entries {
            entry.keys = privacy_keys();
        }
    }
    if kind == "curator" {
        for entry in &mut entries {
            entry.keys = curator_keys();
        }
    }
    entries
}
