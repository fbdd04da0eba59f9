//! Selects the rounds that are recorded.

use privateer_config::params::Args;

/// States the rounds that are stored in the parts; the last round always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    All,
    /// Rounds that are equally spaced on a logarithmic scale.
    Log {
        /// Largest number of recorded rounds per factor of ten (the first rounds are all distinct).
        per_decade: u64,
    },
}

impl Recorded {
    /// Reads the table `record`: the rounds, and whether private models' parameters are stored.
    pub fn parse(args: &Args<'_>) -> (Self, bool) {
        let nested = args.table("record");
        let kind = nested.word("rounds", "which rounds are recorded", &["log", "all"], Some("log"));
        let per_decade = nested.count("per_decade", "recorded rounds for each factor of ten").between(1, 100_000).or(40);
        let parameters =
            nested.flag("parameters", "keep what private policies release of their models, for `privateer predict`, and the `state` of policies of your own", false);
        nested.finish();
        args.absorb(&nested);
        (if kind == "all" { Self::All } else { Self::Log { per_decade } }, parameters)
    }

    pub fn n_rounds(self, horizon: u64) -> u64 {
        match self {
            Self::All => horizon,
            Self::Log { .. } => self.rounds(horizon).len() as u64,
        }
    }

    /// Returns the recorded rounds of a horizon, ascending, 1-based.
    pub fn rounds(self, horizon: u64) -> Vec<u64> {
        match self {
            Self::All => (1..=horizon).collect(),
            Self::Log { per_decade } => {
                let mut rounds: Vec<u64> = (0..)
                    .map(|i| libm::pow(10.0, i as f64 / per_decade as f64).round() as u64)
                    .take_while(|&round| round < horizon)
                    .collect();
                rounds.push(horizon);
                rounds.dedup();
                rounds
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_rounds_start_at_one_and_end_at_the_horizon() {
        let rounds = Recorded::Log { per_decade: 10 }.rounds(1000);
        assert_eq!((rounds[0], rounds[rounds.len() - 1]), (1, 1000));
        assert!(rounds.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(rounds.contains(&10) && rounds.contains(&100));
        assert_eq!(Recorded::Log { per_decade: 10 }.rounds(1), vec![1]);
        assert_eq!(Recorded::All.rounds(3), vec![1, 2, 3]);
        for recorded in [Recorded::All, Recorded::Log { per_decade: 10 }] {
            assert_eq!(recorded.n_rounds(777), recorded.rounds(777).len() as u64);
        }
        assert_eq!(Recorded::All.n_rounds(u64::from(u32::MAX)), 4_294_967_295);
    }
}
