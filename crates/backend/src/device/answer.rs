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
    pub fn len(&self) -> usize {
        self.words.len() / ANSWER_WORDS
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Decodes the answer to a work, by its place in the round, into `answer`.
    ///
    /// # Errors
    /// If there is none, or its checksum does not match its list.
    pub fn read(&self, place: usize, answer: &mut Answer) -> Result<(), BackendError> {
        let words = self.words.get(place * ANSWER_WORDS..).and_then(|words| words.first_chunk::<ANSWER_WORDS>());
        let maxima = self.maxima.get(place * MAXIMA..).and_then(|maxima| maxima.first_chunk::<MAXIMA>());
        let (Some(words), Some(maxima)) = (words, maxima) else {
            return Err(BackendError::untrusted(format!("gave {} answers, and none to work {place}", self.len())));
        };
        decode(words, *maxima, answer)
    }
}

/// Returns the sum, modulo 2^32, of stamp, count and the whole list.
pub fn checksum(words: &[u32]) -> u32 {
    words[HEADER..].iter().fold(words[0].wrapping_add(words[2]), |sum, &word| sum.wrapping_add(word))
}

/// Decodes an answer.
///
/// # Errors
/// If the checksum does not match the list.
fn decode(words: &[u32; ANSWER_WORDS], maxima: [f64; MAXIMA], answer: &mut Answer) -> Result<(), BackendError> {
    if checksum(words) != words[3] {
        let (stated, found) = (words[3], checksum(words));
        return Err(BackendError::untrusted(format!("returned an answer with checksum {stated:#010x} instead of {found:#010x}")));
    }
    (answer.stamp, answer.scored, answer.count) = (words[0], words[1], words[2]);
    let listed = (words[2] as usize).min(CAPACITY);
    answer.points.clear();
    answer.points.extend_from_slice(&words[HEADER..HEADER + listed]);
    [answer.best_lower, answer.best_upper, answer.largest_variance, answer.largest_mean] = maxima;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_word_is_found() {
        let mut words = [u32::MAX; ANSWER_WORDS];
        words[..6].copy_from_slice(&[7, 100, 2, 0, 5, 9]);
        words[3] = checksum(&words);
        let mut answer = Answer::default();
        decode(&words, [1.0, 2.0, 3.0, 4.0], &mut answer).expect("whole");
        assert_eq!((answer.stamp, answer.scored, answer.count), (7, 100, 2));
        assert_eq!(answer.points, [5, 9]);
        words[5] = 8;
        assert!(decode(&words, [0.0; 4], &mut answer).is_err());
    }
}
