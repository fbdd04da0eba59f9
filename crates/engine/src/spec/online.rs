//! Reads online convex runs: `[problem]` and `[[learner]]`, not `[environment]` and `[[policy]]`.

use super::cell::{CellEnvironment, CellPlan, OnlinePlan, Role, Task};
use super::places::KeyPlaces;
use super::privacy::{self, RequestDocs};
use super::reader::SpecReader;
use super::sweep::Swept;
use super::written::{ListWords, Listed, PartRead, listed, nested, overlaid, part, recorded_of, tables};
use crate::env::Population;
use crate::oco::learner::{GradientRequest, Rates};
use crate::oco::problem::ProblemPlan;
use crate::registry::{LEARNERS, PROBLEMS};
use privateer_config::facts::FactValue;
use privateer_config::params::{Args, Table};
use privateer_privacy::accounting::sensitivity::Participation;
use std::sync::Arc;

const LEARNER: ListWords = ListWords {
    key: "learner",
    plural: "learners",
    label_doc: "name of the learner in results and of its random streams",
    expected: ["different labels that are not empty: add `label = \"…\"`"; 2],
};

pub(super) fn request(args: &Args<'_>, stated: bool, people: Participation) -> GradientRequest {
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
    spec.budget.participation = privacy::participation(args, &spec, people);
    let clips = args.choice(
        "clip",
        "whether features and gradients are clipped; `auto`: not in the as-printed calibration",
        &[("auto", None), ("on", Some(true)), ("off", Some(false))],
        "auto",
    );
    let mut factorisations = vec!["auto"];
    factorisations.extend(privateer_privacy::quote::FACTORISATIONS);
    let doc = "how the noise of prefix sums is made; `auto`: the tree; in the tight calibration normalised-toeplitz, and where users return or samples are passed again the one with the least error, but for the square root";
    let factorisation = args.word("factorisation", doc, &factorisations, Some("auto"));
    let stated_smoothness =
        args.number("stated_smoothness", "smoothness that the printed formulas are given").above(0.0).at_most(1e9).or(1.0);
    let stated_lipschitz =
        args.number("stated_lipschitz", "Lipschitz constant that the printed formulas are given").above(0.0).at_most(1e9).or(1.0);
    args.finish();
    GradientRequest { spec, clips, factorisation, stated_smoothness, stated_lipschitz }
}

/// Appends the cells of one sweep point; records mistakes in the reader's sink.
pub(super) fn cells_at(
    reader: &SpecReader<'_>,
    table: &Table,
    swept: &Swept,
    (rounds, horizon): &(u64, Arc<FactValue>),
    cells: &mut Vec<CellPlan>,
) {
    let rounds = *rounds;
    let sink = reader.sink;
    let top = Args::new(table, "", sink);
    let (problems, learners) = (top.items(PROBLEMS), top.items(LEARNERS).names());
    let read = |kind: &str, args: &Args<'_>| {
        let population = Population::parse(args);
        Some((Arc::from(problems.read(kind, args)?), population))
    };
    let problem: Option<PartRead<(Arc<ProblemPlan>, Option<Population>)>> =
        part((&top, table), "problem", "name of the problem's random streams", &problems.names(), read);
    let people = (problem.as_ref())
        .and_then(|problem| Some(reader.people_of(rounds, &problem.label, problem.plan.1?)))
        .unwrap_or_default();
    let problem_table = reader.section(recorded_of(table, "problem"));
    let base_privacy = nested(table, "privacy");
    let Some(items) = tables(&top, table, "learner") else { return };
    let mut labels: Vec<String> = Vec::new();
    for item in items.iter().enumerate() {
        let Some(found) = listed(&top, item, &LEARNER, &learners, &labels) else { continue };
        let Listed { table: written, args, kind, label, .. } = found;
        let Some(learner) = args.items(LEARNERS).read(&kind, &args) else { continue };
        let learner = Arc::new(learner);
        let rates = Rates::parse(&args);
        // Keys of the learner's own `privacy` table override those of the spec's.
        args.table("privacy");
        args.finish();
        let (privacy_table, own) = overlaid(base_privacy, written, "privacy");
        let privacy_args = Args::new(&privacy_table, "privacy", sink);
        let request = request(&privacy_args, base_privacy.is_some() || own, people.participation);
        if learner.is_private && request.spec.mechanism != "none" && !privacy_args.has("epsilon") {
            privacy_args.missing("epsilon", "a finite number > 0, the privacy loss of one sample over the whole run");
            continue;
        }
        let Some(problem) = &problem else { continue };
        let of_learner = reader.section_read((), "learner", &args, written);
        let of_privacy = reader.section_read((), "privacy", &privacy_args, &privacy_table);
        let of_problem = reader.share(problem.defaults.clone());
        let defaults = [Some(&of_problem), Some(&of_learner.defaults), Some(&of_privacy.defaults), None];
        labels.push(label.clone());
        cells.push(CellPlan {
            index: cells.len() as u32,
            policy: label.into(),
            environment: Arc::new(CellEnvironment {
                label: Arc::clone(&problem.label),
                key: format!("{rounds} {problem_table}").into(),
                place: problem.place.clone(),
                people: people.words.clone(),
            }),
            swept: swept.clone(),
            rounds,
            role: Role::Listed,
            tuning: None,
            tuned: None,
            task: Task::Online(Box::new(OnlinePlan {
                problem: Arc::clone(&problem.plan.0),
                learner,
                rates,
                request,
                places: KeyPlaces::of(&privacy_args, &privacy_table),
                place: written.span.as_ref().map(|span| sink.sources().place(span)),
            })),
            resolved: [
                ("rounds", Arc::clone(horizon)),
                ("problem", Arc::clone(&problem_table)),
                ("privacy", of_privacy.written),
                ("policy", of_learner.written),
                ("defaults", reader.defaults_of(defaults)),
            ]
            .into_iter()
            .collect(),
        });
    }
}
