//! Warns of settings that mislead.
//!
//! Examples: a clip that cuts the function off, noise that drowns it, too few rounds.
//!
//! The function itself is read wherever rewards are simulated, a table's values included: the regret of a simulation is
//! computed from them. Elsewhere the stated bound takes its place.

use super::cell_warning::{CellWarning, digits, shown_range};
use super::ready_cell::{ReadyCell, ReadyTrial};
use super::table_warnings::table_warnings;
use crate::env::{MeanRange, ValueUnits};
use crate::spec::{CellPlan, Misleading};
use privateer_privacy::Ledger;
use privateer_privacy::sums::Spectrum;

/// Clip ranges wider than this multiple of the rewards' range are far outside of it.
const FAR: f64 = 5.0;

/// Returns a warning if delta is so large that publishing one of `n` records in full, on average, would satisfy it.
pub(super) fn delta_warning(ledger: &Ledger, n: u64, records: &str) -> Option<CellWarning> {
    let (delta, share) = (ledger.delta, 1.0 / n as f64);
    (ledger.epsilon.is_some() && (1.0 - 1e-9) * share <= delta).then(|| {
        let text = format!(
            "delta = {} is at least 1/n = {} for {n} {records}: publishing each in full with that probability, one of them on \
             average, would satisfy it; choose a delta far below 1/n",
            digits(delta),
            digits(share)
        );
        CellWarning::new(Misleading::Delta, text)
    })
}

/// Holds what may be known of the function's values.
struct KnownValues {
    least: f64,
    greatest: f64,
    /// Whether the values themselves were read, as opposed to their stated bound.
    are_read: bool,
}

/// Returns the warnings of a cell whose policy plays points of a domain.
pub(super) fn bandit_warnings(
    cell: &ReadyCell,
    trial: &ReadyTrial,
    ledger: &Ledger,
    inputs: Option<&Ledger>,
) -> Vec<CellWarning> {
    let plan = &cell.plan;
    let mut warnings: Vec<CellWarning> = delta_warning(ledger, plan.rounds, "rewards").into_iter().collect();
    if let (Some(inputs), Some(points)) = (inputs, cell.environment.points.as_ref()) {
        warnings.extend(delta_warning(inputs, points.n_points() as u64, "rows"));
    }
    let n_initial = plan.resolved["policy"]["initial"]["points"].as_f64().unwrap_or(0.0);
    if plan.rounds as f64 <= n_initial {
        let text = format!(
            "all {} rounds belong to the {n_initial} random points of `initial`, so that the policy never chooses; raise `rounds`",
            plan.rounds
        );
        warnings.push(CellWarning::new(Misleading::Rounds, text));
    }
    if let Some(values) = known_values(cell, trial) {
        let clip = clip_warning(trial, ledger, &values, trial.instance.value_units());
        warnings.extend(clip.or_else(|| bound_warning(trial, ledger, &values)));
        warnings.extend(noise_warning(plan, trial, &values));
        warnings.extend(factor_warning(cell, trial, &values));
        warnings.extend(prior_mean_warning(cell, trial, ledger, &values));
    }
    warnings.extend(table_warnings(cell, trial, ledger));
    warnings
}

/// Returns the range of the function, as far as it may be known.
///
/// It is `None` without values and without a stated bound.
fn known_values(cell: &ReadyCell, trial: &ReadyTrial) -> Option<KnownValues> {
    if cell.environment.simulates {
        let (least, greatest) = trial.instance.range();
        return Some(KnownValues { least, greatest, are_read: true });
    }
    let MeanRange { low, high } = trial.instance.stated_range()?;
    Some(KnownValues { least: low, greatest: high, are_read: false })
}

fn clip_warning(trial: &ReadyTrial, ledger: &Ledger, values: &KnownValues, units: Option<ValueUnits>) -> Option<CellWarning> {
    let [low, high] = ledger.clip.filter(|_| ledger.epsilon.is_some())?;
    let shown = |low: f64, high: f64| shown_range(units, low, high);
    let (clip, tolerance) = (shown(low, high), 1e-9 * (values.greatest - values.least));
    let cuts_best = high < values.greatest - tolerance;
    if values.are_read && (cuts_best || values.least + tolerance < low) {
        let share = trial
            .instance
            .share_outside(low, high)
            .map_or(String::new(), |share| format!(" at {} % of the points", digits(100.0 * share)));
        let best = if cuts_best { ", the best point among them" } else { "" };
        let text = format!(
            "rewards are clipped to {clip}, and the mean reward lies outside{share}{best} (it covers {}); widen `clip`, in {}",
            shown(values.least, values.greatest),
            match units {
                Some(_) => "units of the file",
                None => "the units of the rewards as the spec transforms them",
            }
        );
        return Some(CellWarning::new(Misleading::Clip, text));
    }
    if cuts_best {
        let text = format!(
            "rewards are clipped to {clip}, and the stated `bound` lets the mean reward cover {}; widen `clip`, or lower `bound`",
            shown(values.least, values.greatest)
        );
        return Some(CellWarning::new(Misleading::Clip, text));
    }
    let noise = trial.instance.noise();
    let around = noise.bound().or_else(|| noise.variance().map(|variance| 3.0 * libm::sqrt(variance)))?;
    let (least, greatest) = trial.instance.facts().range.unwrap_or((values.least - around, values.greatest + around));
    let times = (high - low) / (greatest - least);
    (values.are_read && FAR < times).then(|| {
        let text = format!(
            "rewards are clipped to {clip}, {} times as wide as their range, {}, and the noise grows with the clip; state a \
             narrower `clip` or `bound`",
            digits(times),
            shown(least, greatest)
        );
        CellWarning::new(Misleading::Clip, text)
    })
}

/// Returns a warning if mean rewards exceed the stated bound, at which a mechanism cuts them off.
fn bound_warning(trial: &ReadyTrial, ledger: &Ledger, values: &KnownValues) -> Option<CellWarning> {
    let MeanRange { low, high } = trial.instance.stated_range()?;
    let tolerance = 1e-9 * high.abs().max(low.abs());
    let exceeds = values.least < low - tolerance || high + tolerance < values.greatest;
    (values.are_read && exceeds && ledger.epsilon.is_some()).then(|| {
        let share = trial.instance.share_outside(low, high).map_or(String::new(), |share| {
            format!(" at {} % of the points", digits(100.0 * share))
        });
        let text = format!(
            "the stated `bound` on the mean reward is exceeded{share}: the reward covers [{}, {}] as the spec transforms it, and the \
             bound is [{}, {}] there; widen `bound`",
            digits(values.least),
            digits(values.greatest),
            digits(low),
            digits(high)
        );
        CellWarning::new(Misleading::Clip, text)
    })
}

/// Returns a warning if the mean of all released rewards would have a larger noise than the function has differences.
fn noise_warning(plan: &CellPlan, trial: &ReadyTrial, values: &KnownValues) -> Option<CellWarning> {
    let rounds = plan.rounds as f64;
    let deviation = match (trial.mechanism.rewards(), trial.mechanism.sums().map(|sums| sums.facts().spectrum)) {
        (Some(rewards), _) => libm::sqrt(rewards.noise_variance() / rounds),
        (None, Some(Spectrum::Local { moment, .. })) => moment / libm::sqrt(rounds),
        (None, Some(Spectrum::Joint { moment: std, .. } | Spectrum::Moments { std })) => std / rounds,
        (None, Some(Spectrum::Shuffled { variance, .. })) => libm::sqrt(variance / rounds),
        _ => return None,
    };
    let spread = values.greatest - values.least;
    (0.0 < spread && spread < deviation).then(|| {
        let known = if values.are_read { "the mean rewards differ" } else { "the stated `bound` lets mean rewards differ" };
        let text = format!(
            "even the average of all {} released rewards has noise of standard deviation {}, and {known} by at most {}; raise `epsilon` \
             or `rounds`, or narrow `clip`",
            plan.rounds,
            digits(deviation),
            digits(spread)
        );
        CellWarning::new(Misleading::Noise, text)
    })
}

/// Returns a warning if the theorem's factor exceeds all differences of the function for the second half of the rounds.
fn factor_warning(cell: &ReadyCell, trial: &ReadyTrial, values: &KnownValues) -> Option<CellWarning> {
    let plan = &cell.plan;
    let beta = &plan.resolved["policy"]["beta"];
    let kind = beta.as_str().or(beta["kind"].as_str()).or(plan.resolved["defaults"]["policy.beta"].as_str())?;
    let least = cell.maker.least_factor(&trial.setting, plan.rounds.div_ceil(2))?;
    let prior = libm::sqrt(if cell.environment.product.is_some() { 1.0 } else { cell.environment.gram.diagonal(0) });
    let (reach, spread) = (least * prior, values.greatest - values.least);
    (["theory", "scaled"].contains(&kind) && 0.0 < spread && spread < reach).then(|| {
        let known = if values.are_read { "the mean rewards differ" } else { "the stated `bound` lets mean rewards differ" };
        let text = format!(
            "the theorem's exploration factor adds at least {} to the score of an unknown point for half of the rounds or more, and \
             {known} by at most {}: the policy explores almost everywhere; `beta = {{ kind = \"order\", factor = 0.5 }}` drops the \
             theorem's constants",
            digits(reach),
            digits(spread)
        );
        CellWarning::new(Misleading::ExplorationFactor, text)
    })
}

/// Returns a warning if a policy without privacy stays at its first point.
///
/// It does where all rewards are far above the prior mean.
///
/// After one play the score of another point is at most `sqrt(v² + (factor · prior)²)` for a reward v, whatever its correlation.
fn prior_mean_warning(cell: &ReadyCell, trial: &ReadyTrial, ledger: &Ledger, values: &KnownValues) -> Option<CellWarning> {
    let factor = cell.maker.least_factor(&trial.setting, cell.plan.rounds)?;
    let grows = cell.plan.resolved["policy"]["beta"]["kind"].as_str() != Some("constant");
    let prior = libm::sqrt(if cell.environment.product.is_some() { 1.0 } else { cell.environment.gram.diagonal(0) });
    let noise = trial.instance.facts().noise_variance.map_or(0.0, libm::sqrt);
    let is_stuck = values.are_read && FAR * (factor * prior).max(noise) < values.least;
    (is_stuck && !grows && 0.0 < factor && values.least < values.greatest && ledger.epsilon.is_none()).then(|| {
        let text = format!(
            "mean rewards are at least {}, and the exploration factor adds at most {} to the prior mean, 0, of an unknown point: the \
             policy repeats its first points, and privacy seems free in comparison; centre the rewards, or raise the factor",
            digits(values.least),
            digits(factor * prior)
        );
        CellWarning::new(Misleading::PriorMean, text)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Preparation;
    use crate::env::DataFolder;
    use crate::spec::Sweep;
    use privateer_backend::Cpu;

    /// Returns the topics of the warnings of a one-cell spec with these lines.
    fn topics(rounds: u32, privacy: &str, policy: &str) -> Vec<String> {
        let spec = format!(
            "rounds = {rounds}\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", dimension = 1, points = 30 }}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 0.2 }}\nnoise = {{ kind = \"uniform\", bound = 0.1 }}\n\
             [privacy]\n{privacy}\n[[policy]]\nkind = \"gp-ucb\"\n{policy}\n"
        );
        let sweep = Sweep::parse("spec.toml", &spec, &[]).unwrap_or_else(|error| panic!("{error}"));
        let (data, backend) = (DataFolder::default(), Cpu::default());
        let facts = Preparation::new(&sweep, &data, &backend).facts_in_short(&sweep.cells[0]).expect("prepared");
        facts.warnings.into_iter().map(|warning| warning.topic.to_string()).collect()
    }

    const ORDER: &str = "beta = { kind = \"order\", factor = 0.5 }";

    #[test]
    fn each_misleading_setting_is_named_and_good_ones_are_not() {
        let gaussian = |rest: &str| format!("mechanism = \"gaussian\"\nepsilon = 8.0\n{rest}");
        assert_eq!(topics(10_000, &gaussian("delta = 1e-6"), ORDER), [""; 0]);
        assert_eq!(topics(10_000, &gaussian("delta = 1e-3"), ORDER), ["delta"]);
        assert_eq!(topics(10_000, &gaussian("delta = 1e-6\nclip = [-0.01, 0.01]"), ORDER), ["clip"]);
        assert_eq!(topics(1_000_000, &gaussian("delta = 1e-9\nclip = [-900.0, 900.0]"), ORDER), ["clip"]);
        assert_eq!(topics(10, "mechanism = \"laplace\"\nepsilon = 0.01", ORDER), ["noise"]);
        assert_eq!(
            topics(10, "mechanism = \"none\"", &format!("{ORDER}\ninitial = {{ kind = \"random\", points = 10 }}")),
            ["rounds"]
        );
    }
}
