//! Times every path of the CPU that could serve a spec, over a grid of sizes, and finds where another one would be faster.
//!
//! No path changes a result, so each may be taken: the default must be nearly the best, and no job dearer than a larger one that does
//! the same work. Fewer features widen the theorem's factor by their error, and noise changes which points are in question: such jobs
//! are compared at the same features or noise only.

use crate::run::{RunOptions, run_in_memory};
use cpu_time::ProcessTime;
use privateer_backend::Cpu;
use privateer_config::error::Error;
use privateer_engine::engine::{Stop, Trace};
use privateer_engine::registry::Registry;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Largest time of the default path, in those of the best one.
pub const MOST_OF_BEST: f64 = 1.3;
/// Largest time of a job, in those of a job that is larger in every size.
pub const MOST_OF_LARGER: f64 = 1.5;
/// Times below this, in seconds a trial-round, are compared as if they were this: what a round costs besides its scores.
const FLOOR: f64 = 0.5e-6;
/// Times that runs are made again beside each other where a ratio is too large; the fastest count.
const MOST_REPEATS: usize = 5;
/// Trials of the shorter run; a time is that of the trials which the longer run has more, and does not count what is set up once.
const FEW_TRIALS: u64 = 16;
/// The fewest and most of these further trials, and the CPU seconds that they take at least with the default path.
const MORE_TRIALS: (u64, u64) = (32, 2048);
const LEAST_SECONDS: f64 = 0.05;

/// A job of the grid: its family, its place on each axis, and its spec.
#[derive(Debug, Clone)]
pub struct PathJob {
    /// Jobs of one family differ in sizes alone.
    pub family: &'static str,
    /// Place on each axis; a job with a larger place on each is larger.
    pub sizes: Vec<usize>,
    /// An axis on which jobs must have the same place to be compared.
    pub alike: Option<usize>,
    /// What its sizes are, for readers.
    pub name: String,
    /// The spec.
    pub text: String,
}

/// The times of a job's paths.
#[derive(Debug, Clone)]
pub struct PathTimes {
    pub job: PathJob,
    /// Each path, the default first.
    pub paths: Vec<TimedPath>,
    /// Further trials of the longer run.
    more: u64,
}

/// A path and the fastest of its runs.
#[derive(Debug, Clone)]
pub struct TimedPath {
    pub name: &'static str,
    /// Its backend, and its trials in lockstep if they are not the backend's choice.
    by: (Cpu, Option<usize>),
    /// CPU seconds of the shorter and of the longer run, and trial-rounds that the longer one has more.
    few: f64,
    many: f64,
    rounds: f64,
}

/// An axis: the key that it sets, the names of its values, and the values.
type Axis = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Returns an axis whose values are their own names.
const fn plain(key: &'static str, values: &'static [&'static str]) -> Axis {
    (key, values, values)
}

const POINTS: Axis = plain("points", &["100", "256", "257", "512", "1000", "1025", "2048", "2049", "4096", "10000"]);
const FEATURES: Axis = plain("nodes", &["4", "6", "8", "12"]);
const FACTORS: Axis = ("beta", &["2", "theory"], &["{ kind = \"constant\", value = 2.0 }", "\"theory\""]);
/// Noise on rewards keeps more points in question: more of them are visited.
const NOISES: Axis =
    ("noise", &["none", "laplace"], &["mechanism = \"none\"", "mechanism = \"laplace\"\nepsilon = 1.0\nclip = [-3.0, 3.0]"]);
const RELEASES: Axis = (
    "releases",
    &["every 10", "every 2", "all"],
    &["{ kind = \"interval\", rounds = 10 }", "{ kind = \"interval\", rounds = 2 }", "\"every-round\""],
);
const SETS: Axis = plain("sets", &["5", "25", "64", "65", "300", "1000"]);
const FEW_POINTS: Axis = plain("points", &["1000", "4096"]);

/// The families: axes, privacy and policy, in which `$KEY` stands for the value of an axis.
const FAMILIES: [(&str, &[Axis], &str, &str); 4] = [
    (
        "features",
        &[POINTS, FEATURES, FACTORS],
        "mechanism = \"none\"",
        "kind = \"qff-gp-ucb\"\nridge = 0.01\nfeatures = { kind = \"quadrature-fourier\", nodes = $nodes }\nbeta = $beta",
    ),
    ("exact", &[POINTS, NOISES], "$noise", "kind = \"igp-ucb\"\nridge = 1.0\nbeta = { kind = \"constant\", value = 2.0 }"),
    (
        "sums",
        &[POINTS, FEATURES, RELEASES],
        "mechanism = \"tree\"\nepsilon = 10.0\ndelta = 1e-5\nclip = [-3.0, 3.0]",
        "kind = \"jdp-gp-ucb\"\nrelease = $releases\nfeatures = { kind = \"quadrature-fourier\", nodes = $nodes }\n\
         beta = { kind = \"constant\", value = 2.0 }",
    ),
    (
        "sets",
        &[SETS, FEW_POINTS, FEATURES],
        "mechanism = \"none\"",
        "kind = \"qff-gp-ucb\"\nridge = 0.01\nfeatures = { kind = \"quadrature-fourier\", nodes = $nodes }\n\
         beta = { kind = \"constant\", value = 2.0 }",
    ),
];

pub fn path_jobs() -> Vec<PathJob> {
    FAMILIES.iter().flat_map(|&(family, axes, privacy, policy)| jobs_of(family, axes, privacy, policy)).collect()
}

fn jobs_of(family: &'static str, axes: &[Axis], privacy: &str, policy: &str) -> Vec<PathJob> {
    let mut places: Vec<Vec<usize>> = vec![Vec::new()];
    for (_, _, values) in axes {
        places = places.iter().flat_map(|at| (0..values.len()).map(move |place| [at.as_slice(), &[place]].concat())).collect();
    }
    let job = |sizes: Vec<usize>| {
        let chosen = || axes.iter().zip(&sizes).map(|((key, names, values), &place)| (key, (names[place], values[place])));
        let value = |key: &str| chosen().find(|(known, _)| **known == key).map_or("", |(_, (_, value))| value);
        let sets = if value("sets").is_empty() {
            String::new()
        } else {
            format!("sets = {{ kind = \"random\", points = {} }}\n", value("sets"))
        };
        let filled =
            |text: &str| chosen().fold(text.to_owned(), |text, (key, (_, value))| text.replace(&format!("${key}"), value));
        let rounds = if value("points").parse().is_ok_and(|n: u64| n <= 1025) { 400 } else { 100 };
        let text = format!(
            "seed = 1\nrounds = {rounds}\nreferences = false\nrecord = {{ rounds = \"log\" }}\n[environment]\nkind = \"rkhs\"\n{sets}\
             domain = {{ kind = \"random\", dimension = 2, points = {} }}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 0.5 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n\
             [privacy]\n{}\n[[policy]]\n{}\n",
            value("points"),
            filled(privacy),
            filled(policy)
        );
        let name = chosen().map(|(key, (name, _))| format!("{key} {name}")).collect::<Vec<_>>().join(", ");
        let alike = axes.iter().position(|(key, ..)| *key == "noise" || (*key == "nodes" && value("beta") == "\"theory\""));
        PathJob { family, sizes, alike, name, text }
    };
    places.into_iter().map(job).collect()
}

/// Returns the paths that could serve a job, the default first: a backend each, and its trials in lockstep.
fn paths_of(family: &str) -> Vec<TimedPath> {
    let mut paths = vec![("default", Cpu::default(), None), ("one by one", Cpu::default(), Some(1))];
    match family {
        "sets" => {
            paths.push(("exact scores", Cpu::default().with_sets_screened(false), None));
            paths.push(("screen", Cpu::default().with_sets_screened(true), None));
        }
        "sums" => paths.push(("dense", Cpu::dense(), None)),
        _ => {
            paths.push(("dense", Cpu::dense(), None));
            paths.push(("pruned", Cpu::default().staying(), None));
        }
    }
    let timed =
        |(name, backend, batch)| TimedPath { name, by: (backend, batch), few: f64::INFINITY, many: f64::INFINITY, rounds: 1.0 };
    paths.into_iter().map(timed).collect()
}

/// Times every path of a job twice on one thread, then the default and the fastest again while their ratio is too large.
/// Fails where two paths give other results.
pub fn path_times(registry: &Registry, job: &PathJob) -> Result<PathTimes, Error> {
    let mut times = PathTimes { job: job.clone(), paths: paths_of(job.family), more: MORE_TRIALS.0 };
    let mut expected = times.measure(registry, 0)?;
    while times.more < MORE_TRIALS.1 && times.paths[0].many - times.paths[0].few < LEAST_SECONDS {
        times.more *= 4;
        times.paths[0].many = f64::INFINITY;
        expected = times.measure(registry, 0)?;
    }
    for place in (1..times.paths.len()).chain(0..times.paths.len()) {
        if times.measure(registry, place)? != expected {
            let name = times.paths[place].name;
            return Err(Error::CheckSaidNo(format!("{}, {}: the path `{name}` gives other results", job.family, job.name)));
        }
    }
    for _ in 0..MOST_REPEATS {
        if times.of_best() <= MOST_OF_BEST {
            break;
        }
        let best = times.best();
        times.measure(registry, 0)?;
        times.measure(registry, best)?;
    }
    Ok(times)
}

/// Times the default paths of jobs again that seem to take longer than a larger one; returns these jobs.
pub fn time_dearer_again(registry: &Registry, all: &mut [PathTimes]) -> Result<BTreeSet<usize>, Error> {
    let mut again = BTreeSet::new();
    for _ in 0..MOST_REPEATS {
        for (small, large, _) in dearer(all) {
            all[small].measure(registry, 0)?;
            all[large].measure(registry, 0)?;
            again.extend([small, large]);
        }
    }
    Ok(again)
}

impl TimedPath {
    /// Returns the CPU seconds a trial-round.
    pub fn seconds(&self) -> f64 {
        (self.many - self.few).max(0.0) / self.rounds
    }
}

impl PathTimes {
    /// Makes the runs of a path once more; the fastest count. Returns the results of the longer one.
    fn measure(&mut self, registry: &Registry, place: usize) -> Result<Vec<Trace>, Error> {
        let path = &mut self.paths[place];
        let run = |trials: u64| -> Result<_, Error> {
            let (backend, batch) = path.by;
            let options = RunOptions { backend: Arc::new(backend), threads: Some(1), batch, ..RunOptions::default() };
            let trials = ("trials".into(), "trials".into(), trials.to_string());
            let sweep = registry.parse(&self.job.name, &self.job.text, &[trials])?;
            let rounds = sweep.cells[0].rounds as f64;
            let started = ProcessTime::now();
            let traces = run_in_memory(&sweep, &options, &Stop::new(), &())?.traces;
            Ok((started.elapsed().as_secs_f64(), rounds, traces))
        };
        let (few, _, _) = run(FEW_TRIALS)?;
        let (many, rounds, traces) = run(FEW_TRIALS + self.more)?;
        path.few = path.few.min(few);
        path.many = path.many.min(many);
        path.rounds = rounds * self.more as f64;
        Ok(traces)
    }

    /// Returns the CPU seconds a trial-round of the path that is taken.
    pub fn default_time(&self) -> f64 {
        self.paths[0].seconds()
    }

    /// Returns the place of the fastest path.
    pub fn best(&self) -> usize {
        let faster =
            |best: usize, place: usize| if self.paths[place].seconds() < self.paths[best].seconds() { place } else { best };
        (1..self.paths.len()).fold(0, faster)
    }

    /// Returns the time of the default path, in those of the best one.
    pub fn of_best(&self) -> f64 {
        self.default_time().max(FLOOR) / self.paths[self.best()].seconds().max(FLOOR)
    }
}

/// Returns what is wrong with the choice of paths, a line for each: another path is faster, or a larger job is cheaper.
pub fn path_faults(all: &[PathTimes]) -> Vec<String> {
    let mut faults = Vec::new();
    for times in all.iter().filter(|times| MOST_OF_BEST < times.of_best()) {
        let (job, best) = (&times.job, times.paths[times.best()].name);
        faults.push(format!("{}, {}: `{best}` is {:.2} times as fast as the default", job.family, job.name, times.of_best()));
    }
    for (small, large, ratio) in dearer(all) {
        let (job, larger) = (&all[small].job, &all[large].job);
        faults.push(format!("{}: {} takes {ratio:.2} times as long as {}", job.family, job.name, larger.name));
    }
    faults
}

/// Returns each job that takes too long beside a larger one, with the cheapest larger one and the ratio of their times.
fn dearer(all: &[PathTimes]) -> Vec<(usize, usize, f64)> {
    let is_larger = |small: &PathJob, large: &PathJob| {
        small.family == large.family
            && small.sizes != large.sizes
            && small.sizes.iter().zip(&large.sizes).all(|(a, b)| a <= b)
            && small.alike.is_none_or(|axis| small.sizes[axis] == large.sizes[axis])
    };
    let cheapest = |small: usize| {
        let larger = (0..all.len()).filter(|&large| is_larger(&all[small].job, &all[large].job));
        larger.min_by(|&a, &b| all[a].default_time().total_cmp(&all[b].default_time()))
    };
    let ratio = |small: usize, large: usize| all[small].default_time().max(FLOOR) / all[large].default_time().max(FLOOR);
    let pairs = (0..all.len()).filter_map(|small| cheapest(small).map(|large| (small, large, ratio(small, large))));
    pairs.filter(|&(_, _, ratio)| MOST_OF_LARGER < ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_of_the_grid_is_a_spec() {
        let jobs = path_jobs();
        assert_eq!(jobs.len(), 10 * 4 * 2 + 10 * 2 + 10 * 4 * 3 + 6 * 2 * 4);
        for job in &jobs {
            let sweep = Registry::builtin().parse(&job.name, &job.text, &[]);
            assert!(sweep.is_ok_and(|sweep| sweep.cells.len() == 1), "{}\n{}", job.name, job.text);
        }
    }

    #[test]
    fn faults_are_found() {
        let times = |place: usize, default: f64, dense: f64| {
            let job = PathJob {
                family: "exact",
                sizes: vec![place, 0],
                alike: None,
                name: format!("points {place}"),
                text: String::new(),
            };
            let path = |name, us| TimedPath { name, by: (Cpu::default(), None), few: 0.0, many: 1e-6 * us, rounds: 1.0 };
            PathTimes { job, paths: vec![path("default", default), path("dense", dense)], more: 0 }
        };
        assert_eq!(path_faults(&[times(0, 1.0, 0.9), times(1, 3.0, 2.5), times(2, 2.1, 4.0)]), Vec::<String>::new());
        let faults = path_faults(&[times(0, 1.0, 0.9), times(1, 3.0, 2.0), times(2, 1.9, 4.0)]);
        assert_eq!(
            faults,
            [
                "exact, points 1: `dense` is 1.50 times as fast as the default",
                "exact: points 1 takes 1.58 times as long as points 2"
            ]
        );
        let mut jobs = [times(0, 9.0, 9.0), times(1, 3.0, 3.0)];
        assert_eq!(path_faults(&jobs).len(), 1);
        jobs[0].job.alike = Some(0);
        assert_eq!(path_faults(&jobs), Vec::<String>::new());
    }
}
