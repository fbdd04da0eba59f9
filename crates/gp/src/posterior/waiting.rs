//! Closed streaks of a weight model that wait, and the passes over its inverse, in wide lanes.

use privateer_numerics::linalg;
use serde::{Deserialize, Serialize};

/// A closed streak: `V^{-1}` falls by `downdate u u^T`; coordinates of u beyond its length are zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// See above.
    pub u: Vec<f64>,
    /// See above.
    pub downdate: f64,
}

/// `inverse -= sum downdate u u^T` over closed streaks, in wide lanes: every entry takes the streaks in their order.
pub struct Take<'a> {
    /// Row-major with the stride.
    pub inverse: &'a mut [f64],
    /// Of the inverse.
    pub stride: usize,
    /// Coordinates in use.
    pub n: usize,
    /// Those to take.
    pub streaks: &'a [Closed],
}

/// Entries of a row that stay in registers.
const TILE: usize = 32;

impl pulp::NullaryFnOnce for Take<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { inverse, stride, n, streaks } = self;
        let mut factors = vec![0.0; streaks.len()];
        let shortest = streaks.iter().map(|streak| streak.u.len()).min().unwrap_or(0);
        for (i, row) in inverse.chunks_exact_mut(stride.max(1)).enumerate().take(n) {
            for (factor, streak) in factors.iter_mut().zip(streaks) {
                *factor = streak.u.get(i).map_or(0.0, |u| streak.downdate * u);
            }
            let (tiles, rest) = row[..n].as_chunks_mut::<TILE>();
            let whole = tiles.len().min(shortest / TILE);
            let (tiles, beyond) = tiles.split_at_mut(whole);
            for (at, tile) in tiles.iter_mut().enumerate() {
                *tile = taken(*tile, at * TILE, &factors, streaks);
            }
            take_rest(beyond.as_flattened_mut(), whole * TILE, &factors, streaks);
            let end = n - rest.len();
            take_rest(rest, end, &factors, streaks);
        }
    }
}

#[inline(always)]
fn taken(mut tile: [f64; TILE], from: usize, factors: &[f64], streaks: &[Closed]) -> [f64; TILE] {
    for (&factor, streak) in factors.iter().zip(streaks) {
        if let Some(u) = streak.u[from..].first_chunk::<TILE>() {
            for lane in 0..TILE {
                tile[lane] -= factor * u[lane];
            }
        }
    }
    tile
}

#[inline(always)]
fn take_rest(entries: &mut [f64], from: usize, factors: &[f64], streaks: &[Closed]) {
    for (&factor, streak) in factors.iter().zip(streaks) {
        for (entry, &u) in entries.iter_mut().zip(streak.u.get(from..).unwrap_or(&[])) {
            *entry -= factor * u;
        }
    }
}

/// `next = V^{-1} c` in wide lanes, of the inverse and the closed streaks that it does not have.
pub struct Direction<'a> {
    /// Row-major with the stride; `None` where it is still the prior's, `I / ridge`.
    pub inverse: Option<&'a [f64]>,
    /// Of the inverse.
    pub stride: usize,
    /// The regularizer.
    pub ridge: f64,
    /// The streaks that the inverse does not have.
    pub waiting: &'a [Closed],
    /// Coordinates; missing trailing ones are zero.
    pub c: &'a [f64],
    /// Zeros at first.
    pub next: &'a mut [f64],
}

impl pulp::NullaryFnOnce for Direction<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { inverse, stride, ridge, waiting, c, next } = self;
        match inverse {
            None => next.iter_mut().zip(c).for_each(|(next, &ci)| *next = ci / ridge),
            Some(inverse) => linalg::add_rows(c, |i| &inverse[i * stride..], next),
        }
        for streak in waiting {
            let factor = streak.downdate * along(&streak.u, c);
            for (sum, &u) in next.iter_mut().zip(&streak.u) {
                *sum -= factor * u;
            }
        }
    }
}

/// `u · c` over the coordinates of both.
#[inline(always)]
pub fn along(u: &[f64], c: &[f64]) -> f64 {
    let shared = c.len().min(u.len());
    linalg::dot(&c[..shared], &u[..shared])
}
