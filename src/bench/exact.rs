//! The exact posterior over a small domain: IGP-UCB without privacy over 100 points, as many rounds as the papers play. The whole
//! engine runs, from the spec to the recorded rows.

use super::memory;
use crate::engine::{self, Observer, Preparation, Quantity, Stop, Trace, Unit};
use crate::env::DataFolder;
use crate::spec::Sweep;
use privateer_backend::{Counters, Cpu};
use privateer_config::error::{Diagnostic, Error};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Sizes of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactJob {
    /// `N`, a line of them.
    pub points: usize,
    /// `T`.
    pub rounds: usize,
    /// `B`, each with a function of its own.
    pub trials: usize,
    /// Seed of functions and noise.
    pub seed: u64,
}

impl Default for ExactJob {
    fn default() -> Self {
        Self { points: 100, rounds: 40_000, trials: 100, seed: 0 }
    }
}

impl ExactJob {
    /// Checks every number.
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake.
    pub fn check(&self) -> Result<(), Error> {
        let mut mistakes = Vec::new();
        for (flag, value, least, most) in
            [("points", self.points, 2, 2048), ("rounds", self.rounds, 1, 100_000_000), ("trials", self.trials, 1, 1_000_000)]
        {
            if !(least..=most).contains(&value) {
                let diagnostic = Diagnostic::new(format!("`--{flag} {value}` cannot be run"));
                mistakes.push(diagnostic.expected(format!("a whole number from {least} to {most}")));
            }
        }
        if self.seed > i64::MAX as u64 {
            mistakes
                .push(Diagnostic::new(format!("`--seed {}` cannot be run", self.seed)).expected("at most 9223372036854775807"));
        }
        if mistakes.is_empty() { Ok(()) } else { Err(Error::Input(mistakes)) }
    }

    /// The job as a spec.
    #[must_use]
    pub fn spec(&self) -> String {
        let Self { points, rounds, trials, seed } = self;
        format!(
            "seed = {seed}\nrounds = {rounds}\ntrials = {trials}\n\
             [environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", points = {points} }}\n\
             kernel = {{ kind = \"matern\", nu = 2.5, lengthscale = 0.2 }}\nnoise = {{ kind = \"uniform\", bound = 1.0 }}\n\
             [[policy]]\nkind = \"igp-ucb\"\nridge = 1.0\n"
        )
    }
}

/// The job on the CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredExact {
    /// What was run.
    pub job: ExactJob,
    /// Worker threads.
    pub threads: usize,
    /// Wall seconds of whole runs, preparation included, one a repetition.
    pub seconds: Vec<f64>,
    /// CPU seconds of the same, where they are known.
    pub cpu_seconds: Vec<f64>,
    /// Mean over trials of the regret of all rounds.
    pub regret: f64,
    /// Largest resident memory of the process during the measurement.
    pub peak_bytes: Option<u64>,
}

impl MeasuredExact {
    /// Wall nanoseconds a trial-round, of the fastest repetition.
    #[must_use]
    pub fn ns_per_round(&self) -> f64 {
        1e9 * self.seconds.iter().copied().fold(f64::INFINITY, f64::min) / (self.job.rounds * self.job.trials) as f64
    }

    /// One JSON line.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let ExactJob { points, rounds, trials, seed } = self.job;
        serde_json::json!({
            "workload": "exact", "N": points, "T": rounds, "B": trials, "seed": seed, "backend": "cpu", "threads": self.threads,
            "repeat": self.seconds.len(), "run_s_all": self.seconds, "cpu_s_all": self.cpu_seconds,
            "ns_per_trial_round": self.ns_per_round(), "regret_mean": self.regret, "peak_bytes": self.peak_bytes,
        })
    }

    /// One line for readers.
    #[must_use]
    pub fn line(&self) -> String {
        let ExactJob { points, rounds, trials, .. } = self.job;
        let ns = self.ns_per_round();
        let cpu = self.cpu_seconds.iter().copied().reduce(f64::min);
        let cpu = cpu.map_or_else(String::new, |seconds| format!(", CPU {:.0} ns", 1e9 * seconds / (rounds * trials) as f64));
        let peak = self.peak_bytes.map_or_else(String::new, |bytes| format!(", peak {} MB", bytes / 1_000_000));
        format!(
            "exact  N={points} T={rounds} B={trials}  cpu: {ns:.0} ns a trial-round{cpu}, {:.2} M trial-rounds a second{peak}, mean regret {:.3}",
            1e3 / ns,
            self.regret
        )
    }
}

/// Adds up the regrets.
struct Regrets(Mutex<f64>);

impl Observer for Regrets {
    fn progressed(&self, _trial_rounds: u64) {}

    fn finished(&self, _unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        let last = rows.round.iter().max();
        let ends = rows.round.iter().zip(&rows[Quantity::CumulativeRegret]).filter(|(round, _)| Some(*round) == last);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += ends.map(|(_, regret)| regret).sum::<f64>();
        Ok(())
    }
}

/// Runs the job and measures it, on the threads of `pool`. Timed: everything from the spec on.
///
/// # Errors
/// As [`ExactJob::check`]; whatever a run refuses.
pub fn measure_exact(job: &ExactJob, pool: &rayon::ThreadPool, repeat: usize) -> Result<MeasuredExact, Error> {
    job.check()?;
    let peak_known = memory::forget_peak();
    let (mut seconds, mut cpu_seconds, mut regret) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..repeat {
        let (started, cpu) = (Instant::now(), memory::cpu_seconds());
        let sweep = Sweep::parse("bench.toml", &job.spec(), &[])?;
        let (data, backend) = (DataFolder::default(), Cpu::default());
        let preparation = Preparation::new(&sweep, &data, &backend);
        let regrets = Regrets(Mutex::new(0.0));
        let options = engine::Options::default();
        pool.install(|| engine::run(&sweep, &preparation, options, &BTreeSet::new(), &Stop::default(), &regrets))?;
        seconds.push(started.elapsed().as_secs_f64());
        cpu_seconds.extend(memory::cpu_seconds().zip(cpu).map(|(after, before)| after - before));
        regret = regrets.0.into_inner().unwrap_or_else(PoisonError::into_inner) / job.trials as f64;
    }
    let peak_bytes = if peak_known { memory::peak_bytes() } else { None };
    Ok(MeasuredExact { job: *job, threads: pool.current_num_threads(), seconds, cpu_seconds, regret, peak_bytes })
}
