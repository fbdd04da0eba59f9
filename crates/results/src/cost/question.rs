//! Writes the spec that answers a question: private policies of one trust model over epsilons, with tuned exploration.

use super::{CostProblem, Trust};
use crate::fit::{quoted, short};
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::policy::usual_factors_and_zero;
use std::fmt::Write as _;

/// The line of a policy whose batches a shuffler mixes.
pub(super) const SHUFFLED: &str = "privacy = { mechanism = \"batch-shuffle\" }\n";

/// States what is asked about a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct CostQuestion {
    pub name: String,
    /// The command that asks, and what it asks.
    pub asked_by: [&'static str; 2],
    /// Who sees raw rewards.
    pub trust: Trust,
    /// Privacy budgets, ascending, each > 0.
    pub epsilons: Vec<f64>,
    /// Numbers of users, each with one reward, ascending; more than one only with one privacy budget.
    pub rounds: Vec<u64>,
    /// Number of trials, and of pilot trials of each exploration factor.
    pub trials: [u64; 2],
    pub seed: u64,
}

impl CostQuestion {
    /// Refuses budgets and numbers of users that mean nothing.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: String, expected: &str| Diagnostic::new(what).expected(expected).refuse();
        if let Some(bad) = self.epsilons.iter().find(|&&epsilon| !(epsilon.is_finite() && 0.0 < epsilon)) {
            return refuse(format!("`--epsilon` holds {bad}"), "privacy budgets: numbers > 0, as in `--epsilon 0.5,1,2`");
        }
        let rises = [("epsilon", self.epsilons.is_sorted_by(|a, b| a < b)), ("rounds", self.rounds.is_sorted_by(|a, b| a < b))];
        if let Some((name, _)) = rises.into_iter().find(|(_, rises)| !rises) {
            return refuse(format!("`--{name}` does not rise"), "numbers in ascending order, each once");
        }
        if 1 < self.rounds.len() && 1 < self.epsilons.len() {
            let what = format!("`--rounds` and `--epsilon` hold {} and {} numbers", self.rounds.len(), self.epsilons.len());
            return refuse(what, "several numbers of users with one epsilon, or several epsilons with one number of users");
        }
        Ok(())
    }

    /// Returns the question at the middle one of its budgets and of its numbers of users.
    pub(super) fn middle(&self) -> Self {
        let middle = |len: usize| len.saturating_sub(1) / 2;
        Self {
            epsilons: self.epsilons.get(middle(self.epsilons.len())).copied().into_iter().collect(),
            rounds: self.rounds.get(middle(self.rounds.len())).copied().into_iter().collect(),
            ..self.clone()
        }
    }

    /// Returns how a tuned exploration factor is written: private policies may explore nothing too, as their references may, so that a
    /// larger epsilon costs no more.
    pub(super) fn tuned(&self) -> String {
        let (pilots, factors) = (self.trials[1], usual_factors_and_zero().collect::<Vec<_>>());
        format!(
            "# The best factor for each cell, by trials apart.\nbeta = {{ kind = \"tuned\", pilot = {pilots}, factors = {factors:?} }}"
        )
    }

    /// Returns the delta of mechanisms of a server or for a shuffler.
    pub(super) fn delta(&self) -> f64 {
        1.0 / (10.0 * self.rounds.last().copied().unwrap_or(1) as f64)
    }

    /// Returns the tables of policies that answer within seconds, each without its `[[policy]]`.
    pub(super) fn usual_policies(&self, problem: &CostProblem) -> Vec<String> {
        let (tuned, ridge) = (self.tuned(), &problem.ridge);
        if !matches!(self.trust, Trust::Joint | Trust::Shuffle) {
            return ["gp-ucb", "tgp-ucb"].map(|kind| format!("kind = \"{kind}\"\n{tuned}\nridge = {ridge}")).into();
        }
        // Who trusts more loses nothing by noise that needs no trust.
        let local = "label = \"tgp-ucb, noise of each user\"";
        let shuffled = if self.trust == Trust::Shuffle { SHUFFLED } else { "" };
        let mut policies = vec![
            format!("kind = \"batched-gp-ucb\"\n{shuffled}{tuned}\nridge = {ridge}"),
            format!("kind = \"tgp-ucb\"\n{local}\n{tuned}\nridge = {ridge}"),
        ];
        let of_features = [
            ("jdp-gp-ucb", "release = { kind = \"count\", factor = 1.4 }"),
            ("jdp-gp-ucb, clipped", "release = { kind = \"count\", factor = 2.0 }\nrepair = { kind = \"clip\", multiple = 0.1 }"),
        ];
        // Arms have no features, and running sums need a server.
        for (label, more) in of_features.into_iter().filter(|_| !problem.is_arms && self.trust == Trust::Joint) {
            let features = &problem.features;
            let mut policy = format!("kind = \"jdp-gp-ucb\"\nlabel = \"{label}\"\nfeatures = {features}\n{tuned}\n{more}");
            problem.noise_variance.iter().for_each(|ridge| policy += &format!("\nridge = {}", short(*ridge)));
            policies.push(policy);
        }
        policies
    }

    /// Returns the text of the spec that plays these policies.
    pub fn spec(&self, problem: &CostProblem, policies: &[String]) -> String {
        let trials = self.trials[0];
        let [command, asked] = self.asked_by;
        let mut text = format!(
            "# {asked}: written by `privateer {command}`; `privateer run spec.toml` runs it.\n\nname = {}\n",
            quoted(&self.name)
        );
        let (rounds, seed) = (self.rounds.first().copied().unwrap_or(1), self.seed);
        let mut add = |line: String| {
            // Writing to a text does not fail.
            let _ = writeln!(text, "{line}");
        };
        add(format!("seed = {seed}\nrounds = {rounds}          # users, each with one reward\ntrials = {trials}\n"));
        add("[environment]".to_owned());
        problem.environment.iter().for_each(|line| add(line.clone()));
        let is_swept = 1 < self.rounds.len() || 1 < self.epsilons.len() || command == "cost";
        add("\n[privacy]".to_owned());
        if let (Some(first), true) = (self.epsilons.first(), self.trust != Trust::None) {
            add(format!("epsilon = {first:?}{}", if is_swept { "            # swept below" } else { "" }));
            problem.clip.iter().for_each(|[low, high]| add(format!("clip = [{low:?}, {high:?}]   # {}", problem.clip_is)));
        }
        let whose = match self.trust {
            Trust::None => None,
            Trust::Local => Some("noise on each user's device, the least known"),
            Trust::Shuffle => Some("noise on each user's device; a policy that a shuffler serves says so"),
            Trust::Joint => Some("noise of the server, on sums"),
        };
        add(whose.map_or("mechanism = \"none\"".to_owned(), |whose| {
            format!("mechanism = \"auto\"        # {whose}\ncalibration = \"tight\"")
        }));
        if matches!(self.trust, Trust::Shuffle | Trust::Joint) {
            add(format!("delta = {:e}", self.delta()));
        }
        policies.iter().for_each(|policy| add(format!("\n[[policy]]\n{policy}")));
        if is_swept {
            add("\n[sweep.product]".to_owned());
            add(format!("\"privacy.epsilon\" = {:?}", self.epsilons));
            if 1 < self.rounds.len() {
                add(format!("rounds = {:?}", self.rounds));
            }
        }
        text
    }
}
