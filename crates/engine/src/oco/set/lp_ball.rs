//! Implements the ball `|theta|_p <= radius`, 1 <= p <= infinity.

use super::{ConstraintSet, SetPlan};
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, pow_of_block};
use privateer_numerics::vectorised;
use privateer_privacy::gradients::Vertices;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub struct LpBall {
    norm: Norm,
    radius: f64,
    dimension: usize,
}

pub fn parse(args: &Args<'_>) -> Box<SetPlan> {
    let norm = parse_norm(args, "exponent of the norm", 2.0);
    let radius = args.number("radius", "radius of the ball, in that norm").above(0.0).at_most(1e9).or(1.0);
    Box::new(move |dimension| Ok(Arc::new(LpBall::new(norm, radius, dimension))))
}

/// Reads the norm of the exponent `p`, which is `usual` unless stated.
pub(super) fn parse_norm(args: &Args<'_>, doc: &'static str, usual: f64) -> Norm {
    let p = match args.number("p", doc).at_least(1.0).or_word("inf", &usual.to_string()) {
        Some(Err(_)) => f64::INFINITY,
        Some(Ok(p)) => p,
        None => usual,
    };
    Norm::of(p).unwrap_or(Norm::MAX)
}

impl LpBall {
    /// Creates the ball for `radius > 0`, `dimension >= 1`.
    pub fn new(norm: Norm, radius: f64, dimension: usize) -> Self {
        Self { norm, radius, dimension }
    }
}

impl ConstraintSet for LpBall {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn norm(&self) -> Norm {
        self.norm
    }

    fn diameter(&self) -> f64 {
        2.0 * self.radius
    }

    fn centre(&self) -> Vec<f64> {
        vec![0.0; self.dimension]
    }

    /// Writes the norm's steepest vector; zero coordinates of g give zero.
    ///
    /// For p = 1 it is at the lowest index of the largest `|g_i|`.
    fn minimise(&self, g: &[f64], out: &mut [f64]) {
        self.minimise_rows(g, out);
    }

    fn minimise_rows(&self, g: &[f64], out: &mut [f64]) {
        self.norm.steepest_rows(g, self.dimension, out);
        out.iter_mut().for_each(|out| *out *= self.radius);
    }

    fn project(&self, theta: &mut [f64]) {
        if self.norm.size(theta) <= self.radius {
            return;
        }
        let p = self.norm.exponent();
        if p == 1.0 {
            soften(theta, self.radius);
        } else if p == 2.0 {
            self.norm.clip(theta, self.radius);
        } else if p.is_infinite() {
            theta.iter_mut().for_each(|x| *x = x.clamp(-self.radius, self.radius));
        } else {
            shrink(theta, p, self.radius);
        }
    }

    fn contains(&self, theta: &[f64], tolerance: f64) -> bool {
        theta.len() == self.dimension && self.norm.size(theta) <= self.radius * (1.0 + tolerance)
    }

    fn vertices(&self) -> Option<Arc<dyn Vertices>> {
        (self.norm.exponent() == 1.0).then(|| Arc::new(*self) as Arc<_>)
    }

    fn vertex(&self, index: usize, out: &mut [f64]) {
        out.fill(0.0);
        if self.norm.exponent() == 1.0 && index < 2 * self.dimension {
            out[index % self.dimension] = if index < self.dimension { self.radius } else { -self.radius };
        }
    }

    fn words(&self) -> String {
        format!("{} ball of radius {} in {} dimensions", self.norm, self.radius, self.dimension)
    }
}

/// The vertices of the l_1 ball in the order `+r e_1 … +r e_d, -r e_1 … -r e_d`; another ball gives none out, see `vertices`.
impl Vertices for LpBall {
    fn count(&self) -> usize {
        2 * self.dimension
    }

    fn scores(&self, direction: &[f64], out: &mut [f64]) {
        let (plus, minus) = out.split_at_mut(self.dimension);
        for ((plus, minus), g) in plus.iter_mut().zip(minus).zip(direction) {
            *plus = self.radius * g;
            *minus = -*plus;
        }
    }
}

/// Projects onto the l_1 ball: `sign(x) max(|x| - level, 0)`, where `level` gives norm `radius`.
fn soften(theta: &mut [f64], radius: f64) {
    let mut sizes: Vec<f64> = theta.iter().map(|x| x.abs()).collect();
    let level = simplex_level(&mut sizes, radius);
    theta.iter_mut().for_each(|x| *x = (x.abs() - level).max(0.0).copysign(*x));
}

/// Returns the level with `sum max(size - level, 0) = total` (Held, Wolfe & Crowder 1974).
///
/// Some of the sizes must be positive; sorts them.
pub(super) fn simplex_level(sizes: &mut [f64], total: f64) -> f64 {
    sizes.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut level) = (0.0, 0.0);
    for (i, &size) in sizes.iter().enumerate() {
        sum += size;
        let here = (sum - total) / (i as f64 + 1.0);
        if size <= here {
            break;
        }
        level = here;
    }
    level
}

/// Projects a point outside the l_p ball onto it, for 1 < p < infinity.
///
/// The coordinates solve `u + m p u^(p - 1) = |x|`, in units of the radius, with the multiplier m at which the norm is the
/// radius. Newton steps are taken for the inverse of the norm while it is too large, because it is linear in m for p = 2, and for
/// the norm while it is too small; they are replaced by halving where they leave the bracket.
fn shrink(theta: &mut [f64], p: f64, radius: f64) {
    let sizes: Vec<f64> = theta.iter().map(|x| x.abs() / radius).collect();
    let (mut found, e) = (sizes.clone(), p - 1.0);
    // Powers of many numbers together cost less; roots and squares are fastest in blocks that leave few lanes empty.
    let at = if e == 0.5 || e == 2.0 { power_sum::<8> } else { power_sum::<16> };
    // At m = 0 the sum is above 1; it decreases to 0 as m grows.
    let (mut low, mut high, mut m) = (0.0, f64::INFINITY, 0.0);
    for _ in 0..200 {
        let (sum, slope) = at(&sizes, m, p, &mut found);
        if 1.0 < sum {
            low = m
        } else {
            high = m
        }
        let size = libm::pow(sum, 1.0 / p);
        if (1.0 - size).abs() <= ROUNDING {
            break;
        }
        let step = p * sum * (1.0 - size) / slope;
        let mut next = m + if 1.0 < sum { step } else { step / size };
        // Far outside of the ball the slope overflows first.
        if slope.is_finite() && (next - m).abs() <= ROUNDING * m {
            break;
        }
        if !(low < next && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * m + 1.0 };
            if next <= low || high <= next {
                break;
            }
        }
        m = next;
    }
    theta.iter_mut().zip(&found).for_each(|(theta, u)| *theta = (radius * u).copysign(*theta));
}

/// Relative difference that rounding makes.
const ROUNDING: f64 = 4e-16;

/// Solves `u + m p u^(p - 1) = x` for every size x from the starts `found`; returns sum u^p and its derivative in m.
fn power_sum<const LANES: usize>(sizes: &[f64], m: f64, p: f64, found: &mut [f64]) -> (f64, f64) {
    let (e, mut sum, mut slope) = (p - 1.0, 0.0, 0.0);
    for (u, x) in found.chunks_mut(LANES).zip(sizes.chunks(LANES)) {
        let mut raised = [0.0; LANES];
        solve(x, m * p, e, u, &mut raised);
        for ((&u, _), raised) in u.iter().zip(x).zip(raised).filter(|((_, x), _)| 0.0 < **x) {
            sum += u * raised;
            // du/dm = -p u^(p - 1)/(1 + m p (p - 1) u^(p - 2))
            slope -= p * raised * p * raised / (1.0 + m * p * e * raised / u);
        }
    }
    (sum, slope)
}

vectorised! {
    /// Solves up to `LANES` coordinates: for every size x > 0 the root u of `u + c u^e = x` in [0, x], c >= 0, e > 0.
    ///
    /// Newton steps are replaced by halving where they leave the bracket.
    ///
    /// * `roots` — the starts, zero where x is, which the roots replace
    /// * `raised` — zeros, which the powers `u^e` replace
    fn solve[const LANES: usize](sizes: &[f64], c: f64, e: f64, roots: &mut [f64], raised: &mut [f64; LANES]) {
        let (mut x, mut u) = ([0.0; LANES], [0.0; LANES]);
        x[..sizes.len()].copy_from_slice(sizes);
        u[..roots.len()].copy_from_slice(roots);
        // Lanes without a positive entry are solved.
        let mut open = x.map(|x| 0.0 < x);
        let (mut low, mut high) = ([0.0; LANES], x);
        if 1.0 < e {
            // Above p = 2 Newton steps from far above the root are short; below, they leave the bracket or are long.
            let bounds = powers(x.map(|x| x / c), open, 1.0 / e);
            for lane in 0..LANES {
                high[lane] = x[lane].min(bounds[lane]);
            }
        }
        for lane in 0..LANES {
            u[lane] = if 0.0 < u[lane] && u[lane] <= high[lane] { u[lane] } else { high[lane] };
        }
        for _ in 0..200 {
            let power = powers(u, open, e);
            for lane in 0..LANES {
                let (here, power) = (u[lane], power[lane]);
                let gap = here + c * power - x[lane];
                let (below, above) = if gap < 0.0 { (here, high[lane]) } else { (low[lane], here) };
                let step = gap / (1.0 + c * e * power / here);
                let next = here - step;
                let next = if below < next && next < above { next } else { 0.5 * (below + above) };
                // A start at the root has no room for a step.
                let exact = gap.abs() <= ROUNDING * x[lane] || step.abs() <= ROUNDING * here;
                let done = exact || next <= below || above <= next;
                raised[lane] = if open[lane] { power } else { raised[lane] };
                open[lane] &= !done;
                (low[lane], high[lane]) = (below, above);
                u[lane] = if open[lane] { next } else { here };
            }
            if open == [false; LANES] {
                break;
            }
        }
        let power = powers(u, open, e);
        for lane in 0..LANES {
            raised[lane] = if open[lane] { power[lane] } else { raised[lane] };
        }
        roots.copy_from_slice(&u[..roots.len()]);
    }
}

/// Returns `u^e` with the bits of `libm::pow` where a lane is open, 1 elsewhere.
#[inline(always)]
fn powers<const LANES: usize>(u: [f64; LANES], open: [bool; LANES], e: f64) -> [f64; LANES] {
    let mut powers = u;
    powers.iter_mut().zip(open).for_each(|(power, open)| *power = if open { *power } else { 1.0 });
    if e == 0.5 {
        powers.iter_mut().for_each(|x| *x = x.sqrt());
    } else if e == 2.0 {
        powers.iter_mut().for_each(|x| *x *= *x);
    } else {
        pow_of_block(&mut powers, e);
    }
    powers
}
