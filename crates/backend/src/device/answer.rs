//! Reads a device slot's answer in the layout of the last pass.

use super::{Answer, CAPACITY};
use crate::BackendError;

/// Words before the list: stamp, scored, count, checksum.
pub const HEADER: usize = 4;

/// Words of an answer.
pub const ANSWER_WORDS: usize = HEADER + CAPACITY;

/// Real numbers of an answer: best lower, best upper, largest variance, largest mean magnitude.
pub const MAXIMA: usize = 4;

/// The answers to a round as a device wrote them; each is decoded where it is used.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// [`ANSWER_WORDS`] for each work of the round.
    pub(crate) words: Vec<u32>,
    /// [`MAXIMA`] for each work of the round.
    pub(crate) maxima: Vec<f64>,
}

impl Answers {
    /// Returns the number of answers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len() / ANSWER_WORDS
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Decodes the answer to a work, by its place in the round.
    ///
    /// # Errors
    /// If there is none, or its checksum does not match its list.
    pub fn get(&self, place: usize) -> Result<Answer, BackendError> {
        let words = self.words.chunks_exact(ANSWER_WORDS).nth(place);
        let maxima = self.maxima.chunks_exact(MAXIMA).nth(place);
        let (Some(words), Some(maxima)) = (words, maxima) else {
            return Err(BackendError::untrusted(format!("gave {} answers, and none to work {place}", self.len())));
        };
        decode(words, [0, 1, 2, 3].map(|i| maxima[i]))
    }
}

/// Returns the sum, modulo 2^32, of stamp, count and the whole list.
pub fn checksum(words: &[u32]) -> u32 {
    words[HEADER..].iter().fold(words[0].wrapping_add(words[2]), |sum, &word| sum.wrapping_add(word))
}

/// Decodes an answer.
/// * `words` — [`ANSWER_WORDS`]
///
/// # Errors
/// If the checksum does not match the list.
fn decode(words: &[u32], maxima: [f64; MAXIMA]) -> Result<Answer, BackendError> {
    if checksum(words) != words[3] {
        let (stated, found) = (words[3], checksum(words));
        return Err(BackendError::untrusted(format!("returned an answer with checksum {stated:#010x} instead of {found:#010x}")));
    }
    let listed = (words[2] as usize).min(CAPACITY);
    let [best_lower, best_upper, largest_variance, largest_mean] = maxima;
    Ok(Answer {
        stamp: words[0],
        scored: words[1],
        count: words[2],
        points: words[HEADER..HEADER + listed].to_vec(),
        best_lower,
        best_upper,
        largest_variance,
        largest_mean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_word_is_found() {
        let mut words = [u32::MAX; ANSWER_WORDS];
        words[..6].copy_from_slice(&[7, 100, 2, 0, 5, 9]);
        words[3] = checksum(&words);
        let answer = decode(&words, [1.0, 2.0, 3.0, 4.0]).expect("whole");
        assert_eq!((answer.stamp, answer.scored, answer.count, answer.points), (7, 100, 2, vec![5, 9]));
        words[5] = 8;
        assert!(decode(&words, [0.0; 4]).is_err());
    }
}
