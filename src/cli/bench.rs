//! `privateer bench`: speed of the standard jobs.

use super::backends::{self, OpenedBackend};
use super::commands::{note, say};
use crate::bench::{
    self, BenchInstance, BenchOptions, Ceilings, ExactJob, Flags, Job, Machine, Measured, ModelerJob, Size, Workload,
};
use crate::run::{MOST_THREADS, thread_pool};
use clap::Args;
use privateer_backend::Cpu;
use privateer_backend::device::Precision;
use privateer_config::error::{Diagnostic, Error};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Arguments of `privateer bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to run: incremental (rank-one updates), fullrank (a new precision matrix every round); alone: modeler (kernel columns
    /// over inputs of each run's own; 10000 points, 50 trials, 50 rounds), exact (IGP-UCB over a small domain on the CPU, the whole
    /// engine; 100 points, 100 trials, 40000 rounds) or oco (online convex learners on one thread; reads --repeat and --json)
    /// [default: incremental fullrank]
    #[arg(value_name = "WORKLOAD")]
    workloads: Vec<WorkloadName>,
    /// Who scores
    #[arg(long, value_name = "BACKEND", default_value = "both", value_parser = ["cpu", "gpu", "both"])]
    backend: String,
    /// One JSON line for each result instead of the table
    #[arg(long)]
    json: bool,
    /// 1024 points, 64 features, 500 rounds; or 10000, 144, 100; 32 trials [default: both, or small where a size is given]
    #[arg(long, value_name = "small|large")]
    size: Option<Size>,
    /// Read x, Phi, f, noise, start (.npy) and instance.json instead of drawing an instance
    #[arg(long, value_name = "DIR")]
    instance: Option<PathBuf>,
    /// Points of the domain
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    points: Option<usize>,
    /// Features, the square of an even number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    features: Option<usize>,
    /// Trials in a batch
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    trials: Option<usize>,
    /// Rounds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    rounds: Option<usize>,
    /// Seed of the instance and of the tree's noise
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Length-scale of the squared exponential kernel [default: 0.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lengthscale: Option<f64>,
    /// Regularizer [default: 0.01]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    ridge: Option<f64>,
    /// What multiplies the posterior standard deviation [default: 2]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    beta: Option<f64>,
    /// By how much that grows: in round t it is --beta plus this times ln t [default: 0]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    growth: Option<f64>,
    /// Standard deviation of the observation noise [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    noise: Option<f64>,
    /// Standard deviation of the tree's nodes (fullrank) [default: 0.05]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    node_std: Option<f64>,
    /// Times that each job is run
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: usize,
    /// What a GPU screens in [default: f32]
    #[arg(long, value_name = "f32|f64", value_parser = ["f32", "f64"])]
    precision: Option<String>,
    /// Score every point in every round: the CPU without its block pruning, with the same answers
    #[arg(long)]
    dense: bool,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Afterwards, compare every choice with the best of all points in f64 (as much work again, or more)
    #[arg(long)]
    verify: bool,
}

impl BenchArgs {
    fn precision(&self) -> Option<Precision> {
        self.precision.as_deref().map(|name| if name == "f64" { Precision::F64 } else { Precision::F32 })
    }

    fn flags(&self) -> Flags {
        Flags {
            points: self.points,
            features: self.features,
            trials: self.trials,
            rounds: self.rounds,
            seed: self.seed,
            lengthscale: self.lengthscale,
            ridge: self.ridge,
            beta: self.beta,
            growth: self.growth,
            noise: self.noise,
            node_std: self.node_std,
        }
    }

    fn check(&self) -> Result<(), Error> {
        for (flag, value, most) in [("repeat", Some(self.repeat), MOST_REPEATS), ("threads", self.threads, MOST_THREADS)] {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                let diagnostic = Diagnostic::new(format!("`--{flag} {value}` cannot be run"));
                return Err(Error::input(diagnostic.expected(format!("a whole number from 1 to {most}"))));
            }
        }
        if self.dense && self.backend == "gpu" {
            let diagnostic = Diagnostic::new("`--dense` means nothing to a GPU");
            return Err(Error::input(diagnostic.hint("a device scores every point anyway")));
        }
        if self.instance.is_some() && self.size.is_some() {
            let diagnostic = Diagnostic::new("`--size` and `--instance` both name a size");
            return Err(Error::input(diagnostic.hint("leave `--size` away: the instance has a size of its own")));
        }
        Ok(())
    }

    /// Returns every job with its arrays; workloads of one size share them.
    fn jobs(&self) -> Result<Vec<(Vec<Job>, BenchInstance)>, Error> {
        let named = self.workloads.iter().filter_map(|named| match named {
            WorkloadName::Features(workload) => Some(*workload),
            WorkloadName::Modeler | WorkloadName::Exact | WorkloadName::Oco => None,
        });
        let workloads = if self.workloads.is_empty() { Workload::ALL.to_vec() } else { named.collect() };
        let first = workloads.first().copied().unwrap_or(Workload::Incremental);
        let of_all = |job: Job| workloads.iter().map(|&workload| Job { workload, ..job }).collect::<Vec<Job>>();
        let flags = self.flags();
        if let Some(folder) = &self.instance {
            let (instance, stored) = BenchInstance::read(folder, first)?;
            return Ok(vec![(of_all(flags.applied_to_stored(stored)?), instance)]);
        }
        let sizes = match self.size {
            Some(size) => vec![size],
            None if flags.name_a_size() => vec![Size::Small],
            None => vec![Size::Small, Size::Large],
        };
        let jobs = sizes.iter().map(|&size| flags.applied(Job::standard(first, size))).collect::<Result<Vec<Job>, Error>>()?;
        Ok(jobs.into_iter().map(|job| (of_all(job), BenchInstance::draw(&job))).collect())
    }
}

const MOST_REPEATS: usize = 10_000;

/// A workload as it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkloadName {
    /// One over a shared table of features.
    Features(Workload),
    Modeler,
    Exact,
    Oco,
}

impl WorkloadName {
    /// Returns the name of a workload that is measured alone; `None` for one of a group.
    fn alone(self) -> Option<&'static str> {
        match self {
            Self::Features(_) => None,
            Self::Modeler => Some("modeler"),
            Self::Exact => Some("exact"),
            Self::Oco => Some("oco"),
        }
    }
}

impl FromStr for WorkloadName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "modeler" => Ok(Self::Modeler),
            "exact" => Ok(Self::Exact),
            "oco" => Ok(Self::Oco),
            _ => text.parse().map(Self::Features).map_err(|expected: String| format!("{expected}, modeler, exact, oco")),
        }
    }
}

/// Returns the backend of this name and its notice.
fn machine(name: &str, args: &BenchArgs, pool: &rayon::ThreadPool) -> Result<Machine, Error> {
    let opened = backends::open(name, args.precision(), false)?;
    let backend = if args.dense && name == "cpu" { Arc::new(Cpu::dense()) } else { Arc::clone(&opened.backend) };
    Ok(Machine {
        device: opened.device.clone(),
        dtypes: opened.types.map(|precision| match precision {
            Precision::F32 => "float32",
            Precision::F64 => "float64",
        }),
        software_adapter: opened.software,
        ceilings: Some(ceilings(&opened, pool)?),
        backend,
    })
}

/// Returns the ceilings of the device, or of the processor on these threads.
fn ceilings(opened: &OpenedBackend, pool: &rayon::ThreadPool) -> Result<Ceilings, Error> {
    #[cfg(feature = "gpu")]
    if let Some(gpu) = &opened.gpu {
        let found = gpu.ceilings().map_err(crate::engine::scoring_error)?;
        return Ok(Ceilings {
            f64_flops: found.f64_flops,
            f32_flops: Some(found.f32_flops),
            copy_bytes: found.copy_bytes,
            how: format!(
                "shader: product {}³ in tiles of 64 x 64; copy of {} MiB between buffers",
                found.side,
                found.copied >> 20
            ),
        });
    }
    debug_assert!(!opened.software, "a software adapter is a device");
    Ok(pool.install(Ceilings::of_cpu))
}

/// Returns the requested backends.
fn machines(args: &BenchArgs, pool: &rayon::ThreadPool) -> Result<Vec<Machine>, Error> {
    if args.backend != "both" {
        return Ok(vec![machine(&args.backend, args, pool)?]);
    }
    let mut machines = vec![machine("cpu", args, pool)?];
    match machine("gpu", args, pool) {
        Ok(gpu) => machines.push(gpu),
        Err(error) => note(&format!("no GPU column: {}", error.to_string().trim_start_matches("error: "))),
    }
    Ok(machines)
}

/// Refuses the flags that jobs with sizes alone do not read.
fn sizes_alone(args: &BenchArgs, name: &str) -> Result<(), Error> {
    let given = [
        ("size", args.size.is_some()),
        ("instance", args.instance.is_some()),
        ("features", args.features.is_some()),
        ("lengthscale", args.lengthscale.is_some()),
        ("ridge", args.ridge.is_some()),
        ("beta", args.beta.is_some()),
        ("growth", args.growth.is_some()),
        ("noise", args.noise.is_some()),
        ("node-std", args.node_std.is_some()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        let diagnostic = Diagnostic::new(format!("`--{flag}` means nothing to `{name}`"));
        return Err(Error::input(diagnostic.hint("it reads --points, --trials, --rounds, --seed, and how to measure")));
    }
    Ok(())
}

/// Measures the job over a small domain, on the CPU.
fn exact(args: &BenchArgs) -> Result<(), Error> {
    sizes_alone(args, "exact")?;
    for (flag, given) in [
        ("verify", args.verify),
        ("dense", args.dense),
        ("precision", args.precision.is_some()),
        ("backend", args.backend == "gpu"),
    ] {
        if given {
            let diagnostic = Diagnostic::new(format!("`--{flag}` means nothing to `exact`"));
            return Err(Error::input(diagnostic.hint("a small domain is scored in f64 on the CPU, whatever the backend")));
        }
    }
    let standard = ExactJob::default();
    let job = ExactJob {
        points: args.points.unwrap_or(standard.points),
        rounds: args.rounds.unwrap_or(standard.rounds),
        trials: args.trials.unwrap_or(standard.trials),
        seed: args.seed.unwrap_or(standard.seed),
    };
    let measured = bench::measure_exact(&job, &thread_pool(args.threads)?, args.repeat)?;
    say(&if args.json { measured.json().to_string() } else { measured.line() });
    Ok(())
}

/// Measures the modeler's job on every backend asked for.
fn modeler(args: &BenchArgs) -> Result<(), Error> {
    sizes_alone(args, "modeler")?;
    let standard = ModelerJob::default();
    let job = ModelerJob {
        points: args.points.unwrap_or(standard.points),
        rounds: args.rounds.unwrap_or(standard.rounds),
        runs: args.trials.unwrap_or(standard.runs),
        seed: args.seed.unwrap_or(standard.seed),
    };
    job.check()?;
    let pool = thread_pool(args.threads)?;
    let options = BenchOptions { repeat: args.repeat, verify: args.verify };
    let (mut faults, mut first) = (Vec::new(), None);
    for machine in machines(args, &pool)? {
        let measured = bench::measure_modeler(&job, &machine, &pool, options)?;
        say(&if args.json { measured.json().to_string() } else { measured.line() });
        let backend = &measured.backend;
        if let Some(wrong) = measured.wrong.filter(|&wrong| 0 < wrong) {
            faults.push(format!("modeler on {backend}: {wrong} choices are not the best in f64"));
        }
        if 0 < measured.faults {
            faults.push(format!("modeler on {backend}: the device failed, or points left their error band"));
        }
        if *first.get_or_insert(measured.actions_crc) != measured.actions_crc {
            faults.push(format!("modeler: {backend} chose other rows than the first backend"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::CheckSaidNo(faults.join("; "))) }
}

/// Measures every job on every backend asked for.
///
/// # Errors
/// Bad arguments or instances, a missing device, and [`Error::CheckSaidNo`] where backends choose differently or `--verify` finds
/// a choice that is not the best.
pub fn bench(args: &BenchArgs) -> Result<(), Error> {
    args.check()?;
    if let Some((alone, name)) = args.workloads.iter().find_map(|named| Some((named, named.alone()?))) {
        if 1 < args.workloads.len() {
            let diagnostic = Diagnostic::new(format!("`{name}` is measured alone: its table has other columns"));
            return Err(Error::input(diagnostic.hint(format!("run `privateer bench {name}` on its own"))));
        }
        return match alone {
            WorkloadName::Modeler => modeler(args),
            WorkloadName::Exact => exact(args),
            _ => bench::measure_oco(args.repeat, |timed| say(&if args.json { timed.json().to_string() } else { timed.line() })),
        };
    }
    let jobs = args.jobs()?;
    let pool = thread_pool(args.threads)?;
    let machines = machines(args, &pool)?;
    let options = BenchOptions { repeat: args.repeat, verify: args.verify };
    let mut all: Vec<Measured> = Vec::new();
    let mut faults = Vec::new();
    for (jobs, instance) in &jobs {
        for job in jobs {
            let first = all.len();
            for machine in &machines {
                let measured = bench::measure(job, instance, machine, &pool, options)?;
                if args.json {
                    say(&measured.json().to_string());
                } else {
                    note(&format!(
                        "{} N={} on {}: {:.2} s",
                        job.workload.name(),
                        job.points,
                        measured.backend,
                        measured.best_seconds()
                    ));
                }
                all.push(measured);
            }
            faults.extend(faults_of(&all[first..]));
        }
    }
    if !args.json {
        say(&bench::table(&all));
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::CheckSaidNo(faults.join("; "))) }
}

/// Returns the contradictions among the measurements of one job.
fn faults_of(same: &[Measured]) -> Vec<String> {
    let mut faults = Vec::new();
    for measured in same {
        let (workload, backend) = (measured.job.workload.name(), &measured.backend);
        if let Some(wrong) = measured.wrong.filter(|&wrong| 0 < wrong) {
            faults.push(format!("{workload} on {backend}: {wrong} choices are not the best in f64"));
        }
        if 0 < measured.counters.fallbacks {
            faults.push(format!("{workload} on {backend}: the device failed, and the CPU was measured in its place"));
        }
        if 0 < measured.counters.violations {
            faults.push(format!("{workload} on {backend}: {} points left their error band", measured.counters.violations));
        }
    }
    if let Some((first, others)) = same.split_first() {
        for other in others.iter().filter(|other| other.actions_crc != first.actions_crc) {
            faults.push(format!("{}: {} and {} chose different points", first.job.workload.name(), first.backend, other.backend));
        }
    }
    faults
}
