//! What a demonstration is, and what several of them need.

use privateer::audit::{Settings, Verdict, audit, find};
use privateer_privacy::{Delta, Epsilon};

/// One erratum.
pub struct Erratum {
    /// E1, E2, ….
    pub name: &'static str,
    /// What is wrong, or that nothing is.
    pub about: &'static str,
    /// Shows it.
    pub show: fn() -> Shown,
}

/// Figures, and whether they are as the erratum states.
#[derive(Default)]
pub struct Shown {
    pub lines: Vec<String>,
    pub holds: bool,
}

impl Shown {
    /// So far so good.
    pub fn new() -> Self {
        Self { lines: Vec::new(), holds: true }
    }

    /// One line, and whether what it shows is as stated.
    pub fn line(mut self, text: impl Into<String>, holds: bool) -> Self {
        self.lines.push(text.into());
        self.holds &= holds;
        self
    }
}

/// Attacks what is registered under this name and expects this verdict of all of it.
pub fn attacked(shown: Shown, name: &str, expected: Verdict) -> Shown {
    let settings = Settings { samples: 20_000, ..Settings::default() };
    let cases: Vec<_> = find(name).into_iter().filter_map(|entry| (entry.cases)().ok()).flatten().collect();
    match audit(&cases, settings) {
        Ok(findings) => findings.iter().fold(shown, |shown, found| {
            let claimed = found.epsilon.map_or_else(|| "nothing".to_owned(), |epsilon| format!("{epsilon:.4}"));
            let text = format!(
                "{}: claimed {claimed} at delta {:.2e}, at least {:.3}: {}",
                found.name, found.delta, found.at_least, found.verdict
            );
            shown.line(text, found.verdict == expected)
        }),
        Err(error) => shown.line(error.to_string(), false),
    }
}

/// A budget that is known to be one.
pub fn budget(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
    (Epsilon::try_from(epsilon).expect("a number above 0"), Delta::try_from(delta).expect("a number in (0, 1)"))
}

/// Within a relative distance.
pub fn near(found: f64, stated: f64, tolerance: f64) -> bool {
    (found - stated).abs() <= tolerance * stated.abs()
}
