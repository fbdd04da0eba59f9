//! Warns of tables that do not suit the settings around them: clip, kernel, noise, rows with equal inputs, outliers.

use super::cell_warning::{CellWarning, digits, shown_range};
use super::ready_cell::{ReadyCell, ReadyTrial};
use crate::env::csv_table::outlier;
use crate::spec::{CellPlan, Misleading};
use privateer_config::facts::FactValue;
use privateer_numerics::rng::Purpose;
use privateer_privacy::Ledger;

/// Returns the warnings of a cell whose rewards are simulated from a table; none of other cells.
pub(super) fn table_warnings(cell: &ReadyCell, trial: &ReadyTrial, ledger: &Ledger) -> Vec<CellWarning> {
    let mut warnings = Vec::new();
    if cell.environment.fingerprint.as_deref().is_some() && cell.environment.simulates {
        warnings.extend(outlier_warning(cell, trial));
        warnings.extend(replicates_warning(cell));
        // The likelihood of this table chose a fitted kernel.
        let is_fitted = cell.plan.resolved["environment"]["hyperparameters"].as_str() == Some("fitted");
        warnings.extend((!is_fitted).then(|| lengthscale_warning(cell)).flatten());
        warnings.extend(clipped_rewards_warning(cell, trial, ledger));
        warnings.extend(observation_noise_warning(&cell.plan, trial));
    }
    warnings.extend(cell.environment.index_column.as_deref().map(index_column_warning));
    warnings
}

/// Returns the warning of a column that counts and is played as an arm.
fn index_column_warning(name: &str) -> CellWarning {
    let text = format!(
        "the first column, `{name}`, rises by 1 from row to row, as numbers of rows and years do, and is played as an arm; leave \
         it out: `except = [\"{name}\"]`"
    );
    CellWarning::new(Misleading::IndexColumn, text)
}

/// Returns a warning if one row of a table has over half of the variance of its values.
fn outlier_warning(cell: &ReadyCell, trial: &ReadyTrial) -> Option<CellWarning> {
    let environment = &cell.environment;
    let n = environment.points.as_ref()?.n_points();
    let means: Vec<f64> = (0..n).map(|point| trial.instance.mean(point)).collect();
    let (point, share) = outlier(&means)?;
    let file = cell.plan.resolved["environment"]["file"].as_str().map_or("the table".to_owned(), |file| format!("`{file}`"));
    let text = format!(
        "row {} of {file} has {} % of the variance of its values, so that the other rows hardly differ beside it; look for a \
         mistyped cell, or remove the row",
        environment.file_row(point) + 1,
        digits(100.0 * share)
    );
    Some(CellWarning::new(Misleading::Outlier, text))
}

/// Returns a warning if points of a table have equal inputs and different values.
///
/// Their scores are equal too, so that the order of the rows decides which of them is played.
fn replicates_warning(cell: &ReadyCell) -> Option<CellWarning> {
    let points = cell.environment.points.as_ref()?;
    let mut inputs: Vec<&[f64]> = (0..points.n_points()).map(|point| points.point(point)).collect();
    inputs.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    inputs.dedup();
    let n_repeats = points.n_points() - inputs.len();
    // Where inputs are released, by one cell or another, each row is somebody's.
    (0 < n_repeats && cell.plan.resolved["curator"] == FactValue::Missing).then(|| {
        let text = format!(
            "{n_repeats} of {} points have the inputs of another point, and a policy plays the first of them alone, so that the order of \
             the rows decides; drop `replicates = \"apart\"`, or name an input that tells them apart",
            points.n_points()
        );
        CellWarning::new(Misleading::Replicates, text)
    })
}

/// Correlations above and below which points are one, or strangers.
const ALIKE: f64 = 0.99;
const STRANGE: f64 = 0.01;

/// Most points that are compared with each other.
const MOST_COMPARED: usize = 60;

/// Returns a warning if the kernel gives a table's points nearly the same value, or half of them nothing from any other.
fn lengthscale_warning(cell: &ReadyCell) -> Option<CellWarning> {
    let (points, kernel) = cell.environment.points.as_ref().zip(cell.environment.kernel.as_ref())?;
    let n = points.n_points();
    let compared: Vec<usize> = (0..n).step_by(n.div_ceil(MOST_COMPARED)).collect();
    let prior = |i: usize| kernel.value(points.point(i), points.point(i));
    // A kernel that gives points of the table different variances compares them in no one unit.
    if compared.iter().any(|&i| 1e-9 * prior(0) < (prior(i) - prior(0)).abs()) {
        return None;
    }
    let correlation = |i: usize, j: usize| kernel.value(points.point(i), points.point(j)) / libm::sqrt(prior(i) * prior(j));
    let others = |i: usize| compared.iter().copied().filter(move |&j| j != i);
    let least =
        compared.iter().flat_map(|&i| others(i).map(move |j| (i, j))).fold(1.0_f64, |least, (i, j)| least.min(correlation(i, j)));
    let most = |i: &usize| others(*i).fold(0.0_f64, |most, j| most.max(correlation(*i, j)));
    // Nearest neighbours are known only where all points are compared.
    let strangers = if compared.len() == n { compared.iter().filter(|i| most(i) < STRANGE).count() } else { 0 };
    let problem = if 2 < n && ALIKE < least {
        format!(
            "the kernel correlates any two points of the table by {} or more, so that the policy takes them for one point",
            digits(least)
        )
    } else if n < 2 * strangers {
        format!(
            "the kernel correlates {strangers} of {n} points with no other by {STRANGE}, so that nothing is learnt from one about another"
        )
    } else {
        return None;
    };
    let text = format!(
        "{problem}; `lengthscale` counts in the units of the inputs after `standardise` and `scales`: `privateer fit` finds one"
    );
    Some(CellWarning::new(Misleading::Lengthscale, text))
}

/// Rewards drawn of each point, to see how many are clipped.
const DRAWS: usize = 10;

/// Least share of the clip's width by which clipping moves a reward in the mean where it hides differences: a half of them, where means
/// lie at its ends.
const MOVED: f64 = 0.25;

/// Returns a warning if over half of the rewards of a table are clipped, and far, although its mean rewards are not.
fn clipped_rewards_warning(cell: &ReadyCell, trial: &ReadyTrial, ledger: &Ledger) -> Option<CellWarning> {
    let [low, high] = ledger.clip.filter(|_| ledger.epsilon.is_some())?;
    trial.instance.share_outside(low, high).filter(|&share| share == 0.0)?;
    let (least, greatest) = trial.instance.range();
    let regret = trial.instance.regret_of_clipped_best(low, high);
    let clip = shown_range(trial.instance.value_units(), low, high);
    if 0.05 * (greatest - least) < regret {
        let text = format!(
            "rows of the table are clipped to {clip}, although their means are not, so that another point seems the best, which loses {} \
             a round; widen `clip`",
            digits(regret)
        );
        return Some(CellWarning::new(Misleading::Clip, text));
    }
    let mut stream = cell.streams.of(0, Purpose::Noise);
    let (share, moved) = trial.instance.clipped_rewards(low, high, DRAWS, &mut stream);
    (0.5 < share && MOVED * (high - low) < moved).then(|| {
        let text = format!(
            "{} % of the rewards lie outside of the clip, {clip}, by their noise or the scatter of rows with equal inputs; widen `clip`",
            digits(100.0 * share)
        );
        CellWarning::new(Misleading::Clip, text)
    })
}

/// Returns a warning if the mean of all rewards of a run would scatter more than a table's mean rewards differ.
fn observation_noise_warning(plan: &CellPlan, trial: &ReadyTrial) -> Option<CellWarning> {
    let (least, greatest) = trial.instance.range();
    let deviation = libm::sqrt(trial.instance.noise().variance()? / plan.rounds as f64);
    (greatest - least < deviation).then(|| {
        let text = format!(
            "the average of {} rewards has a standard deviation of {} by `noise` alone, and the mean rewards differ by at most {}: no \
             policy can tell points apart; raise `rounds`, or lower `noise`",
            plan.rounds,
            digits(deviation),
            digits(greatest - least)
        );
        CellWarning::new(Misleading::Noise, text)
    })
}
