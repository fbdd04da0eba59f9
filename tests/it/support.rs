//! What several tests need: specs from text, whole runs, single trials.

use privateer::engine::{Observer, Trace, Unit, run};
pub use privateer::engine::{Options, Preparation, Quantity, Stop};
pub use privateer::env::DataFolder;
pub use privateer::spec::Sweep;
pub use privateer_backend::Cpu;
use privateer_backend::{Backend, Counters};
use privateer_config::error::Error;
pub use privateer_config::facts::{FactValue, Facts};
pub use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::mechanism::none;
use privateer_privacy::{Calibration, Query, Raw, Request, RewardFacts, RewardMechanism};
pub use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
pub use std::sync::{Arc, Mutex};

pub fn sweep(text: &str) -> Sweep {
    match Sweep::parse("spec.toml", text, &[]) {
        Ok(sweep) => sweep,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Traces of a whole run, by cell and block, and what its screens counted.
#[derive(Debug)]
pub struct Ran {
    pub rows: BTreeMap<Unit, Trace>,
    pub counters: Counters,
}

impl Ran {
    pub fn cell(&self, cell: u32) -> &Trace {
        &self.rows[&Unit { cell, block: 0 }]
    }

    /// Every recorded number, to the last bit.
    pub fn bits(&self) -> Vec<u64> {
        self.bits_by_unit().into_iter().flat_map(|(_, bits)| bits).collect()
    }

    pub fn bits_by_unit(&self) -> Vec<(Unit, Vec<u64>)> {
        let of_unit = |(unit, rows): (&Unit, &Trace)| {
            let mut bits = vec![u64::from(unit.cell) << 32 | u64::from(unit.block)];
            bits.extend(rows.trial.iter().chain(&rows.round).map(|&n| u64::from(n)));
            bits.extend(rows.point.iter().map(|&point| point.map_or(u64::MAX, |point| point as u64)));
            bits.extend(rows.measured().iter().flatten().map(|x| x.to_bits()));
            (*unit, bits)
        };
        self.rows.iter().map(of_unit).collect()
    }
}

pub fn run_all(sweep: &Sweep, data: &DataFolder, backend: &dyn Backend, options: Options) -> Result<Ran, Error> {
    struct Collect(Mutex<BTreeMap<Unit, Trace>>);
    impl Observer for Collect {
        fn finished(&self, unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
            self.0.lock().expect("no panic").insert(unit, rows);
            Ok(())
        }
    }
    let collect = Collect(Mutex::new(BTreeMap::new()));
    let preparation = Preparation::new(sweep, data, backend);
    let tally = run(sweep, &preparation, options, &BTreeSet::new(), &Stop::new(), &collect)?;
    assert!(!tally.stopped);
    Ok(Ran { rows: collect.0.into_inner().expect("no panic"), counters: tally.counters })
}

/// Runs a spec that needs no data on the CPU backend.
pub fn ran(text: &str) -> Ran {
    ran_of(&sweep(text))
}

/// Runs a sweep that needs no data on the CPU backend.
pub fn ran_of(sweep: &Sweep) -> Ran {
    run_all(sweep, &DataFolder::default(), &Cpu::default(), Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The values of the last recorded round, one a trial.
pub fn finals(rows: &Trace, quantity: Quantity) -> Vec<f64> {
    let last = rows.round.iter().copied().max();
    rows.round.iter().zip(&rows[quantity]).filter(|(round, _)| Some(**round) == last).map(|(_, value)| *value).collect()
}

/// The first fact whose name begins so.
pub fn fact(facts: &Facts, name: &str) -> Option<FactValue> {
    facts.iter().find(|(known, _)| known.starts_with(name)).map(|(_, value)| value.clone())
}

/// The reward that a mechanism which changes nothing releases: what was sealed.
pub fn opened(raw: Raw<f64>) -> f64 {
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 1 };
    no_mechanism(Calibration::Tight, &facts)
        .privatizer()
        .release(&Query::default(), raw, (&mut stream("none")).into())
        .reward()
        .expect("a reward")
}

pub fn no_mechanism(calibration: Calibration, facts: &RewardFacts) -> Arc<dyn RewardMechanism> {
    (none::ENTRY.build)(&Request { calibration, ..Request::NONE }, facts).expect("no mechanism")
}

pub fn stream(label: &str) -> Stream {
    Streams::new(17, label).of(0, Purpose::Noise)
}

/// Calls `look` with the preparation of a spec and its sweep.
pub fn prepared<T>(text: &str, data: &DataFolder, look: impl FnOnce(&Sweep, &Preparation<'_>) -> T) -> T {
    let sweep = sweep(text);
    let backend = Cpu::default();
    look(&sweep, &Preparation::new(&sweep, data, &backend))
}

pub fn real_data() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data"));
    let stated = std::env::var_os("PRIVATEER_DATA").map(PathBuf::from);
    [stated, Some(beside)].into_iter().flatten().find(|folder| folder.is_dir())
}
