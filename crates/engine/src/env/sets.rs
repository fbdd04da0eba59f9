//! Draws decision sets: the allowed points change every round.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;

/// States the points that are allowed in a round, as read from a spec.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetsPlan {
    Whole,
    /// This number of distinct points of the domain, redrawn every round.
    Random {
        points: usize,
    },
    /// One point of mean at least `good`, others of at most `bad` [Dubey2021, section 6.1].
    Gap {
        points: usize,
        good: f64,
        bad: f64,
    },
}

impl SetsPlan {
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "points that may be played in a round: the whole domain, a number of points drawn each round, or one good point among bad ones";
        let Some(variant) = args.variant("sets", doc, &["whole", "random", "gap"], Some("whole")) else { return Self::Whole };
        args.documents("sets.points", "points of a set, a whole number from 1 to 4294967295: 25 unless given");
        args.documents("sets.good", "for `gap`: least mean of the good point, 0.8 unless given");
        args.documents("sets.bad", "for `gap`: largest mean of the others, 0.6 unless given");
        let nested = &variant.args;
        let points = || nested.count("points", "points of a set").between(1, 1_000_000).or(25) as usize;
        let plan = match variant.kind.as_str() {
            "random" => Self::Random { points: points() },
            "gap" => {
                let good = nested.number("good", "least mean of the good point").or(0.8);
                let bad = nested.number("bad", "largest mean of the others").or(0.6);
                if good <= bad {
                    nested.reject(
                        "bad",
                        format!("the bad points reach {bad}, the good one starts at {good}"),
                        "a number < `good`",
                    );
                }
                Self::Gap { points: points(), good, bad }
            }
            _ => Self::Whole,
        };
        nested.finish();
        plan
    }

    /// Prepares the sets of a function with these values; `None` for the whole domain.
    pub fn sets(self, values: &[f64]) -> Result<Option<Sets>, Error> {
        let few = |kind: &str, has: usize, needs: usize| {
            Diagnostic::new(format!("a decision set needs {needs} {kind}, and the domain has {has}")).hint(
                    "use more `points` in the domain, other thresholds in `sets`, or `output = \"peak\"`, so that the largest mean is 1",
                ).refuse()
        };
        let at = |keep: &dyn Fn(f64) -> bool| -> Vec<u32> {
            (0..values.len() as u32).filter(|&point| keep(values[point as usize])).collect()
        };
        match self {
            Self::Whole => Ok(None),
            Self::Random { points } if values.len() < points => few("points", values.len(), points),
            Self::Random { points } => Ok(Some(Sets { size: points, good: None, rest: at(&|_| true) })),
            Self::Gap { points, good, bad } => {
                let (above, rest) = (at(&|mean| good <= mean), at(&|mean| mean <= bad));
                if above.is_empty() {
                    return few(&format!("point with a mean of at least {good}"), 0, 1);
                }
                if rest.len() < points - 1 {
                    return few(&format!("points with a mean of at most {bad}"), rest.len(), points - 1);
                }
                Ok(Some(Sets { size: points, good: Some(above), rest }))
            }
        }
    }

    /// Returns the number of points of a set; `None` for the whole domain.
    pub fn size(self) -> Option<usize> {
        match self {
            Self::Whole => None,
            Self::Random { points } | Self::Gap { points, .. } => Some(points),
        }
    }
}

/// A set is drawn by marks if the points that it is drawn from are fewer than this many times its size.
///
/// Marks take time in proportion to those points, sorting to the set.
const MARKED: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct Sets {
    size: usize,
    /// Good points, of which every set contains one; `None` where sets have no good point.
    good: Option<Vec<u32>>,
    /// Points from which the others of a set are drawn.
    rest: Vec<u32>,
}

impl Sets {
    pub(super) fn of_one_point() -> Self {
        Self { size: 1, good: None, rest: vec![0] }
    }

    /// Draws the set of a round, ascending and without repeats; takes a varying number of words.
    pub fn draw(&self, stream: &mut Stream, set: &mut Vec<u32>) {
        set.clear();
        if let Some(good) = &self.good {
            set.push(good[stream.index(good.len())]);
        }
        // The good point is not among the rest. Repeated points are redrawn until all are distinct: few where most points are left
        // out, so that they are found by sorting; else they are marked.
        if self.rest.len() < MARKED * self.size {
            let mut marked = vec![false; self.rest.len()];
            let mut missing = self.size - set.len();
            while 0 < missing {
                let at = stream.index(self.rest.len());
                missing -= usize::from(!std::mem::replace(&mut marked[at], true));
            }
            set.extend(self.rest.iter().zip(&marked).filter(|(_, is_marked)| **is_marked).map(|(point, _)| *point));
            set.sort_unstable();
            return;
        }
        while set.len() < self.size {
            for _ in set.len()..self.size {
                set.push(self.rest[stream.index(self.rest.len())]);
            }
            set.sort_unstable();
            set.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::noise::silent::Silent;
    use crate::env::{Instance, RegretUnit};
    use privateer_numerics::rng::{Purpose, Streams};
    use std::sync::Arc;

    #[test]
    fn sets_keep_the_gap() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i) / 200.0).collect();
        let plan = SetsPlan::Gap { points: 25, good: 0.8, bad: 0.6 };
        let sets = plan.sets(&values).expect("points of both kinds").expect("sets");
        let (mut random, mut set, mut seen) = (Streams::new(1, "sets").of(0, Purpose::Sets), Vec::new(), [false; 200]);
        for _ in 0..500 {
            sets.draw(&mut random, &mut set);
            assert!(set.len() == 25 && set.windows(2).all(|pair| pair[0] < pair[1]));
            let means: Vec<f64> = set.iter().map(|&point| values[point as usize]).collect();
            assert_eq!(means.iter().filter(|mean| 0.8 <= **mean).count(), 1);
            assert_eq!(means.iter().filter(|mean| **mean <= 0.6).count(), 24);
            set.iter().for_each(|&point| seen[point as usize] = true);
        }
        // Some of the 40 good and 121 bad points misses 500 sets with probability below 40 (39/40)^500 + ... < 1e-3.
        assert_eq!(seen.iter().filter(|seen| **seen).count(), 161);
    }

    /// Sets of any size take the same words and hold the same points, whether repeats are marked or sorted away.
    #[test]
    fn a_set_is_the_first_distinct_points_of_its_stream() {
        let values = vec![0.5; 300];
        for size in [1, 2, 4, 5, 25, 150, 299, 300] {
            let sets = SetsPlan::Random { points: size }.sets(&values).expect("points").expect("sets");
            let of = || Streams::new(1, "sets").of(size as u64, Purpose::Sets);
            let (mut random, mut plain, mut set) = (of(), of(), Vec::new());
            for _ in 0..20 {
                sets.draw(&mut random, &mut set);
                let mut expected = std::collections::BTreeSet::new();
                while expected.len() < size {
                    expected.insert(plain.index(300) as u32);
                }
                assert_eq!(set, expected.into_iter().collect::<Vec<_>>(), "{size}");
            }
        }
    }

    /// Whose points are public is the instance's own, whatever size of sets its environment states; one planted point changes nothing.
    #[test]
    fn points_of_decision_sets_are_no_public_ones() {
        let gap = SetsPlan::Gap { points: 2, good: 0.8, bad: 0.6 };
        for (plan, public) in [(SetsPlan::Whole, true), (SetsPlan::Random { points: 2 }, false), (gap, false)] {
            let instance = Instance::new(Arc::new(vec![0.1, 0.5, 0.9]), Arc::new(Silent), None, 4, RegretUnit::Raw);
            let instance = instance.and_then(|instance| instance.with_sets(plan)).expect("an instance");
            assert_eq!(instance.has_public_points(), public, "{plan:?}");
            assert_eq!(instance.with_one_point().has_public_points(), public, "{plan:?}");
        }
    }

    #[test]
    fn too_few_points_are_named() {
        let error = |plan: SetsPlan| plan.sets(&[0.1, 0.2, 0.9]).expect_err("too few").to_string();
        assert!(error(SetsPlan::Random { points: 4 }).contains("needs 4 points, and the domain has 3"));
        let gap = |points, good| SetsPlan::Gap { points, good, bad: 0.5 };
        assert!(error(gap(2, 0.95)).contains("needs 1 point with a mean of at least 0.95"));
        assert!(error(gap(4, 0.8)).contains("needs 3 points with a mean of at most 0.5, and the domain has 2"));
    }
}
