//! Writes `report.html`: one page that contains everything it shows.

use super::answer::Answer;
use super::canvas::parts;
use super::cell_data::once_each;
use super::collect::ReportRun;
use super::compare::Costs;
use super::figures::{Figure, Group, N_PANELS};
use super::page_ledger::{ledger, provenance};
use super::page_tables::{FALSE, facts, further_numbers, legend, misleading, results, shown};
use super::words::capital;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use privateer_config::facts::FactValue;

/// Returns the head of a page, with the style of all pages.
///
/// * `version` — of the program that made it
pub fn head(title: &str, version: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="generator" content={ "privateer " (version) };
            title { (title) " · privateer" }
            style { (PreEscaped(include_str!("page.css"))) }
        }
    }
}

pub(super) fn page(run: &ReportRun, costs: &Costs, answer: &Answer, figures: &[Figure], audit: Option<Markup>) -> String {
    let sections = sections(run, costs, figures, audit);
    let lead: Vec<(usize, &Figure)> = of_group(figures, None);
    let title = &run.manifest.spec_name;
    let misleading = misleading(run);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, &run.manifest.program_version))
            body { main {
                h1 { (title) }
                @if let Some(text) = synthetic(run) {
                    p.notice { b { "Synthetic substitute data." } " " (text) }
                }
                @for line in &misleading.falsifying {
                    p.notice { b { (FALSE) } " " (with_code(line)) }
                }
                p.answer { (with_code(&answer.lead.join(" ").replace("ε = ", "ε\u{a0}=\u{a0}").replace(" %", "\u{a0}%"))) }
                @if !lead.is_empty() { (drawn(&lead)) }
                p.meta { (overview(run)) }
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
                @for card in once_each(run.cells.iter().filter_map(|cell| cell.info.facts.get("table")?.as_str())) {
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
pub fn with_code(line: &str) -> Markup {
    html! { @for (i, part) in line.split('`').enumerate() { @if i % 2 == 1 { code { (part) } } @else { (part) } } }
}

struct Section {
    id: &'static str,
    title: String,
    body: Markup,
}

/// Returns the sections of the page; those without figures of their own are left out.
fn sections(run: &ReportRun, costs: &Costs, figures: &[Figure], audit: Option<Markup>) -> Vec<Section> {
    let (words, n_points) = (&run.words, run.index.points.len());
    let draw = |group: Group| Some(of_group(figures, Some(group))).filter(|own| !own.is_empty()).map(|own| drawn(&own));
    let curves = |drawn: Markup| {
        html! {
            (drawn)
            @if N_PANELS < n_points {
                p { "The first " (N_PANELS) " of " (n_points) " sweep points are drawn; " code { "plots/curves.csv" } " has all." }
            }
        }
    };
    let ledger = html! {
        p {
            "What each run protects, how strongly, and whether its noise delivers what is claimed. Provenance of all numbers on this \
             page: " b { (provenance(run)) } "."
        }
        (ledger(run))
    };
    let problem = html! { p { (run.manifest.environment_summary) } (facts(run)) };
    let all = [
        ("cost", "The cost of privacy".to_owned(), draw(Group::Cost)),
        ("results", "Results".to_owned(), Some(results_text(run, costs))),
        ("swept", format!("{} against what was swept", capital(words.short)), draw(Group::Swept)),
        ("curves", format!("{} against the round", capital(words.curve)), draw(Group::Curves).map(curves)),
        ("ledger", "Privacy ledger".to_owned(), Some(ledger)),
        ("audit", "Audit".to_owned(), audit),
        ("problem", "The problem".to_owned(), Some(problem)),
        ("again", "How to get these numbers again".to_owned(), Some(reproduce(run))),
    ];
    all.into_iter().filter_map(|(id, title, body)| Some(Section { id, title, body: body? })).collect()
}

fn results_text(run: &ReportRun, costs: &Costs) -> Markup {
    let words = &run.words;
    html! {
        p { (words.title()) " at the last round. All numbers are in " code { "summary.csv" } "." }
        (results(run, costs).html())
        @for note in legend(run) { p.note { (note) } }
        details open[words.estimates] {
            summary { "Further numbers of every cell" }
            p {
                @if costs.iter().any(Option::is_some) {
                    "Learnt: (guessing − private) / (guessing − reference). Times without privacy: ratio of the means. Both with \
                     paired 95 % intervals, one by one (Fieller). "
                }
                @if !words.estimates {
                    "The exponent is the slope of mean " (words.curve) " against the round on logarithmic axes, over the last nine \
                     tenths of the rounds."
                }
            }
            (further_numbers(run, costs).html())
        }
    }
}

/// Returns the figures of a section with their numbers; of no section those directly after the answer: of shares, else the first.
fn of_group(figures: &[Figure], group: Option<Group>) -> Vec<(usize, &Figure)> {
    let is_lead = |(i, figure): &(usize, &Figure)| *i == 0 || figure.group == Group::Lead;
    let numbered = figures.iter().enumerate();
    numbered.filter(|of| if is_lead(of) { group.is_none() } else { group == Some(of.1.group) }).collect()
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

fn overview(run: &ReportRun) -> String {
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let n_policies = run.policies().len();
    let words = &run.words;
    let policies = if n_policies == 1 { format!("1 {}", words.who) } else { format!("{n_policies} {}", words.many) };
    [
        run.manifest.environment_summary.clone(),
        policies,
        count(run.index.points.len(), "sweep point"),
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
        None | Some(FactValue::Missing | FactValue::Flag(false)) => None,
        Some(FactValue::Flag(true)) => Some("generated data stand in for the published set".to_owned()),
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
