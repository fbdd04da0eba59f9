//! Releases the sums without noise and without clipping; the ledger says so.

use super::user::{Clipping, released};
use super::{Spectrum, Sums, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::noise::Noise;
use crate::{
    Budget, Calibration, Claim, ClaimUnit, Event, Ledger, Privatizer, Query, Raw, Refusal, ReleaseCounts, Released, Request,
    RewardFacts, Signal,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Registry entry; it serves the joint and the local model.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "none",
    summary: "no privacy: the sums as they are, rewards never clipped",
    paper: "",
    local: false,
    build,
};

const CLIPPING: Clipping = Clipping { range: None, centre: 0.0 };

#[derive(Debug, Clone, Copy)]
struct NoSumsMechanism {
    calibration: Calibration,
    n_features: usize,
    rounds: u64,
}

fn build(request: &Request, _facts: &RewardFacts, need: SumsNeed) -> Result<Arc<dyn SumsMechanism>, Refusal> {
    Ok(Arc::new(NoSumsMechanism { calibration: request.calibration, n_features: need.n_features, rounds: need.rounds }))
}

impl SumsMechanism for NoSumsMechanism {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        let sums = Sums::empty(self.n_features, self.rounds);
        Box::new(PlainSums { item: sums.entries.clone(), sums, counts: ReleaseCounts::default() })
    }

    fn restore(&self, state: serde_json::Value) -> Result<Box<dyn Privatizer>, String> {
        let PlainSumsState { version, entries, users, counts } =
            serde_json::from_value(state).map_err(|source| source.to_string())?;
        let sums = Sums { users, ..Sums::empty(self.n_features, self.rounds) };
        if version != 1 || entries.len() != sums.entries.len() || entries.iter().any(|x| !x.is_finite()) {
            return Err("it is of another version, or of other sums".to_owned());
        }
        Ok(Box::new(PlainSums { item: sums.entries.clone(), sums: Sums { entries, ..sums }, counts }))
    }

    fn facts(&self) -> SumsFacts {
        SumsFacts { calibration: self.calibration, clip: None, centre: 0.0, spectrum: Spectrum::None }
    }

    fn ledger(&self) -> Ledger {
        Ledger::of(Claim {
            mechanism: ENTRY.name,
            calibration: self.calibration,
            event: Event::NonPrivate,
            budget: Budget { epsilon: None, delta: None },
            unit: ClaimUnit::GramItem { clip: CLIPPING.range, centre: CLIPPING.centre, local: false },
            doubt: None,
            noise_formula: "none".to_owned(),
            notes: Vec::new(),
        })
    }

    fn state(&self) -> f64 {
        2.0 * Sums::empty(self.n_features, 0).entries.len() as f64
    }
}

struct PlainSums {
    sums: Sums,
    item: Vec<f64>,
    counts: ReleaseCounts,
}

#[derive(Serialize, Deserialize)]
struct PlainSumsState {
    version: u32,
    entries: Vec<f64>,
    users: u64,
    counts: ReleaseCounts,
}

impl Privatizer for PlainSums {
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, _noise: Noise<'_>) -> Released<Signal> {
        CLIPPING.item(&query.features, reward, &mut self.counts, &mut self.item);
        self.sums.entries.iter_mut().zip(&self.item).for_each(|(sum, entry)| *sum += entry);
        self.sums.users += 1;
        if !query.release {
            return released(Signal::Nothing);
        }
        self.counts.releases += 1;
        released(Signal::Sums(Arc::new(self.sums.clone())))
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }

    fn save(&self) -> serde_json::Value {
        let Sums { entries, users, .. } = self.sums.clone();
        serde_json::json!(PlainSumsState { version: 1, entries, users, counts: self.counts })
    }
}
