//! Counts how often the people of a finite population take part in a run.

use privateer_config::params::Args;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::accounting::sensitivity::Participation;
use std::collections::BTreeMap;

/// A population of which one person takes part in each round.
///
/// Who arrives when is public, fixed before the first round and the same in all trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Population {
    people: u64,
    /// Whether each round draws a person; otherwise people come in turn.
    is_drawn: bool,
}

impl Population {
    /// Reads the keys that every environment and problem has; `None` where each round has a new user.
    pub fn parse(args: &Args<'_>) -> Option<Self> {
        let doc = "number of people, of whom one takes part in each round, where users are not the rows of a file; private mechanisms cover all rounds of a person";
        let people = args.count("population", doc).between(1, u64::from(u32::MAX)).optional("a new user in every round");
        let doc = "who comes in a round: people in turn, or a person drawn at random (the same draws in all trials)";
        let is_drawn = args.word("arrivals", doc, &["in-turn", "drawn"], Some("in-turn")) == "drawn";
        if people.is_none() && args.has("arrivals") {
            args.reject("arrivals", "each round has a new user", "`population` too, or no `arrivals`");
        }
        people.map(|people| Self { people, is_drawn })
    }

    /// Returns the most rounds of one person and the least distance between two rounds of one person.
    ///
    /// * `streams` — those of the environment, which draw the arrivals
    pub fn participation(self, rounds: u64, streams: &Streams) -> Participation {
        if !self.is_drawn {
            let count = rounds.div_ceil(self.people).max(1);
            return if count == 1 { Participation::ONCE } else { Participation { count, separation: self.people } };
        }
        let mut arrivals = streams.shared(Purpose::Arrivals);
        // The number of rounds of each person so far, and the last of them.
        let mut known: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        let mut most = Participation::ONCE;
        for round in 0..rounds {
            let (count, last) = known.entry(arrivals.index(self.people as usize)).or_insert((0, round));
            *count += 1;
            if 1 < *count {
                let distance = round - *last;
                most.separation = if most.count == 1 { distance } else { most.separation.min(distance) };
            }
            most.count = most.count.max(*count);
            *last = round;
        }
        most
    }

    /// Says how often people take part.
    pub fn words(self, rounds: u64, found: Participation) -> String {
        let Self { people, is_drawn } = self;
        let order = if is_drawn { "one drawn for each round, the same in all trials" } else { "in turn" };
        let times = match found {
            Participation { count: 1, .. } => "nobody takes part twice".to_owned(),
            Participation { count, separation } => {
                format!("a person takes part in up to {count} rounds, {separation} or more apart")
            }
        };
        format!("of a population of {people}, {order}, {times} ({rounds} rounds)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts are those of a list of who comes when.
    #[test]
    fn counts_are_those_of_the_list_of_arrivals() {
        let streams = Streams::new(7, "arrivals");
        for (people, rounds) in [(1, 1), (1, 5), (3, 10), (4, 12), (10, 10), (11, 10), (5, 400), (1000, 60)] {
            for is_drawn in [false, true] {
                let mut drawn = streams.shared(Purpose::Arrivals);
                let who: Vec<u64> = (0..rounds)
                    .map(|round| if is_drawn { drawn.index(people as usize) as u64 } else { round % people })
                    .collect();
                let of = |person| who.iter().filter(|other| **other == person).count() as u64;
                let most = (0..people).map(of).max().expect("people");
                let pairs = (0..who.len()).flat_map(|a| (a + 1..who.len()).map(move |b| (a, b)));
                let nearest = pairs.filter(|(a, b)| who[*a] == who[*b]).map(|(a, b)| (b - a) as u64).min().unwrap_or(1);
                let found = Population { people, is_drawn }.participation(rounds, &streams);
                assert_eq!((found.count, found.separation), (most, nearest), "{people} {rounds} {is_drawn}");
            }
        }
    }
}
