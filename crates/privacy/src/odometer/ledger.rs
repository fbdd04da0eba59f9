//! What a deployment states about its records: per record and in total.

use super::change::{BudgetChange, RecordChange};
use super::filter::{FilterCost, FilterKind, PrivacyBudget};
use super::meter::{Odometer, Tally};
use super::spend::Spend;
use crate::accounting::Composition;
use crate::quote::{counted, short};
use crate::{Adversary, Delta, gdp_epsilon};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Delta at which concentrated and Gaussian sums are read where nothing states one.
const SHOWN_DELTA: f64 = 1e-6;
/// Records that a page lists one by one.
const MOST_LISTED: usize = 20;

/// The statement of a deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeploymentLedger {
    /// How losses were added up.
    pub filter: FilterKind,
    /// The theorem behind it.
    pub theorem: String,
    /// The budget of each record, where one was stated before the first release.
    pub budget: Option<PrivacyBudget>,
    /// The change of a record that the budget is stated for, where one is named.
    pub protects: Option<BudgetChange>,
    /// Records of the table; `None` where they are not known.
    pub rows: Option<u64>,
    /// Delta at which epsilons are read; 0 where all losses are pure.
    pub delta: f64,
    /// What was spent for the largest change of a record: the sum of all releases; `None` before the first.
    pub total: Option<ChangeLedger>,
    /// What was spent for each smaller change, the largest first.
    pub changes: Vec<ChangeLedger>,
    /// Every loss with its count, for another accountant.
    pub spends: Vec<Spend>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// What the releases whose law depends on one change of a record have spent together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeLedger {
    /// The change.
    pub change: RecordChange,
    /// The change in words.
    pub neighbours: String,
    /// The weakest adversary among the releases: the sum holds against that one alone.
    pub against: Adversary,
    /// Releases about every record.
    pub of_all: u64,
    /// Releases about single records.
    pub of_one: u64,
    /// The record that spent most; every other one spent at most as much.
    pub largest: RecordSpend,
    /// Records that were read one by one.
    pub records: Vec<RecordSpend>,
}

/// What one record has spent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RecordSpend {
    /// Its row, 0-based.
    pub record: u64,
    /// Releases that read it.
    pub releases: u64,
    /// Sum of the filter, which a budget limits.
    pub amount: f64,
    /// Privacy loss; infinite where no bound is known.
    pub epsilon: f64,
    /// Failure probability.
    pub delta: f64,
}

impl Odometer {
    /// The failure probability at which sums are read: that of the budget, else the largest of the releases.
    pub fn delta(&self) -> Option<Delta> {
        let stated = self.kinds().iter().map(|spend| spend.delta).fold(0.0, f64::max);
        self.stated_delta().or_else(|| [stated, SHOWN_DELTA].into_iter().find_map(|delta| Delta::try_from(delta).ok()))
    }

    /// The statement of this account.
    pub fn ledger(&self) -> DeploymentLedger {
        let mut changes = self.changes().into_iter().map(|change| self.of_change(change));
        let (total, changes): (_, Vec<ChangeLedger>) = (changes.next(), changes.collect());
        let mut notes = Vec::new();
        let pure = self.filter() == FilterKind::Sum && self.kinds().iter().all(|spend| spend.delta == 0.0);
        // Sums of pure losses hold at any time; the others where the number of releases does not depend on them (docs/proofs/odometer.md).
        if !pure && total.is_some() {
            notes.push(match self.budget() {
                None => "without a budget stated beforehand the figures hold for releases whose number and noise were fixed in advance; \
                         state `--budget` for releases that may depend on earlier ones"
                    .to_owned(),
                Some(budget) => format!(
                    "the guarantee is the budget, {budget}; the figures below it hold for releases whose number and noise were fixed \
                     in advance"
                ),
            });
        }
        notes.push("one who owns several records spends the sum of theirs".to_owned());
        DeploymentLedger {
            filter: self.filter(),
            theorem: self.filter().theorem().to_owned(),
            budget: self.budget(),
            protects: self.change(),
            rows: self.rows(),
            delta: if pure { 0.0 } else { self.delta().map_or(0.0, Delta::get) },
            total,
            changes,
            spends: self.spends(),
            notes,
        }
    }

    fn of_change(&self, change: RecordChange) -> ChangeLedger {
        let (all, single) = self.tallies();
        let is_counted = |part: &&(usize, u64)| self.kinds()[part.0].loss.at(&change).is_some();
        let count = |tally: &Tally| tally.iter().filter(is_counted).map(|part| part.1).fold(0, u64::saturating_add);
        let against = self.kinds().iter().filter(|kind| kind.loss.at(&change).is_some()).map(|kind| kind.adversary);
        let against = against.reduce(Adversary::weaker).unwrap_or(Adversary::Observer);
        let of_all = count(all);
        let single: Vec<(u64, &Tally)> =
            single.iter().map(|(row, tally)| (*row, tally)).filter(|(_, tally)| 0 < count(tally)).collect();
        let of_one = single.iter().map(|(_, tally)| count(tally)).fold(0, u64::saturating_add);
        // Of many records most have spent alike.
        let mut shares: BTreeMap<&[(usize, u64)], Share> = BTreeMap::new();
        for (_, tally) in &single {
            shares.entry(tally).or_insert_with(|| self.share(all, tally, &change));
        }
        let base = self.share(all, &[], &change);
        // Every record is read at one delta: that of the budget, or else the largest of the releases.
        let reading = |share: &Share| self.filter().read(share.cost, self.delta()).1;
        let most = shares.values().map(reading).fold(reading(&base), f64::max);
        let at = self.stated_delta().filter(|stated| most <= stated.get()).or_else(|| Delta::try_from(most).ok());
        let read = |share: &Share| (share.cost.amount, self.read(share, at));
        let spent = |record, releases, (amount, (epsilon, delta))| RecordSpend { record, releases, amount, epsilon, delta };
        let readings: BTreeMap<&[(usize, u64)], _> = shares.iter().map(|(tally, share)| (*tally, read(share))).collect();
        let of = |(row, tally): &(u64, &Tally)| spent(*row, count(tally).saturating_add(of_all), readings[tally.as_slice()]);
        let records: Vec<RecordSpend> = single.iter().map(of).collect();
        let mut largest = spent(0, of_all, read(&base));
        for record in &records {
            if largest.amount < record.amount || largest.releases == of_all && largest.amount <= record.amount {
                largest = *record;
            }
        }
        // A record of the largest sum need not have the largest delta (filter `sum`): the statement is about every record.
        for record in &records {
            largest.epsilon = largest.epsilon.max(record.epsilon);
            largest.delta = largest.delta.max(record.delta);
        }
        ChangeLedger { neighbours: change.to_string(), change, against, of_all, of_one, largest, records }
    }

    /// Returns what the releases about every record and those about one have spent together for a change.
    fn share(&self, all: &Tally, own: &[(usize, u64)], change: &RecordChange) -> Share {
        let mut share = Share::default();
        for &(kind, count) in all.iter().chain(own) {
            let Some((loss, times)) = self.kinds()[kind].losses_of(count, change) else { continue };
            share.cost = share.cost.and(self.cost((kind, count), change));
            share.parts = share.parts.and(loss, times);
        }
        share
    }

    /// Returns epsilon and delta of what one record has spent, read at a delta: what the filter reads, or the exact loss where all parts
    /// are Gaussian.
    fn read(&self, share: &Share, at: Option<Delta>) -> (f64, f64) {
        let (epsilon, delta) = self.filter().read(share.cost, self.delta());
        match at {
            // Pure sums need no delta.
            Some(at) if 0.0 < delta && epsilon != 0.0 => {
                let exact = share.parts.mu().filter(|mu| mu.is_finite()).map_or(f64::INFINITY, |mu| gdp_epsilon(mu, at));
                (epsilon.min(exact), at.get())
            }
            _ => (epsilon, delta),
        }
    }
}

/// What one record has spent for one change: the sum of the filter, and the losses that it is a sum of.
#[derive(Debug, Clone, Default)]
struct Share {
    cost: FilterCost,
    parts: Composition,
}

fn loss_words(spend: &RecordSpend) -> String {
    match (spend.epsilon, spend.delta) {
        (epsilon, _) if !epsilon.is_finite() => "not bounded".to_owned(),
        (epsilon, 0.0) => format!("epsilon = {}, pure", short(epsilon)),
        (epsilon, delta) => format!("(epsilon, delta) = ({}, {})", short(epsilon), short(delta)),
    }
}

impl ChangeLedger {
    /// The statement in lines of `name  text`.
    fn lines(&self, filter: FilterKind, named: &dyn Fn(u64) -> String, line: &mut impl FnMut(&str, &str)) {
        let most = &self.largest;
        let of_one =
            |record: &RecordSpend| record.record == most.record && most.delta <= record.delta && most.epsilon <= record.epsilon;
        let about = if self.records.is_empty() || !self.records.iter().any(of_one) {
            "every record".to_owned()
        } else {
            format!("record {}, {}", named(most.record), counted(most.releases, "release"))
        };
        line("most spent", &format!("{} ({about})", loss_words(most)));
        if filter == FilterKind::Sum && most.epsilon < most.amount * (1.0 - 1e-9) {
            line("", &format!("the filter counts epsilon = {}, the sum, which is what a budget limits", short(most.amount)));
        }
        line("for", &self.neighbours);
        line("against", &self.against.to_string());
        let all =
            if self.of_all == 0 { String::new() } else { format!("{} about every record; ", counted(self.of_all, "release")) };
        line(
            "releases",
            &format!("{all}{} about {}", counted(self.of_one, "release"), counted(self.records.len() as u64, "record")),
        );
        let mut listed: Vec<&RecordSpend> = self.records.iter().collect();
        listed.sort_by(|a, b| b.amount.total_cmp(&a.amount).then(a.record.cmp(&b.record)));
        for spend in listed.iter().take(MOST_LISTED) {
            line("", &format!("record {:>6}  {:>4} x  {}", named(spend.record), spend.releases, loss_words(spend)));
        }
        if let Some(more) = listed.len().checked_sub(MOST_LISTED).filter(|more| 0 < *more) {
            line("", &format!("and {} whose sums are at most as large", counted(more as u64, "record")));
        }
    }
}

impl DeploymentLedger {
    /// What a record has spent at most, in one clause.
    pub fn short_words(&self) -> String {
        match &self.total {
            None => "nothing is spent".to_owned(),
            Some(total) if total.records.is_empty() => format!("every record has spent {}", loss_words(&total.largest)),
            Some(total) => format!("record {} has spent most: {}", total.largest.record, loss_words(&total.largest)),
        }
    }

    /// The statement as a page of text, two columns.
    pub fn page(&self) -> String {
        self.page_of(&|record| record.to_string())
    }

    /// The statement as a page of text, with the names of the records.
    pub fn page_of(&self, named: &dyn Fn(u64) -> String) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {name:15}{value}");
        };
        match &self.total {
            None => line("spent", "nothing"),
            Some(total) => total.lines(self.filter, named, &mut line),
        }
        for part in &self.changes {
            part.lines(self.filter, named, &mut line);
        }
        line("filter", &format!("{}: {}", self.filter, self.theorem));
        line(
            "budget",
            &self.budget.map_or("none here: nothing in this file stops the releases".to_owned(), |budget| {
                let change =
                    self.protects.map_or(String::new(), |change| format!(" for the change `{change}`, and the largest released"));
                format!("{budget} of each record{change}")
            }),
        );
        for note in &self.notes {
            line("note", note);
        }
        text
    }
}
