//! Defines the interface of contextual policies and what they may know.

use privateer_config::error::Error;
use privateer_config::facts::{FactValue, Facts};
use privateer_numerics::rng::Stream;
use privateer_privacy::interactions::{ContextFacts, InteractionMechanism, InteractionNeed, InteractionSignal};
use privateer_privacy::{Refusal, Released, Request};

/// Runs one algorithm in one trial, on the server's side; its state comes from released signals.
pub trait ContextPolicy: Send {
    /// Chooses the arm for a user with this context.
    ///
    /// Takes `&self`, so that a policy cannot store anything of a context. `scratch` saves an allocation per round; its content
    /// on entry has no meaning.
    ///
    /// # Errors
    /// If a score is not finite: the model has left the range of f64.
    fn choose(&self, context: &[f64], own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error>;

    /// Updates the state with the released signal of the round.
    fn update(&mut self, signal: &Released<InteractionSignal<'_>>);

    /// Returns what it keeps of its model after the last round; stored where the spec says `record = { parameters = true }`.
    ///
    /// # Errors
    /// If the policy is from outside and fails to say it.
    fn parameters(&self) -> Result<Option<FactValue>, Error> {
        Ok(None)
    }
}

type NeedBytes = dyn Fn(&ContextFacts, &Request) -> f64 + Send + Sync;

type Prepare = dyn Fn(&ContextFacts, &Request) -> Result<PreparedContextual, Refusal> + Send + Sync;

/// Describes a contextual policy as read from a spec.
pub struct ContextPolicyPlan {
    /// The kind of the same policy without privacy and the keys that it lacks; `None` if the policy is not private.
    pub open_kind: Option<(&'static str, &'static [&'static str])>,
    /// The bytes that its need takes at most: what it tabulates by rounds.
    pub need_bytes: Box<NeedBytes>,
    /// Calibrates the mechanism and makes what all trials share; refuses a problem, budget or mechanism that does not suit.
    pub prepare: Box<Prepare>,
}

impl ContextPolicyPlan {
    /// Describes a policy by the function that calibrates its mechanism and makes what all trials share.
    pub fn new(prepare: impl Fn(&ContextFacts, &Request) -> Result<PreparedContextual, Refusal> + Send + Sync + 'static) -> Self {
        Self { open_kind: None, need_bytes: Box::new(|_, _| 0.0), prepare: Box::new(prepare) }
    }

    /// Describes a policy that learns from interactions as they are.
    pub fn unprotected(maker: impl Fn(&ContextFacts) -> ContextPolicyMaker + Send + Sync + 'static) -> Self {
        Self::new(move |facts, request| {
            let mechanism = InteractionNeed::Unchanged.calibrated(facts, request)?;
            Ok(PreparedContextual { maker: maker(facts), mechanism: Box::new(mechanism) })
        })
    }
}

/// Holds a prepared policy with the mechanism that it learns from.
pub struct PreparedContextual {
    /// Makes the trials' policies.
    pub maker: ContextPolicyMaker,
    /// Makes the trials' privatizers, and states what they cost.
    pub mechanism: Box<dyn InteractionMechanism>,
}

/// Refuses a mechanism of another kind than the policy needs.
pub(super) fn another_kind() -> Refusal {
    Refusal::new("mechanism", "the mechanism releases something else than this policy learns from", "`auto`")
}

/// Makes one trial's policy.
pub struct ContextPolicyMaker {
    /// Makes a policy before its first round.
    pub make: Box<dyn Fn() -> Box<dyn ContextPolicy> + Send + Sync>,
    /// The chosen constants that the manifest must record, as (name, value).
    pub facts: Facts,
}

impl ContextPolicyMaker {
    /// Makes policies by this function, one for each trial.
    pub fn new<P: ContextPolicy + 'static>(make: impl Fn() -> P + Send + Sync + 'static) -> Self {
        Self { make: Box::new(move || Box::new(make())), facts: Facts::default() }
    }

    /// Sets the constants that the manifest must record.
    #[must_use]
    pub fn stating(self, facts: Facts) -> Self {
        Self { facts, ..self }
    }
}

/// Holds scratch memory for one choice.
#[derive(Debug, Default)]
pub struct Scratch {
    /// A vector, of a length that the policy chooses.
    pub vector: Vec<f64>,
    /// Arms with their scores.
    pub scored: Vec<(usize, f64)>,
}

/// Returns the best of the arms with these scores: the lowest index within the tie tolerance of all decisions.
///
/// # Errors
/// If a score is NaN, or the largest is infinite.
pub(super) fn best_arm(scores: impl Iterator<Item = (usize, f64)>, scored: &mut Vec<(usize, f64)>) -> Result<usize, Error> {
    scored.clear();
    scored.extend(scores);
    privateer_gp::score::lowest_within_tie(scored).ok_or_else(|| Error::Failed {
        problem: "the score of an arm is no finite number".to_owned(),
        hint: "the spec's scales leave the range of f64: check `ridge`, `beta`, `radius`, `clip` and the reward's unit"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::best_arm;

    #[test]
    fn scores_that_are_no_numbers_are_failures() {
        let best_of = |scores: &[f64]| best_arm(scores.iter().copied().enumerate(), &mut Vec::new());
        assert_eq!(best_of(&[1.0, 2.0, 2.0 + 1e-12]).ok(), Some(1));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(best_of(&[0.0, bad]).expect_err("a failure").to_string().contains("finite"));
        }
        assert!(best_of(&[]).is_err());
    }
}
