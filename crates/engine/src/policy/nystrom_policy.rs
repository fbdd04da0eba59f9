//! Provides the Nystrom posterior of `ata-gp-ucb` and `moma-gp-ucb`, and resamples its dictionary.
//!
//! Sources: [Zhou2021, NystromEmbed; Calandriello2019]. A dictionary is drawn after an update from the visited points. Each
//! play is included with probability `p = min(1, q times the posterior variance)`, where the posterior variance is that of the model before the
//! update. Plays of one point merge, so the point is included with probability `1 - (1 - p)^plays`. An empty draw is replaced
//! by the point just played. The random numbers of an update are drawn when its round is proposed.

use super::{ExplorationFactor, Initial, PolicyStreams, Problem, Proposal, RandomSource};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::features::nystrom::{self, FixedDictionary};
use privateer_gp::nystrom::is_included;
use privateer_gp::posterior::{DomainRoot, ExactPosterior, SketchedPosterior};
use privateer_gp::score::{Basis, GramSource, ScoreModel, lowest_within_tie};
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resample {
    /// After every update, as in the paper.
    EveryRound,
    /// Whenever the number of updates has doubled.
    Doubling,
    Fixed(FixedDictionary),
}

/// Default `q` where the exploration factor is not the theorem's.
///
/// The theorem's `q` would include every play.
const USUAL_INCLUSION: f64 = 2.0;

#[derive(Debug, Clone)]
pub struct Sketch {
    pub beta: ExplorationFactor,
    /// Regularizer, > 0.
    pub ridge: f64,
    pub initial: Initial,
    pub failure_prob: f64,
    /// Accuracy of the embedding that the theorem's constants assume.
    pub accuracy: f64,
    /// Inclusion factor `q`; `None` for the default.
    pub q: Option<f64>,
    pub resample: Resample,
}

impl Sketch {
    pub fn parse(args: &Args<'_>, beta: ExplorationFactor) -> Self {
        let doc = "when the dictionary is drawn again: after every update, when the number of updates has doubled, or never";
        let variant = args.variant("resample", doc, &["every-round", "doubling", "fixed"], Some("every-round"));
        let resample = variant.map_or(Resample::EveryRound, |variant| {
            let resample = match variant.kind.as_str() {
                "doubling" => Resample::Doubling,
                "fixed" => Resample::Fixed(nystrom::parse(&variant.args)),
                _ => Resample::EveryRound,
            };
            variant.args.finish();
            resample
        });
        args.documents("resample.points", "an array of numbers, for `fixed`: the dictionary as indices of points, from 0");
        args.documents("resample.size", "a whole number from 1 to 4294967295, for `fixed`: the dictionary's size; unless given 20, or all but one of a domain that has no more");
        let q = args.number("q", "a play enters the dictionary with probability min(1, q times the posterior variance)");
        Self {
            beta,
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

    /// Returns whether a dictionary serves for more than one update.
    pub fn follows(&self) -> bool {
        self.resample != Resample::EveryRound
    }

    /// Returns `B (1 + 1/sqrt(1 - accuracy))`, the bias term of the theorems' exploration factors.
    pub fn bias(&self, bound: f64) -> f64 {
        bound * (1.0 + 1.0 / libm::sqrt(1.0 - self.accuracy))
    }

    /// Returns `q`, by default `6 rho ln(4T/failure)/accuracy²` [Zhou2021, Theorem 2].
    ///
    /// Here `rho = (1+accuracy)/(1-accuracy)`. A non-theoretical exploration factor uses a constant instead.
    fn inclusion(&self, rounds: u64) -> f64 {
        let theory = || {
            let rho = (1.0 + self.accuracy) / (1.0 - self.accuracy);
            6.0 * rho * libm::log(4.0 * rounds as f64 / self.failure_prob) / (self.accuracy * self.accuracy)
        };
        self.q.unwrap_or_else(|| if matches!(self.beta, ExplorationFactor::Theory { .. }) { theory() } else { USUAL_INCLUSION })
    }

    pub fn prepare(&self, problem: &Problem) -> Result<PreparedSketch, Error> {
        let gram = &problem.shared()?.gram;
        let fixed = match &self.resample {
            Resample::Fixed(dictionary) => Some(dictionary.resolve(gram.as_ref())?),
            _ => None,
        };
        let prior_bound = ExactPosterior::prior_bound(gram.as_ref());
        // V sums up to T rank-one matrices of size k(x,x): below this ridge, rounding would leave fewer than four digits.
        let least = 1e-12 * problem.rounds as f64 * prior_bound;
        if self.ridge < least {
            return Diagnostic::new(format!(
                "the ridge {:e} is lost in the rounding of sums over {} rounds",
                self.ridge, problem.rounds
            ))
            .expected(format!("a `ridge` of at least {least:e}"))
            .hint(
                "the ridge is the variance of a reward that the posterior assumes: state a larger one, or scale the kernel down",
            )
            .refuse();
        }
        Ok(PreparedSketch {
            prior_bound,
            gram: Arc::clone(gram),
            inclusion: self.inclusion(problem.rounds),
            fixed,
            keys: self.clone(),
            rounds: problem.rounds,
            root: None,
        })
    }
}

#[derive(Debug, Clone)]
pub struct PreparedSketch {
    pub keys: Sketch,
    pub rounds: u64,
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    inclusion: f64,
    fixed: Option<Vec<u32>>,
    /// The symmetric root of the domain's covariance, if there is one, once a trial asks for it; for a policy that truncates by
    /// coordinates and draws a dictionary every round.
    root: Option<OnceLock<Option<Arc<DomainRoot>>>>,
}

impl PreparedSketch {
    /// Allows coordinates of the symmetric root, for a policy that truncates by coordinates.
    #[must_use]
    pub fn truncating(self) -> Self {
        let root = (self.keys.resample == Resample::EveryRound).then(OnceLock::new);
        Self { root, ..self }
    }

    /// Returns the root, if the domain has one that reaches this dictionary.
    fn root_reaching(&self, dictionary: &[u32]) -> Option<Arc<DomainRoot>> {
        let root = self.root.as_ref()?.get_or_init(|| DomainRoot::of(self.gram.as_ref()).map(Arc::new));
        root.clone().filter(|root| root.reaches(dictionary))
    }

    pub fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }

    pub fn prior(self: &Arc<Self>) -> SketchModel {
        let posterior = SketchedPosterior::new(Arc::clone(&self.gram), self.prior_bound, self.keys.ridge, self.keys.follows());
        let mut model =
            SketchModel { shared: Arc::clone(self), posterior, drawn_at: 0, uniforms: Vec::new(), wants_symmetric: false };
        if let Some(dictionary) = &self.fixed {
            model.posterior.set_dictionary(dictionary.clone(), None);
            model.posterior.refresh();
        }
        model
    }
}

#[derive(Debug, Clone)]
pub struct SketchModel {
    pub shared: Arc<PreparedSketch>,
    pub posterior: SketchedPosterior,
    /// Number of updates when the dictionary was last drawn; 0 before.
    drawn_at: u64,
    /// Uniform numbers for the coming update, if one is pending; else empty.
    ///
    /// There is one per visited point, and one for a new point.
    uniforms: Vec<f64>,
    /// Whether the next dictionary should have coordinates of the symmetric root.
    pub wants_symmetric: bool,
}

impl SketchModel {
    /// Proposes a starting point, or scoring with this exploration factor, for the coming update.
    pub fn propose(&mut self, streams: &mut PolicyStreams, beta: f64) -> Proposal {
        // The random numbers of the coming update, once.
        if self.is_due() && self.uniforms.is_empty() {
            self.uniforms = (0..=self.posterior.visits().n_distinct()).map(|_| streams.own.uniform()).collect();
        }
        if self.shared.keys.initial.is_random(self.posterior.n_observations() + 1) {
            return Proposal::Random { source: RandomSource::Design, n_points: self.posterior.basis().n_points() };
        }
        Proposal::Score { beta }
    }

    /// Returns whether the coming update draws a dictionary.
    fn is_due(&self) -> bool {
        match self.shared.keys.resample {
            Resample::EveryRound => true,
            Resample::Doubling => 2 * self.drawn_at <= self.posterior.n_observations() + 1,
            Resample::Fixed(_) => false,
        }
    }

    /// Counts one play, draws a dictionary if one is due, and refreshes the posterior.
    ///
    /// Returns the point's slot. The caller must then set the posterior's weights.
    pub fn update(&mut self, point: usize) -> usize {
        let uniforms = std::mem::take(&mut self.uniforms);
        let due = self.is_due();
        let mut variances = Vec::new();
        if due {
            variances = self.posterior.variances();
            if self.posterior.visits().slot(point).is_none() {
                variances.push(self.posterior.exact(point).variance);
            }
        }
        let slot = self.posterior.visit(point);
        if due {
            self.drawn_at = self.posterior.n_observations();
            let dictionary = self.draw(&variances, &uniforms, point);
            let root = if self.wants_symmetric { self.shared.root_reaching(&dictionary) } else { None };
            self.posterior.set_dictionary(dictionary, root);
            self.posterior.refresh();
        } else {
            self.posterior.follow(slot);
        }
        slot
    }

    fn draw(&self, variances: &[f64], uniforms: &[f64], played: usize) -> Vec<u32> {
        let visits = self.posterior.visits();
        debug_assert!(
            variances.len() <= uniforms.len(),
            "every visited point needs its uniform number: propose comes before update"
        );
        let drawn = |slot: usize| {
            let inclusion = uniforms
                .get(slot)
                .is_some_and(|&u| is_included(self.shared.inclusion * variances[slot], visits.counts[slot] as f64, u));
            inclusion.then_some(visits.points[slot])
        };
        let mut dictionary: Vec<u32> = (0..variances.len()).filter_map(drawn).collect();
        if dictionary.is_empty() {
            dictionary.push(played as u32);
        }
        dictionary.sort_unstable();
        dictionary
    }

    /// Returns m, the number of features: 0 before the first update, even with a fixed dictionary.
    pub fn m(&self) -> f64 {
        if self.posterior.n_observations() == 0 { 0.0 } else { self.posterior.m() as f64 }
    }

    pub fn recommend(&self) -> Option<usize> {
        let played = self.posterior.visits().points.iter().map(|&point| point as usize);
        lowest_within_tie(&played.map(|point| (point, self.posterior.mean(point))).collect::<Vec<_>>())
    }
}
