//! The rotation of a Nystrom embedding into the coordinates of the symmetric root.

use crate::nystrom::Embedding;
use privateer_numerics::linalg::{Polar, dot, padded_length};

/// The orthogonal matrix `O` of [`Embedding::polar`].
#[derive(Debug, Clone)]
pub enum Rotation {
    /// Product of reflections, for a dictionary that is used once.
    Reflections(Box<Polar>),
    /// Padded rows of `O` and of `O^T`, for a long-lived dictionary.
    Matrix { stride: usize, rows: Vec<f64>, transposed: Vec<f64> },
}

impl Rotation {
    /// Computes the rotation; `None` if the dictionary's covariance is not finite.
    pub fn of(embedding: &Embedding, lives_long: bool) -> Option<Self> {
        let polar = embedding.polar()?;
        if !lives_long {
            return Some(Self::Reflections(Box::new(polar)));
        }
        let (m, stride) = (embedding.m(), padded_length(embedding.m()));
        let mut transposed = vec![0.0; m * stride];
        (0..m).for_each(|i| transposed[i * stride + i] = 1.0);
        let mut rows = transposed.clone();
        polar.apply(&mut transposed);
        polar.apply_transposed(&mut rows);
        Some(Self::Matrix { stride, rows, transposed })
    }

    /// Replaces every padded row `x` by `O x`, or by `O^T x` if `back`.
    pub fn turn(&self, vectors: &mut [f64], back: bool) {
        match self {
            Self::Reflections(polar) if back => polar.apply_transposed(vectors),
            Self::Reflections(polar) => polar.apply(vectors),
            Self::Matrix { stride, rows, transposed } => {
                let (turn, stride) = (if back { transposed } else { rows }, (*stride).max(1));
                let mut turned = vec![0.0; stride];
                for row in vectors.chunks_exact_mut(stride) {
                    turned.iter_mut().zip(turn.chunks_exact(stride)).for_each(|(entry, line)| *entry = dot(line, row));
                    row.copy_from_slice(&turned);
                }
            }
        }
    }
}
