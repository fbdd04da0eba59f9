//! Defines one attack on one claim.

use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// Names the neighbouring input that a transcript comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side for which large scores are evidence.
    First,
    /// The other side.
    Second,
}

impl Side {
    /// Returns the first or the second value, by the side.
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

/// States a privacy claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Privacy loss; infinite if nothing is claimed.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure claim.
    pub delta: f64,
}

/// Runs the mechanism once on one side and scores its release.
///
/// All randomness of a simulated mechanism comes from the stream.
pub type Score = Arc<dyn Fn(Side, &mut Stream) -> f64 + Send + Sync>;

/// Runs the mechanism once on one side and writes its release; returns false if it refuses.
pub type Play = Arc<dyn Fn(Side, &mut Stream, &mut [f64]) -> bool + Send + Sync>;

/// States how a transcript is scored.
#[derive(Clone)]
pub enum Attack {
    /// A formula.
    Score(Score),
    /// The linear discriminant, fitted on other replays.
    ///
    /// It detects noise draws that are used twice, whatever their pattern is.
    Discriminant {
        /// Number of values in a transcript.
        width: usize,
        /// Writes one transcript.
        play: Play,
    },
}

/// Describes one attack on one claim.
#[derive(Clone)]
pub struct Case {
    /// Name of the case, and of its random streams.
    pub name: String,
    /// The claim under attack.
    pub claim: Claim,
    /// Source of the claim: a proof, or a paper's lemma.
    pub source: String,
    /// The two neighbouring inputs, in words.
    pub pair: String,
    /// The score, in words.
    pub score: String,
    /// Whether the claim is one of Gaussian privacy, with (epsilon, delta) as one of its points.
    pub gaussian: bool,
    /// Multiplier of the requested replays.
    ///
    /// It exceeds 1 where a replay is cheap and the decisive event is rare.
    pub effort: u64,
    /// The erratum that states that the claim is false; `None` for claims that should hold.
    pub erratum: Option<&'static str>,
    /// The attack.
    pub attack: Attack,
}

impl Case {
    /// Creates a case for a claim that should hold, with `effort` 1 and noise of any law.
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

    /// Creates a case that is scored by a fitted linear discriminant of `width` released numbers.
    ///
    /// Numbers that are not finite count as ±1e100.
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

    /// Marks the claim as one of Gaussian privacy.
    #[must_use]
    pub fn gaussian(self) -> Self {
        Self { gaussian: true, ..self }
    }

    /// Sets the source of the claim.
    #[must_use]
    pub fn source(self, source: impl Into<String>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Sets the multiplier of the replays.
    #[must_use]
    pub fn effort(self, effort: u64) -> Self {
        Self { effort, ..self }
    }

    /// Marks the claim as false.
    #[must_use]
    pub fn erratum(self, erratum: &'static str) -> Self {
        Self { erratum: Some(erratum), ..self }
    }

    /// Returns the same attack on another claim.
    #[must_use]
    pub fn claiming(self, name: impl Into<String>, claim: Claim) -> Self {
        Self { name: name.into(), claim, ..self }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).field("claim", &self.claim).finish_non_exhaustive()
    }
}
