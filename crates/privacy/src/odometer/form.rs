//! Where noise is added in a deployment, and so who sees raw values.

use crate::{Adversary, Guarantee, Ledger, Provenance};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Who adds noise to a value, and so who sees it raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeploymentForm {
    /// The data holder adds the noise (`privateer release`); a session takes released values alone (`tell --released`).
    DataHolder,
    /// Raw values are told, and the session adds the noise: whoever runs it is trusted with them.
    TrustedCurator,
}

impl DeploymentForm {
    /// The names on the command line.
    pub const NAMES: [&'static str; 2] = ["data-holder", "trusted-curator"];

    /// Who sees what, in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::DataHolder => {
                "the data holder adds the noise and this session takes released values alone: it checks what they state, and cannot \
                 verify that the noise was added"
            }
            Self::TrustedCurator => {
                "trusted curator: raw values are told to this session, which adds the noise; whoever runs `tell` sees them and is trusted"
            }
        }
    }

    /// Makes the ledger of a simulated mechanism that of one released answer in this form.
    pub fn state_in(self, ledger: &mut Ledger) {
        // Fresh exact noise takes the place of the simulation's.
        ledger.provenance = Provenance::Released;
        if ledger.guarantee == Guarantee::NotPrivate {
            return;
        }
        // In no form is the user alone with the raw value: no local model.
        if ledger.threat_model.adversary == Adversary::Server {
            ledger.threat_model.adversary = match self {
                Self::DataHolder => Adversary::Recipient,
                Self::TrustedCurator => Adversary::Observer,
            };
        }
        ledger.notes.push(self.words().to_owned());
        ledger.notes.push(
            "clip, bounds, kernel and scales are public on the word of whoever stated them: none may come from the protected values (E19)"
                .to_owned(),
        );
        ledger.notes.push("the loss is that of one answer: a record that is asked for again spends it again (E5)".to_owned());
        ledger.state_per_answer();
    }
}

impl fmt::Display for DeploymentForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for DeploymentForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::DataHolder, Self::TrustedCurator].into_iter().find(|form| form.to_string() == text);
        known.ok_or_else(|| format!("`{text}` is not a form, expected one of {}", Self::NAMES.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_variants() {
        for form in [DeploymentForm::DataHolder, DeploymentForm::TrustedCurator] {
            assert_eq!(form.to_string().parse(), Ok(form));
            assert_eq!(serde_json::to_value(form).expect("a name"), form.to_string());
        }
    }
}
