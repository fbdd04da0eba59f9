//! Lists the losses that a spec can name, and reads them.

use super::{Loss, logistic, smoothed_absolute, squared};
use privateer_config::params::{Args, Named, find, names};
use std::sync::Arc;

/// Reads a loss.
pub type LossBuild = fn(&Args<'_>) -> Arc<dyn Loss>;

/// Losses of linear predictions.
pub static LOSSES: &[Named<LossBuild>] = &[
    Named { name: "squared", summary: "(y - z)², its slope clipped (Huber)", paper: "Han2022", build: squared::parse },
    Named { name: "logistic", summary: "ln(1 + e^z) - y z", paper: "", build: logistic::parse },
    Named {
        name: "smoothed-absolute",
        summary: "absolute deviation, rounded at zero",
        paper: "",
        build: smoothed_absolute::parse,
    },
];

/// Reads a loss under `key`, with this kind when absent; `None` if it is wrong (an error is then recorded).
pub fn parse_loss(args: &Args<'_>, key: &'static str, default: &'static str) -> Option<Arc<dyn Loss>> {
    let variant = args.variant(key, "what is minimised", &names(LOSSES), Some(default))?;
    let loss = (find(LOSSES, &variant.kind)?.build)(&variant.args);
    variant.args.finish();
    args.absorb(&variant.args);
    Some(loss)
}
