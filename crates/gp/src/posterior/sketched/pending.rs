//! Changes that a screen has not yet applied, for a posterior over a long-lived dictionary.
//!
//! After an interaction at coordinates `c`, with `g = V^{-1} c`, the posterior variance of every point falls by
//! `ridge (g · c(x))² / (1 + c · g)`. Since `g · c(x) = row · k_D(x)` with `row = L^{-T} g`, the screen receives the row
//! instead of a new factor.
//!
//! **Repeated plays of a point** shrink `g` by `1 / (1 + c · g)` and use the row of the first play, as long as rounding
//! has moved `g` by no more than [`REPEATED`]. The actual movement is added to the error.
//!
//! **Error of the variance** given by the rows, since everything was last recomputed from the interactions. Let `d` bound
//! the rounding of both `c(x)` and `row · k_D(x) / |g|` (each is one triangular system with `L`), let `q` be the square
//! root of a fall and `s |g|` the length of its direction. The falls err by
//! `sum 2 |q| s |g| d + (s |g| d)² <= 2 sqrt(prior m) d + m d²`, because `sum q² <= prior` and
//! `sum s² |g|² <= ridge tr V^{-1} <= m`. A downdate rounds `V^{-1}` by at most one unit of its entries and two units of
//! the subtracted term, `(sqrt(m) + 2) u prior` of variance; the code takes four times that for safety.

use super::triangular::solve_from_right;
use crate::score::{Change, StateError};
use privateer_numerics::linalg::dot;

/// Largest error of the deviation along a repeated row, relative to the prior's.
const REPEATED: f64 = 1e-13;

/// The interactions since a screen last read the model, and the current streak.
#[derive(Debug, Clone, Default)]
pub struct PendingChanges {
    /// Number of pending interactions; a row describes the change only if there is exactly one.
    pending: u32,
    /// Whether the screen has applied the row of the current streak.
    row_known: bool,
    streak: Option<SketchStreak>,
    /// Interactions since the last recomputation, and summed squared errors of repeated rows.
    visits: f64,
    squares: f64,
}

/// Consecutive interactions with one point.
#[derive(Debug, Clone)]
struct SketchStreak {
    slot: usize,
    /// `g` and the row of the first interaction.
    direction: Vec<f64>,
    row: Vec<f64>,
    /// Ratio of the present `g` to the `g` of the first interaction.
    along: f64,
    /// `1 / (1 + c · g)` of the last interaction.
    fall: f64,
    /// Factor of `p` in the posterior standard deviation, for the last interaction.
    scale: f64,
    repeated: bool,
}

impl PendingChanges {
    /// Records that everything was recomputed, so that no row describes the change.
    pub fn anew(&mut self) {
        *self = Self { pending: 2, ..Self::default() };
    }

    /// Records an interaction with a slot.
    /// * `direction` — `g`
    /// * `fall` — `1 / (1 + c · g)`
    /// * `l` — `L`, `m x m` row-major
    /// * `scales` — ridge and prior bound
    pub fn visited(&mut self, slot: usize, direction: Vec<f64>, fall: f64, l: &[f64], [ridge, prior]: [f64; 2]) {
        let root = (ridge * fall).sqrt();
        self.visits += 1.0;
        self.pending = self.pending.saturating_add(1);
        if let Some(streak) = self.streak.as_mut().filter(|streak| streak.slot == slot) {
            let along = streak.along * streak.fall;
            let apart: Vec<f64> = direction.iter().zip(&streak.direction).map(|(now, first)| now - along * first).collect();
            let off = root * dot(&apart, &apart).sqrt();
            if off <= REPEATED {
                (streak.along, streak.fall, streak.scale, streak.repeated) = (along, fall, root * along, true);
                self.squares += off * off * prior;
                return;
            }
        }
        self.row_known = false;
        let mut row = direction.clone();
        solve_from_right(l, direction.len(), &mut row);
        self.streak = Some(SketchStreak { slot, direction, row, along: 1.0, fall, scale: root, repeated: false });
    }

    /// Records that a screen has applied every change.
    pub fn taken(&mut self) {
        self.row_known |= self.pending == 1;
        self.pending = 0;
    }

    /// Returns the change, for a model with these weights over the dictionary's Gram columns.
    pub fn change<'a>(&'a self, weights: &'a [f64]) -> Change<'a> {
        match (self.pending, &self.streak) {
            (0, _) => Change::None,
            (1, Some(streak)) => {
                Change::Weights { row: &streak.row, scale: streak.scale, repeated: streak.repeated && self.row_known, weights }
            }
            _ => Change::Factor,
        }
    }

    /// Bounds the distance between exact scores and the moments given by a factor or the rows.
    ///
    /// `weights` are the m weights over the dictionary, `inverse_norm` bounds `|L^{-1}|`.
    ///
    /// With `|h| <= sqrt(m) prior` and `|R| <= |L^{-1}|`, the bound covers the rounding of m products and sums, of the
    /// row products and their squares, of the coordinates behind the exact scores, and of their form with `V^{-1}`. The
    /// terms of the module documentation are added, and the distance of an explicit inverse of V from solves with its factor, whose
    /// condition is at most `sqrt(1 + visits prior / ridge)`.
    pub fn state_error(&self, weights: &[f64], inverse_norm: f64, [ridge, prior]: [f64; 2]) -> StateError {
        let m = weights.len() as f64;
        let (share, root) = (4.0 * (m + 10.0) * f64::EPSILON, m.sqrt());
        let h = root * prior;
        let d = 2.0 * share * inverse_norm * h;
        let squared = |d: f64| d * (2.0 * prior.sqrt() + d);
        let drift = 4.0 * self.visits * (root + 2.0) * f64::EPSILON * prior;
        let repeated = 2.0 * (prior * self.squares).sqrt() + self.squares;
        let inverted = share * root * prior * (1.0 + self.visits * prior / ridge).sqrt();
        StateError {
            mean: share * dot(weights, weights).sqrt() * h,
            variance: squared(d) + share * (1.0 + root) * prior + squared(root * d) + drift + repeated + inverted,
            deviation: 0.0,
        }
    }
}
