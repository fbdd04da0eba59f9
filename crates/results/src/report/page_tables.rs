//! Writes the page's tables: results, further numbers, facts.

use super::cell_data::{CellData, grouped, once_each};
use super::collect::ReportRun;
use super::compare::{Costs, candidates, leaders};
use super::grid::Grid;
use super::share::Share;
use super::stats::SampleMoments;
use super::summary::averages;
use super::text::{plus_minus, ratio_text, share_text, short, short_key, swept_text};
use super::words::names;
use crate::record::{ByText, GroupedWarnings, Role, grouped_warnings, is_privacy_key};
use maud::{Markup, html};
use privateer_config::facts::FactValue;
use std::collections::BTreeSet;

/// Largest number of distinct sets of facts shown next to each other.
const N_FACT_SETS: usize = 8;
/// Largest number of policies that have a column each.
const N_COLUMNS: usize = 6;

/// Returns a mean with half of its interval; a dash if there is none.
pub(super) fn moments(moments: Option<SampleMoments>) -> String {
    moments.map_or("–".to_owned(), |moments| plus_minus(moments.mean, moments.half).replace('-', "−"))
}

/// Returns the mark of each cell: a full star, a hollow star, a dagger, or nothing.
fn marks(run: &ReportRun) -> Vec<String> {
    let mut marks: Vec<String> =
        run.cells.iter().map(|cell| if cell.has_no_guarantee() { " †".to_owned() } else { String::new() }).collect();
    for leader in leaders(run).0.into_iter().filter(|_| 1 < run.manifest.trials) {
        marks[leader.cell] += if leader.clear { " ★" } else { " ☆" };
    }
    marks
}

/// Returns what the marks mean and how it was tested.
pub(super) fn legend(run: &ReportRun) -> Vec<String> {
    let (found, n) = leaders(run);
    let (who, trials) = (run.words.who, run.manifest.trials);
    let mut notes = vec![match (trials, run.words.estimates) {
        (1, _) => "One trial has no interval: nothing here is beyond chance.".to_owned(),
        (_, true) => format!(
            "± is half of the 95 % interval over {trials} trials, which all read one log: what the log's own chance leaves open is the \
             standard error. No {who} is called the best."
        ),
        _ => format!("± is half of the 95 % interval over {trials} trials."),
    }];
    if 1 < trials && !found.is_empty() {
        let private = if run.cells.iter().all(CellData::is_not_private) { "" } else { "private, guaranteed " };
        // Where cells of one setting promise different things, the reader must know which of them were compared.
        let promises = |point: &Vec<usize>| candidates(run, point).iter().map(|&cell| run.cells[cell].promise()).collect();
        let many = run.index.points.iter().any(|point| 1 < BTreeSet::<String>::len(&promises(point)));
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
    let n_keys = cells[0].swept.len();
    let joined = |i: usize| {
        // References are played once for all settings of privacy.
        let text = |cell: &&CellData| {
            cell.swept.get(i).map_or(String::new(), |(key, value)| match cell.info.role {
                Role::Guessing | Role::WithoutPrivacy(_) if is_privacy_key(key) => "–".to_owned(),
                _ => swept_text(value),
            })
        };
        let values: Vec<String> = once_each(cells.iter().map(text));
        match values.as_slice() {
            [first, .., last] if N_VALUES < values.len() => format!("{first}, …, {last} ({} values)", values.len()),
            _ => values.join(", "),
        }
    };
    (0..n_keys).map(joined).collect()
}

/// Returns the results: one row per sweep point, one column per policy; one row per cell where policies are many.
pub(super) fn results(run: &ReportRun, costs: &Costs) -> Grid {
    let policies = run.policies();
    if N_COLUMNS < policies.len() || run.index.points.iter().any(|point| policies.len() < point.len()) {
        let (mut grid, n_more) = numbers(run, costs, false, N_PAGE_ROWS);
        grid.notes = more_rows(n_more);
        return grid;
    }
    let drawn = run.with_references_everywhere();
    let (run, points) = (drawn.as_ref(), &drawn.index.points);
    let (keys, marks) = (run.swept_keys(), marks(run));
    let mut grid = Grid::default();
    keys.iter().for_each(|key| grid.column(short_key(key, &keys), key, false));
    // Without a sweep, points differ in their environment.
    let labelled = keys.is_empty() && 1 < points.len();
    if labelled {
        grid.column("environment", "environment", false);
    }
    policies.iter().for_each(|policy| grid.column(policy, policy, true));
    let at = |point: &[usize], policy: &str| point.iter().copied().find(|&cell| *run.cells[cell].info.policy == *policy);
    for point in points.iter().take(N_PAGE_ROWS) {
        let first = &run.cells[point[0]];
        let mut row: Vec<String> = first.swept.iter().map(|(_, value)| swept_text(value)).collect();
        row.extend(labelled.then(|| first.info.environment.to_string()));
        row.extend(policies.iter().map(|policy| match at(point, policy) {
            Some(cell) => format!("{}{}", moments(run.cells[cell].moments(run.words.measure)), marks[cell]),
            None => "–".to_owned(),
        }));
        grid.rows.push(row);
    }
    grid.notes.extend(more_rows(points.len() - grid.rows.len()));
    grid
}

/// Largest number of rows of a table of the page: a browser shows no more of them in a second.
const N_PAGE_ROWS: usize = 10_000;

/// Returns the note on rows that a table of the page leaves out.
pub(super) fn more_rows(n_more: usize) -> Vec<String> {
    let note = (0 < n_more)
        .then(|| format!("{n_more} more rows: `privateer report DIR --table` prints all, `summary.csv` has every cell."));
    note.into_iter().collect()
}

/// Returns the numbers of every cell, as [`numbers`], with the note on rows that the page leaves out.
pub(super) fn further_numbers(run: &ReportRun, costs: &Costs) -> Grid {
    let (mut grid, n_more) = numbers(run, costs, true, N_PAGE_ROWS);
    grid.notes.extend(more_rows(n_more));
    grid
}

/// Returns one row per cell with its numbers, and how many rows more than `most` there are; cells of one policy with the very same
/// results share a row.
///
/// `full` adds further quantities and the fitted exponent.
pub(super) fn numbers(run: &ReportRun, costs: &Costs, full: bool, most: usize) -> (Grid, usize) {
    let (words, keys, marks) = (&run.words, run.swept_keys(), marks(run));
    let has_costs = costs.iter().any(Option::is_some);
    let per_round = words.adds_up && words.measure == words.columns[0].1;
    let has_exponent = full && run.cells.iter().any(|cell| cell.exponent.is_some()) && !words.estimates;
    let others = &words.others[..if full { words.others.len() } else { words.others.len().min(1) }];
    let mut grid = Grid::default();
    keys.iter().for_each(|key| grid.column(short_key(key, &keys), key, false));
    grid.column(words.who, words.who, false);
    grid.column(words.short, words.measure.name(), true);
    let has_shares = costs.iter().flatten().any(|cost| cost.share.is_some());
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
    let references: BTreeSet<usize> = costs.iter().flatten().map(|cost| cost.reference).collect();
    let policy = |i: usize| format!("{}{}", cut(&run.cells[i].info.policy, if full { 80 } else { 32 }), marks[i]);
    // The texts of a row after the swept values.
    let line = |i: usize| {
        let (cell, cost) = (&run.cells[i], costs[i].as_deref());
        let mut line = vec![policy(i), moments(cell.moments(words.measure))];
        if has_shares {
            let said = |share: Share| share.left.map_or("reference no better".to_owned(), share_text);
            line.push(cost.and_then(|cost| cost.share).map_or(String::new(), said));
        }
        if has_costs {
            line.push(match cost {
                Some(cost) => cost.ratio.map_or("–".to_owned(), ratio_text),
                None => if references.contains(&i) { "1 (reference)" } else { "" }.to_owned(),
            });
        }
        if per_round {
            line.push(SampleMoments::of(&averages(words, cell)).map_or("–".to_owned(), |m| short(m.mean)));
        }
        line.extend(others.iter().map(|other| moments(cell.moments(*other))));
        if has_exponent {
            line.push(cell.exponent.map_or("–".to_owned(), |exponent| format!("{exponent:.2}").replace('-', "−")));
        }
        line
    };
    let same = |i: usize| ((policy(i), run.cells[i].result_bits(words.measure)), i);
    let groups = grouped((0..run.cells.len()).map(same));
    for places in &groups {
        let cells: Vec<&CellData> = places.iter().map(|&place| &run.cells[place]).collect();
        if grid.rows.len() < most {
            grid.rows.push(swept_values(&cells).into_iter().chain(line(places[0])).collect());
        }
        if 1 < cells.len() {
            let note = format!("{}, {} sweep points in one row: {}.", cells[0].info.policy, cells.len(), why_same(&cells));
            if !grid.notes.contains(&note) {
                grid.notes.push(note);
            }
        }
    }
    let n_more = groups.len() - grid.rows.len();
    (grid, n_more)
}

/// Largest number of rows of the terminal's table.
const N_ROWS: usize = 25;

/// Largest number of swept values that a row lists.
const N_VALUES: usize = 5;

/// Words before a setting that makes the answer false.
pub(super) const FALSE: &str = "The answer below is false while this stands:";

/// Returns the settings of all cells that mislead.
pub(super) fn misleading(run: &ReportRun) -> GroupedWarnings {
    grouped_warnings(run.cells.iter().map(|cell| (|| cell.info.label(), cell.info.warnings.as_slice())))
}

/// Returns what makes the answer false.
pub(super) fn false_while(run: &ReportRun) -> Vec<String> {
    misleading(run).falsifying.iter().map(|line| format!("{FALSE} {line}")).collect()
}

/// Returns the table for a terminal, with its legend: at most 25 rows unless `all` are wanted, and lines of at most `width` columns,
/// where given.
pub(super) fn terminal_table(run: &ReportRun, costs: &Costs, width: Option<usize>, all: bool) -> String {
    let (mut grid, n_more) = numbers(run, costs, false, if all { usize::MAX } else { N_ROWS });
    // Sentences on rows that cells share are of all rows.
    let mut notes = std::mem::replace(&mut grid.notes, legend(run));
    if costs.iter().any(Option::is_some) && 1 < run.manifest.trials {
        let text = "times without privacy: ratio of means with its paired 95 % interval, one by one (Fieller).";
        grid.notes.push(text.to_owned());
    }
    if costs.iter().flatten().any(|cost| cost.share.is_some()) {
        let text = "learnt: the share of what the policy without privacy gains over guessing, likewise.";
        grid.notes.push(text.to_owned());
    }
    if 0 < n_more {
        notes = more_rows(n_more);
    }
    let left_out = width.map_or(Vec::new(), |width| grid.fit(width));
    if !left_out.is_empty() {
        grid.notes.retain(|note| !left_out.iter().any(|title| note.starts_with(&format!("{title}: "))));
        notes.push(format!("Columns without room here: {}; `report.html` has them.", left_out.join(", ")));
    }
    grid.notes.splice(0..0, notes);
    grid.plain()
}

/// Cuts a text that is longer than `widest` characters.
pub(super) fn cut(text: &str, widest: usize) -> String {
    if text.chars().count() <= widest {
        return text.to_owned();
    }
    text.chars().take(widest - 1).chain(['…']).collect()
}

pub(super) fn policies_of(cells: &[&CellData]) -> String {
    once_each(cells.iter().map(|cell| &*cell.info.policy)).join(", ")
}

/// Returns the facts: those that all cells share as a list, the others with one column per distinct set.
pub(super) fn facts(run: &ReportRun) -> Markup {
    let mut places = ByText::default();
    let groups = grouped(run.cells.iter().map(|cell| (places.number(&*cell.info.facts), cell)));
    let shown_groups = &groups[..groups.len().min(N_FACT_SETS)];
    let named = shown_groups.iter().flat_map(|cells| cells[0].info.facts.iter());
    let keys: Vec<&str> = once_each(named.map(|(name, _)| name.as_ref()));
    if keys.is_empty() {
        return html! { p { "The run recorded no facts about its problem." } };
    }
    let text = |cell: &CellData, key: &str| cell.info.facts.get(key).map_or_else(|| "–".to_owned(), shown);
    let is_shared = |key: &&str| groups.iter().all(|cells| text(cells[0], key) == text(groups[0][0], key));
    let (shared, apart): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(is_shared);
    let mut grid = Grid::default();
    grid.column("applies to", "applies to", false);
    apart.iter().for_each(|key| grid.column(&key.replace('_', " "), key, true));
    for cells in shown_groups {
        let mut row = vec![what_differs(run, cells)];
        row.extend(apart.iter().map(|key| text(cells[0], key)));
        grid.rows.push(row);
    }
    if N_FACT_SETS < groups.len() {
        grid.notes.push(format!("{} more sets of facts are in manifest.json.", groups.len() - N_FACT_SETS));
    }
    html! {
        dl.facts { @for key in shared { div { dt { (key.replace('_', " ")) } dd { (text(groups[0][0], key)) } } } }
        @if !apart.is_empty() { (grid.html()) }
    }
}

/// Returns what distinguishes a group of cells.
///
/// These are the swept values (else the policies) that all of its cells and not all others have.
fn what_differs(run: &ReportRun, cells: &[&CellData]) -> String {
    let apart = cells[0].swept.iter().filter(|(key, value)| {
        let has = |cell: &CellData| cell.swept(key) == Some(value);
        cells.iter().all(|cell| has(cell)) && !run.cells.iter().all(has)
    });
    let mut words: Vec<String> = apart.map(|swept| run.stated(swept)).collect();
    if words.is_empty() || (cells.iter().all(|cell| cell.info.policy == cells[0].info.policy) && 1 < run.policies().len()) {
        words.insert(0, policies_of(cells));
    }
    words.join(", ")
}

pub(super) fn shown(value: &FactValue) -> String {
    match value {
        FactValue::Missing => "–".to_owned(),
        FactValue::Flag(true) => "yes".to_owned(),
        FactValue::Flag(false) => "no".to_owned(),
        FactValue::Whole(_) | FactValue::Negative(_) => value.to_string(),
        FactValue::Number(number) => short(*number),
        FactValue::Text(text) if text.is_empty() => "–".to_owned(),
        FactValue::Text(text) => text.clone(),
        FactValue::List(items) if items.is_empty() => "–".to_owned(),
        FactValue::List(items) => items.iter().map(shown).collect::<Vec<_>>().join("; "),
        FactValue::Table(fields) => {
            fields.iter().map(|(key, value)| format!("{key} {}", shown(value))).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, planted};
    use super::super::compare::costs;
    use super::*;

    fn tables(policies: &[Planted]) -> (Grid, String) {
        let run = planted(&[0.5, 2.0], policies, 6);
        let costs = costs(&run);
        (results(&run, &costs), terminal_table(&run, &costs, None, false))
    }

    #[test]
    fn a_terminal_gets_the_first_rows_of_a_large_sweep() {
        let epsilons: Vec<f64> = (1..=60).map(|step| 0.1 * f64::from(step)).collect();
        let run = planted(&epsilons, &[Planted { level: |epsilon| 90.0 / epsilon, ..PRIVATE }, OPEN], 3);
        let [first, whole] = [false, true].map(|all| terminal_table(&run, &costs(&run), Some(120), all));
        let is_row = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains("  tgp-ucb");
        let rows = |text: &str| text.lines().filter(is_row).count();
        // One row is the reference's.
        assert_eq!([rows(&first), rows(&whole)], [N_ROWS - 1, 60], "{first}");
        assert!(first.contains("36 more rows: `privateer report DIR --table`") && !whole.contains("more rows"), "{first}");
        assert!(whole.contains("0.1, …, 6 (60 values)  igp-ucb") && whole.lines().count() < 75, "{whole}");
    }

    #[test]
    fn rows_beyond_the_most_are_counted() {
        let run = planted(&[0.5, 1.0, 2.0], &[PRIVATE, OPEN], 3);
        let (all, costs) = (4, costs(&run));
        for most in 0..=all {
            let (grid, n_more) = numbers(&run, &costs, true, most);
            assert_eq!((grid.rows.len(), n_more), (most, all - most));
        }
        assert!(more_rows(0).is_empty() && more_rows(7)[0].starts_with("7 more rows"));
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
