//! Block pruning over feature tables choose what exact scores of all points choose; bounds that are too small are caught.

use super::one_trial::{choose, compared};
use privateer_backend::{Backend, Band, Counters, Cpu};
use privateer_gp::Points;
use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
use privateer_gp::kernel::{Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{FeaturePosterior, Posterior};
use privateer_gp::score::FeatureTable;
use privateer_numerics::rng::{Purpose, Streams};
use std::sync::Arc;

fn quadrature_fourier(points: &Points, nodes: usize, lengthscale: f64) -> FeatureTable {
    let kernel = SquaredExponential::new(Lengthscales::Isotropic(lengthscale), 1.0);
    let form = QuadratureFourier { nodes, max_error: 2.0 };
    QuadratureMap::new(&kernel, &extents(points), form).expect("a map").table(points, None)
}

/// An instance: features, the rewards' scale of noise, and how beta grows.
struct Case {
    name: String,
    table: Arc<FeatureTable>,
    noise: f64,
    growth: f64,
    ridge: f64,
    seed: u64,
}

/// The choices of so many rounds, and what the screen counted.
fn choices(case: &Case, rounds: usize, band: Band) -> (Vec<usize>, Counters) {
    let table = &case.table;
    let mut stream = Streams::new(case.seed, "lazy").of(0, Purpose::Noise);
    let weights: Vec<f64> = (0..table.n_features).map(|_| stream.normal()).collect();
    let mut f: Vec<f64> = (0..table.n_points).map(|x| table.row(x).iter().zip(&weights).map(|(a, b)| a * b).sum()).collect();
    let largest = f.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    f.iter_mut().for_each(|value| *value /= largest);
    let mut posterior = FeaturePosterior::new(Arc::clone(table), case.ridge);
    let mut screen = Cpu::with_band(band).staying().prepare(&posterior.basis()).expect("prepared").open(1);
    let mut chosen = Vec::new();
    let mut point = stream.index(table.n_points);
    for round in 1..=rounds {
        posterior.observe(point, f[point] + case.noise * stream.normal());
        let beta = 2.0 + case.growth * (round as f64).ln();
        point = choose(screen.as_mut(), &mut posterior, beta);
        chosen.push(point);
    }
    (chosen, screen.counters())
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..4 {
        let mut stream = Streams::new(seed, "lazy").shared(Purpose::Domain);
        let random = Points::random_in(&[(0.0, 1.0); 2], 640 + 37 * seed as usize, &mut stream);
        // Symmetric about its middle: mirror images tie in exact arithmetic at first.
        let grid = Points::grid(2, 26, 0.0, 1.0);
        for (name, points, lengthscale, noise, growth) in [
            ("plain", &random, 0.5, 0.1, 0.0),
            ("noisy", &random, 0.5, 1.0, 0.0),
            ("growing", &random, 0.5, 0.1, 0.7),
            ("short", &random, 0.25, 0.1, 0.2),
            ("grid", &grid, 0.5, 0.1, 0.0),
        ] {
            let made = quadrature_fourier(points, 8, lengthscale);
            let add = |name: &str, table: FeatureTable| Case {
                name: format!("{name}, seed {seed}"),
                table: Arc::new(table),
                noise,
                growth,
                ridge: if seed == 3 { 1.0 } else { 0.01 },
                seed,
            };
            // Without its formula, the kernel is summed over all features.
            let formless = FeatureTable { form: None, ..made.clone() };
            // Most points have a part of their prior that no feature carries, as those outside of a dictionary.
            let mut partly = formless.clone();
            partly.residual.iter_mut().enumerate().for_each(|(i, residual)| *residual = [0.0, 0.3, 0.8, 0.05][i % 4]);
            // Every point a second time, some of them a hair longer: ties and near-ties everywhere.
            let mut twice = formless.clone();
            for (i, &value) in made.values.iter().enumerate() {
                let hair = [0.0, 1e-15, 1e-12, 1e-9][(i / made.n_features) % 4];
                twice.values.push(value * (1.0 + hair));
            }
            twice.n_points *= 2;
            twice.residual.resize(twice.n_points, 0.0);
            cases.extend([add(name, made), add(&format!("{name} without form"), formless)]);
            if noise < 1.0 {
                cases.push(add(&format!("{name} twice"), twice));
                cases.push(add(&format!("{name} in part"), partly));
            }
        }
    }
    cases
}

#[test]
fn pruned_screens_choose_what_exact_scores_choose() {
    let (mut caught, mut all) = (0, Counters::default());
    for case in cases() {
        let (counters, is_caught) = compared(&case.name, |band| choices(&case, 60, band));
        caught += usize::from(is_caught);
        all.add(&counters);
    }
    println!("{all:?}, stale bounds caught in {caught} cases");
    assert!(all.rounds < 2 * all.pruned, "the pruned path was hardly taken: this test tests nothing: {all:?}");
    assert!(10 <= caught, "bounds that do not move were caught in {caught} cases only");
}

/// Domains that are large enough for a lattice: even, on a grid, on a line along either axis, and crowded in places.
fn large_cases() -> Vec<Case> {
    let mut stream = Streams::new(21, "lazy").shared(Purpose::Domain);
    let random = Points::random_in(&[(0.0, 1.0); 2], 4200, &mut stream);
    let bent = |of: fn(f64, f64) -> [f64; 2]| {
        Points::new(2, (0..random.n_points()).flat_map(|x| of(random.point(x)[0], random.point(x)[1])).collect())
    };
    let domains = [
        ("even", random.clone()),
        ("grid", Points::grid(2, 65, 0.0, 1.0)),
        ("line along", bent(|x, _| [x, 0.4])),
        ("line across", bent(|x, _| [0.4, x])),
        ("crowded", bent(|x, y| [x * x, y * y * y])),
    ];
    let case = |(i, (name, points)): (usize, (&str, Points))| Case {
        name: name.to_owned(),
        table: Arc::new(quadrature_fourier(&points, 6, 0.5)),
        noise: [0.1, 1.0][i % 2],
        growth: [0.0, 0.5][i % 2],
        ridge: 0.01,
        seed: 30 + i as u64,
    };
    domains.into_iter().enumerate().map(case).collect()
}

#[test]
fn lattices_choose_what_exact_scores_choose() {
    let mut caught = 0;
    for case in large_cases() {
        let (counters, is_caught) = compared(&case.name, |band| choices(&case, 40, band));
        println!("{}: {counters:?}", case.name);
        assert_eq!(counters.pruned, counters.rounds, "{}", case.name);
        caught += usize::from(is_caught);
    }
    assert!(2 <= caught, "bounds that do not move were caught in {caught} cases only");
}

/// Long enough for comparisons with exact scores, for runs to be dropped, and for a rebuild of the model, which is then told from its visits.
#[test]
fn pruned_screens_follow_long_runs() {
    let mut stream = Streams::new(9, "lazy").shared(Purpose::Domain);
    let points = Points::random_in(&[(0.0, 1.0); 2], 700, &mut stream);
    let table = Arc::new(quadrature_fourier(&points, 6, 0.5));
    let case = Case { name: "long".to_owned(), table, noise: 1.0, growth: 0.3, ridge: 0.5, seed: 9 };
    let (pruned, counters) = choices(&case, 4500, Band::Proved);
    println!("{counters:?}");
    assert_eq!(pruned, choices(&case, 4500, Band::Infinite).0);
    assert_eq!(counters.violations, 0);
    assert!(0 < counters.pruned && counters.candidates < counters.rounds + counters.rounds / 10, "{counters:?}");
}
