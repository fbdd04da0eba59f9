//! Makes cells for tests of records and reports.

use privateer_config::facts::FactValue;
use privateer_config::params::Scalar;
use privateer_engine::engine::{CellInfo, CellLedger, Measures, Resolved, Role, unify_swept};
use privateer_privacy::{Budget, Calibration, Claim, ClaimUnit, Event, Ledger};
use serde::Serialize;
use std::sync::Arc;

/// Returns the ledgers of a Laplace mechanism with this share of the noise that `epsilon` needs, or of no mechanism.
pub(crate) fn ledger(epsilon: f64, noise: Option<f64>) -> CellLedger {
    let (mechanism, event) = match noise {
        None => ("none", Event::NonPrivate),
        Some(share) => ("laplace", Event::Laplace { scale: share * 2.0 / epsilon, sensitivity: Some(2.0) }),
    };
    let reward = Ledger::of(Claim {
        mechanism,
        calibration: Calibration::Tight,
        unit: ClaimUnit::Reward { clip: noise.map(|_| (-1.0, 1.0)) },
        event,
        budget: Budget::new(noise.map(|_| epsilon), None).expect("a budget"),
        noise_formula: "2 / epsilon".to_owned(),
        doubt: Some(("the noise is too small", "E1")),
        notes: Vec::new(),
    });
    CellLedger { reward, inputs: None }
}

/// Returns the members of an object as sections.
pub(crate) fn resolved(sections: impl Serialize) -> Resolved {
    let FactValue::Table(sections) = FactValue::of(&sections) else { return Resolved::default() };
    sections.into_iter().map(|(name, section)| (name, Arc::new(section))).collect()
}

/// Returns a cell with one swept key, for the tests of this room and of the report.
pub(crate) fn cell(cell: u32, policy: &str, epsilon: f64) -> CellInfo {
    CellInfo {
        cell,
        policy: policy.into(),
        environment: "rkhs".into(),
        swept: [("privacy.epsilon".into(), Scalar::Float(epsilon))].into(),
        resolved: resolved(serde_json::json!({"policy": policy})),
        ledger: ledger(epsilon, Some(1.0)).into(),
        facts: Arc::new([("points", 100_u64.into())].into()),
        role: Role::Listed,
        measures: Measures::Regret,
        warnings: Arc::default(),
    }
}

#[test]
fn swept_keys_get_one_type() {
    let mut cells = vec![cell(0, "a", 0.5), cell(1, "a", 0.5), cell(2, "a", 0.5)];
    cells[1].swept = [("privacy.epsilon".into(), Scalar::Integer(2))].into();
    unify_swept(&mut cells);
    assert_eq!(cells[1].swept[0].1, Scalar::Float(2.0));
    cells[2].swept = [("privacy.epsilon".into(), Scalar::Text("none".to_owned()))].into();
    unify_swept(&mut cells);
    assert_eq!(cells[0].swept[0].1, Scalar::Text("0.5".to_owned()));
}
