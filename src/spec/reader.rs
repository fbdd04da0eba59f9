//! Reads the cells of every sweep point from the tree of a spec.

use super::cell::{BanditPlan, CellPlan, ContextualBandit, Role, Task, Tuning};
use super::curator::CuratorPlan;
use super::interactions::InteractionPlan;
use super::privacy::PrivacyPlan;
use super::sweep::{Step, SweepPoint, points, scalar};
use super::written::{ListWords, Listed, PartRead, json_of, listed, nested, note_defaults, overlaid, part, tables, written_json};
use super::{SharedValues, Sweep, online, path, references, run_keys, tuning};
use crate::env::EnvironmentPlan;
use crate::env::contextual::Contextual;
use crate::policy::PolicyPlan;
use crate::policy::contextual::ContextPolicyPlan;
use crate::registry::{CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, ENVIRONMENTS, LEARNERS, POLICIES, PROBLEMS};
use privateer_config::params::{Args, Scalar, Sink, Table};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

const POLICY: ListWords = ListWords {
    key: "policy",
    plural: "policies",
    label_doc: "name of the policy in results and of its random streams",
    expected: ["a text, or no `label`", "different labels: add `label = \"…\"`"],
};

/// Number of mistakes after which no more sweep points are read.
const MOST_MISTAKES: usize = 50;
/// Largest number of part files of one sweep.
const MOST_PARTS: f64 = 1e6;
/// Memory for a recorded row while its part is built and encoded, in bytes.
const BYTES_PER_ROW: f64 = 160.0;

/// Holds an environment of either kind, as read from a spec.
#[derive(Clone)]
enum PlanSetting {
    Points(Arc<EnvironmentPlan>),
    Contextual(Arc<EnvironmentPlan<Contextual>>),
}

/// Holds a policy of either kind with its privacy request, as read from a spec.
enum Chooser {
    Points(Arc<PolicyPlan>, PrivacyPlan),
    Contextual(Arc<ContextPolicyPlan>, InteractionPlan),
}

pub(super) struct SpecReader<'a> {
    base: &'a Table,
    pub(super) sink: &'a Sink,
    /// The spec without its table `sweep`.
    pub(super) unswept: Table,
    /// Parameters of all cells so far.
    pub(super) shared: RefCell<SharedValues>,
    /// Environments without mistakes, by their JSON.
    environments: RefCell<BTreeMap<String, PartRead<PlanSetting>>>,
}

impl<'a> SpecReader<'a> {
    /// Creates the reader of a tree; mistakes go to the sink.
    pub(super) fn new(base: &'a Table, sink: &'a Sink) -> Self {
        let mut unswept = base.clone();
        unswept.remove("sweep");
        Self { base, sink, unswept, shared: RefCell::default(), environments: RefCell::default() }
    }

    /// Returns the sweep, which has no meaning after a mistake.
    pub(super) fn read(&self, file: &str) -> Sweep {
        let top = Args::new(self.base, "", self.sink);
        let stem =
            std::path::Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned());
        let (mut sweep, plays_references) = run_keys::parse(&top, stem);
        let is_online = is_online(self.base);
        let tables: &[&'static str] = if is_online { &["problem", "privacy"] } else { &["environment", "privacy", "curator"] };
        for key in tables {
            top.table(key);
        }
        for (key, header) in
            [if is_online { ("learner", "[[learner]]") } else { ("policy", "[[policy]]") }, ("sweep", "[sweep.product]")]
        {
            top.documents(key, header);
        }
        let parts = if is_online {
            [("problem", "[problem]", top.items(PROBLEMS).names()), ("learner", "[[learner]]", top.items(LEARNERS).names())]
        } else {
            [("environment", "[environment]", environments(&top)), ("policy", "[[policy]]", policies(&top))]
        };
        for (key, header, kinds) in parts {
            if !top.has(key) {
                top.missing_table(header, &format!("a `kind`, one of {}", one_of(&kinds)));
            }
        }
        top.finish();
        let mut cells = Vec::new();
        let points = points(self.base, self.sink);
        // All sweep points have the same keys.
        for Step { path: key_path, key_span, .. } in points.first().into_iter().flatten() {
            top.knows(path::first(key_path), key_span.as_ref());
        }
        let mut ends = Vec::with_capacity(points.len());
        for point in &points {
            self.cells_at(point, &mut cells);
            ends.push(cells.len());
            if MOST_MISTAKES < self.sink.n_mistakes() {
                break;
            }
        }
        if plays_references && self.sink.n_mistakes() == 0 {
            references::append(self, &points, &ends, &mut cells);
        }
        sweep.cells = cells;
        if self.sink.n_mistakes() == 0 {
            allow_parts(&top, &sweep);
        }
        sweep.resolved = toml::to_string(&self.base.to_toml()).unwrap_or_default();
        sweep.hash = Sha256::digest(sweep.resolved.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        sweep
    }

    /// Returns the environment of a sweep point, which equal tables share; `None` after a mistake.
    fn environment(&self, top: &Args<'_>, table: &Table, json: &str) -> Option<PartRead<PlanSetting>> {
        if let Some(known) = self.environments.borrow().get(json) {
            return Some(known.clone());
        }
        let n_mistakes = self.sink.n_mistakes();
        let read = |kind: &str, args: &Args<'_>| {
            if let Some(plan) = args.items(ENVIRONMENTS).read(kind, args) {
                return Some(PlanSetting::Points(Arc::from(plan)));
            }
            Some(PlanSetting::Contextual(Arc::from(args.items(CONTEXTUAL_ENVIRONMENTS).read(kind, args)?)))
        };
        let read = part((top, table), "environment", "name of the environment's random streams", &environments(top), read)?;
        if self.sink.n_mistakes() == n_mistakes {
            self.environments.borrow_mut().insert(json.to_owned(), read.clone());
        }
        Some(read)
    }

    /// Appends the cells of one sweep point; records mistakes in the sink.
    pub(super) fn cells_at(&self, point: &SweepPoint, cells: &mut Vec<CellPlan>) {
        let mut table = self.unswept.clone();
        for Step { path: key_path, key_span, node } in point {
            if let Err(diagnostic) = path::set(&mut table, key_path, key_span.as_ref(), node) {
                self.sink.push_at(key_span.as_ref(), diagnostic);
                return;
            }
        }
        let swept: Vec<(String, Scalar)> =
            point.iter().filter_map(|step| Some((step.path.clone(), scalar(&step.node.value)?))).collect();
        let top = Args::new(&table, "", self.sink);
        let rounds = top.count("rounds", "horizon T").between(1, u64::from(u32::MAX)).required();
        if is_online(&table) {
            return online::cells_at(self, &table, &swept, rounds, cells);
        }
        let environment_json = json_of(&table, "environment");
        let environment_text = environment_json.to_string();
        let environment = self.environment(&top, &table, &environment_text);

        let (base_privacy, base_curator) = (nested(&table, "privacy"), nested(&table, "curator"));
        let Some(items) = tables(&top, &table, "policy") else { return };
        let (kinds, mut labels) = (policies(&top), Vec::<String>::new());
        for item in items.iter().enumerate() {
            let Some(found) = listed(&top, item, &POLICY, &kinds, &labels) else { continue };
            let Listed { table: policy_table, args, path, kind, label } = found;
            if let Some((message, expected)) = mismatch(&args, environment.as_ref().map(|read| &read.plan), &kind) {
                args.reject("kind", message, expected);
                continue;
            }
            let points = args.items(POLICIES).read(&kind, &args).map(Arc::new);
            let by_contexts = args.items(CONTEXTUAL_POLICIES).read(&kind, &args).map(Arc::new);
            // Keys of the policy's own `privacy` and `curator` tables override those of the spec's.
            args.table("privacy");
            args.table("curator");
            args.finish();
            let (privacy_table, own_privacy) = overlaid(base_privacy, policy_table, "privacy");
            let privacy_args = Args::new(&privacy_table, "privacy", self.sink);
            let stated = base_privacy.is_some() || own_privacy;
            let (curator_table, own_curator) = overlaid(base_curator, policy_table, "curator");
            let curator_args = Args::new(&curator_table, "curator", self.sink);
            let curated = base_curator.is_some() || own_curator;
            let chooser = match (points, by_contexts) {
                (Some(policy), _) => match PrivacyPlan::parse(&privacy_args, &privacy_table, stated, policy.protection) {
                    Some(privacy) => Chooser::Points(policy, privacy),
                    None => continue,
                },
                (None, Some(policy)) if !curated => {
                    Chooser::Contextual(policy, InteractionPlan::parse(&privacy_args, &privacy_table, stated, policy_table))
                }
                (None, Some(_)) => {
                    let message = format!("`{kind}` chooses by contexts, which no curator releases");
                    args.reject("kind", message, "no `[curator]`, or a policy over the points of a domain");
                    continue;
                }
                (None, None) => continue,
            };
            let curator = curated.then(|| CuratorPlan::parse(&curator_args, &curator_table)).flatten();
            let mut defaults = environment.as_ref().map_or_else(BTreeMap::new, |read| read.defaults.clone());
            note_defaults("policy", &args.documented(), &written_json(policy_table), &mut defaults);
            note_defaults("privacy", &privacy_args.documented(), &written_json(&privacy_table), &mut defaults);
            let mut resolved = serde_json::json!({
                "rounds": rounds,
                "environment": environment_json,
                "privacy": written_json(&privacy_table),
                "policy": written_json(policy_table),
            });
            if curated {
                note_defaults("curator", &curator_args.documented(), &written_json(&curator_table), &mut defaults);
                resolved["curator"] = written_json(&curator_table);
            }
            resolved["defaults"] = serde_json::json!(defaults);
            let Some(environment) = &environment else { continue };
            let task = match (environment.plan.clone(), chooser) {
                (PlanSetting::Points(environment_plan), Chooser::Points(policy_plan, privacy)) => {
                    Task::Bandit(BanditPlan { environment_plan, privacy, curator, policy_plan })
                }
                (PlanSetting::Contextual(environment_plan), Chooser::Contextual(policy_plan, privacy)) => {
                    Task::Contextual(ContextualBandit { environment_plan, privacy, policy_plan })
                }
                // A mismatch was reported above.
                _ => continue,
            };
            let tuning = tuning::candidates(policy_table).map(|(pilot, tables)| {
                let read = |(factor, table): (f64, Table)| {
                    let args = Args::new(&table, path.as_str(), self.sink);
                    let mut task = task.clone();
                    match &mut task {
                        Task::Bandit(bandit) => bandit.policy_plan = Arc::new(args.items(POLICIES).read(&kind, &args)?),
                        Task::Contextual(task) => {
                            task.policy_plan = Arc::new(args.items(CONTEXTUAL_POLICIES).read(&kind, &args)?);
                        }
                        Task::Online(_) => return None,
                    }
                    Some((factor, task))
                };
                Tuning { pilot, candidates: tables.into_iter().filter_map(read).collect() }
            });
            labels.push(label.clone());
            cells.push(CellPlan {
                index: cells.len() as u32,
                policy: label,
                environment: environment.label.clone(),
                swept: swept.clone(),
                rounds,
                environment_key: format!("{rounds} {environment_text}"),
                environment_place: environment.place.clone(),
                role: Role::Listed,
                tuning,
                tuned: None,
                task,
                resolved: self.shared.borrow_mut().sections(resolved),
            });
        }
    }
}

/// Reports sweeps with too many parts, and parts with too many rows.
fn allow_parts(top: &Args<'_>, sweep: &Sweep) {
    let Sweep { ref cells, trials, block, recorded, memory_bytes, .. } = *sweep;
    let parts = trials.div_ceil(block) as f64 * cells.len() as f64;
    if MOST_PARTS < parts {
        let key = if top.has("block") { "block" } else { "trials" };
        let hint = "raise `block` (trials of one part), or lower `trials`".to_owned();
        let message = format!("the sweep would have {parts:.0} parts");
        top.reject_with_hint(key, message, format!("at most {MOST_PARTS:.0} parts"), Some(hint));
    }
    let longest = cells.iter().map(|cell| cell.rounds).max().unwrap_or(0);
    let (n_trials, n_rounds) = (trials.min(block), recorded.n_rounds(longest));
    let needs = BYTES_PER_ROW * n_trials as f64 * n_rounds as f64;
    if memory_bytes < needs {
        let message = format!(
            "one part would have {:.0} rows ({n_trials} trials x {n_rounds} recorded rounds)",
            n_trials as f64 * n_rounds as f64
        );
        let hint = "lower `block`, record fewer rounds with `record = { rounds = \"log\" }`, or raise `limits.memory_gib`";
        let key = ["block", "record", "rounds"].into_iter().find(|key| top.has(key)).unwrap_or("trials");
        let most = memory_bytes / BYTES_PER_ROW;
        top.reject_with_hint(key, message, format!("at most {most:.0} rows in a part"), Some(hint.to_owned()));
    }
}

fn environments(args: &Args<'_>) -> Vec<&'static str> {
    [args.items(ENVIRONMENTS).names(), args.items(CONTEXTUAL_ENVIRONMENTS).names()].concat()
}

fn policies(args: &Args<'_>) -> Vec<&'static str> {
    [args.items(POLICIES).names(), args.items(CONTEXTUAL_POLICIES).names()].concat()
}

fn one_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the mismatch of a policy with an environment, and the expected policy; else `None`.
fn mismatch(args: &Args<'_>, setting: Option<&PlanSetting>, policy: &str) -> Option<(String, String)> {
    let chooses_by_context = args.items(CONTEXTUAL_POLICIES).has(policy);
    match (setting, chooses_by_context) {
        (Some(PlanSetting::Contextual(_)), false) => Some((
            format!("policy `{policy}` plays points of a domain, and the environment shows arms to users with contexts"),
            format!("one of {}", one_of(&args.items(CONTEXTUAL_POLICIES).names())),
        )),
        (Some(PlanSetting::Points(_)), true) => Some((
            format!("policy `{policy}` chooses by contexts, and the environment has none"),
            format!(
                "one of {}, or an environment with contexts: {}",
                one_of(&args.items(POLICIES).names()),
                one_of(&args.items(CONTEXTUAL_ENVIRONMENTS).names())
            ),
        )),
        _ => None,
    }
}

/// Returns whether a spec describes online convex runs.
///
/// It then has a problem or a learner, and neither an environment nor a policy.
fn is_online(table: &Table) -> bool {
    let has = |key: &str| table.get(key).is_some();
    (has("problem") || has("learner")) && !has("environment") && !has("policy")
}
