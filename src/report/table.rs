//! Formats the table for the terminal: plain text, aligned columns.

use super::collect::ReportRun;
use super::compare::{ComparedPoint, best};
use super::summary::SummaryRow;
use super::text::{plus_minus, short, short_key};

/// Largest width of a cell in characters; longer texts are cut.
const WIDEST: usize = 28;

/// Returns one line per cell; a sweep point's best policy is starred if that is beyond chance.
pub(super) fn table(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> String {
    let keys = run.swept_keys();
    let mut header: Vec<String> = keys.iter().map(|key| short_key(key, &keys).to_owned()).collect();
    let n_left = header.len() + 1;
    let words = run.words();
    let (per_round, less) = (words.adds_up.then_some("per round"), format!("less first {}", words.who));
    let titles = [Some(words.who), Some(words.main), per_round, Some(words.second), Some(less.as_str())];
    header.extend(titles.into_iter().flatten().map(str::to_owned));
    let several = !words.estimates && points.iter().any(|point| 1 < point.cells.len());
    if !several {
        header.pop();
    }

    let mut lines = vec![header];
    let (mut any_best, mut any_broken) = (false, false);
    for point in points {
        let winner = best(run, point);
        any_best |= winner.is_some();
        for &cell_idx in &point.cells {
            let row = &rows[cell_idx];
            let broken = run.cells[cell_idx].has_no_guarantee();
            any_broken |= broken;
            let star = if winner == Some(cell_idx) { " *" } else { "" };
            let dagger = if broken { " †" } else { "" };
            let mut line: Vec<String> = row.swept.iter().map(|(_, value)| value.to_string()).collect();
            line.push(format!("{}{star}{dagger}", cut(&row.policy, WIDEST)));
            line.push(row.main.map_or("–".to_owned(), |m| plus_minus(m.mean, m.half)));
            if words.adds_up {
                line.push(row.average_regret.map_or("–".to_owned(), |m| short(m.mean)));
            }
            line.push(
                row.second.map_or("–".to_owned(), |m| if words.adds_up { short(m.mean) } else { plus_minus(m.mean, m.half) }),
            );
            if several {
                line.push(row.paired_difference.map_or(String::new(), |m| plus_minus(m.mean, m.half)));
            }
            lines.push(line.into_iter().map(|text| cut(&text, WIDEST + 4)).collect());
        }
    }
    let mut text = aligned(&lines, n_left);
    if run.manifest.trials < 2 {
        text += "One trial has no interval: nothing here is beyond chance.";
    } else {
        text += &format!("± is half of the 95 % interval over {} trials.", run.manifest.trials);
        if any_best {
            text += &format!(
                "\n* least {}: its paired 95 % interval to every other {} leaves out 0 (no correction for several comparisons).",
                words.least, words.who
            );
        } else if words.estimates {
            text += " All trials read one log: what its own chance leaves open is the standard error, in the column beside.";
        } else if several {
            text += &format!(" No {} is best beyond chance at any point.", words.who);
        }
    }
    if any_broken {
        text += "\n† no guarantee: the privacy claimed does not hold as calibrated here; see the report's ledger.";
    }
    text.push('\n');
    text
}

/// Aligns columns: the first `n_left` flush left, the others flush right.
fn aligned(lines: &[Vec<String>], n_left: usize) -> String {
    let n_columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let padded: Vec<String> = line
            .iter()
            .enumerate()
            .map(|(i, cell)| (i, cell, widths[i]))
            .map(|(i, cell, width)| if i < n_left { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
            .collect();
        text += padded.join("  ").trim_end();
        text.push('\n');
    }
    text
}

fn cut(text: &str, widest: usize) -> String {
    if text.chars().count() <= widest {
        return text.to_owned();
    }
    text.chars().take(widest - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, plant};
    use super::super::compare::sweep_points;
    use super::super::summary::rows;
    use super::*;

    #[test]
    fn columns_line_up_and_the_best_is_starred() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[0.5, 2.0], &[PRIVATE, OPEN], 6);
        let run = ReportRun::read(folder.path()).expect("read");
        let points = sweep_points(&run);
        let text = table(&run, &points, &rows(&run, &points));
        assert_eq!(
            text,
            "epsilon  policy     final regret  per round  simple  less first policy\n\
             0.5      tgp-ucb     160.0 ± 5.7        0.4  0.0025\n\
             0.5      igp-ucb *    40.0 ± 5.7        0.1  0.0025           -120 ± 0\n\
             2        tgp-ucb      70.0 ± 5.7      0.175  0.0025\n\
             2        igp-ucb *    40.0 ± 5.7        0.1  0.0025            -30 ± 0\n\
             ± is half of the 95 % interval over 6 trials.\n\
             * least regret: its paired 95 % interval to every other policy leaves out 0 (no correction for several comparisons).\n"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 120));
    }
}
