//! One attack on one claim.

use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// Which of two neighbouring inputs a transcript is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Large scores speak for this one.
    First,
    /// The other.
    Second,
}

impl Side {
    /// One number or the other.
    pub fn pick<T>(self, first: T, second: T) -> T {
        match self {
            Self::First => first,
            Self::Second => second,
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.pick("first", "second")
    }
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Privacy loss; infinite where nothing is promised.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure promise.
    pub delta: f64,
}

/// Runs the mechanism once on one side and scores what it released. All randomness of a simulated mechanism comes from the stream.
pub type Score = Arc<dyn Fn(Side, &mut Stream) -> f64 + Send + Sync>;

/// Runs the mechanism once on one side and writes what it released; false where it refuses.
pub type Play = Arc<dyn Fn(Side, &mut Stream, &mut [f64]) -> bool + Send + Sync>;

/// How a transcript is scored.
#[derive(Clone)]
pub enum Attack {
    /// By a formula.
    Score(Score),
    /// By the linear discriminant that is fitted on other replays: it finds draws that serve twice, whatever their pattern is.
    Discriminant {
        /// Numbers of a transcript.
        width: usize,
        /// Writes a transcript.
        play: Play,
    },
}

/// One attack on one claim.
#[derive(Clone)]
pub struct Case {
    /// Its name: also that of its random streams.
    pub name: String,
    /// What is promised.
    pub claim: Claim,
    /// Where the promise comes from: a proof, or a paper's lemma.
    pub source: String,
    /// The two neighbouring inputs in words.
    pub pair: String,
    /// The score in words.
    pub score: String,
    /// Whether the promise is one of Gaussian privacy, of which (epsilon, delta) is one point: the noise is Gaussian.
    pub gaussian: bool,
    /// Replays for each one asked for: more than 1 where a replay costs next to nothing and the event that counts is rare.
    pub effort: u64,
    /// Which erratum says that the promise is false; `None` for promises that are kept.
    pub erratum: Option<&'static str>,
    /// The attack.
    pub attack: Attack,
}

impl Case {
    /// A case of a promise that should hold, scored `effort` 1, for noise that need not be Gaussian.
    pub fn new(
        name: impl Into<String>,
        claim: Claim,
        pair: impl Into<String>,
        score: impl Into<String>,
        attack: impl Fn(Side, &mut Stream) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            claim,
            source: String::new(),
            pair: pair.into(),
            score: score.into(),
            gaussian: false,
            effort: 1,
            erratum: None,
            attack: Attack::Score(Arc::new(attack)),
        }
    }

    /// A case that is scored by a fitted linear discriminant of `width` released numbers. Numbers that are not finite count as ±1e100.
    pub fn discriminant(
        name: impl Into<String>,
        claim: Claim,
        pair: impl Into<String>,
        width: usize,
        play: impl Fn(Side, &mut Stream, &mut [f64]) -> bool + Send + Sync + 'static,
    ) -> Self {
        let score = "the linear discriminant of all releases, fitted on other replays";
        let attack = Attack::Discriminant { width, play: Arc::new(play) };
        Self { attack, ..Self::new(name, claim, pair, score, |_, _| f64::NAN) }
    }

    /// The promise is one of Gaussian privacy.
    #[must_use]
    pub fn gaussian(mut self) -> Self {
        self.gaussian = true;
        self
    }

    /// Says where the promise comes from.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// Replays more often.
    #[must_use]
    pub fn effort(mut self, effort: u64) -> Self {
        self.effort = effort;
        self
    }

    /// Says that the promise is false.
    #[must_use]
    pub fn erratum(mut self, erratum: &'static str) -> Self {
        self.erratum = Some(erratum);
        self
    }

    /// The same attack on another promise.
    #[must_use]
    pub fn claiming(mut self, name: impl Into<String>, claim: Claim) -> Self {
        (self.name, self.claim) = (name.into(), claim);
        self
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).field("claim", &self.claim).finish_non_exhaustive()
    }
}
