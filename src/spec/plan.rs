//! The checked sweep: every cell with its parsed environment, privacy and policy.

use super::privacy::PrivacyPlan;
use super::sweep::{SweepPoint, points, scalar};
use super::{Recorded, path, read};
use crate::env::EnvironmentPlan;
use crate::error::{Diagnostic, Error, Sources};
use crate::params::{Args, KeyDoc, Node, Scalar, Sink, Table, Value};
use crate::policy::PolicyPlan;
use crate::registry::{ENVIRONMENTS, POLICIES, Shelf, find, names};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A spec that has been read, expanded and checked.
#[derive(Clone)]
pub struct Sweep {
    /// Shown on the report; the file's name unless the spec says otherwise.
    pub name: String,
    /// Seed of all streams.
    pub seed: u64,
    /// Trials of every cell.
    pub trials: u64,
    /// Trials of one part.
    pub block: u64,
    /// Which rounds are recorded.
    pub recorded: Recorded,
    /// Most bytes that one shared table or one trial may take.
    pub memory_bytes: f64,
    /// Cells in canonical order: sweep points in the order of the spec, policies inside.
    pub cells: Vec<CellPlan>,
    /// The spec after overrides, as canonical TOML.
    pub resolved: String,
    /// SHA-256 of the resolved spec, in hexadecimal.
    pub hash: String,
}

/// One sweep point with one policy.
#[derive(Clone)]
pub struct CellPlan {
    /// Index in canonical order.
    pub index: u32,
    /// Policy label.
    pub policy: String,
    /// Environment label.
    pub environment: String,
    /// Swept keys with their values.
    pub swept: Vec<(String, Scalar)>,
    /// Horizon.
    pub rounds: u64,
    /// The environment.
    pub environment_plan: Arc<dyn EnvironmentPlan>,
    /// Cells with the same key have the same environment.
    pub environment_key: String,
    /// The privacy request.
    pub privacy: PrivacyPlan,
    /// The policy.
    pub policy_plan: Arc<dyn PolicyPlan>,
    /// All parameters of the cell, and the defaults of those not written.
    pub resolved: serde_json::Value,
}

impl CellPlan {
    /// "tgp-ucb · privacy.epsilon = 0.5".
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = self.policy.clone();
        for (key, value) in &self.swept {
            label.push_str(&format!(" · {key} = {value}"));
        }
        label
    }
}

impl Sweep {
    /// Reads a spec. `overrides` are (name of the option, path, value as written), applied in order.
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake found.
    pub fn parse(file: &str, text: &str, overrides: &[(String, String, String)]) -> Result<Self, Error> {
        let mut sources = Sources::default();
        let file_source = sources.add(file, text);
        let override_sources: Vec<usize> =
            overrides.iter().map(|(option, _, value)| sources.add(option.as_str(), value.as_str())).collect();
        let sink = Sink::new(sources);
        let mut base = read::document(text, file_source, &sink);
        sink.into_result()?;
        for ((_, key_path, value), &source) in overrides.iter().zip(&override_sources) {
            let node = read::value(value, source, &sink);
            if let Err(diagnostic) = path::set(&mut base, key_path, &node) {
                sink.push_at(node.span.as_ref(), diagnostic);
            }
        }
        sink.into_result()?;
        let sweep = Reader { base: &base, sink: &sink }.read(file);
        sink.into_result()?;
        sweep.ok_or_else(|| Error::input(Diagnostic::new(format!("`{file}` could not be read as a spec"))))
    }
}

struct Reader<'a> {
    base: &'a Table,
    sink: &'a Sink,
}

impl Reader<'_> {
    fn read(&self, file: &str) -> Option<Sweep> {
        let top = Args::new(self.base, "", self.sink);
        let stem =
            std::path::Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned());
        let name = top.text("name", "title of the report").unwrap_or(stem);
        let seed = top.count("seed", "seed of all streams").or(1);
        let trials = top.count("trials", "independent repetitions of every cell").between(1, u64::from(u32::MAX)).or(10);
        let block = top.count("block", "trials of one part file").between(1, u64::from(u32::MAX)).or(50);
        top.count("rounds", "horizon T").between(1, u64::from(u32::MAX)).required();
        let recorded = Recorded::parse(&top);
        let limits = top.table("limits");
        let memory = limits
            .number("memory_gib", "most memory that one shared table or one trial may take")
            .above(0.0)
            .at_most(1e6)
            .or(8.0);
        limits.finish();
        for key in ["environment", "privacy"] {
            top.table(key);
        }
        for (key, plural) in [("policy", "[[policy]]"), ("sweep", "[sweep.product]")] {
            if key == "policy" && !top.has(key) {
                top.missing(key, &format!("at least one `{plural}` table with a `kind`"));
            }
            top.documents(key, plural);
        }
        if !top.has("environment") {
            top.missing("environment", "a table `[environment]` with a `kind`");
        }
        top.finish();
        let points = points(self.base, self.sink);
        if !self.sink.is_clean() {
            return None;
        }
        let mut cells = Vec::new();
        for point in &points {
            self.cells_at(point, &mut cells);
        }
        let resolved = toml::to_string(&self.base.to_toml()).unwrap_or_default();
        let hash = Sha256::digest(resolved.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let memory_bytes = memory * 1024.0 * 1024.0 * 1024.0;
        Some(Sweep { name, seed, trials, block, recorded, memory_bytes, cells, resolved, hash })
    }

    /// The cells of one sweep point, appended; mistakes go to the sink.
    fn cells_at(&self, point: &SweepPoint, cells: &mut Vec<CellPlan>) {
        let mut table = self.base.clone();
        table.remove("sweep");
        for (key_path, node) in point {
            if ["seed", "trials", "block", "name", "record", "limits"].contains(&key_path.split('.').next().unwrap_or("")) {
                self.sink.push_at(
                    node.span.as_ref(),
                    Diagnostic::new(format!("`{key_path}` cannot be swept"))
                        .expected("a key of the environment, the privacy, a policy, or `rounds`"),
                );
                return;
            }
            if let Err(diagnostic) = path::set(&mut table, key_path, node) {
                self.sink.push_at(node.span.as_ref(), diagnostic);
                return;
            }
        }
        let swept: Vec<(String, Scalar)> =
            point.iter().filter_map(|(key_path, node)| Some((key_path.clone(), scalar(&node.value)?))).collect();
        let top = Args::new(&table, "", self.sink);
        let rounds = top.count("rounds", "horizon T").between(1, u64::from(u32::MAX)).required();
        let mut defaults = BTreeMap::new();

        let environment_args = top.table("environment");
        let Some(kind) = environment_args.kind("environment", &names(ENVIRONMENTS)) else { return };
        let environment =
            environment_args.text("label", "name of the environment's random streams").unwrap_or_else(|| kind.clone());
        let Some(entry) = find(ENVIRONMENTS, &kind) else { return };
        let environment_plan: Arc<dyn EnvironmentPlan> = Arc::from((entry.build)(&environment_args, &Shelf));
        environment_args.finish();
        note_defaults("environment", &environment_args.documented(), &mut defaults);
        let environment_json = json_of(&table, "environment");
        let environment_key = format!("{rounds} {environment_json}");

        let empty = Table::default();
        let base_privacy = match table.get("privacy").map(|node| &node.value) {
            Some(Value::Table(privacy)) => Some(privacy),
            _ => None,
        };
        let Some(Node { value: Value::Array(policies), .. }) = table.get("policy") else {
            top.reject("policy", "`policy` is not an array of tables", "`[[policy]]` tables with a `kind` each");
            return;
        };
        let mut labels: Vec<String> = Vec::new();
        for (i, item) in policies.iter().enumerate() {
            let Value::Table(policy_table) = &item.value else {
                self.sink.push_at(
                    item.span.as_ref(),
                    Diagnostic::new("a policy is not a table").expected("`[[policy]]` with a `kind`"),
                );
                continue;
            };
            let args = Args::new(policy_table, format!("policy.{i}"), self.sink);
            let Some(kind) = args.kind("policy", &names(POLICIES)) else { continue };
            let label =
                args.text("label", "name of the policy in results and of its random streams").unwrap_or_else(|| kind.clone());
            if labels.contains(&label) {
                args.reject(
                    if args.has("label") { "label" } else { "kind" },
                    format!("two policies have the label `{label}`"),
                    "different labels: add `label = \"…\"`",
                );
                continue;
            }
            let Some(entry) = find(POLICIES, &kind) else { continue };
            let policy_plan: Arc<dyn PolicyPlan> = Arc::from((entry.build)(&args, &Shelf));
            // Keys of the policy's own `privacy` table stand over those of the spec's.
            args.table("privacy");
            args.finish();
            let mut privacy_table = base_privacy.unwrap_or(&empty).clone();
            let own = match policy_table.get("privacy").map(|node| &node.value) {
                Some(Value::Table(own)) => Some(own),
                _ => None,
            };
            for entry in own.iter().flat_map(|own| &own.entries) {
                privacy_table.set(&entry.key, entry.node.clone());
            }
            let privacy_args = Args::new(&privacy_table, "privacy", self.sink);
            let stated = base_privacy.is_some() || own.is_some();
            let Some(privacy) = PrivacyPlan::parse(&privacy_args, &privacy_table, stated) else { continue };
            let mut defaults = defaults.clone();
            note_defaults("policy", &args.documented(), &mut defaults);
            labels.push(label.clone());
            let written = |table: &Table| serde_json::to_value(table.to_toml()).unwrap_or(serde_json::Value::Null);
            cells.push(CellPlan {
                index: cells.len() as u32,
                policy: label,
                environment: environment.clone(),
                swept: swept.clone(),
                rounds,
                environment_plan: Arc::clone(&environment_plan),
                environment_key: environment_key.clone(),
                privacy,
                policy_plan,
                resolved: serde_json::json!({
                    "rounds": rounds,
                    "environment": environment_json,
                    "privacy": written(&privacy_table),
                    "policy": written(policy_table),
                    "defaults": defaults,
                }),
            });
        }
    }
}

fn json_of(table: &Table, key: &str) -> serde_json::Value {
    match table.get(key).map(|node| &node.value) {
        Some(Value::Table(nested)) => serde_json::to_value(nested.to_toml()).unwrap_or(serde_json::Value::Null),
        _ => serde_json::Value::Null,
    }
}

/// Keys that were not written, with the value they take.
fn note_defaults(prefix: &str, documented: &[KeyDoc], defaults: &mut BTreeMap<String, String>) {
    for doc in documented {
        if let Some(default) = &doc.default {
            defaults.insert(format!("{prefix}.{}", doc.path), default.clone());
        }
    }
}
