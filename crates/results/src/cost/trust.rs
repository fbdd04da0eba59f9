//! Who sees raw rewards.

use clap::ValueEnum;
use serde::Deserialize;
use std::fmt;

/// Names who sees raw rewards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Everybody: rewards are not private
    None,
    /// Nobody: noise on each user's device
    #[default]
    Local,
    /// A shuffler, which mixes the answers of a batch of users; each has noise of its own
    Shuffle,
    /// A server, which releases noisy sums of users' rewards
    Joint,
}

impl Trust {
    /// Says whose noise protects rewards.
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "without privacy",
            Self::Local => "with noise on each user's device",
            Self::Shuffle => "with noise on each user's device and a shuffler",
            Self::Joint => "with noise of a trusted server",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}
