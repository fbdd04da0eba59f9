//! Tells the caller of a run what it should know of the settings, and of the choices of screens.

use super::{Notice, RunObserver, RunOptions};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_engine::engine::{CellInfo, grouped_warnings};
use privateer_engine::spec::Sweep;

/// Reports settings that mislead, before anything is simulated.
pub(super) fn before(sweep: &Sweep, cells: &[CellInfo], options: &RunOptions, observer: &dyn RunObserver) -> Result<(), Error> {
    let found = grouped_warnings(cells.iter().map(|cell| (|| cell.label(), cell.warnings.as_slice())));
    if options.strict {
        found.refuse(&sweep.accepted)?;
    }
    if !found.lines.is_empty() {
        observer.notice(Notice::Misleading { lines: &found.lines });
    }
    Ok(())
}

/// Reports a device without work, scores that left their error band, and the comparison of choices.
pub(super) fn after(counters: &Counters, has_device: bool, observer: &dyn RunObserver) {
    if has_device && counters.lanes == 0 {
        observer.notice(Notice::DeviceUnused);
    }
    if 0 < counters.violations {
        observer.notice(Notice::BandViolations { n_points: counters.violations });
    }
    if 0 < counters.verified {
        let Counters { verified, wrong, ties, .. } = *counters;
        observer.notice(Notice::Verified { choices: verified, wrong, ties });
    }
}
