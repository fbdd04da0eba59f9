//! What `ata-gp-ucb` and `moma-gp-ucb` share: a posterior over a Nystrom dictionary, and how the dictionary follows the visits
//! [Zhou2021, NystromEmbed; Calandriello2019].
//!
//! A dictionary is drawn after an update from the points visited, each of its plays taken with probability
//! `min(1, q · spread²)`, the spread that of the model before the update; plays of one point merge, so the point is in with
//! probability `1 - (1 - p)^plays`. A draw of nothing takes the point just played. The luck for an update is drawn when its
//! round is proposed, so that a policy saved between the two goes on as if it had not been.

use super::{ExplorationFactor, Initial, PolicyStreams, Problem, Proposal};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::features::nystrom::{self, FixedDictionary};
use privateer_gp::nystrom::is_included;
use privateer_gp::posterior::{ExactPosterior, SketchedPosterior};
use privateer_gp::score::{Basis, Change, GramSource, ScoreModel, lowest_within_tie};
use privateer_numerics::rng::Stream;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// When a dictionary is drawn anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resample {
    /// After every update, as in the paper.
    EveryRound,
    /// Whenever the number of updates has doubled.
    Doubling,
    /// Never.
    Fixed(FixedDictionary),
}

/// Inclusion of a play in units of its spread², where the theorem's would take everything.
const USUAL_INCLUSION: f64 = 2.0;

/// The keys that both policies read.
#[derive(Debug, Clone)]
pub struct Sketch {
    /// What multiplies the posterior standard deviation.
    pub beta: ExplorationFactor,
    /// Regularizer, > 0.
    pub ridge: f64,
    /// Starting updates.
    pub initial: Initial,
    /// Failure probability of the confidence bound.
    pub failure_prob: f64,
    /// Accuracy of the embedding that the theorem's constants suppose.
    pub accuracy: f64,
    /// Inclusion.
    pub q: Option<f64>,
    /// When the dictionary is drawn anew.
    pub resample: Resample,
}

impl Sketch {
    /// Reads `beta`, `failure_prob`, `accuracy`, `ridge`, `q`, `resample` and `initial`.
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "when the dictionary is drawn anew: after every update, when their number has doubled, or never";
        let resample = match args.variant("resample", doc, &["every-round", "doubling", "fixed"], Some("every-round")) {
            Some(variant) => {
                let resample = match variant.kind.as_str() {
                    "doubling" => Resample::Doubling,
                    "fixed" => Resample::Fixed(nystrom::parse(&variant.args)),
                    _ => Resample::EveryRound,
                };
                variant.args.finish();
                resample
            }
            None => Resample::EveryRound,
        };
        args.documents("resample.points", "an array of numbers, for `fixed`: the dictionary as indices of points, from 0");
        args.documents("resample.size", "a whole number >= 1, for `fixed`: the dictionary's size; unless given 20, or all but one of a domain that has no more");
        let q = args.number("q", "a play enters the dictionary with probability min(1, q · spread²)");
        Self {
            beta: ExplorationFactor::parse(args),
            failure_prob: super::gp_policy::failure_prob(args),
            accuracy: args
                .number("accuracy", "error of the embedding that the theorem's constants suppose")
                .above(0.0)
                .below(1.0)
                .or(0.5),
            ridge: args.number("ridge", "regularizer: the noise variance the posterior assumes").above(0.0).at_most(1e12).or(1.0),
            q: q.above(0.0)
                .at_most(1e12)
                .optional("the theorem's 6 rho ln(4 T/failure_prob)/accuracy² with beta `theory`, else 2"),
            resample,
            initial: Initial::parse(args),
        }
    }

    /// Whether dictionaries live for many updates.
    pub fn follows(&self) -> bool {
        self.resample != Resample::EveryRound
    }

    /// `B (1 + 1/sqrt(1 - accuracy))`, the bias term of the theorems' betas.
    pub fn bias(&self, bound: f64) -> f64 {
        bound * (1.0 + 1.0 / libm::sqrt(1.0 - self.accuracy))
    }

    /// `q`: `6 rho ln(4T/failure)/accuracy²`, `rho = (1+accuracy)/(1-accuracy)` [Zhou2021, Theorem 2].
    fn inclusion(&self, rounds: u64) -> f64 {
        let theory = || {
            let rho = (1.0 + self.accuracy) / (1.0 - self.accuracy);
            6.0 * rho * libm::log(4.0 * rounds as f64 / self.failure_prob) / (self.accuracy * self.accuracy)
        };
        self.q.unwrap_or_else(|| if matches!(self.beta, ExplorationFactor::Theory { .. }) { theory() } else { USUAL_INCLUSION })
    }

    /// Made ready for one problem.
    ///
    /// # Errors
    /// If a fixed dictionary does not suit the domain, or f64 does not carry the ridge.
    pub fn prepare(&self, problem: &Problem) -> Result<PreparedSketch, Error> {
        let gram = &problem.shared()?.gram;
        let fixed = match &self.resample {
            Resample::Fixed(dictionary) => Some(dictionary.resolve(gram.as_ref())?),
            _ => None,
        };
        let prior_bound = ExactPosterior::prior_bound(gram.as_ref());
        // V sums up to T rank-one matrices of size k(x,x): of a smaller ridge, rounding would leave fewer than four digits.
        let least = 1e-12 * problem.rounds as f64 * prior_bound;
        if self.ridge < least {
            return Err(Error::input(
                Diagnostic::new(format!("the ridge {:e} is lost in the rounding of sums over {} rounds", self.ridge, problem.rounds))
                    .expected(format!("a `ridge` of at least {least:e}"))
                    .hint("the ridge is the variance of a reward that the posterior assumes: state a larger one, or scale the kernel down"),
            ));
        }
        Ok(PreparedSketch {
            prior_bound,
            gram: Arc::clone(gram),
            inclusion: self.inclusion(problem.rounds),
            fixed,
            keys: self.clone(),
            rounds: problem.rounds,
        })
    }
}

/// What all trials share.
#[derive(Debug, Clone)]
pub struct PreparedSketch {
    /// As they were read.
    pub keys: Sketch,
    /// Horizon.
    pub rounds: u64,
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    inclusion: f64,
    fixed: Option<Vec<u32>>,
}

/// Version of the saved states of both policies.
pub const STATE_VERSION: u64 = 2;

impl PreparedSketch {
    /// The basis of the scores.
    pub fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }

    /// The model of one trial before its first update.
    pub fn prior(&self) -> SketchModel {
        let posterior = SketchedPosterior::new(Arc::clone(&self.gram), self.prior_bound, self.keys.ridge, self.keys.follows());
        let mut model = self.around(posterior, NystromState::default());
        if let Some(dictionary) = &self.fixed {
            model.posterior.set_dictionary(dictionary.clone());
            model.posterior.refresh();
        }
        model
    }

    fn around(&self, posterior: SketchedPosterior, state: NystromState) -> SketchModel {
        SketchModel {
            posterior,
            state,
            resample: self.keys.resample.clone(),
            inclusion: self.inclusion,
            initial: self.keys.initial,
        }
    }

    /// The saved model of policy `name`; its weights are for the caller to set.
    ///
    /// # Errors
    /// If the state is of another policy or version, or does not hang together.
    pub fn restore(&self, name: &str, saved: &serde_json::Value) -> Result<SketchModel, Error> {
        let (found, version) = (saved["policy"].as_str().unwrap_or("none"), saved["version"].as_u64().unwrap_or(0));
        if found != name || version != STATE_VERSION {
            return Err(Error::input(
                Diagnostic::new(format!("the state is of policy `{found}`, version {version}"))
                    .expected(format!("policy `{name}`, version {STATE_VERSION}"))
                    .hint("restore with the spec and the program version that saved it"),
            ));
        }
        let unreadable = |why: String| unreadable(name, &why);
        let state: NystromState =
            serde_json::from_value(saved["sketch"].clone()).map_err(|source| unreadable(source.to_string()))?;
        let (gram, posterior) = (Arc::clone(&self.gram), saved["posterior"].clone());
        let posterior = SketchedPosterior::restore(gram, self.prior_bound, self.keys.ridge, self.keys.follows(), posterior)
            .map_err(|source| unreadable(source.to_string()))?;
        let (updates, distinct) = (posterior.n_observations(), posterior.visits().n_distinct());
        if updates < state.drawn_at || state.luck.iter().any(|u| !u.is_finite()) {
            return Err(unreadable("the draws of its dictionary are not possible".to_owned()));
        }
        if ![0, distinct + 1].contains(&state.luck.len()) {
            return Err(unreadable("it holds luck for another number of points".to_owned()));
        }
        if self.fixed.as_deref().is_some_and(|fixed| fixed != posterior.dictionary()) {
            return Err(unreadable("its dictionary is not the fixed one of the spec".to_owned()));
        }
        Ok(self.around(posterior, state))
    }
}

/// The error of a state that cannot be used.
pub fn unreadable(name: &str, why: &str) -> Error {
    Error::input(Diagnostic::new(format!("the saved state of `{name}` cannot be read: {why}")))
}

/// What is saved beside the posterior.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct NystromState {
    /// Updates when the dictionary was last drawn; 0 before.
    drawn_at: u64,
    /// One uniform number for each visited point and one for a new one, for the coming update; empty if none is under way.
    luck: Vec<f64>,
}

/// A posterior with its dictionary's rule.
#[derive(Debug, Clone)]
pub struct SketchModel {
    /// The posterior.
    pub posterior: SketchedPosterior,
    state: NystromState,
    resample: Resample,
    inclusion: f64,
    initial: Initial,
}

impl SketchModel {
    /// What to play for the coming update: a starting point, or the best score of this beta.
    pub fn propose(&mut self, streams: &mut PolicyStreams, beta: f64) -> Proposal {
        self.prepare_update(&mut streams.own);
        match self.start(self.posterior.n_observations() + 1, &mut streams.start) {
            Some(point) => Proposal::Play(point),
            None => Proposal::Score { beta },
        }
    }

    /// A starting point, if update number `update` (1-based) is one of the first.
    fn start(&self, update: u64, start: &mut Stream) -> Option<usize> {
        self.initial.point(update, self.posterior.basis().n_points(), start)
    }

    /// Whether the coming update draws a dictionary.
    fn is_due(&self) -> bool {
        match self.resample {
            Resample::EveryRound => true,
            Resample::Doubling => 2 * self.state.drawn_at <= self.posterior.n_observations() + 1,
            Resample::Fixed(_) => false,
        }
    }

    /// Draws the luck of the coming update, once.
    fn prepare_update(&mut self, own: &mut Stream) {
        if self.is_due() && self.state.luck.is_empty() {
            self.state.luck = (0..=self.posterior.visits().n_distinct()).map(|_| own.uniform()).collect();
        }
    }

    /// Counts one visit, draws the dictionary if that is due, and refreshes the posterior, whose weights are then to be set.
    /// Returns the point's slot.
    pub fn update(&mut self, point: usize) -> usize {
        let luck = std::mem::take(&mut self.state.luck);
        let due = self.is_due();
        let mut spreads = Vec::new();
        if due {
            spreads = self.posterior.spreads();
            if self.posterior.visits().slot(point).is_none() {
                spreads.push(self.posterior.exact(point).variance);
            }
        }
        let slot = self.posterior.visit(point);
        if due {
            self.state.drawn_at = self.posterior.n_observations();
            let dictionary = self.draw(&spreads, &luck, point);
            self.posterior.set_dictionary(dictionary);
            self.posterior.refresh();
        } else {
            self.posterior.follow(slot);
        }
        slot
    }

    fn draw(&self, spreads: &[f64], luck: &[f64], played: usize) -> Vec<u32> {
        let visits = self.posterior.visits();
        debug_assert!(spreads.len() <= luck.len(), "every visited point needs its luck: propose comes before update");
        let drawn = |slot: usize| {
            let inclusion =
                luck.get(slot).is_some_and(|&u| is_included(self.inclusion * spreads[slot], visits.counts[slot] as f64, u));
            inclusion.then_some(visits.points[slot])
        };
        let mut dictionary: Vec<u32> = (0..spreads.len()).filter_map(drawn).collect();
        if dictionary.is_empty() {
            dictionary.push(played as u32);
        }
        dictionary.sort_unstable();
        dictionary
    }

    /// As [`super::Policy::change`].
    pub fn change(&self) -> Change<'_> {
        self.posterior.change()
    }

    /// As [`super::Policy::screened`].
    pub fn screened(&mut self) {
        self.posterior.screened();
    }

    /// As [`super::Policy::recommend`].
    pub fn recommend(&self) -> Option<usize> {
        let mut played: Vec<u32> = self.posterior.visits().points.clone();
        played.sort_unstable();
        let means: Vec<(usize, f64)> =
            played.into_iter().map(|point| (point as usize, self.posterior.mean(point as usize))).collect();
        lowest_within_tie(&means)
    }

    /// The parts of a saved state that are this model's.
    pub fn save(&self, name: &str) -> serde_json::Value {
        serde_json::json!({
            "policy": name,
            "version": STATE_VERSION,
            "sketch": self.state,
            "posterior": self.posterior.save(),
        })
    }
}
