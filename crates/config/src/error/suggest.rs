//! "Did you mean": the nearest known word, and the present names of renamed ones.

use strsim::osa_distance;

/// Longest word that is compared.
const LONGEST: usize = 200;

/// Returns the known word closest to `found`, if it is a likely intended word.
///
/// The distance is optimal string alignment: a swap of neighbouring letters is one edit.
pub fn closest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let n_chars = found.chars().count();
    // At least one letter must be right; longer texts than any word are not compared.
    let limit = n_chars.div_ceil(3).min(n_chars.saturating_sub(1));
    if LONGEST < n_chars {
        return None;
    }
    known
        .into_iter()
        .map(|word| (osa_distance(found, word), word))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, word)| word)
}

/// Keys and words that a spec or command line no longer knows, with their present names.
const RENAMED: [(&str, &str); 7] = [
    ("reading", "calibration"),
    ("printed", "as-printed"),
    ("width", "beta"),
    ("people", "users"),
    ("stand_in", "synthetic"),
    ("stand_in_rows", "synthetic_rows"),
    ("stand_in_shape", "synthetic_shape"),
];

/// The present name of a renamed key or word, if it is among the known ones.
pub fn renamed<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (_, new) = RENAMED.iter().find(|(old, _)| *old == found)?;
    known.into_iter().find(|word| word == new)
}

/// What to try where `found` is unknown: the present name of a renamed word, else the closest one.
pub fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    match renamed(found, known.clone()) {
        Some(new) => Some(format!("`{found}` is now `{new}`")),
        None => closest(found, known).map(|near| format!("did you mean `{near}`?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit() {
        assert_eq!(osa_distance("gp-ubc", "gp-ucb"), 1);
        assert_eq!(closest("gp-ubc", ["gp-ucb", "igp-ucb", "tgp-ucb"]), Some("gp-ucb"));
    }

    #[test]
    fn far_words_are_not_offered() {
        assert_eq!(closest("banana", ["gp-ucb", "laplace"]), None);
        assert_eq!(closest("", ["gp-ucb"]), None);
        assert_eq!(closest("d", ["a", "b"]), None);
        assert_eq!(closest(&"x".repeat(1 << 20), ["gp-ucb"]), None);
    }

    #[test]
    fn a_renamed_word_is_named_where_its_new_name_is_known() {
        assert_eq!(suggestion("width", ["beta", "depth"]).as_deref(), Some("`width` is now `beta`"));
        assert_eq!(suggestion("width", ["with", "depth"]).as_deref(), Some("did you mean `with`?"));
        assert_eq!(suggestion("width", ["ridge"]), None);
    }
}
