//! Measurements as the rows of a table, one a job and backend, and the notes below it.

use super::Measured;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Titles of the columns; from the third on they are of numbers.
pub const TITLES: [&str; 9] = [
    "job",
    "backend",
    "CPU µs a trial-round",
    "µs a trial-round",
    "run, CPU s",
    "run, s",
    "peak memory",
    "of arithmetic",
    "of copy",
];

const TOO_SHORT: &str = "too short";

pub fn rows(all: &[Measured]) -> Vec<Vec<String>> {
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{:.2}", share));
    let row = |m: &Measured| {
        vec![
            m.job.clone(),
            if m.software_adapter { format!("{} (software)", m.backend) } else { m.backend.clone() },
            m.marginal_seconds.map_or_else(|| TOO_SHORT.to_owned(), |seconds| digits(1e6 * seconds)),
            m.marginal_wall.map_or_else(|| TOO_SHORT.to_owned(), |seconds| digits(1e6 * seconds)),
            digits(m.cpu_seconds),
            digits(m.best_wall()),
            m.peak_bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{} MB", digits(bytes as f64 / 1e6))),
            share(m.of_arithmetic()),
            share(m.of_copy()),
        ]
    };
    all.iter().map(row).collect()
}

pub fn notes(all: &[Measured]) -> String {
    let mut text = String::new();
    text.push_str(
        "A trial-round: what one more trial costs, by its rounds: CPU time of all threads, and seconds by the clock. Of arithmetic, of\n\
         copy: the rate of an algorithm that scores every point, as a share of what the machine reaches; more than 1 where points\n\
         are skipped.\n",
    );
    if all.iter().any(|m| m.marginal_seconds.is_none() || m.marginal_wall.is_none()) {
        text.push_str("Too short: twice the trials took hardly longer, so the figure would be noise: state more `--trials`.\n");
    }
    let mut said = BTreeSet::new();
    let lines = all.iter().filter(|m| m.work.is_some()).map(|m| format!("{}: {}\n", m.backend, m.ceilings.how));
    text.extend(lines.filter(|line| said.insert(line.clone())));
    for m in all {
        if let Some(figures) = m.on_device() {
            let _ = writeln!(
                text,
                "{}, {}: {} µs of the host's threads and {:.0} bytes up, {:.0} down a trial-round; {:.2} submissions a round, {:.0} trials in each",
                m.job,
                m.backend,
                digits(figures.host_cpu_us),
                figures.bytes_up,
                figures.bytes_down,
                figures.submissions,
                figures.lanes
            );
        }
        if !m.passes.is_empty() {
            let passes: Vec<String> = m.passes.iter().map(|(pass, us)| format!("{pass} {}", digits(*us))).collect();
            let _ = writeln!(text, "{}, {}: µs of the device a trial-round: {}", m.job, m.backend, passes.join(", "));
        }
    }
    for pair in all.windows(2).filter(|pair| pair[0].job == pair[1].job && pair[0].backend == "cpu" && pair[1].backend != "cpu") {
        text.push_str(&compared(&pair[0], &pair[1]));
    }
    text
}

/// Says by the clock how many times as fast the second backend is.
fn compared(first: &Measured, second: &Measured) -> String {
    let names = format!("{} / {}", second.backend.to_uppercase(), first.backend.to_uppercase());
    let further = match (first.marginal_wall, second.marginal_wall) {
        (Some(first), Some(second)) => format!("{:.2} times for further trials", first / second),
        _ => "too short to say for further trials".to_owned(),
    };
    let whole = format!("{:.2}", first.best_wall() / second.best_wall());
    let software = if second.software_adapter { "; a software adapter: says nothing of a card" } else { "" };
    format!("{}: {names}: {whole} times as fast a whole run, {further}{software}\n", first.job)
}

/// Writes three digits.
fn digits(value: f64) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    if value.abs() < 0.1 { format!("{value:.2e}") } else { format!("{value:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        assert_eq!([0.512, 12.34, 999.0, 0.0123].map(digits), ["0.51", "12.3", "999", "1.23e-2"]);
    }
}
