//! Holds the privacy request of a spec, the public facts on the reward, and refusals of requests.
//!
//! This file adds no noise: the files of `mechanism` turn a request into a mechanism.

use super::accounting::sensitivity::Participation;
use super::{Budget, Calibration, Delta, Epsilon, Refusal};
use std::sync::Arc;

/// States what is publicly known about a reward `y = f(x) + noise`, in units of the reward.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardFacts {
    /// `B`: `|f| <= B`.
    pub bound: f64,
    /// `R`: `|noise| <= R`; `None` if the noise is unbounded.
    pub noise_bound: Option<f64>,
    /// Hard range of the reward itself, such as (0, 1) for Bernoulli rewards.
    pub range: Option<(f64, f64)>,
    /// Variance of the noise; `None` if infinite or unknown.
    pub noise_variance: Option<f64>,
    /// Rounds of the experiment, with a new user in each.
    pub rounds: u64,
}

/// Holds what a spec asks of privacy: of rewards, sums, interactions, gradients or inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Name of the mechanism, or `auto`, which [`super::automatic`] turns into a name.
    pub mechanism: &'static str,
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// Privacy loss and failure probability per protected unit.
    pub budget: Budget,
    /// Range to which rewards are clipped before any other step, in units of the reward.
    pub clip: Option<(f64, f64)>,
}

impl Request {
    /// Asks for no privacy.
    pub const NONE: Self = Self {
        mechanism: "none",
        calibration: Calibration::DEFAULT,
        budget: Budget { epsilon: None, delta: None, participation: Participation::ONCE },
        clip: None,
    };

    /// Returns the same request of a mechanism with this failure probability; `None` for a pure one.
    pub(crate) fn at(self, delta: Option<Delta>) -> Self {
        Self { budget: Budget { delta, ..self.budget }, ..self }
    }

    /// Returns the privacy loss.
    pub fn epsilon(&self) -> Result<Epsilon, Refusal> {
        self.budget.epsilon.ok_or_else(|| {
            let message = format!("mechanism `{}` needs a privacy loss", self.mechanism);
            Refusal::new("epsilon", message, "a finite number > 0")
                .hint("state `epsilon`, or `mechanism = \"none\"` for a run without privacy")
        })
    }

    /// Returns the privacy loss of one answer of a user who gives several: pure losses add up.
    pub fn answer_epsilon(&self) -> Result<Epsilon, Refusal> {
        let epsilon = self.epsilon()?;
        Ok(self.budget.answer(epsilon))
    }

    /// Checks that the stated participations fit into `rounds`, and that a calibration knows them.
    ///
    /// # Errors
    /// A refusal on `participations` or `calibration`.
    pub fn check_participation(&self, rounds: u64) -> Result<(), Refusal> {
        let Participation { count, separation } = self.budget.participation;
        if self.mechanism == "none" || count <= 1 {
            return Ok(());
        }
        let most = rounds.div_ceil(separation.max(1));
        if most < count {
            let message =
                format!("`participations` is {count}, and {rounds} rounds have room for {most} at least {separation} apart");
            return Err(Refusal::new(
                "participations",
                message,
                format!("a whole number from 1 to {most}, or a smaller `separation`"),
            ));
        }
        if !self.calibration.corrects() {
            let message = "the as-printed noise is for a user who takes part once";
            return Err(Refusal::new("calibration", message, "`calibration = \"tight\"` or `\"corrected\"`"));
        }
        Ok(())
    }

    /// Refuses a mechanism of ours that no paper prints.
    pub(crate) fn refuse_as_printed(&self, printed: &'static str) -> Result<(), Refusal> {
        if self.calibration.corrects() {
            return Ok(());
        }
        let message = format!("the paper prints `{printed}`, not `{}`", self.mechanism);
        Err(Refusal::new("mechanism", message, format!("`{printed}`, `auto`, or `calibration = \"tight\"`")))
    }

    /// Returns the failure probability; `users` is for the hint of the refusal.
    pub fn delta(&self, users: u64) -> Result<Delta, Refusal> {
        self.budget.delta.ok_or_else(|| {
            let message = format!("mechanism `{}` needs a failure probability", self.mechanism);
            Refusal::new("delta", message, "a number > 0 and < 1")
                .hint(format!("state `delta`, at most one over the number of users: {:e} here", 1.0 / users.max(1) as f64))
        })
    }

    /// Returns the budget of a run over `rounds` users, where `delta` defaults to one over their number.
    /// `None` without privacy.
    ///
    /// # Errors
    /// A refusal on `epsilon` if none is stated; on `delta` if none is stated and there is a single user.
    pub fn budget_over(&self, rounds: u64) -> Result<Option<(Epsilon, Delta)>, Refusal> {
        if self.mechanism == "none" {
            return Ok(None);
        }
        let by_rounds = || Delta::try_from(1.0 / rounds.max(1) as f64).ok();
        let delta = match self.budget.delta.or_else(by_rounds) {
            Some(delta) => delta,
            None => self.delta(rounds)?,
        };
        Ok(Some((self.epsilon()?, delta)))
    }

    /// Returns the range of rewards under privacy: as requested, else as publicly known.
    ///
    /// `None` only for the as-printed calibration, which can do without a range.
    ///
    /// # Errors
    /// Neither range is available, and the calibration is not as printed.
    pub fn range(&self, known: Option<(f64, f64)>) -> Result<Option<(f64, f64)>, Refusal> {
        match self.clip.or(known) {
            None if self.calibration.corrects() => Err(Refusal::new(
                "clip",
                "the rewards are not bounded, and privacy needs a range",
                "two numbers [lo, hi] with lo < hi",
            )
            .hint("state `clip`: rewards beyond it are moved to its ends (E31)")),
            range => Ok(range),
        }
    }
}

/// A calibrated mechanism, shared by all trials; or why the request cannot be met.
pub type Calibrated<M> = Result<Arc<M>, Refusal>;
