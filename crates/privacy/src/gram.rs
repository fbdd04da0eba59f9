//! Holds what every mechanism for noisy sums of `z z^T` and `y z` shares: order, clip and noise.
//!
//! [`crate::sums`] releases them for a bandit over features, [`crate::interactions`] for the arms of a contextual bandit; both
//! keep the running sums and their noise in [`PrefixSums`]. Proofs: `docs/proofs/sums.md`, `docs/proofs/released-sums.md`.

use crate::accounting::sensitivity::{Participation, Relation, gram_and_reward_mu_squared};
use crate::calibration::NoiseTerms;
use crate::noise::{GREATEST_SIGMA, Grid, MOST_STEPS, ReleaseError};
use crate::planted::{self, PlantedFault};
use crate::streams::{Factorisation, PrefixSums, Shape};
use crate::{Calibration, Delta, Epsilon, Event, Factor, Raw, Refusal, ReleaseCounts, Scale, analytic_gaussian_sigma};
use std::sync::{Arc, OnceLock};

/// Says how noisy sums of `z z^T` and `y z` are ordered in one slice.
/// A bandit over features has one block; a contextual bandit has one block for each arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GramLayout {
    /// Number of blocks.
    pub n_blocks: usize,
    /// Number of features of a block.
    pub dimension: usize,
    /// True if all blocks share one matrix, false if each block has its own.
    pub joint: bool,
}

impl GramLayout {
    /// Returns the layout of one block.
    pub fn single(dimension: usize) -> Self {
        Self { n_blocks: 1, dimension, joint: true }
    }

    /// Returns the number of matrices.
    pub fn n_groups(self) -> usize {
        if self.joint { 1 } else { self.n_blocks }
    }

    /// Returns the number of rows of a matrix.
    pub fn n_rows(self) -> usize {
        if self.joint { self.n_blocks * self.dimension } else { self.dimension }
    }

    /// Returns how the entries are stored.
    pub fn shape(self) -> Shape {
        Shape::Blocks { count: self.n_groups(), rows: self.n_rows() }
    }

    /// Returns the number of entries of a matrix with its vector.
    fn n_entries(self) -> usize {
        Shape::Bordered(self.n_rows()).len()
    }

    /// Returns the number of entries of a packed upper triangle, row by row.
    fn n_gram(self) -> usize {
        Shape::Symmetric(self.n_rows()).len()
    }

    /// Returns the matrix that a block's features enter, and its first row there.
    pub fn place(self, block: usize) -> (usize, usize) {
        if self.joint { (0, block * self.dimension) } else { (block, 0) }
    }

    /// Returns the packed matrix and the vector of a group.
    pub fn group(self, entries: &[f64], group: usize) -> (&[f64], &[f64]) {
        let size = self.n_entries();
        entries[group * size..(group + 1) * size].split_at(self.n_gram())
    }

    /// Adds `z z^T` and `y z` for features in a block.
    pub fn add(self, entries: &mut [f64], block: usize, z: &[f64], y: f64) {
        let (group, first) = self.place(block);
        let (size, n) = (self.n_entries(), self.n_rows());
        let (gram, moment) = entries[group * size..(group + 1) * size].split_at_mut(self.n_gram());
        for (i, &x) in z.iter().enumerate() {
            let row = first + i;
            // Row r of the packed triangle starts at r n - r (r - 1)/2; its first entry is on the diagonal.
            let start = row * n - row * row.saturating_sub(1) / 2;
            gram[start..start + z.len() - i].iter_mut().zip(&z[i..]).for_each(|(entry, other)| *entry += x * other);
        }
        moment[first..first + z.len()].iter_mut().zip(z).for_each(|(entry, x)| *entry += y * x);
    }
}

/// Says what enters the sums of one user: clipped before any noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GramClip {
    /// Range of rewards; `None` lets any finite number pass.
    pub(crate) range: Option<(f64, f64)>,
    /// Public centre, subtracted after clipping.
    pub(crate) centre: f64,
    /// Divisor of centred rewards.
    pub(crate) reward_unit: f64,
    /// Length to which longer features are shortened.
    pub(crate) length: f64,
    /// Largest length that is left as it is; above `length` it counts as a rounding of it.
    pub(crate) whole: f64,
    /// Divisor of features.
    pub(crate) feature_unit: f64,
}

impl GramClip {
    /// Clips rewards to a range, and features to the unit ball.
    pub(crate) fn unit(range: Option<(f64, f64)>, centre: f64) -> Self {
        Self { range, centre, reward_unit: 1.0, length: 1.0, whole: 1.0 + 1e-9, feature_unit: 1.0 }
    }

    /// Writes the features to `z` and returns the reward; `None` for features that are not finite, or of another number.
    ///
    /// Both are finite: a NaN reward counts as the centre, an infinite one as the nearest end of the range (as the centre without
    /// a range). Rewards outside the range and features that are not left as they are are counted.
    pub(crate) fn item(&self, features: &[f64], reward: Raw<f64>, counts: &mut ReleaseCounts, z: &mut [f64]) -> Option<f64> {
        let reward = reward.open();
        counts.rewards += 1;
        let kept = match self.range {
            _ if reward.is_nan() => self.centre,
            Some((lo, hi)) if !planted::is(PlantedFault::SumsRewardClip) => reward.clamp(lo, hi),
            _ if reward.is_finite() => reward,
            _ => self.centre,
        };
        counts.clipped += u64::from(kept != reward);
        let finite = planted::is(PlantedFault::SumsFinite) || features.iter().all(|x| x.is_finite());
        if features.len() != z.len() || !finite {
            counts.shortened += 1;
            return None;
        }
        let length = libm::sqrt(features.iter().map(|x| x * x).sum::<f64>());
        let is_whole = length <= self.whole || planted::is(PlantedFault::SumsFeatureClip);
        counts.shortened += u64::from(!is_whole);
        let scale = if is_whole { 1.0 / self.feature_unit } else { self.length / length / self.feature_unit };
        z.iter_mut().zip(features).for_each(|(z, x)| *z = scale * x);
        Some((kept - self.centre) / self.reward_unit)
    }

    /// Returns entries of a released vector `sum y z` in units of the reward.
    pub(crate) fn in_rewards(&self, vector: &mut [f64]) {
        vector.iter_mut().for_each(|entry| *entry *= self.reward_unit);
    }
}

/// States a release of sums of items with `|z| <= length` in one stream.
/// All draws have one standard deviation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GramRelease {
    pub(crate) factor: Factor,
    pub(crate) releases: u64,
    /// Largest length of features.
    pub(crate) length: f64,
    /// Largest absolute reward; `None` if unbounded.
    pub(crate) reward: Option<f64>,
    /// Divisor of rewards in the stream; 1 where `reward` is in its units.
    pub(crate) reward_unit: f64,
    /// How often one user takes part, in releases.
    pub(crate) participation: Participation,
}

impl GramRelease {
    /// Returns the event for draws of this standard deviation, stated for features of length at most 1.
    pub(crate) fn event(self, sigma: f64) -> Event {
        let Self { factor, releases, length, reward, reward_unit, participation } = self;
        let (gram_sigma, moment_sigma) = (sigma / (length * length), sigma * reward_unit / length);
        Event::Sums { factor, releases, gram_sigma, equal_diagonal: false, moment_sigma, reward, participation }
    }

    /// Returns by how much one item moves the sums, in units of a draw's standard deviation.
    /// Infinite for unbounded rewards.
    pub(crate) fn distance(self) -> f64 {
        let (gram, moment) = (1.0 / (self.length * self.length), self.reward_unit / self.length);
        let of = |reward| libm::sqrt(gram_and_reward_mu_squared(reward, gram, moment, Relation::Replace));
        self.reward.map_or(f64::INFINITY, of)
    }

    /// Returns the scale of a draw, for a factorisation whose columns have norm `norm`.
    pub(crate) fn scale(
        self,
        calibration: Calibration,
        (epsilon, delta): (Epsilon, Delta),
        norm: f64,
        least_formula: &str,
        printed: (Scale, Scale),
    ) -> Result<Scale, Refusal> {
        // `norm` holds all releases.
        let scale = calibration.scale(NoiseTerms {
            // The event's price would fit the factorisation again.
            closed: Some(norm * self.distance() * analytic_gaussian_sigma(epsilon, delta)),
            printed: Some(printed),
            ..NoiseTerms::priced(epsilon, Some(delta), &|sigma| self.event(sigma), least_formula)
        })?;
        let mechanism = if self.factor == Factor::Own { "local-gaussian" } else { self.factor.name() };
        Refusal::unless_normal(scale.size, mechanism, epsilon.get())?;
        Ok(scale)
    }
}

/// Largest factor by which noise on a grid may exceed noise on f64, which policies are told.
const MOST_FOR_ROUNDING: f64 = 1.02;

/// Holds the calibrated noise of one stream of sums.
#[derive(Debug, Clone)]
pub(crate) struct GramStream {
    pub(crate) factorisation: Arc<dyn Factorisation>,
    /// Standard deviation of a draw, off the diagonal.
    pub(crate) sigma: f64,
    /// Standard deviations of the noise on the prefixes, computed at their first use.
    stds: Arc<OnceLock<Vec<f64>>>,
    /// Grid of exact noise; `None` on doubles.
    pub(crate) grid: Option<Grid>,
}

impl GramStream {
    pub(crate) fn new(factorisation: Arc<dyn Factorisation>, sigma: f64) -> Self {
        Self { factorisation, sigma, stds: Arc::default(), grid: None }
    }

    fn std_of(&self, variance: f64) -> f64 {
        self.sigma * libm::sqrt(variance)
    }

    /// Returns the standard deviation of the noise on prefix `at`, counted from 0; NaN beyond the last.
    pub(crate) fn std(&self, at: usize) -> f64 {
        let compute = || self.factorisation.variances().into_iter().map(|variance| self.std_of(variance)).collect();
        self.stds.get_or_init(compute).get(at).copied().unwrap_or(f64::NAN)
    }

    /// Returns the largest of all, without computing the others.
    pub(crate) fn largest_std(&self) -> f64 {
        self.std_of(self.factorisation.largest_variance())
    }

    /// Returns the same stream with exact noise, for items of `shape` that one user moves by at most `distance`.
    pub(crate) fn exact(&self, shape: Shape, distance: f64, users: u64) -> Result<Self, ReleaseError> {
        let norm = self.factorisation.sensitivity(Participation::ONCE);
        let Some(transform) = self.factorisation.transform(shape.len()) else {
            return Err(ReleaseError::Range(format!("noise of the form `{}`", self.factorisation.name())));
        };
        let rows = GramRows {
            norm,
            count: self.factorisation.rounds(),
            fractional: transform.fractional(),
            error: transform.rounding_error(1.0),
        };
        let grid = rows.grid(shape, (distance, self.sigma), users)?;
        Ok(Self { grid: Some(grid), ..Self::new(Arc::clone(&self.factorisation), grid.size()) })
    }

    /// Makes the sums before the first user.
    pub(crate) fn sums(&self, shape: Shape) -> PrefixSums {
        let sums = PrefixSums::new(&self.factorisation, shape, self.sigma);
        match self.grid {
            None => sums,
            Some(grid) => sums.on(grid, self.factorisation.transform(shape.len())),
        }
    }
}

/// States what the rows of `C x` cost in whole steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GramRows {
    /// Largest norm of a column of C.
    norm: f64,
    /// Number of rows.
    count: u64,
    /// Rows that one row of x moves, if they are not integers.
    fractional: u64,
    /// Rounding error of an entry of `C x` in f64, for items that add up to at most 1.
    error: f64,
}

impl GramRows {
    /// One item on its own.
    pub(crate) const OWN: Self = Self { norm: 1.0, count: 1, fractional: 0, error: 0.0 };

    /// Returns the grid of exact noise of size `sigma` on items that one user moves by at most `distance`.
    pub(crate) fn grid(self, shape: Shape, (distance, sigma): (f64, f64), users: u64) -> Result<Grid, ReleaseError> {
        let Self { norm, count, fractional, error } = self;
        let length = shape.len();
        // Items are rounded once: D + g sqrt(n), times the norm of a column. Rows of C x that are not integers are rounded once
        // more.
        let rounding = |once_more: f64| libm::sqrt(length as f64) * (norm + once_more * libm::sqrt(fractional as f64));
        let of = |once_more: f64| Grid::new(distance * norm, sigma / (distance * norm), rounding(once_more), 19);
        let grid = of(1.0)?;
        // The most that all users together add to an entry, in steps; computed rows are off by the share `error` of it on either
        // side.
        let largest = users as f64 * (distance / grid.step + 1.0);
        let off = 2.0 * error * largest;
        // The grid's margin covers a tenth of a step over all entries.
        let grid = if off * libm::sqrt(length as f64 * fractional as f64) < 0.1 { grid } else { of(1.0 + off)? };
        if MOST_FOR_ROUNDING * sigma < grid.size() || GREATEST_SIGMA < grid.noise {
            let hint = if fractional == 0 { "" } else { " (mechanism `tree` rounds least)" };
            return Err(ReleaseError::Range(format!("a stream of {count} releases of {length} numbers{hint}")));
        }
        // Sums of users' items stay below 2^53 steps, with 64 levels of noise at 100 standard deviations.
        if MOST_STEPS < largest + 6400.0 * grid.noise as f64 {
            return Err(ReleaseError::Range(format!("a stream of {users} users")));
        }
        Ok(grid)
    }
}
