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
    pub words: Vec<u32>,
    /// [`MAXIMA`] for each work of the round.
    pub maxima: Vec<f64>,
}

impl Answers {
    pub(crate) fn len(&self) -> usize {
        self.words.len() / ANSWER_WORDS
    }

    pub(crate) fn bytes(&self) -> u64 {
        (4 * self.words.len() + 8 * self.maxima.len()) as u64
    }

    /// Adds the answers to later works.
    pub(crate) fn append(&mut self, later: &Self) {
        self.words.extend_from_slice(&later.words);
        self.maxima.extend_from_slice(&later.maxima);
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
        let (stated, found) = (words[3], checksum(words));
        if stated != found {
            let problem = format!("returned an answer with checksum {stated:#010x} instead of {found:#010x}");
            return Err(BackendError::untrusted(problem));
        }
        (answer.stamp, answer.scored, answer.count) = (words[0], words[1], words[2]);
        answer.points.clear();
        answer.points.extend_from_slice(&words[HEADER..][..CAPACITY.min(words[2] as usize)]);
        [answer.best_lower, answer.best_upper, answer.largest_variance, answer.largest_mean] = *maxima;
        Ok(())
    }
}

/// Returns the sum, modulo 2^32, of stamp, count and the whole list.
pub fn checksum(words: &[u32]) -> u32 {
    words[HEADER..].iter().fold(words[0].wrapping_add(words[2]), |sum, &word| sum.wrapping_add(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_word_is_found() {
        let mut answers = Answers { words: vec![u32::MAX; ANSWER_WORDS], maxima: vec![1.0, 2.0, 3.0, 4.0] };
        answers.words[..6].copy_from_slice(&[7, 100, 2, 0, 5, 9]);
        answers.words[3] = checksum(&answers.words);
        let mut answer = Answer::default();
        answers.read(0, &mut answer).expect("whole");
        assert_eq!((answer.stamp, answer.scored, answer.count), (7, 100, 2));
        assert_eq!(answer.points, [5, 9]);
        answers.words[5] = 8;
        assert!(answers.read(0, &mut answer).is_err());
    }
}
