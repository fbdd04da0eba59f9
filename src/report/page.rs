//! Writes `report.html`: one page that contains everything it shows.

use super::answer::answer;
use super::collect::ReportRun;
use super::compare::ComparedPoint;
use super::page_figures::Group;
use super::page_tables::{facts, ledger, more_numbers, provenance, results, shown};
use super::plot_curves;
use super::summary::SummaryRow;
use super::text::escape;

/// Holds a drawn figure.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) group: Group,
    pub(super) svgs: Vec<String>,
    pub(super) caption: String,
}

/// The page's text.
pub(super) fn page(
    run: &ReportRun,
    points: &[ComparedPoint],
    rows: &[SummaryRow],
    figures: &[Figure],
    audit: Option<String>,
) -> String {
    let sections = sections(run, points, rows, figures, audit);
    let title = escape(&run.manifest.spec_name);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"privateer {}\">\n<title>{title} · privateer</title>\n<style>\n{}</style>\n\
         </head>\n<body>\n<main>\n<h1>{title}</h1>\n",
        escape(&run.manifest.program_version),
        include_str!("page.css"),
    );
    html += &format!("<p class=\"meta\">{}</p>\n", escape(&overview(run, points)));
    html += &synthetic(run);
    html += &format!("<p class=\"answer\">{}</p>\n", escape(&answer(run, points)));
    html += "<nav aria-label=\"Contents\"><ol>";
    for section in &sections {
        html += &format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.title);
    }
    html += "</ol></nav>\n";
    for section in &sections {
        html += &format!("<section id=\"{}\">\n<h2>{}</h2>\n{}\n</section>\n", section.id, section.title, section.body);
    }
    html += "<footer>Computed from the recorded parts alone; <code>privateer report</code> makes this page again.</footer>\n";
    html + "</main>\n</body>\n</html>\n"
}

struct Section {
    id: &'static str,
    title: &'static str,
    body: String,
}

fn sections(
    run: &ReportRun,
    points: &[ComparedPoint],
    rows: &[SummaryRow],
    figures: &[Figure],
    audit: Option<String>,
) -> Vec<Section> {
    let mut sections = vec![Section { id: "results", title: "Results", body: results_text(run, points, rows) }];
    let of = |group: Group| figures.iter().enumerate().filter(move |(_, figure)| figure.group == group);
    let draw = |group: Group| of(group).map(|(i, figure)| figure_text(i + 1, figure)).collect::<String>();
    if 0 < of(Group::Final).count() {
        let title = match (run.words().adds_up, run.words().estimates) {
            (true, _) => "Regret against what was swept",
            (false, true) => "Value against what was swept",
            (false, false) => "Risk against what was swept",
        };
        sections.push(Section { id: "swept", title, body: draw(Group::Final) });
    }
    let mut curves = draw(Group::Curves);
    if plot_curves::N_POINTS < points.len() {
        curves += &format!(
            "<p>The first {} of {} sweep points are drawn; <code>plots/curves.csv</code> has the curves of all.</p>",
            plot_curves::N_POINTS,
            points.len()
        );
    }
    sections.push(Section {
        id: "curves",
        title: match (run.words().adds_up, run.words().estimates) {
            (true, _) => "Regret against the round",
            (false, true) => "Value against the rows of the log",
            (false, false) => "Suboptimality against the round",
        },
        body: curves,
    });
    let body = format!(
        "<p>What each run protects, how strongly, and whether the noise_formula used here delivers what is claimed. \
         Provenance of all numbers on this page: <b>{}</b>.</p>\n{}",
        escape(&provenance(run)),
        ledger(run)
    );
    sections.push(Section { id: "ledger", title: "Privacy ledger", body });
    if let Some(body) = audit {
        sections.push(Section { id: "audit", title: "Audit", body });
    }
    let body = format!("<p>{}</p>\n{}", escape(&run.manifest.environment_summary), facts(run));
    sections.push(Section { id: "problem", title: "The problem", body });
    sections.push(Section { id: "again", title: "How to get these numbers again", body: reproduce(run) });
    sections
}

fn results_text(run: &ReportRun, points: &[ComparedPoint], rows: &[SummaryRow]) -> String {
    let words = run.words();
    let (who, curve) = (words.who, words.curve);
    let more = match (words.recommends, words.adds_up) {
        (true, _) => "Average, simple and recommended regret, ",
        (false, true) => "Average regret, share of rounds in which the best arm was shown, ",
        (false, false) if words.estimates => "Standard error by the log's chance, ",
        (false, false) => "Suboptimality, ",
    };
    let half = if run.manifest.trials < 2 {
        "one trial, so no interval".to_owned()
    } else {
        format!("mean over {} trials ± half of the 95 % Student-t interval", run.manifest.trials)
    };
    let best = if words.estimates {
        " Every trial reads the same log in another order: this interval says nothing of the log's own chance. The standard error in the table \
         below does; nobody is called the best."
            .to_owned()
    } else if 1 < run.policies().len() {
        format!(
            " A star marks the {who} of least {} where the 95 % interval of its difference to each other {who}, taken trial by \
             trial, leaves out zero; no correction is made for the number of comparisons.",
            words.least
        )
    } else {
        String::new()
    };
    let broken = if run.cells.iter().any(|cell| cell.has_no_guarantee()) {
        " A dagger marks runs whose claimed privacy does not hold as calibrated here."
    } else {
        ""
    };
    if words.estimates {
        return format!(
            "<p>{}: {half}.{best}{broken} All numbers are in <code>summary.csv</code>.</p>\n{}\n<details open><summary>{more}at the last row</summary>{}</details>",
            words.main_title,
            results(run, points, rows),
            more_numbers(run, rows)
        );
    }
    format!(
        "<p>{}: {half}.{best}{broken} All numbers are in <code>summary.csv</code>.</p>\n{}\n\
         <details><summary>{more}paired differences, fitted exponents</summary>\
         <p>At the last round. The exponent is the slope of mean {curve} against the round on logarithmic \
         axes, over the last nine tenths of the rounds; a dash stands where a number has no meaning.</p>\n{}</details>",
        words.main_title,
        results(run, points, rows),
        more_numbers(run, rows)
    )
}

fn figure_text(number: usize, figure: &Figure) -> String {
    let class = if figure.svgs.len() == 1 { "figure single" } else { "figure" };
    format!(
        "<figure class=\"{class}\"><div class=\"panels\">{}</div><figcaption><b>Figure {number}.</b> {}</figcaption></figure>\n",
        figure.svgs.iter().map(|svg| format!("<div>{svg}</div>")).collect::<String>(),
        escape(&figure.caption)
    )
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

/// Returns a visible warning if synthetic data replace a published data set.
fn synthetic(run: &ReportRun) -> String {
    let flag = |cell: &super::collect::CellData| match cell.info.facts.get("synthetic") {
        None | Some(serde_json::Value::Null | serde_json::Value::Bool(false)) => None,
        Some(serde_json::Value::Bool(true)) => Some("generated data stand in for the published set".to_owned()),
        Some(other) => Some(shown(other)),
    };
    run.cells
        .iter()
        .find_map(flag)
        .map_or(String::new(), |text| format!("<p class=\"notice\"><b>Synthetic substitute data.</b> {}</p>\n", escape(&text)))
}

fn reproduce(run: &ReportRun) -> String {
    let manifest = &run.manifest;
    let mut html = "<p>The folder of this page holds the resolved spec. The same version of the program gives the same \
                    bytes in every part, on any machine and backend:</p>\n\
                    <pre>privateer run spec.resolved.toml --out again</pre>\n\
                    <div class=\"scroll\"><table class=\"facts\"><tbody>"
        .to_owned();
    let mut row = |name: &str, text: &str| {
        if !text.is_empty() {
            html += &format!("<tr><th scope=\"row\">{name}</th><td class=\"hash\">{}</td></tr>", escape(text));
        }
    };
    row("program", &format!("privateer {}", manifest.program_version));
    row("spec hash", &manifest.spec_hash);
    row("seed", &manifest.seed);
    row("recorded rounds", &manifest.recorded);
    row("backend", &manifest.backend);
    row("adapter", manifest.adapter.as_deref().unwrap_or(""));
    row("processor features", &manifest.cpu_features.join(", "));
    row("threads", &manifest.threads.to_string());
    let counters = shown(&manifest.counters);
    row("counters", if counters == "–" { "" } else { &counters });
    html += "</tbody></table></div>\n";
    html + &format!("<details><summary>The resolved spec</summary><pre>{}</pre></details>", escape(&manifest.spec_text))
}
