//! Runs many cases together, at one family-wise error rate.

use super::bound::{BoundForm, epsilon_at_least};
use super::case::{Attack, Play};
use super::fit::discriminant;
use super::{Case, Finding, Side, Verdict};
use privateer_config::error::Error;
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::Delta;
use rayon::prelude::*;
use serde::Serialize;

/// Least and largest number of replays of either side on which a discriminant is fitted.
const FITTED: (u64, u64) = (2000, 10_000);

/// Holds the settings of an audit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Number of replays of each side of a case, at least 100.
    pub samples: u64,
    /// Seed of all streams; releases with the operating system's entropy do not depend on it.
    pub seed: u64,
    /// Probability that no true claim among all cases is refuted, in (0, 1).
    pub confidence: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { samples: 100_000, seed: 1, confidence: 0.99 }
    }
}

/// Runs all cases, each on all cores; the results do not depend on the number of threads.
///
/// Calls `each` after every case, with the number of cases.
///
/// # Errors
/// If an attack's score is NaN.
pub fn audit(cases: &[Case], settings: Settings, each: &(dyn Fn(u64) + Sync)) -> Result<Vec<Finding>, Error> {
    // Family-wise: each case gets an equal share of the error (Bonferroni).
    let alpha = (1.0 - settings.confidence) / cases.len().max(1) as f64;
    let judge = |case| judged(case, settings, alpha).inspect(|_| each(cases.len() as u64));
    cases.iter().map(judge).collect()
}

fn judged(case: &Case, settings: Settings, alpha: f64) -> Result<Finding, Error> {
    let samples = settings.samples.max(100) * case.effort.max(1);
    let weights = fitted(case, samples, settings.seed);
    let of = |side: Side| scores(case, side, samples, settings.seed, &weights);
    let (first, second) = (of(Side::First)?, of(Side::Second)?);
    Ok(found(case, &first, &second, alpha))
}

/// Computes the finding of a case from equally many scores of either side.
pub(super) fn found(case: &Case, first: &[f64], second: &[f64], alpha: f64) -> Finding {
    let claim = case.claim;
    let gaussian = Delta::try_from(claim.delta).ok().filter(|_| case.gaussian);
    // Two bounds from the same replays share the case's error.
    let share = if gaussian.is_some() { 0.5 * alpha } else { alpha };
    let direct = epsilon_at_least(first, second, BoundForm::Direct { delta: claim.delta }, share);
    let gaussian = gaussian.map(|delta| epsilon_at_least(first, second, BoundForm::Gaussian { delta }, share));
    let at_least = gaussian.map_or(direct, |gaussian| gaussian.max(direct));
    let verdict = match claim.epsilon {
        epsilon if epsilon.is_infinite() => Verdict::NoClaim,
        epsilon if epsilon < at_least => Verdict::Refuted,
        _ => Verdict::Consistent,
    };
    Finding {
        name: case.name.clone(),
        epsilon: Some(claim.epsilon).filter(|epsilon| epsilon.is_finite()),
        delta: claim.delta,
        direct,
        gaussian,
        at_least,
        samples: first.len() as u64,
        confidence: 1.0 - alpha,
        verdict,
        erratum: case.erratum.map(str::to_owned),
        source: case.source.clone(),
        pair: case.pair.clone(),
        score: case.score.clone(),
    }
}

/// Fits the weights of a case's discriminant on its own replays, a tenth as many.
///
/// Empty if a formula scores the case.
fn fitted(case: &Case, samples: u64, seed: u64) -> Vec<f64> {
    let Attack::Discriminant { width, play } = &case.attack else { return Vec::new() };
    let streams = Streams::new(seed, format!("audit {}, fit", case.name));
    let rows = |side: Side| -> Vec<f64> {
        let row = |replay: usize| {
            let mut row = vec![0.0; *width];
            // A refusal is reported when the judged replays run.
            told(play, side, &mut streams.of(replay as u64, Purpose::Mechanism(side.name())), &mut row);
            row
        };
        let replays = (samples / 10).clamp(FITTED.0, FITTED.1) as usize;
        (0..replays).into_par_iter().with_min_len(64).flat_map_iter(row).collect()
    };
    discriminant(*width, &rows(Side::First), &rows(Side::Second))
}

/// Writes one transcript; returns false if the mechanism refuses.
///
/// A non-finite number is as informative as one far from all others, and is replaced by it.
fn told(play: &Play, side: Side, stream: &mut Stream, row: &mut [f64]) -> bool {
    row.fill(0.0);
    let released = play(side, stream, row);
    row.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = if *x == f64::INFINITY { 1e100 } else { -1e100 });
    released
}

/// Returns the scores of one side; every replay has its own stream, whatever the threads.
fn scores(case: &Case, side: Side, samples: u64, seed: u64, weights: &[f64]) -> Result<Vec<f64>, Error> {
    let streams = Streams::new(seed, format!("audit {}", case.name));
    let stream = |replay: usize| streams.of(replay as u64, Purpose::Mechanism(side.name()));
    let replays = (0..samples as usize).into_par_iter().with_min_len(64);
    let scores: Vec<f64> = match (&case.attack, weights) {
        (Attack::Score(score), _) => replays.map(|replay| score(side, &mut stream(replay))).collect(),
        (Attack::Discriminant { width, play }, weights) => replays
            .map_init(
                || vec![0.0; *width],
                |row, replay| if told(play, side, &mut stream(replay), row) { dot(row, weights) } else { f64::NAN },
            )
            .collect(),
    };
    if scores.iter().any(|score| score.is_nan()) {
        return Err(Error::Failed {
            problem: format!("a score of `{}` is not a number", case.name),
            hint: "this is a fault of the attack, not of the mechanism: please report it".to_owned(),
        });
    }
    Ok(scores)
}

/// Counts how often a claim that is exactly true was refuted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FalseAlarms {
    /// Name of the case.
    pub name: String,
    /// Number of seeds tried.
    pub seeds: u64,
    /// Number of seeds at which the claim was refuted.
    pub refuted: u64,
    /// Allowed probability of a refutation, per seed.
    pub allowed: f64,
    /// Mean over the seeds of the lower bound's share of the claim.
    pub mean_reached: f64,
}

/// Audits one case alone at many seeds, each at the stated confidence.
pub fn false_alarms(case: &Case, settings: Settings, seeds: u64) -> Result<FalseAlarms, Error> {
    let alpha = 1.0 - settings.confidence;
    let (mut refuted, mut reached) = (0, 0.0);
    for seed in 0..seeds {
        let finding = judged(case, Settings { seed: settings.seed.wrapping_add(seed), ..settings }, alpha)?;
        refuted += u64::from(finding.verdict == Verdict::Refuted);
        reached += finding.reached().unwrap_or(0.0);
    }
    Ok(FalseAlarms { name: case.name.clone(), seeds, refuted, allowed: alpha, mean_reached: reached / seeds.max(1) as f64 })
}
