//! Answers over all settings: what the best private policy keeps of what can be learnt, at each epsilon.
//!
//! A setting is an environment with values of the swept keys that are not about privacy, such as dimension, kernel and horizon.

use super::cell_data::{CellData, grouped};
use super::collect::ReportRun;
use super::compare::{Costs, best_of, candidates, costs};
use super::stats::Ratio;
use super::text::short;
use crate::record::is_privacy_key;
use privateer_config::params::Scalar;
use privateer_privacy::Adversary;
use std::collections::{BTreeMap, BTreeSet};

/// Share of what can be learnt that the second sentence looks for.
const KEPT: f64 = 0.8;

/// Holds the private cells of one budget in one setting.
#[derive(Clone, Debug)]
pub(super) struct BudgetGroup {
    pub(super) epsilon: f64,
    pub(super) setting: usize,
    pub(super) cells: Vec<usize>,
    /// Those with a guarantee that learn.
    pub(super) candidates: Vec<usize>,
    /// The best of these.
    pub(super) best: Option<usize>,
}

/// Holds what every private cell keeps, by setting and epsilon.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Epsilons, ascending.
    pub(super) epsilons: Vec<f64>,
    /// The settings in canonical order, as `dimension = 2, lengthscale = 0.1`; empty for the only setting.
    pub(super) names: Vec<String>,
    /// Whether the budgets of a setting hold the same policies with the same adversary, so that one follows from another.
    pub(super) are_alike: bool,
    /// Number of rounds of each setting, if there is one epsilon and settings differ in nothing else; else empty.
    pub(super) horizons: Vec<f64>,
    /// In canonical order.
    pub(super) groups: Vec<BudgetGroup>,
    /// Places of the groups of each epsilon, in the order of `epsilons`.
    pub(super) groups_at: Vec<Vec<usize>>,
    pub(super) costs: Costs,
}

impl Settings {
    pub(super) fn of(run: &ReportRun) -> Self {
        let many_environments = run.cells.iter().any(|cell| cell.info.environment != run.cells[0].info.environment);
        let (mut names, mut setting_of): (Vec<String>, _) = (Vec::new(), BTreeMap::new());
        let placed = run.cells.iter().enumerate().filter_map(|(cell_idx, cell)| {
            let usable = |epsilon: &f64| !cell.is_not_private() && 0.0 < *epsilon && epsilon.is_finite();
            let epsilon = cell.epsilon().filter(usable)?;
            // The budget of inputs is another one than that of rewards.
            let is_other = |key: &str| cell.info.ledger.reward.epsilon.is_some() && key == "curator.epsilon";
            let values = cell.swept.iter().filter(|(key, _)| !is_privacy_key(key) || is_other(key));
            let environment = many_environments.then(|| cell.info.environment.to_string());
            let name = environment.into_iter().chain(values.map(|swept| run.stated(swept))).collect::<Vec<_>>().join(", ");
            let setting = *setting_of.entry(name.clone()).or_insert(names.len());
            if setting == names.len() {
                names.push(name);
            }
            Some(((epsilon.to_bits(), setting), cell_idx))
        });
        let group = |cells: Vec<((u64, usize), usize)>| {
            let (epsilon, setting) = cells[0].0;
            let cells: Vec<usize> = cells.into_iter().map(|(_, cell)| cell).collect();
            let candidates = candidates(run, &cells);
            BudgetGroup { epsilon: f64::from_bits(epsilon), setting, cells, best: best_of(run, &candidates), candidates }
        };
        let placed = grouped(placed.map(|(place, cell)| (place, (place, cell))));
        let groups: Vec<BudgetGroup> = placed.into_iter().map(group).collect();
        let (epsilons, groups_at) = by_epsilon(&groups);
        let horizon = |group: &BudgetGroup| match run.cells[group.cells[0]].swept("rounds") {
            Some(&Scalar::Integer(rounds)) => rounds as f64,
            _ => f64::NAN,
        };
        let is_over_rounds = !many_environments && epsilons.len() == 1 && 1 < names.len() && groups.len() == names.len();
        let has_others = run.swept_keys().iter().any(|key| *key != "rounds" && !is_privacy_key(key));
        let horizons = groups.iter().filter(|_| is_over_rounds && !has_others).map(horizon).collect();
        let held = |group: &BudgetGroup| -> BTreeSet<(&str, String)> {
            let of = |cell: &usize| {
                let ledger = &run.cells[*cell].info.ledger.reward;
                (&*run.cells[*cell].info.policy, format!("{:?}", ledger.threat_model.adversary))
            };
            group.cells.iter().map(of).collect()
        };
        let mut held_by = BTreeMap::new();
        let are_alike = groups.iter().all(|group| *held_by.entry(group.setting).or_insert_with(|| held(group)) == held(group));
        Self { epsilons, names, are_alike, horizons, groups, groups_at, costs: costs(run) }
    }

    /// Returns the share that a private cell keeps; `None` where it is unknown.
    pub(super) fn share(&self, cell_idx: usize) -> Option<Ratio> {
        self.costs[cell_idx].as_ref()?.share?.left
    }

    pub(super) fn at(&self, epsilon: f64) -> impl Iterator<Item = &BudgetGroup> {
        let here = self.epsilons.binary_search_by(|known| known.total_cmp(&epsilon)).ok();
        here.into_iter().flat_map(|here| &self.groups_at[here]).map(|&group| &self.groups[group])
    }

    /// Returns the group of which the answer speaks: the first setting at the epsilon next to 1.
    pub(super) fn head(&self) -> Option<&BudgetGroup> {
        let away = |group: &&BudgetGroup| libm::fabs(libm::log(group.epsilon));
        self.groups.iter().min_by(|left, right| away(left).total_cmp(&away(right)))
    }

    /// Returns the share of the best policy in each setting at an epsilon, where it is known, ascending.
    pub(super) fn shares_at(&self, epsilon: f64) -> Vec<f64> {
        let mut shares: Vec<f64> = self.at(epsilon).filter_map(|group| Some(self.share(group.best?)?.value)).collect();
        shares.sort_by(f64::total_cmp);
        shares
    }

    /// Returns each epsilon with the best cell of the first setting, where it has one; over horizons, that of each setting.
    pub(super) fn best(&self) -> Vec<(f64, usize)> {
        let first = self.groups.iter().filter(|group| group.setting == 0 || !self.horizons.is_empty());
        let mut best: Vec<(f64, usize)> = first.filter_map(|group| Some((group.epsilon, group.best?))).collect();
        best.sort_by(|left, right| left.0.total_cmp(&right.0));
        best
    }

    /// Returns the least epsilon, or over horizons the least number of rounds, from which on at least 80 % is kept, interpolated, in
    /// the median over settings.
    pub(super) fn enough(&self) -> Option<f64> {
        enough(&self.medians(|left, _| left)).map(|(least, _)| least)
    }

    /// Returns the median of what `of` takes of each share and its interval at each epsilon, or that of the share at each horizon,
    /// ascending; nothing where settings have different epsilons, as in `[sweep.zip]`.
    fn medians(&self, of: fn(f64, (f64, f64)) -> f64) -> Vec<(f64, f64)> {
        // What cannot be told from guessing counts as nothing.
        let share = |group: &BudgetGroup| {
            let left = group.best.and_then(|best| self.share(best));
            let known = left.and_then(|left| Some((left.value, left.interval.filter(|(low, _)| 0.0 < *low)?)));
            known.map_or(f64::NEG_INFINITY, |(value, interval)| of(value, interval))
        };
        if !self.horizons.is_empty() {
            let mut shares: Vec<(f64, f64)> = self.horizons.iter().copied().zip(self.groups.iter().map(share)).collect();
            shares.sort_by(|left, right| left.0.total_cmp(&right.0));
            return shares;
        }
        let median = |epsilon: &f64| {
            let mut shares: Vec<f64> = self.at(*epsilon).map(share).collect();
            shares.sort_by(f64::total_cmp);
            (*epsilon, median(&shares).unwrap_or(f64::NEG_INFINITY))
        };
        let is_complete = self.groups.len() == self.names.len() * self.epsilons.len();
        self.epsilons.iter().filter(|_| is_complete && self.are_alike).map(median).collect()
    }

    /// Returns the sentence on the epsilon or the number of rounds that is enough; `None` where a single one was played or no share
    /// is known.
    pub(super) fn enough_text(&self) -> Option<String> {
        let medians = self.medians(|left, _| left);
        let ([(first, _), .., (last, at_last)], true) = (&medians[..], medians.iter().any(|(_, share)| share.is_finite())) else {
            return None;
        };
        let (first, last) = (short(*first), short(*last));
        let (key, every, no) = match self.horizons[..] {
            [] => ("ε", "at every ε", "at no ε"),
            _ => ("rounds", "at every number of rounds", "at no number of rounds"),
        };
        let from = |found: Option<(f64, f64)>| found.map(|(least, played)| short(rounded_up(least).min(played)));
        let is_only = self.names.len() < 2 || !self.horizons.is_empty();
        // Where the ends of the intervals cross.
        let crossing = |of| from(enough(&self.medians(of))).filter(|_| is_only);
        let (early, late) = (crossing(|_, (_, high)| high), crossing(|_, (low, _)| low));
        let is_every = medians.iter().all(|(_, share)| KEPT <= *share);
        let what = match (from(enough(&medians)), late) {
            (Some(_), late) if is_every => {
                let chance = match late {
                    Some(late) if late == first => String::new(),
                    Some(late) => format!(", beyond chance from {late} on"),
                    None if is_only => ", not beyond chance".to_owned(),
                    None => String::new(),
                };
                format!("80 % or more is kept {every} from {first} to {last}{chance}")
            }
            (Some(least), late) => {
                let chance = match (early, late) {
                    (None, _) => String::new(),
                    (Some(early), Some(late)) if early == least && late == least => String::new(),
                    (Some(early), None) if early == least => ", not beyond chance".to_owned(),
                    (Some(early), late) => {
                        let early = if early == first { format!("{first} or less") } else { early };
                        format!(" ({early} to {})", late.unwrap_or(format!("more than {last}")))
                    }
                };
                format!("80 % or more is kept from {key} = {least} on{chance}")
            }
            _ if medians.iter().all(|(_, share)| *share < KEPT && share.is_finite()) => {
                let chance = early.map_or(String::new(), |early| format!(", perhaps from {early} on"));
                format!("80 % is kept {no} from {first} to {last}{chance}")
            }
            _ if at_last.is_finite() => format!("80 % is not kept at {key} = {last}, the largest"),
            _ => format!("At {key} = {last}, the largest, nothing can be said"),
        };
        let over = if is_only { String::new() } else { format!(" in the median of {} settings", self.names.len()) };
        Some(format!("{what}{over}."))
    }

    /// Returns the policy of a cell with the privacy keys, apart from epsilon, that distinguish it from `others`.
    pub(super) fn name_in(run: &ReportRun, cell_idx: usize, others: &[usize]) -> String {
        let cell = &run.cells[cell_idx];
        let apart = |key: &str, value| {
            let of = |other: &usize| &run.cells[*other];
            others.iter().any(|other| of(other).info.policy == cell.info.policy && of(other).swept(key) != Some(value))
        };
        let swept = cell.swept.iter();
        let shown = swept.filter(|(key, value)| is_privacy_key(key) && !key.ends_with("epsilon") && apart(key, value));
        let mut shown: Vec<String> = shown.map(|swept| run.stated(swept)).collect();
        // Cells of one epsilon may promise different things.
        let promise = |of: &CellData| {
            let ledger = &of.info.ledger.reward;
            (ledger.delta, ledger.threat_model.adversary)
        };
        let (delta, adversary) = promise(cell);
        let differs =
            |is_other: &dyn Fn(&(f64, Adversary)) -> bool| others.iter().any(|&other| is_other(&promise(&run.cells[other])));
        if differs(&|other| other.0 != delta) {
            shown.push(format!("δ = {}", short(delta)));
        }
        if differs(&|other| other.1 != adversary) {
            let model = match adversary {
                Adversary::Server => "local model",
                Adversary::OtherUsers => "joint model",
                Adversary::Recipient => "noise of the holder",
                Adversary::AfterShuffling => "shuffle model",
                Adversary::Observer => "central model",
            };
            shown.push(model.to_owned());
        }
        let name = format!("{}{}", cell.info.policy, if cell.plays_at_random() { ", which plays at random" } else { "" });
        if shown.is_empty() { name } else { format!("{name} ({})", shown.join(", ")) }
    }
}

/// Returns the epsilons of groups, ascending, with the places of their groups.
fn by_epsilon(groups: &[BudgetGroup]) -> (Vec<f64>, Vec<Vec<usize>>) {
    let mut by_bits: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (place, group) in groups.iter().enumerate() {
        by_bits.entry(group.epsilon.to_bits()).or_default().push(place);
    }
    // Positive numbers are ordered as their bits are.
    by_bits.into_iter().map(|(bits, places)| (f64::from_bits(bits), places)).unzip()
}

pub(super) fn median(ascending: &[f64]) -> Option<f64> {
    let middle = ascending.len() / 2;
    let upper = *ascending.get(middle)?;
    Some(if ascending.len() % 2 == 1 { upper } else { 0.5 * (ascending[middle - 1] + upper) })
}

/// Returns the least epsilon from which on at least [`KEPT`] is kept, interpolated in its logarithm, and the next one that was
/// played.
fn enough(medians: &[(f64, f64)]) -> Option<(f64, f64)> {
    let first = medians.iter().rposition(|(_, share)| *share < KEPT).map_or(0, |last| last + 1);
    let (epsilon, share) = *medians.get(first)?;
    let Some((below, share_below)) = first.checked_sub(1).map(|below| medians[below]) else { return Some((epsilon, epsilon)) };
    let part = (KEPT - share_below) / (share - share_below);
    let (from, to) = (libm::log(below), libm::log(epsilon));
    let is_between = share_below.is_finite() && part.is_finite();
    Some((if is_between { libm::exp(from + part * (to - from)) } else { epsilon }, epsilon))
}

/// Rounds an interpolated epsilon up to two digits: at least 80 % is kept there.
fn rounded_up(x: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(x)) - 1.0);
    let up = libm::ceil(x / unit - 1e-9) * unit;
    format!("{up:.1e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::super::compare::PrivacyCost;
    use super::super::share::Share;
    use super::super::stats::SampleMoments;
    use super::*;

    /// Shares by setting and epsilon, words of the sentence, and the epsilon that is enough.
    type Case = (&'static [f64], &'static [&'static [Option<f64>]], &'static str, Option<f64>);

    fn settings(epsilons: &[f64], shares: &[&[Option<f64>]]) -> Settings {
        let mut found = Settings {
            epsilons: epsilons.to_vec(),
            names: (0..shares.len()).map(|setting| format!("dimension = {setting}")).collect(),
            are_alike: true,
            horizons: Vec::new(),
            groups: Vec::new(),
            groups_at: Vec::new(),
            costs: Vec::new(),
        };
        let learnt = SampleMoments::of(&[1.0]).expect("a number");
        for (setting, shares) in shares.iter().enumerate() {
            for (&epsilon, share) in epsilons.iter().zip(*shares) {
                let cell = found.costs.len();
                let left = share.map(|value| Ratio { value, interval: Some((value - 0.05, value + 0.05)) });
                let share = Some(Share { learnt, left });
                found.costs.push(Some(Box::new(PrivacyCost { reference: 0, excess: None, ratio: None, share })));
                found.groups.push(BudgetGroup { epsilon, setting, cells: vec![cell], candidates: vec![cell], best: Some(cell) });
            }
        }
        (found.epsilons, found.groups_at) = by_epsilon(&found.groups);
        found
    }

    #[test]
    fn sentences_are_true_of_any_shares() {
        let cases: [Case; 14] = [
            (&[1.0, 4.0], &[&[Some(0.6), Some(1.0)]], "80 % or more is kept from ε = 2 on (1.7 to 2.4).", Some(2.0)),
            (&[0.5, 1.0], &[&[Some(0.9), Some(0.95)]], "80 % or more is kept at every ε from 0.5 to 1.", Some(0.5)),
            (
                &[0.5, 1.0, 2.0],
                &[&[Some(0.85), Some(0.7), Some(0.9)]],
                "from ε = 1.5 on (1.2 to 1.7).",
                Some(std::f64::consts::SQRT_2),
            ),
            (&[0.5, 1.0], &[&[Some(0.2), Some(0.7)]], "80 % is kept at no ε from 0.5 to 1.", None),
            (&[1.0, 2.0, 4.0], &[&[Some(0.7), Some(0.98), Some(0.54)]], "80 % is not kept at ε = 4, the largest.", None),
            (&[1.0, 2.0], &[&[Some(0.7), None]], "At ε = 2, the largest, nothing can be said.", None),
            (&[1.0, 2.0], &[&[None, Some(0.9)]], "80 % or more is kept from ε = 2 on.", Some(2.0)),
            (&[1.0, 2.0], &[&[None, Some(0.82)]], "80 % or more is kept from ε = 2 on, not beyond chance.", Some(2.0)),
            (&[0.5, 1.0], &[&[Some(0.6), Some(0.82)]], "from ε = 0.94 on (0.81 to more than 1).", Some(0.938_9)),
            (&[0.5, 1.0], &[&[Some(0.78), Some(0.9)]], "from ε = 0.57 on (0.5 or less to 0.75).", Some(0.561_2)),
            (&[0.5, 1.0], &[&[Some(0.82), Some(0.95)]], "at every ε from 0.5 to 1, beyond chance from 0.59 on.", Some(0.5)),
            (&[0.5, 1.0], &[&[Some(0.2), Some(0.78)]], "80 % is kept at no ε from 0.5 to 1, perhaps from 0.97 on.", None),
            // The second setting never keeps 80 %, the two others at 4 and at 1.
            (
                &[1.0, 4.0],
                &[&[Some(0.6), Some(1.0)], &[Some(0.1), Some(0.2)], &[Some(0.9), Some(0.95)]],
                "80 % or more is kept from ε = 2.3 on in the median of 3 settings.",
                Some(2.208_2),
            ),
            (
                &[1.0, 2.0],
                &[&[Some(0.2), Some(0.3)], &[Some(0.9), None]],
                "At ε = 2, the largest, nothing can be said in the median of 2 settings.",
                None,
            ),
        ];
        for (epsilons, shares, words, expected) in cases {
            let settings = settings(epsilons, shares);
            let (text, found) = (settings.enough_text().expect("several epsilons"), settings.enough());
            assert!(text.contains(words), "{text}");
            assert!(found.zip(expected).map_or(found == expected, |(a, b)| (a - b).abs() < 1e-3), "{shares:?}: {found:?}");
        }
        assert_eq!([1.24, 1.2, 5.01, 0.123, 99.5].map(rounded_up), [1.3, 1.2, 5.1, 0.13, 100.0]);
        assert_eq!(settings(&[1.0], &[&[Some(0.7)]]).enough_text(), None);
        assert_eq!(settings(&[1.0, 2.0], &[&[None, None]]).enough_text(), None);
        // The second setting has one epsilon.
        let zipped = settings(&[1.0, 2.0], &[&[Some(0.7), Some(0.9)], &[Some(0.2)]]);
        assert_eq!((zipped.enough_text(), zipped.enough()), (None, None));
        assert_eq!(median(&[1.0, 2.0, 4.0, 8.0]), Some(3.0));
    }

    #[test]
    fn horizons_are_an_axis_where_nothing_else_differs() {
        for (shares, words, expected) in [
            ([Some(0.6), Some(0.7), Some(0.9)], "80 % or more is kept from rounds = 3200 on (1800 to 5700).", Some(3162.0)),
            (
                [Some(0.85), Some(0.9), Some(0.95)],
                "80 % or more is kept at every number of rounds from 100 to 10000.",
                Some(100.0),
            ),
            ([Some(0.2), Some(0.3), Some(0.4)], "80 % is kept at no number of rounds from 100 to 10000.", None),
            ([Some(0.2), Some(0.9), Some(0.4)], "80 % is not kept at rounds = 10000, the largest.", None),
            ([None, Some(0.9), Some(0.9)], "80 % or more is kept from rounds = 1000 on.", Some(1000.0)),
        ] {
            let mut settings = settings(&[1.0], &shares.each_ref().map(std::slice::from_ref));
            settings.horizons = vec![100.0, 1000.0, 10_000.0];
            assert_eq!(settings.enough_text().expect("several horizons"), words);
            assert!(
                settings.enough().zip(expected).map_or(settings.enough() == expected, |(a, b)| (a - b).abs() < 1.0),
                "{words}"
            );
            assert_eq!(settings.best().len(), 3);
        }
    }
}
