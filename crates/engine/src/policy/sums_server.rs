//! Runs one trial's server over released sums: its model, its exploration factor and its schedule of releases.

use super::noise_spectrum::{NoiseBounds, SpectrumPlan};
use super::release_rule::{Extrapolation, ReleaseRule};
use super::{
    ExplorationFactor, FeaturesPlan, Initial, Policy, PolicyModel, PolicyStreams, Problem, Proposal, RandomSource, Setting,
};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::{FactValue, Facts};
use privateer_gp::Plays;
use privateer_gp::posterior::{Repair, SumsPosterior, SumsUpdate, Unusable};
use privateer_gp::score::{AxisFeatures, Change, FeatureTable, Moments, ScoreModel, lowest_within_tie};
use privateer_privacy::gram::GramLayout;
use privateer_privacy::sums::{Epochs, Sums, SumsFacts, SumsNeed};
use privateer_privacy::{Query, Released, Signal};
use std::sync::Arc;

/// States the properties in which the policies over private sums differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsPolicyKind {
    pub name: &'static str,
    /// Whether users add their own noise.
    pub local: bool,
    pub linear: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SumsKeys {
    pub(super) ridge: f64,
    pub(super) beta: ExplorationFactor,
    pub(super) failure_prob: f64,
    pub(super) noise_std: Option<f64>,
    pub(super) spectrum: SpectrumPlan,
    pub(super) release: ReleaseRule,
    pub(super) epochs: Epochs,
    pub(super) initial: Initial,
}

pub(super) struct SumsPolicyShared {
    pub(super) kind: SumsPolicyKind,
    pub(super) keys: SumsKeys,
    pub(super) table: Arc<FeatureTable>,
    pub(super) axes: Option<Arc<[AxisFeatures]>>,
    pub(super) facts: Facts,
    pub(super) prior_bound: f64,
    /// r: largest norm of a point's features.
    pub(super) norm: f64,
    pub(super) need: SumsNeed,
    /// The feature map, for points outside the domain.
    pub(super) features: Arc<dyn FeaturesPlan>,
    pub(super) problem: Problem,
}

impl SumsPolicyShared {
    /// Returns the ridge in unit coordinates, `ridge/r²`.
    fn ridge(&self) -> f64 {
        self.keys.ridge / (self.norm * self.norm)
    }
}

pub struct SumsServer {
    shared: Arc<SumsPolicyShared>,
    facts: SumsFacts,
    bound: f64,
    /// Scale of the noise that beta supposes.
    pub(super) noise_std: f64,
    /// Standard deviation of what a mechanism adds to one reward; 0 where sums or items are released.
    reward_std: f64,
    posterior: SumsPosterior,
    bounds: NoiseBounds,
    /// The coming round, 1-based.
    round: u64,
    /// The sums that the model is computed from.
    released: Arc<Sums>,
    /// The sum of all items, where users add their own noise.
    ///
    /// The model takes it over on its schedule.
    items: Option<Sums>,
    releases: u64,
    /// The round at whose end the mechanism is asked for its next release; 0 if no release is left.
    next_release: u64,
    /// Number of rounds in which eigenvalues had to be raised.
    repaired: u64,
    /// Points played, ascending.
    played: Vec<u32>,
    plays: Plays,
    /// Whether a backend still has to apply a change of the model.
    changed: bool,
    /// Whether the factor of the newest sums is still to be computed.
    open: bool,
    /// Whether the sums have left the range of f64.
    broken: bool,
}

impl SumsServer {
    pub(super) fn new(shared: Arc<SumsPolicyShared>, facts: SumsFacts, setting: &Setting) -> Result<Self, Error> {
        let reward = &setting.facts;
        let half_range = facts.clip.or(reward.range).map(|(lo, hi)| 0.5 * (hi - lo));
        let known = reward.noise_variance.map(libm::sqrt).or(half_range).or(reward.noise_bound);
        let released = setting.released;
        let reward_std = libm::sqrt(released.mechanism_variance);
        let added = if matches!(shared.keys.beta, ExplorationFactor::Theory { .. }) {
            released.mechanism_scale.unwrap_or(reward_std)
        } else {
            reward_std
        };
        let Some(noise_std) = shared.keys.noise_std.or(known).map(|own| libm::hypot(own, added)) else {
            let what = format!("beta of `{}` needs the scale of the noise, and this problem's has no variance", shared.kind.name);
            return Diagnostic::new(what).hint("state `noise_std` in the policy, or `privacy.clip`").refuse();
        };
        let SumsPolicyShared { ref table, prior_bound, norm, need, .. } = *shared;
        let posterior = SumsPosterior::new(Arc::clone(table), prior_bound, 1.0 / norm, shared.ridge());
        let empty = Sums::empty(need.n_features, if need.epochs == Epochs::One { need.rounds } else { 1 });
        let mut server = Self {
            facts,
            bound: reward.bound,
            noise_std,
            reward_std,
            posterior,
            bounds: shared.keys.spectrum.at(
                &facts,
                &empty,
                need.n_features,
                (shared.ridge(), reward.bound),
                shared.keys.failure_prob,
            ),
            round: 1,
            items: shared.kind.local.then(|| empty.clone()),
            released: Arc::new(empty),
            releases: 0,
            next_release: 1,
            repaired: 0,
            played: Vec::new(),
            plays: Plays::new(Arc::clone(table), shared.axes.clone()),
            changed: true,
            open: false,
            broken: false,
            shared,
        };
        server.refresh();
        server.repaired = 0;
        Ok(server)
    }

    /// Sets the sums and recomputes the model; returns whether it is finite.
    pub(super) fn set_sums(&mut self, sums: Sums) -> bool {
        self.released = Arc::new(sums);
        self.refresh();
        !self.broken
    }

    /// Returns the moments at these features, without their residual.
    pub(super) fn at(&self, phi: &[f64]) -> Moments {
        let Moments { mean, variance } = self.posterior.at(phi);
        Moments { mean: self.facts.centre + mean, variance }
    }

    fn refresh(&mut self) {
        self.open();
        self.factorize();
    }

    fn factorize(&mut self) {
        if let Some((posterior, sums)) = self.open_factor() {
            let repaired = posterior.take(sums);
            self.close_factor(repaired);
        }
    }

    /// Bounds the noise of the sums; their factor is left open.
    fn open(&mut self) {
        let SumsPolicyShared { keys, need, .. } = &*self.shared;
        let (ridge, n) = (self.shared.ridge(), need.n_features);
        self.bounds = keys.spectrum.at(&self.facts, &self.released, n, (ridge, self.bound), keys.failure_prob);
        self.open = true;
    }

    /// Returns the exploration factor, in units of the posterior standard deviation.
    fn beta(&self) -> f64 {
        if self.broken {
            return f64::NAN;
        }
        let SumsPolicyShared { keys, table, norm, need, .. } = &*self.shared;
        let (ridge, rho, zeta) = (self.shared.ridge(), self.noise_std, keys.failure_prob);
        let NoiseBounds { shift, floor, least, greatest, kappa, below, .. } = self.bounds;
        let m = need.n_features as f64;
        let gain = |least: f64| (self.posterior.log_determinant() - m * libm::log(ridge + least)).max(0.0);
        let theory = || {
            // rho beta^{1/2} [Dubey2021, Theorem 1]; t B eps is the error of the features, relative to k(x, x).
            let error = self.round as f64 * self.bound * table.kernel_error / (norm * norm) / libm::sqrt(below);
            let bias = if self.shared.kind.linear {
                // [ShariffSheffet2018, proposition 4]: the ridge is part of the spectrum.
                self.bound * libm::sqrt(greatest + ridge)
            } else {
                self.bound * libm::sqrt(greatest + rho * rho)
            };
            bias + error + kappa + rho * libm::sqrt(gain(least) + 2.0 * libm::log(2.0 / zeta))
        };
        let order = || self.bound * libm::sqrt(ridge + shift.max(floor)) + rho * libm::sqrt(gain(shift.max(floor)));
        // Both factors multiply |phi| in the norm of V^{-1}; the posterior standard deviation is sqrt(ridge) times that norm.
        let per_deviation = 1.0 / libm::sqrt(ridge);
        keys.beta.value(|| theory() * per_deviation, || order() * per_deviation)
    }

    /// Opens the model with the current sums and schedules the next release.
    fn take(&mut self) {
        self.releases += 1;
        self.open();
        let need = &self.shared.need;
        let m = need.n_features;
        let sums = Extrapolation {
            gram: self.released.parts(m).0,
            diagonal: self.bounds.shift + self.shared.ridge(),
            floor: self.shared.ridge(),
            users: self.released.users,
            n: m,
        };
        let left = need.releases.saturating_sub(self.releases);
        self.next_release = self.shared.keys.release.next(self.round, need.rounds, left, &sums).unwrap_or(0);
    }

    fn is_due(&self) -> bool {
        self.round == self.next_release
    }
}

impl SumsServer {
    /// Updates the state as [`Policy::update`] does, but may leave a factor to be computed with those of other trials.
    ///
    /// The caller must then pass [`SumsServer::open_factor`] to `take_together`, and its result to [`SumsServer::close_factor`],
    /// before any other call.
    pub fn update_open(&mut self, point: usize, signal: &Released<Signal>) {
        if let Err(place) = self.played.binary_search(&(point as u32)) {
            self.played.insert(place, point as u32);
        }
        match signal.value() {
            Signal::Sums(sums) => {
                self.released = Arc::clone(sums);
                // Without privacy, servers of the local model receive sums too.
                if self.items.is_some() {
                    self.items = Some(Sums::clone(sums));
                }
                self.take();
            }
            Signal::Item(item) => self.add(item),
            // The point follows from what was released before: its features need no noise.
            Signal::Reward(reward) => {
                let SumsNeed { n_features, rounds, .. } = self.shared.need;
                let mut item = Sums { users: 1, moment_std: self.reward_std, ..Sums::empty(n_features, rounds) };
                GramLayout::single(n_features).add(&mut item.entries, 0, &self.query(point).features, *reward);
                self.add(&item);
            }
            Signal::Nothing | Signal::Choice(_) => {}
        }
        self.round += 1;
    }

    /// Adds a user's item; the model takes the sum over where its schedule says so.
    fn add(&mut self, item: &Sums) {
        let due = self.is_due();
        if let Some(items) = &mut self.items {
            items.entries.iter_mut().zip(&item.entries).for_each(|(sum, entry)| *sum += entry);
            items.users += item.users;
            // The noises of different users are independent, so their variances add.
            items.gram_std = libm::hypot(items.gram_std, item.gram_std);
            items.moment_std = libm::hypot(items.moment_std, item.moment_std);
            if due {
                self.released = Arc::new(items.clone());
            }
        }
        if due {
            self.take();
        }
    }

    /// Returns the model whose factor is left to be computed, and the sums that it is computed from.
    pub fn open_factor(&mut self) -> Option<(&mut SumsPosterior, SumsUpdate<'_>)> {
        let (m, ridge) = (self.shared.need.n_features, self.shared.ridge());
        let (gram, moment) = self.released.parts(m);
        let always = self.bounds.clips;
        let repair = Repair { always, floor: if always { self.bounds.floor + ridge } else { ridge } };
        let sums = SumsUpdate { gram, moment, diagonal: self.bounds.shift + ridge, repair };
        self.open.then_some((&mut self.posterior, sums))
    }

    /// Takes whether the computed factor was repaired.
    pub fn close_factor(&mut self, repaired: Result<bool, Unusable>) {
        match repaired {
            Ok(repaired) => self.repaired += u64::from(repaired),
            Err(Unusable) => self.broken = true,
        }
        (self.open, self.changed) = (false, true);
    }

    /// Returns the number of rounds in which noise left the model indefinite and it was repaired; 0 where eigenvalues are always raised.
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Returns the last release, or the sum of all items: with rewards released alone, sums over the points played, which all know.
    ///
    /// It is the part of the model that may be published, enough for [`super::PolicyMaker::predict`].
    pub fn parameters(&self) -> FactValue {
        FactValue::of(self.items.as_ref().unwrap_or(&self.released))
    }
}

impl PolicyModel for SumsServer {
    fn scored(&self) -> (&dyn ScoreModel, Change<'_>) {
        (&self.posterior, if self.changed { Change::Factor } else { Change::None })
    }

    fn screened(&mut self) {
        self.changed = false;
    }

    fn define(&mut self, rows: &[u32]) {
        self.plays.define(rows);
    }
}

impl Policy for SumsServer {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        let SumsPolicyShared { keys, table, .. } = &*self.shared;
        if keys.initial.is_random(self.round) {
            return Proposal::Random { source: RandomSource::Design, n_points: table.n_points };
        }
        Proposal::Score { beta: self.beta() }
    }

    fn query(&self, point: usize) -> Query<'_> {
        let norm = &self.shared.norm;
        let row = self.plays.features(point);
        let features = if *norm == 1.0 { row } else { row.iter().map(|x| x / norm).collect::<Vec<f64>>().into() };
        Query { features, release: self.is_due() }
    }

    fn model(&mut self) -> Option<&mut dyn PolicyModel> {
        Some(self)
    }

    fn server(&mut self) -> Option<&mut SumsServer> {
        Some(self)
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        self.update_open(point, signal);
        self.factorize();
    }

    fn recommend(&self) -> Option<usize> {
        let mean = |point: usize| (point, self.posterior.mean(&self.plays.features(point)));
        let means: Vec<(usize, f64)> = self.played.iter().map(|&point| mean(point as usize)).collect();
        lowest_within_tie(&means)
    }
}
