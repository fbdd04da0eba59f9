//! Writes `report.html`: one page that contains everything it shows.

use super::answer::answer;
use super::collect::ReportRun;
use super::compare::ComparedPoint;
use super::page_figures::Group;
use super::page_tables::{facts, ledger, more_numbers, provenance, results, shown};
use super::plot_curves;
use super::summary::SummaryRow;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Holds a drawn figure.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) group: Group,
    pub(super) svgs: Vec<String>,
    pub(super) caption: String,
}

/// Returns the page's text.
pub(super) fn page(
    run: &ReportRun,
    points: &[ComparedPoint],
    rows: &[SummaryRow],
    figures: &[Figure],
    audit: Option<Markup>,
) -> String {
    let sections = sections(run, points, rows, figures, audit);
    let title = &run.manifest.spec_name;
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
                p.meta { (overview(run, points)) }
                @if let Some(text) = synthetic(run) {
                    p.notice { b { "Synthetic substitute data." } " " (text) }
                }
                p.answer { (answer(run, points)) }
                nav aria-label="Contents" {
                    ol { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                }
                @for section in &sections {
                    section id=(section.id) { h2 { (section.title) } (section.body) }
                }
                footer {
                    "Computed from the recorded parts alone; " code { "privateer report" } " makes this page again."
                }
            } }
        }
    };
    page.into_string()
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
}

fn sections(
    run: &ReportRun,
    points: &[ComparedPoint],
    rows: &[SummaryRow],
    figures: &[Figure],
    audit: Option<Markup>,
) -> Vec<Section> {
    let words = run.words();
    let titled = |regret, value, risk| match (words.adds_up, words.estimates) {
        (true, _) => regret,
        (false, true) => value,
        (false, false) => risk,
    };
    let mut sections = vec![Section { id: "results", title: "Results", body: results_text(run, points, rows) }];
    let of = |group: Group| figures.iter().enumerate().filter(move |(_, figure)| figure.group == group);
    let draw = |group: Group| html! { @for (i, figure) in of(group) { (figure_text(i + 1, figure)) } };
    if 0 < of(Group::Final).count() {
        let title = titled("Regret against what was swept", "Value against what was swept", "Risk against what was swept");
        sections.push(Section { id: "swept", title, body: draw(Group::Final) });
    }
    let curves = html! {
        (draw(Group::Curves))
        @if plot_curves::N_POINTS < points.len() {
            p {
                "The first " (plot_curves::N_POINTS) " of " (points.len()) " sweep points are drawn; "
                code { "plots/curves.csv" } " has the curves of all."
            }
        }
    };
    let title = titled("Regret against the round", "Value against the rows of the log", "Suboptimality against the round");
    sections.push(Section { id: "curves", title, body: curves });
    let body = html! {
        p {
            "What each run protects, how strongly, and whether the noise_formula used here delivers what is claimed. Provenance of \
             all numbers on this page: " b { (provenance(run)) } "."
        }
        (ledger(run))
    };
    sections.push(Section { id: "ledger", title: "Privacy ledger", body });
    if let Some(body) = audit {
        sections.push(Section { id: "audit", title: "Audit", body });
    }
    let body = html! { p { (run.manifest.environment_summary) } (facts(run)) };
    sections.push(Section { id: "problem", title: "The problem", body });
    sections.push(Section { id: "again", title: "How to get these numbers again", body: reproduce(run) });
    sections
}

fn results_text(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> Markup {
    let words = run.words();
    let (who, curve) = (words.who, words.curve);
    let more = match (words.recommends, words.adds_up) {
        (true, _) => "Average, simple and recommended regret, ",
        (false, true) => "Average regret, share of rounds in which the best arm was shown, ",
        (false, false) if words.estimates => "Standard error by the log's chance, ",
        (false, false) => "Suboptimality, ",
    };
    html! {
        p {
            (words.main_title) ": "
            @if run.manifest.trials < 2 { "one trial, so no interval" }
            @else { "mean over " (run.manifest.trials) " trials ± half of the 95 % Student-t interval" }
            "."
            @if words.estimates {
                " Every trial reads the same log in another order: this interval says nothing of the log's own chance. The standard \
                 error in the table below does; nobody is called the best."
            } @else if 1 < run.policies().len() {
                " A star marks the " (who) " of least " (words.least) " where the 95 % interval of its difference to each other "
                (who) ", taken trial by trial, leaves out zero; no correction is made for the number of comparisons."
            }
            @if run.cells.iter().any(|cell| cell.has_no_guarantee()) {
                " A dagger marks runs whose claimed privacy does not hold as calibrated here."
            }
            " All numbers are in " code { "summary.csv" } "."
        }
        (results(run, points, rows))
        details open[words.estimates] {
            @if words.estimates {
                summary { (more) "at the last row" }
            } @else {
                summary { (more) "paired differences, fitted exponents" }
                p {
                    "At the last round. The exponent is the slope of mean " (curve) " against the round on logarithmic axes, over the \
                     last nine tenths of the rounds; a dash stands where a number has no meaning."
                }
            }
            (more_numbers(run, rows))
        }
    }
}

fn figure_text(number: usize, figure: &Figure) -> Markup {
    html! {
        figure.figure.single[figure.svgs.len() == 1] {
            div.panels { @for svg in &figure.svgs { div { (PreEscaped(svg)) } } }
            figcaption { b { "Figure " (number) "." } " " (figure.caption) }
        }
    }
}

fn overview(run: &ReportRun, points: &[ComparedPoint]) -> String {
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let n_policies = run.policies().len();
    let words = run.words();
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
    let counters = shown(&manifest.counters);
    let rows = [
        ("program", format!("privateer {}", manifest.program_version)),
        ("spec hash", manifest.spec_hash.clone()),
        ("seed", manifest.seed.clone()),
        ("recorded rounds", manifest.recorded.clone()),
        ("backend", manifest.backend.clone()),
        ("adapter", manifest.adapter.clone().unwrap_or_default()),
        ("processor features", manifest.cpu_features.join(", ")),
        ("threads", manifest.threads.to_string()),
        ("counters", if counters == "–" { String::new() } else { counters }),
    ];
    html! {
        p {
            "The folder of this page holds the resolved spec. The same version of the program gives the same bytes in every part, on any \
             machine and backend:"
        }
        pre { "privateer run spec.resolved.toml --out again" }
        div.scroll { table.facts { tbody {
            @for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
                tr { th scope="row" { (name) } td.hash { (text) } }
            }
        } } }
        details { summary { "The resolved spec" } pre { (manifest.spec_text) } }
    }
}
