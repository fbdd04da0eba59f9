//! Adds what prices are measured against: guessing, and each private policy without privacy, once for each problem.
//!
//! A problem is an environment with the swept keys that are not about privacy. What a spec lists already is not added.

use super::cell::{CellPlan, Role, Task};
use super::reader::SpecReader;
use super::sections::PointKeys;
use super::sweep::Swept;
use super::tuning;
use super::written::{nested, recorded};
use privateer_config::facts::FactValue;
use privateer_config::params::{Node, Sink, Table, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Kinds of policies that play at random.
pub const GUESSING: [&str; 2] = ["uniform", "random-arm"];

/// Pilot trials of a tuned reference, times those of the policy that is measured against it.
///
/// Every price of its problem rests on its factor, and it is played once for all of them: with as many pilot trials as a private policy, a
/// poor factor of the reference let the private policy of a table win beyond chance for 2 of 13 seeds.
pub const REFERENCE_PILOTS: u64 = 4;

/// Returns whether a swept key is about privacy.
pub fn is_privacy_key(key: &str) -> bool {
    let mut parts = key.split('.');
    // After these a policy is named, which may be called anything.
    let named = matches!(parts.next(), Some("policy" | "learner"));
    let first = if named { parts.nth(1) } else { key.split('.').next() };
    first.into_iter().chain(parts).any(|part| ["privacy", "curator"].contains(&part))
}

/// Appends the references of every problem on which something is private.
pub(super) fn append(reader: &SpecReader<'_>, cells: &mut Vec<CellPlan>) {
    let mut problems: Vec<Vec<usize>> = Vec::new();
    let mut places = BTreeMap::new();
    for (cell_idx, cell) in cells.iter().enumerate() {
        let swept = cell.swept.values();
        let outside: Vec<_> = swept.iter().filter(|(key, _)| !is_privacy_key(key)).collect();
        let place = *places.entry(format!("{} {outside:?}", cell.environment.key)).or_insert(problems.len());
        if place == problems.len() {
            problems.push(Vec::new());
        }
        problems[place].push(cell_idx);
    }
    for members in problems {
        let n_before = cells.len();
        let open = members.iter().filter(|&&cell| open_kind(&cells[cell]).is_none());
        let listed: BTreeSet<String> = open.map(|&cell| parameters(cells[cell].resolved["policy"].clone()).to_string()).collect();
        let (mut added, mut known) = (BTreeSet::new(), BTreeSet::new());
        let private: Vec<usize> = members.iter().copied().filter(|&cell| open_kind(&cells[cell]).is_some()).collect();
        let Some(&first) = private.first() else { continue };
        if !members.iter().any(|&cell| GUESSING.contains(&kind(&cells[cell])))
            && let Some(kind) = guessing_kind(&cells[first])
        {
            let mut item = Table::default();
            item.set("kind", text(kind));
            add(reader, first, (&members, n_before), Role::Guessing, item, cells);
        }
        for cell_idx in private {
            let Some((kind, dropped)) = open_kind(&cells[cell_idx]) else { continue };
            // Equal policies are one value in memory.
            if !known
                .insert((std::ptr::from_ref(&cells[cell_idx].resolved["policy"]).addr(), Arc::clone(&cells[cell_idx].policy)))
            {
                continue;
            }
            let Some(mut item) = written(reader, cells, cell_idx) else { continue };
            item.set("kind", text(kind));
            dropped.iter().for_each(|key| drop(item.remove(key)));
            let wanted = parameters(recorded(&item)).to_string();
            // The report finds one of another kind by its role alone, so that each policy has its own.
            let of = &cells[cell_idx].policy;
            let label = if kind == self::kind(&cells[cell_idx]) { String::new() } else { of.to_string() };
            if !listed.contains(&wanted) && added.insert((wanted, label)) {
                let role = Role::WithoutPrivacy(Arc::clone(of));
                tuning::add_factor_zero(&mut item);
                add(reader, cell_idx, (&members, n_before), role, item, cells);
            }
        }
    }
}

/// Returns the kind of the same policy without privacy and the keys that it lacks; `None` if the cell is not private.
fn open_kind(cell: &CellPlan) -> Option<(&str, &'static [&'static str])> {
    let is_private = match &cell.task {
        Task::Bandit(bandit) => bandit.privacy.is_private() || bandit.curator.is_some(),
        // What a log says of two policies is no difference of their regrets.
        Task::Contextual(task) if task.environment_plan.replays => return None,
        Task::Contextual(task) => return task.policy_plan.open_kind.filter(|_| task.privacy.request.mechanism != "none"),
        Task::Online(online) => online.learner.is_private && online.privacy.request.spec.mechanism != "none",
    };
    Some((kind(cell), &[] as &[_])).filter(|(kind, _)| is_private && !GUESSING.contains(kind))
}

/// Returns the kind of policy that guesses beside this one; `None` where what guessing gives needs no play.
fn guessing_kind(cell: &CellPlan) -> Option<&'static str> {
    match &cell.task {
        Task::Bandit(_) => Some("uniform"),
        Task::Contextual(_) => Some("random-arm"),
        Task::Online(_) => None,
    }
}

fn kind(cell: &CellPlan) -> &str {
    cell.resolved["policy"]["kind"].as_str().unwrap_or("")
}

/// Returns the keys of a policy that are neither its name nor about privacy.
fn parameters(mut policy: FactValue) -> FactValue {
    if let FactValue::Table(keys) = &mut policy {
        keys.retain(|key, _| key != "label" && !is_privacy_key(key));
    }
    policy
}

/// Returns the table of a listed cell's policy or learner as it is written at its sweep point.
fn written(reader: &SpecReader<'_>, cells: &[CellPlan], cell_idx: usize) -> Option<Table> {
    let tree = reader.tree_at(&cells[cell_idx].swept.point())?;
    // The cells of a sweep point stand together, in the order of the policies.
    let at = cell_idx - cells[..cell_idx].partition_point(|cell| cell.swept.number < cells[cell_idx].swept.number);
    let found = tree.get("policy").or_else(|| tree.get("learner"));
    found?.value.as_array()?.get(at)?.value.as_table().cloned()
}

/// Appends a policy without privacy at a cell's sweep point.
///
/// * `members`, `n_before` — the listed cells of the problem, and the number of cells before its references
fn add(
    reader: &SpecReader<'_>,
    cell_idx: usize,
    (members, n_before): (&[usize], usize),
    role: Role,
    mut item: Table,
    cells: &mut Vec<CellPlan>,
) {
    let Some(mut tree) = reader.tree_at(&cells[cell_idx].swept.point()) else { return };
    let Some(kind) = item.get("kind").and_then(|kind| kind.value.as_text()) else { return };
    let names = match &role {
        Role::WithoutPrivacy(of) => [format!("{kind} without privacy"), format!("{of} without privacy")],
        _ => [kind.to_owned(), "guessing".to_owned()],
    };
    let here = || members.iter().map(|&cell| &cells[cell]).chain(&cells[n_before..]);
    let is_taken = |name: &String| here().any(|cell| *cell.policy == **name);
    let numbered = (2..).map(|number| format!("{} {number}", names[1]));
    let Some(name) = names.iter().cloned().chain(numbered).find(|name| !is_taken(name)) else { return };
    let swept = cells[cell_idx].swept.clone();
    item.set("label", text(&name));
    for key in ["privacy", "curator"] {
        item.remove(key);
        if key == "privacy" || nested(&tree, key).is_some() {
            let mut none = Table::default();
            none.set("mechanism", text("none"));
            item.set(key, Node::bare(Value::Table(none)));
        }
    }
    let list = if tree.get("learner").is_some() { "learner" } else { "policy" };
    tree.set(list, Node::bare(Value::Array(vec![Node::bare(Value::Table(item))])));
    // A reference that cannot be read is left out, and the headline says what is missing.
    let sink = Sink::new(reader.sink.sources().clone()).with_added(reader.sink.added().clone());
    let mut found = Vec::new();
    SpecReader::new(&tree, &sink).cells_at(&Swept::default(), PointKeys::default(), &mut found);
    if let (Some(mut cell), 0) = (found.pop(), sink.n_mistakes()) {
        cell.index = cells.len() as u32;
        cell.swept = swept;
        if let (Role::WithoutPrivacy(_), Some(tuning)) = (&role, &mut cell.tuning) {
            tuning.pilot = tuning.pilot.saturating_mul(REFERENCE_PILOTS);
        }
        cell.role = role;
        cells.push(cell);
    }
}

fn text(text: &str) -> Node {
    Node::bare(Value::Text(text.to_owned()))
}
