//! Replays stored features, values and noise through the engine, so that other programs can run the same instance.

use super::npy::{self, Floats};
use crate::env::noise::Noise;
use crate::env::{BuildContext, Environment, EnvironmentPlan, Instance, RegretUnit};
use crate::policy::{FeaturesPlan, Problem};
use crate::registry::Registry;
use crate::spec::items::IgpUcb;
use crate::spec::{Item, Sweep, SweepBuilder};
use privateer_config::error::Error;
use privateer_gp::features::quadrature_table::{kernel_error, quadrature_fourier};
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::kernel::{Kernel, Lengthscales};
use privateer_gp::score::{FeatureTable, GramSource};
use privateer_gp::special::MOST_NODES;
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::rng::Stream;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

/// Arrays in a folder, as `numpy.save` writes them.
#[derive(Debug, Clone)]
pub struct StoredInstance {
    /// The folder's name.
    pub name: String,
    /// Number of trials that the noise is stored for.
    pub trials: usize,
    stated: Stated,
    arrays: Arc<Arrays>,
}

#[derive(Debug)]
struct Arrays {
    points: Points,
    table: FeatureTable,
    /// Mean reward of every point.
    values: Arc<Vec<f64>>,
    /// `(rounds + 1) x trials`: row 0 is for the observation before the first round.
    noise: Vec<f64>,
    /// The first point of each trial.
    start: Vec<usize>,
}

/// The part of `instance.json` that matters here.
#[derive(Debug, Clone, Deserialize)]
#[expect(non_snake_case, reason = "the names of the file")]
struct Stated {
    N: usize,
    m: usize,
    B: usize,
    T: usize,
    seed: u64,
    lengthscale: f64,
    lam: f64,
    beta: f64,
    noise_std: f64,
}

impl StoredInstance {
    /// Reads `x`, `Phi`, `f`, `noise`, `start` (`.npy`) and `instance.json`.
    ///
    /// # Errors
    /// A missing folder or file, an array that is not what it should be, shapes that disagree.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        if !folder.is_dir() {
            return Err(Error::Folder {
                path: folder.to_owned(),
                problem: "is not a folder".to_owned(),
                hint: "`--instance` takes a folder with x.npy, Phi.npy, f.npy, noise.npy, start.npy and instance.json".to_owned(),
            });
        }
        let stated = stated(&folder.join("instance.json"))?;
        let (n, m, trials) = (stated.N, stated.m, stated.B);
        let array = |name: &str, shape: &[usize]| -> Result<Floats, Error> {
            let path = folder.join(format!("{name}.npy"));
            let array = npy::floats(&path)?;
            agree(&path, &array.shape, shape)?;
            Ok(array)
        };
        let points = Points::new(2, array("x", &[n, 2])?.values);
        let values = array("Phi", &[n, m])?.values;
        let f = array("f", &[n])?.values;
        let noise = array("noise", &[stated.T + 1, trials])?.values;
        let path = folder.join("start.npy");
        let (shape, start) = npy::integers(&path)?;
        agree(&path, &shape, &[trials])?;
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
        table.kernel_error = kernel_error(&table, &points, stated.lengthscale);
        add_formula(&mut table, &points, stated.lengthscale);
        let name = folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
        let arrays = Arc::new(Arrays { points, table, values: Arc::new(f), noise, start });
        Ok(Self { name, trials, stated, arrays })
    }

    /// Returns the sweep that replays the instance: round 1 is the stored start, rounds 2, 3, … those of the instance.
    pub fn spec(&self) -> SweepBuilder {
        let Stated { T, seed, lam, beta, .. } = self.stated;
        let constant = Item::of("constant").set("value", beta);
        Sweep::builder("stored instance")
            .seed(seed)
            .rounds(T as u64 + 1)
            .trials(self.trials as u64)
            .record_all()
            .environment(Item::of("stored-instance"))
            .policy(IgpUcb::builder().features("stored").ridge(lam).beta(constant))
    }

    /// Returns the list of everything that the spec names.
    #[must_use]
    pub fn registry(&self) -> Registry {
        let (environment, features) = (self.clone(), self.clone());
        Registry::builtin()
            .with_environment("stored-instance", "values and noise of a stored instance", move |_| environment.clone())
            .with_features("stored", "features of a stored instance", move |_| features.clone())
    }
}

impl EnvironmentPlan for StoredInstance {
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Environment>, Error> {
        let Stated { lengthscale, noise_std, .. } = self.stated;
        let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(lengthscale), 1.0));
        let gram = tabulated(KernelGram::new(Arc::clone(&kernel), self.arrays.points.clone()));
        Ok(Arc::new(Replayed { stored: self.clone(), kernel, gram, variance: noise_std * noise_std, rounds: context.rounds }))
    }
}

impl FeaturesPlan for StoredInstance {
    fn build(&self, _problem: &Problem) -> Result<FeatureTable, Error> {
        Ok(self.arrays.table.clone())
    }
}

struct Replayed {
    stored: StoredInstance,
    kernel: Arc<dyn Kernel>,
    gram: Arc<dyn GramSource>,
    variance: f64,
    rounds: u64,
}

impl Environment for Replayed {
    fn gram(&self) -> &Arc<dyn GramSource> {
        &self.gram
    }

    fn points(&self) -> Option<&Points> {
        Some(&self.stored.arrays.points)
    }

    fn kernel(&self) -> Option<&Arc<dyn Kernel>> {
        Some(&self.kernel)
    }

    fn draw(&self, trial: u64) -> Result<Instance, Error> {
        let arrays = &self.stored.arrays;
        let trials = self.stored.trials;
        let trial = usize::try_from(trial).unwrap_or(usize::MAX).min(trials - 1);
        let noise = arrays.noise.iter().skip(trial).step_by(trials).copied().collect();
        let noise = StoredNoise { values: noise, variance: self.variance };
        let instance = Instance::new(Arc::clone(&arrays.values), Arc::new(noise), None, self.rounds, RegretUnit::Raw)?;
        Ok(instance.started_at(arrays.start[trial]))
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        vec![("points".to_owned(), self.stored.stated.N.into()), ("stored instance".to_owned(), self.stored.name.clone().into())]
    }
}

/// Noise of one trial, round by round; the stream counts the rounds.
#[derive(Debug)]
struct StoredNoise {
    values: Vec<f64>,
    variance: f64,
}

impl Noise for StoredNoise {
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        let round = usize::try_from(stream.drawn()).unwrap_or(usize::MAX);
        stream.word();
        mean + self.values.get(round).copied().unwrap_or(f64::NAN)
    }

    fn bound(&self) -> Option<f64> {
        None
    }

    fn variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn range(&self) -> Option<(f64, f64)> {
        None
    }
}

/// Adds the formula of stored features, where they are those of the quadrature rule but for rounding.
fn add_formula(table: &mut FeatureTable, points: &Points, lengthscale: f64) {
    let nodes = table.n_features.isqrt();
    if nodes * nodes == table.n_features && nodes.is_multiple_of(2) && (2..=MOST_NODES).contains(&nodes) {
        let own = quadrature_fourier(points, nodes, lengthscale);
        let apart = own.values.iter().zip(&table.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        table.form = own.form.filter(|_| apart <= 1e-12);
    }
}

fn stated(path: &Path) -> Result<Stated, Error> {
    let corrupt = |problem: String| Error::Corrupt {
        path: path.to_owned(),
        problem,
        hint: "it states N, m, B, T, seed, lengthscale, lam, beta and noise_std of the arrays beside it".to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|problem| corrupt(format!("cannot be read: {problem}")))?;
    let stated: Stated = serde_json::from_str(&text).map_err(|problem| corrupt(format!("is not understood: {problem}")))?;
    let counts = [stated.N, stated.m, stated.B, stated.T];
    let numbers = [stated.lengthscale, stated.lam];
    if counts.contains(&0) || numbers.iter().any(|number| !(1e-9..=1e9).contains(number)) {
        return Err(corrupt("states a size of zero, or a length-scale or ridge outside 1e-9 to 1e9".to_owned()));
    }
    if !(0.0..=1e9).contains(&stated.beta) || !(0.0..=1e9).contains(&stated.noise_std) || i64::try_from(stated.seed).is_err() {
        return Err(corrupt("states a factor, a noise or a seed that no run takes".to_owned()));
    }
    Ok(stated)
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
