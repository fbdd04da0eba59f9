//! Reads the cells of every sweep point from the tree of a spec.

use super::cell::{BanditPlan, CellEnvironment, CellPlan, ContextualBandit, OnlinePlan, Role, Task, Tuning};
use super::curator::CuratorPlan;
use super::interactions::InteractionPlan;
use super::online::GradientPlan;
use super::parts::{allow_parts, allow_rows, cells_a_part};
use super::privacy::PrivacyPlan;
use super::sections::{
    Chooser, Defaults, EnvironmentRead, People, PlanSetting, PointKeys, PolicyRead, PrivacySetting, SectionRead, Sections,
};
use super::sweep::{MOST_OF_SECTION, Step, Swept, points};
use super::written::{ListWords, Listed, PartRead, listed, nested, note_defaults, overlaid, part, recorded, recorded_of, tables};
use super::{SharedValues, Sweep, path, references, run_keys, tuning};
use crate::env::Population;
use crate::oco::learner::Rates;
use crate::registry::{CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, ENVIRONMENTS, LEARNERS, POLICIES, PROBLEMS};
use privateer_config::facts::FactValue;
use privateer_config::params::{Args, Node, Sink, Table};
use privateer_numerics::rng::Streams;
use privateer_privacy::accounting::sensitivity::Participation;
use sha2::{Digest, Sha256};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

const POLICY: ListWords = ListWords {
    key: "policy",
    plural: "policies",
    label_doc: "name of the policy in results and of its random streams",
    expected: ["a text, or no `label`", "different labels: add `label = \"…\"`"],
};

const LEARNER: ListWords = ListWords {
    key: "learner",
    plural: "learners",
    label_doc: "name of the learner in results and of its random streams",
    expected: ["different labels that are not empty: add `label = \"…\"`"; 2],
};

/// Number of mistakes after which no more sweep points are read.
const MOST_MISTAKES: usize = 50;

/// One sweep point; its tree is made if a section of it has not been read before.
struct Point<'p> {
    reader: &'p SpecReader<'p>,
    swept: &'p Swept,
    keys: PointKeys,
    tree: OnceCell<Option<Table>>,
}

impl Point<'_> {
    fn tree(&self) -> Option<&Table> {
        self.tree.get_or_init(|| self.reader.tree_at(&self.swept.point())).as_ref()
    }
}

/// Place in the list of policies, and the numbers of the sections that a section of a policy depends on.
type OfPolicy = (usize, u64, u64, u8);

pub(super) struct SpecReader<'a> {
    base: &'a Table,
    pub(super) sink: &'a Sink,
    /// Whether it has a problem or a learner, and neither an environment nor a policy.
    is_online: bool,
    /// The keys under which the environment or problem stands, and the policies or learners.
    keys: (&'static str, &'static str),
    /// The spec without its table `sweep`.
    pub(super) unswept: Table,
    /// Parameters of all cells so far.
    shared: RefCell<SharedValues>,
    defaults: RefCell<SharedValues<Defaults>>,
    horizons: Sections<u64, (u64, Arc<FactValue>)>,
    environments: Sections<u64, EnvironmentRead>,
    problems: Sections<(u64, u64), Arc<CellEnvironment>>,
    /// How often people of a population take part, by rounds and label of the environment or problem.
    people: RefCell<BTreeMap<(u64, String, Population), People>>,
    n_policies: Sections<u64, usize>,
    policies: Sections<(usize, u64), Arc<SectionRead<PolicyRead>>>,
    requests: Sections<(OfPolicy, [u64; 2]), SectionRead<PrivacySetting>>,
    curators: Sections<OfPolicy, Option<SectionRead<Option<Arc<CuratorPlan>>>>>,
    /// Defaults of cells, by the addresses of those of their sections.
    all_defaults: Sections<[usize; 4], Arc<FactValue>>,
}

impl<'a> SpecReader<'a> {
    pub(super) fn new(base: &'a Table, sink: &'a Sink) -> Self {
        let mut unswept = base.clone();
        unswept.remove("sweep");
        let has = |key: &str| unswept.get(key).is_some();
        let is_online = (has("problem") || has("learner")) && !has("environment") && !has("policy");
        Self {
            base,
            sink,
            is_online,
            keys: if is_online { ("problem", "learner") } else { ("environment", "policy") },
            unswept,
            shared: RefCell::default(),
            defaults: RefCell::default(),
            horizons: Sections::default(),
            environments: Sections::default(),
            problems: Sections::default(),
            people: RefCell::default(),
            n_policies: Sections::default(),
            policies: Sections::default(),
            requests: Sections::default(),
            curators: Sections::default(),
            all_defaults: Sections::default(),
        }
    }

    /// Returns the sweep, which has no meaning after a mistake.
    pub(super) fn read(&self, file: &str) -> Sweep {
        let top = Args::new(self.base, "", self.sink);
        let stem =
            std::path::Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned());
        let (mut sweep, plays_references) = run_keys::parse(&top, stem);
        let (is_online, (environment_key, policy_key)) = (self.is_online, self.keys);
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
        let points = Arc::new(points(self.base, self.sink));
        // What is read and kept for each of them alone.
        let (alone, hint) = if is_online {
            (points.len(), "divide the sweep among several specs")
        } else {
            let problems = if plays_references { points.n_beside("privacy") } else { 0 };
            (problems, "divide the sweep among several specs, or play no references: `references = false`")
        };
        if MOST_OF_SECTION < alone {
            let message = format!("the sweep has {alone} problems, each of which is read by itself");
            top.reject_with_hint("sweep", message, format!("at most {MOST_OF_SECTION}"), Some(hint.to_owned()));
        }
        let n_points = if MOST_OF_SECTION < alone { 1 } else { points.len() };
        self.environments.of_points(&points, environment_key);
        self.problems.of_points(&points, environment_key);
        self.policies.of_points(&points, policy_key);
        self.requests.of_points(&points, "privacy");
        self.curators.of_points(&points, "curator");
        // All sweep points have the same keys.
        for Step { path: key_path, key_span, .. } in points.at(0) {
            top.knows(path::first(&key_path), key_span.as_ref());
        }
        for number in 0..n_points {
            let swept = Swept { points: Arc::clone(&points), number: number as u32 };
            self.cells_at(&swept, PointKeys::of(&points, number, self.keys), &mut cells);
            if number == 0 {
                if !allow_parts(&top, &sweep, cells.len() as f64 * n_points as f64) {
                    break;
                }
                cells.reserve_exact(cells.len() * (n_points - 1));
            }
            if MOST_MISTAKES < self.sink.n_mistakes() {
                break;
            }
        }
        if plays_references && self.sink.n_mistakes() == 0 {
            references::append(self, &mut cells);
        }
        sweep.cells = Arc::new(cells);
        if self.sink.n_mistakes() == 0 && allow_parts(&top, &sweep, sweep.cells.len() as f64) {
            allow_rows(&top, &sweep);
            sweep.cells_a_part = cells_a_part(&sweep);
        }
        sweep.resolved = toml::to_string(&self.base.to_toml()).unwrap_or_default();
        sweep.hash = Sha256::digest(sweep.resolved.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        sweep
    }

    pub(super) fn tree_at(&self, steps: &[Step]) -> Option<Table> {
        let mut table = self.unswept.clone();
        for Step { path: key_path, key_span, node } in steps {
            if let Err(diagnostic) = path::set(&mut table, key_path, key_span.as_ref(), node) {
                self.sink.push_at(key_span.as_ref(), diagnostic);
                return None;
            }
        }
        Some(table)
    }

    fn section(&self, written: FactValue) -> Arc<FactValue> {
        self.shared.borrow_mut().share(written)
    }

    /// Returns what was read of a table, with the values of the keys that it leaves out.
    fn section_read<T>(&self, plan: T, prefix: &str, args: &Args<'_>, table: &Table) -> SectionRead<T> {
        let (written, mut defaults) = (recorded(table), Defaults::new());
        note_defaults(prefix, &args.documented(), &written, &mut defaults);
        SectionRead { plan, written: self.section(written), defaults: self.share(defaults) }
    }

    fn share(&self, defaults: Defaults) -> Arc<Defaults> {
        self.defaults.borrow_mut().share(defaults)
    }

    /// Returns the environment of a sweep point; `None` after a mistake elsewhere.
    fn environment(&self, point: &Point<'_>) -> Option<EnvironmentRead> {
        self.environments.of(self.sink, point.keys.environment, || {
            let table = point.tree()?;
            let top = Args::new(table, "", self.sink);
            let section = self.section(recorded_of(table, self.keys.0));
            let read = |kind: &str, args: &Args<'_>| {
                let population = Population::parse(args);
                if self.is_online {
                    return Some((PlanSetting::Online(Arc::from(args.items(PROBLEMS).read(kind, args)?)), population));
                }
                if let Some(plan) = args.items(ENVIRONMENTS).read(kind, args) {
                    return Some((PlanSetting::Points(Arc::from(plan)), population));
                }
                let plan = args.items(CONTEXTUAL_ENVIRONMENTS).read(kind, args)?;
                if population.is_some() && !plan.data_files.is_empty() {
                    let message = format!("the people of `{kind}` are the rows of its file");
                    args.reject("population", message, "no `population`");
                }
                Some((PlanSetting::Contextual(Arc::from(plan)), population))
            };
            let (doc, kinds) = if self.is_online {
                ("name of the problem's random streams", top.items(PROBLEMS).names())
            } else {
                ("name of the environment's random streams", environments(&top))
            };
            let read = part((&top, table), self.keys.0, doc, &kinds, read);
            let defaults = read.as_ref().map_or_else(Defaults::new, |read| read.defaults.clone());
            let (json, defaults) = (section.to_string().into(), self.share(defaults));
            Some(EnvironmentRead { section, json, read: read.map(Arc::new), defaults })
        })
    }

    /// Returns what identifies an environment over these rounds.
    fn problem(&self, rounds: u64, environment: &EnvironmentRead) -> Arc<CellEnvironment> {
        let read = environment.read.as_deref();
        Arc::new(CellEnvironment {
            label: read.map_or_else(Arc::default, |read| Arc::clone(&read.label)),
            key: format!("{rounds} {}", environment.json).into(),
            place: read.and_then(|read| read.place.clone()),
            people: self.people(rounds, environment).words,
        })
    }

    fn people(&self, rounds: u64, environment: &EnvironmentRead) -> People {
        match environment.read.as_deref() {
            Some(PartRead { label, plan: (_, Some(population)), .. }) => self.people_of(rounds, label, *population),
            _ => People::default(),
        }
    }

    /// Returns how often people of a population take part in these rounds.
    ///
    /// * `label` — of the environment or problem, whose streams draw them
    fn people_of(&self, rounds: u64, label: &str, population: Population) -> People {
        let count = || {
            let seed = run_keys::seed(&Args::new(&self.unswept, "", self.sink));
            let participation = population.participation(rounds, &Streams::new(seed, label));
            People { participation, words: Some(population.words(rounds, participation).into()) }
        };
        self.people.borrow_mut().entry((rounds, label.to_owned(), population)).or_insert_with(count).clone()
    }

    /// Reads the policy at place `i` of the list; `None` after a mistake.
    fn policy(&self, point: &Point<'_>, (i, item): (usize, &Node), labels: &[Arc<str>]) -> Option<Arc<SectionRead<PolicyRead>>> {
        let top = Args::new(point.tree()?, "", self.sink);
        let (words, kinds) = if self.is_online { (&LEARNER, top.items(LEARNERS).names()) } else { (&POLICY, policies(&top)) };
        let Listed { table, args, path, kind, label } = listed(&top, (i, item), words, &kinds, labels)?;
        let of = |args: &Args<'_>| {
            if self.is_online {
                let learner = args.items(LEARNERS).read(&kind, args)?;
                return Some(Chooser::Online((Arc::new(learner), Rates::parse(args))));
            }
            match args.items(POLICIES).read(&kind, args) {
                Some(plan) => Some(Chooser::Points(Arc::new(plan))),
                None => args.items(CONTEXTUAL_POLICIES).read(&kind, args).map(|plan| Chooser::Contextual(Arc::new(plan))),
            }
        };
        let chooser = of(&args)?;
        // Keys of the policy's own `privacy` and `curator` tables override those of the spec's.
        args.table("privacy");
        if !self.is_online {
            args.table("curator");
        }
        args.finish();
        let tuning = tuning::candidates(table).map(|(pilot, tables)| {
            let read = |(factor, table): (f64, Table)| Some((factor, of(&Args::new(&table, path.as_str(), self.sink))?));
            (pilot, tables.into_iter().filter_map(read).collect())
        });
        let owns = ["privacy", "curator"].map(|key| nested(table, key).is_some());
        let label = label.into();
        let read = PolicyRead { kind: kind.clone(), path: path.clone(), label, chooser, owns, table: table.clone(), tuning };
        Some(Arc::new(self.section_read(read, words.key, &args, table)))
    }

    /// Reads what protects a policy; `None` after a mistake.
    fn request(&self, point: &Point<'_>, policy: &PolicyRead, people: Participation) -> Option<SectionRead<PrivacySetting>> {
        let base = nested(point.tree()?, "privacy");
        let (table, own) = overlaid(base, &policy.table, "privacy");
        let args = Args::new(&table, "privacy", self.sink);
        let stated = base.is_some() || own;
        let plan = match &policy.chooser {
            Chooser::Points(plan) => {
                PrivacySetting::Points(Arc::new(PrivacyPlan::parse(&args, &table, stated, plan.protection, people)?))
            }
            Chooser::Contextual(_) => {
                PrivacySetting::Contextual(Arc::new(InteractionPlan::parse(&args, &table, stated, &policy.table, people)))
            }
            Chooser::Online((plan, _)) => {
                let learner = (&policy.table, plan.is_private);
                PrivacySetting::Online(Arc::new(GradientPlan::parse(&args, &table, stated, learner, people)?))
            }
        };
        Some(self.section_read(plan, "privacy", &args, &table))
    }

    /// Reads the curator of a policy's inputs, if it has one; `None` after a mistake elsewhere.
    fn curator(&self, point: &Point<'_>, policy: &PolicyRead) -> Option<Option<SectionRead<Option<Arc<CuratorPlan>>>>> {
        let base = nested(point.tree()?, "curator");
        let (table, own) = overlaid(base, &policy.table, "curator");
        if self.is_online || base.is_none() && !own {
            return Some(None);
        }
        let args = Args::new(&table, "curator", self.sink);
        let plan = CuratorPlan::parse(&args, &table).map(Arc::new);
        Some(Some(self.section_read(plan, "curator", &args, &table)))
    }

    /// Appends the cells of one sweep point; records mistakes in the sink.
    pub(super) fn cells_at(&self, swept: &Swept, keys: PointKeys, cells: &mut Vec<CellPlan>) {
        let point = Point { reader: self, swept, keys, tree: OnceCell::new() };
        let horizon = self.horizons.of(self.sink, keys.rounds, || {
            let top = Args::new(point.tree()?, "", self.sink);
            let rounds = top.count("rounds", "horizon T").between(1, u64::from(u32::MAX)).required();
            Some((rounds, self.section(rounds.into())))
        });
        let Some(horizon) = horizon else { return };
        let items = || {
            let table = point.tree()?;
            tables(&Args::new(table, "", self.sink), table, self.keys.1)
        };
        let Some(environment) = self.environment(&point) else { return };
        let problem =
            self.problems.of(self.sink, (keys.rounds, keys.environment), || Some(self.problem(horizon.0, &environment)));
        let Some(n_policies) = self.n_policies.of(self.sink, keys.policy, || Some(items()?.len())) else { return };
        let mut labels = Vec::with_capacity(n_policies);
        for i in 0..n_policies {
            let policy = self.policies.of(self.sink, (i, keys.policy), || self.policy(&point, (i, items()?.get(i)?), &labels));
            let Some(policy) = policy else { continue };
            if labels.contains(&policy.plan.label) {
                // Says so at the table.
                drop(items().and_then(|items| self.policy(&point, (i, items.get(i)?), &labels)));
                continue;
            }
            self.cell_of(&point, (i, &policy), (&environment, problem.as_ref()), &horizon, cells);
            labels.push(Arc::clone(&policy.plan.label));
        }
    }

    fn cell_of(
        &self,
        point: &Point<'_>,
        (i, policy): (usize, &SectionRead<PolicyRead>),
        (environment, problem): (&EnvironmentRead, Option<&Arc<CellEnvironment>>),
        (rounds, horizon): &(u64, Arc<FactValue>),
        cells: &mut Vec<CellPlan>,
    ) {
        let (keys, PolicyRead { kind, path, label, chooser, owns, table, tuning }) = (point.keys, &policy.plan);
        let args = || Args::new(table, path.as_str(), self.sink);
        let reject = |(message, expected): (String, String)| args().reject("kind", message, expected);
        if let Some(problem) = environment.read.as_ref().and_then(|read| mismatch(&args(), &read.plan.0, chooser, kind)) {
            return reject(problem);
        }
        // A request of one kind depends on the policy by that kind alone, unless the policy has keys of its own there.
        let own = |depends: bool| if depends { keys.policy } else { 0 };
        let (kind_of_need, by_contexts) = match chooser {
            Chooser::Points(plan) => (plan.protection as u8, false),
            Chooser::Contextual(_) | Chooser::Online(_) => (u8::MAX, true),
        };
        let people = self.people(*rounds, environment);
        let Participation { count, separation } = people.participation;
        let key = ((i, own(owns[0] || by_contexts), keys.privacy, kind_of_need), [count, separation]);
        let request = self.requests.of(self.sink, key, || self.request(point, &policy.plan, people.participation));
        let curator = self.curators.of(self.sink, (i, own(owns[1]), keys.curator, 0), || self.curator(point, &policy.plan));
        let (Some(request), Some(curator)) = (request, curator) else { return };
        if by_contexts && curator.is_some() {
            let message = format!("`{kind}` chooses by contexts, which no curator releases");
            return reject((message, "no `[curator]`, or a policy over the points of a domain".to_owned()));
        }
        let Some(read) = &environment.read else { return };
        let plan_of_curator = curator.as_ref().and_then(|curator| curator.plan.clone());
        let task_of = |chooser: &Chooser| match (read.plan.0.clone(), chooser.clone(), request.plan.clone()) {
            (PlanSetting::Points(environment_plan), Chooser::Points(policy_plan), PrivacySetting::Points(privacy)) => {
                Some(Task::Bandit(BanditPlan { environment_plan, privacy, curator: plan_of_curator.clone(), policy_plan }))
            }
            (
                PlanSetting::Contextual(environment_plan),
                Chooser::Contextual(policy_plan),
                PrivacySetting::Contextual(privacy),
            ) => Some(Task::Contextual(ContextualBandit { environment_plan, privacy, policy_plan })),
            (PlanSetting::Online(problem), Chooser::Online((learner, rates)), PrivacySetting::Online(privacy)) => {
                Some(Task::Online(Box::new(OnlinePlan { problem, learner, rates, privacy })))
            }
            // A mismatch was reported above.
            _ => None,
        };
        let Some(task) = task_of(chooser) else { return };
        let tuning = tuning.as_ref().map(|(pilot, candidates)| {
            let candidates = candidates.iter().filter_map(|(factor, chooser)| Some((*factor, task_of(chooser)?))).collect();
            Box::new(Tuning { pilot: *pilot, candidates })
        });
        let mut resolved = vec![
            ("rounds", Arc::clone(horizon)),
            (self.keys.0, Arc::clone(&environment.section)),
            ("privacy", request.written),
            ("policy", Arc::clone(&policy.written)),
            (
                "defaults",
                self.defaults_of([
                    Some(&environment.defaults),
                    Some(&policy.defaults),
                    Some(&request.defaults),
                    curator.as_ref().map(|curator| &curator.defaults),
                ]),
            ),
        ];
        resolved.extend(curator.map(|curator| ("curator", curator.written)));
        cells.push(CellPlan {
            index: cells.len() as u32,
            policy: Arc::clone(label),
            environment: problem.cloned().unwrap_or_default(),
            swept: point.swept.clone(),
            rounds: *rounds,
            role: Role::Listed,
            tuning,
            tuned: None,
            task,
            resolved: resolved.into_iter().collect(),
        });
    }

    /// Returns the values of the keys that a cell's sections leave out.
    fn defaults_of(&self, parts: [Option<&Arc<Defaults>>; 4]) -> Arc<FactValue> {
        // Those of sections are kept as long as the reader.
        let key = parts.map(|part| part.map_or(0, |part| Arc::as_ptr(part).addr()));
        let merged = || {
            let all: BTreeMap<_, _> = parts.into_iter().flatten().flat_map(|part| part.iter()).collect();
            Some(self.section(FactValue::of(&all)))
        };
        self.all_defaults.of(self.sink, key, merged).unwrap_or_default()
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
fn mismatch(args: &Args<'_>, setting: &PlanSetting, chooser: &Chooser, policy: &str) -> Option<(String, String)> {
    match (setting, chooser) {
        (PlanSetting::Contextual(_), Chooser::Points(_)) => Some((
            format!("policy `{policy}` plays points of a domain, and the environment shows arms to users with contexts"),
            format!("one of {}", one_of(&args.items(CONTEXTUAL_POLICIES).names())),
        )),
        (PlanSetting::Points(_), Chooser::Contextual(_)) => Some((
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
