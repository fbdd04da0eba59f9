//! The order of prices over a fixed grid, each cell at the exploration factor that suits it.
//!
//! No private cell beats its reference, no noisier mechanism a quieter one, no smaller epsilon a larger one, beyond chance: one-sided
//! paired t-tests with Holm's correction, so that correct code fails with probability 1/1000 over the whole grid, were the choice of
//! factors not chance too; seeds are fixed. `PRIVATEER_PRICES=large cargo test --test it -- prices` runs the large grid.

use crate::support::{self, *};
use statrs::distribution::{ContinuousCDF, StudentsT};

const MECHANISMS: [&str; 5] = ["laplace", "duchi", "piecewise", "hybrid", "gaussian"];
const EPSILONS: [f64; 3] = [0.5, 2.0, 8.0];
/// Probability that a right program fails.
const LEVEL: f64 = 1e-3;

const UNIT: &str = "kind = \"rkhs\"\noutput = \"unit\"";
const SAMPLE: &str = "kind = \"gp-sample\"";
const SMOOTH: &str = "\"squared-exponential\"";

/// Name, kind, noise, kernel, length-scale and grid of an environment, and the range that rewards are clipped to.
type Environment = (&'static str, &'static str, &'static str, &'static str, f64, &'static str, [f64; 2]);

const ENVIRONMENTS: [Environment; 6] = [
    ("rkhs", UNIT, "{ kind = \"uniform\", bound = 0.3 }", "\"matern\", nu = 2.5", 0.2, "points = 60", [-0.3, 1.3]),
    ("coins", UNIT, "\"bernoulli\"", SMOOTH, 0.2, "points = 60", [0.0, 1.0]),
    ("line", SAMPLE, "{ kind = \"gaussian\", sd = 0.3 }", "\"matern\", nu = 1.5", 0.3, "points = 50", [-3.0, 3.0]),
    ("plane", SAMPLE, "{ kind = \"gaussian\", sd = 0.3 }", SMOOTH, 0.4, "dimension = 2, points = 8", [-3.0, 3.0]),
    ("heavy", SAMPLE, "{ kind = \"student-t\", dof = 3.0 }", SMOOTH, 0.3, "points = 50", [-4.0, 4.0]),
    (
        "branin",
        "kind = \"branin\"\nvariant = \"scaled\"",
        "{ kind = \"gaussian\", sd = 0.2 }",
        SMOOTH,
        0.3,
        "points = 8",
        [-3.0, 3.0],
    ),
];

/// Size of the grid: policies, rounds, trials, pilot trials.
fn size() -> (&'static [&'static str], u64, u64, u64) {
    match std::env::var("PRIVATEER_PRICES").as_deref() {
        Ok("large") => (&["igp-ucb", "gp-ucb", "tgp-ucb", "ata-gp-ucb", "moma-gp-ucb"], 1000, 50, 20),
        _ => (&["igp-ucb", "gp-ucb", "tgp-ucb"], 800, 40, 12),
    }
}

fn spec((_, kind, noise, kernel, lengthscale, grid, clip): Environment) -> Sweep {
    let (policies, rounds, trials, pilot) = size();
    let beta = format!("{{ kind = \"tuned\", factors = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0], pilot = {pilot} }}");
    let policies: String = policies.iter().map(|kind| format!("[[policy]]\nkind = \"{kind}\"\nbeta = {beta}\n")).collect();
    sweep(&format!(
        "seed = 46\nrounds = {rounds}\ntrials = {trials}\naccepted_warnings = [\"delta\"]\n[environment]\n{kind}\nnoise = {noise}\n\
         kernel = {{ kind = {kernel}, lengthscale = {lengthscale:?} }}\ndomain = {{ kind = \"grid\", {grid} }}\n\
         [privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\ndelta = 1e-5\nclip = {clip:?}\n{policies}[sweep.product]\n\"privacy.mechanism\" = {MECHANISMS:?}\n\
         \"privacy.epsilon\" = {EPSILONS:?}\n"
    ))
}

/// Returns the worst-case variance on [-1, 1], by the papers' formulas; of `gaussian` one above all others of this grid.
fn variance(mechanism: &str, epsilon: f64) -> f64 {
    let (whole, half) = (epsilon.exp(), (epsilon / 2.0).exp());
    let coin = ((whole + 1.0) / (whole - 1.0)).powi(2);
    match mechanism {
        "laplace" => 8.0 / (epsilon * epsilon),
        "duchi" => coin,
        "piecewise" => 4.0 * half / (3.0 * (half - 1.0).powi(2)),
        "hybrid" if epsilon <= 0.61 => coin,
        "hybrid" => (half + 3.0) / (3.0 * half * (half - 1.0)) + coin / half,
        _ => f64::INFINITY,
    }
}

/// A claim that one cell loses at least as much as another.
struct Claim {
    what: String,
    /// More minus less, trial by trial.
    gaps: Vec<f64>,
}

impl Claim {
    /// Returns the chance of a mean at or below this one if both lose the same.
    fn p_value(&self) -> f64 {
        let n = self.gaps.len() as f64;
        let mean = self.mean();
        let sd = (self.gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        if sd == 0.0 {
            return if mean < 0.0 { 0.0 } else { 1.0 };
        }
        StudentsT::new(0.0, 1.0, n - 1.0).expect("trials").cdf(mean * n.sqrt() / sd)
    }

    fn mean(&self) -> f64 {
        self.gaps.iter().sum::<f64>() / self.gaps.len() as f64
    }
}

/// Returns the claims that fail at this family-wise level (Holm).
fn refuted(claims: &[Claim], level: f64) -> Vec<String> {
    let mut order: Vec<(f64, &Claim)> = claims.iter().map(|claim| (claim.p_value(), claim)).collect();
    order.sort_by(|left, right| left.0.total_cmp(&right.0));
    let n = order.len();
    let failed = order.iter().enumerate().take_while(|(rank, (p, _))| *p <= level / (n - rank) as f64);
    failed.map(|(_, (p, claim))| format!("{}: mean gap {:.4}, p = {p:.2e}", claim.what, claim.mean())).collect()
}

/// A policy under a mechanism at a budget; a reference by its policy alone.
type GridPlace = (String, Option<(usize, usize)>);

/// Final regrets of each trial.
type Finals = BTreeMap<GridPlace, Vec<f64>>;

fn finals(sweep: &Sweep) -> Finals {
    let ran = ran_of(sweep);
    let mut found = Finals::new();
    for cell in sweep.cells.iter() {
        let losses = support::finals(ran.cell(cell.index), Quantity::CumulativeRegret);
        let at = (cell.index as usize) / size().0.len();
        let place = (cell.index < sweep.listed().len() as u32).then_some((at / EPSILONS.len(), at % EPSILONS.len()));
        found.insert((cell.policy.trim_end_matches(" without privacy").to_owned(), place), losses);
    }
    found
}

/// Returns every claim of the grid over the cells of one environment.
fn claims(environment: &str, finals: &Finals) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut claim = |what: String, more: &[f64], less: &[f64]| {
        claims.push(Claim {
            what: format!("{environment}, {what}"),
            gaps: more.iter().zip(less).map(|(more, less)| more - less).collect(),
        });
    };
    for ((policy, place), losses) in finals {
        let Some((mechanism, epsilon)) = *place else { continue };
        let (name, budget) = (MECHANISMS[mechanism], EPSILONS[epsilon]);
        let what = format!("{policy} under {name} at {budget}");
        claim(format!("{what} and without privacy"), losses, &finals[&(policy.clone(), None)]);
        if let Some(larger) = finals.get(&(policy.clone(), Some((mechanism, epsilon + 1)))) {
            claim(format!("{what} and at {}", EPSILONS[epsilon + 1]), losses, larger);
        }
        for (other, quieter) in MECHANISMS.iter().enumerate() {
            // A fifth less variance is too little to tell apart.
            if 1.25 * variance(quieter, budget) < variance(name, budget) {
                claim(format!("{what} and under {quieter}"), losses, &finals[&(policy.clone(), Some((other, epsilon)))]);
            }
        }
    }
    claims
}

/// Returns the same grid with the budgets in reverse, as a mechanism would be that takes epsilon for its inverse.
fn with_budgets_reversed(finals: &Finals) -> Finals {
    let reversed = |(mechanism, epsilon): (usize, usize)| (mechanism, EPSILONS.len() - 1 - epsilon);
    finals.iter().map(|((policy, place), losses)| ((policy.clone(), place.map(reversed)), losses.clone())).collect()
}

/// Returns the same grid with references that lose what the policy loses under Gaussian noise at the least budget.
fn with_bad_references(finals: &Finals) -> Finals {
    let bad = |((policy, place), losses): (&GridPlace, &Vec<f64>)| {
        let worst = finals.get(&(policy.clone(), Some((4, 0)))).filter(|_| place.is_none());
        ((policy.clone(), *place), worst.unwrap_or(losses).clone())
    };
    finals.iter().map(bad).collect()
}

#[test]
fn prices_have_the_right_order() {
    let (mut all, mut reversed, mut misled) = (Vec::new(), Vec::new(), Vec::new());
    for environment in ENVIRONMENTS {
        let (name, finals) = (environment.0, finals(&spec(environment)));
        all.extend(claims(name, &finals));
        reversed.extend(claims(name, &with_budgets_reversed(&finals)));
        misled.extend(claims(name, &with_bad_references(&finals)));
    }
    let failed = refuted(&all, LEVEL);
    println!("{} claims, {} refuted", all.len(), failed.len());
    assert!(failed.is_empty(), "{} of {} claims fail:\n{}", failed.len(), all.len(), failed.join("\n"));
    // The checker sees faults that are planted.
    let n_of = |claims: &[Claim], word: &str| refuted(claims, LEVEL).iter().filter(|what| what.contains(word)).count();
    let found = (n_of(&reversed, "and at"), n_of(&misled, "and without privacy"));
    println!("planted: {found:?}");
    assert!(20 < found.0 && 20 < found.1, "{found:?}");
}
