//! Measurements as a table: one block a job, one column a backend.

use super::Measured;
use std::fmt::Write;

/// The text for some measurements; those of one job stand in one row.
#[must_use]
pub fn table(all: &[Measured]) -> String {
    let mut text = String::new();
    let mut rest = all;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|other| other.job == first.job && other.origin == first.origin).count();
        let (block, next) = rest.split_at(same);
        rest = next;
        if !text.is_empty() {
            text.push('\n');
        }
        one(block, &mut text);
    }
    text
}

fn one(block: &[Measured], text: &mut String) {
    let Some(first) = block.first() else { return };
    let job = &first.job;
    let instance = if first.origin == "own" { format!("seed {}", job.seed) } else { format!("instance {}", first.origin) };
    let (threads, repeat) = (first.threads, first.seconds.len());
    let _ = writeln!(
        text,
        "{}  N={} m={} B={} T={}, {instance}, {}, {}",
        job.workload.name(),
        job.points,
        job.features,
        job.trials,
        job.rounds,
        counted(threads, "thread"),
        counted(repeat, "repetition"),
    );
    let rows = rows(block);
    let label = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let width = |column: usize| rows.iter().map(|(_, cells)| cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..block.len()).map(width).collect();
    for (name, cells) in &rows {
        let mut line = format!("  {name:label$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "  {cell:>width$}");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for measured in block {
        if measured.software_adapter {
            let _ = writeln!(text, "  {}: software adapter: correctness only", measured.backend);
        }
        if let Some(ceilings) = &measured.ceilings {
            let _ = writeln!(text, "  {}: ceilings of {}", measured.backend, ceilings.how);
        }
    }
    if 1 < block.len() {
        let agree = block.iter().all(|other| other.actions_crc == first.actions_crc);
        text.push_str(if agree { "  all chose the same points\n" } else { "  THE BACKENDS CHOSE DIFFERENT POINTS\n" });
    }
}

type Row = (&'static str, Vec<String>);

fn rows(block: &[Measured]) -> Vec<Row> {
    let row = |label: &'static str, cell: &dyn Fn(&Measured) -> String| -> Row { (label, block.iter().map(cell).collect()) };
    let share = |part: f64, m: &Measured| {
        let all = m.split.update + m.split.screen + m.split.decide;
        format!("{:.0} %", 100.0 * part / all.max(f64::MIN_POSITIVE))
    };
    let of_ceiling = |rate: f64, ceiling: Option<f64>, unit: &str| match ceiling {
        Some(ceiling) => format!("{} of {} {unit}", scaled(rate), scaled(ceiling)),
        None => format!("{} {unit}", scaled(rate)),
    };
    let mut rows = vec![
        row("backend", &|m| m.backend.clone()),
        row("device", &|m| m.device.clone()),
        row("screen computes in", &|m| m.dtype.to_owned()),
        row("trial-rounds a second, best", &|m| scaled(m.trial_rounds() / m.best_seconds())),
        row("  median", &|m| scaled(m.trial_rounds() / m.median_seconds())),
        row("ms a round", &|m| format!("{:.3}", 1e3 * m.best_seconds() / m.job.rounds as f64)),
        row("time: updates", &|m| share(m.split.update, m)),
        row("  screens", &|m| share(m.split.screen, m)),
        row("  (the first screen)", &|m| share(m.split.first_screen, m)),
        row("  decisions", &|m| share(m.split.decide, m)),
        row("candidates a round: median, p99", &|m| format!("{}, {}", m.candidates_median, m.candidates_p99)),
        row("rounds decided by the tie rule", &|m| m.n_ties.to_string()),
        row("scans in f64", &|m| m.counters.scans.to_string()),
        row("screens rebuilt", &|m| m.counters.rebuilds.to_string()),
        row("band violations", &|m| m.counters.violations.to_string()),
        row("model flop a round", &|m| scaled(m.model_flops())),
        row("  flop/s, of the product's", &|m| of_ceiling(m.flops_per_second(), m.flops_ceiling(), "flop/s")),
        row("model bytes a round", &|m| scaled(m.model_bytes())),
        row("  bytes/s, of the copy's", &|m| {
            of_ceiling(m.bytes_per_second(), m.ceilings.as_ref().map(|ceilings| ceilings.copy_bytes), "B/s")
        }),
        row("peak memory", &|m| m.peak_bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{}B", scaled(bytes as f64)))),
        row("set-up", &|m| format!("{:.3} s", m.setup_seconds)),
        row("mean cumulative regret", &|m| format!("{:.4}", m.regret.cumulative_mean)),
        row("checksum of the actions", &|m| m.actions_crc.to_string()),
    ];
    if block.iter().any(|m| m.wrong.is_some()) {
        rows.push(row("choices beside the best in f64", &|m| m.wrong.map_or_else(String::new, |wrong| wrong.to_string())));
    }
    rows
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Three digits and a prefix.
fn scaled(value: f64) -> String {
    let (value, prefix) = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")]
        .into_iter()
        .find(|(size, _)| *size <= value)
        .map_or((value, " "), |(size, prefix)| (value / size, prefix));
    let decimals = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.decimals$}{prefix}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let shown = [0.5, 12.34, 999.0, 1234.0, 98_765.0, 1.5e9, 2e13].map(scaled);
        assert_eq!(shown, ["0.50", "12.3", "999", "1.23 k", "98.8 k", "1.50 G", "20.0 T"]);
    }
}
