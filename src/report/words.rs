//! What the numbers of a run are called: regrets of policies, or risks of learners.

use super::collect::ReportRun;
use crate::record::Measures;

/// Names of the two quantities that a report shows, and of who is compared.
#[derive(Debug)]
pub(super) struct ReportWords {
    /// Who is compared: "policy".
    pub(super) who: &'static str,
    /// Several of them.
    pub(super) many: &'static str,
    /// The first quantity at the last round, short: a column's title.
    pub(super) main: &'static str,
    /// The first quantity at the last round, in full, at the start of a sentence.
    pub(super) main_title: &'static str,
    /// In full, inside a sentence.
    pub(super) main_long: &'static str,
    /// What "least" is said of, and what a comparison is in.
    pub(super) least: &'static str,
    /// The second quantity, short.
    pub(super) second: &'static str,
    /// In full, where it is worth a figure of its own against what was swept.
    pub(super) second_title: Option<&'static str>,
    /// What curves show, at the start of a sentence.
    pub(super) curve_title: &'static str,
    /// What curves show, inside a sentence.
    pub(super) curve: &'static str,
    /// Prefixes of the columns of `summary.csv`: first quantity, second, exponent.
    pub(super) columns: [&'static str; 3],
    /// Whether the first quantity adds up over rounds.
    pub(super) adds_up: bool,
    /// Whether a point is recommended.
    pub(super) recommends: bool,
    /// Whether the first quantity is an estimate from one log, of which the second is the standard error: trials then tell nothing of the log's
    /// chance, and nobody is called the best.
    pub(super) estimates: bool,
}

const REGRET: ReportWords = ReportWords {
    who: "policy",
    many: "policies",
    main: "final regret",
    main_title: "Final cumulative regret",
    main_long: "final cumulative regret",
    least: "regret",
    second: "simple",
    second_title: None,
    curve_title: "Cumulative regret",
    curve: "cumulative regret",
    columns: ["final_regret", "simple_regret", "regret_exponent"],
    adds_up: true,
    recommends: true,
    estimates: false,
};

const CONTEXTUAL: ReportWords = ReportWords {
    second: "best arm",
    second_title: Some("Share of rounds in which the best arm was shown"),
    columns: ["final_regret", "best_arm_share", "regret_exponent"],
    recommends: false,
    ..REGRET
};

const RISK: ReportWords = ReportWords {
    who: "learner",
    many: "learners",
    main: "risk",
    main_title: "Final risk",
    main_long: "final risk",
    least: "risk",
    second: "suboptimality",
    second_title: None,
    curve_title: "Suboptimality",
    curve: "suboptimality",
    columns: ["risk", "suboptimality", "suboptimality_exponent"],
    adds_up: false,
    recommends: false,
    estimates: false,
};

const VALUE: ReportWords = ReportWords {
    who: "policy",
    many: "policies",
    main: "value",
    main_title: "Off-policy estimate of the mean reward",
    main_long: "estimated mean reward",
    least: "value",
    second: "standard error",
    second_title: None,
    curve_title: "Estimated mean reward",
    curve: "estimated mean reward",
    columns: ["value", "standard_error", "value_exponent"],
    adds_up: false,
    recommends: false,
    estimates: true,
};

impl ReportRun {
    /// The words of this run: all cells measure the same.
    pub(super) fn words(&self) -> &'static ReportWords {
        match self.cells.first().map_or(Measures::Regret, |cell| cell.info.measures) {
            Measures::Regret => &REGRET,
            Measures::Contextual => &CONTEXTUAL,
            Measures::Replay => &VALUE,
            Measures::Risk => &RISK,
        }
    }
}
