//! Defines the interface of contextual policies and what they may know.

use privateer_config::error::{Diagnostic, Error};
use privateer_numerics::rng::Stream;
use privateer_privacy::interactions::{
    CalibratedInteractions, ContextFacts, InteractionMechanism, InteractionNeed, InteractionSignal,
};
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

    /// Returns the state as plain data with a version, for [`ContextPolicyMaker::restore`].
    fn save(&self) -> serde_json::Value;

    /// Returns what it keeps of its model after the last round; stored where the spec says `record = { parameters = true }`.
    ///
    /// # Errors
    /// If the policy is from outside and fails to say it.
    fn parameters(&self) -> Result<Option<serde_json::Value>, Error> {
        Ok(None)
    }

    /// Returns how many matrices had to be repaired before they could be used.
    fn repairs(&self) -> u64 {
        0
    }
}

/// Describes a contextual policy as read from a spec.
pub trait ContextPolicyPlan: Send + Sync {
    /// States what the policy needs of the privacy of interactions.
    ///
    /// # Errors
    /// If the problem or the request does not suit the policy.
    fn need(&self, facts: &ContextFacts, request: &Request) -> Result<InteractionNeed, Refusal> {
        let _ = (facts, request);
        Ok(InteractionNeed::Unchanged)
    }

    /// Returns the kind of the same policy without privacy and the keys that it lacks; `None` if the policy is not private.
    fn open_kind(&self) -> Option<(&'static str, &'static [&'static str])> {
        None
    }

    /// Returns the bytes that its need takes at most: what it tabulates by rounds.
    fn need_bytes(&self, facts: &ContextFacts, request: &Request) -> f64 {
        let _ = (facts, request);
        0.0
    }

    /// Makes what all trials share, for the mechanism that meets the need.
    ///
    /// # Errors
    /// If the mechanism is not the one that was needed.
    fn maker(&self, facts: &ContextFacts, mechanism: &CalibratedInteractions) -> Result<Box<dyn ContextPolicyMaker>, Refusal>;

    /// Calibrates the mechanism and makes what all trials share.
    ///
    /// # Errors
    /// If the problem, the budget or the mechanism does not suit the policy.
    fn prepare(&self, facts: &ContextFacts, request: &Request) -> Result<PreparedContextual, Refusal> {
        let mechanism = self.need(facts, request)?.calibrated(facts, request)?;
        Ok(PreparedContextual { maker: self.maker(facts, &mechanism)?, mechanism: Box::new(mechanism) })
    }
}

/// Holds a prepared policy with the mechanism that it learns from.
pub struct PreparedContextual {
    /// Makes the trials' policies.
    pub maker: Box<dyn ContextPolicyMaker>,
    /// Makes the trials' privatizers, and states what they cost.
    pub mechanism: Box<dyn InteractionMechanism>,
}

/// Refuses a mechanism of another kind than the policy needs.
pub(super) fn another_kind() -> Refusal {
    Refusal::new("mechanism", "the mechanism releases something else than this policy learns from", "`auto`")
}

/// Makes one trial's policy.
pub trait ContextPolicyMaker: Send + Sync {
    /// Makes a policy before its first round.
    fn make(&self) -> Box<dyn ContextPolicy>;

    /// Returns the chosen constants that the manifest must record, as (name, value).
    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        Vec::new()
    }

    /// Restores a policy from its saved state.
    ///
    /// # Errors
    /// If the state is not one of this policy and version.
    fn restore(&self, state: &serde_json::Value) -> Result<Box<dyn ContextPolicy>, Error>;
}

/// Version of saved states.
const STATE_VERSION: u64 = 1;

/// Wraps a state with its policy name and version.
pub(super) fn saved(policy: &str, state: &impl serde::Serialize) -> serde_json::Value {
    serde_json::json!({ "policy": policy, "version": STATE_VERSION, "state": state })
}

/// Reads a saved state of this policy.
///
/// # Errors
/// If the state is of another policy or version, or has another form.
pub(super) fn restored<T: serde::de::DeserializeOwned>(policy: &str, state: &serde_json::Value) -> Result<T, Error> {
    if state["policy"] != policy || state["version"] != STATE_VERSION {
        return Err(Error::input(
            Diagnostic::new(format!("the state is of policy `{}`, version {}", state["policy"], state["version"]))
                .expected(format!("policy `{policy}`, version {STATE_VERSION}"))
                .hint("restore with the spec and the program version that saved it"),
        ));
    }
    serde_json::from_value(state["state"].clone())
        .map_err(|source| Error::input(Diagnostic::new(format!("the saved state of `{policy}` cannot be read: {source}"))))
}

/// Returns the error for a state whose sizes are not those of the problem.
pub(super) fn misfit(policy: &str) -> Error {
    Error::input(Diagnostic::new(format!("the saved state of `{policy}` is of another number of arms or features")))
}

/// Holds scratch memory for one choice.
#[derive(Debug, Default)]
pub struct Scratch {
    /// A vector, of a length that the policy chooses.
    pub vector: Vec<f64>,
    /// Arms with their scores.
    pub scored: Vec<(usize, f64)>,
}

/// Returns the best of these arms: the lowest index within the tie tolerance of all decisions.
///
/// # Errors
/// If a score is NaN, or the largest is infinite.
pub(super) fn best_arm(scored: &[(usize, f64)]) -> Result<usize, Error> {
    privateer_gp::score::lowest_within_tie(scored).ok_or_else(|| Error::Failed {
        problem: "the score of an arm is no finite number".to_owned(),
        hint: "the spec's scales leave the range of f64: check `ridge`, `beta`, `radius`, `clip` and the reward's unit"
            .to_owned(),
    })
}

/// Returns the exploration factor of the coming round, 1-based.
pub(super) type BetaRule = std::sync::Arc<dyn Fn(u64) -> f64 + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::best_arm;

    #[test]
    fn scores_that_are_no_numbers_are_failures() {
        assert_eq!(best_arm(&[(0, 1.0), (1, 2.0), (2, 2.0 + 1e-12)]).ok(), Some(1));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(best_arm(&[(0, 0.0), (1, bad)]).expect_err("a failure").to_string().contains("finite"));
        }
        assert!(best_arm(&[]).is_err());
    }
}
