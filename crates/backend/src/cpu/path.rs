//! Says which path a trial takes on the CPU, and why.
//!
//! Every path returns candidates among which the same point is chosen. Each is taken from where it is faster than the plain
//! one, by counted work and sizes alone, never by time; so a run does not depend on the machine.
//!
//! | the model changes by | the domain | path | begins |
//! |---|---|---|---|
//! | a row | features | block pruning (`pruning`) | [`PRUNED_FEATURES`] |
//! | a row | covariances | block pruning | [`PRUNED_COVARIANCES`] |
//! | a row | smaller, or a trial that pruning does not serve | dense scores (`trial`) | [`PathCost::leaves`] |
//! | everything | features | interpolation from pivots (`pivots`) | see [`pivots_pay`] |
//! | everything | otherwise | one product in f32, near ties in f64 (`factor`) | |
//! | either | a decision set | exact scores of its points, without a screen | see [`screens_set`] |
//!
//! This is the only file that compares paths. Costs are counted in multiply-adds. A multiply-add takes 0.05 ns where sums stay in
//! registers and each entry is read for eight of them, 0.08 to 0.1 ns where a second-level cache holds the entries (190 GB/s), and
//! 0.2 ns beyond (37 GB/s). Figures: `docs/performance.md`, "Fast paths"; `privateer bench --paths` measures paths again, and
//! fails where another one is 1.3 times as fast. Posteriors of up to [`CovariancePosterior::MOST_POINTS`] points need no path.

use crate::UpdateKind;
use privateer_gp::posterior::CovariancePosterior;
use privateer_gp::score::{Basis, FeatureTable};

/// Fewest multiply-adds of a dense round over features with block pruning: points times features and [`WORK_OF_A_SCORE`].
///
/// Dense to pruned CPU time of rounds that settle (a constant factor): with 512 points and 16, 64 and 144 features 0.7, 0.9 and 0.8;
/// with 1000 points and 16, 36, 64 and 144 features 1.0, 1.4, 1.7 and 2.5. So it takes [`PRUNED_POINTS`] as well.
const PRUNED_FEATURES: usize = 48_000;

/// Fewest points over features with block pruning.
const PRUNED_POINTS: usize = 768;

/// Fewest points over covariances with block pruning: all domains whose covariances are not tabulated, or those of one trial's own.
///
/// Dense to pruned: `exact-posterior` 0.5 at 1025, 0.6 at 2048, 1.1 at 2049, 1.5 at 4096, 2.5 at 10 000; an own table under local Laplace noise,
/// T = 500, 1.0 at 1500 points in 8 dimensions, 1.0 at 2048 in 2, 1.3 at 2048 in 5, 1.9 at 3000 in 3; `outsourced` 0.86 at 2025,
/// 1.1 at 3600, 2.2 at 10 000.
const PRUNED_COVARIANCES: usize = 2049;
const PRUNED_OWN: usize = 4096;

/// Smallest domain with large blocks, strips of blocks with shared corners, and an interpolation grid.
///
/// Corners at 1024 and 2048 points: `constant-factor` 0.91 → 1.37 and 1.65 → 2.09 µs.
pub const LARGE_DOMAIN: usize = 4096;

/// Estimated costs with block pruning, in multiply-adds (0.05 to 0.1 ns): of a point's score in a scored block (square root included), of
/// a covariance by its formula in SIMD lanes (without the distance), by its source, and from a table.
pub const WORK_OF_A_SCORE: usize = 16;
pub const WORK_OF_A_VALUE: usize = 20;
pub const WORK_OF_AN_ENTRY: usize = 60;
pub const WORK_OF_A_LOOKUP: usize = 4;

/// Multiply-adds per point by which block pruning may exceed the dense path: what exploring all blocks takes.
///
/// Trials with a constant factor that settle exceed it by 30 to 110 on the way (half of them, with 36 features and local noise); those
/// that never settle lose some 50 µs by it with 1000 points.
const START: usize = 128;

/// Cost of a multiply-add with block pruning in those of the dense path, by the largest size of the table of features in bytes.
///
/// Measured over 1000 to 10 000 points and 16 to 144 features: a multiply-add of the dense path takes 0.08 to 0.1 ns where a second-level
/// cache holds the table, 0.15 beyond and more beyond the next; one with block pruning takes 0.25 to 0.45. Over covariances, where pruning
/// begins beyond the cache and costs per visited point what the dense path does, 0.5: a trial does not come back, and with 1 those over
/// 30 000 points left within 300 rounds, after which a round took 310 us in place of 100. Large domains, whose blocks a grid bounds,
/// count as beyond the cache: 4096 points and 36 features, the theorem's factor, 9.4 us where they did not, 6.9 without leaving, 13 dense.
const DEARER_OVER_FEATURES: [(usize, f64); 2] = [(1 << 20, 4.5), (5 << 19, 2.5)];
const DEARER_BEYOND: f64 = 1.0;
const DEARER_OVER_COVARIANCES: f64 = 0.5;

/// Fewest visited points with which a trial over features moves to the dense path because of its work.
///
/// A product over features costs as much for the first point as for any other, and many trials stop exploring before that.
const FEWEST_VISITED: usize = 16;

/// Largest table of features that is held by block too, in bytes.
///
/// A million points with 200 features take 1.6 GB once, if they are stored at all. Their rows are long enough for products as they stand.
pub const MOST_BYTES_TWICE: usize = 1 << 28;

/// Most bytes of the columns that a trial's blocks hold, or a screen of whole factors in f32; beyond this they are computed again
/// whenever they are needed.
pub const MOST_COLUMN_BYTES: usize = 1 << 28;

/// Largest number of trials in lockstep over a table.
const MOST_IN_BATCH: usize = 32;

/// Largest size of a batch's arrays, in bytes.
const MOST_BYTES: usize = 1 << 28;

/// Trials that the pivot screen interleaves.
const INTERLEAVED: usize = super::pivots::LANES;

/// Rounds for which the factor of an unchanged model is scored again, before its screen keeps mean and variance of every point.
///
/// With 1024 points and 64 features a round by pivots costs 14 us; to begin the other screen 85, and a round of it 2. A trial whose
/// model was unchanged for longer the last time begins with the other screen.
pub const MOST_SCORED_AGAIN: u32 = 6;

/// Weight of the pivots' set-up work: it runs in f64, with less data reuse than the products of a round.
const SETUP_WEIGHT: f64 = 2.0;

/// Largest size of the arrays of that set-up, in bytes.
const MOST_SETUP_BYTES: f64 = (1u64 << 30) as f64;

/// Returns whether a screen of the whole domain costs less than exact scores of the points of a decision set, in runs of `rounds`.
///
/// Constants are seconds. Measured, µs a trial-round by exact scores and by a screen: 64 features and 1024 points, sets of 2, 5, 25 and
/// 64: 4.4, 7.5, 30, 56 and 6 to 8; 10 000 points, a set of 64: 80 and 90; 144 features, 4096 points, a set of 25, 100 rounds, of which
/// nearly each visits a new point: 28 and 56; sums over 144 features, 1024 points, a set of 64: 134 and 141.
pub fn screens_set(basis: &Basis, size: usize, rounds: u64, update_kind: UpdateKind) -> bool {
    let (n, size, rounds) = (basis.n_points() as f64, size as f64, rounds as f64);
    // Basis functions of a model, and those of its shorter form: visited points, which grow from none over the rounds.
    let (functions, shorter) = match basis {
        Basis::Table(table) => {
            // The best point of a set is one of the best N / size with probability 1 - 1/e.
            let visited = rounds.min(n / size * (1.0 + libm::log1p(rounds * size / n)));
            let m = table.n_features as f64;
            (m, m.min(visited / 2.0))
        }
        Basis::Gram(_) | Basis::Own(_) => {
            // Few among many plays are visited.
            let visited = 2.5 * rounds.min(n).sqrt();
            (visited, visited)
        }
    };
    let (exact, screened) = match update_kind {
        UpdateKind::RankOne => (0.1e-6 + 0.27e-9 * functions * shorter, 2e-9 + 0.1e-9 * functions),
        UpdateKind::Full => (0.2e-6 + 0.03e-9 * functions * functions, 2e-9 + 0.2e-9 * functions),
    };
    n * screened <= size * exact
}

/// Returns whether a trial begins with block pruning, by the size of its domain; `basis` may hold a sample of the points.
pub fn prunes(basis: &Basis, n_points: usize) -> bool {
    match basis {
        Basis::Table(table) => PRUNED_POINTS <= n_points && PRUNED_FEATURES <= n_points * (table.n_features + WORK_OF_A_SCORE),
        Basis::Gram(_) => PRUNED_COVARIANCES <= n_points,
        Basis::Own(_) => PRUNED_OWN <= n_points,
    }
}

/// Counted multiply-adds of a trial with block pruning, and estimated ones of the dense path.
#[derive(Debug, Clone, Copy, Default)]
pub struct PathCost {
    pub work: usize,
    pub dense: usize,
    /// Number of candidates beyond the first, summed over rounds.
    pub extra: usize,
}

impl PathCost {
    /// Returns whether the trial moves to the dense path, for the rest of its rounds.
    ///
    /// * `n_features` — number of features; `None` over covariances
    pub fn leaves(&self, n_points: usize, visited: usize, n_features: Option<usize>) -> bool {
        let share = n_features.map_or(DEARER_OVER_COVARIANCES, |m| {
            let held = DEARER_OVER_FEATURES.iter().find(|(bytes, _)| 8 * n_points * m <= *bytes && n_points < LARGE_DOMAIN);
            held.map_or(DEARER_BEYOND, |&(_, share)| share)
        });
        let explores = n_features.is_none() || FEWEST_VISITED <= visited;
        let is_dearer = (self.dense as f64) < share * (self.work as f64 - (START * n_points) as f64);
        (explores && is_dearer) || n_points < self.extra
    }
}

/// Returns whether a second-level cache holds a table beside the factors of [`INTERLEAVED`] trials.
fn is_small(table: &FeatureTable) -> bool {
    8 * table.n_points * table.n_features <= 1 << 20
}

/// Returns the number of trials in lockstep.
pub fn batch(basis: &Basis, update_kind: UpdateKind) -> usize {
    let n = basis.n_points();
    match basis {
        // Block pruning trials share no arithmetic, and a trial's data should stay in a second-level cache: mean,
        // posterior variance, p and some 16 columns, in its active blocks. A total of 1 MiB measured as the fastest.
        Basis::Table(_) if update_kind == UpdateKind::RankOne && prunes(basis, n) => {
            (1usize << 20).checked_div(19 * 8 * n).unwrap_or(1).clamp(1, MOST_IN_BATCH)
        }
        // The pivot screen interleaves as many. Larger batches leave a second-level cache, and pay only where a large
        // table is read for all of them. Batches of 16 against 32: 21.6 and 23.0 us a trial-round at N = 1024, m = 64;
        // 170 and 150 at N = 10 000, m = 144.
        Basis::Table(table) if update_kind == UpdateKind::Full && is_small(table) => INTERLEAVED,
        // Rows of several trials share the loads of a table.
        Basis::Table(_) => MOST_BYTES.checked_div(32 * n).unwrap_or(1).clamp(1, MOST_IN_BATCH),
        // Trials share no arithmetic here, and what a round reads of a trial should stay in the caches: arrays of 8 bytes a
        // point and some rows of as many. Over a small domain these are the N covariances of each point and the latest of up
        // to 8 N streaks, counted as N more rows. Trials in lockstep, us a trial-round: `small-domain` with N = 150, one 1.1,
        // eight 1.9; with N = 256, 3.1 and 7.3; `exact-posterior` with N = 1024, four 2.8, eight 3.0; with N = 2048, two 5.9,
        // eight 9.4.
        Basis::Gram(_) | Basis::Own(_) => {
            let bytes = if n <= CovariancePosterior::MOST_POINTS { 16 * n * (n + 2) } else { 128 * n };
            (1usize << 19).checked_div(bytes).unwrap_or(1).clamp(1, 8)
        }
    }
}

/// Returns the work of a dense round of one trial, in multiply-adds of a round by pivots (30 ps).
///
/// A triangular factor in four block rows, the sums of squares of a point's products, and what each point costs besides. Measured, ns a
/// point with 16, 36, 64 and 144 features: 28, 57, 105 and 427.
pub fn dense_work(n_points: usize, n_features: usize) -> f64 {
    let m = n_features as f64;
    n_points as f64 * (0.625 * m * m + 20.0 * m + 500.0)
}

/// Returns the work of a round of one trial of sixteen by pivots, with 0.6 µs of a round that depend on no size.
///
/// `jdp-linucb` over 100 points takes 1.1 µs by dense scores, and over 256, by pivots, 0.6.
pub fn work_by_pivots(n_points: usize, n_features: usize, rank: usize) -> f64 {
    let (m, r) = (n_features as f64, rank as f64);
    2.0 * n_points as f64 * r + r * m * (0.5 * m + 1.0) + 2e4
}

/// Returns the multiply-adds of the pivots' set-up up to `rank` of them.
pub fn setup_work(n_points: usize, n_features: usize, rank: usize) -> f64 {
    let (n, m, r) = (n_points as f64, n_features as f64, rank as f64);
    SETUP_WEIGHT * n * r * (m + r)
}

/// Returns whether rounds by `rank` pivots cost less than dense ones, by a fifth at least, and their arrays fit.
pub fn pivots_pay(n_points: usize, n_features: usize, rank: usize) -> bool {
    work_by_pivots(n_points, n_features, rank) <= 0.8 * dense_work(n_points, n_features)
        && 12.0 * n_points as f64 * rank as f64 <= MOST_SETUP_BYTES
}
