//! Writes the page's privacy ledger: one card for each mechanism, and the errata that it cites in words.

use super::cell_data::CellData;
use super::collect::ReportRun;
use super::grid::Grid;
use super::page_tables::{policies_of, shown};
use super::text::{short, short_key, swept_text};
use maud::{Markup, html};
use privateer_privacy::Guarantee;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The document that lists the errata, one row each.
const ERRATA: &str = include_str!("../../docs/privacy.md");

/// Documents with the proof of a mechanism's promise, by the first letters of its name.
const PROOFS: [(&str, &str); 10] = [
    ("laplace", "laplace.md"),
    ("duchi", "duchi.md"),
    ("piecewise", "piecewise.md"),
    ("hybrid", "hybrid.md"),
    ("gaussian", "gaussian.md"),
    ("discrete", "discrete.md"),
    ("local-gaussian", "sums.md"),
    ("tree", "sums.md"),
    ("blt", "sums.md"),
    ("rows", "rows.md"),
];

/// Fields of a card, as places in a ledger with their titles.
const FIELDS: [(&str, &str); 5] = [
    ("/threat_model/unit/words", "protects"),
    ("/threat_model/adversary/words", "against"),
    ("/threat_model/neighbours/words", "neighbours"),
    ("/threat_model/participations/words", "participations"),
    ("/calibration", "calibration"),
];

/// One ledger with the cells that it applies to.
type Entry<'a> = (&'a Value, Vec<&'a CellData>);

fn text_of(ledger: &Value, place: &str) -> String {
    shown(ledger.pointer(place).unwrap_or(&Value::Null))
}

fn notes_of(ledger: &Value) -> Vec<String> {
    ledger.get("notes").and_then(Value::as_array).map_or(Vec::new(), |notes| notes.iter().map(shown).collect())
}

/// Returns the cards, the notes that all of them share, and a line on what has no privacy.
pub(super) fn ledger(run: &ReportRun) -> Markup {
    let mut cards: Vec<Vec<Entry<'_>>> = Vec::new();
    let mut open: Vec<&CellData> = Vec::new();
    // Ledgers that agree in these fields share a card, and equal ones an entry of it.
    let fields_of = |ledger: &Value| -> Vec<String> {
        let places = FIELDS.iter().map(|(place, _)| *place).chain(["/mechanism", "/guarantee"]);
        places.map(|place| text_of(ledger, place)).collect()
    };
    let (mut card_of, mut entry_of) = (BTreeMap::new(), BTreeMap::new());
    for cell in &run.cells {
        if cell.is_not_private() {
            open.push(cell);
            continue;
        }
        // If only the inputs are protected, the reward's ledger is left out.
        let rewards = cell.inputs_ledger().is_none() || cell.ledger_text("guarantee") != "not private";
        for ledger in [rewards.then_some(cell.info.ledger.as_ref()), cell.inputs_ledger()].into_iter().flatten() {
            let (at, place) = *entry_of.entry(ledger.to_string()).or_insert_with(|| {
                let next = cards.len();
                let at = *card_of.entry(fields_of(ledger)).or_insert(next);
                if at == next {
                    cards.push(Vec::new());
                }
                cards[at].push((ledger, Vec::new()));
                (at, cards[at].len() - 1)
            });
            cards[at][place].1.push(cell);
        }
    }
    let all = || cards.iter().flatten().map(|(ledger, _)| notes_of(ledger));
    let mut shared = all().next().unwrap_or_default();
    shared.retain(|note| 1 < all().count() && all().all(|notes| notes.contains(note)));
    html! {
        div.cards { @for entries in &cards { (card(run, entries, &shared)) } }
        @if !open.is_empty() { p { b { "Without privacy: " } (policies_of(&open)) "." } }
        @if !shared.is_empty() {
            p { "For all mechanisms above:" }
            ul { @for note in &shared { li { (note) (explained(note)) } } }
        }
    }
}

fn card(run: &ReportRun, entries: &[Entry<'_>], shared: &[String]) -> Markup {
    let first = entries[0].0;
    let mechanism = text_of(first, "/mechanism");
    let mut formulas: Vec<String> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for (ledger, _) in entries {
        let formula = text_of(ledger, "/noise_formula");
        if formula != "–" && !formulas.contains(&formula) {
            formulas.push(formula);
        }
        for note in notes_of(ledger) {
            if !notes.contains(&note) && !shared.contains(&note) {
                notes.push(note);
            }
        }
    }
    let proof = PROOFS.iter().find(|(start, _)| mechanism.starts_with(start)).map(|(_, file)| format!("docs/proofs/{file}"));
    let all: Vec<&CellData> = entries.iter().flat_map(|(_, cells)| cells.iter().copied()).collect();
    let guarantee = text_of(first, "/guarantee");
    html! {
        article.card {
            header { h3 { (mechanism) } (badge(&guarantee)) }
            p.meta { (policies_of(&all)) }
            @if guarantee.contains("(E") { p { (explained(&guarantee)) } }
            dl {
                @for (place, title) in FIELDS {
                    @let text = text_of(first, place);
                    @if text != "–" { div { dt { (title) } dd { (text) (explained(&text)) } } }
                }
                @if !formulas.is_empty() {
                    div { dt { "noise" } dd {
                        (formulas[0]) (explained(&formulas[0]))
                        @if 1 < formulas.len() { " (the first of " (formulas.len()) ", by budget)" }
                    } }
                }
                @if let Some(proof) = proof { div { dt { "proof" } dd { code { (proof) } } } }
            }
            (losses(run, entries).html())
            @if !notes.is_empty() { ul { @for note in &notes { li { (note) (explained(note)) } } } }
        }
    }
}

/// Largest number of rows of a card's table.
const N_LOSSES: usize = 12;

/// Returns stated and delivered losses with the noise of each ledger.
///
/// A column in which all rows agree, apart from epsilon and event, is a note instead.
fn losses(run: &ReportRun, entries: &[Entry<'_>]) -> Grid {
    let keys = run.swept_keys();
    let titles = ["ε", "δ", "applies to", "delivered", "clip", "event"];
    let names = |cells: &[&CellData]| policies_of(cells);
    let first_names = names(&entries[0].1);
    let several = entries.iter().any(|(_, cells)| names(cells) != first_names);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut known = BTreeSet::new();
    for (ledger, cells) in entries {
        // Ledgers that differ for another swept key, such as a dimension, say which one.
        let values = cells[0].info.swept.iter().filter(|(key, value)| {
            !key.ends_with("epsilon")
                && cells.iter().all(|cell| cell.swept(key) == Some(value))
                && entries.iter().any(|(_, others)| others.iter().any(|other| other.swept(key) != Some(value)))
        });
        let mut apart: Vec<String> =
            values.map(|(key, value)| format!("{} = {}", short_key(key, &keys), swept_text(value))).collect();
        if several {
            apart.insert(0, names(cells));
        }
        let (clip, event) = (clip(&ledger["clip"]), event(&ledger["event"]));
        let row = vec![
            text_of(ledger, "/epsilon"),
            text_of(ledger, "/delta"),
            apart.join(", "),
            text_of(ledger, "/delivered"),
            clip,
            event,
        ];
        if known.insert(row.clone()) {
            rows.push(row);
        }
    }
    let mut grid = Grid::default();
    let stays = |i: usize| i == 0 || i == 5 || rows.iter().any(|row| row[i] != rows[0][i]);
    for (i, title) in titles.into_iter().enumerate().filter(|(i, _)| stays(*i)) {
        grid.column(title, title, i < 2);
    }
    let shared = (0..titles.len()).filter(|i| !stays(*i) && !["", "–"].contains(&rows[0][*i].as_str()));
    grid.notes.extend(shared.map(|i| format!("{}: {}.", titles[i], rows[0][i])));
    if N_LOSSES < rows.len() {
        grid.notes.push(format!("{} more are in manifest.json.", rows.len() - N_LOSSES));
    }
    let keep = |row: Vec<String>| row.into_iter().enumerate().filter(|(i, _)| stays(*i)).map(|(_, text)| text).collect();
    grid.rows = rows.iter().take(N_LOSSES).cloned().map(keep).collect();
    grid
}

fn clip(value: &Value) -> String {
    match value.as_array().map(Vec::as_slice) {
        Some([low, high]) => format!("[{}, {}]", shown(low), shown(high)).replace('-', "−"),
        _ => shown(value),
    }
}

/// Returns an event in words: its kind, then its numbers.
fn event(value: &Value) -> String {
    let Some(fields) = value.as_object() else { return shown(value) };
    let kind = fields.get("kind").map_or(String::new(), shown).replace('-', " ");
    let numbers = fields.iter().filter(|(key, _)| *key != "kind").map(|(key, value)| match value.as_f64() {
        Some(number) => format!("{} {}", key.replace('_', " "), short(number)),
        None => format!("{} {}", key.replace('_', " "), shown(value)),
    });
    std::iter::once(kind).chain(numbers).collect::<Vec<_>>().join(", ")
}

fn badge(text: &str) -> Markup {
    let class = match Guarantee::try_from(text.to_owned()) {
        Ok(Guarantee::Holds) => "good",
        Ok(Guarantee::NoGuarantee { .. }) | Err(_) => "bad",
        Ok(Guarantee::NotPrivate | Guarantee::Unverified { .. }) => "plain",
    };
    html! { span.badge.(class) { @if text == "holds" { "guarantee holds" } @else { (text) } } }
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

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::*;

    #[test]
    fn every_proof_and_erratum_is_there() {
        for (_, file) in PROOFS {
            let path = format!("{}/docs/proofs/{file}", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&path).is_file(), "{path}");
        }
        assert!((1..=31).all(|i| erratum(&format!("E{i}")).is_some_and(|words| words.len() > 5)));
        assert_eq!((erratum("E99"), erratum("epsilon"), erratum("E")), (None, None, None));
    }

    #[test]
    fn a_mechanism_has_one_card_for_all_budgets() {
        let folder = tempfile::tempdir().expect("a folder");
        let broken = Planted { policy: "other", guarantee: "no guarantee: the noise is too small (E1)", ..PRIVATE };
        plant(folder.path(), &[0.5, 2.0], &[PRIVATE, OPEN, broken], 2);
        let run = ReportRun::read(folder.path(), None).expect("read");
        let html = ledger(&run).into_string();
        assert_eq!(html.matches("<article").count(), 2);
        assert!(html.contains("guarantee holds") && html.contains("E1: Laplace scale 2(B + R)/epsilon"), "{html}");
        assert!(html.contains("<b>Without privacy: </b>igp-ucb."), "{html}");
        assert_eq!(html.matches("rewards are clipped to [-1, 1]").count(), 1);
    }
}
