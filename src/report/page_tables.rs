//! Writes the page's tables: results, ledger, facts.

use super::collect::{CellData, ReportRun};
use super::compare::{ComparedPoint, best};
use super::stats::SampleMoments;
use super::summary::SummaryRow;
use super::text::{plus_minus, short, short_key};
use maud::{Markup, html};
use privateer_config::params::Scalar;
use privateer_privacy::Guarantee;
use serde_json::Value;

/// Largest number of distinct sets of facts shown next to each other.
const N_FACT_SETS: usize = 8;

/// Returns the results: one row per sweep point, one column per policy.
///
/// A cell shows the mean final regret and half of its interval.
pub(super) fn results(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> Markup {
    let (policies, keys) = (run.policies(), run.swept_keys());
    let number = |cell_idx: Option<usize>| moments(cell_idx.and_then(|cell_idx| rows[cell_idx].main));
    let at = |point: &ComparedPoint, policy: &str| {
        point.cells.iter().copied().find(|&cell_idx| run.cells[cell_idx].info.policy == policy)
    };
    html! {
        div.scroll { table.numbers {
            thead { tr {
                (key_headers(&keys))
                @if points.iter().any(|point| keys.is_empty() && !point.label.is_empty()) { th { "environment" } }
                @for policy in &policies { th.n { (policy) } }
            } }
            tbody {
                @for (point, winner) in points.iter().map(|point| (point, best(run, point))) {
                    @let swept = &rows[point.cells[0]].swept;
                    tr {
                        (key_values(swept))
                        @if swept.is_empty() && !point.label.is_empty() { th scope="row" { (point.label) } }
                        @for cell_idx in policies.iter().map(|policy| at(point, policy)) {
                            @let is_best = winner.is_some() && winner == cell_idx;
                            td.n.best[is_best] {
                                (number(cell_idx))
                                @if is_best { " " span title="least, beyond chance" { "★" } }
                                @if cell_idx.is_some_and(|cell_idx| run.cells[cell_idx].has_no_guarantee()) {
                                    " " span title="no guarantee: see the ledger" { "†" }
                                }
                            }
                        }
                    }
                }
            }
        } }
    }
}

/// Returns a mean with half of its interval; a dash if there is none.
fn moments(moments: Option<SampleMoments>) -> String {
    moments.map_or("–".to_owned(), |moments| plus_minus(moments.mean, moments.half).replace('-', "−"))
}

/// Returns the headers of the swept keys: short where unambiguous, with the whole key on hovering.
fn key_headers(keys: &[&str]) -> Markup {
    html! { @for key in keys { th title=(key) { (short_key(key, keys)) } } }
}

/// Returns the values of the swept keys, as headers of a row.
fn key_values(swept: &[(String, Scalar)]) -> Markup {
    html! { @for (_, value) in swept { th scope="row" { (value) } } }
}

/// Returns every cell with its other numbers.
pub(super) fn more_numbers(run: &ReportRun, rows: &[SummaryRow]) -> Markup {
    let words = run.words();
    let compares = !words.estimates;
    let less = format!("less first {}", words.who);
    let second = if words.recommends { "simple regret" } else { words.second };
    let exponent =
        |row: &SummaryRow| row.exponent.map_or("–".to_owned(), |exponent| format!("{exponent:.2}").replace('-', "−"));
    html! {
        div.scroll { table.numbers {
            thead { tr {
                (key_headers(&run.swept_keys()))
                th { (words.who) }
                @if words.adds_up { th.n { "per round" } }
                th.n { (second) }
                @if words.recommends { th.n { "recommended" } }
                @if compares { th.n { (less) } th.n { "exponent" } }
            } }
            tbody {
                @for row in rows {
                    tr {
                        (key_values(&row.swept))
                        th scope="row" { (row.policy) }
                        @if words.adds_up { td.n { (moments(row.average_regret)) } }
                        td.n { (moments(row.second)) }
                        @if words.recommends { td.n { (moments(row.recommended_regret)) } }
                        @if compares { td.n { (moments(row.paired_difference)) } td.n { (exponent(row)) } }
                    }
                }
            }
        } }
    }
}

/// Returns the cells grouped by equal values of a field, in order of first appearance.
fn distinct(run: &ReportRun, field: impl Fn(&CellData) -> &Value) -> Vec<(&CellData, Vec<&CellData>)> {
    let mut groups: Vec<(&CellData, Vec<&CellData>)> = Vec::new();
    for cell in &run.cells {
        match groups.iter_mut().find(|(first, _)| field(first) == field(cell)) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((cell, vec![cell])),
        }
    }
    groups
}

/// Places in a ledger, as JSON pointers, with their titles.
const LEDGER_COLUMNS: [(&str, &str); 13] = [
    ("/guarantee", "guarantee"),
    ("/epsilon", "ε"),
    ("/delta", "δ"),
    ("/mechanism", "mechanism"),
    ("/calibration", "calibration"),
    ("/threat_model/unit/words", "protects"),
    ("/threat_model/adversary/words", "against"),
    ("/threat_model/neighbours/words", "neighbours"),
    ("/threat_model/participations/words", "participations"),
    ("/claimed", "claimed"),
    ("/delivered", "delivered"),
    ("/clip", "clip"),
    ("/event", "event"),
];

/// Columns that stay in the table even if all rows agree.
const ALWAYS_SHOWN: [&str; 3] = ["/guarantee", "/epsilon", "/mechanism"];

/// Returns one row per distinct ledger, and marks guarantees that do not hold.
///
/// Entries that all rows share are stated once, below.
pub(super) fn ledger(run: &ReportRun) -> Markup {
    let policies = run.policies();
    let mut groups: Vec<(&Value, Vec<&CellData>)> = Vec::new();
    for (first, cells) in distinct(run, |cell| &cell.info.ledger) {
        // If only the inputs are protected, the reward's ledger is left out.
        let rewards = first.inputs_ledger().is_none() || first.ledger_text("guarantee") != "not private";
        let ledgers = [rewards.then_some(&first.info.ledger), first.inputs_ledger()];
        groups.extend(ledgers.into_iter().flatten().map(|ledger| (ledger, cells.clone())));
    }
    let text_of = |ledger: &Value, place: &str| shown(ledger.pointer(place).unwrap_or(&Value::Null));
    let is_shared =
        |key: &str| 1 < groups.len() && groups.windows(2).all(|pair| text_of(pair[0].0, key) == text_of(pair[1].0, key));
    let (columns, shared): (Vec<_>, Vec<_>) =
        LEDGER_COLUMNS.into_iter().partition(|(key, _)| ALWAYS_SHOWN.contains(key) || !is_shared(key));
    let common = groups.first().map(|(first, _)| notes_of(first));
    let common = common.filter(|notes| notes != "–" && groups.iter().all(|(first, _)| notes_of(first) == *notes));
    let mut below: Vec<String> = shared
        .iter()
        .filter_map(|(key, title)| groups.first().map(|(first, _)| format!("{title}: {}", text_of(first, key))))
        .collect();
    below.extend(common.clone());
    groups.sort_by_key(|(_, cells)| {
        policies.iter().position(|policy| cells.first().is_some_and(|cell| *policy == cell.info.policy))
    });
    html! {
        div.scroll { table.ledger {
            thead { tr { th { "applies to" } @for (_, title) in &columns { th { (title) } } } }
            tbody {
                @for (first, cells) in &groups {
                    tr {
                        th scope="row" { (named(cells)) }
                        @for (key, _) in &columns {
                            td { @if *key == "/guarantee" { (guarantee(&text_of(first, key))) } @else { (text_of(first, key)) } }
                        }
                    }
                    @let notes = notes_of(first);
                    @if notes != "–" && common.is_none() {
                        tr.notes { td {} td colspan=(columns.len()) { (notes) } }
                    }
                }
            }
        } }
        @if !below.is_empty() {
            p { "For all rows:" }
            ul { @for text in &below { li { (text) } } }
        }
    }
}

fn notes_of(ledger: &Value) -> String {
    shown(ledger.get("notes").unwrap_or(&Value::Null))
}

/// Returns the origin of the numbers, in the ledgers' own words.
pub(super) fn provenance(run: &ReportRun) -> String {
    let mut known: Vec<&str> = Vec::new();
    for cell in &run.cells {
        let text = match cell.ledger_text("provenance") {
            "" => "simulated: not a private release",
            text => text,
        };
        if !known.contains(&text) {
            known.push(text);
        }
    }
    known.join("; ")
}

fn guarantee(text: &str) -> Markup {
    let class = match Guarantee::try_from(text.to_owned()) {
        Ok(Guarantee::Holds) => "good",
        Ok(Guarantee::NoGuarantee { .. }) | Err(_) => "bad",
        Ok(Guarantee::NotPrivate | Guarantee::Unverified { .. }) => "plain",
    };
    html! { span.badge.(class) { (text) } }
}

fn named(cells: &[&CellData]) -> String {
    let mut policies: Vec<&str> = Vec::new();
    for cell in cells {
        if !policies.contains(&cell.info.policy.as_str()) {
            policies.push(&cell.info.policy);
        }
    }
    let names = policies.join(", ");
    // Cells of one sweep point share its values, so the policies come first and the values once.
    match cells.first() {
        Some(first) if cells.iter().all(|cell| cell.info.swept == first.info.swept) => {
            let values = first.info.swept.iter().map(|(key, value)| format!(" · {key} = {value}"));
            values.fold(names, |text, value| text + &value)
        }
        _ => format!("{names} ({} cells)", cells.len()),
    }
}

/// Returns the facts: one row per fact, one column per distinct set.
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
    html! {
        div.scroll { table.facts {
            @if 1 < groups.len() {
                thead { tr { th {} @for (_, cells) in shown_groups { th.n { (what_differs(run, cells)) } } } }
            }
            tbody {
                @for key in keys {
                    tr {
                        th scope="row" { (key.replace('_', " ")) }
                        @for (first, _) in shown_groups { td.n { (shown(first.info.facts.get(key).unwrap_or(&Value::Null))) } }
                    }
                }
            }
        } }
        @if N_FACT_SETS < groups.len() {
            p { (groups.len() - N_FACT_SETS) " more sets of facts are in manifest.json." }
        }
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
    let mut words: Vec<String> = apart.map(|(key, value)| format!("{} = {value}", short_key(key, &keys))).collect();
    if cells.iter().all(|cell| cell.info.policy == cells[0].info.policy) && 1 < run.policies().len() {
        words.insert(0, cells[0].info.policy.clone());
    }
    if words.is_empty() { named(cells) } else { words.join(", ") }
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
