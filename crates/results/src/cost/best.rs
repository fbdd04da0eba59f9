//! Says which policy is best of those that pilot trials left, and by how much, on fresh trials.

use super::answer::WrittenQuestion;
use super::contest::Contestant;
use crate::report::{Outcome, SummaryRow, widened};
use serde::Serialize;
use std::path::PathBuf;

/// Most policies of an answer.
const MOST_ROWS: usize = 10;

/// Formats a number with three significant digits.
pub fn brief(x: f64) -> String {
    format!("{x:.2e}").parse::<f64>().map_or_else(|_| x.to_string(), |x| x.to_string())
}

/// Which policy is best, as `privateer best --json` prints it.
#[derive(Debug, Serialize)]
pub struct BestAnswer {
    pub sentence: String,
    pub policy: String,
    /// Privacy budget; `None` without privacy.
    pub epsilon: Option<f64>,
    pub users: u64,
    /// At most ten policies: those of fresh trials from the best on, then those that pilot trials dropped.
    pub policies: Vec<BestRow>,
    /// Policies that do not fit the problem or the trust model, with the reason.
    pub left_out: Vec<(String, String)>,
    /// What was understood of the files.
    pub notes: Vec<String>,
    /// The spec of the fresh trials.
    pub spec: PathBuf,
    /// The page of the fresh trials.
    pub report: PathBuf,
}

/// One policy at its best factor in pilot trials.
#[derive(Debug, Serialize)]
pub struct BestRow {
    pub policy: String,
    /// What multiplies the orders of its exploration factor; `None` if it has none.
    pub factor: Option<f64>,
    /// Whether the numbers are those of fresh trials; else of pilot trials, which chose the factor.
    pub is_fresh: bool,
    pub trials: u64,
    /// Mean cumulative regret.
    pub regret: f64,
    /// How much more it loses than the policy that was best in pilot trials, over the same fresh trials.
    pub more: Option<f64>,
    /// The 95 % interval of `more`.
    pub interval: Option<(f64, f64)>,
    /// Failure probability of its claim; 0 for a pure one.
    pub delta: f64,
}

impl BestRow {
    fn fresh(contestant: &Contestant, row: &SummaryRow) -> Self {
        let more = row.paired_difference;
        Self {
            policy: contestant.policy.clone(),
            factor: contestant.factor,
            is_fresh: true,
            trials: row.trials as u64,
            regret: row.main.map_or(f64::NAN, |moments| moments.mean),
            more: more.map(|more| more.mean),
            interval: more.and_then(|more| more.low().zip(more.high())),
            delta: contestant.delta,
        }
    }

    fn dropped(contestant: &Contestant) -> Self {
        let Contestant { policy, factor, trials, regret, delta, .. } = contestant.clone();
        Self { policy, factor, is_fresh: false, trials, regret, more: None, interval: None, delta }
    }

    fn name(&self) -> String {
        self.factor.map_or_else(|| format!("`{}`", self.policy), |factor| format!("`{}` (factor {factor})", self.policy))
    }
}

impl WrittenQuestion {
    /// Returns which policy the fresh trials of the run name; `None` if no contest was played.
    ///
    /// That is the one that loses least in them; its margin is to the next, or to the best of the pilot trials if that is another.
    pub fn best(&self, report: &Outcome) -> Option<BestAnswer> {
        let contest = self.contest.as_ref()?;
        // The spec lists the finalists in their order, and references follow.
        let mut rows: Vec<BestRow> = (contest.finalists.iter().zip(0..report.n_cells()))
            .map(|(contestant, cell)| BestRow::fresh(contestant, &report.row(cell)))
            .collect();
        let first = rows.first()?;
        let least = rows.iter().min_by(|left, right| left.regret.total_cmp(&right.regret));
        let better = least.filter(|row| row.policy != first.policy);
        let (best, sentence) = (better.unwrap_or(first), self.best_sentence(&rows, better));
        let (policy, epsilon) = (best.policy.clone(), self.question.epsilons.first().copied());
        rows.sort_by(|left, right| left.regret.total_cmp(&right.regret));
        rows.extend(contest.dropped.iter().map(BestRow::dropped).take(MOST_ROWS.saturating_sub(rows.len())));
        Some(BestAnswer {
            sentence,
            policy,
            epsilon: epsilon.filter(|_| self.is_private()),
            users: self.question.rounds.first().copied().unwrap_or(0),
            policies: rows,
            left_out: contest.left_out.clone(),
            notes: self.problem.notes.clone(),
            spec: self.spec_path(),
            report: report.report_path.clone(),
        })
    }

    fn best_sentence(&self, rows: &[BestRow], better: Option<&BestRow>) -> String {
        let [first, others @ ..] = rows else { return String::new() };
        let best = better.unwrap_or(first);
        let next = others.iter().min_by(|left, right| left.regret.total_cmp(&right.regret));
        // Differences are to the first: the better one loses less than it, the next one more.
        let (other, sign) = if better.is_some() { (Some(first), -1.0) } else { (next, 1.0) };
        let of_difference = if better.is_some() { better } else { next };
        let less = match (other, of_difference.and_then(|row| row.more.zip(row.interval))) {
            (Some(other), Some((more, interval))) => {
                // The best is one of several.
                let (low, high) = widened(interval, rows[0].trials as usize, others.len());
                let [low, high] = if sign < 0.0 { [-high, -low] } else { [low, high] };
                let place = if better.is_some() { "the best in pilot trials" } else { "the next" };
                let doubt = if low < 0.0 { ": they cannot be told apart" } else { "" };
                let (more, name) = (brief(sign * more), other.name());
                format!(", {more} less than {name}, {place} (95 % interval {} to {}{doubt})", brief(low), brief(high))
            }
            _ => String::new(),
        };
        let at = self.question.epsilons.first().filter(|_| self.is_private());
        let delta = if 0.0 < best.delta { format!(" and delta {:e}", best.delta) } else { String::new() };
        let at = at.map_or(String::new(), |epsilon| format!("at epsilon {epsilon}{delta} "));
        let n_policies = rows.len() + self.contest.as_ref().map_or(0, |contest| contest.dropped.len());
        let of =
            if n_policies == 1 { "the only policy that fits".to_owned() } else { format!("the best of {n_policies} policies") };
        format!(
            "{} is {of} {at}{}: over {} fresh trials it loses {}{less}.",
            best.name(),
            self.question.trust.words(),
            best.trials,
            brief(best.regret)
        )
    }

    fn is_private(&self) -> bool {
        self.question.trust != super::Trust::None
    }
}
