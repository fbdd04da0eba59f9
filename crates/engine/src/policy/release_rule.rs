//! Decides when a server asks its privatizer for a release.
//!
//! The schedule is fixed beforehand or computed from released sums alone. A rule that depended on the points played since the
//! last release would leak their users' decision sets.

use privateer_config::params::Args;
use privateer_numerics::linalg::eigenvalues_symmetric;

/// Describes the release rule as read from a spec.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReleaseRule {
    EveryRound,
    /// After round 1 and then at a fixed interval.
    Interval {
        rounds: u64,
    },
    /// When the number of users has grown by a factor.
    Count {
        /// The factor, > 1.
        factor: f64,
    },
    /// When the determinant of `V`, extrapolated from the last release, has grown by a factor.
    ///
    /// The extrapolation continues the average rate of growth.
    Determinant {
        factor: f64,
        /// Largest number of releases; the noise is calibrated for this number.
        most: Option<u64>,
    },
}

impl ReleaseRule {
    pub fn parse(args: &Args<'_>) -> Self {
        let kinds = ["every-round", "interval", "count", "determinant"];
        let doc = "when sums are released: after every round, every `rounds`, or when the count of users or the determinant has grown by `factor`";
        let Some(variant) = args.variant("release", doc, &kinds, Some("every-round")) else { return Self::EveryRound };
        args.documents("release.rounds", "a whole number from 1 to 4294967295: required by `interval`");
        args.documents(
            "release.factor",
            "a number >= 1.01 and <= 1e6: growth between releases of `count` and `determinant`, 2 unless given",
        );
        args.documents(
            "release.most",
            "a whole number from 1 to 4294967295: most releases of `determinant`, 4 for each doubling of the horizon unless given",
        );
        let factor = || variant.args.number("factor", "growth between two releases").at_least(1.01).at_most(1e6).or(2.0);
        let rule = match variant.kind.as_str() {
            "interval" => Self::Interval {
                rounds: variant.args.count("rounds", "rounds between two releases").at_least(1).required().max(1),
            },
            "count" => Self::Count { factor: factor() },
            "determinant" => {
                let most = variant.args.count("most", "most releases").at_least(1).optional("4 for each doubling of the horizon");
                Self::Determinant { factor: factor(), most }
            }
            _ => Self::EveryRound,
        };
        variant.args.finish();
        rule
    }

    /// Returns the largest number of releases over `rounds` rounds, which is `rounds` only where each round has a release.
    ///
    /// The last round has a release if any are left.
    pub fn most(self, rounds: u64) -> u64 {
        match self {
            Self::EveryRound => rounds,
            Self::Interval { rounds: between } => (1 + (rounds - 1).div_ceil(between)).min(rounds),
            Self::Count { factor } => {
                let mut round = 1;
                let mut count = 1;
                while round < rounds {
                    round = grown(round, factor).min(rounds);
                    count += 1;
                }
                count
            }
            Self::Determinant { most, .. } => {
                most.unwrap_or(4 * u64::from(rounds.ilog2() + 1)).clamp(1, rounds.saturating_sub(1).max(1))
            }
        }
    }

    /// Returns the round of the release after that of round `round`, or `None` if there is none.
    ///
    /// * `left` — number of releases left
    /// * `sums` — the last release, whose determinant is that of `V = gram + diagonal I`
    pub fn next(self, round: u64, rounds: u64, left: u64, sums: &Extrapolation<'_>) -> Option<u64> {
        if left == 0 || rounds <= round {
            return None;
        }
        let next = match self {
            Self::EveryRound => round + 1,
            Self::Interval { rounds: between } => round + between,
            Self::Count { factor } => grown(round, factor),
            Self::Determinant { factor, .. } => {
                // Reserves the releases that doubling the count needs to reach the horizon.
                let doublings = u64::from((rounds / round).max(1).ilog2() + 1);
                if left <= doublings {
                    if left == 1 { rounds } else { grown(round, 2.0) }
                } else {
                    round + sums.rounds_until(factor)
                }
            }
        };
        Some(next.clamp(round + 1, rounds))
    }
}

/// Returns the round at which the count has grown by a factor.
fn grown(round: u64, factor: f64) -> u64 {
    (libm::ceil(round as f64 * factor) as u64).max(round + 1)
}

/// Holds a released Gram matrix, from which the growth of the determinant is extrapolated.
#[derive(Debug, Clone, Copy)]
pub struct Extrapolation<'a> {
    /// Packed upper triangle of the released matrix.
    pub gram: &'a [f64],
    /// Amount added to the diagonal.
    pub diagonal: f64,
    /// Least eigenvalue that `V` may have.
    pub floor: f64,
    pub users: u64,
    pub n: usize,
}

impl Extrapolation<'_> {
    /// Returns the number of rounds, at least 1, until the determinant has grown by `factor`.
    ///
    /// Assumes that every round adds the average of the rounds before. The result is at most the current count of users.
    fn rounds_until(&self, factor: f64) -> u64 {
        let n = self.n;
        let mut full = vec![0.0; n * n];
        let mut packed = self.gram.iter();
        for i in 0..n {
            for (j, &entry) in (i..n).zip(packed.by_ref()) {
                full[i * n + j] = entry;
                full[j * n + i] = entry;
            }
        }
        let Some(values) = eigenvalues_symmetric(&full, n) else { return 1 };
        let users = self.users.max(1) as f64;
        let rates: Vec<f64> =
            values.iter().map(|&value| value.max(0.0) / users / (value + self.diagonal).max(self.floor)).collect();
        let target = libm::log(factor);
        let growth = |rounds: u64| rates.iter().map(|rate| libm::log1p(rounds as f64 * rate)).sum::<f64>();
        // The next release comes at the latest when the count has doubled, so that released noise cannot postpone it for ever.
        let most = self.users.max(1);
        let (mut low, mut high) = (0, most);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if growth(middle) < target { low = middle } else { high = middle }
        }
        high.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prices of users who return rest on it.
    #[test]
    fn as_many_releases_as_rounds_are_one_in_each_round() {
        // The determinant hardly grows: every rule waits as long as it may.
        let sums = |users| Extrapolation { gram: &[1e-9], diagonal: 1.0, floor: 1.0, users, n: 1 };
        let rules = [
            ReleaseRule::EveryRound,
            ReleaseRule::Interval { rounds: 1 },
            ReleaseRule::Interval { rounds: 3 },
            ReleaseRule::Count { factor: 1.01 },
            ReleaseRule::Count { factor: 2.0 },
            ReleaseRule::Determinant { factor: 1e6, most: None },
            ReleaseRule::Determinant { factor: 1e6, most: Some(1 << 40) },
        ];
        for rule in rules {
            for rounds in 1..60 {
                let most = rule.most(rounds);
                let (mut round, mut made) = (1, 1);
                let mut longest = 1;
                while let Some(next) = rule.next(round, rounds, most - made, &sums(round)) {
                    longest = longest.max(next - round);
                    (round, made) = (next, made + 1);
                }
                assert!(made <= most && (most < rounds || longest == 1), "{rule:?}, {rounds} rounds: {most}, {longest}");
            }
        }
    }
}
