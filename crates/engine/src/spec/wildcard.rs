//! Finds the tables that a path such as `policy.*.beta` stands for.

use super::path::text_of;
use crate::registry::{Registry, documentation};
use privateer_config::params::{Table, Value};

/// Keys that tables of every kind may have.
const COMMON: [&str; 4] = ["kind", "label", "privacy", "curator"];

/// Returns a path for each policy or learner that reads the key after `*`; the path itself if all or none of them do.
pub fn expanded(table: &Table, path: &str, registry: &Registry) -> Vec<String> {
    let whole = || vec![path.to_owned()];
    let mut parts = path.splitn(3, '.').map(str::trim);
    let (Some(array @ ("policy" | "learner")), Some("*"), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return whole();
    };
    let key = rest.split('.').next().unwrap_or(rest).trim();
    let Some(Value::Array(items)) = table.get(array).map(|node| &node.value) else { return whole() };
    if COMMON.contains(&key) {
        return whole();
    }
    let kinds: Vec<_> =
        [array.to_owned(), format!("contextual-{array}")].iter().flat_map(|kind| documentation(registry, kind)).collect();
    let reads = |i: &usize| {
        let kind = text_of(&items[*i], "kind").and_then(|name| kinds.iter().find(|kind| kind.name == name));
        kind.is_none_or(|kind| kind.keys.iter().any(|known| known.path == key))
    };
    let chosen: Vec<usize> = (0..items.len()).filter(reads).collect();
    if chosen.is_empty() || chosen.len() == items.len() {
        return whole();
    }
    chosen.into_iter().map(|i| format!("{array}.{i}.{rest}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::read;
    use privateer_config::error::Sources;
    use privateer_config::params::Sink;

    #[test]
    fn a_key_reaches_the_policies_that_read_it() {
        let text = "[[policy]]\nkind = \"igp-ucb\"\n[[policy]]\nkind = \"uniform\"\n[[policy]]\nkind = \"tgp-ucb\"\n";
        let table = read::document(text, 0, &Sink::new(Sources::default()));
        let paths = |path| expanded(&table, path, &Registry::builtin());
        assert_eq!(paths("policy.*.beta.factor"), ["policy.0.beta.factor", "policy.2.beta.factor"]);
        assert_eq!(paths("policy.*.label"), ["policy.*.label"]);
        assert_eq!(paths("policy.*.banana"), ["policy.*.banana"]);
        assert_eq!(paths("privacy.epsilon"), ["privacy.epsilon"]);
    }
}
