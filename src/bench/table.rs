//! Measurements as a table: one row a job and backend.

use super::Measured;
use std::fmt::Write;

const HEAD: [&str; 8] = ["job", "backend", "µs a trial-round", "run, CPU s", "run, s", "peak memory", "of arithmetic", "of copy"];

/// Returns the table with the notes below it.
#[must_use]
pub fn table(all: &[Measured]) -> String {
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{:.2}", share));
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(all.iter().map(|m| {
        [
            m.job.clone(),
            if m.software_adapter { format!("{} (software)", m.backend) } else { m.backend.clone() },
            digits(1e6 * m.marginal_seconds),
            digits(m.cpu_seconds),
            digits(m.best_wall()),
            m.peak_bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{} MB", digits(bytes as f64 / 1e6))),
            share(m.of_arithmetic()),
            share(m.of_copy()),
        ]
    }));
    let widths: [usize; 8] = std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = if column < 2 { write!(line, "{cell:width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    text.push_str(
        "µs a trial-round: CPU time that one more trial costs, by its rounds. Of arithmetic, of copy: the rate of an algorithm that\n\
         scores every point, as a share of what the machine reaches; more than 1 where points are skipped.\n",
    );
    let mut said = Vec::new();
    for m in all.iter().filter(|m| m.work.is_some()) {
        let line = format!("{}: {}\n", m.backend, m.ceilings.how);
        if !said.contains(&line) {
            text.push_str(&line);
            said.push(line);
        }
    }
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
    text
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
