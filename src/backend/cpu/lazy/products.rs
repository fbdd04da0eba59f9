//! A row over Fourier features of the plane as a matrix over both axes: `row · phi(x) = a(x_1)^T U b(x_2)` for the vectors a and b of cosines
//! and sines along them. Over lines of anchors and over the nodes of a mesh that costs fewer multiply-adds than a sum over visited points, and
//! no memory for their columns.

use super::kernels::multiply_add;
use std::ops::Range;

/// Places that are found together, and anchors of a line.
const LANES: usize = 8;
const ANCHORS: usize = 24;

/// What one feature is of products of both axes.
#[derive(Debug)]
pub struct Frequency {
    /// Places of its magnitudes, and the signs.
    pub places: [usize; 2],
    pub signs: [f64; 2],
}

/// The shared part.
#[derive(Debug)]
pub struct Products {
    pub frequencies: Vec<Frequency>,
    /// Magnitudes along each axis; a vector holds their cosines, then their sines.
    pub magnitudes: [usize; 2],
    /// What multiplies a product.
    pub scale: f64,
    /// Anchors in lines, on each of which the coordinate of this axis is the same.
    pub lines: Vec<Range<usize>>,
    pub axis: usize,
    /// Lines in whole lanes, and their components along that axis, one after another.
    pub padded: usize,
    pub sides: Vec<f64>,
}

/// Components of an axis, each at all places of a list one after another.
#[derive(Clone, Copy)]
pub struct Components<'a> {
    pub values: &'a [f64],
    /// Places.
    pub n: usize,
}

impl Components<'_> {
    fn at(&self, component: usize, place: usize) -> f64 {
        self.values[component * self.n + place]
    }
}

impl Products {
    /// Writes U, row-major with the components of the second axis contiguous.
    pub fn of_row(&self, row: &[f64], out: &mut Vec<f64>) {
        let ([q, r], n) = (self.magnitudes, self.frequencies.len());
        out.clear();
        out.resize(4 * q * r, 0.0);
        let (cosines, sines) = row.split_at(n.min(row.len()));
        for ((frequency, cosine), sine) in self.frequencies.iter().zip(cosines).zip(sines) {
            let ([i, j], [si, sj]) = (frequency.places, frequency.signs);
            let (cosine, sine) = (self.scale * cosine, self.scale * sine);
            out[i * 2 * r + j] += cosine;
            out[(q + i) * 2 * r + r + j] -= si * sj * cosine;
            out[(q + i) * 2 * r + j] += si * sine;
            out[i * 2 * r + r + j] += sj * sine;
        }
    }

    /// Multiply-adds of the anchors of this many and of a mesh with these counts.
    pub fn work(&self, anchors: usize, counts: [usize; 2]) -> usize {
        let [q, r] = self.magnitudes.map(|n| 2 * n);
        q * r * (self.lines.len() + counts[1]) + q * (anchors + counts[0] * counts[1])
    }

    /// Takes the anchors' components along both axes, padded, to have those of the lines side by side.
    pub fn take_sides(&mut self, axes: [Components<'_>; 2]) {
        let across = axes[self.axis];
        self.padded = self.lines.len().next_multiple_of(LANES);
        self.sides = vec![0.0; 2 * self.magnitudes[self.axis] * self.padded];
        for (component, sides) in self.sides.chunks_exact_mut(self.padded.max(1)).enumerate() {
            sides.iter_mut().zip(&self.lines).for_each(|(side, line)| *side = across.at(component, line.start));
        }
    }

    /// Writes `row · phi` of the anchors, which have these components along both axes.
    #[inline(always)]
    pub fn at_anchors<const FUSED: bool>(&self, u: &[f64], axes: [Components<'_>; 2], room: &mut Vec<f64>, out: &mut [f64]) {
        let along = axes[1 - self.axis];
        let [q, r] = self.magnitudes.map(|n| 2 * n);
        let (across, components, steps) = if self.axis == 0 { (q, r, [r, 1]) } else { (r, q, [1, r]) };
        let sides = Components { values: &self.sides, n: self.padded };
        room.resize(components * self.padded, 0.0);
        for (component, of_lines) in room.chunks_exact_mut(self.padded.max(1)).enumerate() {
            let weights = Weights { values: &u[component * steps[1]..], step: steps[0], n: across };
            for (part, out) in of_lines.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                *out = sum_at::<FUSED, LANES>(weights, sides, part * LANES);
            }
        }
        for (at, line) in self.lines.iter().enumerate() {
            // In whole lanes: what is written beyond the line is written again with the next one.
            for from in line.clone().step_by(ANCHORS) {
                let from = from.min(out.len().saturating_sub(ANCHORS));
                let weights = Weights { values: &room[at..], step: self.padded, n: components };
                let sum = sum_at::<FUSED, ANCHORS>(weights, along, from);
                if let Some(out) = out[from..].first_chunk_mut::<ANCHORS>() {
                    *out = sum;
                }
            }
        }
    }

    /// Writes `U b` for the nodes of the second axis, one component of the first after another.
    #[inline(always)]
    pub fn along_second<const FUSED: bool>(&self, u: &[f64], second: Components<'_>, out: &mut Vec<f64>) {
        out.resize(2 * self.magnitudes[0] * second.n, 0.0);
        for (u, out) in u.chunks_exact(2 * self.magnitudes[1]).zip(out.chunks_exact_mut(second.n)) {
            for (part, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                *out = sum_at::<FUSED, LANES>(Weights { values: u, step: 1, n: u.len() }, second, part * LANES);
            }
        }
    }
}

/// Some numbers at equal steps.
#[derive(Clone, Copy)]
struct Weights<'a> {
    values: &'a [f64],
    step: usize,
    n: usize,
}

/// A weighted sum of components at places from one on.
#[inline(always)]
fn sum_at<const FUSED: bool, const N: usize>(weights: Weights<'_>, components: Components<'_>, from: usize) -> [f64; N] {
    let mut sum = [0.0; N];
    for at in 0..weights.n {
        let weight = weights.values[at * weights.step];
        if let Some(values) = components.values[at * components.n + from..].first_chunk::<N>() {
            for lane in 0..N {
                sum[lane] = multiply_add::<FUSED>(weight, values[lane], sum[lane]);
            }
        }
    }
    sum
}
