//! Selects the units of one of several runs that share a sweep.

use super::Unit;
use privateer_config::error::{Diagnostic, Error};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Selects units of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Share {
    /// All of them.
    #[default]
    All,
    /// One of several equal shares.
    Shard(Shard),
    /// Those of a list.
    Units(UnitList),
}

/// One of several shares of about as many units each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Index of this run, 0-based.
    pub index: u64,
    /// Number of shards.
    pub count: u64,
}

/// Numbers of units in canonical order, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitList(Vec<RangeInclusive<u64>>);

impl Share {
    /// Returns the selected units among all of a sweep.
    ///
    /// # Errors
    /// [`Error::Input`] if a list names a unit that the sweep does not have.
    pub fn of(&self, all: Vec<Unit>) -> Result<Vec<Unit>, Error> {
        match self {
            Self::All => Ok(all),
            Self::Shard(shard) => {
                Ok(all.into_iter().enumerate().filter(|(i, _)| shard.takes(*i as u64)).map(|(_, unit)| unit).collect())
            }
            Self::Units(list) => {
                let last = list.0.iter().map(|range| *range.end()).max().unwrap_or(0);
                if all.len() as u64 <= last {
                    let diagnostic =
                        Diagnostic::new(format!("`--units {list}` names unit {last}, which the sweep does not have"));
                    let expected = format!("numbers from 0 to {}", all.len().saturating_sub(1));
                    return diagnostic.expected(expected).hint("`privateer plan SPEC` lists the units").refuse();
                }
                let mut is_taken = vec![false; all.len()];
                list.0.iter().for_each(|range| is_taken[*range.start() as usize..=*range.end() as usize].fill(true));
                Ok(all.into_iter().zip(is_taken).filter(|(_, is_taken)| *is_taken).map(|(unit, _)| unit).collect())
            }
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Shard(shard) => write!(f, "{}/{}", shard.index + 1, shard.count),
            Self::Units(list) => write!(f, "units {list}"),
        }
    }
}

impl Shard {
    /// Returns how many of `all` units belong to the share.
    pub fn size(self, all: u64) -> u64 {
        (0..all).filter(|&unit| self.takes(unit)).count() as u64
    }

    /// Returns whether a unit belongs to the share.
    ///
    /// Units are dealt in turn, each round starting one share later: policies stand innermost in the order of units, and
    /// without the shift as many shares as policies would get a policy each.
    fn takes(self, unit: u64) -> bool {
        (unit + unit / self.count) % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = Diagnostic;

    /// Reads `I/N` with 1 <= I <= N.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse::<u64>().ok()?, n.trim().parse::<u64>().ok()?)));
        match parts {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index: index - 1, count }),
            _ => Err(Diagnostic::new(format!("`{text}` is not a shard")).expected("I/N with 1 <= I <= N, as in `2/4`")),
        }
    }
}

impl UnitList {
    /// Returns the number of units; ranges that overlap count twice.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|range| (range.end() - range.start()).saturating_add(1)).fold(0, u64::saturating_add)
    }

    /// Returns whether it names no unit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<u64> for UnitList {
    fn from_iter<I: IntoIterator<Item = u64>>(units: I) -> Self {
        let mut units: Vec<u64> = units.into_iter().collect();
        units.sort_unstable();
        units.dedup();
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for unit in units {
            match ranges.last_mut() {
                Some(last) if *last.end() + 1 == unit => *last = *last.start()..=unit,
                _ => ranges.push(unit..=unit),
            }
        }
        Self(ranges)
    }
}

impl fmt::Display for UnitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            if range.start() == range.end() {
                write!(f, "{comma}{}", range.start())?;
            } else {
                write!(f, "{comma}{}-{}", range.start(), range.end())?;
            }
        }
        Ok(())
    }
}

impl FromStr for UnitList {
    type Err = Diagnostic;

    /// Reads `a-b,c`.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let range = |part: &str| -> Option<RangeInclusive<u64>> {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last && last < u64::MAX).then_some(first..=last)
        };
        match text.split(',').map(range).collect::<Option<Vec<_>>>() {
            Some(ranges) => Ok(Self(ranges)),
            None => Err(Diagnostic::new(format!("`{text}` is no list of units")).expected("numbers and ranges, as in `0-9,12`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(n: u32) -> Vec<Unit> {
        (0..n).map(|cell| Unit { cell, block: 0 }).collect()
    }

    /// Shares are disjoint, cover everything, and no share holds one policy of as many alone.
    #[test]
    fn shares_cover_all_units() {
        for (n, count) in [(1, 1), (7, 3), (40, 4), (40, 5), (12, 20)] {
            let mut found = Vec::new();
            for index in 0..count {
                let share = Share::Shard(Shard { index, count }).of(units(n)).expect("no list");
                let policies: std::collections::BTreeSet<u32> = share.iter().map(|unit| unit.cell % count as u32).collect();
                assert!(policies.len() == share.len().min(count as usize), "{n} {count}: {share:?}");
                found.extend(share);
            }
            found.sort();
            assert_eq!(found, units(n));
        }
    }
}
