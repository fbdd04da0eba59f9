//! Reads the answer from a run's summary: one sentence, and a chart of what each budget keeps.

use super::question::{CostQuestion, Trust};
use crate::report::{Ratio, SummaryRow, share_text};
use privateer_config::params::Scalar;
use serde::Serialize;

/// Share of what can be learnt that the answer looks for.
const KEPT: f64 = 0.8;

/// Number of columns of a full bar.
const BAR: usize = 40;

/// Holds what one privacy budget keeps of what one number of users can teach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BudgetAnswer {
    /// The privacy budget.
    pub epsilon: f64,
    /// Number of users.
    pub users: u64,
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

/// Holds the answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// Of each budget, or of each number of users, ascending.
    pub budgets: Vec<BudgetAnswer>,
    /// The least epsilon from which on at least 80 % is kept, interpolated; `None` if no budget asked about keeps it, and for several
    /// numbers of users.
    pub enough: Option<f64>,
    /// The same for the number of users, if several were asked about.
    pub enough_users: Option<f64>,
}

impl CostAnswer {
    /// Reads the answer from the rows of a run of the question's spec.
    #[must_use]
    pub fn of(question: &CostQuestion, rows: &[SummaryRow]) -> Self {
        let swept = |row: &SummaryRow, swept: &str| {
            row.swept.iter().find_map(|(key, value)| match value {
                Scalar::Float(value) if key == swept => Some(*value),
                Scalar::Integer(value) if key == swept => Some(*value as f64),
                _ => None,
            })
        };
        let regret = |row: &SummaryRow| row.main.map_or(f64::NAN, |moments| moments.mean);
        let is_over_users = 1 < question.rounds.len();
        let is_here = |row: &SummaryRow, epsilon: f64, users: u64| {
            swept(row, "privacy.epsilon") == Some(epsilon) && (!is_over_users || swept(row, "rounds") == Some(users as f64))
        };
        let best = |(epsilon, users): (f64, u64)| {
            let here = rows.iter().filter(|row| row.cost.is_some() && is_here(row, epsilon, users));
            let best = here.min_by(|a, b| regret(a).total_cmp(&regret(b)))?;
            let cost = best.cost?;
            let left: Option<Ratio> = cost.share.and_then(|share| share.left);
            Some(BudgetAnswer {
                epsilon,
                users,
                policy: best.policy.clone(),
                share: left.map(|left| left.value),
                interval: left.and_then(|left| left.interval),
                regret: regret(best),
                regret_without_privacy: rows.get(cost.reference).map_or(f64::NAN, regret),
            })
        };
        let asked = question.epsilons.iter().flat_map(|&epsilon| question.rounds.iter().map(move |&users| (epsilon, users)));
        let budgets: Vec<BudgetAnswer> = asked.filter_map(best).collect();
        let axis = if is_over_users { BudgetAnswer::users } else { BudgetAnswer::epsilon };
        let found = enough(&budgets, axis);
        let sentence = sentence(question, &budgets, found);
        let (enough, enough_users) = if is_over_users { (None, found) } else { (found, None) };
        Self { sentence, budgets, enough, enough_users }
    }

    /// Draws what each budget or number of users keeps, a line each, at most 80 columns wide.
    #[must_use]
    pub fn chart(&self) -> String {
        let is_over_users = self.budgets.windows(2).any(|two| two[0].users != two[1].users);
        let name = |budget: &BudgetAnswer| {
            if is_over_users { format!("{} users", budget.users) } else { format!("epsilon {}", budget.epsilon) }
        };
        let width = self.budgets.iter().map(|budget| name(budget).len()).max().unwrap_or(0);
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
        self.budgets.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl BudgetAnswer {
    fn epsilon(&self) -> f64 {
        self.epsilon
    }

    fn users(&self) -> f64 {
        self.users as f64
    }
}

/// Returns the least value of the axis from which on at least [`KEPT`] is kept, interpolated in its logarithm.
fn enough(budgets: &[BudgetAnswer], axis: fn(&BudgetAnswer) -> f64) -> Option<f64> {
    let share = |budget: &BudgetAnswer| budget.share.unwrap_or(f64::NEG_INFINITY);
    let first = budgets.iter().rposition(|budget| share(budget) < KEPT).map_or(0, |last| last + 1);
    let reached = budgets.get(first)?;
    let Some(below) = first.checked_sub(1).map(|below| &budgets[below]) else { return Some(axis(reached)) };
    let part = (KEPT - share(below)) / (share(reached) - share(below));
    let (from, to) = (libm::log(axis(below)), libm::log(axis(reached)));
    Some(if part.is_finite() { libm::exp(from + part * (to - from)) } else { axis(reached) })
}

fn sentence(question: &CostQuestion, budgets: &[BudgetAnswer], enough: Option<f64>) -> String {
    let near = |budget: &&BudgetAnswer| libm::fabs(libm::log(budget.epsilon));
    let Some(head) = budgets.iter().min_by(|a, b| near(a).total_cmp(&near(b))) else {
        return "No private policy was played: nothing can be said.".to_owned();
    };
    let users = head.users;
    let whose = match question.trust {
        Trust::Local => "on each user's device",
        Trust::Joint => "by a trusted server",
    };
    let Some(share) = head.share else {
        return format!(
            "With {users} users nothing can be said of epsilon {}: without privacy, {} does not beat guessing beyond chance.",
            head.epsilon, head.policy
        );
    };
    let kept = share_text(Ratio { value: share, interval: head.interval });
    let all_below = budgets.iter().all(|budget| budget.share.is_some_and(|share| share < KEPT));
    if let (true, Some(most)) = (1 < question.rounds.len(), budgets.last()) {
        let of_most = match most.share {
            Some(share) => share_text(Ratio { value: share, interval: most.interval }),
            None => "what cannot be said".to_owned(),
        };
        let rest = match enough {
            Some(least) if least <= users as f64 => format!("80 % or more is kept from {users} users on"),
            Some(least) => format!("80 % is kept from {} users on", rounded_up(least)),
            None if all_below => format!("80 % is kept by no number of users up to {}", most.users),
            None => format!("80 % is not kept with {} users, the most asked about", most.users),
        };
        return format!(
            "Privacy of epsilon {} {whose} keeps {kept} of what {users} users can teach, and {of_most} of what {} can; {rest}.",
            head.epsilon, most.users
        );
    }
    let first = budgets.first().map_or(f64::NAN, |budget| budget.epsilon);
    let last = budgets.last().map_or(f64::NAN, |budget| budget.epsilon);
    let rest = match enough {
        _ if budgets.len() == 1 => String::new(),
        Some(epsilon) if epsilon <= first => format!("; 80 % or more is kept at every epsilon from {first} to {last}"),
        Some(epsilon) => format!("; 80 % is kept from epsilon {} on", rounded_up(epsilon)),
        None if all_below => format!("; 80 % is kept at no epsilon from {first} to {last}"),
        None => format!("; 80 % is not kept at epsilon {last}, the largest asked about"),
    };
    format!("Privacy of epsilon {} {whose} keeps {kept} of what {users} users can teach{rest}.", head.epsilon)
}

/// Rounds an interpolated epsilon up to two digits: at least 80 % is kept there.
fn rounded_up(x: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(x)) - 1.0);
    let up = libm::ceil(x / unit - 1e-9) * unit;
    format!("{up:.1e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares by epsilon, words of the sentence, and the epsilon that is enough.
    type Case = (&'static [(f64, Option<f64>)], &'static str, Option<f64>);

    fn question(epsilons: &[f64]) -> CostQuestion {
        let epsilons = epsilons.to_vec();
        CostQuestion { name: String::new(), trust: Trust::Local, epsilons, rounds: vec![500], trials: [10, 5], seed: 1 }
    }

    fn said(shares: &[(f64, Option<f64>)]) -> (String, Option<f64>) {
        let budget = |&(epsilon, share): &(f64, Option<f64>)| BudgetAnswer {
            epsilon,
            users: 500,
            policy: "gp-ucb".to_owned(),
            share,
            interval: share.map(|share| (share - 0.05, share + 0.05)),
            regret: 1.0,
            regret_without_privacy: 0.5,
        };
        let budgets: Vec<BudgetAnswer> = shares.iter().map(budget).collect();
        let found = enough(&budgets, BudgetAnswer::epsilon);
        (sentence(&question(&shares.iter().map(|(epsilon, _)| *epsilon).collect::<Vec<_>>()), &budgets, found), found)
    }

    #[test]
    fn sentences_are_true_of_any_shares() {
        let cases: [Case; 8] = [
            (
                &[(1.0, Some(0.6)), (4.0, Some(1.0))],
                "60 % (55 to 65 %) of what 500 users can teach; 80 % is kept from epsilon 2 on.",
                Some(2.0),
            ),
            (&[(0.5, Some(0.9)), (1.0, Some(0.95))], "80 % or more is kept at every epsilon from 0.5 to 1.", Some(0.5)),
            (
                &[(0.5, Some(0.85)), (1.0, Some(0.7)), (2.0, Some(0.9))],
                "80 % is kept from epsilon 1.5 on.",
                Some(std::f64::consts::SQRT_2),
            ),
            (&[(0.5, Some(0.2)), (1.0, Some(0.7))], "80 % is kept at no epsilon from 0.5 to 1.", None),
            (
                &[(1.0, Some(0.7)), (2.0, Some(0.98)), (4.0, Some(0.54))],
                "80 % is not kept at epsilon 4, the largest asked about.",
                None,
            ),
            (&[(1.0, Some(0.7)), (2.0, None)], "80 % is not kept at epsilon 2, the largest asked about.", None),
            (&[(1.0, Some(0.7))], "70 % (65 to 75 %) of what 500 users can teach.", None),
            (&[(1.0, None), (2.0, Some(0.9))], "nothing can be said of epsilon 1", Some(2.0)),
        ];
        for (shares, words, expected) in cases {
            let (sentence, enough) = said(shares);
            assert!(sentence.contains(words), "{sentence}");
            assert!(enough.zip(expected).map_or(enough == expected, |(a, b)| (a - b).abs() < 1e-6), "{shares:?}: {enough:?}");
        }
        assert_eq!([1.24, 1.2, 5.01, 0.123, 99.5].map(rounded_up), [1.3, 1.2, 5.1, 0.13, 100.0]);
        assert!(said(&[]).0.contains("nothing can be said"));
    }

    #[test]
    fn the_number_of_users_is_found_as_the_budget_is() {
        let cases: [([Option<f64>; 3], &str); 5] = [
            (
                [Some(0.6), Some(0.7), Some(0.9)],
                "60 % (55 to 65 %) of what 100 users can teach, and 90 % (85 to 95 %) of what 10000 can; 80 % is kept from 3200 users on.",
            ),
            ([Some(0.85), Some(0.9), Some(0.95)], "80 % or more is kept from 100 users on."),
            ([Some(0.2), Some(0.3), Some(0.4)], "80 % is kept by no number of users up to 10000."),
            ([Some(0.2), Some(0.9), Some(0.4)], "80 % is not kept with 10000 users, the most asked about."),
            ([None, Some(0.9), Some(0.9)], "With 100 users nothing can be said of epsilon 1"),
        ];
        let question = CostQuestion { rounds: vec![100, 1000, 10_000], ..question(&[1.0]) };
        for (shares, words) in cases {
            let budget = |(users, share): (&u64, Option<f64>)| BudgetAnswer {
                epsilon: 1.0,
                users: *users,
                policy: "gp-ucb".to_owned(),
                share,
                interval: share.map(|share| (share - 0.05, share + 0.05)),
                regret: 1.0,
                regret_without_privacy: 0.5,
            };
            let budgets: Vec<BudgetAnswer> = question.rounds.iter().zip(shares).map(budget).collect();
            let text = sentence(&question, &budgets, enough(&budgets, BudgetAnswer::users));
            assert!(text.contains(words), "{text}");
        }
    }
}
