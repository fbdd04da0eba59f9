//! A row over Fourier features of the plane as a matrix over both axes: `row · phi(x) = a(x_1)^T U b(x_2)` for the vectors a and b of cosines
//! and sines along them. Over lines of anchors and over the nodes of a mesh that costs fewer multiply-adds than a sum over visited points, and
//! no memory for their columns.

use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Places that are found together, and rows of nodes.
pub const LANES: usize = 8;
pub const ROWS: usize = 4;

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
    pub fn at_anchors(&self, u: &[f64], axes: [Components<'_>; 2], room: &mut Vec<f64>, out: &mut [f64]) {
        Arch::new().dispatch(AtAnchors { products: self, u, along: axes[1 - self.axis], room, out });
    }

    /// Writes `row · phi` of the nodes of a mesh, row-major, with these components along both axes: counts are multiples of [`ROWS`]
    /// and [`LANES`].
    pub fn at_nodes(&self, u: &[f64], axes: [Components<'_>; 2], room: &mut Vec<f64>, out: &mut [f64]) {
        Arch::new().dispatch(AtNodes { products: self, u, axes, room, out });
    }
}

/// Some numbers at equal steps.
#[derive(Clone, Copy)]
struct Weights<'a> {
    values: &'a [f64],
    step: usize,
    n: usize,
}

/// A weighted sum of components at places from one on, as many as there is room for: some whole vectors.
#[inline(always)]
fn sum_at<S: Simd>(simd: S, weights: Weights<'_>, components: Components<'_>, from: usize, out: &mut [f64]) {
    for (at, out) in S::as_mut_simd_f64s(out).0.iter_mut().enumerate() {
        let from = from + at * S::F64_LANES;
        let mut sum = simd.splat_f64s(0.0);
        for c in 0..weights.n {
            let weight = simd.splat_f64s(weights.values[c * weights.step]);
            let values = S::as_simd_f64s(&components.values[c * components.n + from..][..S::F64_LANES]).0;
            sum = simd.mul_add_e_f64s(weight, values[0], sum);
        }
        *out = sum;
    }
}

/// See [`Products::at_anchors`].
struct AtAnchors<'a> {
    products: &'a Products,
    u: &'a [f64],
    along: Components<'a>,
    room: &'a mut Vec<f64>,
    out: &'a mut [f64],
}

impl WithSimd for AtAnchors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { products, u, along, room, out } = self;
        let [q, r] = products.magnitudes.map(|n| 2 * n);
        let (across, components, steps) = if products.axis == 0 { (q, r, [r, 1]) } else { (r, q, [1, r]) };
        let sides = Components { values: &products.sides, n: products.padded };
        room.resize(components * products.padded, 0.0);
        for (component, of_lines) in room.chunks_exact_mut(products.padded.max(1)).enumerate() {
            let weights = Weights { values: &u[component * steps[1]..], step: steps[0], n: across };
            sum_at(simd, weights, sides, 0, of_lines);
        }
        for (at, line) in products.lines.iter().enumerate() {
            // In whole lanes: what is written beyond the line is written again with the next one, and there is room beyond the last.
            let (from, whole) = (line.start, line.len().next_multiple_of(LANES));
            let weights = Weights { values: &room[at..], step: products.padded, n: components };
            sum_at(simd, weights, along, from, &mut out[from..from + whole]);
        }
    }
}

/// See [`Products::at_nodes`].
struct AtNodes<'a> {
    products: &'a Products,
    u: &'a [f64],
    axes: [Components<'a>; 2],
    room: &'a mut Vec<f64>,
    out: &'a mut [f64],
}

impl WithSimd for AtNodes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { products, u, axes: [first, second], room, out } = self;
        let [q, r] = products.magnitudes.map(|n| 2 * n);
        room.resize(q * second.n, 0.0);
        for (u, out) in u.chunks_exact(r).zip(room.chunks_exact_mut(second.n)) {
            sum_at(simd, Weights { values: u, step: 1, n: r }, second, 0, out);
        }
        // Four rows at a time: what they share is read once.
        let zero = simd.splat_f64s(0.0);
        for (at, rows) in out.chunks_exact_mut(ROWS * second.n).enumerate() {
            let (one, rest) = rows.split_at_mut(second.n);
            let (two, rest) = rest.split_at_mut(second.n);
            let (three, four) = rest.split_at_mut(second.n);
            let [one, two, three, four] = [one, two, three, four].map(|row| S::as_mut_simd_f64s(row).0);
            for (lane, (((one, two), three), four)) in one.iter_mut().zip(two).zip(three).zip(four).enumerate() {
                let mut sums = [zero; ROWS];
                for d in 0..q {
                    let values = S::as_simd_f64s(&room[d * second.n..][..second.n]).0[lane];
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = simd.mul_add_e_f64s(simd.splat_f64s(first.at(d, at * ROWS + i)), values, *sum);
                    }
                }
                [*one, *two, *three, *four] = sums;
            }
        }
    }
}
