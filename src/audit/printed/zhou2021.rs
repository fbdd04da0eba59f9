//! Zhou and Tan: Laplace noise without a clip.

use crate::audit::{Case, rewards};
use privateer_config::error::Error;
use privateer_privacy::Calibration;
use privateer_privacy::mechanism::laplace;

/// E3: unbounded noise, R from a bound that holds with high probability, nothing is clipped. The registered mechanism, as
/// printed.
///
/// # Errors
/// None but a fault of the mechanism.
pub fn e3() -> Result<Vec<Case>, Error> {
    let mechanism = rewards::built(&laplace::ENTRY, Calibration::AsPrinted, 1.0, false)?;
    let case = rewards::of_ends("laplace, printed, not clipped".to_owned(), &mechanism, (10.0, 0.0), "ten times B + R");
    Ok(vec![case.erratum("E3").source("Zhou2021, section on unbounded noise")])
}
