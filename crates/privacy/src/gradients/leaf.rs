//! Computes the contribution of one sample: opened, checked and clipped.

use super::{Clip, Gradient, GradientQuery, Sample, Start};
use crate::planted::{self, PlantedFault};
use privateer_numerics::linalg::Norm;
use std::sync::Arc;

/// Slack of the bound on contributions for rounding; sums of a thousand terms lose less.
const SLACK: f64 = 1e-12;

/// Computes contributions; holds no data between samples.
#[derive(Debug)]
pub(super) struct Leaf {
    gradient: Arc<dyn Gradient>,
    clip: Option<Clip>,
    x: Vec<f64>,
    now: Vec<f64>,
    before: Vec<f64>,
}

impl Leaf {
    pub(super) fn new(gradient: Arc<dyn Gradient>, dimension: usize, clip: Option<Clip>) -> Self {
        let zeros = || vec![0.0; dimension];
        Self { gradient, clip, x: zeros(), now: zeros(), before: zeros() }
    }

    /// Checks a sample and clips its features; returns its response.
    /// `None` if the sample is not finite or has the wrong length.
    fn admit(&mut self, sample: Sample<'_>) -> Option<f64> {
        let finite =
            planted::is(PlantedFault::GradientFinite) || (sample.y.is_finite() && sample.x.iter().all(|x| x.is_finite()));
        let whole = sample.x.len() == self.x.len() && finite;
        if !whole {
            return None;
        }
        self.x.copy_from_slice(sample.x);
        if let Some(clip) = self.clip.filter(|_| !planted::is(PlantedFault::SampleClip)) {
            clip.sample.norm.clip(&mut self.x, clip.sample.radius);
        }
        Some(sample.y)
    }

    /// Computes `weight_now grad(now) - weight_before grad(before)`, bounded.
    /// Zero for a sample that fails the check.
    fn combination(
        &mut self,
        query: GradientQuery<'_>,
        sample: Sample<'_>,
        weights: (f64, f64),
        most: Option<(Norm, f64)>,
    ) -> &[f64] {
        let Some(y) = self.admit(sample) else {
            self.now.fill(0.0);
            return &self.now;
        };
        let sample = Sample { x: &self.x, y };
        self.gradient.gradient(query.now, sample, &mut self.now);
        if weights.1 == 0.0 {
            if weights.0 != 1.0 {
                self.now.iter_mut().for_each(|now| *now *= weights.0);
            }
        } else {
            self.gradient.gradient(query.before, sample, &mut self.before);
            for (now, before) in self.now.iter_mut().zip(&self.before) {
                *now = weights.0 * *now - weights.1 * before;
            }
        }
        let finite = planted::is(PlantedFault::GradientFinite) || self.now.iter().all(|entry| entry.is_finite());
        if !finite {
            self.now.fill(0.0);
        } else if let Some((norm, most)) = most.filter(|_| !planted::is(PlantedFault::GradientClip)) {
            norm.clip(&mut self.now, most * (1.0 + SLACK));
        }
        &self.now
    }

    /// Computes `g_t = (t + 1) grad(now) - t grad(before)` [Han2022, equation 3.1].
    /// In round 1 both iterates are equal.
    pub(super) fn recursive(&mut self, query: GradientQuery<'_>, sample: Sample<'_>, round: u64, start: Start) -> &[f64] {
        let t = round as f64;
        let weights = match (round, start) {
            (1, Start::Half) => (1.0, 0.0),
            (1, Start::Full) => (2.0, 0.0),
            _ => (t + 1.0, t),
        };
        let most = self.clip.map(|clip| {
            let bound = if weights.1 == 0.0 { weights.0 * clip.gradient } else { clip.contribution };
            (clip.norm, bound)
        });
        self.combination(query, sample, weights, most)
    }

    /// Computes `grad(now)`, bounded.
    pub(super) fn plain(&mut self, now: &[f64], sample: Sample<'_>) -> &[f64] {
        let most = self.clip.map(|clip| (clip.norm, clip.gradient));
        self.combination(GradientQuery { now, before: now }, sample, (1.0, 0.0), most)
    }

    /// Computes `grad(now) - grad(before)`, bounded by `most`.
    pub(super) fn difference(&mut self, query: GradientQuery<'_>, sample: Sample<'_>, most: f64) -> &[f64] {
        let most = self.clip.map(|clip| (clip.norm, most));
        self.combination(query, sample, (1.0, 1.0), most)
    }
}
