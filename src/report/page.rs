//! Writes `report.html`: one page that contains everything it shows.

use super::answer::Answer;
use super::canvas::parts;
use super::collect::ReportRun;
use super::compare::ComparedPoint;
use super::figures::{Figure, Group, N_PANELS};
use super::page_ledger::{ledger, provenance};
use super::page_tables::{FALSE, distinct, facts, legend, misleading, numbers, results, shown};
use super::summary::SummaryRow;
use super::words::capital;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Returns the page's text.
pub(super) fn page(
    run: &ReportRun,
    points: &[ComparedPoint],
    rows: &[SummaryRow],
    answer: &Answer,
    figures: &[Figure],
    audit: Option<Markup>,
) -> String {
    let sections = sections(run, points, rows, figures, audit);
    let lead = figures.iter().enumerate().filter(|(i, figure)| is_lead(figures, *i, figure));
    let lead: Vec<(usize, &Figure)> = lead.collect();
    let title = &run.manifest.spec_name;
    let misleading = misleading(run);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "privateer " (run.manifest.program_version) };
                title { (title) " · privateer" }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body { main {
                h1 { (title) }
                @if let Some(text) = synthetic(run) {
                    p.notice { b { "Synthetic substitute data." } " " (text) }
                }
                @for line in &misleading.falsifying {
                    p.notice { b { (FALSE) } " " (with_code(line)) }
                }
                p.answer { (with_code(&answer.lead.join(" ").replace("ε = ", "ε\u{a0}=\u{a0}"))) }
                @if !lead.is_empty() { (drawn(&lead)) }
                p.meta { (overview(run, points)) }
                ul.details { @for line in &answer.details { li { (with_code(line)) } } }
                @if !misleading.lines.is_empty() {
                    div.notice { b { "Settings that mislead." } ul { @for line in &misleading.lines { li { (with_code(line)) } } } }
                }
                @if !misleading.accepted.is_empty() {
                    details.notice {
                        summary { "Settings that the specification means, although they may mislead." }
                        ul { @for line in &misleading.accepted { li { (with_code(line)) } } }
                    }
                }
                @for card in distinct(run, |cell| &cell.info.facts["table"]).iter().filter_map(|(card, _)| card.info.facts["table"].as_str()) {
                    p.note { "The table " (card) "." }
                }
                nav aria-label="Contents" {
                    ol { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                }
                @for section in &sections {
                    section id=(section.id) { h2 { (section.title) } (section.body) }
                }
                footer {
                    "Computed from the recorded parts alone; " code { "privateer report" } " makes this page again."
                }
                script { (PreEscaped(include_str!("page.js"))) }
            } }
        }
    };
    page.into_string()
}

/// Returns a sentence with what stands between backquotes as code.
fn with_code(line: &str) -> Markup {
    html! { @for (i, part) in line.split('`').enumerate() { @if i % 2 == 1 { code { (part) } } @else { (part) } } }
}

struct Section {
    id: &'static str,
    title: String,
    body: Markup,
}

fn sections(
    run: &ReportRun,
    points: &[ComparedPoint],
    rows: &[SummaryRow],
    figures: &[Figure],
    audit: Option<Markup>,
) -> Vec<Section> {
    let words = &run.words;
    let of = |group: Group| {
        figures.iter().enumerate().filter(move |(i, figure)| figure.group == group && !is_lead(figures, *i, figure))
    };
    let draw = |group: Group| drawn(&of(group).collect::<Vec<_>>());
    let mut sections = Vec::new();
    if 0 < of(Group::Cost).count() {
        sections.push(Section { id: "cost", title: "The cost of privacy".to_owned(), body: draw(Group::Cost) });
    }
    sections.push(Section { id: "results", title: "Results".to_owned(), body: results_text(run, points, rows) });
    if 0 < of(Group::Swept).count() {
        let title = format!("{} against what was swept", capital(words.short));
        sections.push(Section { id: "swept", title, body: draw(Group::Swept) });
    }
    let has_curves = 0 < of(Group::Curves).count();
    let curves = html! {
        (draw(Group::Curves))
        @if N_PANELS < points.len() {
            p { "The first " (N_PANELS) " of " (points.len()) " sweep points are drawn; " code { "plots/curves.csv" } " has all." }
        }
    };
    if has_curves {
        sections.push(Section { id: "curves", title: format!("{} against the round", capital(words.curve)), body: curves });
    }
    let body = html! {
        p {
            "What each run protects, how strongly, and whether its noise delivers what is claimed. Provenance of all numbers on this \
             page: " b { (provenance(run)) } "."
        }
        (ledger(run))
    };
    sections.push(Section { id: "ledger", title: "Privacy ledger".to_owned(), body });
    if let Some(body) = audit {
        sections.push(Section { id: "audit", title: "Audit".to_owned(), body });
    }
    let body = html! { p { (run.manifest.environment_summary) } (facts(run)) };
    sections.push(Section { id: "problem", title: "The problem".to_owned(), body });
    sections.push(Section { id: "again", title: "How to get these numbers again".to_owned(), body: reproduce(run) });
    sections
}

fn results_text(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> Markup {
    let words = &run.words;
    let grid = results(run, points, rows);
    html! {
        p { (words.title()) " at the last round. All numbers are in " code { "summary.csv" } "." }
        (grid.html())
        @for note in legend(run, points) { p.note { (note) } }
        details open[words.estimates] {
            summary { "Further numbers of every cell" }
            p {
                @if rows.iter().any(|row| row.cost.is_some()) {
                    "Learnt: (guessing − private) / (guessing − reference). Times without privacy: ratio of the means. Both with \
                     paired 95 % intervals, one by one (Fieller). "
                }
                @if !words.estimates {
                    "The exponent is the slope of mean " (words.curve) " against the round on logarithmic axes, over the last nine \
                     tenths of the rounds."
                }
            }
            (numbers(run, points, rows, true).html())
        }
    }
}

/// Returns whether a figure stands directly after the answer: those of shares, else the first one.
fn is_lead(figures: &[Figure], i: usize, figure: &Figure) -> bool {
    figure.group == Group::Lead || (i == 0 && figures[0].group != Group::Lead)
}

/// Returns figures with their numbers on the page; a reader chooses among those that differ in their swept key.
fn drawn(figures: &[(usize, &Figure)]) -> Markup {
    let are_small = figures.iter().all(|(_, figure)| figure.chart.panels.len() == 1);
    html! {
        div class=(if are_small { "pair" } else { "group" }) {
            @for (i, figure) in figures {
                figure.figure data-x=[(!figure.x.is_empty()).then_some(&figure.x)] data-file=(figure.stem) {
                    (parts(&figure.chart))
                    figcaption { b { "Figure " (i + 1) "." } " " (with_code(&figure.caption)) " File: " code { "plots/" (figure.stem) ".svg" } "." }
                }
            }
        }
    }
}

fn overview(run: &ReportRun, points: &[ComparedPoint]) -> String {
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let n_policies = run.policies().len();
    let words = &run.words;
    let policies = if n_policies == 1 { format!("1 {}", words.who) } else { format!("{n_policies} {}", words.many) };
    [
        run.manifest.environment_summary.clone(),
        policies,
        count(points.len(), "sweep point"),
        count(run.manifest.trials as usize, "trial"),
        count(run.manifest.rounds as usize, "round"),
    ]
    .into_iter()
    .filter(|text| !text.is_empty())
    .collect::<Vec<_>>()
    .join(" · ")
}

/// Returns the text of a visible warning if synthetic data replace a published data set.
fn synthetic(run: &ReportRun) -> Option<String> {
    run.cells.iter().find_map(|cell| match cell.info.facts.get("synthetic") {
        None | Some(serde_json::Value::Null | serde_json::Value::Bool(false)) => None,
        Some(serde_json::Value::Bool(true)) => Some("generated data stand in for the published set".to_owned()),
        Some(other) => Some(shown(other)),
    })
}

fn reproduce(run: &ReportRun) -> Markup {
    let manifest = &run.manifest;
    let rows = [
        ("program", format!("privateer {}", manifest.program_version)),
        ("spec hash", manifest.spec_hash.clone()),
        ("seed", manifest.seed.clone()),
        ("recorded rounds", manifest.recorded.clone()),
    ];
    html! {
        p {
            "The folder of this page holds the resolved spec. The same version of the program gives the same bytes in every file, on any \
             machine and backend, but in " code { "run.json" } " (backend, threads, counts) and " code { "timings.csv" } ":"
        }
        pre { "privateer run spec.resolved.toml --out again" }
        dl.facts {
            @for (name, text) in &rows { div { dt { (name) } dd.hash { (text) } } }
        }
        details { summary { "The resolved spec" } pre { (manifest.spec_text) } }
    }
}
