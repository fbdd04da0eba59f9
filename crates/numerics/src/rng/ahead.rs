//! Normals that are drawn before they are used.

use super::Stream;
use super::normals::MANY;

/// Draws normals from one stream ahead of their use, because many together cost less.
///
/// The numbers are those of [`Stream::normals`], in order, as long as nothing else draws from the stream.
#[derive(Debug, Clone, Default)]
pub struct NormalsAhead {
    values: Vec<f64>,
    n_used: usize,
}

impl NormalsAhead {
    /// Fills `out` with the next normals of the stream, which must be the same in every call.
    pub fn fill(&mut self, stream: &mut Stream, out: &mut [f64]) {
        let ready = &self.values[self.n_used..];
        if let Some(ready) = ready.get(..out.len()) {
            out.copy_from_slice(ready);
            self.n_used += out.len();
            return;
        }
        let (first, rest) = out.split_at_mut(ready.len());
        first.copy_from_slice(ready);
        if MANY <= rest.len() {
            stream.normals(rest);
            self.n_used = self.values.len();
        } else {
            self.values.resize(MANY, 0.0);
            stream.normals(&mut self.values);
            rest.copy_from_slice(&self.values[..rest.len()]);
            self.n_used = rest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn the_numbers_of_the_stream_in_order() {
        let stream = || Streams::new(5, "ahead").of(0, Purpose::Noise);
        let (mut one, mut many, mut ahead) = (stream(), stream(), NormalsAhead::default());
        for n in [0, 1, 20, 500, 3, 512, 7, 513, 2000, 1, 505, 512, 511] {
            let mut found = vec![0.0; n];
            ahead.fill(&mut many, &mut found);
            assert!(found.iter().all(|x| x.to_bits() == one.normal().to_bits()), "{n}");
        }
    }
}
