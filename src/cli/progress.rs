//! Shows progress: a bar on a terminal, a plain line every ten seconds elsewhere, nothing with `--quiet`.

use super::output::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Time between two plain lines.
const EVERY: Duration = Duration::from_secs(10);

/// Shows the progress of a run on standard error.
pub struct Progress {
    mode: Mode,
    /// What is counted, as a plural.
    what: &'static str,
    total: u64,
    done: AtomicU64,
    started: Instant,
}

enum Mode {
    Quiet,
    Bar(ProgressBar),
    Lines(Mutex<Instant>),
}

impl Progress {
    pub fn new(total: u64, what: &'static str, quiet: bool) -> Self {
        let mode = if quiet {
            Mode::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
            let template = format!("{{bar:32}} {{percent:>3}} % of {{human_len}} {what}{{pace}}, {{eta}} left");
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let written = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                // Writing to the bar's line cannot fail.
                let _ = write!(out, "{}", pace(state.per_sec()));
            };
            bar.set_style(style.with_key("pace", written));
            Mode::Bar(bar)
        } else {
            Mode::Lines(Mutex::new(Instant::now()))
        };
        Self { mode, what, total, done: AtomicU64::new(0), started: Instant::now() }
    }

    /// Counts `n` more that are done.
    pub fn add(&self, n: u64) {
        let done = self.done.fetch_add(n, Ordering::Relaxed) + n;
        match &self.mode {
            Mode::Quiet => {}
            Mode::Bar(bar) => bar.set_position(done),
            Mode::Lines(last) => {
                // Whoever does not get the lock at once leaves the line to the one who has it.
                if let Ok(mut last) = last.try_lock()
                    && EVERY <= last.elapsed()
                {
                    *last = Instant::now();
                    note(&self.line(done));
                }
            }
        }
    }

    pub fn clear(&self) {
        if let Mode::Bar(bar) = &self.mode {
            bar.finish_and_clear();
        }
    }

    /// Clears the bar and says how fast it went.
    pub fn finish(&self) {
        self.clear();
        let done = self.done.load(Ordering::Relaxed);
        if 0 < done && !matches!(self.mode, Mode::Quiet) {
            let seconds = self.started.elapsed().as_secs_f64();
            let rate = count(done as f64 / seconds.max(1e-9));
            note(&format!("{} {} in {seconds:.1} s ({rate} a second)", count(done as f64), self.what));
        }
    }

    fn line(&self, done: u64) -> String {
        let rate = done as f64 / self.started.elapsed().as_secs_f64().max(1e-9);
        let left = (self.total.saturating_sub(done)) as f64 / rate.max(1e-9);
        format!(
            "{:.0} % of {} {}{}, about {:.0} s left",
            100.0 * done as f64 / self.total.max(1) as f64,
            count(self.total as f64),
            self.what,
            pace(rate),
            left
        )
    }
}

/// Shows progress over things whose number is known when the first of them is done.
pub struct Meter {
    what: &'static str,
    quiet: bool,
    progress: OnceLock<Progress>,
}

impl Meter {
    /// Waits for the first of `what`, a plural.
    pub fn new(what: &'static str, quiet: bool) -> Self {
        Self { what, quiet, progress: OnceLock::new() }
    }

    /// Counts one more of `total`.
    pub fn each(&self, total: u64) {
        self.progress.get_or_init(|| Progress::new(total, self.what, self.quiet)).add(1);
    }

    pub fn clear(&self) {
        if let Some(progress) = self.progress.get() {
            progress.clear();
        }
    }
}

/// Clears the bar, so that an error stands on a line of its own.
impl Drop for Meter {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Does a piece of work that counts what it has done, `what` in the plural, and shows its progress.
pub fn metered<T>(what: &'static str, work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T) -> T {
    let meter = Meter::new(what, false);
    work(&|total| meter.each(total))
}

/// Returns how many are done in a second, after a comma; nothing where so few say less than the time left.
fn pace(rate: f64) -> String {
    if rate < 10.0 { String::new() } else { format!(", {} a second", count(rate)) }
}

/// Returns a count with three digits and a unit.
pub fn count(value: f64) -> String {
    for (unit, size) in [("G", 1e9), ("M", 1e6), ("k", 1e3)] {
        if size <= value {
            let scaled = value / size;
            let n_decimals = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
            let text = format!("{scaled:.n_decimals$}");
            let text = if n_decimals == 0 { &text } else { text.trim_end_matches('0').trim_end_matches('.') };
            return format!("{text} {unit}");
        }
    }
    format!("{value:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_three_digits() {
        let shown = [5.0, 999.0, 1000.0, 1234.0, 9600.0, 14_038.0, 999_600.0, 1.2345e6].map(count);
        assert_eq!(shown, ["5", "999", "1 k", "1.23 k", "9.6 k", "14 k", "1000 k", "1.23 M"]);
    }
}
