//! Writes the answer in words: a short paragraph computed from recorded numbers alone.
//!
//! Its first sentence is how much of what can be learnt privacy leaves the best private policy with a guarantee. Every policy is
//! named or counted.

use super::cell_data::CellData;
use super::collect::ReportRun;
use super::compare::{ComparedPoint, best_of, candidates, cost, kind};
use super::share::{Share, guess};
use super::stats::{SampleMoments, known};
use super::text::{plus_minus, share_text, short, short_key, swept_text};
use crate::record::{Measures, Quantity, Role, is_privacy_key};
use privateer_privacy::{Adversary, Guarantee};
use std::collections::BTreeMap;

/// Largest number of policies that the paragraph names one by one; further ones are counted.
const N_NAMED: usize = 6;

/// Holds the private cells of one budget on one problem.
struct BudgetGroup {
    epsilon: f64,
    /// Values of the swept keys that are not about privacy, and the environment.
    problem: String,
    cells: Vec<usize>,
}

/// Returns the sentences of the paragraph.
pub(super) fn answer(run: &ReportRun, points: &[ComparedPoint]) -> Vec<String> {
    let mut sentences = if run.words.estimates { estimates(run, points) } else { costs(run, points) };
    if run.manifest.trials < 2 {
        sentences.push("One trial tells nothing about chance: no interval can be given.".to_owned());
    }
    sentences.extend(unprotected(run));
    sentences
}

/// Returns the sentences on the cost of privacy.
fn costs(run: &ReportRun, points: &[ComparedPoint]) -> Vec<String> {
    let groups = budget_groups(run);
    let away = |group: &&BudgetGroup| libm::fabs(libm::log(group.epsilon));
    let Some(head) = groups.iter().min_by(|left, right| away(left).total_cmp(&away(right))) else {
        return vec![nothing_private(run, points)];
    };
    // The same problem at the least and the greatest budget.
    let here = || groups.iter().filter(|group| group.problem == head.problem);
    let order = |left: &&BudgetGroup, right: &&BudgetGroup| left.epsilon.total_cmp(&right.epsilon);
    let ends = [here().min_by(order), here().max_by(order)];
    let ends: Vec<&BudgetGroup> = ends.into_iter().flatten().filter(|end| end.epsilon != head.epsilon).collect();
    // The best one has a second share, of its recommendation.
    let n_shares: usize =
        ends.iter().map(|end| end.cells.len()).sum::<usize>() + head.cells.len() + usize::from(run.words.recommends);
    let level = 1.0 - 0.05 / n_shares as f64;

    let mut sentences = headline(run, points, head, level);
    let further: Vec<String> = ends.iter().filter_map(|end| at_end(run, points, end, level)).collect();
    if !further.is_empty() {
        sentences.push(format!("At {}.", further.join("; at ")));
    }
    sentences.extend(without_privacy(run, head));
    let problems: std::collections::BTreeSet<&str> = groups.iter().map(|group| group.problem.as_str()).collect();
    if let 2.. = problems.len() {
        sentences.push(match problems.len() - 1 {
            1 => "The figures show the other setting of what is swept besides privacy.".to_owned(),
            many => format!("The figures show the {many} other settings of what is swept besides privacy."),
        });
    }
    if 1 < run.manifest.trials {
        let together = if 1 < n_shares { format!(", all {n_shares} together (Bonferroni)") } else { String::new() };
        sentences.push(format!("Intervals: 95 %, paired over {} trials{together}.", run.manifest.trials));
    }
    sentences
}

/// Returns the private cells by budget and problem, in canonical order.
fn budget_groups(run: &ReportRun) -> Vec<BudgetGroup> {
    let many_environments = run.cells.iter().any(|cell| cell.info.environment != run.cells[0].info.environment);
    let keys = run.swept_keys();
    let mut groups: Vec<BudgetGroup> = Vec::new();
    let mut group_of = BTreeMap::new();
    for (cell_idx, cell) in run.cells.iter().enumerate() {
        let Some(epsilon) = cell.epsilon().filter(|epsilon| !cell.is_not_private() && 0.0 < *epsilon && epsilon.is_finite())
        else {
            continue;
        };
        let values = cell.info.swept.iter().filter(|(key, _)| !is_privacy_key(key));
        let values = values.map(|(key, value)| format!("{} = {}", short_key(key, &keys), swept_text(value)));
        let environment = many_environments.then(|| cell.info.environment.clone());
        let problem = environment.into_iter().chain(values).collect::<Vec<_>>().join(", ");
        let next = groups.len();
        match groups.get_mut(*group_of.entry((epsilon.to_bits(), problem.clone())).or_insert(next)) {
            Some(group) => group.cells.push(cell_idx),
            None => groups.push(BudgetGroup { epsilon, problem, cells: vec![cell_idx] }),
        }
    }
    groups
}

/// Returns the first sentences: what privacy leaves the best private policy, then the other ones, at one budget.
fn headline(run: &ReportRun, points: &[ComparedPoint], group: &BudgetGroup, level: f64) -> Vec<String> {
    let (who, many) = (run.words.who, run.words.many);
    let problem = if group.problem.is_empty() { String::new() } else { format!(" ({})", group.problem) };
    let at = format!("At ε = {}{problem}", short(group.epsilon));
    let best = best_of(run, &candidates(run, &group.cells));
    let mut sentences = match best {
        None => vec![format!("{at} no private {who} that learns keeps the guarantee it claims.")],
        Some(best) => {
            let which = match (group.cells.len(), candidates(run, &group.cells).len()) {
                (1, _) => format!("only private {who}"),
                (_, 1) => format!("only private {who} with a guarantee"),
                _ => format!("best private {who}"),
            };
            of_the_best(run, points, best, level, &at, &format!("the {which}, {}", name_in(run, best, group)))
        }
    };
    let others = group.cells.iter().copied().filter(|&cell| Some(cell) != best && !run.cells[cell].plays_at_random());
    let others: Vec<usize> = others.collect();
    let others = first_of_the_same(run, &others, best);
    if others.is_empty() {
        return sentences;
    }
    let mut clauses: Vec<String> = others
        .iter()
        .take(N_NAMED)
        .map(|&cell_idx| {
            let left = cost(run, points, cell_idx, level).and_then(|found| found.share?.left);
            let mean = SampleMoments::of(&run.cells[cell_idx].finals(run.words.measure));
            let number = left.map(share_text).or(mean.map(|m| plus_minus(m.mean, m.half))).unwrap_or("–".to_owned());
            let mark = if run.cells[cell_idx].has_no_guarantee() { ", no guarantee" } else { "" };
            format!("{}: {number}{mark}", name_in(run, cell_idx, group))
        })
        .collect();
    if N_NAMED < others.len() {
        clauses.push(format!("and {} more in the table", others.len() - N_NAMED));
    }
    sentences.push(format!("Other private {many} there: {}.", clauses.join("; ")));
    sentences
}

/// Returns what privacy leaves the best private policy, or what is missing to say it.
fn of_the_best(run: &ReportRun, points: &[ComparedPoint], best: usize, level: f64, at: &str, subject: &str) -> Vec<String> {
    let (cell, words) = (&run.cells[best], &run.words);
    let (who, is_learner) = (words.who, words.measure == Quantity::Suboptimality);
    let mean =
        |cell: &CellData| SampleMoments::of(&cell.finals(words.measure)).map_or("–".to_owned(), |m| plus_minus(m.mean, m.half));
    let until = format!("{} after {} {}", words.long, cell.last_round, if is_learner { "samples" } else { "rounds" });
    let random = if cell.info.measures == Measures::Contextual { "random-arm" } else { "uniform" };
    let guessing = match guess(run, cell) {
        _ if is_learner => Some("1 at the starting point".to_owned()),
        found => found.map(|found| format!("{} by guessing", mean(found))),
    };
    let found = cost(run, points, best, level);
    let without = found.map(|found| {
        let other = &run.cells[found.reference];
        let is_plain = matches!(other.info.role, Role::WithoutPrivacy(_)) || other.info.policy == cell.info.policy;
        let name = if is_plain { String::new() } else { format!(" by “{}”", other.info.policy) };
        format!("{} without{name}", mean(other))
    });
    let known = [guessing.clone(), Some(format!("{} with privacy", mean(cell))), without.clone()];
    let numbers = format!("{until}: {}", known.into_iter().flatten().collect::<Vec<_>>().join(", "));
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
    let missing = missing.join(" and ");
    let Some((found, share)) = found.and_then(|found| Some((found, found.share?))) else {
        let unknown = "how much of what can be learnt privacy leaves cannot be said";
        return vec![format!("{at} {unknown} of {subject} ({numbers}). Add {missing}.")];
    };
    let mut sentences = Vec::new();
    match share.left {
        None => sentences.push(format!(
            "{at} how much of what can be learnt privacy leaves cannot be said: without privacy, “{}” does not beat guessing beyond \
             chance ({numbers}). Look at clip, bound, kernel and exploration factor, at the number of rounds and trials, and whether \
             it plays one point for ever.",
            run.cells[found.reference].info.policy
        )),
        Some(left) => {
            let verdict = match left.interval {
                Some((_, high)) if high < 0.0 => ", which is worse than guessing",
                Some((low, high)) if low <= 0.0 && 0.0 <= high => ", which cannot be told from guessing",
                Some((low, _)) if 1.0 < low => ", which is more than without privacy",
                _ => "",
            };
            sentences.push(format!(
                "{at} privacy leaves {subject}, {} of what can be learnt{verdict} ({numbers}).",
                share_text(left)
            ));
            if let Some(enough) = share.enough_trials(run.manifest.trials) {
                sentences.push(format!("That interval is wide: {enough} trials would narrow it to 30 points."));
            }
        }
    }
    if !missing.is_empty() {
        sentences.push(format!("For the same {who} without privacy, add {missing}."));
    }
    let recommended = Share::of(run, cell, &run.cells[found.reference], Quantity::RecommendedRegret, level);
    if let Some(share) = recommended.filter(|_| words.measure != Quantity::RecommendedRegret) {
        sentences.push(match share.left {
            Some(left) => format!("In the regret of the recommended point it is {}.", share_text(left)),
            None => "The point recommended without privacy is not better than a random one beyond chance.".to_owned(),
        });
    }
    let known = match cell.info.measures {
        Measures::Risk => "Bounds and learning rates",
        Measures::Contextual => "Bounds, clip and exploration",
        _ => "Kernel, clip and exploration factor",
    };
    if let (Some(factor), Some(pilot)) =
        (cell.info.facts["tuned_factor_of_beta"].as_f64(), &cell.info.facts["pilot_trials_of_each_factor"].as_u64())
    {
        sentences.push(format!(
            "{pilot} pilot trials of each factor, apart from those reported, chose the exploration factor of every cell, private or not \
             (here {}, in the facts for the others): that choice is not private.",
            short(factor)
        ));
    }
    sentences.push(format!(
        "{known} are taken as known beforehand: chosen on the data themselves, they cost nothing in a simulation and epsilon in life."
    ));
    sentences
}

/// Leaves out cells of the same policy with the very same results, such as two calibrations that come to the same noise.
fn first_of_the_same(run: &ReportRun, cells: &[usize], best: Option<usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = best.into_iter().collect();
    for &cell_idx in cells {
        let cell = &run.cells[cell_idx];
        let is_known = |&known: &usize| {
            let known = &run.cells[known];
            known.info.policy == cell.info.policy
                && known.has_no_guarantee() == cell.has_no_guarantee()
                && known.same_results(cell, run.words.measure)
        };
        if !kept.iter().any(is_known) {
            kept.push(cell_idx);
        }
    }
    kept.into_iter().filter(|&cell| Some(cell) != best).collect()
}

/// Returns whether the reference is the same policy without privacy.
fn is_twin(cell: &CellData, reference: &CellData) -> bool {
    let is_its_own = reference.info.role == Role::WithoutPrivacy(cell.info.policy.clone());
    is_its_own || cell.info.policy == reference.info.policy || (!kind(cell).is_empty() && kind(cell) == kind(reference))
}

/// Returns the policy with the privacy keys, apart from epsilon, that distinguish it from others of the group.
fn name_in(run: &ReportRun, cell_idx: usize, group: &BudgetGroup) -> String {
    let (cell, keys) = (&run.cells[cell_idx], run.swept_keys());
    let apart = |key: &str, value| {
        let of = |other: &usize| &run.cells[*other];
        group.cells.iter().any(|other| of(other).info.policy == cell.info.policy && of(other).swept(key) != Some(value))
    };
    let shown: Vec<String> = cell
        .info
        .swept
        .iter()
        .filter(|(key, value)| is_privacy_key(key) && !key.ends_with("epsilon") && apart(key, value))
        .map(|(key, value)| format!("{} = {}", short_key(key, &keys), swept_text(value)))
        .collect();
    // Cells of one epsilon may promise different things.
    let promise = |of: &CellData| {
        let ledger = &of.info.ledger.reward;
        (ledger.delta, ledger.threat_model.adversary)
    };
    let (delta, adversary) = promise(cell);
    let differs =
        |is_other: &dyn Fn(&(f64, Adversary)) -> bool| group.cells.iter().any(|&other| is_other(&promise(&run.cells[other])));
    let mut shown = shown;
    if differs(&|other| other.0 != delta) {
        shown.push(format!("δ = {}", short(delta)));
    }
    if differs(&|other| other.1 != adversary) {
        shown.push(format!("against {adversary}"));
    }
    let name = format!("{}{}", cell.info.policy, if cell.plays_at_random() { ", which plays at random" } else { "" });
    if shown.is_empty() { name } else { format!("{name} ({})", shown.join(", ")) }
}

/// Returns a clause such as "ε = 8 the best, tgp-ucb, keeps 95 % (93 to 97 %)".
fn at_end(run: &ReportRun, points: &[ComparedPoint], group: &BudgetGroup, level: f64) -> Option<String> {
    let best = best_of(run, &candidates(run, &group.cells))?;
    let left = cost(run, points, best, level)?.share?.left?;
    Some(format!("ε = {} it leaves the best, {}, {}", short(group.epsilon), name_in(run, best, group), share_text(left)))
}

/// Names what runs without privacy at the same budget's sweep points.
fn without_privacy(run: &ReportRun, group: &BudgetGroup) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for cell in run.cells.iter().filter(|cell| cell.is_not_private()) {
        if !open.contains(&cell.info.policy.as_str())
            && group.cells.iter().all(|&other| run.cells[other].info.policy != cell.info.policy)
        {
            open.push(&cell.info.policy);
        }
    }
    let names = match open.len() {
        0 => return None,
        1..=N_NAMED => open.join("; "),
        many => format!("{}; and {} more", open[..N_NAMED].join("; "), many - N_NAMED),
    };
    Some(format!("Without privacy: {names}."))
}

/// Returns the answer of a run in which nothing is private.
fn nothing_private(run: &ReportRun, points: &[ComparedPoint]) -> String {
    let (words, keys) = (run.words, run.swept_keys());
    let Some(point) = points.first() else { return String::new() };
    let said = |&cell_idx: &usize| {
        let cell = &run.cells[cell_idx];
        let m = SampleMoments::of(&cell.finals(words.measure))?;
        Some(format!("{} {}", cell.info.policy, plus_minus(m.mean, m.half)))
    };
    let shown: Vec<String> = point.cells.iter().filter_map(said).take(N_NAMED).collect();
    let more = match point.cells.len() - shown.len() {
        0 => String::new(),
        many => format!("; and {many} more in the table"),
    };
    let swept = run.cells[point.cells[0]].info.swept.iter();
    let at: Vec<String> = swept.map(|(key, value)| format!("{} = {}", short_key(key, &keys), swept_text(value))).collect();
    let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
    format!(
        "Nothing in this run is private, so that no cost of privacy is shown. {}{at}: {}{more}.",
        words.title(),
        shown.join("; ")
    )
}

/// Returns the estimates from a log with the standard errors that the log's chance causes.
fn estimates(run: &ReportRun, points: &[ComparedPoint]) -> Vec<String> {
    let keys = run.swept_keys();
    let at_point = |point: &ComparedPoint| {
        let said = |&cell_idx: &usize| {
            let cell = &run.cells[cell_idx];
            let (name, values) = (&cell.info.policy, cell.finals(Quantity::Value));
            let errors: Vec<f64> = known(&cell.finals(Quantity::StandardError));
            let (Some(value), Some(error)) = (SampleMoments::of(&values), SampleMoments::of(&errors)) else {
                return format!("{name} has no estimate: no row matched its choices");
            };
            let (n, unmatched) = (cell.ends.len(), cell.ends.len() - values.len());
            let without =
                if unmatched == 0 { String::new() } else { format!(", without {unmatched} of {n} trials, which no row matched") };
            format!("{name} is estimated to be worth {} (standard error {}{without})", short(value.mean), short(error.mean))
        };
        let mut said: Vec<String> = point.cells.iter().take(N_NAMED).map(said).collect();
        if N_NAMED < point.cells.len() {
            said.push(format!("{} more are in the table", point.cells.len() - N_NAMED));
        }
        let swept = run.cells[point.cells[0]].info.swept.iter();
        let at: Vec<String> = swept.map(|(key, value)| format!("{} = {}", short_key(key, &keys), swept_text(value))).collect();
        let at = if at.is_empty() { String::new() } else { format!("At {}, ", at.join(", ")) };
        format!("{at}{} a round.", said.join(", "))
    };
    let ends = points.first().into_iter().chain(points.get(1..).and_then(<[_]>::last));
    ends.map(at_point).collect()
}
/// Names the private runs without a guarantee, and where it fails if it holds elsewhere.
fn unprotected(run: &ReportRun) -> Option<String> {
    let mut named: Vec<(&str, Vec<&str>, bool)> = Vec::new();
    for cell in &run.cells {
        let policy = cell.info.policy.as_str();
        let at = match named.iter().position(|(known, ..)| *known == policy) {
            Some(at) => at,
            None => {
                named.push((policy, Vec::new(), false));
                named.len() - 1
            }
        };
        if cell.has_no_guarantee() {
            let label = cell.info.label.as_str();
            named[at].1.push(label.strip_prefix(policy).map_or(label, |rest| rest.trim_start_matches(" · ")));
        } else {
            named[at].2 |= cell.info.ledger.reward.guarantee == Guarantee::Holds;
        }
    }
    let shown: Vec<String> = named
        .iter()
        .filter(|(_, failing, _)| !failing.is_empty())
        .map(|(policy, failing, elsewhere)| match (failing.as_slice(), elsewhere) {
            ([only], true) => format!("{policy} (at {only} alone)"),
            (many, true) => format!("{policy} (in {} of its cells, the first at {})", many.len(), many[0]),
            (_, false) => (*policy).to_owned(),
        })
        .collect();
    let (last, others) = shown.split_last()?;
    let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("The privacy claimed for {names} does not hold as calibrated here: see the ledger."))
}
