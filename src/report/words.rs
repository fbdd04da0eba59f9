//! Names the numbers of a run: regrets of policies, or risks of learners.

use super::collect::ReportRun;
use crate::record::Measures;

/// Names of the two quantities that a report shows, and of the compared policies or learners.
#[derive(Debug)]
pub(super) struct ReportWords {
    /// Name of what is compared: "policy".
    pub(super) who: &'static str,
    /// The plural of `who`.
    pub(super) many: &'static str,
    /// The first quantity at the last round, short, as a column's title.
    pub(super) main: &'static str,
    /// The first quantity at the last round, in full, at the start of a sentence.
    pub(super) main_title: &'static str,
    /// The first quantity at the last round, in full, inside a sentence.
    pub(super) main_long: &'static str,
    /// The quantity of which "least" is said, and in which comparisons are stated.
    pub(super) least: &'static str,
    /// The second quantity, short.
    pub(super) second: &'static str,
    /// The second quantity in full, if it has its own figure against the swept numbers.
    pub(super) second_title: Option<&'static str>,
    /// The quantity of the curves, at the start of a sentence.
    pub(super) curve_title: &'static str,
    /// The quantity of the curves, inside a sentence.
    pub(super) curve: &'static str,
    /// Prefixes of the columns of `summary.csv`: first quantity, second, exponent.
    pub(super) columns: [&'static str; 3],
    /// Whether the first quantity adds up over rounds.
    pub(super) adds_up: bool,
    /// Whether a point is recommended.
    pub(super) recommends: bool,
    /// Whether the first quantity is an estimate from one log, with the second as standard error.
    ///
    /// Trials then do not reflect the log's chance, and no policy is called the best.
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
    /// Returns the words of this run, whose cells all measure the same quantity.
    pub(super) fn words(&self) -> &'static ReportWords {
        match self.cells.first().map_or(Measures::Regret, |cell| cell.info.measures) {
            Measures::Regret => &REGRET,
            Measures::Contextual => &CONTEXTUAL,
            Measures::Replay => &VALUE,
            Measures::Risk => &RISK,
        }
    }
}
