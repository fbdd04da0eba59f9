//! Implements the ball `|theta|_p <= radius`, 1 <= p <= infinity.

use super::{ConstraintSet, SetPlan};
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, wide};
use privateer_numerics::vectorised;
use privateer_privacy::gradients::Vertices;
use std::sync::Arc;

/// Represents the ball around zero.
#[derive(Debug, Clone, Copy)]
pub struct LpBall {
    norm: Norm,
    radius: f64,
    dimension: usize,
}

/// Reads `p` and `radius`.
pub fn parse(args: &Args<'_>) -> Box<SetPlan> {
    let p = match args.number("p", "exponent of the norm").at_least(1.0).or_word("inf", "2") {
        Some(Err(_)) => f64::INFINITY,
        Some(Ok(p)) => p,
        None => 2.0,
    };
    let radius = args.number("radius", "radius of the ball, in that norm").above(0.0).at_most(1e9).or(1.0);
    let norm = Norm::of(p).unwrap_or(Norm::MAX);
    Box::new(move |dimension| Ok(Arc::new(LpBall::new(norm, radius, dimension))))
}

impl LpBall {
    /// Creates the ball for `radius > 0`, `dimension >= 1`.
    #[must_use]
    pub fn new(norm: Norm, radius: f64, dimension: usize) -> Self {
        Self { norm, radius, dimension }
    }

    /// Returns the radius.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.radius
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

    fn centre(&self, out: &mut [f64]) {
        out.fill(0.0);
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
        (self.norm.exponent() == 1.0).then(|| Arc::new(Cross { radius: self.radius, dimension: self.dimension }) as Arc<_>)
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

/// Lists the vertices of the l_1 ball in the order `+r e_1 … +r e_d, -r e_1 … -r e_d`.
#[derive(Debug)]
struct Cross {
    radius: f64,
    dimension: usize,
}

impl Vertices for Cross {
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
    // Returns sum u^p and its derivative in m.
    let mut at = |m: f64| {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (u, x) in found.chunks_mut(LANES).zip(sizes.chunks(LANES)) {
            let mut raised = [0.0; LANES];
            if e == 0.5 {
                raised = wide(SquareRootCoordinates { x, c: m * p, u });
            } else {
                for ((u, &x), raised) in u.iter_mut().zip(x).zip(&mut raised).filter(|((_, x), _)| 0.0 < **x) {
                    (*u, *raised) = coordinate(x, m * p, e, *u);
                }
            }
            for ((&u, _), raised) in u.iter().zip(x).zip(raised).filter(|((_, x), _)| 0.0 < **x) {
                sum += u * raised;
                // du/dm = -p u^(p - 1)/(1 + m p (p - 1) u^(p - 2))
                slope -= p * raised * p * raised / (1.0 + m * p * e * raised / u);
            }
        }
        (sum, slope)
    };
    // At m = 0 the sum is above 1; it decreases to 0 as m grows.
    let (mut low, mut high, mut m) = (0.0, f64::INFINITY, 0.0);
    for _ in 0..200 {
        let (sum, slope) = at(m);
        if 1.0 < sum {
            low = m
        } else {
            high = m
        }
        let size = libm::pow(sum, 1.0 / p);
        let step = p * sum * (1.0 - size) / slope;
        let mut next = m + if 1.0 < sum { step } else { step / size };
        if (next - m).abs() <= 4e-16 * m {
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

/// Coordinates that are solved together.
const LANES: usize = 8;

/// Solves up to [`LANES`] coordinates for e = 1/2 by the steps of [`coordinate`], with its bits; writes roots, returns their powers.
struct SquareRootCoordinates<'a> {
    x: &'a [f64],
    c: f64,
    /// Starts, replaced by the roots; zero where x is.
    u: &'a mut [f64],
}

vectorised! {
    fn call(self: SquareRootCoordinates<'_>) -> [f64; LANES] {
        let (mut x, mut u, mut raised) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        x[..self.x.len()].copy_from_slice(self.x);
        u[..self.u.len()].copy_from_slice(self.u);
        let (c, mut low, mut high) = (self.c, [0.0; LANES], x);
        // Lanes without a positive entry are solved.
        let mut open = x.map(|x| 0.0 < x);
        for lane in 0..LANES {
            u[lane] = if 0.0 < u[lane] && u[lane] <= high[lane] { u[lane] } else { high[lane] };
        }
        for _ in 0..200 {
            for lane in 0..LANES {
                let here = u[lane];
                let root = here.sqrt();
                let gap = here + c * root - x[lane];
                let (below, above) = if gap < 0.0 { (here, high[lane]) } else { (low[lane], here) };
                let step = here - gap / (1.0 + c * 0.5 * root / here);
                let next = if below < step && step < above { step } else { 0.5 * (below + above) };
                let done = (next - here).abs() <= 4e-16 * here || next <= below || above <= next;
                raised[lane] = if open[lane] { root } else { raised[lane] };
                open[lane] &= !done;
                (low[lane], high[lane]) = (below, above);
                u[lane] = if open[lane] { next } else { here };
            }
            if open == [false; LANES] {
                break;
            }
        }
        for lane in 0..LANES {
            raised[lane] = if open[lane] { u[lane].sqrt() } else { raised[lane] };
        }
        self.u.copy_from_slice(&u[..self.u.len()]);
        raised
    }
}

/// Returns the root of `u + c u^e = x` in [0, x] and its power `u^e`, for x > 0, c >= 0, e > 0.
///
/// Newton steps from `start` are replaced by halving where they leave the bracket.
fn coordinate(x: f64, c: f64, e: f64, start: f64) -> (f64, f64) {
    // Above p = 2 Newton steps from far above the root are short; below, they leave the bracket or are long.
    let (mut low, mut high) = (0.0, if 1.0 < e { x.min(libm::pow(x / c, 1.0 / e)) } else { x });
    let mut u = if 0.0 < start && start <= high { start } else { high };
    for _ in 0..200 {
        let raised = libm::pow(u, e);
        let gap = u + c * raised - x;
        if gap < 0.0 {
            low = u
        } else {
            high = u
        }
        let mut next = u - gap / (1.0 + c * e * raised / u);
        if !(low < next && next < high) {
            next = 0.5 * (low + high);
        }
        if (next - u).abs() <= 4e-16 * u || next <= low || high <= next {
            return (u, raised);
        }
        u = next;
    }
    (u, libm::pow(u, e))
}
