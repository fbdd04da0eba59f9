//! `privateer bench`: what runs cost.

use super::output::{note, say};
use super::source::SpecArgs;
use crate::bench::{self, Ceilings, JOBS, Machine, Measured, PassTimer, PathTimes, Size, SpeedJob};
use crate::env::DataFolder;
use crate::registry::Registry;
use crate::report::Grid;
use crate::run::{
    OpenedBackend, RunOptions, check_threads, cpu_backend, dense_backend, gpu_backend, prefer_adapter, thread_pool,
};
use crate::spec::SPEC_FILE;
use clap::Args;
use privateer_backend::device::Precision;
use privateer_config::error::{Diagnostic, Error, closest};
use std::path::Path;

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to run: standard jobs (see `--list`) or spec files [default: every standard job]
    #[arg(value_name = "JOB|SPEC")]
    jobs: Vec<String>,
    /// Print the standard jobs and stop
    #[arg(long)]
    list: bool,
    /// Size of the standard jobs
    #[arg(long, value_name = "small|large", default_value = "small")]
    size: Size,
    #[command(flatten)]
    spec: SpecArgs,
    /// Who scores
    #[arg(long, value_name = "BACKEND", default_value = "cpu", value_parser = ["cpu", "gpu", "both"])]
    backend: String,
    /// Which adapter a GPU is, of those that `privateer devices` lists [default: the first that suits]
    #[arg(long, value_name = "NAME|INDEX")]
    adapter: Option<String>,
    /// Times that each run is made; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: usize,
    /// Worker threads, at most 16 for each core [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Trials in lockstep; on a GPU in two submissions [default: the backend's choice]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// What a GPU screens in [default: f64 where its measured rate allows]
    #[arg(long, value_name = "f32|f64", value_parser = ["f32", "f64"])]
    precision: Option<String>,
    /// Score every point in every round on the CPU, without pruning or pivots: the same results
    #[arg(long)]
    dense: bool,
    /// Compare every choice with the best of all points in f64; the time it takes is counted
    #[arg(long)]
    verify: bool,
    /// Time a GPU's passes by its own clock, one after the other
    #[arg(long)]
    passes: bool,
    /// Time every path of the CPU that could serve a spec, over a grid of sizes, and every policy over sizes, on one thread; fail where
    /// another path is 1.3 times as fast as the default, a job takes 1.5 times as long as a larger one, or a point twice as long as one
    /// of the next smaller job; with words, those whose names hold one of them
    #[arg(long, conflicts_with_all = ["size", "backend", "adapter", "repeat", "threads", "batch", "precision", "dense", "verify", "passes"])]
    paths: bool,
    /// One JSON line for each result in place of the table
    #[arg(long)]
    json: bool,
}

struct BenchSpec {
    name: String,
    text: String,
    changes: Vec<(String, String, String)>,
    data: DataFolder,
}

const MOST_REPEATS: usize = 10_000;

impl BenchArgs {
    fn check(&self) -> Result<(), Error> {
        check_threads(self.threads)?;
        for (flag, value, most) in [("repeat", Some(self.repeat), MOST_REPEATS), ("batch", self.batch, usize::MAX)] {
            if let Some(value) = value.filter(|value| !(1..=most).contains(value)) {
                let diagnostic = Diagnostic::new(format!("`--{flag} {value}` cannot be run"));
                return diagnostic.expected(format!("a whole number from 1 to {most}")).refuse();
            }
        }
        Ok(())
    }

    fn specs(&self) -> Result<Vec<BenchSpec>, Error> {
        let stated = self.spec.overrides()?;
        let standard = |job: &SpeedJob| {
            let large = job.large.iter().filter(|_| self.size == Size::Large);
            let large = large.map(|(key, value)| ("the large size: ".to_owned(), (*key).to_owned(), (*value).to_owned()));
            BenchSpec {
                name: format!("{} {}", job.name, self.size.name()),
                text: job.spec.to_owned(),
                changes: large.chain(stated.clone()).collect(),
                data: self.spec.data(Path::new("")),
            }
        };
        if self.jobs.is_empty() {
            return Ok(JOBS.iter().map(standard).collect());
        }
        self.jobs
            .iter()
            .map(|name| match JOBS.iter().find(|job| job.name == name) {
                Some(job) => Ok(standard(job)),
                None if name.ends_with(".toml") => {
                    let path = Path::new(name);
                    let text = SPEC_FILE.read_text(path)?;
                    Ok(BenchSpec { name: name.clone(), text, changes: stated.clone(), data: self.spec.data(path) })
                }
                None => {
                    let problem = Diagnostic::new(format!("there is no job `{name}`"));
                    let problem = problem.expected("a spec file that ends in `.toml`, or a job of `privateer bench --list`");
                    let near = closest(name, JOBS.iter().map(|job| job.name));
                    Diagnostic { hint: near.map(|near| format!("did you mean `{near}`?")), ..problem }.refuse()
                }
            })
            .collect()
    }

    fn machine(&self, name: &str) -> Result<Machine, Error> {
        let precision = self.precision.as_deref().map(|name| if name == "f64" { Precision::F64 } else { Precision::F32 });
        let opened = match name {
            _ if self.dense => dense_backend(name)?,
            "gpu" => gpu_backend(precision, false, self.passes, note)?,
            _ => cpu_backend(),
        };
        let ceilings = ceilings(&opened, self.threads)?;
        #[cfg(feature = "gpu")]
        let pass_times = opened.gpu.clone().filter(|_| self.passes).map(|gpu| -> PassTimer {
            use privateer_gpu::PASSES;
            Box::new(move || PASSES.into_iter().zip(gpu.pass_times().into_iter().flatten()).collect())
        });
        #[cfg(not(feature = "gpu"))]
        let pass_times: Option<PassTimer> = None;
        let OpenedBackend { backend, device, software, .. } = opened;
        Ok(Machine { backend, device, software_adapter: software, ceilings, pass_times })
    }

    fn machines(&self) -> Result<Vec<Machine>, Error> {
        if self.backend != "both" {
            return Ok(vec![self.machine(&self.backend)?]);
        }
        let mut machines = vec![self.machine("cpu")?];
        if !self.dense {
            match self.machine("gpu") {
                Ok(gpu) => machines.push(gpu),
                Err(error) => note(&format!("no GPU rows: {}", error.to_string().trim_start_matches("error: "))),
            }
        }
        Ok(machines)
    }
}

/// Returns the ceilings of the device, or of the processor on these threads.
fn ceilings(opened: &OpenedBackend, threads: Option<usize>) -> Result<Ceilings, Error> {
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
            threads: None,
        });
    }
    debug_assert!(!opened.software, "a software adapter is a device");
    Ok(thread_pool(threads)?.install(Ceilings::of_cpu))
}

/// Measures every job on every backend asked for.
/// Fails where backends differ, or `--verify` finds a choice that is not the best.
pub fn bench(registry: &Registry, args: &BenchArgs) -> Result<(), Error> {
    if args.list {
        for job in &JOBS {
            say(&format!("{:<16} {}", job.name, job.summary));
        }
        return Ok(());
    }
    if args.paths {
        return paths(registry, &args.jobs, args.json);
    }
    args.check()?;
    prefer_adapter(args.adapter.as_deref(), None)?;
    let specs = args.specs()?;
    let machines = args.machines()?;
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    let mut done = |measured: Vec<Measured>| {
        faults.extend(faults_of(&measured));
        if args.json {
            measured.iter().for_each(|measured| say(&measured.json()));
        }
        all.extend(measured);
    };
    for BenchSpec { name, text, changes, data } in specs {
        let (threads, batch, verify) = (args.threads, args.batch, args.verify);
        let options = RunOptions { data, threads, batch, verify, ..RunOptions::default() };
        let of = |machine| bench::measure(registry, (&name, &text), &changes, machine, (args.repeat, &options));
        done(machines.iter().map(of).collect::<Result<_, Error>>()?);
    }
    if !args.json {
        let titles = bench::TITLES.into_iter().enumerate().map(|(at, title)| (title, 2 <= at));
        say(&format!("{}\n{}", Grid::of(titles, bench::rows(&all)).plain(), bench::notes(&all).trim_end()));
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::CheckSaidNo(faults.join("; "))) }
}

/// Times the paths of the grid, or of its jobs whose names hold one of `words`.
fn paths(registry: &Registry, words: &[String], json: bool) -> Result<(), Error> {
    let mut jobs = bench::path_jobs(registry);
    jobs.retain(|job| words.is_empty() || words.iter().any(|word| format!("{}, {}", job.family, job.name).contains(word)));
    if jobs.is_empty() {
        let problem = Diagnostic::new(format!("no job of the grid holds {}", words.join(" or ")));
        return problem.expected("a part of a name, such as `features` or `exact, points 1000`").refuse();
    }
    let print = |times: &PathTimes| {
        let job = &times.job;
        if json {
            let paths: serde_json::Map<_, _> =
                times.paths.iter().map(|path| (path.name.to_owned(), (1e6 * path.seconds()).into())).collect();
            say(&serde_json::json!({ "family": job.family, "job": job.name, "us_per_trial_round": paths }).to_string());
        } else {
            let paths = times.paths.iter().map(|path| format!("{} {:.2}", path.name, 1e6 * path.seconds()));
            let paths = paths.collect::<Vec<_>>().join(", ");
            say(&format!("{}, {}: {:.2} of the best; µs: {paths}", job.family, job.name, times.of_best()));
        }
    };
    let mut all = Vec::new();
    for job in &jobs {
        let times = bench::path_times(registry, job)?;
        print(&times);
        all.push(times);
    }
    // Jobs that seem to take too long beside another one, and these.
    let again = bench::time_dearer_again(registry, &mut all)?;
    again.iter().for_each(|&place| print(&all[place]));
    let faults = bench::path_faults(&all);
    if faults.is_empty() { Ok(()) } else { Err(Error::CheckSaidNo(faults.join("; "))) }
}

/// Returns the contradictions among the measurements of one job.
fn faults_of(same: &[Measured]) -> Vec<String> {
    let mut faults = Vec::new();
    for measured in same {
        let (job, backend) = (&measured.job, &measured.backend);
        for (counter, fault) in [
            ("choices_beside_the_best", "choices are not the best in f64"),
            ("screens_given_to_the_cpu", "screens failed on the device, and the CPU was measured in its place"),
            ("band_violations", "points left their error band"),
        ] {
            match measured.counter(counter) {
                0 => {}
                n => faults.push(format!("{job} on {backend}: {n} {fault}")),
            }
        }
    }
    if let Some((first, others)) = same.split_first() {
        for other in others.iter().filter(|other| other.results_crc != first.results_crc) {
            faults.push(format!("{}: the results of {} and {} differ", first.job, first.backend, other.backend));
        }
    }
    faults
}
