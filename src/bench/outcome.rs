//! What a measurement says, as numbers and as one line of JSON.
//!
//! **Counts of the model**, the same on every path: what the plain dense algorithm would do, so that rates compare.
//! * Operations a round of `B` trials: `incremental` B (2 N m + 6 N + 4 m²); `fullrank` B (1.25 N m² + 4 N m +
//!   2 m³ / 3): the factor is triangular, and its zero blocks are skipped.
//! * Bytes a round, with `w` bytes a number on the screen's side: the table once (`N m w`); each trial's mean and posterior variance
//!   read and written for `incremental` (`4 N w`), written for `fullrank` (`2 N w`); each trial's state in f64 read and
//!   written: the `m x m` inverse (`16 m²`), or sum, node read, node written and factor (`4 x 4 m² + 8 m²`).

use super::ceiling::Ceilings;
use super::run::Split;
use super::{Job, Workload};
use privateer_backend::Counters;
use serde_json::{Map, Value, json};

/// The name of this program among the programs that are compared.
pub const PEER: &str = "privateer";

/// One job on one backend.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What was run.
    pub job: Job,
    /// "own", or the name of the instance's folder.
    pub origin: String,
    /// Largest measured error of the features' kernel.
    pub kernel_error: f64,
    /// The backend's name.
    pub backend: String,
    /// What it runs on.
    pub device: String,
    /// Type that the screen computes in.
    pub dtype: &'static str,
    /// Speed says nothing: the device is emulated.
    pub software_adapter: bool,
    /// What the device can do at most.
    pub ceilings: Option<Ceilings>,
    /// Worker threads.
    pub threads: usize,
    /// Tables, screens and first observations.
    pub setup_seconds: f64,
    /// Wall seconds of the loop, one a repetition.
    pub seconds: Vec<f64>,
    /// CPU seconds of the loop, where they are known.
    pub cpu_seconds: Vec<f64>,
    /// Of the fastest repetition.
    pub split: Split,
    /// Candidates of a trial-round: median.
    pub candidates_median: u32,
    /// The 99th percentile.
    pub candidates_p99: u32,
    /// Trial-rounds in which the tie rule took another point than the first of the largest score: programs without the rule
    /// choose differently there.
    pub n_ties: u64,
    /// Of one repetition.
    pub counters: Counters,
    /// Regret of what was played.
    pub regret: Regret,
    /// CRC-32 of the `T x B` chosen points as little-endian i64, row-major.
    pub actions_crc: u32,
    /// Choices that were not the best of all points in f64, where that was asked.
    pub wrong: Option<u64>,
    /// Largest resident memory of the process during the measurement.
    pub peak_bytes: Option<u64>,
}

/// Regret over the trials.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Regret {
    /// Mean cumulative regret.
    pub cumulative_mean: f64,
    /// Its standard deviation over the trials.
    pub cumulative_std: f64,
    /// Mean of the smallest regret of a trial.
    pub simple_mean: f64,
}

impl Regret {
    /// Of `rounds x trials` actions.
    #[must_use]
    pub fn of(job: &Job, f: &[f64], actions: &[u32]) -> Self {
        let best = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let trials = job.trials as f64;
        let of_trial = |trial: usize| actions.iter().skip(trial).step_by(job.trials).map(|&point| best - f[point as usize]);
        let cumulative: Vec<f64> = (0..job.trials).map(|trial| of_trial(trial).sum()).collect();
        let mean = cumulative.iter().sum::<f64>() / trials;
        let variance = cumulative.iter().map(|sum| (sum - mean) * (sum - mean)).sum::<f64>() / trials;
        let simple = (0..job.trials).map(|trial| of_trial(trial).fold(f64::INFINITY, f64::min)).sum::<f64>() / trials;
        Self { cumulative_mean: mean, cumulative_std: variance.sqrt(), simple_mean: simple }
    }
}

/// CRC-32 of the points as little-endian i64.
#[must_use]
pub fn checksum(actions: &[u32]) -> u32 {
    let mut crc = flate2::Crc::new();
    for chunk in actions.chunks(4096) {
        crc.update(&chunk.iter().flat_map(|&point| i64::from(point).to_le_bytes()).collect::<Vec<u8>>());
    }
    crc.sum()
}

/// Median (the lower of two) and 99th percentile.
pub fn median_and_p99(mut counts: Vec<u32>) -> (u32, u32) {
    counts.sort_unstable();
    let last = counts.len().saturating_sub(1);
    let at = |share: usize| counts.get(last * share / 100).copied().unwrap_or(0);
    (at(50), at(99))
}

impl Measured {
    /// Seconds of the fastest repetition.
    #[must_use]
    pub fn best_seconds(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Seconds of the median repetition.
    #[must_use]
    pub fn median_seconds(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        match (sorted.get(sorted.len() / 2), sorted.get(sorted.len().saturating_sub(1) / 2)) {
            (Some(a), Some(b)) => 0.5 * (a + b),
            _ => f64::NAN,
        }
    }

    /// Trial-rounds in a repetition.
    #[must_use]
    pub fn trial_rounds(&self) -> f64 {
        self.job.trials as f64 * self.job.rounds as f64
    }

    /// Operations of the model in a round of all trials.
    #[must_use]
    pub fn model_flops(&self) -> f64 {
        let [n, m, b] = self.sizes();
        match self.job.workload {
            Workload::Incremental => b * (2.0 * n * m + 6.0 * n + 4.0 * m * m),
            Workload::FullRank => b * (1.25 * n * m * m + 4.0 * n * m + 2.0 * m * m * m / 3.0),
        }
    }

    /// Bytes of the model in a round of all trials.
    #[must_use]
    pub fn model_bytes(&self) -> f64 {
        let [n, m, b] = self.sizes();
        let width = if self.dtype == "float32" { 4.0 } else { 8.0 };
        match self.job.workload {
            Workload::Incremental => n * m * width + b * (4.0 * n * width + 16.0 * m * m),
            Workload::FullRank => n * m * width + b * (2.0 * n * width + 24.0 * m * m),
        }
    }

    fn sizes(&self) -> [f64; 3] {
        [self.job.points, self.job.features, self.job.trials].map(|count| count as f64)
    }

    /// Operations of the model a second, of the fastest repetition.
    #[must_use]
    pub fn flops_per_second(&self) -> f64 {
        self.model_flops() * self.job.rounds as f64 / self.best_seconds()
    }

    /// Bytes of the model a second, of the fastest repetition.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        self.model_bytes() * self.job.rounds as f64 / self.best_seconds()
    }

    /// The ceiling of the type that the screen computes in.
    #[must_use]
    pub fn flops_ceiling(&self) -> Option<f64> {
        let ceilings = self.ceilings.as_ref()?;
        if self.dtype == "float32" { ceilings.f32_flops } else { ceilings.f64_flops }
    }

    /// All of it under stable names; those shared with other programs mean the same there.
    #[must_use]
    pub fn json(&self) -> Value {
        let (job, best, rounds) = (&self.job, self.best_seconds(), self.job.rounds as f64);
        let trial_rounds = self.trial_rounds();
        let cpu = self.cpu_seconds.iter().copied().reduce(f64::min);
        let full_rank = job.workload == Workload::FullRank;
        let mut line = Map::new();
        let mut put = |fields: Value| {
            if let Value::Object(fields) = fields {
                line.extend(fields);
            }
        };
        put(json!({
            "peer": PEER, "variant": job.workload.name(), "score": full_rank.then_some("tri"),
            "N": job.points, "m": job.features, "B": job.trials, "T": job.rounds,
            "dtype": self.dtype, "backend": self.backend, "device": self.device, "software_adapter": self.software_adapter,
            "instance": self.origin, "seed": job.seed, "lengthscale": job.lengthscale, "lam": job.ridge, "beta": job.beta, "growth": job.growth,
            "noise_std": job.noise, "node_std": full_rank.then_some(job.node_std), "qff_max_err": self.kernel_error,
        }));
        put(json!({
            "repeat": self.seconds.len(), "threads": self.threads, "setup_s": self.setup_seconds,
            "loop_s": best, "loop_s_median": self.median_seconds(), "loop_s_all": self.seconds,
            "cpu_s": cpu, "cpu_ms_per_round": cpu.map(|cpu| 1e3 * cpu / rounds),
            "rounds_per_s": rounds / best, "trial_rounds_per_s": trial_rounds / best,
            "trial_rounds_per_s_median": trial_rounds / self.median_seconds(),
            "ms_per_round": 1e3 * best / rounds, "us_per_trial_round": 1e6 * best / trial_rounds,
            "update_s": self.split.update, "screen_s": self.split.screen, "decide_s": self.split.decide,
            "first_screen_s": self.split.first_screen,
        }));
        put(json!({
            "model_flops_per_round": self.model_flops(), "model_bytes_per_round": self.model_bytes(),
            "model_gflops_per_s": self.flops_per_second() / 1e9, "model_gbytes_per_s": self.bytes_per_second() / 1e9,
            "ceiling_f64_gflops_per_s": self.ceilings.as_ref().and_then(|all| all.f64_flops).map(|flops| flops / 1e9),
            "ceiling_f32_gflops_per_s": self.ceilings.as_ref().and_then(|all| all.f32_flops).map(|flops| flops / 1e9),
            "ceiling_copy_gbytes_per_s": self.ceilings.as_ref().map(|all| all.copy_bytes / 1e9),
            "ceilings": self.ceilings.as_ref().map(|all| all.how.clone()),
            "of_flops_ceiling": self.flops_ceiling().map(|ceiling| self.flops_per_second() / ceiling),
            "of_copy_ceiling": self.ceilings.as_ref().map(|all| self.bytes_per_second() / all.copy_bytes),
            "bytes_sent_per_round": self.counters.sent as f64 / rounds,
            "peak_bytes": self.peak_bytes,
        }));
        put(json!({
            "candidates_median": self.candidates_median, "candidates_p99": self.candidates_p99,
            "rounds_screened": self.counters.rounds, "candidates": self.counters.candidates,
            "rounds_with_several_candidates": self.counters.ambiguous, "rounds_decided_by_tie_rule": self.n_ties, "screens_rebuilt": self.counters.rebuilds,
            "f64_scans": self.counters.scans, "rounds_interpolated": self.counters.interpolated, "rounds_pruned": self.counters.pruned, "blocks_scored": self.counters.blocks,
            "fallbacks": self.counters.fallbacks,
            "band_violations": self.counters.violations,
            "cum_regret_mean": self.regret.cumulative_mean, "cum_regret_std": self.regret.cumulative_std,
            "simple_regret_mean": self.regret.simple_mean, "actions_crc": self.actions_crc, "wrong_choices": self.wrong,
            "versions": { "privateer": env!("CARGO_PKG_VERSION") },
        }));
        Value::Object(line)
    }
}
