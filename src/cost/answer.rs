//! Reads from a run's summary what each budget keeps, as numbers and as a chart.

use super::question::CostQuestion;
use crate::report::{Ratio, SummaryRow, share_text};
use privateer_config::params::Scalar;
use serde::Serialize;

/// Number of columns of a full bar.
const BAR: usize = 40;

/// Holds what one budget keeps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BudgetAnswer {
    /// The privacy budget.
    pub epsilon: f64,
    /// The private policy with the least mean regret.
    pub policy: String,
    /// Its share of what can be learnt; `None` if the policy without privacy does not beat guessing beyond chance.
    pub share: Option<f64>,
    /// 95 % interval of the share.
    pub interval: Option<(f64, f64)>,
    /// Its mean regret after the last round.
    pub regret: f64,
    /// That of the same policy without privacy.
    pub regret_without_privacy: f64,
}

/// Holds what each budget of a question keeps, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct CostAnswer(pub Vec<BudgetAnswer>);

impl CostAnswer {
    /// Reads the answer from the rows of a run of the question's spec.
    #[must_use]
    pub fn of(question: &CostQuestion, rows: &[SummaryRow]) -> Self {
        let epsilon_of = |row: &SummaryRow| {
            row.swept.iter().find_map(|(key, value)| match value {
                Scalar::Float(epsilon) if key == "privacy.epsilon" => Some(*epsilon),
                Scalar::Integer(epsilon) if key == "privacy.epsilon" => Some(*epsilon as f64),
                _ => None,
            })
        };
        let regret = |row: &SummaryRow| row.main.map_or(f64::NAN, |moments| moments.mean);
        let best = |&epsilon: &f64| {
            let here = rows.iter().filter(|row| row.cost.is_some() && epsilon_of(row) == Some(epsilon));
            let best = here.min_by(|a, b| regret(a).total_cmp(&regret(b)))?;
            let cost = best.cost?;
            let left: Option<Ratio> = cost.share.and_then(|share| share.left);
            Some(BudgetAnswer {
                epsilon,
                policy: best.policy.clone(),
                share: left.map(|left| left.value),
                interval: left.and_then(|left| left.interval),
                regret: regret(best),
                regret_without_privacy: rows.get(cost.reference).map_or(f64::NAN, regret),
            })
        };
        Self(question.epsilons.iter().filter_map(best).collect())
    }

    /// Draws what each budget keeps, a line each, at most 80 columns wide.
    #[must_use]
    pub fn chart(&self) -> String {
        let name = |budget: &BudgetAnswer| format!("epsilon {}", budget.epsilon);
        let width = self.0.iter().map(|budget| name(budget).len()).max().unwrap_or(0);
        let line = |budget: &BudgetAnswer| {
            let name = name(budget);
            let Some(share) = budget.share else { return format!("{name:<width$}  cannot be said") };
            let at = |share: f64| (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
            let (low, high) = budget.interval.unwrap_or((share, share));
            let cell = |column: usize| match column {
                _ if column < at(share) => '█',
                _ if at(low) <= column && column < at(high) => '░',
                _ => '·',
            };
            let bar: String = (0..BAR).map(cell).collect();
            format!("{name:<width$}  {bar}  {}", share_text(Ratio { value: share, interval: budget.interval }))
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
