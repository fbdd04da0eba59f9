//! What the numbers of a run are called: regrets of policies, or risks of learners.

use super::collect::Run;
use crate::record::Measures;

/// Names of the two quantities that a report shows, and of who is compared.
#[derive(Debug)]
pub(super) struct Words {
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
    /// What "least" is said of.
    pub(super) least: &'static str,
    /// The second quantity, short.
    pub(super) second: &'static str,
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
}

const REGRET: Words = Words {
    who: "policy",
    many: "policies",
    main: "final regret",
    main_title: "Final cumulative regret",
    main_long: "final cumulative regret",
    least: "regret",
    second: "simple",
    curve_title: "Cumulative regret",
    curve: "cumulative regret",
    columns: ["final_regret", "simple_regret", "regret_exponent"],
    adds_up: true,
    recommends: true,
};

const CONTEXTUAL: Words =
    Words { second: "best arm", columns: ["final_regret", "best_arm_share", "regret_exponent"], recommends: false, ..REGRET };

const RISK: Words = Words {
    who: "learner",
    many: "learners",
    main: "risk",
    main_title: "Final risk",
    main_long: "final risk",
    least: "risk",
    second: "suboptimality",
    curve_title: "Suboptimality",
    curve: "suboptimality",
    columns: ["risk", "suboptimality", "suboptimality_exponent"],
    adds_up: false,
    recommends: false,
};

impl Run {
    /// The words of this run: all cells measure the same.
    pub(super) fn words(&self) -> &'static Words {
        match self.cells.first().map_or(Measures::Regret, |cell| cell.info.measures) {
            Measures::Regret => &REGRET,
            Measures::Contextual => &CONTEXTUAL,
            Measures::Risk => &RISK,
        }
    }
}
