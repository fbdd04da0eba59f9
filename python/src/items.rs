//! Policies, learners and environments that are written in Python, as the library's registry takes them.

use super::contextual::OwnContextual;
use super::environment::environment;
use super::failure::named;
use super::guard::RunGuard;
use super::learner::own_learner;
use super::policy::{own_policy, written};
use privateer::config::params::{Args, interned};
use privateer::registry::{CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, ENVIRONMENTS, LEARNERS, POLICIES, names};
use privateer::{PolicyFailure, Registry};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A class of the user, with the keys that a spec may state for it; read from the attributes of a Python object.
#[derive(FromPyObject)]
pub struct OwnItem {
    role: String,
    pub name: String,
    summary: String,
    /// The class, or another callable that makes an instance.
    pub factory: Py<PyAny>,
    pub class_name: String,
    /// Whether the choices of a trial have the same bits whatever runs beside it.
    pub independent: bool,
    /// What a policy learns from: `means` of batches, `feature-sums` or a `choice`, or `interactions` or `sums` of contextual ones;
    /// `None` for other classes.
    pub learns: Option<String>,
    /// Numbers of users and releases that the class states.
    counts: Vec<(String, u64)>,
    keys: Vec<KeyDescription>,
}

/// One keyword argument of a class.
#[derive(FromPyObject)]
struct KeyDescription {
    name: String,
    default: Option<KeyValue>,
    kind: String,
}

/// The value of a keyword argument.
#[derive(Debug, Clone, FromPyObject, IntoPyObject)]
pub enum KeyValue {
    /// `True` or `False`.
    Flag(bool),
    /// A whole number >= 0.
    Count(u64),
    /// A finite number.
    Number(f64),
    Text(String),
}

/// The keyword arguments that a spec states, or their defaults.
pub type KeyValues = Vec<(String, KeyValue)>;

impl OwnItem {
    /// Reads the keys of a table of a spec.
    pub fn read(&self, args: &Args<'_>) -> KeyValues {
        self.keys.iter().map(|key| (key.name.clone(), key.read(args))).collect()
    }

    /// Returns a number that a keyword argument or the class states.
    pub fn count(&self, keys: &KeyValues, name: &str) -> Option<u64> {
        let stated = keys.iter().find_map(|(key, value)| match value {
            KeyValue::Count(count) if key == name => Some(*count),
            _ => None,
        });
        stated.or_else(|| self.counts.iter().find(|(key, _)| key == name).map(|(_, count)| *count))
    }

    pub fn instance<'py>(&self, py: Python<'py>, keys: &KeyValues) -> PyResult<Bound<'py, PyAny>> {
        let keywords = PyDict::new(py);
        for (name, value) in keys {
            keywords.set_item(name, value.clone())?;
        }
        self.factory.bind(py).call((), Some(&keywords))
    }

    /// Makes an instance that has these methods.
    pub fn instance_with<'py>(
        &self,
        py: Python<'py>,
        keys: &KeyValues,
        guard: &RunGuard,
        methods: [&str; 3],
    ) -> Result<Bound<'py, PyAny>, PolicyFailure> {
        let instance = self.instance(py, keys).map_err(|error| guard.raised(None, &self.class_name, error))?;
        match methods.into_iter().find(|method| !written(&instance, method)) {
            Some(method) => Err(guard.refuse(None, format!("`{}` has no method `{method}`", self.class_name))),
            None => Ok(instance),
        }
    }
}

impl KeyDescription {
    fn read(&self, args: &Args<'_>) -> KeyValue {
        let (name, doc) = (interned(&self.name), "keyword argument of the class");
        match (self.kind.as_str(), &self.default) {
            ("flag", default) => KeyValue::Flag(args.flag(name, doc, matches!(default, Some(KeyValue::Flag(true))))),
            ("count", Some(KeyValue::Count(default))) => KeyValue::Count(args.count(name, doc).or(*default)),
            ("count", _) => KeyValue::Count(args.count(name, doc).required()),
            ("text", Some(KeyValue::Text(default))) => KeyValue::Text(args.text(name, doc).unwrap_or_else(|| default.clone())),
            ("text", _) => KeyValue::Text(args.required_text(name, doc)),
            (_, Some(KeyValue::Number(default))) => KeyValue::Number(args.number(name, doc).or(*default)),
            _ => KeyValue::Number(args.number(name, doc).required()),
        }
    }
}

/// Returns the library's registry with these items; their failures go to `guard`.
///
/// # Errors
/// If an item has the name of a built-in one, which would be meant instead.
pub fn registry(py: Python<'_>, items: Vec<OwnItem>, guard: &Arc<RunGuard>) -> PyResult<Registry> {
    for OwnItem { role, name, class_name, .. } in &items {
        let builtin = match role.as_str() {
            "policy" => [names(POLICIES), names(CONTEXTUAL_POLICIES)].concat(),
            "learner" => names(LEARNERS),
            _ => [names(ENVIRONMENTS), names(CONTEXTUAL_ENVIRONMENTS)].concat(),
        };
        if builtin.contains(&name.as_str()) {
            let text = format!(
                "`{class_name}` is called `{name}` in specs, as a built-in {role} is\nhint: give the class an attribute `name`"
            );
            return Err(named(py, "SpecError", &text));
        }
    }
    Ok(items.into_iter().map(Arc::new).fold(Registry::builtin(), |registry, item| {
        let (name, summary) = (item.name.clone(), item.summary.clone());
        let guard = Arc::clone(guard);
        match item.role.as_str() {
            "policy" if matches!(item.learns.as_deref(), Some("interactions" | "sums")) => {
                let plan = move |args: &Args<'_>| OwnContextual {
                    item: Arc::clone(&item),
                    keys: item.read(args),
                    guard: Arc::clone(&guard),
                };
                registry.with_contextual_policy(&name, &summary, plan)
            }
            "policy" => registry.with_policy(&name, &summary, move |args| own_policy(&item, args, &guard)),
            "learner" => registry.with_learner(&name, &summary, move |args| own_learner(&item, item.read(args), &guard)),
            _ => registry.with_environment(&name, &summary, move |args| environment(&item, args, &guard)),
        }
    }))
}
