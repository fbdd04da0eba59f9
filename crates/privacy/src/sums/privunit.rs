//! Releases every user's own `phi phi^T` and `y phi` by PrivUnit: pure epsilon, and less noise than Gaussian noise.
//!
//! The item, less a public multiple of the identity, is a vector of a ball ([`crate::priv_unit`]). No paper prints a scale for
//! items, so that the corrected and the tight calibration differ in the centre of rewards alone. Proof: `docs/proofs/privunit.md`.

use super::joint::Rewards;
use super::local::{self, OwnItems, refuse_epochs};
use super::{Spectrum, Sums, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::gram::{GramClip, GramLayout};
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::priv_unit::PrivUnitItem;
use crate::{
    Budget, Calibrated, Calibration, Claim, ClaimUnit, Ledger, Privatizer, Protection, Query, Raw, Refusal, ReleaseCounts,
    Released, Request, RewardFacts, Signal,
};
use std::sync::{Arc, OnceLock};

/// Registry entry.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "privunit",
    summary: "every user's own phi phi^T and y phi as one vector on a sphere: pure epsilon",
    paper: "Bhowmick2018",
    serves: Protection::LocalSums,
    build,
};

#[derive(Debug, Clone)]
struct PrivUnitSums {
    calibration: Calibration,
    /// Has no delta.
    budget: Budget,
    need: SumsNeed,
    clip: GramClip,
    item: PrivUnitItem,
    /// The item of real releases, made once.
    exact: Arc<OnceLock<Result<PrivUnitItem, ReleaseError>>>,
}

/// Calibrates the mechanism.
///
/// # Errors
/// A refusal on `epsilon` (missing, or noise beyond f64), `mechanism` (epochs, or the as-printed calibration) or `clip` (empty, or
/// missing with unbounded noise).
fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Calibrated<dyn SumsMechanism> {
    let epsilon = request.answer_epsilon()?;
    refuse_epochs(need)?;
    request.refuse_as_printed(local::ENTRY.name)?;
    let Rewards { clip, reach: Some(reach), .. } = Rewards::of(request, facts)? else {
        return Err(Refusal::new("clip", "a vector on a sphere has a bounded reward", "two numbers [lo, hi] with lo < hi"));
    };
    let layout = GramLayout::single(need.n_features);
    let item = PrivUnitItem::new(epsilon, (layout.shape(), need.n_features), (1.0, reach), request.mechanism)?;
    let (calibration, budget) = (request.calibration, Budget { delta: None, ..request.budget });
    Ok(Arc::new(PrivUnitSums { calibration, budget, need, clip, item, exact: Arc::default() }))
}

impl crate::privatizer::sealed::Sealed for PrivUnitSums {}

impl SumsMechanism for PrivUnitSums {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(PrivUnitPrivatizer { items: OwnItems::new(self.need, self.clip), item: self.item, draws: Vec::new() })
    }

    fn facts(&self) -> SumsFacts {
        let std = self.item.std();
        let spectrum = Spectrum::Local { gram: std, moment: std };
        SumsFacts { calibration: self.calibration, clip: self.clip.range, centre: self.clip.centre, spectrum }
    }

    fn ledger(&self) -> Ledger {
        Ledger::of(Claim {
            mechanism: ENTRY.name,
            calibration: self.calibration,
            event: self.item.event(),
            budget: self.budget,
            unit: ClaimUnit::GramItem { clip: self.clip.range, centre: self.clip.centre, local: true },
            doubt: None,
            noise_formula: self.item.formula(),
            notes: Vec::new(),
        })
    }

    fn state(&self) -> f64 {
        Sums::empty(self.need.n_features, 0).entries.len() as f64 + self.item.drawn()
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        let item = self.exact.get_or_init(|| self.item.exact()).clone()?;
        Ok(Arc::new(Self { item, ..self.clone() }))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        self.item.laws()
    }
}

struct PrivUnitPrivatizer {
    items: OwnItems,
    item: PrivUnitItem,
    draws: Vec<f64>,
}

impl Privatizer for PrivUnitPrivatizer {
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let std = self.item.std();
        let mut sums = self.items.of(query, reward, (std, std));
        self.item.release(&mut sums.entries, &mut noise, &mut self.draws);
        Released::mark(Signal::Item(Arc::new(sums)))
    }

    fn counts(&self) -> ReleaseCounts {
        self.items.counts
    }
}
