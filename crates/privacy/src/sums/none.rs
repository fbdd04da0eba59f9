//! Releases the sums without noise and without clipping; the ledger says so.

use super::{Spectrum, Sums, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::gram::{GramClip, GramLayout};
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::{
    Budget, Claim, ClaimUnit, Event, Ledger, Privatizer, Protection, Query, Raw, Refusal, ReleaseCounts, Released, Request,
    RewardFacts, Signal,
};
use std::sync::Arc;

/// Registry entry; it serves the joint and the local model.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "none",
    summary: "no privacy: the sums as they are, rewards never clipped",
    paper: "",
    serves: Protection::Sums,
    build,
};

#[derive(Debug, Clone, Copy)]
struct NoSumsMechanism {
    request: Request,
    n_features: usize,
    rounds: u64,
}

fn build(request: &Request, _facts: &RewardFacts, need: SumsNeed) -> Result<Arc<dyn SumsMechanism>, Refusal> {
    let request = Request { budget: Budget::default(), ..*request };
    Ok(Arc::new(NoSumsMechanism { request, n_features: need.n_features, rounds: need.rounds }))
}

impl crate::privatizer::sealed::Sealed for NoSumsMechanism {}

impl SumsMechanism for NoSumsMechanism {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        let sums = Sums::empty(self.n_features, self.rounds);
        Box::new(PlainSums { z: vec![0.0; self.n_features], sums, counts: ReleaseCounts::default() })
    }

    fn facts(&self) -> SumsFacts {
        SumsFacts { calibration: self.request.calibration, clip: None, centre: 0.0, spectrum: Spectrum::None }
    }

    fn ledger(&self) -> Ledger {
        let unit = ClaimUnit::GramItem { clip: None, centre: 0.0, local: false };
        Ledger::of(Claim::of(&self.request, unit, Event::NonPrivate, "none"))
    }

    fn state(&self) -> f64 {
        2.0 * Sums::empty(self.n_features, 0).entries.len() as f64
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        Ok(Arc::new(*self))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        Vec::new()
    }
}

struct PlainSums {
    sums: Sums,
    /// Features of the user of this round.
    z: Vec<f64>,
    counts: ReleaseCounts,
}

impl Privatizer for PlainSums {
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, _noise: Noise<'_>) -> Released<Signal> {
        if let Some(y) = GramClip::unit(None, 0.0).item(&query.features, reward, &mut self.counts, &mut self.z) {
            GramLayout::single(self.z.len()).add(&mut self.sums.entries, 0, &self.z, y);
        }
        self.sums.users += 1;
        if !query.release {
            return Released::mark(Signal::Nothing);
        }
        self.counts.releases += 1;
        Released::mark(Signal::Sums(Arc::new(self.sums.clone())))
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }
}
