//! Reads the candidates of a tuned exploration factor.

use crate::policy::{USUAL_FACTORS, USUAL_PILOT};
use privateer_config::params::{Node, Table, Value};
use std::borrow::Cow;

/// Returns the number of pilot trials, and the policy's table at each factor; `None` if its `beta` is not tuned.
pub(super) fn candidates(policy: &Table) -> Option<(u64, Vec<(f64, Table)>)> {
    let written = tuned(policy)?;
    let number = |value: &Value| match value {
        Value::Integer(whole) => Some(*whole as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let factors = match written.get("factors").map(|node| &node.value) {
        Some(Value::Array(items)) => {
            // Others are reported where the key is read.
            items.iter().filter_map(|item| number(&item.value)).filter(|factor| (0.0..=1e12).contains(factor)).collect()
        }
        _ => USUAL_FACTORS.to_vec(),
    };
    let pilot = written.get("pilot").and_then(|node| number(&node.value)).map_or(USUAL_PILOT, |pilot| pilot as u64);
    let (kind, key) = match written.get("of").map(|node| &node.value) {
        Some(Value::Text(of)) if of == "theory" => ("scaled", "factor"),
        Some(Value::Text(of)) if of == "constant" => ("constant", "value"),
        _ => ("order", "factor"),
    };
    let at = |factor: f64| {
        let mut beta = Table { entries: Vec::new(), span: written.span.clone() };
        let node = |value| Node { value, span: written.span.clone() };
        beta.set("kind", node(Value::Text(kind.to_owned())));
        beta.set(key, node(Value::Float(factor)));
        if let Some(noise) = written.get("noise") {
            beta.set("noise", noise.clone());
        }
        let mut policy = policy.clone();
        policy.set("beta", node(Value::Table(beta)));
        (factor, policy)
    };
    Some((pilot, factors.into_iter().map(at).collect()))
}

/// Lets a reference choose to explore nothing too, where its factors are the usual ones.
///
/// Noise of a mechanism makes a policy stay where it is; where nearly every point is best, that beats every factor without privacy, and
/// privacy would seem to be worth something.
pub(super) fn add_factor_zero(policy: &mut Table) {
    let Some(mut beta) = tuned(policy).map(Cow::into_owned) else { return };
    let is_order = beta.get("of").is_none_or(|of| matches!(&of.value, Value::Text(of) if of == "order"));
    if is_order && beta.get("factors").is_none() {
        let span = beta.span.clone();
        let node = |value| Node { value, span: span.clone() };
        let factors = [0.0].into_iter().chain(USUAL_FACTORS).map(|factor| node(Value::Float(factor))).collect();
        beta.set("kind", node(Value::Text("tuned".to_owned())));
        beta.set("factors", node(Value::Array(factors)));
        policy.set("beta", node(Value::Table(beta)));
    }
}

/// Returns the table of a tuned `beta`, empty where it is the word alone.
fn tuned(policy: &Table) -> Option<Cow<'_, Table>> {
    let beta = policy.get("beta")?;
    match &beta.value {
        Value::Text(word) if word == "tuned" => Some(Cow::Owned(Table { entries: Vec::new(), span: beta.span.clone() })),
        Value::Table(table) if matches!(&table.get("kind")?.value, Value::Text(kind) if kind == "tuned") => {
            Some(Cow::Borrowed(table))
        }
        _ => None,
    }
}
