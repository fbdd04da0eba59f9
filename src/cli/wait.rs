//! Reads how long a command waits for a folder or file that another program holds.

use clap::Args;
use std::time::Duration;

/// Longest wait: ten years.
const MOST: f64 = 3.2e8;

/// Arguments of commands that take a folder or a file for themselves.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait this long for a folder or file that another program holds, then end with exit code 5
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds, default_value = "0")]
    pub wait: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=MOST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected a number of seconds, from 0 to 3.2e8".to_owned()),
    }
}
