//! Writes the spec that answers a question: private policies of one trust model over epsilons, with tuned exploration.

use super::problem::CostProblem;
use crate::fit::{quoted, short};
use privateer_config::error::{Diagnostic, Error};
use serde::Deserialize;
use std::fmt::{self, Write as _};

/// Names who sees raw rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Nobody but each user: rewards leave their devices with noise.
    Local,
    /// A server, which releases noisy sums of users' rewards.
    Joint,
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Joint => "joint",
        })
    }
}

/// States what is asked about a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct CostQuestion {
    /// Title of the report.
    pub name: String,
    /// Who sees raw rewards.
    pub trust: Trust,
    /// Privacy budgets, ascending, each > 0.
    pub epsilons: Vec<f64>,
    /// Numbers of users, each with one reward, ascending; more than one only with one privacy budget.
    pub rounds: Vec<u64>,
    /// Number of trials, and of pilot trials of each exploration factor.
    pub trials: [u64; 2],
    /// Seed.
    pub seed: u64,
}

impl CostQuestion {
    /// Refuses budgets and numbers of users that mean nothing.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: String, expected: &str| Err(Error::input(Diagnostic::new(what).expected(expected)));
        if let Some(bad) = self.epsilons.iter().find(|&&epsilon| !(epsilon.is_finite() && 0.0 < epsilon)) {
            return refuse(format!("`--epsilon` holds {bad}"), "privacy budgets: numbers > 0, as in `--epsilon 0.5,1,2`");
        }
        if self.epsilons.windows(2).any(|two| two[1] <= two[0]) {
            return refuse("`--epsilon` does not rise".to_owned(), "numbers in ascending order, each once");
        }
        if self.rounds.windows(2).any(|two| two[1] <= two[0]) {
            return refuse("`--rounds` does not rise".to_owned(), "numbers in ascending order, each once");
        }
        if 1 < self.rounds.len() && 1 < self.epsilons.len() {
            let what = format!("`--rounds` and `--epsilon` hold {} and {} numbers", self.rounds.len(), self.epsilons.len());
            return refuse(what, "several numbers of users with one epsilon, or several epsilons with one number of users");
        }
        Ok(())
    }

    /// Returns the text of the spec.
    pub fn spec(&self, problem: &CostProblem) -> String {
        let [trials, pilots] = self.trials;
        let mut text = format!(
            "# What privacy costs: written by `privateer cost`; `privateer run spec.toml` runs it.\n\nname = {}\n",
            quoted(&self.name)
        );
        let (rounds, most, seed) =
            (self.rounds.first().copied().unwrap_or(1), self.rounds.last().copied().unwrap_or(1), self.seed);
        let mut add = |line: String| {
            // Writing to a text does not fail.
            let _ = writeln!(text, "{line}");
        };
        add(format!("seed = {seed}\nrounds = {rounds}          # users, each with one reward\ntrials = {trials}\n"));
        add("[environment]".to_owned());
        problem.environment.iter().for_each(|line| add(line.clone()));
        let first = self.epsilons.first().copied().unwrap_or(1.0);
        add(format!("\n[privacy]\nepsilon = {first:?}            # swept below"));
        problem.clip.iter().for_each(|[low, high]| add(format!("clip = [{low:?}, {high:?}]   # {}", problem.clip_is)));
        let tuned =
            format!("beta = {{ kind = \"tuned\", pilot = {pilots} }}   # the best of six factors for each cell, by trials apart");
        match self.trust {
            Trust::Local => {
                add("mechanism = \"auto\"        # noise on each user's device, the least known\ncalibration = \"tight\""
                    .to_owned());
                for kind in ["gp-ucb", "tgp-ucb"] {
                    add(format!("\n[[policy]]\nkind = \"{kind}\"\n{tuned}\nridge = {}", problem.ridge));
                }
            }
            Trust::Joint => {
                let delta = 1.0 / (10.0 * most as f64);
                add(format!(
                    "mechanism = \"auto\"        # noise of the server, on sums\ncalibration = \"tight\"\ndelta = {delta:e}"
                ));
                add(format!("\n[[policy]]\nkind = \"batched-gp-ucb\"\n{tuned}\nridge = {}", problem.ridge));
                let of_features = [
                    ("jdp-gp-ucb", "release = { kind = \"count\", factor = 1.4 }"),
                    (
                        "jdp-gp-ucb, clipped",
                        "release = { kind = \"count\", factor = 2.0 }\nrepair = { kind = \"clip\", multiple = 0.1 }",
                    ),
                ];
                // Who trusts the server loses nothing by noise that needs no trust.
                let local = "label = \"tgp-ucb, noise of each user\"";
                add(format!("\n[[policy]]\nkind = \"tgp-ucb\"\n{local}\n{tuned}\nridge = {}", problem.ridge));
                // Arms have no features.
                for (label, more) in of_features.into_iter().filter(|_| !problem.is_arms) {
                    add(format!(
                        "\n[[policy]]\nkind = \"jdp-gp-ucb\"\nlabel = \"{label}\"\nfeatures = {}\n{tuned}\n{more}",
                        problem.features
                    ));
                    problem.noise_variance.iter().for_each(|ridge| add(format!("ridge = {}", short(*ridge))));
                }
            }
        }
        add("\n[sweep.product]".to_owned());
        add(format!("\"privacy.epsilon\" = {:?}", self.epsilons));
        if 1 < self.rounds.len() {
            add(format!("rounds = {:?}", self.rounds));
        }
        text
    }
}
