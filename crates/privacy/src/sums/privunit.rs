//! Releases every user's own `phi phi^T` and `y phi` by PrivUnit: pure epsilon, and less noise than Gaussian noise.
//!
//! The item, less a public multiple of the identity, is a vector of a ball ([`crate::priv_unit`]). No paper prints a scale for
//! items, so that the corrected and the tight calibration differ in the centre of rewards alone. Proof: `docs/proofs/privunit.md`.

use super::joint::Rewards;
use super::local::{self, ItemNoise, Local, refuse_epochs};
use super::{SumsEntry, SumsMechanism, SumsNeed};
use crate::gram::GramLayout;
use crate::priv_unit::PrivUnitItem;
use crate::{Calibrated, Protection, Refusal, Request, RewardFacts};
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "privunit",
    summary: "every user's own phi phi^T and y phi as one vector on a sphere: pure epsilon",
    paper: "Bhowmick2018",
    serves: Protection::LocalSums,
    build,
};

/// Calibrates the mechanism.
fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Calibrated<dyn SumsMechanism> {
    let epsilon = request.answer_epsilon()?;
    refuse_epochs(need)?;
    request.refuse_as_printed(local::ENTRY.name)?;
    let rewards = Rewards::of(request, facts)?;
    let (Some(within), Rewards { clip, reach, .. }) = (rewards.in_units(), rewards) else {
        return Err(Refusal::new("clip", "a vector on a sphere has a bounded reward", "two numbers [lo, hi] with lo < hi"));
    };
    let layout = GramLayout::single(need.n_features);
    let item = PrivUnitItem::new(epsilon, (layout.shape(), need.n_features), (1.0, within), request.mechanism)?;
    let (request, noise, formula) = (request.at(None), ItemNoise::Sphere(item, Arc::default()), item.formula().into());
    Ok(Arc::new(Local { request, need, clip, reach, noise, formula }))
}
