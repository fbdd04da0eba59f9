//! "Did you mean": the nearest known word.

use strsim::osa_distance;

/// Longest word that is compared.
const LONGEST: usize = 200;

/// Returns the known word closest to `found`, if it is a likely intended word.
///
/// The distance is optimal string alignment: a swap of neighbouring letters is one edit.
#[must_use]
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
}
