//! Streams by name.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, TryRng};
use sha2::{Digest, Sha256};
use std::array;
use std::convert::Infallible;

/// The use of a stream; two purposes never share a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// The points of a random domain (one draw per environment, not per trial).
    Domain,
    /// The function of the trial.
    Function,
    /// The users of the trial: their contexts.
    Contexts,
    /// Who of a population takes part in each round; shared by all trials.
    Arrivals,
    /// Observation noise.
    Noise,
    /// Starting points; shared by all policies of a trial.
    Start,
    /// Decision sets; the same for all policies of a trial.
    Sets,
    /// Random features; shared by all policies of an environment.
    Features,
    /// Draws of a trial's curator; shared by its policies, because a data set is released once.
    Curator,
    /// Privacy noise of the named policy.
    Mechanism(&'a str),
    /// The named policy's own randomness.
    Policy(&'a str),
}

impl Purpose<'_> {
    fn name(&self) -> (&'static str, &str) {
        match self {
            Self::Domain => ("domain", ""),
            Self::Function => ("function", ""),
            Self::Contexts => ("contexts", ""),
            Self::Arrivals => ("arrivals", ""),
            Self::Noise => ("noise", ""),
            Self::Start => ("start", ""),
            Self::Sets => ("sets", ""),
            Self::Features => ("features", ""),
            Self::Curator => ("curator", ""),
            Self::Mechanism(label) => ("mechanism", label),
            Self::Policy(label) => ("policy", label),
        }
    }
}

/// All streams of one environment under one sweep seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    environment: String,
}

impl Streams {
    /// Creates the streams of the environment with this label.
    pub fn new(seed: u64, environment: impl Into<String>) -> Self {
        Self { seed, environment: environment.into() }
    }

    /// Returns the stream of one trial (0-based) for one purpose.
    pub fn of(&self, trial: u64, purpose: Purpose<'_>) -> Stream {
        self.derive(Some(trial), purpose)
    }

    /// Returns the stream that all trials of the environment share for one purpose.
    pub fn shared(&self, purpose: Purpose<'_>) -> Stream {
        self.derive(None, purpose)
    }

    fn derive(&self, trial: Option<u64>, purpose: Purpose<'_>) -> Stream {
        // SHA-256 over length-prefixed fields: 128 bits of state, 128 bits of stream selector.
        let (kind, label) = purpose.name();
        let mut hash = Sha256::new();
        hash.update(b"privateer stream v1");
        hash.update(self.seed.to_le_bytes());
        for text in [self.environment.as_str(), kind, label] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        match trial {
            Some(trial) => {
                hash.update([1]);
                hash.update(trial.to_le_bytes());
            }
            None => hash.update([0]),
        }
        Stream::of_digest(hash)
    }
}

/// Fewest words of a quarter in [`Stream::words_into`], so that a jump costs less than it saves.
const LEAST_QUARTER: usize = 64;

/// One reproducible stream of simulation randomness, unsuitable for the release of real data.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: Pcg64,
    drawn: u64,
}

impl Stream {
    /// Starts at the state and with the selector that the halves of a digest are.
    fn of_digest(hash: Sha256) -> Self {
        let digest: [u8; 32] = hash.finalize().into();
        let half = |first: usize| u128::from_le_bytes(array::from_fn(|i| digest[first + i]));
        Self { generator: Pcg64::new(half(0), half(16)), drawn: 0 }
    }

    /// Returns the next 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.drawn += 1;
        self.generator.next_u64()
    }

    /// Fills `out` with a function of each of the next words.
    ///
    /// Four copies of the generator draw a quarter each: a generator alone waits for its own last product.
    pub(super) fn words_into(&mut self, out: &mut [f64], of: impl Fn(u64) -> f64) {
        let quarter = out.len() / 4;
        if LEAST_QUARTER <= quarter {
            let (a, rest) = out.split_at_mut(quarter);
            let (b, rest) = rest.split_at_mut(quarter);
            let (c, d) = rest.split_at_mut(quarter);
            let mut copies = [0, 1, 2, 3].map(|copy| {
                let mut generator = self.generator.clone();
                generator.advance((copy * quarter) as u128);
                generator
            });
            for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(&mut *d) {
                let [of_a, of_b, of_c, of_d] = copies.each_mut().map(|generator| of(generator.next_u64()));
                (*a, *b, *c, *d) = (of_a, of_b, of_c, of_d);
            }
            let [.., last] = copies;
            self.generator = last;
            self.drawn += 4 * quarter as u64;
            d[quarter..].iter_mut().for_each(|value| *value = of(self.word()));
        } else {
            out.iter_mut().for_each(|value| *value = of(self.word()));
        }
    }

    /// Fills each row of `out` with a function of each of the next words of its stream.
    ///
    /// Four generators draw in turn: one alone waits for its own last product.
    pub(super) fn words_of_each(streams: &mut [&mut Self], out: &mut [f64], of: impl Fn(u64) -> f64) {
        let n = out.len() / streams.len().max(1);
        for (streams, rows) in streams.chunks_mut(4).zip(out.chunks_mut(4 * n.max(1))) {
            if let [a, b, c, d] = streams {
                let (row_a, rest) = rows.split_at_mut(n);
                let (row_b, rest) = rest.split_at_mut(n);
                let (row_c, row_d) = rest.split_at_mut(n);
                let mut generators = [&a.generator, &b.generator, &c.generator, &d.generator].map(Clone::clone);
                for (((a, b), c), d) in row_a.iter_mut().zip(row_b).zip(row_c).zip(row_d) {
                    let [of_a, of_b, of_c, of_d] = generators.each_mut().map(|generator| of(generator.next_u64()));
                    (*a, *b, *c, *d) = (of_a, of_b, of_c, of_d);
                }
                for (stream, generator) in [a, b, c, d].into_iter().zip(generators) {
                    stream.generator = generator;
                    stream.drawn += n as u64;
                }
            } else {
                for (stream, row) in streams.iter_mut().zip(rows.chunks_mut(n.max(1))) {
                    stream.words_into(row, &of);
                }
            }
        }
    }

    /// Returns the number of words drawn so far: with the name, the whole state of a stream.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Returns a stream that begins at the next word, for code that may draw any number of words.
    ///
    /// It takes one word of this stream, whatever is drawn from the other.
    pub fn fork(&mut self) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"fork");
        hash.update(self.word().to_le_bytes());
        Self::of_digest(hash)
    }
}

/// Draws through the interface of `rand`, so that its distributions and those of other crates work on a stream.
///
/// Every draw takes whole words: 32 bits take one word, and so do up to eight bytes.
impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        // The upper half: generators of this kind have their best bits there.
        Ok((self.word() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for part in out.chunks_mut(8) {
            part.copy_from_slice(&self.word().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_in_every_part_of_their_name() {
        let a = Streams::new(7, "rkhs");
        let mut first = vec![
            a.of(0, Purpose::Noise).word(),
            a.of(1, Purpose::Noise).word(),
            a.of(0, Purpose::Function).word(),
            a.of(0, Purpose::Mechanism("tgp")).word(),
            a.of(0, Purpose::Mechanism("igp")).word(),
            a.of(0, Purpose::Policy("tgp")).word(),
            a.shared(Purpose::Noise).word(),
            Streams::new(8, "rkhs").of(0, Purpose::Noise).word(),
            Streams::new(7, "table").of(0, Purpose::Noise).word(),
        ];
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 9);
    }

    #[test]
    fn many_words_are_those_drawn_alone() {
        let fresh = || Streams::new(7, "rkhs").of(0, Purpose::Noise);
        for n in [0, 1, 255, 256, 259, 1000] {
            let (mut together, mut alone, mut out) = (fresh(), fresh(), vec![0.0; n]);
            together.words_into(&mut out, |word| word as f64);
            assert!(out.iter().all(|&value| value == alone.word() as f64), "{n}");
            assert_eq!((together.drawn(), together.word()), (n as u64, alone.word()));
        }
    }

    #[test]
    fn words_of_several_streams_are_those_of_each() {
        let fresh = |trial| Streams::new(7, "rkhs").of(trial, Purpose::Noise);
        for (n_streams, n) in [(1, 3), (3, 0), (4, 5), (9, 20), (11, 300)] {
            let (mut streams, mut out) = ((0..n_streams).map(fresh).collect::<Vec<Stream>>(), vec![0.0; n_streams as usize * n]);
            let mut all: Vec<&mut Stream> = streams.iter_mut().collect();
            Stream::words_of_each(&mut all, &mut out, |word| word as f64);
            for (trial, (stream, mut alone)) in streams.iter_mut().zip((0..n_streams).map(fresh)).enumerate() {
                assert!(out[trial * n..(trial + 1) * n].iter().all(|&value| value == alone.word() as f64), "{n_streams} {n}");
                assert_eq!((stream.drawn(), stream.word()), (n as u64, alone.word()));
            }
        }
    }

    /// Ready-made distributions draw from a stream, and the stream counts their words.
    #[test]
    fn other_crates_draw_from_streams() {
        use rand::seq::SliceRandom;
        use rand_distr::{Distribution, Exp1};
        let fresh = || Streams::new(7, "rand").of(0, Purpose::Function);
        let (mut stream, mut words) = (fresh(), fresh());
        assert_eq!((stream.next_u64(), stream.next_u32()), (words.word(), (words.word() >> 32) as u32));
        let mut bytes = [0; 11];
        stream.fill_bytes(&mut bytes);
        assert_eq!((stream.drawn(), &bytes[..8]), (4, &words.word().to_le_bytes()[..]));
        // The mean of 10 000 exponentials has standard error 0.01; five of them: false alarm below 1e-6, fixed seed.
        let draws = Distribution::<f64>::sample_iter(Exp1, &mut stream).take(10_000);
        let mean = draws.sum::<f64>() / 1e4;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
        let mut cards: Vec<u32> = (0..52).collect();
        cards.shuffle(&mut stream);
        assert!(!cards.is_sorted());
        cards.sort_unstable();
        assert!(cards.into_iter().eq(0..52));
    }

    #[test]
    fn the_bits_are_pinned() {
        // A change here changes every recorded result: it belongs under "Changed results" in the changelog.
        let mut stream = Streams::new(7, "rkhs").of(0, Purpose::Noise);
        let words = [stream.word(), stream.word()];
        assert_eq!(words, PINNED, "{words:?}");
    }

    const PINNED: [u64; 2] = [15_665_433_108_131_965_267, 166_356_378_906_476_843];
}
