//! Names the quantities of a run for readers.

use crate::record::{Measures, Quantity};

/// Names of the quantity that a report shows, and of the compared policies or learners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReportWords {
    /// Name of what is compared: "policy".
    pub(super) who: &'static str,
    pub(super) many: &'static str,
    /// The quantity that the page is about.
    pub(super) measure: Quantity,
    /// The quantity at the last round, short, as a column's title.
    pub(super) short: &'static str,
    /// The quantity at the last round, in full, inside a sentence.
    pub(super) long: &'static str,
    /// The quantity along the rounds, inside a sentence.
    pub(super) curve: &'static str,
    /// Further quantities, shown below the main table.
    pub(super) others: &'static [Quantity],
    /// Prefixes of the columns of `summary.csv`: first and second quantity.
    pub(super) columns: [(&'static str, Quantity); 2],
    /// Name of the column of the fitted exponent.
    pub(super) exponent: &'static str,
    /// Whether the first column of `summary.csv` adds up over rounds.
    pub(super) adds_up: bool,
    pub(super) recommends: bool,
    /// Whether the quantity is an estimate from one log.
    ///
    /// Trials then do not reflect the log's chance, and no policy is called the best.
    pub(super) estimates: bool,
}

/// Returns short name, full name at the end of a run, and name along the rounds.
pub(super) fn names(quantity: Quantity) -> [&'static str; 3] {
    match quantity {
        Quantity::Regret => ["last regret", "regret of the last round", "regret of the round"],
        Quantity::CumulativeRegret => ["final regret", "final cumulative regret", "cumulative regret"],
        Quantity::SimpleRegret => ["simple regret"; 3],
        Quantity::RecommendedRegret => ["recommended", "regret of the recommended point", "regret of the recommended point"],
        Quantity::BestShare => ["best arm", "share of rounds with the best arm", "share of rounds with the best arm"],
        Quantity::Taken => ["rows taken", "number of matched log rows", "number of matched log rows"],
        Quantity::Value => ["value", "off-policy estimate of the mean reward", "estimated mean reward"],
        Quantity::StandardError => ["standard error", "standard error of the estimate", "standard error of the estimate"],
        Quantity::Risk => ["risk", "final risk", "risk"],
        Quantity::Suboptimality => ["suboptimality", "final suboptimality", "suboptimality"],
    }
}

impl ReportWords {
    /// Returns the words for a kind of run; `outsourced` if a curator releases the inputs, so that one good point is sought.
    pub(super) fn of(measures: Measures, outsourced: bool, chosen: Option<Quantity>) -> Self {
        use Quantity as Q;
        let (usual, columns, others): (_, _, &[Q]) = match measures {
            Measures::Regret if outsourced => (
                Q::SimpleRegret,
                [("final_regret", Q::CumulativeRegret), ("simple_regret", Q::SimpleRegret)],
                &[Q::RecommendedRegret, Q::CumulativeRegret],
            ),
            Measures::Regret => (
                Q::CumulativeRegret,
                [("final_regret", Q::CumulativeRegret), ("simple_regret", Q::SimpleRegret)],
                &[Q::SimpleRegret, Q::RecommendedRegret],
            ),
            Measures::Contextual => {
                (Q::CumulativeRegret, [("final_regret", Q::CumulativeRegret), ("best_arm_share", Q::BestShare)], &[Q::BestShare])
            }
            Measures::Replay => {
                (Q::Value, [("value", Q::Value), ("standard_error", Q::StandardError)], &[Q::StandardError, Q::Taken])
            }
            Measures::Risk => (Q::Suboptimality, [("risk", Q::Risk), ("suboptimality", Q::Suboptimality)], &[Q::Risk]),
        };
        let measure = chosen.unwrap_or(usual);
        let [short, long, curve] = names(measure);
        let (who, many) = if measures == Measures::Risk { ("learner", "learners") } else { ("policy", "policies") };
        Self {
            who,
            many,
            measure,
            short,
            long,
            curve,
            others,
            columns,
            exponent: match measure {
                Q::CumulativeRegret => "regret_exponent",
                Q::SimpleRegret => "simple_regret_exponent",
                Q::Suboptimality => "suboptimality_exponent",
                Q::Value => "value_exponent",
                _ => "exponent",
            },
            adds_up: matches!(measures, Measures::Regret | Measures::Contextual),
            recommends: measures == Measures::Regret,
            estimates: measures == Measures::Replay,
        }
    }

    pub(super) fn less_is_better(&self) -> bool {
        !matches!(self.measure, Quantity::BestShare | Quantity::Value | Quantity::Taken)
    }

    /// Returns the quantity at the last round with a capital, for the start of a sentence.
    pub(super) fn title(&self) -> String {
        capital(self.long)
    }
}

/// Returns a text with its first letter in upper case.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
