//! Writes the answer in words, computed from recorded numbers alone.
//!
//! Two sentences over all settings come first: what the best private policy with a guarantee keeps of what can be learnt, and at
//! which epsilon that is 80 %. The numbers behind them follow for one setting.

use super::cell_data::{CellData, grouped};
use super::collect::ReportRun;
use super::compare::{kind, weak_references};
use super::settings::{BudgetGroup, Settings, median};
use super::share::{Share, guess};
use super::stats::{Ratio, SampleMoments};
use super::text::{plus_minus, share_text, short};
use crate::record::{Measures, Quantity, Role};
use privateer_config::facts::FactValue;
use privateer_privacy::Guarantee;
use std::sync::Arc;

/// Largest number of policies that the paragraph names one by one; further ones are counted.
const N_NAMED: usize = 6;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// At most two sentences, before the first figure and at the end of every run.
    pub(super) lead: Vec<String>,
    /// What the answer rests on, after the figure.
    pub(super) details: Vec<String>,
    /// References that are too short a yardstick, named on the terminal too.
    pub(super) weak_references: Vec<String>,
}

impl Answer {
    pub(super) fn of(run: &ReportRun, settings: &Settings) -> Self {
        let mut found = match settings.head() {
            _ if run.words.estimates => estimates(run),
            Some(head) => costs(run, settings, head),
            None => Self { lead: vec![nothing_private(run)], ..Self::default() },
        };
        if run.manifest.trials < 2 {
            found.details.push("One trial tells nothing about chance: no interval can be given.".to_owned());
        }
        found.weak_references = weak_references(run, &settings.costs);
        found.details.extend(found.weak_references.iter().map(|text| format!("{text}.")));
        found.details.extend(unprotected(run));
        found
    }
}

fn costs(run: &ReportRun, settings: &Settings, head: &BudgetGroup) -> Answer {
    let shares = settings.shares_at(head.epsilon);
    let is_known = |group: &&BudgetGroup| group.best.is_some_and(|best| settings.share(best).is_some());
    // Sentence and numbers speak of one setting.
    let head = settings.at(head.epsilon).find(is_known).unwrap_or(head);
    let of = |share: f64| share_text(Ratio { value: share, interval: None });
    let n_settings = settings.at(head.epsilon).count();
    let mut lead = match (median(&shares), &shares[..]) {
        _ if !settings.horizons.is_empty() && !shares.is_empty() => vec![over_horizons(settings, head.epsilon)],
        (Some(middle), [least, .., greatest]) => {
            let unknown =
                if shares.len() < n_settings { format!("; unknown in {}", n_settings - shares.len()) } else { String::new() };
            vec![format!(
                "At ε = {} the best private {} keeps {} of what can be learnt (median of {} settings; range {} to {}{unknown}).",
                short(head.epsilon),
                run.words.who,
                of(middle),
                shares.len(),
                of(*least).trim_end_matches(" %"),
                of(*greatest)
            )]
        }
        _ => vec![of_one_setting(run, settings, head)],
    };
    lead.extend(settings.enough_text());
    let mut details = head.best.map_or(Vec::new(), |best| of_the_best(run, settings, head, best));
    if 1 < run.manifest.trials {
        let chosen = match head.candidates.len() {
            0 | 1 => String::new(),
            many => format!("; the best of {many} is chosen by the same trials"),
        };
        details.push(format!("Intervals: 95 %, paired over {} trials, one by one{chosen}.", run.manifest.trials));
    }
    Answer { lead, details, ..Answer::default() }
}

/// Returns the first sentence where settings differ in their number of rounds alone.
fn over_horizons(settings: &Settings, epsilon: f64) -> String {
    let share = |group: &BudgetGroup| match group.best.and_then(|best| settings.share(best)) {
        None => "an unknown share".to_owned(),
        Some(left) if left.interval.is_some_and(|(low, _)| low <= 0.0) => format!("{}, perhaps nothing,", share_text(left)),
        Some(left) => share_text(left),
    };
    let mut shares: Vec<(f64, String)> =
        settings.groups.iter().zip(&settings.horizons).map(|(group, &rounds)| (rounds, share(group))).collect();
    shares.sort_by(|left, right| left.0.total_cmp(&right.0));
    let ([(few, of_few), .., (many, of_many)], epsilon) = (&shares[..], short(epsilon)) else { return String::new() };
    let (few, many) = (short(*few), short(*many));
    format!("At ε = {epsilon} privacy leaves {of_few} of what {few} rounds can teach, {of_many} of {many}.")
}

/// Returns the first sentence where one setting has a known share at most.
fn of_one_setting(run: &ReportRun, settings: &Settings, group: &BudgetGroup) -> String {
    let who = run.words.who;
    let name = &settings.names[group.setting];
    let at = format!("At ε = {}{}", short(group.epsilon), if name.is_empty() { String::new() } else { format!(" ({name})") });
    let Some(best) = group.best else {
        return format!("{at} no private {who} that learns keeps the guarantee it claims.");
    };
    let policy = |cell: usize| &run.cells[cell].info.policy;
    let is_alone = settings.groups.iter().flat_map(|group| &group.cells).all(|&cell| policy(cell) == policy(best));
    let which = if is_alone && group.cells.len() == 1 { "only" } else { "best" };
    let subject = format!("the {which} private {who}, {},", Settings::name_in(run, best, &group.cells));
    match settings.share(best) {
        Some(left) => {
            let verdict = match left.interval {
                Some((_, high)) if high < 0.0 => ", worse than guessing",
                Some((low, high)) if low <= 0.0 && 0.0 <= high => ", not distinguishable from guessing",
                Some((low, _)) if 1.0 < low => ", more than without privacy",
                _ => "",
            };
            format!("{at} {subject} keeps {} of what can be learnt{verdict}.", share_text(left))
        }
        None => format!("{at} nothing can be said of {subject} because {}.", why_unknown(run, settings, best)),
    }
}

/// Says why the share of a private cell is unknown.
fn why_unknown(run: &ReportRun, settings: &Settings, cell_idx: usize) -> String {
    match &settings.costs[cell_idx] {
        Some(found) if found.share.is_some() => {
            format!("its reference “{}” does not beat guessing beyond chance", run.cells[found.reference].info.policy)
        }
        Some(_) => format!("no {} guesses", run.words.who),
        None => format!("no {} goes without privacy", run.words.who),
    }
}

/// Returns the numbers behind the share of the best private policy of a group, and what is missing or assumed.
fn of_the_best(run: &ReportRun, settings: &Settings, group: &BudgetGroup, best: usize) -> Vec<String> {
    let (cell, words) = (&run.cells[best], &run.words);
    let (who, is_learner) = (words.who, words.measure == Quantity::Suboptimality);
    let mean = |cell: &CellData| cell.moments(words.measure).map_or("–".to_owned(), |m| plus_minus(m.mean, m.half));
    let random = if cell.info.measures == Measures::Contextual { "random-arm" } else { "uniform" };
    let guessing = match guess(run, cell) {
        _ if is_learner => Some("1 at the starting point".to_owned()),
        found => found.map(|found| format!("{} by guessing", mean(found))),
    };
    let found = settings.costs[best].as_deref();
    let without = found.map(|found| {
        let other = &run.cells[found.reference];
        let is_plain = matches!(other.info.role, Role::WithoutPrivacy(_)) || other.info.policy == cell.info.policy;
        let name = if is_plain { String::new() } else { format!(" by “{}”", other.info.policy) };
        format!("{} without{name}", mean(other))
    });
    let known = [guessing.clone(), Some(format!("{} with privacy", mean(cell))), without];
    let name = &settings.names[group.setting];
    let mut sentences = vec![format!(
        "{} after {} {}, at ε = {}{}: {}.",
        words.title(),
        cell.last_round,
        if is_learner { "samples" } else { "rounds" },
        short(group.epsilon),
        if name.is_empty() { String::new() } else { format!(", {name}") },
        known.into_iter().flatten().collect::<Vec<_>>().join(", ")
    )];
    let mut missing: Vec<String> = Vec::new();
    if guessing.is_none() {
        missing.push(format!("a {who} that guesses (`kind = \"{random}\"`)"));
    }
    let open = match cell.info.measures {
        // Some are private by their kind: what is not is a policy or learner of its own.
        Measures::Risk => found.is_none().then_some("a learner without privacy, such as `ofw`".to_owned()),
        Measures::Contextual => found.is_none().then_some("a policy without privacy, such as `linucb`".to_owned()),
        _ => found.is_none_or(|found| !is_twin(cell, &run.cells[found.reference])).then(|| {
            let by = if cell.info.ledger.inputs.is_some() { "curator" } else { "privacy" };
            format!("{} with `{by} = {{ mechanism = \"none\" }}`", cell.info.policy)
        }),
    };
    missing.extend(open);
    if !missing.is_empty() {
        sentences.push(format!("Missing for a comparison with the same {who}: add {}.", missing.join(" and ")));
    }
    let Some((found, share)) = found.and_then(|found| Some((found, found.share?))) else { return sentences };
    if share.left.is_none() {
        sentences.push(
            "Look at clip, bound, kernel and exploration factor, at the number of rounds and trials, and whether the reference plays \
             one point for ever."
                .to_owned(),
        );
    } else if let Some(enough) = share.enough_trials(run.manifest.trials) {
        sentences.push(format!("The interval of the share is wide there: {enough} trials would narrow it to 30 points."));
    }
    let recommended = Share::of(run, cell, &run.cells[found.reference], Quantity::RecommendedRegret);
    if let Some(share) = recommended.filter(|_| words.measure != Quantity::RecommendedRegret) {
        sentences.push(match share.left {
            Some(left) => format!("In the regret of the recommended point the share is {}.", share_text(left)),
            None => "The point recommended without privacy is not better than a random one beyond chance.".to_owned(),
        });
    }
    let known = match cell.info.measures {
        Measures::Risk => "Bounds and learning rates",
        Measures::Contextual => "Bounds, clip and exploration",
        _ => "Kernel, clip and exploration factor",
    };
    let fact = |name: &str| cell.info.facts.get(name).and_then(FactValue::as_f64);
    if let (Some(factor), Some(pilot)) = (fact("tuned_factor_of_beta"), fact("pilot_trials_of_each_factor")) {
        sentences.push(format!(
            "{pilot} pilot trials of each factor, apart from those reported, chose the exploration factor here, {}; every cell has its own, \
             private or not, and added references four times as many trials (facts): that choice is not private.",
            short(factor)
        ));
    }
    sentences.push(format!(
        "{known} are taken as known beforehand: chosen on the data themselves, they cost nothing in a simulation and epsilon in life."
    ));
    sentences
}

/// Returns whether the reference is the same policy without privacy.
fn is_twin(cell: &CellData, reference: &CellData) -> bool {
    let is_its_own = reference.info.role == Role::WithoutPrivacy(Arc::clone(&cell.info.policy));
    is_its_own || cell.info.policy == reference.info.policy || (!kind(cell).is_empty() && kind(cell) == kind(reference))
}

fn nothing_private(run: &ReportRun) -> String {
    let words = run.words;
    let Some(point) = run.index.points.first() else { return String::new() };
    let said = |&cell_idx: &usize| {
        let cell = &run.cells[cell_idx];
        let m = cell.moments(words.measure)?;
        Some(format!("{} {}", cell.info.policy, plus_minus(m.mean, m.half)))
    };
    let shown: Vec<String> = point.iter().filter_map(said).take(2).collect();
    let more = match point.len() - shown.len() {
        0 => String::new(),
        many => format!("; and {many} more in the table"),
    };
    let at = stated(run, point).map_or(String::new(), |at| format!(" at {at}"));
    format!("Nothing in this run is private: no cost of privacy is shown. {}{at}: {}{more}.", words.title(), shown.join("; "))
}

/// Returns the swept values of a sweep point; `None` if nothing is swept.
fn stated(run: &ReportRun, point: &[usize]) -> Option<String> {
    let at: Vec<String> = run.cells[point[0]].swept.iter().map(|swept| run.stated(swept)).collect();
    (!at.is_empty()).then(|| at.join(", "))
}

/// Returns the estimates from a log with the standard errors that the log's chance causes: two policies first, then all.
fn estimates(run: &ReportRun) -> Answer {
    let points = &run.index.points;
    let said = |&cell_idx: &usize| {
        let cell = &run.cells[cell_idx];
        let (name, values) = (&cell.info.policy, cell.finals(Quantity::Value));
        let (Some(value), Some(error)) = (SampleMoments::of(&values), cell.moments(Quantity::StandardError)) else {
            return format!("{name} has no estimate: no row matched its choices");
        };
        let (n, unmatched) = (cell.ends.len(), cell.ends.len() - values.len());
        let without =
            if unmatched == 0 { String::new() } else { format!(", without {unmatched} of {n} trials, which no row matched") };
        format!("{name} is estimated to be worth {} a round (standard error {}{without})", short(value.mean), short(error.mean))
    };
    let at_point = |point: &Vec<usize>, most: usize| {
        let mut said: Vec<String> = point.iter().take(most).map(said).collect();
        if most < point.len() {
            said.push(format!("{} more are in the table", point.len() - most));
        }
        let at = stated(run, point).map_or(String::new(), |at| format!("At {at}, "));
        format!("{at}{}.", said.join(", "))
    };
    let lead = points.first().map(|point| at_point(point, 2)).into_iter().collect();
    let ends = points.first().filter(|point| 2 < point.len()).into_iter();
    let ends = ends.chain(points.get(1..).and_then(<[_]>::last));
    Answer { lead, details: ends.map(|point| at_point(point, N_NAMED)).collect(), ..Answer::default() }
}

/// Names the private runs without a guarantee, and where it fails if it holds elsewhere.
fn unprotected(run: &ReportRun) -> Option<String> {
    let words = |cells: &Vec<&CellData>| {
        let policy = &*cells[0].info.policy;
        let (failing, others): (Vec<&CellData>, Vec<&CellData>) = cells.iter().copied().partition(|cell| cell.has_no_guarantee());
        let holds_elsewhere = others.iter().any(|cell| cell.info.ledger.reward.guarantee == Guarantee::Holds);
        let label = failing.first()?.info.label();
        let first = label.strip_prefix(policy).map_or(label.as_str(), |rest| rest.trim_start_matches(" · "));
        Some(match failing.len() {
            _ if !holds_elsewhere => policy.to_owned(),
            1 => format!("{policy} (at {first} alone)"),
            many => format!("{policy} (in {many} of its cells, the first at {first})"),
        })
    };
    let by_policy = grouped(run.cells.iter().map(|cell| (&*cell.info.policy, cell)));
    let shown: Vec<String> = by_policy.iter().filter_map(words).collect();
    let (last, others) = shown.split_last()?;
    let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("The privacy claimed for {names} does not hold as calibrated here: see the ledger."))
}
