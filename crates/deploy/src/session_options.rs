//! What one states of a new session, and of one that goes on.

use super::options::{BudgetOptions, OccasionOptions};
use privateer_privacy::odometer::DeploymentForm;
use serde::Deserialize;
use std::path::PathBuf;

/// The terms of a new session, as the options of `privateer init` state them.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(deny_unknown_fields)]
pub struct SessionOptions {
    /// Who adds the noise, and so who sees raw rewards: `trusted-curator` (`tell` takes raw rewards) or `data-holder` (`tell --released`
    /// takes what `privateer release` gave out)
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", default_value = "trusted-curator"))]
    pub form: DeploymentForm,
    /// What the rewards measure: answers about one record add up over all columns
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", default_value = "reward"))]
    pub column: String,
    /// Name of the session, where the deployment holds several [default: session]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    #[serde(default)]
    pub session: Option<String>,
    /// Accept a delta of at least one over the number of rows
    #[cfg_attr(feature = "cli", arg(long))]
    pub allow_large_delta: bool,
    /// What one record may spend.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub budget: BudgetOptions,
}

/// Names the session of a file, and states where the points and the shared odometer are, if they have moved.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct SessionChoice {
    /// Name of the session, where the deployment holds several
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub session: Option<String>,
    /// Folder of the points file, if it has moved
    #[cfg_attr(feature = "cli", arg(long, value_name = "DIR"))]
    pub data: Option<PathBuf>,
    /// The shared odometer, if it has moved
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub odometer: Option<PathBuf>,
    /// When and by whom the answer is made.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub occasion: OccasionOptions,
}
