//! Defines the interface of learners, as read from a spec and as run.

use crate::oco::loss::{LinearModel, Loss};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::gradients::{Constants, Gradient, PricedNoise, Sample, SampleClip, Terms, VectorLaw};
use privateer_privacy::streams::Factorisation;
use privateer_privacy::{
    Budget, Claim, ClaimUnit, Event, Protects, Raw, Refusal, Request, automatic, automatic_for_streams, quote,
};
use std::fmt;
use std::sync::Arc;

/// Learns on a stream, one sample at a time.
pub trait Learner: Send {
    /// Observes the next sample.
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error>;

    /// Returns the current answer: a point of the set, computed from released values alone.
    fn iterate(&self) -> &[f64];
}

/// Learns on the streams of several trials, one sample of each at a time.
///
/// What a trial learns does not depend on the others.
pub trait LearnerBatch: Send {
    /// Observes the next sample of each trial, in order.
    fn observe_all(&mut self, samples: Vec<Raw<Sample<'_>>>, streams: &mut [LearnerStreams]) -> Result<(), Error>;

    /// Returns the current answer of a trial of the batch.
    fn iterate_of(&self, trial: usize) -> &[f64];
}

impl LearnerBatch for Vec<Box<dyn Learner>> {
    fn observe_all(&mut self, samples: Vec<Raw<Sample<'_>>>, streams: &mut [LearnerStreams]) -> Result<(), Error> {
        self.iter_mut().zip(samples).zip(streams).try_for_each(|((learner, sample), streams)| learner.observe(sample, streams))
    }

    fn iterate_of(&self, trial: usize) -> &[f64] {
        self[trial].iterate()
    }
}

#[derive(Debug, Clone)]
pub struct LearnerStreams {
    /// Stream of the privacy noise and of the secret choice of samples.
    pub mechanism: Stream,
    /// Stream of all other draws.
    pub own: Stream,
    /// Released vectors, one after another, if a transcript is kept.
    pub transcript: Option<Vec<f64>>,
}

impl LearnerStreams {
    pub fn new(mechanism: Stream, own: Stream) -> Self {
        Self { mechanism, own, transcript: None }
    }

    pub fn heard(&mut self, released: &[f64]) {
        if let Some(transcript) = &mut self.transcript {
            transcript.extend_from_slice(released);
        }
    }
}

#[derive(Debug, Clone)]
pub struct Setting {
    pub set: Arc<dyn ConstraintSet>,
    pub loss: Arc<dyn Loss>,
    /// Number of samples in the stream.
    pub rounds: u64,
    /// Bound on the dual norm of features.
    pub sample_radius: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientRequest {
    /// Mechanism (`auto`, `none`, `gaussian`, `generalized-gaussian`, `laplace` or `gumbel`), calibration and budget.
    pub spec: Request,
    /// Whether features and gradients are clipped; `None` for the calibration's default.
    pub clips: Option<bool>,
    /// `auto`, or a name of `privacy::quote::FACTORISATIONS`.
    pub factorisation: &'static str,
    /// Smoothness that the as-printed formulas use.
    pub stated_smoothness: f64,
    /// Lipschitz constant that the as-printed formulas use.
    pub stated_lipschitz: f64,
}

type Prepare = dyn Fn(&Setting, &GradientRequest, f64) -> Result<PreparedLearner, Refusal> + Send + Sync;

/// Describes a learner as read from a spec.
pub struct LearnerPlan {
    /// Whether this kind of learner is private; baselines without noise are not.
    pub is_private: bool,
    /// Calibrates the noise and computes its price at one learning rate; refuses a set, a law or a budget that does not suit.
    pub prepare: Box<Prepare>,
}

impl LearnerPlan {
    /// Describes a learner by the function that calibrates it.
    pub fn new(
        is_private: bool,
        prepare: impl Fn(&Setting, &GradientRequest, f64) -> Result<PreparedLearner, Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self { is_private, prepare: Box::new(prepare) }
    }
}

pub type MakeLearners = Box<dyn Fn(usize) -> Box<dyn LearnerBatch> + Send + Sync>;

pub fn each(make: impl Fn() -> Box<dyn Learner> + Send + Sync + 'static) -> MakeLearners {
    Box::new(move |n_trials| Box::new((0..n_trials).map(|_| make()).collect::<Vec<_>>()))
}

/// Holds a calibrated learner; what all trials share is computed once.
pub struct PreparedLearner {
    /// Makes the learners of this many trials before their first samples.
    pub make: MakeLearners,
    pub claim: Claim,
    pub facts: Facts,
}

impl GradientRequest {
    pub fn none() -> Self {
        Self { spec: Request::NONE, clips: None, factorisation: "auto", stated_smoothness: 1.0, stated_lipschitz: 1.0 }
    }

    pub fn clips(&self) -> bool {
        self.clips.unwrap_or(self.spec.calibration.corrects() && self.spec.mechanism != "none")
    }

    pub fn terms(&self, setting: &Setting) -> Result<Terms, Refusal> {
        let budget = self.spec.budget_over(setting.rounds)?;
        self.spec.check_participation(setting.rounds)?;
        let (radius, clips) = (setting.sample_radius, self.clips());
        let lipschitz = if clips { radius * setting.loss.lipschitz() } else { f64::INFINITY };
        if budget.is_some() && clips && lipschitz.is_infinite() {
            let message = format!("the loss ({}) has gradients of any size", setting.loss.words());
            return Err(Refusal::new("clip", message, "a loss with a Lipschitz constant: state its `clip`"));
        }
        let diameter = setting.set.diameter();
        let norm = setting.set.norm();
        Ok(Terms {
            calibration: self.spec.calibration,
            budget,
            participation: self.spec.budget.participation,
            rounds: setting.rounds,
            dimension: setting.set.dimension(),
            norm,
            actual: Constants { diameter, smoothness: radius * radius * setting.loss.smoothness(), lipschitz },
            stated: Constants { diameter, smoothness: self.stated_smoothness, lipschitz: self.stated_lipschitz },
            clip: clips.then(|| SampleClip { norm: norm.dual(), radius }),
        })
    }

    /// Returns the claim of noise with this price, for one sample.
    ///
    /// * `local` — whether every sample receives its own noise before it leaves its user
    pub fn claim<N>(
        &self,
        terms: &Terms,
        mechanism: &'static str,
        priced: PricedNoise<N>,
        local: bool,
        notes: &[&str],
    ) -> (Claim, N) {
        let budget =
            terms.budget.map(|budget| Budget { participation: terms.participation, ..budget.into() }).unwrap_or_default();
        let is_pure = matches!(priced.event, Event::Cap { .. });
        let claim = Claim {
            mechanism,
            calibration: self.spec.calibration,
            unit: ClaimUnit::Sample { clipped: terms.clip.is_some(), local },
            event: priced.event,
            budget: Budget { delta: budget.delta.filter(|_| !is_pure), ..budget },
            noise_formula: priced.noise_formula,
            doubt: None,
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        };
        (claim, priced.noise)
    }

    /// Returns the factorisation of prefix sums over this number of rounds.
    pub fn factorisation(&self, rounds: u64, participation: Participation) -> Result<Arc<dyn Factorisation>, Refusal> {
        let name = automatic_for_streams(self.factorisation, Protects::PrefixSums, self.spec.calibration, participation, rounds);
        quote::factorisation(name, rounds, participation).ok_or_else(|| {
            let expected = quote::FACTORISATIONS.map(|name| format!("`{name}`")).join(", ");
            Refusal::new("factorisation", format!("`{name}` is no factorisation"), expected)
        })
    }

    /// Returns the gradient for privatizers, with the loss's own clip only if the run clips.
    pub fn gradient(&self, setting: &Setting) -> Arc<dyn Gradient> {
        let open = (!self.clips()).then(|| setting.loss.unclipped()).flatten();
        Arc::new(LinearModel { loss: open.unwrap_or_else(|| Arc::clone(&setting.loss)) })
    }

    /// Returns whether vectors receive generalised Gaussian noise.
    pub fn generalized(&self) -> Result<bool, Refusal> {
        let message = match automatic(self.spec.mechanism, Protects::Gradients, self.spec.calibration) {
            "generalized-gaussian" => return Ok(true),
            "gaussian" | "none" => return Ok(false),
            name @ "privunit" => format!("`{name}` releases single vectors, and this learner needs noise on sums or means"),
            other => format!("`{other}` is noise of a choice, and this learner releases vectors"),
        };
        Err(Refusal::new("mechanism", message, "`auto`, `gaussian`, `generalized-gaussian` or `none`"))
    }

    /// Returns the name and the noise of one gradient per sample; `auto` takes the least in the tight calibration.
    pub fn step_noise(&self, terms: &Terms) -> Result<(&'static str, PricedNoise<VectorLaw>), Refusal> {
        const SPHERE: &str = "privunit";
        if self.spec.mechanism == SPHERE {
            return Ok((SPHERE, terms.unit_noise()?));
        }
        let generalized = self.generalized()?;
        let normal = (Self::vector_name(generalized, terms.budget.is_some()), terms.step_noise(generalized)?);
        if self.spec.mechanism != "auto" || !self.spec.calibration.redesigns() {
            return Ok(normal);
        }
        let (sphere, d) = (terms.unit_noise()?, terms.dimension);
        Ok(if sphere.noise.length(d) < normal.1.noise.length(d) { (SPHERE, sphere) } else { normal })
    }

    pub fn vector_name(generalized: bool, private: bool) -> &'static str {
        match (private, generalized) {
            (false, _) => "none",
            (true, true) => "generalized-gaussian",
            (true, false) => "gaussian",
        }
    }
}

/// States how a learning rate is chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Rates {
    Fixed(f64),
    /// The rate of least mean risk on validation data, over separate trials.
    Validated {
        grid: Vec<f64>,
        trials: u64,
    },
}

impl Rates {
    pub fn parse(args: &Args<'_>) -> Self {
        let fixed = args.number("learning_rate", "factor on the learner's steps").above(0.0).at_most(1e6).optional("1");
        let grid = args.numbers(
            "learning_rates",
            "candidates; validation data picks one, the same in every shard; replaces `learning_rate`",
        );
        let trials =
            args.count("validation_trials", "trials on validation data that choose the learning rate").between(1, 10_000).or(5);
        let Some(grid) = grid else {
            return Self::Fixed(fixed.unwrap_or(1.0));
        };
        if args.has("learning_rate") {
            args.reject("learning_rates", "`learning_rate` and `learning_rates` are both given", "one of the two");
        }
        if grid.is_empty() || grid.iter().any(|rate| !(0.0 < *rate && *rate <= 1e6)) {
            args.reject("learning_rates", "a learning rate is not above 0", "at least one number > 0 and <= 1e6");
        }
        Self::Validated { grid, trials }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(rate) => write!(f, "{rate}"),
            Self::Validated { grid, trials } => write!(f, "the best of {grid:?} over {trials} validation trials"),
        }
    }
}
