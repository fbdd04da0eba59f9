//! Says whether a privacy claim holds, as a text that a ledger carries.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Says whether a result's privacy claim is true.
/// It is stored as the text that [`std::fmt::Display`] writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Guarantee {
    /// The delivered loss is at most the claimed loss.
    Holds,
    /// The claim is false.
    NoGuarantee {
        /// Why the claim is false.
        reason: String,
        /// The erratum of `docs/privacy.md` that explains it, such as `E3`.
        erratum: String,
    },
    /// The mechanism makes no privacy claim.
    NotPrivate,
    /// The author of foreign code claims it, and nobody here has verified it.
    Unverified {
        /// Name of the mechanism.
        claimed_by: String,
        /// Where its proof can be read.
        proof: String,
    },
}

const NO_GUARANTEE: &str = "no guarantee: ";
const CLAIMED_BY: &str = "claimed by ";
const NOT_VERIFIED: &str = ", not verified (";

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds => f.write_str("holds"),
            Self::NoGuarantee { reason, erratum } => write!(f, "{NO_GUARANTEE}{reason} ({erratum})"),
            Self::NotPrivate => f.write_str("not private"),
            Self::Unverified { claimed_by, proof } => write!(f, "{CLAIMED_BY}{claimed_by}{NOT_VERIFIED}{proof})"),
        }
    }
}

impl From<Guarantee> for String {
    fn from(guarantee: Guarantee) -> Self {
        guarantee.to_string()
    }
}

impl TryFrom<String> for Guarantee {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "holds" => Ok(Self::Holds),
            "not private" => Ok(Self::NotPrivate),
            other if other.starts_with(CLAIMED_BY) => other[CLAIMED_BY.len()..]
                .strip_suffix(')')
                .and_then(|rest| rest.split_once(NOT_VERIFIED))
                .map(|(claimed_by, proof)| Self::Unverified { claimed_by: claimed_by.to_owned(), proof: proof.to_owned() })
                .ok_or_else(|| format!("`{other}` does not say where the proof can be read")),
            other => other
                .strip_prefix(NO_GUARANTEE)
                .and_then(|rest| rest.strip_suffix(')'))
                .and_then(|rest| rest.rsplit_once(" ("))
                .map(|(reason, erratum)| Self::NoGuarantee { reason: reason.to_owned(), erratum: erratum.to_owned() })
                .ok_or_else(|| {
                    format!("`{other}` is no guarantee: expected `holds`, `not private` or `no guarantee: reason (erratum)`")
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        let doubt = Guarantee::NoGuarantee { reason: "not clipped (at all)".to_owned(), erratum: "E3".to_owned() };
        assert_eq!(doubt.to_string(), "no guarantee: not clipped (at all) (E3)");
        let claimed = Guarantee::Unverified { claimed_by: "mine".to_owned(), proof: "notes (page 3)".to_owned() };
        for guarantee in [Guarantee::Holds, Guarantee::NotPrivate, doubt, claimed] {
            let text = serde_json::to_string(&guarantee).expect("a text");
            assert_eq!(serde_json::from_str::<Guarantee>(&text).expect("the same"), guarantee);
        }
        assert!(Guarantee::try_from("perhaps".to_owned()).is_err());
    }
}
