//! Defines the starting rounds of a policy.

use privateer_config::params::Args;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// Plays this number of uniformly random points, the same for all policies of a trial.
    Random(u64),
    /// Scores from round 1: under a flat prior all points tie, and the lowest index wins.
    LowestIndex,
}

impl Initial {
    pub fn parse(args: &Args<'_>) -> Self {
        let kinds = ["uniform", "lowest-index", "random"];
        let Some(variant) = args.variant(
            "initial",
            "first rounds: one random point, the prior's argmax, or `points` random points",
            &kinds,
            Some("uniform"),
        ) else {
            return Self::Random(1);
        };
        args.documents("initial.points", "a whole number from 1 to 4294967295: random starting points, required by `random`");
        let initial = match variant.kind.as_str() {
            "lowest-index" => Self::LowestIndex,
            "random" => Self::Random(variant.args.count("points", "random starting points").between(1, 1_000_000).required()),
            _ => Self::Random(1),
        };
        variant.args.finish();
        initial
    }

    /// Returns whether round `round` (1-based) is a starting round, which plays a random point.
    pub fn is_random(self, round: u64) -> bool {
        round <= self.rounds()
    }

    pub fn rounds(self) -> u64 {
        match self {
            Self::Random(n) => n,
            Self::LowestIndex => 0,
        }
    }
}
