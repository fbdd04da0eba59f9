//! Reads online convex runs: `[problem]` and `[[learner]]`, not `[environment]` and `[[policy]]`.

use super::OnlinePlan;
use super::cell::{CellPlan, Role, Task};
use super::privacy::{self, RequestDocs};
use super::resolved::SharedValues;
use super::written::{json_of, nested, note_defaults, overlaid, tables, written_json};
use crate::oco::learner::{GradientRequest, Rates};
use crate::oco::problem::ProblemPlan;
use crate::registry::{LEARNERS, PROBLEMS};
use crate::spec::path;
use privateer_config::error::{Diagnostic, Place, Sources};
use privateer_config::params::{Args, KeyDoc, Scalar, Sink, Table, Value};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

const KEYS: [&str; 10] = [
    "mechanism",
    "calibration",
    "epsilon",
    "delta",
    "participations",
    "separation",
    "clip",
    "factorisation",
    "stated_smoothness",
    "stated_lipschitz",
];

/// Returns the keys of `[privacy]` in online convex runs, for listings.
pub fn gradient_privacy_keys() -> Vec<KeyDoc> {
    let sink = Sink::new(Sources::default());
    let args = Args::dry(&sink);
    request(&args, true);
    args.documented()
}

/// Reads `[privacy]`.
fn request(args: &Args<'_>, stated: bool) -> GradientRequest {
    let words = ["auto", "none", "gaussian", "generalized-gaussian", "privunit", "laplace", "gumbel"];
    let mut spec = privacy::request(
        args,
        &words,
        if stated { "auto" } else { "none" },
        &RequestDocs {
            mechanism: "noise on gradients or choices; `auto`: calibration and learner pick",
            epsilon: ["privacy loss of one sample, over the whole run", "none; every mechanism but `none` requires it"],
            ..RequestDocs::DEFAULT
        },
    );
    spec.budget.participation = privacy::participation(args);
    let clips = match args.word(
        "clip",
        "whether features and gradients are clipped; `auto`: not in the as-printed calibration",
        &["auto", "on", "off"],
        Some("auto"),
    ) {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    let mut factorisations = vec!["auto"];
    factorisations.extend(privateer_privacy::quote::FACTORISATIONS);
    let doc = "how the noise of prefix sums is made; `auto`: blt in the tight calibration, banded-toeplitz there where users return and it has less error, else the tree";
    let factorisation = args.word("factorisation", doc, &factorisations, Some("auto"));
    let stated_smoothness =
        args.number("stated_smoothness", "smoothness that the printed formulas are given").above(0.0).at_most(1e9).or(1.0);
    let stated_lipschitz =
        args.number("stated_lipschitz", "Lipschitz constant that the printed formulas are given").above(0.0).at_most(1e9).or(1.0);
    args.finish();
    GradientRequest { spec, clips, factorisation, stated_smoothness, stated_lipschitz }
}

/// Holds the parts that the cells of one sweep point share.
pub(super) struct SweepPointParts<'a> {
    pub(super) table: &'a Table,
    pub(super) swept: &'a [(String, Scalar)],
    pub(super) rounds: u64,
    pub(super) sink: &'a Sink,
    /// Parameters of the cells so far.
    pub(super) resolved: &'a RefCell<SharedValues>,
}

/// Returns the problem of a sweep point; `None` after a mistake.
fn problem(
    shared: &SweepPointParts<'_>,
    top: &Args<'_>,
    defaults: &mut BTreeMap<String, String>,
) -> Option<(String, Arc<ProblemPlan>, Option<Place>)> {
    let Value::Table(written) = &shared.table.get("problem")?.value else { return None };
    let args = top.table("problem");
    let kind = args.kind("problem", &args.items(PROBLEMS).names())?;
    let label = args.one_line("label", "name of the problem's random streams").unwrap_or_else(|| kind.clone());
    let plan: Arc<ProblemPlan> = Arc::from(args.items(PROBLEMS).read(&kind, &args)?);
    args.finish();
    note_defaults("problem", &args.documented(), &written_json(written), defaults);
    let place = written.span.as_ref().map(|span| shared.sink.sources().place(span));
    Some((label, plan, place))
}

/// Appends the cells of one sweep point; records mistakes in the sink.
pub(super) fn cells_at(shared: &SweepPointParts<'_>, cells: &mut Vec<CellPlan>) {
    let SweepPointParts { table, swept, rounds, sink, resolved } = *shared;
    let top = Args::new(table, "", sink);
    let mut defaults = BTreeMap::new();
    let problem = problem(shared, &top, &mut defaults);
    let problem_json = json_of(table, "problem");
    let base_privacy = nested(table, "privacy");
    let Some(learners) = tables(&top, table, "learner") else { return };
    let mut labels: Vec<String> = Vec::new();
    for (i, item) in learners.iter().enumerate() {
        let Value::Table(written) = &item.value else {
            let diagnostic = Diagnostic::new("a learner is not a table").expected("`[[learner]]` with a `kind`");
            sink.push_at(item.span.as_ref(), diagnostic);
            continue;
        };
        let shown = path::name_of(item).map_or_else(|| i.to_string(), str::to_owned);
        let args = Args::new(written, format!("learner.{shown}"), sink);
        let Some(kind) = args.kind("learner", &args.items(LEARNERS).names()) else { continue };
        let label =
            args.one_line("label", "name of the learner in results and of its random streams").unwrap_or_else(|| kind.clone());
        if label.trim().is_empty() || labels.contains(&label) {
            let key = if args.has("label") { "label" } else { "kind" };
            let problem = if label.trim().is_empty() {
                "the learner's label is empty".to_owned()
            } else {
                format!("two learners have the label `{label}`")
            };
            args.reject(key, problem, "different labels that are not empty: add `label = \"…\"`");
            continue;
        }
        let Some(learner) = args.items(LEARNERS).read(&kind, &args) else { continue };
        let learner = Arc::new(learner);
        let rates = Rates::parse(&args);
        // Keys of the learner's own `privacy` table override those of the spec's.
        args.table("privacy");
        args.finish();
        let (privacy_table, own) = overlaid(base_privacy, written, "privacy");
        let privacy_args = Args::new(&privacy_table, "privacy", sink);
        let request = request(&privacy_args, base_privacy.is_some() || own);
        if learner.is_private && request.spec.mechanism != "none" && !privacy_args.has("epsilon") {
            privacy_args.missing("epsilon", "a finite number > 0, the privacy loss of one sample over the whole run");
            continue;
        }
        let mut defaults = defaults.clone();
        note_defaults("learner", &args.documented(), &written_json(written), &mut defaults);
        note_defaults("privacy", &privacy_args.documented(), &written_json(&privacy_table), &mut defaults);
        let Some((environment, problem, place)) = &problem else { continue };
        labels.push(label.clone());
        let place_of = |key: &'static str| {
            let span = privacy_table.get(key).and_then(|node| node.span.as_ref()).or(privacy_table.span.as_ref())?;
            Some((key, sink.sources().place(span)))
        };
        cells.push(CellPlan {
            index: cells.len() as u32,
            policy: label,
            environment: environment.clone(),
            swept: swept.to_vec(),
            rounds,
            environment_key: format!("{rounds} {problem_json}"),
            environment_place: place.clone(),
            role: Role::Listed,
            tuning: None,
            tuned: None,
            task: Task::Online(OnlinePlan {
                problem: Arc::clone(problem),
                learner,
                rates,
                request,
                places: KEYS.into_iter().filter_map(place_of).collect(),
                place: written.span.as_ref().map(|span| sink.sources().place(span)),
            }),
            resolved: resolved.borrow_mut().sections(serde_json::json!({
                "rounds": rounds,
                "problem": problem_json,
                "privacy": written_json(&privacy_table),
                "policy": written_json(written),
                "defaults": defaults,
            })),
        });
    }
}
