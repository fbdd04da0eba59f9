//! Computes the contribution of one sample: opened, checked and clipped.

use super::{Clip, Gradient, GradientQuery, Sample, Start};
use crate::planted::{self, PlantedFault};
use privateer_numerics::linalg::Norm;
use std::sync::Arc;

/// Slack of the bound on contributions for rounding; sums of a thousand terms lose less.
const SLACK: f64 = 1e-12;

/// Computes contributions; holds no data between samples.
///
/// Vectors of several streams of samples are rows, one after another.
#[derive(Debug)]
pub(super) struct Leaf {
    gradient: Arc<dyn Gradient>,
    clip: Option<Clip>,
    dimension: usize,
    x: Vec<f64>,
    /// Responses; `None` for a sample that fails the check.
    y: Vec<Option<f64>>,
    now: Vec<f64>,
    before: Vec<f64>,
}

impl Leaf {
    pub(super) fn new(gradient: Arc<dyn Gradient>, dimension: usize, clip: Option<Clip>) -> Self {
        Self::of_rows(1, gradient, dimension, clip)
    }

    pub(super) fn of_rows(n_rows: usize, gradient: Arc<dyn Gradient>, dimension: usize, clip: Option<Clip>) -> Self {
        let zeros = || vec![0.0; n_rows * dimension];
        Self { gradient, clip, dimension, x: zeros(), y: vec![None; n_rows], now: zeros(), before: zeros() }
    }

    /// Checks samples and clips their features.
    /// A sample that is not finite or has the wrong length has no response and zero features.
    fn admit<'s>(&mut self, samples: impl IntoIterator<Item = Sample<'s>>) {
        self.y.fill(None);
        for ((sample, x), y) in samples.into_iter().zip(self.x.chunks_exact_mut(self.dimension)).zip(&mut self.y) {
            if sample.x.len() == x.len() && are_finite(&[sample.y]) && are_finite(sample.x) {
                x.copy_from_slice(sample.x);
                *y = Some(sample.y);
            } else {
                x.fill(0.0);
            }
        }
        if let Some(clip) = self.clip.filter(|_| !planted::is(PlantedFault::SampleClip)) {
            clip.sample.norm.clip_rows(&mut self.x, self.dimension, clip.sample.radius);
        }
    }

    /// Writes the gradient of each sample at its row of `theta`; zero for a sample that fails the check.
    fn gradients(&self, theta: &[f64], out: &mut [f64]) {
        let d = self.dimension;
        let rows = theta.chunks_exact(d).zip(self.x.chunks_exact(d)).zip(out.chunks_exact_mut(d));
        for (((theta, x), out), y) in rows.zip(&self.y) {
            match *y {
                Some(y) => self.gradient.gradient(theta, Sample { x, y }, out),
                None => out.fill(0.0),
            }
        }
    }

    /// Computes `weight_now grad(now) - weight_before grad(before)`, bounded.
    /// Zero for a sample that fails the check.
    fn combination<'s>(
        &mut self,
        query: GradientQuery<'_>,
        samples: impl IntoIterator<Item = Sample<'s>>,
        weights: (f64, f64),
        most: Option<(Norm, f64)>,
    ) -> &[f64] {
        self.admit(samples);
        let (mut now, mut before) = (std::mem::take(&mut self.now), std::mem::take(&mut self.before));
        self.gradients(query.now, &mut now);
        if weights.1 == 0.0 {
            if weights.0 != 1.0 {
                now.iter_mut().for_each(|now| *now *= weights.0);
            }
        } else {
            self.gradients(query.before, &mut before);
            for (now, before) in now.iter_mut().zip(&before) {
                *now = weights.0 * *now - weights.1 * before;
            }
        }
        for now in now.chunks_exact_mut(self.dimension) {
            if !are_finite(now) {
                now.fill(0.0);
            }
        }
        if let Some((norm, most)) = most.filter(|_| !planted::is(PlantedFault::GradientClip)) {
            norm.clip_rows(&mut now, self.dimension, most * (1.0 + SLACK));
        }
        (self.now, self.before) = (now, before);
        &self.now
    }

    /// Computes `g_t = (t + 1) grad(now) - t grad(before)` [Han2022, equation 3.1].
    /// In round 1 both iterates are equal. Without recursion it is `grad(now)` in every round.
    pub(super) fn recursive<'s>(
        &mut self,
        query: GradientQuery<'_>,
        samples: impl IntoIterator<Item = Sample<'s>>,
        round: u64,
        start: Start,
    ) -> &[f64] {
        let t = round as f64;
        let weights = match (round, start) {
            (1, Start::Half) | (_, Start::Never) => (1.0, 0.0),
            (1, Start::Full) => (2.0, 0.0),
            _ => (t + 1.0, t),
        };
        let most = self.clip.map(|clip| {
            let bound = if weights.1 == 0.0 { weights.0 * clip.gradient } else { clip.contribution };
            (clip.norm, bound)
        });
        self.combination(query, samples, weights, most)
    }

    /// Computes `grad(now)`, bounded.
    pub(super) fn plain(&mut self, now: &[f64], sample: Sample<'_>) -> &[f64] {
        let most = self.clip.map(|clip| (clip.norm, clip.gradient));
        self.combination(GradientQuery { now, before: now }, [sample], (1.0, 0.0), most)
    }

    /// Computes `grad(now) - grad(before)`, bounded by `most`.
    pub(super) fn difference(&mut self, query: GradientQuery<'_>, sample: Sample<'_>, most: f64) -> &[f64] {
        let most = self.clip.map(|clip| (clip.norm, most));
        self.combination(query, [sample], (1.0, 1.0), most)
    }
}

fn are_finite(vector: &[f64]) -> bool {
    // Without a branch, several entries are tested at once.
    planted::is(PlantedFault::GradientFinite) || vector.iter().fold(true, |finite, entry| finite & entry.is_finite())
}
