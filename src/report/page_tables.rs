//! Writes the page's tables: results, further numbers, facts.

use super::cell_data::CellData;
use super::collect::ReportRun;
use super::compare::{ComparedPoint, candidates, leaders, sweep_points};
use super::grid::Grid;
use super::share::Share;
use super::stats::SampleMoments;
use super::summary::SummaryRow;
use super::text::{plus_minus, ratio_text, share_text, short, short_key, swept_text};
use super::words::names;
use crate::record::{GroupedWarnings, Role, grouped_warnings, is_privacy_key};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of distinct sets of facts shown next to each other.
const N_FACT_SETS: usize = 8;
/// Largest number of policies that have a column each.
const N_COLUMNS: usize = 6;

/// Returns a mean with half of its interval; a dash if there is none.
pub(super) fn moments(moments: Option<SampleMoments>) -> String {
    moments.map_or("–".to_owned(), |moments| plus_minus(moments.mean, moments.half).replace('-', "−"))
}

/// Returns the mark of each cell: a full star, a hollow star, a dagger, or nothing.
fn marks(run: &ReportRun, points: &[ComparedPoint]) -> Vec<String> {
    let mut marks: Vec<String> =
        run.cells.iter().map(|cell| if cell.has_no_guarantee() { " †".to_owned() } else { String::new() }).collect();
    for leader in leaders(run, points).0.into_iter().filter(|_| 1 < run.manifest.trials) {
        marks[leader.cell] += if leader.clear { " ★" } else { " ☆" };
    }
    marks
}

/// Returns what the marks mean and how it was tested.
pub(super) fn legend(run: &ReportRun, points: &[ComparedPoint]) -> Vec<String> {
    let (found, n) = leaders(run, points);
    let (who, trials) = (run.words.who, run.manifest.trials);
    let mut notes = Vec::new();
    notes.push(match (trials, run.words.estimates) {
        (1, _) => "One trial has no interval: nothing here is beyond chance.".to_owned(),
        (_, true) => format!(
            "± is half of the 95 % interval over {trials} trials, which all read one log: what the log's own chance leaves open is the \
             standard error. No {who} is called the best."
        ),
        _ => format!("± is half of the 95 % interval over {trials} trials."),
    });
    if 1 < trials && !found.is_empty() {
        let private = if run.cells.iter().all(CellData::is_not_private) { "" } else { "private, guaranteed " };
        // Where cells of one setting promise different things, the reader must know which of them were compared.
        let promises =
            |point: &ComparedPoint| candidates(run, &point.cells).iter().map(|&cell| run.cells[cell].promise()).collect();
        let many = points.iter().any(|point| 1 < BTreeSet::<String>::len(&promises(point)));
        let of = if many { " of those with the same budget and threat model" } else { "" };
        let has = |clear: bool| found.iter().any(|leader| leader.clear == clear);
        if has(true) {
            notes.push(format!(
                "★ best {private}{who}{of}: it differs from each other one by a paired t-test at 5 % (Holm's correction for {n} comparisons)."
            ));
        }
        if has(false) {
            notes.push(format!(
                "☆ best mean of the {private}{}{of}, but not beyond chance (paired t-tests at 5 %, Holm's correction for {n} comparisons).",
                run.words.many
            ));
        }
    }
    if run.cells.iter().any(CellData::has_no_guarantee) {
        notes.push("† no guarantee: the privacy claimed does not hold as calibrated here; see the report's ledger.".to_owned());
    }
    notes
}

/// Says why cells that differ in swept keys ended with the very same numbers.
fn why_same(cells: &[&CellData]) -> &'static str {
    if cells[0].plays_at_random() {
        "it plays at random and learns nothing"
    } else if cells.iter().all(|cell| cell.is_not_private()) {
        "without privacy, nothing that is swept here reaches it"
    } else if cells.iter().all(|cell| cell.info.ledger.reward.event == cells[0].info.ledger.reward.event) {
        "the noise comes out the same"
    } else {
        "every trial ended with the same numbers"
    }
}

/// Returns the values of the swept keys of cells that share a row: the first and the last of many.
fn swept_values(cells: &[&CellData]) -> Vec<String> {
    let n_keys = cells[0].info.swept.len();
    let joined = |i: usize| {
        let mut values: Vec<String> = Vec::new();
        for cell in cells {
            // References are played once for all settings of privacy.
            let text = cell.info.swept.get(i).map_or(String::new(), |(key, value)| match cell.info.role {
                Role::Guessing | Role::WithoutPrivacy(_) if is_privacy_key(key) => "–".to_owned(),
                _ => swept_text(value),
            });
            if !values.contains(&text) {
                values.push(text);
            }
        }
        match values.as_slice() {
            [first, .., last] if N_VALUES < values.len() => format!("{first}, …, {last} ({} values)", values.len()),
            _ => values.join(", "),
        }
    };
    (0..n_keys).map(joined).collect()
}

/// Returns the results: one row per sweep point, one column per policy; one row per cell where policies are many.
///
pub(super) fn results(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> Grid {
    let policies = run.policies();
    if N_COLUMNS < policies.len() || points.iter().any(|point| policies.len() < point.cells.len()) {
        return Grid { notes: Vec::new(), ..numbers(run, points, rows, false) };
    }
    let drawn = run.with_references_everywhere();
    let (run, points) = (drawn.as_ref(), &sweep_points(&drawn)[..]);
    let (keys, marks) = (run.swept_keys(), marks(run, points));
    let mut grid = Grid::default();
    keys.iter().for_each(|key| grid.column(short_key(key, &keys), key, false));
    let labelled = keys.is_empty() && points.iter().any(|point| !point.label.is_empty());
    if labelled {
        grid.column("environment", "environment", false);
    }
    policies.iter().for_each(|policy| grid.column(policy, policy, true));
    let at =
        |point: &ComparedPoint, policy: &str| point.cells.iter().copied().find(|&cell| run.cells[cell].info.policy == policy);
    for point in points {
        let mut row: Vec<String> = run.cells[point.cells[0]].info.swept.iter().map(|(_, value)| swept_text(value)).collect();
        if labelled {
            row.push(point.label.clone());
        }
        row.extend(policies.iter().map(|policy| match at(point, policy) {
            Some(cell) => format!("{}{}", moments(measured(run, &run.cells[cell])), marks[cell]),
            None => "–".to_owned(),
        }));
        grid.rows.push(row);
    }
    grid
}

/// Returns the moments of the page's quantity at the last round.
fn measured(run: &ReportRun, cell: &CellData) -> Option<SampleMoments> {
    SampleMoments::of(&cell.finals(run.words.measure))
}

/// Returns one row per cell with its numbers; cells of one policy with the very same results share a row.
///
/// `full` adds further quantities and the fitted exponent.
pub(super) fn numbers(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow], full: bool) -> Grid {
    let (words, keys, marks) = (&run.words, run.swept_keys(), marks(run, points));
    let has_costs = rows.iter().any(|row| row.cost.is_some());
    let per_round = words.adds_up && words.measure == words.columns[0].1;
    let has_exponent = full && rows.iter().any(|row| row.exponent.is_some()) && !words.estimates;
    let others = &words.others[..if full { words.others.len() } else { words.others.len().min(1) }];
    let mut grid = Grid::default();
    keys.iter().for_each(|key| grid.column(short_key(key, &keys), key, false));
    grid.column(words.who, words.who, false);
    grid.column(words.short, words.measure.name(), true);
    let has_shares = rows.iter().any(|row| row.cost.is_some_and(|cost| cost.share.is_some()));
    if has_shares {
        grid.column("learnt", "share", true);
    }
    if has_costs {
        grid.column("times without privacy", "ratio", true);
    }
    if per_round {
        grid.column("per round", "average", true);
    }
    others.iter().for_each(|other| grid.column(names(*other)[0], other.name(), true));
    if has_exponent {
        grid.column("exponent", words.exponent, true);
    }
    let references: BTreeSet<usize> = rows.iter().filter_map(|row| row.cost).map(|cost| cost.reference).collect();
    // The texts of a row after the swept values, with the cells that have them.
    let mut lines: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    let mut line_of = BTreeMap::new();
    for (i, (cell, row)) in run.cells.iter().zip(rows).enumerate() {
        let mut line = vec![format!("{}{}", cut(&cell.info.policy, if full { 80 } else { 32 }), marks[i])];
        line.push(moments(measured(run, cell)));
        if has_shares {
            let said = |share: Share| share.left.map_or("reference no better".to_owned(), share_text);
            line.push(row.cost.and_then(|cost| cost.share).map_or(String::new(), said));
        }
        if has_costs {
            line.push(match row.cost {
                Some(cost) => cost.ratio.map_or("–".to_owned(), ratio_text),
                None => if references.contains(&i) { "1 (reference)" } else { "" }.to_owned(),
            });
        }
        if per_round {
            line.push(row.average_regret.map_or("–".to_owned(), |m| short(m.mean)));
        }
        line.extend(others.iter().map(|other| moments(SampleMoments::of(&cell.finals(*other)))));
        if has_exponent {
            line.push(row.exponent.map_or("–".to_owned(), |exponent| format!("{exponent:.2}").replace('-', "−")));
        }
        let same = (line[..2].to_vec(), cell.result_bits(words.measure));
        let next = lines.len();
        match lines.get_mut(*line_of.entry(same).or_insert(next)) {
            Some((_, cells)) => cells.push(i),
            None => lines.push((line, vec![i])),
        }
    }
    for (line, cells) in lines {
        let cells: Vec<&CellData> = cells.into_iter().map(|i| &run.cells[i]).collect();
        grid.rows.push(swept_values(&cells).into_iter().chain(line).collect());
        if 1 < cells.len() {
            let note = format!("{}, {} sweep points in one row: {}.", cells[0].info.policy, cells.len(), why_same(&cells));
            if !grid.notes.contains(&note) {
                grid.notes.push(note);
            }
        }
    }
    grid
}

/// Largest number of rows of the terminal's table.
const N_ROWS: usize = 25;

/// Largest number of swept values that a row lists.
const N_VALUES: usize = 5;

/// Words before a setting that makes the answer false.
pub(super) const FALSE: &str = "The answer below is false while this stands:";

/// Returns the settings of all cells that mislead.
pub(super) fn misleading(run: &ReportRun) -> GroupedWarnings {
    grouped_warnings(run.cells.iter().map(|cell| (cell.info.label.as_str(), cell.info.warnings.as_slice())))
}

/// Holds the table of a report for a terminal, with its legend.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminalTable {
    grid: Grid,
    /// Sentences on rows that cells share, which are of all rows.
    shared: Vec<String>,
    /// What makes the answer false.
    pub warnings: Vec<String>,
}

impl TerminalTable {
    pub(super) fn of(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> Self {
        let mut grid = numbers(run, points, rows, false);
        let shared = std::mem::replace(&mut grid.notes, legend(run, points));
        if rows.iter().any(|row| row.cost.is_some()) && 1 < run.manifest.trials {
            let text = "times without privacy: ratio of means with its paired 95 % interval, one by one (Fieller).";
            grid.notes.push(text.to_owned());
        }
        if rows.iter().any(|row| row.cost.is_some_and(|cost| cost.share.is_some())) {
            let text = "learnt: the share of what the policy without privacy gains over guessing, likewise.";
            grid.notes.push(text.to_owned());
        }
        let warnings = misleading(run).falsifying.iter().map(|line| format!("{FALSE} {line}")).collect();
        Self { grid, shared, warnings }
    }

    /// Returns the table as text: at most 25 rows unless `all` are wanted, and lines of at most `width` columns, where given.
    pub fn text(&self, width: Option<usize>, all: bool) -> String {
        let mut grid = self.grid.clone();
        let mut notes = Vec::new();
        if !all && N_ROWS < grid.rows.len() {
            let more = grid.rows.len() - N_ROWS;
            grid.rows.truncate(N_ROWS);
            notes.push(format!("{more} more rows: `privateer report DIR --table` prints all, `summary.csv` has every cell."));
        } else {
            notes.extend(self.shared.iter().cloned());
        }
        let left_out = width.map_or(Vec::new(), |width| grid.fit(width));
        if !left_out.is_empty() {
            grid.notes.retain(|note| !left_out.iter().any(|title| note.starts_with(&format!("{title}: "))));
            notes.push(format!("Columns without room here: {}; `report.html` has them.", left_out.join(", ")));
        }
        grid.notes.splice(0..0, notes);
        grid.plain()
    }
}

/// Cuts a text that is longer than `widest` characters.
pub(super) fn cut(text: &str, widest: usize) -> String {
    if text.chars().count() <= widest {
        return text.to_owned();
    }
    text.chars().take(widest - 1).chain(['…']).collect()
}

/// Returns the cells grouped by equal values of a field, in order of first appearance.
pub(super) fn distinct(run: &ReportRun, field: impl Fn(&CellData) -> &Value) -> Vec<(&CellData, Vec<&CellData>)> {
    let mut groups: Vec<(&CellData, Vec<&CellData>)> = Vec::new();
    let mut group_of: BTreeMap<String, usize> = BTreeMap::new();
    for cell in &run.cells {
        let next = groups.len();
        let at = *group_of.entry(field(cell).to_string()).or_insert(next);
        match groups.get_mut(at) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((cell, vec![cell])),
        }
    }
    groups
}

/// Returns the policies of a group of cells.
pub(super) fn policies_of(cells: &[&CellData]) -> String {
    let mut policies: Vec<&str> = Vec::new();
    for cell in cells {
        if !policies.contains(&cell.info.policy.as_str()) {
            policies.push(&cell.info.policy);
        }
    }
    policies.join(", ")
}

/// Returns the facts: those that all cells share as a list, the others with one column per distinct set.
pub(super) fn facts(run: &ReportRun) -> Markup {
    let groups = distinct(run, |cell| &cell.info.facts);
    let shown_groups = &groups[..groups.len().min(N_FACT_SETS)];
    let mut keys: Vec<&str> = Vec::new();
    for (first, _) in shown_groups {
        for key in first.info.facts.as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
    }
    if keys.is_empty() {
        return html! { p { "The run recorded no facts about its problem." } };
    }
    let text = |cell: &CellData, key: &str| shown(cell.info.facts.get(key).unwrap_or(&Value::Null));
    let is_shared = |key: &&str| groups.iter().all(|(first, _)| text(first, key) == text(groups[0].0, key));
    let (shared, apart): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(is_shared);
    let mut grid = Grid::default();
    grid.column("applies to", "applies to", false);
    apart.iter().for_each(|key| grid.column(&key.replace('_', " "), key, true));
    for (first, cells) in shown_groups {
        let mut row = vec![what_differs(run, cells)];
        row.extend(apart.iter().map(|key| text(first, key)));
        grid.rows.push(row);
    }
    if N_FACT_SETS < groups.len() {
        grid.notes.push(format!("{} more sets of facts are in manifest.json.", groups.len() - N_FACT_SETS));
    }
    html! {
        dl.facts { @for key in shared { div { dt { (key.replace('_', " ")) } dd { (text(groups[0].0, key)) } } } }
        @if !apart.is_empty() { (grid.html()) }
    }
}

/// Returns what distinguishes a group of cells.
///
/// These are the swept values (else the policies) that all of its cells and not all others have.
fn what_differs(run: &ReportRun, cells: &[&CellData]) -> String {
    let keys = run.swept_keys();
    let apart = cells[0].info.swept.iter().filter(|(key, value)| {
        let has = |cell: &CellData| cell.swept(key) == Some(value);
        cells.iter().all(|cell| has(cell)) && !run.cells.iter().all(has)
    });
    let mut words: Vec<String> = apart.map(|(key, value)| format!("{} = {}", short_key(key, &keys), swept_text(value))).collect();
    if words.is_empty() || (cells.iter().all(|cell| cell.info.policy == cells[0].info.policy) && 1 < run.policies().len()) {
        words.insert(0, policies_of(cells));
    }
    words.join(", ")
}

/// Formats a JSON value for readers.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) if number.is_f64() => short(number.as_f64().unwrap_or(f64::NAN)),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "–".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key} {}", shown(value))).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::super::compare::sweep_points;
    use super::super::summary;
    use super::*;

    fn tables(policies: &[Planted]) -> (Grid, String) {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[0.5, 2.0], policies, 6);
        let run = ReportRun::read(folder.path(), None).expect("read");
        let points = sweep_points(&run);
        let rows = summary::rows(&run, &points);
        (results(&run, &points, &rows), TerminalTable::of(&run, &points, &rows).text(None, false))
    }

    #[test]
    fn a_terminal_gets_the_first_rows_of_a_large_sweep() {
        let folder = tempfile::tempdir().expect("a folder");
        let epsilons: Vec<f64> = (1..=60).map(|step| 0.1 * f64::from(step)).collect();
        plant(folder.path(), &epsilons, &[Planted { level: |epsilon| 90.0 / epsilon, ..PRIVATE }, OPEN], 3);
        let run = ReportRun::read(folder.path(), None).expect("read");
        let points = sweep_points(&run);
        let table = TerminalTable::of(&run, &points, &summary::rows(&run, &points));
        let [first, whole] = [false, true].map(|all| table.text(Some(120), all));
        let is_row = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains("  tgp-ucb");
        let rows = |text: &str| text.lines().filter(is_row).count();
        // One row is the reference's.
        assert_eq!([rows(&first), rows(&whole)], [N_ROWS - 1, 60], "{first}");
        assert!(first.contains("36 more rows: `privateer report DIR --table`") && !whole.contains("more rows"), "{first}");
        assert!(whole.contains("0.1, …, 6 (60 values)  igp-ucb") && whole.lines().count() < 75, "{whole}");
    }

    #[test]
    fn the_star_is_private() {
        let better = Planted { policy: "better", level: |_| 50.0, ..PRIVATE };
        let (grid, text) = tables(&[PRIVATE, better, OPEN]);
        let row = |epsilon, private| [epsilon, private, "50.0 ± 5.7 ★", "40.0 ± 5.7"];
        assert_eq!(grid.rows, [row("0.5", "160.0 ± 5.7"), row("2", "70.0 ± 5.7")]);
        assert_eq!(
            text.lines().next(),
            Some("epsilon  policy    final regret   times without privacy  per round  simple regret")
        );
        assert!(
            text.contains("★ best private, guaranteed policy") && text.contains("Holm's correction for 2 comparisons"),
            "{text}"
        );
        assert!(text.lines().take(5).all(|line| line.chars().count() <= 120));
    }
}
