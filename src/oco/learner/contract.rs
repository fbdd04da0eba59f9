//! What a learner is, as read from a spec and as it runs.

use crate::oco::loss::{LinearModel, Loss};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{Constants, Gradient, Sample, SampleClip, Terms};
use privateer_privacy::{Calibration, Delta, Epsilon, Event, Raw, Refusal};
use std::fmt;
use std::sync::Arc;

/// A learner on a stream: one sample at a time.
pub trait Learner: Send {
    /// Takes the next sample.
    ///
    /// # Errors
    /// More samples than the noise was calibrated for.
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error>;

    /// What it would answer now: a point of the set, made of released values alone.
    fn iterate(&self) -> &[f64];
}

/// A learner's randomness.
#[derive(Debug, Clone)]
pub struct LearnerStreams {
    /// Privacy noise, and which samples are drawn in secret.
    pub mechanism: Stream,
    /// Everything else.
    pub own: Stream,
    /// What was released, one vector after another, where somebody keeps it.
    pub transcript: Option<Vec<f64>>,
}

impl LearnerStreams {
    /// Streams of a run that nobody listens to.
    #[must_use]
    pub fn new(mechanism: Stream, own: Stream) -> Self {
        Self { mechanism, own, transcript: None }
    }

    /// Keeps a released vector where somebody asked for it.
    pub fn heard(&mut self, released: &[f64]) {
        if let Some(transcript) = &mut self.transcript {
            transcript.extend_from_slice(released);
        }
    }
}

/// The problem as a learner sees it.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Where parameters live.
    pub set: Arc<dyn ConstraintSet>,
    /// What is minimised.
    pub loss: Arc<dyn Loss>,
    /// Samples that will come.
    pub rounds: u64,
    /// Bound on the dual norm of features.
    pub sample_radius: f64,
}

/// What a spec asks of a learner's noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// `auto`, `none`, `gaussian`, `generalized-gaussian`, `laplace` or `gumbel`.
    pub mechanism: &'static str,
    /// Which calibration.
    pub calibration: Calibration,
    /// Privacy loss; `None` where the mechanism is none.
    pub epsilon: Option<f64>,
    /// Failure probability; `None` takes one over the number of samples.
    pub delta: Option<f64>,
    /// Whether features and gradients are clipped; `None` lets the calibration say.
    pub clip: Option<bool>,
    /// `auto`, or a name of `privacy::quote::FACTORISATIONS`.
    pub factorisation: &'static str,
    /// Smoothness that the printed formulas are given.
    pub stated_smoothness: f64,
    /// Lipschitz constant that the printed formulas are given.
    pub stated_lipschitz: f64,
}

/// A learner as read from a spec.
pub trait LearnerPlan: Send + Sync {
    /// Whether it is private by its kind; baselines without noise are not.
    fn is_private(&self) -> bool;

    /// Calibrates and prices at one learning rate.
    ///
    /// # Errors
    /// A set, law or budget that does not suit.
    fn prepare(&self, setting: &Setting, request: &Request, learning_rate: f64) -> Result<Box<dyn LearnerMaker>, Refusal>;
}

/// Makes learners of one calibration; what all trials share is computed once.
pub trait LearnerMaker: Send + Sync {
    /// A learner before its first sample.
    fn make(&self) -> Box<dyn Learner>;

    /// What was decided, with its price.
    fn made(&self) -> &LearnerCalibration;
}

/// A calibration as a ledger and the manifest tell it.
#[derive(Debug, Clone)]
pub struct LearnerCalibration {
    /// Name of the noise.
    pub mechanism: &'static str,
    /// What is done to the stream.
    pub event: Event,
    /// The formula that set the noise.
    pub noise_formula: String,
    /// Whether features and gradients are clipped.
    pub clipped: bool,
    /// Whether every sample has noise of its own, added before it leaves its user.
    pub local: bool,
    /// What else a reader must know.
    pub notes: Vec<String>,
    /// Numbers for the manifest.
    pub facts: Vec<(String, serde_json::Value)>,
}

impl Request {
    /// A request without noise.
    #[must_use]
    pub fn none() -> Self {
        Self {
            mechanism: "none",
            calibration: Calibration::Tight,
            epsilon: None,
            delta: None,
            clip: None,
            factorisation: "auto",
            stated_smoothness: 1.0,
            stated_lipschitz: 1.0,
        }
    }

    /// The budget; `None` without noise.
    ///
    /// # Errors
    /// A missing or bad number.
    pub fn budget(&self, rounds: u64) -> Result<Option<(Epsilon, Delta)>, Refusal> {
        if self.mechanism == "none" {
            return Ok(None);
        }
        let expected = "a finite number > 0";
        let Some(epsilon) = self.epsilon else {
            return Err(Refusal::new("epsilon", "a private learner needs a privacy loss", expected)
                .hint("state `epsilon`, or `mechanism = \"none\"` for a run without privacy"));
        };
        let epsilon =
            Epsilon::try_from(epsilon).map_err(|bad| Refusal::new("epsilon", format!("`epsilon` is {}", bad.0), expected))?;
        let delta = self.delta.unwrap_or(1.0 / rounds as f64);
        let delta = Delta::try_from(delta).map_err(|bad| {
            Refusal::new("delta", format!("`delta` is {}", bad.0), "a number > 0 and < 1")
                .hint("without `delta` it is one over the number of rounds")
        })?;
        Ok(Some((epsilon, delta)))
    }

    /// Whether the run clips.
    #[must_use]
    pub fn clips(&self) -> bool {
        self.clip.unwrap_or(self.calibration != Calibration::AsPrinted && self.mechanism != "none")
    }

    /// The calibration's terms over a setting.
    ///
    /// # Errors
    /// As [`Request::budget`], or a loss whose gradients are unbounded.
    pub fn terms(&self, setting: &Setting) -> Result<Terms, Refusal> {
        let budget = self.budget(setting.rounds)?;
        let (radius, clips) = (setting.sample_radius, self.clips());
        let lipschitz = if clips { radius * setting.loss.lipschitz() } else { f64::INFINITY };
        if budget.is_some() && clips && lipschitz.is_infinite() {
            let message = format!("the loss ({}) has gradients of any size", setting.loss.words());
            return Err(Refusal::new("clip", message, "a loss with a Lipschitz constant: state its `clip`"));
        }
        let diameter = setting.set.diameter();
        let norm = setting.set.norm();
        Ok(Terms {
            calibration: self.calibration,
            budget,
            rounds: setting.rounds,
            dimension: setting.set.dimension(),
            norm,
            actual: Constants { diameter, smoothness: radius * radius * setting.loss.smoothness(), lipschitz },
            stated: Constants { diameter, smoothness: self.stated_smoothness, lipschitz: self.stated_lipschitz },
            clip: clips.then(|| SampleClip { norm: norm.dual(), radius }),
        })
    }

    /// The gradient that privatizers compute: with the loss's own clip only where the run clips.
    #[must_use]
    pub fn gradient(&self, setting: &Setting) -> Arc<dyn Gradient> {
        let open = (!self.clips()).then(|| setting.loss.unclipped()).flatten();
        Arc::new(LinearModel { loss: open.unwrap_or_else(|| Arc::clone(&setting.loss)) })
    }

    /// Whether vectors get generalised Gaussian noise.
    ///
    /// # Errors
    /// A mechanism that is none of vectors.
    pub fn generalized(&self) -> Result<bool, Refusal> {
        match self.mechanism {
            "auto" => Ok(self.calibration != Calibration::Tight),
            "generalized-gaussian" => Ok(true),
            "gaussian" | "none" => Ok(false),
            other => Err(Refusal::new(
                "mechanism",
                format!("`{other}` is noise of a choice, and this learner releases vectors"),
                "`auto`, `gaussian`, `generalized-gaussian` or `none`",
            )),
        }
    }

    /// Name of the noise on vectors.
    #[must_use]
    pub fn vector_name(generalized: bool, private: bool) -> &'static str {
        match (private, generalized) {
            (false, _) => "none",
            (true, true) => "generalized-gaussian",
            (true, false) => "gaussian",
        }
    }
}

/// How a learning rate is found.
#[derive(Debug, Clone, PartialEq)]
pub enum Rates {
    /// As stated.
    Fixed(f64),
    /// The one of least mean risk on validation data, over trials of their own.
    Validated {
        /// Candidates.
        grid: Vec<f64>,
        /// Trials.
        trials: u64,
    },
}

impl Rates {
    /// Reads `learning_rate`, or `learning_rates` and `validation_trials`.
    #[must_use]
    pub fn parse(args: &Args<'_>) -> Self {
        let fixed = args.number("learning_rate", "factor on the learner's steps").above(0.0).at_most(1e6).optional("1");
        let grid = args.numbers(
            "learning_rates",
            "candidates, of which validation data chooses, anew and alike in every shard; in the place of `learning_rate`",
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
