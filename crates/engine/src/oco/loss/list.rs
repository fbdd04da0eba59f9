//! Lists the losses that a spec can name, and reads them.

use super::{Loss, logistic, smoothed_absolute, squared};
use privateer_config::params::{Args, List, Named};
use std::sync::Arc;

pub static LOSSES: List<Arc<dyn Loss>> = &[
    Named::new("squared", "(y - z)², its slope clipped (Huber)", "Han2022", squared::parse),
    Named::new("logistic", "ln(1 + e^z) - y z", "", logistic::parse),
    Named::new("smoothed-absolute", "absolute deviation, rounded at zero", "", smoothed_absolute::parse),
];

/// Reads the key `loss`, with this kind when absent; `None` if it is wrong (an error is then recorded).
pub fn parse_loss(args: &Args<'_>, default: &'static str) -> Option<Arc<dyn Loss>> {
    args.item(LOSSES, args.variant("loss", "what is minimised", &args.items(LOSSES).names(), Some(default)))
}
