//! Holds the function that a trial optimises, with its noise and its optimum.

use super::mean_range::MeanRange;
use super::noise::Noise;
use super::sets::{Sets, SetsPlan};
use super::value_units::ValueUnits;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Fact;
use privateer_config::params::Args;
use privateer_gp::{FunctionValues, KernelSum};
use privateer_numerics::rng::Stream;
use privateer_privacy::{Raw, RewardFacts};
use std::sync::Arc;

/// Smallest difference between the largest and the least mean reward, unless they are equal.
const SMALLEST_RANGE: f64 = 1e-6;

/// Largest magnitude of a mean reward: the square of a sum over all rounds stays finite.
const HUGE: f64 = 1e100;

/// Checks that mean rewards lie in the range that the noise needs.
pub(super) fn within_range(values: &[f64], noise: &dyn Noise, hint: &str) -> Result<(), Error> {
    let Some((lo, hi)) = noise.range() else { return Ok(()) };
    match values.iter().find(|value| !(lo..=hi).contains(*value)) {
        Some(outside) => {
            Diagnostic::new(format!("the noise needs mean rewards from {lo} to {hi}, and one is {outside}")).hint(hint).refuse()
        }
        None => Ok(()),
    }
}

/// Holds the function of one trial with its noise.
#[derive(Debug, Clone)]
pub struct Instance {
    values: FunctionValues,
    noise: Arc<dyn Noise>,
    best: usize,
    unit: f64,
    facts: RewardFacts,
    /// Stated range of the mean reward.
    stated: Option<MeanRange>,
    /// Proved sub-Gaussian scale of the noise.
    noise_scale: Option<f64>,
    least: f64,
    /// How values of the data become rewards, where the spec states `bound` and `privacy.clip` in units of the data.
    units: Option<ValueUnits>,
    sets: Option<Arc<Sets>>,
    /// Whether everybody knows the points that can be played: no user brings a decision set.
    public_points: bool,
    /// Means of a product domain's plays, by number; `values` then holds the means of its rows.
    plays: Option<Vec<f64>>,
    best_mean: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegretUnit {
    Raw,
    Relative,
}

impl RegretUnit {
    /// Returns the unit in words, as a fact for the report.
    pub fn fact(self) -> Fact {
        let words = match self {
            Self::Raw => "that of the reward",
            Self::Relative => "shares of the largest mean reward",
        };
        ("unit of regret", words.into())
    }

    pub fn parse(args: &Args<'_>, default: &'static str) -> Self {
        let doc = "unit of regret: the reward's own, or shares of the largest mean";
        args.choice("regret", doc, &[("raw", Self::Raw), ("relative", Self::Relative)], default)
    }
}

impl Instance {
    /// Creates a function from its values at all points.
    ///
    /// `bound` is the range of f, up to its largest magnitude unless stated.
    ///
    /// # Errors
    /// If a value is not finite or outside the noise's range, if values differ by less than the tie tolerance resolves, or
    /// without a positive maximum under relative regret.
    pub fn new(
        values: Arc<Vec<f64>>,
        noise: Arc<dyn Noise>,
        bound: Option<MeanRange>,
        rounds: u64,
        unit: RegretUnit,
    ) -> Result<Self, Error> {
        let finite = values.iter().all(|value| value.is_finite());
        let largest_at = (1..values.len()).fold(0, |best, point| if values[best] < values[point] { point } else { best });
        let Some(best) = (finite && !values.is_empty()).then_some(largest_at) else {
            return Diagnostic::new("the mean reward is not finite at every point")
                .hint("check the table or the kernel's scale")
                .refuse();
        };
        within_range(&values, noise.as_ref(), "choose another `noise`, or scale the values into that range")?;
        // Regret and its square are summed over rounds and trials.
        if let Some(huge) = values.iter().find(|value| HUGE < value.abs()) {
            return Diagnostic::new(format!("a mean reward is {huge:e}, and sums of regret would overflow f64"))
                .expected(format!("mean rewards from -{HUGE:e} to {HUGE:e}"))
                .hint("look for a mistyped cell, or state rewards in other units")
                .refuse();
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        // Decisions tie within 1e-10 of a score, so far smaller differences between points would be lost.
        if least < values[best] && values[best] - least < SMALLEST_RANGE {
            return Diagnostic::new(format!("mean rewards differ by no more than {:e}", values[best] - least))
                .hint("state rewards in other units: differences below 1e-6 drown in the tie tolerance")
                .refuse();
        }
        let best_mean = values[best];
        let noise_scale = noise.sub_gaussian_scale();
        let facts = bound.unwrap_or(least.abs().max(best_mean.abs()).into()).facts(noise.as_ref(), rounds);
        let raw = Self {
            values: FunctionValues::Listed(values),
            noise,
            best,
            unit: 1.0,
            facts,
            stated: bound,
            noise_scale,
            least,
            units: None,
            sets: None,
            public_points: true,
            plays: None,
            best_mean,
        };
        if unit == RegretUnit::Relative { raw.relative(0.0, 1.0) } else { Ok(raw) }
    }

    /// Counts regret in shares of the largest mean before `centre` was subtracted and `scale` divided.
    pub(crate) fn relative(self, centre: f64, scale: f64) -> Result<Self, Error> {
        let largest = self.best_mean * scale + centre;
        if largest.is_nan() || largest <= 0.0 {
            return Diagnostic::new(format!("relative regret divides by the largest mean reward, which is {largest}"))
                .hint("use `regret = \"raw\"`")
                .refuse();
        }
        Ok(Self { unit: largest / scale, ..self })
    }

    /// States how values of the data become rewards, where clip ranges are stated in units of the data.
    #[must_use]
    pub(crate) fn in_units(self, units: Option<ValueUnits>) -> Self {
        Self { units, ..self }
    }

    pub(crate) fn value_units(&self) -> Option<ValueUnits> {
        self.units
    }

    /// Returns the same function with another noise; its rewards' public facts stay unchanged.
    #[must_use]
    pub fn observed_through(self, noise: Arc<dyn Noise>) -> Self {
        Self { noise, ..self }
    }

    /// Returns the same function, each point of which has rows of its own around its mean.
    ///
    /// The public facts stay those of the stated noise; no scale is proved any more.
    #[must_use]
    pub(crate) fn scattered_by(self, noise: Arc<dyn Noise>) -> Self {
        Self { noise, noise_scale: None, ..self }
    }

    /// Returns the noise of the rewards that are drawn.
    pub fn noise(&self) -> &dyn Noise {
        self.noise.as_ref()
    }

    /// Returns the regret, in the reward's unit, of the point that is the best one after clipping.
    pub fn regret_of_clipped_best(&self, low: f64, high: f64) -> f64 {
        let clipped = |point: usize| self.noise.clipped_mean(self.mean(point), point, low, high);
        let best = (0..self.values.n_points())
            .map(|point| (point, clipped(point)))
            .fold((self.best, clipped(self.best)), |most, other| if most.1 < other.1 { other } else { most });
        self.best_mean - self.mean(best.0)
    }

    /// Creates a function over a product domain as the sum of functions of its axes.
    ///
    /// * `rows` — values of the rows, one axis after another, `per_axis` each
    ///
    /// # Errors
    /// As [`Instance::new`]; noise that needs a range.
    pub fn over_axes(
        rows: Vec<f64>,
        per_axis: usize,
        noise: Arc<dyn Noise>,
        bound: Option<MeanRange>,
        rounds: u64,
        unit: RegretUnit,
    ) -> Result<Self, Error> {
        let axes = || rows.chunks_exact(per_axis.max(1));
        let highest: f64 = axes().map(|axis| axis.iter().copied().fold(f64::NEG_INFINITY, f64::max)).sum();
        let lowest: f64 = axes().map(|axis| axis.iter().copied().fold(f64::INFINITY, f64::min)).sum();
        // The highest and the lowest value represent all points in the checks and in the public facts.
        let ends = Self::new(Arc::new(vec![highest, lowest]), noise, bound, rounds, unit)?;
        Ok(Self { values: FunctionValues::Listed(Arc::new(rows)), plays: Some(Vec::new()), ..ends })
    }

    /// Creates a function whose values are computed where they are asked for.
    ///
    /// * `ends` — points of the largest and of the least value, the first of each
    ///
    /// # Errors
    /// As [`Instance::new`].
    pub fn of_sum(
        sum: Arc<KernelSum>,
        [best, least]: [usize; 2],
        noise: Arc<dyn Noise>,
        bound: Option<MeanRange>,
        rounds: u64,
        unit: RegretUnit,
    ) -> Result<Self, Error> {
        // Both values represent all points, as over the axes.
        let ends = Self::new(Arc::new(vec![sum.at(best), sum.at(least)]), noise, bound, rounds, unit)?;
        Ok(Self { values: FunctionValues::Sum(sum), best, ..ends })
    }

    /// Assigns the next point number to the play of these rows of a product domain.
    pub fn define(&mut self, rows: &[u32]) {
        let mean = rows.iter().map(|&row| self.values.at(row as usize)).sum();
        if let Some(plays) = &mut self.plays {
            plays.push(mean);
        }
    }

    /// Adds decision sets that change every round.
    pub fn with_sets(mut self, plan: SetsPlan) -> Result<Self, Error> {
        self.sets = plan.sets(&self.values.all())?.map(Arc::new);
        self.public_points = self.sets.is_none();
        Ok(self)
    }

    /// Allows the first point alone, in every round.
    #[must_use]
    pub fn with_one_point(self) -> Self {
        Self { sets: Some(Arc::new(Sets::of_one_point())), ..self }
    }

    /// Returns whether everybody knows the points that can be played; unchanged by [`Instance::with_one_point`].
    pub fn has_public_points(&self) -> bool {
        self.public_points
    }

    /// Returns the decision sets, if the allowed points change every round.
    pub fn sets(&self) -> Option<&Sets> {
        self.sets.as_deref()
    }

    /// Draws the points that are allowed in the next round, where they change every round.
    pub fn draw_set(&self, random: &mut Stream, set: &mut Option<Vec<u32>>) {
        if let (Some(sets), Some(set)) = (&self.sets, set) {
            sets.draw(random, set);
        }
    }

    /// Returns the regret of one play of `point` where only the points of `set` are allowed; `None` allows all.
    ///
    /// It is at least 0, in the instance's unit.
    pub fn regret_among(&self, point: usize, set: Option<&[u32]>) -> f64 {
        let Some(set) = set else { return self.regret(point) };
        let best = set.iter().map(|&other| self.values.at(other as usize)).fold(self.values.at(point), f64::max);
        (best - self.values.at(point)) / self.unit
    }

    /// Returns the proved sub-Gaussian scale of the noise; `None` where none is proved.
    pub fn noise_scale(&self) -> Option<f64> {
        self.noise_scale
    }

    /// Returns the public facts of a reward.
    pub fn facts(&self) -> &RewardFacts {
        &self.facts
    }

    /// Returns the clip range that unbounded noise states for private rewards.
    pub(crate) fn clip_range(&self) -> Option<(f64, f64)> {
        let reach = self.facts.bound + self.noise.clip_bound(self.facts.rounds)?;
        Some((-reach, reach))
    }

    /// Returns the stated range of f; `None` where the bound is computed from the function.
    pub fn stated_range(&self) -> Option<MeanRange> {
        self.stated
    }

    /// Returns the largest |f|.
    pub fn largest(&self) -> f64 {
        self.least.abs().max(self.best_mean.abs())
    }

    /// Returns the least and the largest mean reward.
    pub fn range(&self) -> (f64, f64) {
        (self.least, self.best_mean)
    }

    /// Returns the share of the points whose mean reward is outside of a range; `None` over a product domain.
    pub fn share_outside(&self, low: f64, high: f64) -> Option<f64> {
        let values = self.values.all();
        let n_outside = values.iter().filter(|value| !(low..=high).contains(*value)).count();
        self.plays.is_none().then(|| n_outside as f64 / values.len() as f64)
    }

    /// Returns the share of rewards outside of a range and how far a clip to it moves a reward in the mean, by `draws` rewards of each of at
    /// most a hundred points.
    pub fn clipped_rewards(&self, low: f64, high: f64, draws: usize, stream: &mut Stream) -> (f64, f64) {
        let n = self.values.n_points();
        let points = || (0..n).step_by(n.div_ceil(100));
        let (mut outside, mut moved) = (0, 0.0);
        for point in points() {
            for _ in 0..draws {
                let reward = self.noise.reward(self.mean(point), point, stream);
                let distance = (low - reward).max(reward - high).max(0.0);
                outside += usize::from(0.0 < distance);
                moved += distance;
            }
        }
        let n_drawn = (draws * points().count()) as f64;
        (outside as f64 / n_drawn, moved / n_drawn)
    }

    /// Returns the best point (the lowest index among ties).
    pub fn best(&self) -> usize {
        self.best
    }

    /// Returns the mean rewards of all points, or of all rows of a product domain.
    pub fn values(&self) -> &FunctionValues {
        &self.values
    }

    /// Returns the mean reward of a point.
    pub fn mean(&self, point: usize) -> f64 {
        self.plays.as_ref().map_or_else(|| self.values.at(point), |plays| plays[point])
    }

    /// Returns the largest mean reward.
    pub fn best_mean(&self) -> f64 {
        self.best_mean
    }

    /// Returns the regret of playing a point once, at least 0, in the instance's unit.
    pub fn regret(&self, point: usize) -> f64 {
        ((self.best_mean - self.mean(point)) / self.unit).max(0.0)
    }

    /// Draws one observation, sealed.
    pub fn observe(&self, point: usize, noise: &mut Stream) -> Raw<f64> {
        Raw::seal(self.noise.reward(self.mean(point), point, noise))
    }
}
