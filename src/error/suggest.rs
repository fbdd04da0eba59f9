//! "Did you mean": the nearest known word.

/// Longest word that is compared.
const LONGEST: usize = 200;

/// The known word closest to `found` by edit distance, if one is close enough to be a likely misspelling.
#[must_use]
pub fn closest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let n_chars = found.chars().count();
    // At least one letter must be right; what is longer than any word is not compared.
    let limit = n_chars.div_ceil(3).min(n_chars.saturating_sub(1));
    if LONGEST < n_chars {
        return None;
    }
    known
        .into_iter()
        .map(|word| (distance(found, word), word))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, word)| word)
}

/// Edit distance in which swapping two neighbouring letters counts as one edit (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitution = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitution.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if 1 < i && 1 < j && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_edit() {
        assert_eq!(distance("gp-ubc", "gp-ucb"), 1);
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
