//! The arrays of a job: drawn from named streams, or read from a folder of NumPy arrays.

use super::npy::{self, Floats};
use super::{Job, Workload};
use privateer_config::error::Error;
use privateer_gp::Points;
use privateer_gp::features::quadrature_table::{kernel_error, quadrature_fourier};
use privateer_gp::score::{FeatureTable, FourierForm};
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::{Purpose, Streams};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

/// What all workloads of one size share.
#[derive(Debug, Clone)]
pub struct BenchInstance {
    /// Features; its `kernel_error` is measured over the first 400 points.
    pub table: Arc<FeatureTable>,
    /// Mean reward of every point.
    pub f: Vec<f64>,
    /// `(rounds + 1) x trials`: row 0 is for the observation before the first round.
    pub noise: Vec<f64>,
    /// The first point of each trial.
    pub start: Vec<usize>,
    /// "own", or the folder's name.
    pub origin: String,
}

/// The part of `instance.json` that matters here.
#[derive(Deserialize)]
#[expect(non_snake_case, reason = "the names of the file")]
struct StatedSizes {
    N: usize,
    m: usize,
    B: usize,
    T: usize,
    seed: u64,
    lengthscale: f64,
    lam: f64,
    beta: f64,
    noise_std: f64,
    node_std: f64,
}

impl BenchInstance {
    /// Own instance: uniform points of the unit square, quadrature Fourier features of the squared exponential, a function with
    /// standard normal weights scaled to `max |f| = 1`.
    #[must_use]
    pub fn draw(job: &Job) -> Self {
        let streams = Streams::new(job.seed, "bench");
        let points = Points::random_uniform(2, job.points, 0.0, 1.0, &mut streams.shared(Purpose::Domain));
        let table = quadrature_fourier(&points, job.nodes(), job.lengthscale);
        let mut function = streams.shared(Purpose::Function);
        let weights: Vec<f64> = (0..job.features).map(|_| function.normal()).collect();
        let mut f: Vec<f64> = (0..job.points).map(|point| dot(table.row(point), &weights)).collect();
        let largest = f.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        f.iter_mut().for_each(|value| *value /= largest);
        let mut noise = vec![0.0; (job.rounds + 1) * job.trials];
        for trial in 0..job.trials {
            let mut stream = streams.of(trial as u64, Purpose::Noise);
            noise.iter_mut().skip(trial).step_by(job.trials).for_each(|value| *value = job.noise * stream.normal());
        }
        let start = (0..job.trials).map(|trial| streams.of(trial as u64, Purpose::Start).index(job.points)).collect();
        Self { table: Arc::new(table), f, noise, start, origin: "own".to_owned() }
    }

    /// Reads `x`, `Phi`, `f`, `noise`, `start` (`.npy`) and `instance.json` of a folder, and the job they were made for.
    ///
    /// # Errors
    /// A missing folder or file, an array that is not what it should be, shapes that disagree.
    pub fn read(folder: &Path, workload: Workload) -> Result<(Self, Job), Error> {
        if !folder.is_dir() {
            return Err(Error::Folder {
                path: folder.to_owned(),
                problem: "is not a folder".to_owned(),
                hint: "`--instance` takes a folder with x.npy, Phi.npy, f.npy, noise.npy, start.npy and instance.json".to_owned(),
            });
        }
        let job = stated(&folder.join("instance.json"), workload)?;
        job.check()?;
        let array = |name: &str, shape: &[usize]| -> Result<Floats, Error> {
            let path = folder.join(format!("{name}.npy"));
            let array = npy::floats(&path)?;
            agree(&path, &array.shape, shape)?;
            Ok(array)
        };
        let (n, m) = (job.points, job.features);
        let points = Points::new(2, array("x", &[n, 2])?.values);
        let values = array("Phi", &[n, m])?.values;
        let f = array("f", &[n])?.values;
        let noise = array("noise", &[job.rounds + 1, job.trials])?.values;
        let path = folder.join("start.npy");
        let (shape, start) = npy::integers(&path)?;
        agree(&path, &shape, &[job.trials])?;
        let inside = |&point: &i64| usize::try_from(point).ok().filter(|&point| point < n);
        let Some(start) = start.iter().map(inside).collect::<Option<Vec<usize>>>() else {
            return Err(Error::Corrupt {
                path,
                problem: format!("names a point outside 0..{n}"),
                hint: "start points are indices of rows of Phi".to_owned(),
            });
        };
        let mut table =
            FeatureTable { n_points: n, n_features: m, values, residual: vec![0.0; n], kernel_error: 0.0, form: None };
        table.kernel_error = kernel_error(&table, &points, job.lengthscale);
        table.form = form(&table, &points, &job);
        let origin = folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
        Ok((Self { table: Arc::new(table), f, noise, start, origin }, job))
    }
}

/// The formula of stored features, where they are those of the quadrature rule but for rounding.
fn form(table: &FeatureTable, points: &Points, job: &Job) -> Option<FourierForm> {
    job.check_features().ok()?;
    let own = quadrature_fourier(points, job.nodes(), job.lengthscale);
    let apart = own.values.iter().zip(&table.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    own.form.filter(|_| apart <= 1e-12)
}

fn stated(path: &Path, workload: Workload) -> Result<Job, Error> {
    let corrupt = |problem: String| Error::Corrupt {
        path: path.to_owned(),
        problem,
        hint: "it states N, m, B, T, seed, lengthscale, lam, beta, noise_std and node_std of the arrays beside it".to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|problem| corrupt(format!("cannot be read: {problem}")))?;
    let stated: StatedSizes = serde_json::from_str(&text).map_err(|problem| corrupt(format!("is not understood: {problem}")))?;
    Ok(Job {
        workload,
        points: stated.N,
        features: stated.m,
        trials: stated.B,
        rounds: stated.T,
        seed: stated.seed,
        lengthscale: stated.lengthscale,
        ridge: stated.lam,
        beta: stated.beta,
        growth: 0.0,
        noise: stated.noise_std,
        node_std: stated.node_std,
    })
}

fn agree(path: &Path, found: &[usize], expected: &[usize]) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: path.to_owned(),
        problem: format!("has shape {found:?}, expected {expected:?}"),
        hint: "all arrays of an instance have the sizes that its instance.json states".to_owned(),
    })
}
