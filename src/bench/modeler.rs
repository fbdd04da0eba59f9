//! The modeler of an outsourced problem [Kharkovskii2020]: GP-UCB over released inputs that a curator gave out, 100 x 100 of them by
//! default. Every run has a function and released inputs of its own, so that nothing is shared but the loop.

use super::job::MOST_BYTES;
use super::learner::{BenchLearner, Team};
use super::memory;
use super::outcome::checksum;
use super::run::{BenchOptions, Machine, Played, Split, Trials, batch, batches, verify};
use crate::engine::scoring_error;
use privateer_backend::UpdateKind;
use privateer_config::error::{Diagnostic, Error};
use privateer_gp::kernel::{Kernel, Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::posterior::ExactPosterior;
use privateer_gp::sample::GridSampler;
use privateer_gp::score::Basis;
use privateer_gp::{KernelGram, Points};
use privateer_numerics::rng::{Purpose, Streams};
use rayon::prelude::*;
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::Arc;
use std::time::Instant;

/// Largest norm of an input; length-scale. The paper's 1.25 at norm 5.
const NORM: f64 = 25.0;
const LENGTHSCALE: f64 = 6.25;
/// Variance of the observation noise, and the ridge.
const NOISE_VARIANCE: f64 = 1e-5;
/// Standard deviation of the curator's noise in each coordinate: radius 1, epsilon = exp(1.1), delta = 1e-5 (analytic Gaussian mechanism).
const IMAGE_NOISE: f64 = 1.389;
/// Failure probability of beta.
const FAILURE: f64 = 0.025;

/// Sizes of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelerJob {
    /// `N`, a square.
    pub points: usize,
    /// `T`: queries after the first observation.
    pub rounds: usize,
    /// Runs, each with inputs of its own.
    pub runs: usize,
    /// Seed of functions, released inputs and noise.
    pub seed: u64,
}

impl Default for ModelerJob {
    fn default() -> Self {
        Self { points: 10_000, rounds: 50, runs: 50, seed: 0 }
    }
}

impl ModelerJob {
    /// Points on a side of the grid.
    fn side(&self) -> usize {
        self.points.isqrt()
    }

    /// Checks every number.
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake; [`Error::TooLarge`].
    pub fn check(&self) -> Result<(), Error> {
        let mut mistakes = Vec::new();
        let mut refuse = |flag: &str, value: usize, expected: &str| {
            mistakes.push(Diagnostic::new(format!("`--{flag} {value}` cannot be run")).expected(expected));
        };
        // Exact features of an axis cost side³.
        if !(2..=1000).contains(&self.side()) || self.side() * self.side() != self.points {
            refuse("points", self.points, "the square of a whole number from 2 to 1000: the inputs are a grid");
        }
        for (flag, value) in [("rounds", self.rounds), ("trials", self.runs)] {
            if !(1..=1_000_000).contains(&value) {
                refuse(flag, value, "a whole number from 1 to 1000000");
            }
        }
        if !mistakes.is_empty() {
            return Err(Error::Input(mistakes));
        }
        let [n, t, b] = [self.points, self.rounds, self.runs].map(|count| count as f64);
        let k = n.min(t + 1.0);
        // A run: function and released inputs, planes of the screen, a kernel column for each point visited, and the K x K state.
        let needs_bytes = 8.0 * b * (8.0 * n + n * k + 2.5 * k * k + t);
        if MOST_BYTES < needs_bytes {
            return Err(Error::TooLarge {
                what: format!("{b} runs over {n} points and {t} rounds"),
                needs_bytes,
                limit_bytes: MOST_BYTES,
                hint: "lower `--points`, `--trials` or `--rounds`".to_owned(),
            });
        }
        Ok(())
    }
}

/// What one run knows and does not know.
struct OneRun {
    gram: Arc<KernelGram>,
    f: Vec<f64>,
    /// Observation noise; entry 0 is of the first point.
    noise: Vec<f64>,
    start: usize,
}

struct Runs {
    job: ModelerJob,
    runs: Vec<OneRun>,
}

impl Runs {
    fn draw(job: &ModelerJob) -> Result<Self, Error> {
        let streams = Streams::new(job.seed, "bench modeler");
        let (side, lo) = (job.side(), -NORM * FRAC_1_SQRT_2);
        let grid = Points::grid(2, side, lo, -lo);
        let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(LENGTHSCALE), 1.0));
        let sampler = GridSampler::new(kernel.as_ref(), 2, side, lo, -lo, 1e-10)?;
        let one = |run: usize| {
            let of = |purpose| streams.of(run as u64, purpose);
            let mut curator = of(Purpose::Curator);
            let released_inputs = grid.coordinates().iter().map(|x| x + IMAGE_NOISE * curator.normal()).collect();
            let points = Points::new(2, released_inputs);
            // This kernel factorizes over the axes and has a formula for noisy rows.
            let gram = KernelGram::of_noisy_rows(&kernel, points, IMAGE_NOISE * IMAGE_NOISE)?;
            let mut noise = of(Purpose::Noise);
            Some(OneRun {
                gram: Arc::new(gram),
                f: sampler.as_ref()?.sample(&mut of(Purpose::Function)),
                noise: (0..=job.rounds).map(|_| NOISE_VARIANCE.sqrt() * noise.normal()).collect(),
                start: of(Purpose::Start).index(job.points),
            })
        };
        let runs = (0..job.runs).map(one).collect::<Option<Vec<OneRun>>>().ok_or_else(|| Error::Failed {
            problem: "the kernel of the modeler's job has no formula for noisy rows".to_owned(),
            hint: "this is a fault of the program: please report it".to_owned(),
        })?;
        Ok(Self { job: *job, runs })
    }
}

impl Trials for Runs {
    fn trials(&self) -> usize {
        self.job.runs
    }

    fn rounds(&self) -> usize {
        self.job.rounds
    }

    fn beta(&self, round: usize) -> f64 {
        let t = round as f64;
        // beta² = 2 ln(N t² pi² / (6 failure)) [Srinivas2010, Theorem 1]
        (2.0 * libm::log(self.job.points as f64 * t * t * PI * PI / (6.0 * FAILURE))).sqrt()
    }

    fn update_kind(&self) -> UpdateKind {
        UpdateKind::RankOne
    }

    fn team(&self, first: usize, end: usize) -> Result<Team, Error> {
        let one = |trial: usize| -> Box<dyn BenchLearner> {
            let OneRun { gram, start, .. } = &self.runs[trial];
            let mut posterior = ExactPosterior::with_prior_bound(Arc::clone(gram) as _, 1.0, NOISE_VARIANCE).over_own_inputs();
            BenchLearner::observe(&mut posterior, *start, self.reward(*start, 0, trial));
            Box::new(posterior)
        };
        Ok(Team::Each((first..end).map(one).collect()))
    }

    fn reward(&self, point: usize, round: usize, trial: usize) -> f64 {
        self.runs[trial].f[point] + self.runs[trial].noise[round]
    }
}

/// The job on one backend.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredModeler {
    /// What was run.
    pub job: ModelerJob,
    /// The backend's name.
    pub backend: String,
    /// What it runs on.
    pub device: String,
    /// Speed says nothing: the device is emulated.
    pub software_adapter: bool,
    /// Worker threads.
    pub threads: usize,
    /// Functions, released inputs, screens and first observations, of all runs.
    pub setup_seconds: f64,
    /// Wall seconds of all rounds of all runs, one a repetition.
    pub seconds: Vec<f64>,
    /// CPU seconds of the same, where they are known.
    pub cpu_seconds: Vec<f64>,
    /// Of the fastest repetition, summed over threads.
    pub split: Split,
    /// Mean over runs of the smallest regret.
    pub simple_regret: f64,
    /// CRC-32 of the `T x B` chosen rows as little-endian i64, row-major.
    pub actions_crc: u32,
    /// Screens that failed on the device, and points that left their error band: both 0 where all is well.
    pub faults: u64,
    /// Choices that were not the best of all points in f64, where that was asked.
    pub wrong: Option<u64>,
    /// Largest resident memory of the process during the measurement.
    pub peak_bytes: Option<u64>,
}

impl MeasuredModeler {
    /// Wall milliseconds a run, of the fastest repetition.
    #[must_use]
    pub fn ms_per_run(&self) -> f64 {
        1e3 * self.seconds.iter().copied().fold(f64::INFINITY, f64::min) / self.job.runs as f64
    }

    /// CPU milliseconds a run, of the repetition that took the least.
    #[must_use]
    pub fn cpu_ms_per_run(&self) -> Option<f64> {
        self.cpu_seconds.iter().copied().reduce(f64::min).map(|seconds| 1e3 * seconds / self.job.runs as f64)
    }

    /// One JSON line.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let ModelerJob { points, rounds, runs, seed } = self.job;
        serde_json::json!({
            "workload": "modeler", "N": points, "T": rounds, "B": runs, "seed": seed,
            "backend": self.backend, "device": self.device, "software_adapter": self.software_adapter, "threads": self.threads,
            "repeat": self.seconds.len(), "setup_s": self.setup_seconds, "loop_s_all": self.seconds,
            "ms_per_run": self.ms_per_run(), "cpu_ms_per_run": self.cpu_ms_per_run(),
            "update_s": self.split.update, "screen_s": self.split.screen, "decide_s": self.split.decide,
            "simple_regret_mean": self.simple_regret, "actions_crc": self.actions_crc, "wrong_choices": self.wrong,
            "peak_bytes": self.peak_bytes,
        })
    }

    /// One line for readers.
    #[must_use]
    pub fn line(&self) -> String {
        let ModelerJob { points, rounds, runs, .. } = self.job;
        let cpu = self.cpu_ms_per_run().map_or_else(String::new, |ms| format!(", CPU {ms:.2} ms"));
        let note = if self.software_adapter { " (software adapter: correctness only)" } else { "" };
        let peak = self.peak_bytes.map_or_else(String::new, |bytes| format!(", peak {} MB", bytes / 1_000_000));
        format!(
            "modeler  N={points} T={rounds} B={runs}  {}: {:.2} ms a run{cpu}{peak}, simple regret {:.4}, checksum {}{note}",
            self.backend,
            self.ms_per_run(),
            self.simple_regret,
            self.actions_crc
        )
    }
}

/// Runs the job and measures it, on the threads of `pool`.
///
/// Not timed: functions, released inputs and the first observation. Timed: every round after it, kernel columns included.
///
/// # Errors
/// As [`ModelerJob::check`]; whatever a screen or a decision refuses; [`Error::CheckSaidNo`] if two repetitions choose differently.
pub fn measure_modeler(
    job: &ModelerJob,
    machine: &Machine,
    pool: &rayon::ThreadPool,
    options: BenchOptions,
) -> Result<MeasuredModeler, Error> {
    job.check()?;
    let begun = Instant::now();
    let peak_known = memory::forget_peak();
    let runs = Runs::draw(job)?;
    let domain = pool.install(|| machine.backend.prepare(&Basis::Own(job.points))).map_err(scoring_error)?;
    let (mut seconds, mut cpu_seconds, mut setup_seconds) = (Vec::new(), Vec::new(), 0.0);
    let mut best: Option<Played> = None;
    for repeat in 0..options.repeat {
        let mut batches = pool.install(|| batches(&runs, domain.as_ref()))?;
        if repeat == 0 {
            setup_seconds = begun.elapsed().as_secs_f64();
        }
        let (started, cpu) = (Instant::now(), memory::cpu_seconds());
        pool.install(|| batches.par_iter_mut().with_max_len(1).try_for_each(|groups| batch(&runs, groups)))?;
        let took = started.elapsed().as_secs_f64();
        cpu_seconds.extend(memory::cpu_seconds().zip(cpu).map(|(after, before)| after - before));
        let is_best = seconds.iter().all(|&other| took < other);
        seconds.push(took);
        let played = Played::of(&runs, batches.into_iter().flatten());
        if best.as_ref().is_some_and(|best| best.actions != played.actions) {
            return Err(Error::CheckSaidNo(format!(
                "modeler on {}: repetition {} chose other rows than the first",
                machine.backend.name(),
                repeat + 1
            )));
        }
        if is_best {
            best = Some(played);
        }
    }
    let peak_bytes = if peak_known { memory::peak_bytes() } else { None };
    let played = best.unwrap_or_default();
    let wrong = if options.verify { Some(pool.install(|| verify(&runs, job.points, &played.actions))?) } else { None };
    Ok(MeasuredModeler {
        job: *job,
        backend: machine.backend.name().to_owned(),
        device: machine.device.clone(),
        software_adapter: machine.software_adapter,
        threads: pool.current_num_threads(),
        setup_seconds,
        seconds,
        cpu_seconds,
        split: played.split,
        simple_regret: simple_regret(&runs, &played.actions),
        actions_crc: checksum(&played.actions),
        faults: played.counters.fallbacks + played.counters.violations,
        wrong,
        peak_bytes,
    })
}

/// Mean over runs of the smallest regret, the first point included.
fn simple_regret(runs: &Runs, actions: &[u32]) -> f64 {
    let of = |(i, run): (usize, &OneRun)| {
        let best = run.f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let played = actions.iter().skip(i).step_by(runs.job.runs).map(|&point| run.f[point as usize]);
        best - played.fold(run.f[run.start], f64::max)
    };
    runs.runs.iter().enumerate().map(of).sum::<f64>() / runs.job.runs as f64
}
