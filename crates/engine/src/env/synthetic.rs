//! Generates synthetic substitutes for published tables.
//!
//! There are sensor-like readings (correlated arms, a common daily level, multiplicative scatter), and points with values (rows
//! in clusters, a smooth value with scatter).

use super::csv_table::CsvTable;
use privateer_config::facts::Fact;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;

pub(super) fn synthetic_fact() -> Fact {
    ("synthetic", "generated, not the published data".into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticSubstitute {
    arms: usize,
    train_rows: usize,
    test_rows: usize,
}

impl SyntheticSubstitute {
    /// Reads the substitute's keys; returns `None` unless it is `wanted`.
    pub fn parse(args: &Args<'_>, wanted: bool) -> Option<Self> {
        let nested = args.table("synthetic_shape");
        let shape = Self {
            arms: nested.count("arms", "arms of the synthetic substitute").between(2, 100_000).or(41) as usize,
            train_rows: nested.count("train_rows", "rows of its train table").between(2, 100_000).or(601) as usize,
            test_rows: nested.count("test_rows", "rows of its test table").between(2, 100_000).or(192) as usize,
        };
        nested.finish();
        args.absorb(&nested);
        wanted.then_some(shape)
    }

    pub fn needs_bytes(&self) -> f64 {
        8.0 * self.arms as f64 * (self.train_rows + self.test_rows) as f64
    }

    /// Generates the train and the test table.
    ///
    /// Arms lie at random places of the unit square. Nearby arms share their level (four smooth bumps) and their scatter; all
    /// arms share the row's daylight.
    pub fn tables(&self, stream: &mut Stream) -> (CsvTable, CsvTable) {
        let places: Vec<(f64, f64)> = (0..self.arms).map(|_| (stream.uniform(), stream.uniform())).collect();
        let bumps: Vec<(f64, f64, f64)> = (0..BUMPS).map(|_| (stream.uniform(), stream.uniform(), stream.normal())).collect();
        // exp(-r²/(2·0.25²)) = exp(-8 r²): arms within a quarter of the square's side are similar.
        let near = |place: &(f64, f64), bump: &(f64, f64, f64)| {
            let (dx, dy) = (place.0 - bump.0, place.1 - bump.1);
            libm::exp(-8.0 * (dx * dx + dy * dy))
        };
        let levels: Vec<f64> = places
            .iter()
            .map(|place| 300.0 * libm::exp(bumps.iter().map(|bump| 0.7 * bump.2 * near(place, bump)).sum::<f64>()))
            .collect();
        let mut table = |rows: usize| {
            let mut values = Vec::with_capacity(rows * self.arms);
            for _ in 0..rows {
                let daylight = 0.15 + 1.7 * stream.uniform();
                let weather: Vec<f64> = (0..BUMPS).map(|_| 0.5 * stream.normal()).collect();
                for (place, level) in places.iter().zip(&levels) {
                    let shared: f64 = bumps.iter().zip(&weather).map(|(bump, w)| w * near(place, bump)).sum();
                    values.push(level * daylight * libm::exp(shared + 0.15 * stream.normal()));
                }
            }
            CsvTable { header: None, rows, columns: self.arms, values, dropped_rows: Vec::new() }
        };
        (table(self.train_rows), table(self.test_rows))
    }
}

const BUMPS: usize = 4;

const CLUSTERS: usize = 12;

/// Generates a table of points with a value: `inputs` columns in clusters, then the value.
///
/// The value is the exponential of a smooth function of the inputs plus scatter of its size, and so positive, as prices and
/// returns are.
pub fn points_with_values(rows: usize, inputs: usize, stream: &mut Stream) -> CsvTable {
    let normals = |stream: &mut Stream, count: usize| -> Vec<f64> { (0..count).map(|_| stream.normal()).collect() };
    let (centres, bumps) = (normals(stream, CLUSTERS * inputs), normals(stream, BUMPS * (inputs + 1)));
    let mut values = Vec::with_capacity(rows * (inputs + 1));
    for _ in 0..rows {
        let draws = normals(stream, inputs + 1);
        let cluster = stream.index(CLUSTERS);
        let point: Vec<f64> = (0..inputs).map(|j| centres[cluster * inputs + j] + 0.5 * draws[j]).collect();
        let smooth: f64 = bumps
            .chunks_exact(inputs + 1)
            .map(|bump| {
                let squared: f64 = point.iter().zip(bump).map(|(x, c)| (x - c) * (x - c)).sum();
                bump[inputs] * libm::exp(-0.5 * squared)
            })
            .sum();
        values.extend(point);
        // The scatter has the size of the smooth function, and changes a value by about a tenth.
        values.push(libm::exp(0.1 * (smooth + 0.5 * draws[inputs])));
    }
    CsvTable { header: None, rows, columns: inputs + 1, values, dropped_rows: Vec::new() }
}
