//! Times every path of the CPU that could serve a spec, over a grid of sizes, and finds where another one would be faster.
//!
//! No path changes a result, so each may be taken: the default must be nearly the best, no job dearer than a larger one that does the
//! same work, and none much dearer a point than the next smaller one. Fewer features widen the theorem's factor by their error, noise
//! changes which points are in question, sets of five hold another best point in nearly every round, and a problem of another
//! dimension is another one: such jobs are compared at the same features, noise, sets or dimension only. Families of the grid compare
//! paths; every registered policy adds one that compares sizes.

use crate::run::{RunOptions, run_in_memory};
use cpu_time::ProcessTime;
use privateer_backend::Cpu;
use privateer_config::error::Error;
use privateer_engine::engine::{Stop, Trace};
use privateer_engine::registry::{Registry, documentation};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Largest time of the default path, in those of the best one.
pub const MOST_OF_BEST: f64 = 1.3;
/// Largest time of a job, in those of a job that is larger in every size.
pub const MOST_OF_LARGER: f64 = 1.5;
/// Largest time a point, in those of the next smaller job: rows of a model that leave a cache take up to 1.8 times as long.
pub const MOST_OF_SMALLER: f64 = 2.0;
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
    /// Axes on which jobs must have the same place to be compared.
    pub alike: Vec<usize>,
    pub n_points: usize,
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
/// A set that holds another best point in nearly every round, so that more points are visited.
const FEW_OF_A_SET: &str = "5";
const FEW_POINTS: Axis = plain("points", &["1000", "4096"]);
const DIMENSIONS: Axis = plain("dimension", &["1", "2"]);
/// Privacy that every policy accepts, by its default mechanism.
const PRIVACIES: Axis =
    ("privacy", &["none", "epsilon 1"], &["mechanism = \"none\"", "epsilon = 1.0\ndelta = 1e-5\nclip = [-3.0, 3.0]"]);

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

/// Returns the jobs of the families, and those of every policy of the registry at its defaults.
pub fn path_jobs(registry: &Registry) -> Vec<PathJob> {
    let families = FAMILIES.iter().flat_map(|&(family, axes, privacy, policy)| jobs_of(family, axes, privacy, policy));
    let policies = documentation(registry, "policy").into_iter().flat_map(|policy| {
        jobs_of(policy.name, &[POINTS, DIMENSIONS, PRIVACIES], "$privacy", &format!("kind = \"{}\"", policy.name))
    });
    families.chain(policies).collect()
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
        let n_points = value("points").parse().unwrap_or(0);
        // A policy is compared over sizes, by runs of one length.
        let (dimension, rounds) = match value("dimension") {
            "" => ("2", if n_points <= 1025 { 400 } else { 100 }),
            dimension => (dimension, 100),
        };
        let text = format!(
            "seed = 1\nrounds = {rounds}\nreferences = false\nrecord = {{ rounds = \"log\" }}\n[environment]\nkind = \"rkhs\"\n{sets}\
             domain = {{ kind = \"random\", dimension = {dimension}, points = {n_points} }}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 0.5 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n\
             [privacy]\n{}\n[[policy]]\n{}\n",
            filled(privacy),
            filled(policy)
        );
        let name = chosen().map(|(key, (name, _))| format!("{key} {name}")).collect::<Vec<_>>().join(", ");
        let is_alike = |key: &str| {
            ["noise", "dimension", "privacy"].contains(&key)
                || (key == "nodes" && value("beta") == "\"theory\"")
                || (key == "sets" && value(key) == FEW_OF_A_SET)
        };
        let alike = (0..axes.len()).filter(|&axis| is_alike(axes[axis].0)).collect();
        PathJob { family, sizes, alike, n_points, name, text }
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
        "features" | "exact" => {
            paths.push(("dense", Cpu::dense(), None));
            paths.push(("pruned", Cpu::default().staying(), None));
        }
        _ => paths.truncate(1),
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

/// Times the default paths of jobs again that seem to take too long beside another one; returns these jobs.
pub fn time_dearer_again(registry: &Registry, all: &mut [PathTimes]) -> Result<BTreeSet<usize>, Error> {
    let mut again = BTreeSet::new();
    for _ in 0..MOST_REPEATS {
        for (job, beside, ..) in dearer(all) {
            all[job].measure(registry, 0)?;
            all[beside].measure(registry, 0)?;
            again.extend([job, beside]);
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

/// Returns what is wrong with the choice of paths, a line for each: another path is faster, a larger job is cheaper, or one is much
/// dearer a point than the next smaller job.
pub fn path_faults(all: &[PathTimes]) -> Vec<String> {
    let mut faults = Vec::new();
    for times in all.iter().filter(|times| MOST_OF_BEST < times.of_best()) {
        let (job, best) = (&times.job, times.paths[times.best()].name);
        faults.push(format!("{}, {}: `{best}` is {:.2} times as fast as the default", job.family, job.name, times.of_best()));
    }
    for (job, beside, ratio, each) in dearer(all) {
        let (job, beside) = (&all[job].job, &all[beside].job.name);
        faults.push(format!("{}: {} takes {ratio:.2} times as long{each} as {beside}", job.family, job.name));
    }
    faults
}

/// Returns each job that takes too long beside the cheapest larger one, or a point beside the next smaller one: the job, the other one,
/// the ratio of their times, and what times are divided by, for readers.
fn dearer(all: &[PathTimes]) -> Vec<(usize, usize, f64, &'static str)> {
    let is_larger = |small: &PathJob, large: &PathJob| {
        small.family == large.family
            && small.sizes != large.sizes
            && small.sizes.iter().zip(&large.sizes).all(|(a, b)| a <= b)
            && small.alike.iter().all(|&axis| small.sizes[axis] == large.sizes[axis])
    };
    // What drawing a problem costs does not depend on its policy.
    let problem = |job: &PathJob| {
        let mut alike = all.iter().filter(|times| (&times.job.sizes, &times.job.alike) == (&job.sizes, &job.alike));
        alike.find(|times| times.job.family == "uniform").map_or(0.0, PathTimes::default_time)
    };
    let times: Vec<f64> = all.iter().map(|times| (times.default_time() - problem(&times.job)).max(FLOOR)).collect();
    let time = |place: usize| times[place];
    let place = |job: &PathJob| job.sizes.iter().sum::<usize>();
    let mut found = Vec::new();
    for (small, job) in all.iter().map(|times| &times.job).enumerate() {
        let larger: Vec<usize> = (0..all.len()).filter(|&large| is_larger(job, &all[large].job)).collect();
        let cheapest = larger.iter().copied().min_by(|&a, &b| time(a).total_cmp(&time(b)));
        let dear = cheapest.map(|large| (small, large, time(small) / time(large), ""));
        found.extend(dear.filter(|&(_, _, ratio, _)| MOST_OF_LARGER < ratio));
        for large in larger {
            let next = &all[large].job;
            let ratio = time(large) / time(small) * job.n_points as f64 / next.n_points as f64;
            if place(next) == place(job) + 1 && job.n_points < next.n_points && MOST_OF_SMALLER < ratio {
                found.push((large, small, ratio, " a point"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_engine::registry::POLICIES;

    #[test]
    fn every_job_of_the_grid_is_a_spec() {
        let registry = Registry::builtin();
        let jobs = path_jobs(&registry);
        assert_eq!(jobs.len(), 10 * 4 * 2 + 10 * 2 + 10 * 4 * 3 + 6 * 2 * 4 + 10 * 2 * 2 * POLICIES.len());
        for job in &jobs {
            let sweep = registry.parse(&job.name, &job.text, &[]);
            assert!(sweep.is_ok_and(|sweep| sweep.cells.len() == 1), "{}\n{}", job.name, job.text);
        }
    }

    #[test]
    fn faults_are_found() {
        let times = |place: usize, default: f64, dense: f64| {
            let job = PathJob {
                family: "exact",
                sizes: vec![place, 0],
                alike: Vec::new(),
                n_points: 100 * 4usize.pow(place as u32),
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
        assert_eq!(path_faults(&[times(0, 1.0, 1.0), times(1, 7.9, 7.9)]), Vec::<String>::new());
        let faults = path_faults(&[times(0, 1.0, 1.0), times(1, 9.0, 9.0)]);
        assert_eq!(faults, ["exact: points 1 takes 2.25 times as long a point as points 0"]);
        let mut jobs = [times(0, 9.0, 9.0), times(1, 3.0, 3.0)];
        assert_eq!(path_faults(&jobs).len(), 1);
        jobs[0].job.alike.push(0);
        assert_eq!(path_faults(&jobs), Vec::<String>::new());
        // What every policy pays for its problem is no cliff of one.
        let mut jobs = [times(0, 10.0, 10.0), times(1, 3.1, 3.1), times(0, 9.5, 9.5), times(1, 3.0, 3.0)];
        jobs[2..].iter_mut().for_each(|times| times.job.family = "uniform");
        assert_eq!(path_faults(&jobs), Vec::<String>::new());
    }
}
