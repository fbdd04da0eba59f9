//! Lists everything that a spec can name, with its keys.
//!
//! The entries come from the registry. Mechanisms and noises on gradients have the keys of `[privacy]`, curators those of
//! `[curator]`.

use super::curator::curator_keys;
use super::online::gradient_privacy_keys;
use super::privacy::privacy_keys;
use crate::registry::{Kind, Registry, documentation};

/// Returns the entries of one kind ([`crate::registry::kinds`]); empty for an unknown kind.
pub fn listing(registry: &Registry, kind: &str) -> Vec<Kind> {
    let mut entries = documentation(registry, kind);
    if kind == "mechanism" {
        for entry in &mut entries {
            entry.keys = privacy_keys();
        }
    }
    if kind == "gradient-noise" {
        for entry in &mut entries {
            entry.keys = gradient_privacy_keys();
        }
    }
    if kind == "curator" {
        for entry in &mut entries {
            entry.keys = curator_keys();
        }
    }
    entries
}
