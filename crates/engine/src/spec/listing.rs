//! Lists everything that a spec can name, with its keys.
//!
//! The entries come from the registry. Mechanisms and noises on gradients have the keys of `[privacy]`, curators those of
//! `[curator]`.

use super::{CuratorPlan, PrivacyPlan, online};
use crate::registry::{Kind, Registry, documentation};
use privateer_config::params::Table;
use privateer_privacy::Protection;
use privateer_privacy::accounting::sensitivity::Participation;

/// Returns the entries of one kind ([`crate::registry::kinds`]); empty for an unknown kind.
pub fn listing(registry: &Registry, kind: &str) -> Vec<Kind> {
    let mut entries = documentation(registry, kind);
    let (builtin, table) = (Registry::builtin(), Table::default());
    let keys = match kind {
        "mechanism" => {
            builtin.documented(|args| drop(PrivacyPlan::parse(args, &table, true, Protection::Rewards, Participation::ONCE)))
        }
        "gradient-noise" => builtin.documented(|args| {
            online::request(args, true, Participation::ONCE);
        }),
        "curator" => builtin.documented(|args| drop(CuratorPlan::parse(args, &table))),
        _ => return entries,
    };
    entries.iter_mut().for_each(|entry| entry.keys.clone_from(&keys));
    entries
}
