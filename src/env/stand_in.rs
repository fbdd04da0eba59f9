//! A generated table that stands in for sensor-like data: correlated arms, a common daily level, multiplicative scatter.

use super::csv_table::CsvTable;
use crate::params::Args;
use crate::rng::Stream;

/// Shape of the generated tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandIn {
    arms: usize,
    train_rows: usize,
    test_rows: usize,
}

impl StandIn {
    /// Reads the stand-in's keys; `None` unless it is wanted.
    pub fn parse(args: &Args<'_>, wanted: bool) -> Option<Self> {
        let nested = args.table("stand_in_shape");
        let shape = Self {
            arms: nested.count("arms", "arms of the stand-in").between(2, 100_000).or(41) as usize,
            train_rows: nested.count("train_rows", "rows of its train table").between(2, 1_000_000).or(601) as usize,
            test_rows: nested.count("test_rows", "rows of its test table").between(2, 1_000_000).or(192) as usize,
        };
        nested.finish();
        args.absorb(&nested);
        wanted.then_some(shape)
    }

    /// Train and test table. Arms sit at random places of the unit square; arms close to each other share their level
    /// (four smooth bumps) and their scatter; all share the row's daylight.
    #[must_use]
    pub fn tables(&self, stream: &mut Stream) -> (CsvTable, CsvTable) {
        let places: Vec<(f64, f64)> = (0..self.arms).map(|_| (stream.uniform(), stream.uniform())).collect();
        let bumps: Vec<(f64, f64, f64)> = (0..BUMPS).map(|_| (stream.uniform(), stream.uniform(), stream.normal())).collect();
        // exp(-r²/(2·0.25²)) = exp(-8 r²): neighbours within a quarter of the square look alike.
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
            CsvTable { header: None, rows, columns: self.arms, values }
        };
        (table(self.train_rows), table(self.test_rows))
    }
}

/// Smooth bumps of the common level.
const BUMPS: usize = 4;
