//! Writes the page's privacy ledger: one card for each mechanism, and the errata that it cites in words.

use super::cell_data::{CellData, grouped, once_each};
use super::collect::ReportRun;
use super::grid::Grid;
use super::page_tables::{policies_of, shown};
use super::text::short;
use crate::record::ByText;
use maud::{Markup, html};
use privateer_config::facts::FactValue;
use privateer_privacy::mechanism::MECHANISMS;
use privateer_privacy::{Event, Factor, Guarantee, Ledger};
use std::collections::btree_map::Entry;

/// The document that lists the errata, one row each.
const ERRATA: &str = include_str!("../../docs/privacy.md");

/// Documents with the proof of a mechanism's promise, by the first letters of its name.
/// A mechanism for one reward has a document of its own name.
const PROOFS: [(&str, &str); 5] =
    [("discrete", "discrete"), ("local-gaussian", "sums"), ("privunit", "privunit"), ("batch", "batches"), ("rows", "rows")];

fn proof(mechanism: &str) -> Option<String> {
    let rewards = MECHANISMS.iter().filter(|entry| entry.name != "none").map(|entry| (entry.name, entry.name));
    let streams = Factor::STREAMS.map(|factor| (factor.name(), "sums"));
    let found = rewards.chain(PROOFS).chain(streams).find(|(start, _)| mechanism.starts_with(start));
    found.map(|(_, file)| format!("docs/proofs/{file}.md"))
}

/// Returns the fields of a card with their titles.
fn fields(ledger: &Ledger) -> [(&'static str, String); 5] {
    let model = &ledger.threat_model;
    [
        ("protects", model.unit.to_string()),
        ("against", model.adversary.to_string()),
        ("neighbours", model.neighbours_words()),
        ("participations", model.participations.to_string()),
        ("calibration", ledger.calibration.to_string()),
    ]
}

/// One ledger with the cells that it applies to.
type LedgerEntry<'a> = (&'a Ledger, Vec<&'a CellData>);

/// Returns the cards, the notes that all of them share, and a line on what has no privacy.
pub(super) fn ledger(run: &ReportRun) -> Markup {
    let (open, private): (Vec<&CellData>, Vec<&CellData>) = run.cells.iter().partition(|cell| cell.is_not_private());
    // Ledgers that agree in these fields share a card, and equal ones an entry of it.
    let stated = private.into_iter().flat_map(|cell| cell.info.ledger.stated().map(move |ledger| (ledger, cell)));
    let mut places = ByText::default();
    let entries = grouped(stated.map(|(ledger, cell)| (places.number(ledger), (ledger, cell)))).into_iter();
    let entries = entries.map(|same| (same[0].0, same.into_iter().map(|(_, cell)| cell).collect()));
    let card = |(ledger, _): &LedgerEntry<'_>| (fields(ledger), ledger.mechanism.clone(), ledger.guarantee.to_string());
    let cards: Vec<Vec<LedgerEntry<'_>>> = grouped(entries.map(|entry| (card(&entry), entry)));
    let all = || cards.iter().flatten().map(|(ledger, _)| &ledger.notes);
    let mut shared = all().next().cloned().unwrap_or_default();
    shared.retain(|note| 1 < all().count() && all().all(|notes| notes.contains(note)));
    html! {
        div.cards { @for entries in &cards { (article(run, entries, &shared)) } }
        @if !open.is_empty() { p { b { "Without privacy: " } (policies_of(&open)) "." } }
        @if !shared.is_empty() {
            p { "For all mechanisms above:" }
            ul { @for note in &shared { li { (note) (explained(note)) } } }
        }
    }
}

fn article(run: &ReportRun, entries: &[LedgerEntry<'_>], shared: &[String]) -> Markup {
    let first = entries[0].0;
    let formulas = entries.iter().map(|(ledger, _)| ledger.noise_formula.as_str());
    let formulas = once_each(formulas.filter(|formula| !formula.is_empty()));
    let notes = entries.iter().flat_map(|(ledger, _)| &ledger.notes);
    let notes = once_each(notes.filter(|note| !shared.contains(note)));
    let n_more = notes.len().saturating_sub(N_NOTES);
    let proof = proof(&first.mechanism);
    let all: Vec<&CellData> = entries.iter().flat_map(|(_, cells)| cells.iter().copied()).collect();
    let guarantee = first.guarantee.to_string();
    html! {
        article.card {
            header { h3 { (first.mechanism) } (badge(&first.guarantee)) }
            p.meta { (policies_of(&all)) }
            @if guarantee.contains("(E") { p { (explained(&guarantee)) } }
            dl {
                @for (title, text) in fields(first) { div { dt { (title) } dd { (text) (explained(&text)) } } }
                @if !formulas.is_empty() {
                    div { dt { "noise" } dd {
                        (formulas[0]) (explained(formulas[0]))
                        @if 1 < formulas.len() { " (the first of " (formulas.len()) ", by budget)" }
                    } }
                }
                @if let Some(proof) = proof { div { dt { "proof" } dd { code { (proof) } } } }
            }
            @if let Some(losses) = returning(entries) { p { "If people return twice as often unnoticed, " (losses) "." } }
            (losses(run, entries).html())
            @if !notes.is_empty() { ul { @for note in notes.iter().take(N_NOTES) { li { (note) (explained(note)) } } } }
            @if 0 < n_more { p.note { (n_more) " more notes are in manifest.json." } }
        }
    }
}

/// Returns the losses of a user who takes part twice as often as each ledger covers.
fn returning(entries: &[LedgerEntry<'_>]) -> Option<String> {
    let mut losses: Vec<String> = entries.iter().take(N_LOSSES).filter_map(|(ledger, _)| ledger.returning_twice()).collect();
    losses.dedup();
    (!losses.is_empty()).then(|| losses.join(", "))
}

/// Largest number of rows of a card's table, and of its notes.
const N_LOSSES: usize = 12;
const N_NOTES: usize = 100;

/// Returns stated and delivered losses with the noise of each ledger.
///
/// A column in which all rows agree, apart from epsilon and event, is a note instead.
fn losses(run: &ReportRun, entries: &[LedgerEntry<'_>]) -> Grid {
    let titles = ["ε", "δ", "applies to", "delivered", "clip", "event"];
    let first_names = policies_of(&entries[0].1);
    let several = entries.iter().any(|(_, cells)| policies_of(cells) != first_names);
    let all = || entries.iter().flat_map(|(_, cells)| cells);
    let mut varying = entries[0].1[0].swept.to_vec();
    varying.retain(|(key, value)| !key.ends_with("epsilon") && all().any(|cell| cell.swept(key) != Some(value)));
    let row = |(ledger, cells): &LedgerEntry<'_>| {
        // Ledgers that differ for another swept key, such as a dimension, say which one.
        let values = cells[0].swept.iter().filter(|(key, value)| {
            varying.iter().any(|(known, _)| known == key) && cells.iter().all(|cell| cell.swept(key) == Some(value))
        });
        let mut apart: Vec<String> = values.map(|swept| run.stated(swept)).collect();
        if several {
            apart.insert(0, policies_of(cells));
        }
        [
            ledger.epsilon.map_or("–".to_owned(), short),
            short(ledger.delta),
            apart.join(", "),
            ledger.delivered.clone(),
            ledger.clip.map_or("–".to_owned(), |[low, high]| format!("[{}, {}]", short(low), short(high)).replace('-', "−")),
            event(&ledger.event),
        ]
    };
    // Different rows; the first are shown.
    let (mut known, mut rows, mut differs) = (ByText::default(), Vec::new(), [true, false, false, false, false, true]);
    for row in entries.iter().map(row) {
        if let Entry::Vacant(free) = known.entry(&row) {
            free.insert(());
            (0..row.len()).for_each(|i| differs[i] |= rows.first().is_some_and(|first: &[String; 6]| first[i] != row[i]));
            if rows.len() < N_LOSSES {
                rows.push(row);
            }
        }
    }
    let mut grid = Grid::default();
    for (i, title) in titles.into_iter().enumerate().filter(|(i, _)| differs[*i]) {
        grid.column(title, title, i < 2);
    }
    let shared = (0..titles.len()).filter(|i| !differs[*i] && !["", "–"].contains(&rows[0][*i].as_str()));
    grid.notes.extend(shared.map(|i| format!("{}: {}.", titles[i], rows[0][i])));
    if rows.len() < known.len() {
        grid.notes.push(format!("{} more are in manifest.json.", known.len() - rows.len()));
    }
    let keep = |row: [String; 6]| row.into_iter().zip(differs).filter(|(_, differs)| *differs).map(|(text, _)| text).collect();
    grid.rows = rows.into_iter().map(keep).collect();
    grid
}

/// Returns an event in words: its kind, then its numbers.
fn event(event: &Event) -> String {
    let fields = FactValue::of(event);
    let kind = shown(&fields["kind"]).replace('-', " ");
    let FactValue::Table(fields) = &fields else { return kind };
    let numbers = fields
        .iter()
        .filter(|(key, _)| *key != "kind")
        .map(|(key, value)| format!("{} {}", key.replace('_', " "), value.as_f64().map_or_else(|| shown(value), short)));
    std::iter::once(kind).chain(numbers).collect::<Vec<_>>().join(", ")
}

fn badge(guarantee: &Guarantee) -> Markup {
    let class = match guarantee {
        Guarantee::Holds => "good",
        Guarantee::NoGuarantee { .. } => "bad",
        Guarantee::NotPrivate | Guarantee::Unverified { .. } => "plain",
    };
    html! { span.badge.(class) { @if *guarantee == Guarantee::Holds { "guarantee holds" } @else { (guarantee) } } }
}

/// Returns the errata that a text cites, each in words.
fn explained(text: &str) -> Markup {
    let codes = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut found: Vec<(&str, &str)> = codes.filter_map(|code| erratum(code).map(|words| (code, words))).collect();
    found.dedup();
    html! { @for (code, words) in found { " " small.erratum { (code) ": " (words) "." } } }
}

/// Returns what `docs/privacy.md` says of an erratum such as `E7`.
fn erratum(code: &str) -> Option<&'static str> {
    let digits = code.strip_prefix('E')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let row = ERRATA.lines().find_map(|line| line.strip_prefix("| ")?.strip_prefix(code)?.strip_prefix(" | "))?;
    row.split(" | ").next()
}

/// Returns the origin of the numbers, in the ledgers' own words.
pub(super) fn provenance(run: &ReportRun) -> String {
    once_each(run.cells.iter().map(|cell| cell.info.ledger.reward.provenance.to_string())).join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, planted};
    use super::*;

    #[test]
    fn every_proof_and_erratum_is_there() {
        for name in MECHANISMS.iter().map(|entry| entry.name).filter(|name| *name != "none").chain(PROOFS.map(|(name, _)| name)) {
            let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), proof(name).expect("a document"));
            assert!(std::path::Path::new(&path).is_file(), "{path}");
        }
        assert!((1..=31).all(|i| erratum(&format!("E{i}")).is_some_and(|words| words.len() > 5)));
        assert_eq!((erratum("E99"), erratum("epsilon"), erratum("E")), (None, None, None));
    }

    #[test]
    fn a_mechanism_has_one_card_for_all_budgets() {
        let broken = Planted { policy: "other", noise: Some(0.5), ..PRIVATE };
        let html = ledger(&planted(&[0.5, 2.0], &[PRIVATE, OPEN, broken], 2)).into_string();
        assert_eq!(html.matches("<article").count(), 2);
        assert!(html.contains("guarantee holds") && html.contains("E1: Laplace scale 2(B + R)/epsilon"), "{html}");
        assert!(html.contains("<b>Without privacy: </b>igp-ucb."), "{html}");
        assert_eq!(html.matches("a bias, and no loss of privacy").count(), 1);
    }
}
