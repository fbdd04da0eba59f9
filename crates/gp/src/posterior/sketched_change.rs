//! What a screen has not yet taken of a posterior over a dictionary that is followed: after a visit of coordinates `c`, with
//! `g = V^{-1} c`, spread² of every point falls by `ridge (g · c(x))² / (1 + c · g)`, and `g · c(x) = row · k_D(x)` with
//! `row = L^{-T} g`. So the row goes to the screen in the place of a new factor.
//!
//! **A point that is visited again** has `g` shrunk by `1 / (1 + c · g)` and the row of its first visit, as long as rounding has
//! moved `g` by no more than [`REPEATED`]: what it did move adds to the error.
//!
//! **The error** of what the rows say of spread², since everything was last found from the visits. With `d` a bound on the rounding of
//! `c(x)` and of `row · k_D(x) / |g|` alike (both are one triangular system with `L`), `q` the square root of a fall and
//! `s |g|` the length of its direction: the falls err by `sum 2 |q| s |g| d + (s |g| d)² <= 2 sqrt(prior m) d + m d²`, as
//! `sum q² <= prior` and `sum s² |g|² <= ridge tr V^{-1} <= m`. A downdate rounds `V^{-1}` by at most a unit of its entries and two
//! of what is taken away, `(sqrt(m) + 2) u prior` of spread²; taken four times for safety.

use super::explained::solve_from_right;
use crate::score::{Change, Moments};
use privateer_numerics::linalg::dot;

/// How far the spread along a repeated row may be off, as a share of the prior's.
const REPEATED: f64 = 1e-13;

/// The visits since a screen last took the model, and the open streak.
#[derive(Debug, Clone, Default)]
pub struct Moved {
    /// Visits not yet taken; more than one, and no row says what they did.
    pending: u32,
    /// The row of the open streak has been taken.
    row_known: bool,
    streak: Option<SketchStreak>,
    /// Visits since everything was found anew, and the squares of what their repeated rows err by.
    visits: f64,
    squares: f64,
}

/// Visits of one point in a row.
#[derive(Debug, Clone)]
struct SketchStreak {
    slot: usize,
    /// `g` and the row of its first visit.
    direction: Vec<f64>,
    row: Vec<f64>,
    /// What `g` is of the first one now.
    along: f64,
    /// `1 / (1 + c · g)` of the last visit.
    fall: f64,
    /// What multiplies `p` in the spread, for the last visit.
    scale: f64,
    repeated: bool,
}

impl Moved {
    /// Everything was found anew: no row says what changed.
    pub fn anew(&mut self) {
        *self = Self { pending: 2, ..Self::default() };
    }

    /// A visit of a slot.
    /// * `direction` — `g`
    /// * `fall` — `1 / (1 + c · g)`
    /// * `l` — `L`, `m x m` row-major
    /// * `scales` — ridge and prior bound
    pub fn visited(&mut self, slot: usize, direction: Vec<f64>, fall: f64, l: &[f64], [ridge, prior]: [f64; 2]) {
        let spread = (ridge * fall).sqrt();
        self.visits += 1.0;
        self.pending = self.pending.saturating_add(1);
        if let Some(streak) = self.streak.as_mut().filter(|streak| streak.slot == slot) {
            let along = streak.along * streak.fall;
            let apart: Vec<f64> = direction.iter().zip(&streak.direction).map(|(now, first)| now - along * first).collect();
            let off = spread * dot(&apart, &apart).sqrt();
            if off <= REPEATED {
                (streak.along, streak.fall, streak.scale, streak.repeated) = (along, fall, spread * along, true);
                self.squares += off * off * prior;
                return;
            }
        }
        self.row_known = false;
        let mut row = direction.clone();
        solve_from_right(l, direction.len(), &mut row);
        self.streak = Some(SketchStreak { slot, direction, row, along: 1.0, fall, scale: spread, repeated: false });
    }

    /// A screen has taken everything.
    pub fn taken(&mut self) {
        self.row_known |= self.pending == 1;
        self.pending = 0;
    }

    /// The change, for a model with these weights over the dictionary's Gram columns.
    pub fn change<'a>(&'a self, weights: &'a [f64]) -> Change<'a> {
        match (self.pending, &self.streak) {
            (0, _) => Change::None,
            (1, Some(streak)) => {
                Change::Weights { row: &streak.row, scale: streak.scale, repeated: streak.repeated && self.row_known, weights }
            }
            _ => Change::Factor,
        }
    }

    /// Bounds on how far exact scores are from what a factor or the rows say, for `m` weights over the dictionary and a bound on
    /// `|L^{-1}|`.
    ///
    /// `|h| <= sqrt(m) prior`: roundings of m products and sums, of the row products and of their squares, of the coordinates
    /// that exact scores are made of, and of their form with `V^{-1}`; `|R| <= |L^{-1}|`. To these the module's notes add.
    pub fn state_error(&self, weights: &[f64], inverse_norm: f64, prior: f64) -> Moments {
        let m = weights.len() as f64;
        let (share, root) = (4.0 * (m + 10.0) * f64::EPSILON, m.sqrt());
        let h = root * prior;
        let d = 2.0 * share * inverse_norm * h;
        let squared = |d: f64| d * (2.0 * prior.sqrt() + d);
        let drift = 4.0 * self.visits * (root + 2.0) * f64::EPSILON * prior;
        let repeated = 2.0 * (prior * self.squares).sqrt() + self.squares;
        Moments {
            mean: share * dot(weights, weights).sqrt() * h,
            variance: squared(d) + share * (1.0 + root) * prior + squared(root * d) + drift + repeated,
        }
    }
}
