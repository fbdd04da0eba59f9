//! Reads the candidates of a tuned exploration factor.

use crate::policy::{USUAL_FACTORS, USUAL_PILOT, usual_factors_and_zero};
use privateer_config::params::{Node, Table, Value};
use std::borrow::Cow;

/// Returns the number of pilot trials, and the policy's table at each factor; `None` if its `beta` is not tuned.
pub(super) fn candidates(policy: &Table) -> Option<(u64, Vec<(f64, Table)>)> {
    let written = tuned(policy)?;
    let factors = match written.get("factors").and_then(|node| node.value.as_array()) {
        // Others are reported where the key is read.
        Some(items) => items.iter().filter_map(|item| item.value.as_f64()).filter(|x| (0.0..=1e12).contains(x)).collect(),
        None => USUAL_FACTORS.to_vec(),
    };
    let pilot = written.get("pilot").and_then(|node| node.value.as_f64()).map_or(USUAL_PILOT, |pilot| pilot as u64);
    let (kind, key) = match written.get("of").and_then(|node| node.value.as_text()) {
        Some("theory") => ("scaled", "factor"),
        Some("constant") => ("constant", "value"),
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
    let is_order = beta.get("of").is_none_or(|of| of.value.as_text() == Some("order"));
    if is_order && beta.get("factors").is_none() {
        let span = beta.span.clone();
        let node = |value| Node { value, span: span.clone() };
        let factors = usual_factors_and_zero().map(|factor| node(Value::Float(factor))).collect();
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
        Value::Table(table) if table.get("kind")?.value.as_text() == Some("tuned") => Some(Cow::Borrowed(table)),
        _ => None,
    }
}
