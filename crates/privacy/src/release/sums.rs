//! Releases sums over users for real data: noisy running sums (joint model) or items (local model).
//!
//! The servers of `policy` use both. Items are rounded to a grid once, `C x` gets exact noise, and the released values are a
//! function of that noisy value only. Proof: `docs/proofs/released-sums.md`.

use super::ReleaseError;
use crate::noise::{self, Entropy, Grid, SamplerLaw, Words};
use crate::planted::{self, PlantedFault};
use crate::streams::{Deviations, NoiseState, PrefixNoise, RowTransform};
use crate::sums::{Epochs, ExactSums, Sums};
use crate::{Query, Raw, ReleaseCounts, Released, Signal, gdp_mu};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::f64::consts::SQRT_2;

/// Largest factor by which noise on a grid may exceed noise on f64, which policies are told.
const MOST_FOR_ROUNDING: f64 = 1.02;

/// Number of steps up to which f64 holds integers exactly, with a margin.
const MOST_STEPS: f64 = 9e15;

/// Releases sums with noise from the operating system's entropy.
#[derive(Debug)]
pub struct SumsRelease {
    plan: ExactSums,
    /// One grid per epoch; a single grid for items.
    grids: Vec<Grid>,
    epoch: usize,
    /// Users so far in this epoch.
    users: u64,
    /// Stream of this epoch; `None` in the local model and after the horizon.
    stream: Option<SumsReleaseStream>,
    /// Last release of the earlier epochs, if sums are carried over.
    before: Option<Sums>,
    last: Option<Sums>,
}

/// Holds the stream of one epoch.
#[derive(Debug)]
struct SumsReleaseStream {
    /// Number of rows released.
    rows: u64,
    /// The current row, in steps; raw data.
    row: Vec<i64>,
    /// Computes `C x` of the rows; holds raw data.
    transform: Box<dyn RowTransform>,
    /// Computes `B (C x + z)` from noisy values only.
    decoder: Box<dyn PrefixNoise>,
    /// Standard deviations of the noise on the prefixes.
    stds: Deviations,
}

/// Holds the saved state, with raw rows in the joint model.
#[derive(Debug, Serialize, Deserialize)]
struct SumsReleaseState {
    version: u32,
    /// Step and noise of each grid; the numbers below are in these units.
    grids: Vec<(f64, u64)>,
    epoch: usize,
    users: u64,
    stream: Option<StreamState>,
    before: Option<JointRelease>,
    last: Option<JointRelease>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StreamState {
    rows: u64,
    row: Vec<i64>,
    transform: NoiseState,
    decoder: NoiseState,
}

/// Holds one release of the joint model.
#[derive(Debug, Serialize, Deserialize)]
struct JointRelease {
    entries: Vec<f64>,
    users: u64,
    std: f64,
    horizon: u64,
}

impl JointRelease {
    fn of(sums: &Sums) -> Self {
        Self { entries: sums.entries.clone(), users: sums.users, std: sums.gram_std, horizon: sums.horizon }
    }

    fn sums(self, length: usize) -> Option<Sums> {
        let Self { entries, users, std, horizon } = self;
        let fits = entries.len() == length && entries.iter().all(|x| x.is_finite()) && std.is_finite() && 0.0 <= std;
        fits.then_some(Sums { entries, users, gram_std: std, moment_std: std, horizon })
    }
}

impl SumsRelease {
    /// Makes the release before the first user.
    ///
    /// # Errors
    /// Sizes beyond exact arithmetic; a factorisation without an exact form.
    pub fn new(plan: ExactSums) -> Result<Self, ReleaseError> {
        let (mu, length) = (gdp_mu(plan.epsilon, plan.delta), plan.shape().len());
        let distance = plan.rewards_distance();
        let range = |what: String| Err(ReleaseError::Range(what));
        let mut grids = Vec::new();
        for epoch in &plan.epochs {
            // The rounding error of a row of C x in f64, for items that add up to at most 1.
            let (norm, fractional, error) = match &epoch.factorisation {
                None => (1.0, 0, 0.0),
                Some(factorisation) => {
                    let Some(transform) = factorisation.transform(length) else {
                        return range(format!("noise of the form `{}`", factorisation.name()));
                    };
                    (
                        factorisation.sensitivity(crate::accounting::sensitivity::Participation::ONCE),
                        transform.fractional(),
                        transform.rounding_error(1.0),
                    )
                }
            };
            // Items are rounded once: D + g sqrt(n), times the norm of a column. Rows of C x that are not integers are rounded
            // once more.
            let rounding = |once_more: f64| libm::sqrt(length as f64) * (norm + once_more * libm::sqrt(fractional as f64));
            let grid = Grid::new(distance * norm, 1.0 / mu, rounding(1.0), 19)?;
            // The most that all users together add to an entry, in steps; computed rows are off by the share `error` of it on
            // either side.
            let largest = epoch.rounds as f64 * (distance / grid.step + 1.0);
            let off = 2.0 * error * largest;
            // The grid's margin covers a tenth of a step over all entries.
            let grid = if off * libm::sqrt(length as f64 * fractional as f64) < 0.1 {
                grid
            } else {
                Grid::new(distance * norm, 1.0 / mu, rounding(1.0 + off), 19)?
            };
            let plain = distance * norm / mu;
            if MOST_FOR_ROUNDING * plain < grid.noise as f64 * grid.step || noise::GREATEST_SIGMA < grid.noise {
                let releases = epoch.factorisation.as_ref().map_or(1, |factorisation| factorisation.rounds());
                let hint = if fractional == 0 { "" } else { " (mechanism `tree` rounds least)" };
                return range(format!("a stream of {releases} releases of {length} numbers{hint}"));
            }
            // Sums of users' items stay below 2^53 steps, with 64 levels of noise at 100 standard deviations.
            if MOST_STEPS < largest + 6400.0 * grid.noise as f64 {
                return range(format!("a stream of {} users", epoch.rounds));
            }
            grids.push(grid);
        }
        let mut made = Self { plan, grids, epoch: 0, users: 0, stream: None, before: None, last: None };
        made.open();
        Ok(made)
    }

    /// Returns whether raw sums are held between users.
    #[must_use]
    pub fn holds_raw(&self) -> bool {
        !self.plan.local
    }

    /// Returns what the exact sampler is given, in each epoch.
    #[must_use]
    pub fn laws(&self) -> Vec<SamplerLaw> {
        self.grids.iter().map(|grid| grid.gaussian_law()).collect()
    }

    /// Starts the stream of the current epoch.
    fn open(&mut self) {
        let shape = self.plan.shape();
        self.stream = self.plan.epochs.get(self.epoch).zip(self.grids.get(self.epoch)).and_then(|(epoch, grid)| {
            let factorisation = epoch.factorisation.as_ref()?;
            let sigma = grid.noise as f64 * grid.step;
            Some(SumsReleaseStream {
                rows: 0,
                row: vec![0; shape.len()],
                transform: factorisation.transform(shape.len())?,
                decoder: factorisation.noise(shape),
                stds: Deviations::new(factorisation, sigma),
            })
        });
    }

    /// Takes one user's reward and releases the signal of the round.
    ///
    /// An error leaves the state unchanged.
    ///
    /// # Errors
    /// A reward that is not finite; no entropy.
    pub fn release(&mut self, query: &Query<'_>, reward: Raw<f64>) -> Result<Released<Signal>, ReleaseError> {
        if !reward.look().is_finite() {
            return Err(ReleaseError::NotFinite);
        }
        let mut words = Entropy::fresh()?;
        Ok(self.noised(query, reward, &mut words))
    }

    pub(super) fn noised(&mut self, query: &Query<'_>, reward: Raw<f64>, words: &mut impl Words) -> Released<Signal> {
        let shape = self.plan.shape();
        let mut item = vec![0.0; shape.len()];
        self.plan.clipping.item(&query.features, reward, &mut ReleaseCounts::default(), &mut item);
        shape.scale_diagonal(&mut item, 1.0 / SQRT_2);
        self.users += 1;
        if self.plan.local {
            let grid = self.grids[0];
            item.iter_mut().for_each(|x| *x = grid.value(grid.steps(*x) + noise::gaussian(grid.gaussian_sigma(), words)));
            shape.scale_diagonal(&mut item, SQRT_2);
            let sigma = grid.noise as f64 * grid.step;
            let horizon = self.plan.need.rounds;
            let item = Sums { entries: item, users: 1, gram_std: sigma, moment_std: sigma, horizon };
            return Released::mark(Signal::Item(item.into()));
        }
        if let (Some(stream), Some(grid)) = (&mut self.stream, self.grids.get(self.epoch)) {
            stream.row.iter_mut().zip(&item).for_each(|(sum, &x)| *sum += grid.steps(x));
        }
        let signal = if query.release { self.give_out(words) } else { Signal::Nothing };
        self.turn();
        Released::mark(signal)
    }

    fn give_out(&mut self, words: &mut impl Words) -> Signal {
        let shape = self.plan.shape();
        let (Some(epoch), Some(grid)) = (self.plan.epochs.get(self.epoch), self.grids.get(self.epoch)) else {
            return Signal::Nothing;
        };
        let Some(stream) = self.stream.as_mut().filter(|stream| stream.rows < stream.stds.len()) else {
            return Signal::Nothing;
        };
        let std = stream.stds.at(stream.rows as usize);
        stream.rows += 1;
        let row: Vec<f64> = stream.row.iter().map(|&steps| steps as f64).collect();
        if !planted::is(PlantedFault::ReleasedRowSum) {
            stream.row.fill(0);
        }
        let mut noisy = VecDeque::new();
        stream.transform.next(&row, &mut |sums| {
            // The conversions are exact: integers far below 2^53.
            let shared = planted::is(PlantedFault::ReleasedSharedDraw).then(|| noise::gaussian(grid.gaussian_sigma(), words));
            let mut draw = || shared.unwrap_or_else(|| noise::gaussian(grid.gaussian_sigma(), words));
            noisy.push_back(sums.iter().map(|x| (x.round() as i64 + draw()) as f64).collect::<Vec<_>>());
        });
        let prefix = stream.decoder.next(&mut |out| {
            if let Some(sums) = noisy.pop_front() {
                out.copy_from_slice(&sums);
            }
        });
        let mut entries: Vec<f64> = prefix.iter().map(|steps| steps * grid.step).collect();
        shape.scale_diagonal(&mut entries, SQRT_2);
        let (mut users, mut all) = (self.users, std);
        if let Some(before) = &self.before {
            entries.iter_mut().zip(&before.entries).for_each(|(entry, before)| *entry += before);
            // The noise carried over is independent of this epoch's noise.
            (users, all) = (users + before.users, libm::hypot(std, before.gram_std));
        }
        let sums = Sums { entries, users, gram_std: all, moment_std: all, horizon: epoch.horizon };
        self.last = Some(sums.clone());
        Signal::Sums(sums.into())
    }

    /// Ends the epoch if all its users have taken part.
    fn turn(&mut self) {
        let over = self.plan.epochs.get(self.epoch).is_some_and(|epoch| epoch.rounds <= self.users);
        if over && self.plan.need.epochs != Epochs::One {
            if self.plan.need.epochs == Epochs::Carry {
                self.before = self.last.clone();
            }
            self.epoch += 1;
            self.users = 0;
            self.open();
        }
    }

    /// Returns the number of users so far, in all epochs.
    #[must_use]
    pub fn users(&self) -> u64 {
        self.plan.epochs[..self.epoch].iter().map(|epoch| epoch.rounds).sum::<u64>() + self.users
    }

    fn units(&self) -> Vec<(f64, u64)> {
        self.grids.iter().map(|grid| (grid.step, grid.noise)).collect()
    }

    /// Returns the state as plain data; as secret as the data where raw sums are held.
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        serde_json::json!(SumsReleaseState {
            version: 1,
            grids: self.units(),
            epoch: self.epoch,
            users: self.users,
            stream: self.stream.as_ref().map(|stream| StreamState {
                rows: stream.rows,
                row: stream.row.clone(),
                transform: stream.transform.save(),
                decoder: stream.decoder.save(),
            }),
            before: self.before.as_ref().map(JointRelease::of),
            last: self.last.as_ref().map(JointRelease::of),
        })
    }

    /// Restores a saved state of the same plan.
    ///
    /// # Errors
    /// A description of the fault in the state. After an error this release must not be used.
    pub fn load(&mut self, state: serde_json::Value) -> Result<(), String> {
        let state: SumsReleaseState = serde_json::from_value(state).map_err(|source| source.to_string())?;
        let (epochs, length) = (self.plan.epochs.len(), self.plan.shape().len());
        let rounds = self.plan.epochs.get(state.epoch).map_or(0, |epoch| epoch.rounds);
        // After its last user, an epoch has already given way to the next.
        let turns = !self.plan.local && self.plan.need.epochs != Epochs::One && state.epoch < epochs;
        if state.version != 1 || epochs < state.epoch || rounds < state.users || (turns && state.users == rounds) {
            return Err("it is of another version, or of other sums".to_owned());
        }
        if state.grids != self.units() {
            return Err("its numbers are counted in other steps: go on with the program that began it".to_owned());
        }
        (self.epoch, self.users) = (state.epoch, state.users);
        self.open();
        for (mine, given) in [(&mut self.before, state.before), (&mut self.last, state.last)] {
            *mine = match given.map(|given| given.sums(length)) {
                Some(None) => return Err("a release in it is not possible".to_owned()),
                sums => sums.flatten(),
            };
        }
        let fits = match (&mut self.stream, state.stream) {
            (Some(stream), Some(state)) => {
                let rows = state.rows <= state.transform.round.min(stream.stds.len());
                let same = state.transform.round == state.rows && state.decoder.round == state.rows && state.row.len() == length;
                // Each row holds at least one user's item, and sums stay below the limit of `new`.
                let small = |x: f64| x.abs() <= MOST_STEPS;
                let numbers = |of: &NoiseState| of.vectors.iter().flatten().all(|x| small(*x));
                let same = same && state.rows <= self.users && state.row.iter().all(|&x| small(x as f64));
                let same = same && numbers(&state.transform) && numbers(&state.decoder);
                (stream.rows, stream.row) = (state.rows, state.row);
                rows && same && stream.transform.load(state.transform) && stream.decoder.load(state.decoder)
            }
            (None, None) => true,
            _ => false,
        };
        if fits { Ok(()) } else { Err("its running sums are of another length".to_owned()) }
    }
}

#[cfg(test)]
impl SumsRelease {
    /// Returns the standard deviation of a draw in the first epoch.
    pub(super) fn sigma(&self) -> f64 {
        self.grids[0].noise as f64 * self.grids[0].step
    }
}
