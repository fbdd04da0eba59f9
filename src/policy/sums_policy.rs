//! Implements the server of `jdp-gp-ucb`, `local-jdp-gp-ucb` and `jdp-linucb`.
//!
//! It is GP-UCB over features from released sums \[Dubey2021, algorithm 1\]. The server stores released values and the points
//! it has played; the features of a played point go to the privatizer as a plain query. Features are divided by their largest
//! norm r over the domain, so that `|phi| <= 1`; in these coordinates the precision matrix is `V = G~ + (shift + ridge/r²) I`.

use super::noise_spectrum::{NoiseBounds, SpectrumPlan};
use super::parse_features;
use super::release_rule::{Extrapolation, ReleaseRule};
pub use super::sums_state::SumsPolicyKind;
use super::sums_state::{STATE_VERSION, SumsParameters, SumsPolicyState};
use super::{
    ExplorationFactor, FeaturesPlan, Initial, Policy, PolicyMaker, PolicyPlan, PolicyStreams, Problem, Proposal, RandomSource,
    Setting, SharedInputs,
};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::posterior::{Repair, SumsPosterior, SumsUpdate, Unusable};
use privateer_gp::score::{AxisFeatures, Basis, Change, FeatureTable, Moments, ScoreModel, lowest_within_tie};
use privateer_gp::{Plays, Points};
use privateer_privacy::sums::{Epochs, Sums, SumsFacts, SumsNeed};
use privateer_privacy::{Protection, Query, Released, Signal};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Describes a server as read from a spec.
pub struct SumsPlan {
    kind: SumsPolicyKind,
    features: Arc<dyn FeaturesPlan>,
    keys: Keys,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Keys {
    ridge: f64,
    beta: ExplorationFactor,
    failure_prob: f64,
    noise_std: Option<f64>,
    spectrum: SpectrumPlan,
    release: ReleaseRule,
    epochs: Epochs,
    initial: Initial,
}

impl SumsPlan {
    /// Reads the keys; `default` are the features where the spec names none.
    pub fn parse(args: &Args<'_>, kind: SumsPolicyKind, default: Arc<dyn FeaturesPlan>) -> Box<dyn PolicyPlan> {
        let features = if kind.linear { default } else { parse_features(args, "features").unwrap_or(default) };
        let beta = ExplorationFactor::parse(args);
        let failure_prob = super::gp_policy::failure_prob(args);
        let ridge =
            args.number("ridge", "regularizer: the noise variance the posterior assumes").above(0.0).at_most(1e12).or(1.0);
        let noise_std = args.number("noise_std", "rho: sub-Gaussian scale of the observation noise, for beta");
        let noise_std =
            noise_std.above(0.0).at_most(1e12).optional("the noise's standard deviation, else half of the clip range");
        let spectrum = SpectrumPlan::parse(args);
        let release = ReleaseRule::parse(args);
        let epochs = if kind.local {
            Epochs::One
        } else {
            let doc = "for an unknown horizon: epochs ending at rounds 1, 2, 4, 8, …; each starts from nothing (`restart`) or continues";
            match args.word("epochs", doc, &["one", "restart", "carry"], Some("one")) {
                "restart" => Epochs::Restart,
                "carry" => Epochs::Carry,
                _ => Epochs::One,
            }
        };
        if epochs != Epochs::One && release != ReleaseRule::EveryRound {
            args.reject(
                "release",
                "epochs of an unknown horizon release after every round",
                "`every-round`, or `epochs = \"one\"`",
            );
        }
        let keys = Keys { ridge, beta, failure_prob, noise_std, spectrum, release, epochs, initial: Initial::parse(args) };
        Box::new(Self { kind, features, keys })
    }
}

impl PolicyPlan for SumsPlan {
    fn plays_sets(&self) -> bool {
        true
    }

    fn protection(&self) -> Protection {
        if self.kind.local { Protection::LocalSums } else { Protection::Sums }
    }

    fn prepare(&self, problem: &Problem) -> Result<Box<dyn PolicyMaker>, Error> {
        let table = problem.tables.table(self.features.as_ref(), problem)?;
        let axes = self.features.axes(problem);
        let facts = self.features.facts(problem, &table);
        let plays = Plays::new(Arc::clone(&table), axes.clone());
        let norm = plays.largest_norm();
        if !(0.0 < norm && norm.is_finite()) {
            let diagnostic = Diagnostic::new(format!("the features of `{}` are zero or not finite everywhere", self.kind.name));
            return Err(Error::input(diagnostic.hint("check the kernel, or name other `features`")));
        }
        let release = self.keys.release;
        Ok(Box::new(SumsMaker(Arc::new(SumsPolicyShared {
            kind: self.kind,
            keys: self.keys,
            prior_bound: plays.prior_bound(),
            axes,
            facts,
            need: SumsNeed {
                n_features: table.n_features,
                releases: release.most(problem.rounds),
                rounds: problem.rounds,
                epochs: self.keys.epochs,
                linear: self.kind.linear,
            },
            norm,
            features: Arc::clone(&self.features),
            problem: problem.clone(),
            table,
        }))))
    }
}

/// Holds what all trials share.
struct SumsPolicyShared {
    kind: SumsPolicyKind,
    keys: Keys,
    table: Arc<FeatureTable>,
    /// Axes of a product domain.
    axes: Option<Arc<[AxisFeatures]>>,
    /// What the manifest must record of the features.
    facts: Vec<(String, serde_json::Value)>,
    prior_bound: f64,
    /// r: largest norm of a point's features.
    norm: f64,
    need: SumsNeed,
    /// The feature map, for points outside the domain.
    features: Arc<dyn FeaturesPlan>,
    problem: Problem,
}

impl SumsPolicyShared {
    /// Returns the ridge in unit coordinates, `ridge/r²`.
    fn ridge(&self) -> f64 {
        self.keys.ridge / (self.norm * self.norm)
    }
}

struct SumsMaker(Arc<SumsPolicyShared>);

impl SumsMaker {
    fn facts(&self, setting: &Setting) -> Result<SumsFacts, Error> {
        setting.sums.ok_or_else(|| Error::Failed {
            problem: format!("policy `{}` was given a mechanism for single rewards", self.0.kind.name),
            hint: "this is a fault of the program, not of the spec: please report it".to_owned(),
        })
    }

    fn server(&self, setting: &Setting) -> Result<Server, Error> {
        let (shared, facts) = (Arc::clone(&self.0), self.facts(setting)?);
        let reward = &setting.facts;
        let half_range = facts.clip.or(reward.range).map(|(lo, hi)| 0.5 * (hi - lo));
        let known = reward.noise_variance.map(libm::sqrt).or(half_range).or(reward.noise_bound);
        let Some(noise_std) = shared.keys.noise_std.or(known) else {
            let what = format!("beta of `{}` needs the scale of the noise, and this problem's has no variance", shared.kind.name);
            return Err(Error::input(Diagnostic::new(what).hint("state `noise_std` in the policy, or `privacy.clip`")));
        };
        let SumsPolicyShared { ref table, prior_bound, norm, need, .. } = *shared;
        let posterior = SumsPosterior::new(Arc::clone(table), prior_bound, 1.0 / norm, shared.ridge());
        let empty = Sums::empty(need.n_features, if need.epochs == Epochs::One { need.rounds } else { 1 });
        let mut server = Server {
            facts,
            bound: reward.bound,
            noise_std,
            posterior,
            bounds: shared.keys.spectrum.at(&facts, &empty, need.n_features, shared.ridge(), shared.keys.failure_prob),
            items: shared.kind.local.then(|| empty.clone()),
            sums: Arc::new(empty),
            round: 1,
            releases: 0,
            next_release: 1,
            repaired: 0,
            played: BTreeSet::new(),
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
}

impl PolicyMaker for SumsMaker {
    fn basis(&self) -> Option<Basis> {
        Some(Basis::Table(Arc::clone(&self.0.table)))
    }

    fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        self.0.axes.clone()
    }

    fn sums(&self) -> Option<SumsNeed> {
        Some(self.0.need)
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.server(setting)?))
    }

    fn facts(&self, setting: &Setting) -> Vec<(String, serde_json::Value)> {
        let shared = &self.0;
        let mut facts = shared.facts.clone();
        facts.extend([
            ("largest norm of a point's features".to_owned(), shared.norm.into()),
            ("most releases".to_owned(), shared.need.releases.into()),
        ]);
        if let Ok(server) = self.server(setting) {
            facts.push(("noise scale of beta".to_owned(), server.noise_std.into()));
        }
        facts
    }

    fn predict(
        &self,
        setting: &Setting,
        parameters: &serde_json::Value,
        dimension: usize,
        points: &[f64],
    ) -> Result<Vec<Moments>, Error> {
        let shared = &self.0;
        let name = shared.kind.name;
        let refuse = |why: String, hint: &str| Err(Error::input(Diagnostic::new(why).hint(hint)));
        let SharedInputs { points: Some(domain), .. } = shared.problem.shared()? else {
            return refuse(format!("the domain of `{name}` has no coordinates"), "a model over arms knows no other points");
        };
        if dimension != domain.dimension() {
            let why = format!("the points have {dimension} coordinates, and the domain of the run {}", domain.dimension());
            return refuse(why, "give a column for each coordinate, in their order");
        }
        let parameters = serde_json::from_value::<SumsParameters>(parameters.clone()).ok();
        let Some(sums) = parameters.and_then(|parameters| parameters.sums(shared.need.n_features)) else {
            return refuse(
                format!("the parameters are not those of `{name}` over this problem"),
                "use the file as the run wrote it",
            );
        };
        let points = Points::new(dimension, points.to_vec());
        let Some(table) = shared.features.at(&shared.problem, &points)? else {
            return refuse(
                format!("the features of `{name}` are known at the points of its domain alone"),
                "use features of a kernel",
            );
        };
        let mut server = self.server(setting)?;
        server.sums = Arc::new(sums);
        server.refresh();
        if server.broken {
            return refuse("the parameters have left the range of f64".to_owned(), "use the file as the run wrote it");
        }
        let moments = |point: usize| {
            let Moments { mean, variance } = server.posterior.at(table.row(point));
            Moments { mean: server.facts.centre + mean, variance: variance + table.residual[point] }
        };
        Ok((0..table.n_points).map(moments).collect())
    }

    fn restore(&self, setting: &Setting, state: serde_json::Value) -> Result<Box<dyn Policy>, Error> {
        let shared = &self.0;
        let name = shared.kind.name;
        let (found, version) = (state["policy"].as_str().unwrap_or("none").to_owned(), state["version"].as_u64().unwrap_or(0));
        if found != name || version != STATE_VERSION {
            return Err(Error::input(
                Diagnostic::new(format!("the state is of policy `{found}`, version {version}"))
                    .expected(format!("policy `{name}`, version {STATE_VERSION}"))
                    .hint("restore with the spec and the program version that saved it"),
            ));
        }
        let refuse = |why: &str| Err(Error::input(Diagnostic::new(format!("the saved state of `{name}` cannot be read: {why}"))));
        if shared.axes.is_some() {
            return refuse("plays over a product domain are not part of it");
        }
        let state: SumsPolicyState = match serde_json::from_value(state) {
            Ok(state) => state,
            Err(source) => return refuse(&source.to_string()),
        };
        if let Some(why) = state.fault(shared.table.n_points) {
            return refuse(why);
        }
        let Some(sums) = state.released.sums(shared.need.n_features) else { return refuse("its sums are not possible") };
        let items = match (state.items.map(|items| items.sums(shared.need.n_features)), shared.kind.local) {
            (None, false) => None,
            (Some(Some(items)), true) => Some(items),
            _ => return refuse("its items are not possible"),
        };
        let mut server = self.server(setting)?;
        server.items = items;
        (server.round, server.sums, server.releases) = (state.round, Arc::new(sums), state.releases);
        (server.next_release, server.played) = (state.next_release, state.played.into_iter().collect());
        server.refresh();
        server.repaired = state.repaired;
        Ok(Box::new(server))
    }
}

/// Holds the server's state in one trial.
struct Server {
    shared: Arc<SumsPolicyShared>,
    facts: SumsFacts,
    bound: f64,
    noise_std: f64,
    posterior: SumsPosterior,
    bounds: NoiseBounds,
    /// The sums that the model is computed from.
    sums: Arc<Sums>,
    /// The sum of all items, in the local model.
    items: Option<Sums>,
    round: u64,
    releases: u64,
    next_release: u64,
    repaired: u64,
    played: BTreeSet<u32>,
    /// The points played and their features.
    plays: Plays,
    /// Whether a backend still has to apply a change of the model.
    changed: bool,
    /// Whether the factor of the newest sums is still to be computed.
    open: bool,
    /// Whether the sums have left the range of f64.
    broken: bool,
}

impl Server {
    /// Recomputes the model from the sums.
    fn refresh(&mut self) {
        self.open();
        self.factorize();
    }

    /// Computes the factor that is open.
    fn factorize(&mut self) {
        if let Some((posterior, sums)) = self.open_factor() {
            let repaired = posterior.take(sums);
            self.close_factor(repaired);
        }
    }

    /// Bounds the noise of the sums; their factor is left open.
    fn open(&mut self) {
        let SumsPolicyShared { keys, need, .. } = &*self.shared;
        self.bounds = keys.spectrum.at(&self.facts, &self.sums, need.n_features, self.shared.ridge(), keys.failure_prob);
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
            gram: self.sums.parts(m).0,
            diagonal: self.bounds.shift + self.shared.ridge(),
            floor: self.shared.ridge(),
            users: self.sums.users,
            n: m,
        };
        let left = need.releases.saturating_sub(self.releases);
        self.next_release = self.shared.keys.release.next(self.round, need.rounds, left, &sums).unwrap_or(0);
    }

    fn is_due(&self) -> bool {
        self.round == self.next_release
    }
}

impl Policy for Server {
    fn propose(&mut self, _streams: &mut PolicyStreams) -> Proposal {
        let SumsPolicyShared { keys, table, .. } = &*self.shared;
        if keys.initial.is_random(self.round) {
            return Proposal::Random { source: RandomSource::Design, n_points: table.n_points };
        }
        Proposal::Score { beta: self.beta() }
    }

    fn define(&mut self, rows: &[u32]) {
        self.plays.define(rows);
    }

    fn model(&self) -> Option<&dyn ScoreModel> {
        Some(&self.posterior)
    }

    fn change(&self) -> Change<'_> {
        if self.changed { Change::Factor } else { Change::None }
    }

    fn screened(&mut self) {
        self.changed = false;
    }

    fn query(&self, point: usize) -> Query<'_> {
        let norm = &self.shared.norm;
        let row = self.plays.features(point);
        let features = if *norm == 1.0 { row.into() } else { row.iter().map(|x| x / norm).collect::<Vec<f64>>().into() };
        Query { features, release: self.is_due() }
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        self.update_open(point, signal);
        self.factorize();
    }

    fn open_factor(&mut self) -> Option<(&mut SumsPosterior, SumsUpdate<'_>)> {
        let (m, ridge) = (self.shared.need.n_features, self.shared.ridge());
        let (gram, moment) = self.sums.parts(m);
        let repair = if self.bounds.clips {
            Repair::Always { floor: self.bounds.floor + ridge }
        } else {
            Repair::IfNeeded { floor: ridge }
        };
        let sums = SumsUpdate { gram, moment, diagonal: self.bounds.shift + ridge, repair };
        self.open.then_some((&mut self.posterior, sums))
    }

    fn close_factor(&mut self, repaired: Result<bool, Unusable>) {
        match repaired {
            Ok(repaired) => self.repaired += u64::from(repaired),
            Err(Unusable) => self.broken = true,
        }
        (self.open, self.changed) = (false, true);
    }

    fn update_open(&mut self, point: usize, signal: &Released<Signal>) {
        self.played.insert(point as u32);
        match signal.value() {
            Signal::Sums(sums) => {
                self.sums = Arc::clone(sums);
                // Without privacy, servers of the local model receive sums too.
                if self.items.is_some() {
                    self.items = Some(Sums::clone(sums));
                }
                self.take();
            }
            Signal::Item(item) => {
                let due = self.is_due();
                if let Some(items) = &mut self.items {
                    items.entries.iter_mut().zip(&item.entries).for_each(|(sum, entry)| *sum += entry);
                    items.users += item.users;
                    // The noises of different users are independent, so their variances add.
                    items.gram_std = libm::hypot(items.gram_std, item.gram_std);
                    items.moment_std = libm::hypot(items.moment_std, item.moment_std);
                    if due {
                        self.sums = Arc::new(items.clone());
                    }
                }
                if due {
                    self.take();
                }
            }
            Signal::Nothing | Signal::Reward(_) => {}
        }
        self.round += 1;
    }

    fn recommend(&self) -> Option<usize> {
        let means: Vec<(usize, f64)> =
            self.played.iter().map(|&point| (point as usize, self.posterior.mean(self.plays.features(point as usize)))).collect();
        lowest_within_tie(&means)
    }

    fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Returns the last release, or the sum of all items; neither contains the points played.
    fn parameters(&self) -> Option<serde_json::Value> {
        Some(serde_json::json!(SumsParameters::of(self.items.as_ref().unwrap_or(&self.sums))))
    }

    fn told(&self) -> u64 {
        self.round - 1
    }

    fn save(&self) -> serde_json::Value {
        serde_json::json!(SumsPolicyState {
            policy: self.shared.kind.name.to_owned(),
            version: STATE_VERSION,
            round: self.round,
            released: SumsParameters::of(&self.sums),
            items: self.items.as_ref().map(SumsParameters::of),
            releases: self.releases,
            next_release: self.next_release,
            repaired: self.repaired,
            played: self.played.iter().copied().collect(),
        })
    }
}
