//! Releases noisy running sums of `z z^T` and `y z` over interactions.
//!
//! `z` is the context in the block of the arm that was shown [Shariff2018, algorithm 1; Zheng2020 if every user adds their own
//! noise].
//!
//! * as printed: one matrix over the blocks of all arms, with the paper's sigma.
//! * corrected: the same, but never below what the claim needs.
//! * tight: one matrix per arm. Off-diagonal blocks are zero for all inputs and need no noise. Contexts are scaled to the unit
//!   ball and rewards to [-1/2, 1/2], where one sigma serves both; the corner `sum y²` is never released.
//!
//! Sensitivity: let one user's (phi, y) in block a become (phi', y') in block a'. In one block this is the pair of
//! `accounting::sensitivity::gram_and_reward_mu_squared`, a supremum over `c = phi·phi'`; in two blocks it is that pair's value
//! at c = 0. So the number of arms does not enter. Proof: `docs/proofs/interactions.md`.

use super::{Interaction, InteractionPrivatizer, InteractionSignal};
use crate::accounting::sensitivity::Participation;
use crate::event::Factor;
use crate::gram::{GramClip, GramLayout, GramRelease, GramStream};
use crate::noise::Noise;
use crate::planted::{self, PlantedFault};
use crate::printed::{dubey2021, shariff2018, zheng2020};
use crate::priv_unit::PrivUnitItem;
use crate::streams::own::Own;
use crate::streams::{Factorisation, PrefixSums, columns};
use crate::sums::privunit;
use crate::{
    Budget, Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Protects, Raw, Refusal, ReleaseCounts, Released, Request, Scale,
    automatic_for_streams,
};
use std::sync::Arc;

/// States which sums are needed, and what is public.
#[derive(Debug, Clone)]
pub struct SumsTerms {
    /// Order of the entries.
    pub layout: GramLayout,
    /// Rounds after which sums are released, ascending, at least 1.
    pub due: Arc<[u64]>,
    /// Number of rounds in all.
    pub rounds: u64,
    /// Bound on the Euclidean length of a context, enforced.
    pub context_length: f64,
    /// Range of rewards, enforced.
    pub range: (f64, f64),
    /// Calibration, participation and mechanism: `auto`, `tree`, `honaker`, `blt`, `sqrt-toeplitz`, `banded-toeplitz` or
    /// `normalised-toeplitz`; `auto`, `local-gaussian` or `privunit` where `local`.
    pub request: Request,
    /// Privacy budget.
    pub budget: (Epsilon, Delta),
    /// True if every user adds their own noise.
    pub local: bool,
}

impl SumsTerms {
    /// Returns the standard deviation of the noise on release `at`, counted from 0.
    fn std(&self, noise: &GramStream, at: usize) -> f64 {
        // Where every user has added a draw, the sums have one of each.
        if self.local { noise.sigma * libm::sqrt(self.due[at] as f64) } else { noise.std(at) }
    }
}

/// Holds calibrated sums, shared by all trials.
#[derive(Debug)]
pub struct InteractionSums {
    terms: SumsTerms,
    noise: GramStream,
    /// Release of every user's own item on a sphere, in place of the noise.
    own: Option<Box<PrivUnitItem>>,
    clip: GramClip,
    claim: Claim,
}

impl InteractionSums {
    /// Calibrates the mechanism.
    ///
    /// # Errors
    /// A refusal of a mechanism or budget that does not fit.
    pub fn calibrated(terms: SumsTerms) -> Result<Self, Refusal> {
        if !terms.local || terms.request.mechanism != "auto" || !terms.request.calibration.redesigns() {
            return Self::named(terms);
        }
        let of = |mechanism| Self::named(SumsTerms { request: Request { mechanism, ..terms.request }, ..terms.clone() });
        let (gaussian, sphere) = (of("local-gaussian"), of(privunit::ENTRY.name));
        match (gaussian, sphere) {
            (Ok(gaussian), Ok(sphere)) => Ok(if gaussian.sigma() < sphere.sigma() { gaussian } else { sphere }),
            (gaussian, sphere) => sphere.or(gaussian),
        }
    }

    fn named(terms: SumsTerms) -> Result<Self, Refusal> {
        let (epsilon, delta) = terms.budget;
        let releases = terms.due.len().max(1) as u64;
        let protects = if terms.local { Protects::LocalSums } else { Protects::JointSums };
        let ends = terms.due.iter().scan(0, |before, &end| Some(end - std::mem::replace(before, end)));
        let once = terms.local || terms.request.budget.participation.is_once();
        let rows =
            if once { Participation::ONCE } else { terms.request.budget.participation.in_rows_of(ends.max().unwrap_or(1)) };
        let name = automatic_for_streams(terms.request.mechanism, protects, terms.request.calibration, rows, releases);
        if terms.local && !matches!(name, "local-gaussian" | "privunit") {
            let message = format!("`{name}` is noise of a trusted curator, and here everybody adds their own");
            return Err(Refusal::new("mechanism", message, "`auto`, `local-gaussian`, `privunit` or `none`"));
        }
        if !terms.request.calibration.corrects() && !matches!(name, "tree" | "local-gaussian") {
            return Err(Refusal::new("mechanism", "the paper prints the tree and no other mechanism", "`tree`, or `auto`"));
        }
        let found = Factor::named(name);
        let factor = found.unwrap_or(Factor::Own);
        let factorisation: Arc<dyn Factorisation> = match found {
            Some(factor) => factor.factorisation(releases, rows),
            // The draws of all users add up.
            None if terms.local => Arc::new(Own::new(releases)),
            None => {
                let of = if matches!(name, "local-gaussian" | "privunit") { "every user's own item" } else { "a choice" };
                let message = format!("`{name}` is noise of {of}, and this policy releases sums");
                return Err(Refusal::new(
                    "mechanism",
                    message,
                    "`auto`, `tree`, `honaker`, `blt`, `sqrt-toeplitz`, `banded-toeplitz` or `normalised-toeplitz`",
                ));
            }
        };
        let budget = Budget { participation: terms.request.budget.participation, ..terms.budget.into() };
        // Users who add their own noise make a release in each participation.
        let answers = if terms.local { libm::sqrt(budget.participation.releases() as f64) } else { 1.0 };
        let columns = answers * columns(factorisation.as_ref(), rows);
        let (lo, hi) = terms.range;
        let (centre, half) = (0.5 * lo + 0.5 * hi, 0.5 * (hi - lo));
        let (length, reach) = (terms.context_length, lo.abs().max(hi.abs()));
        // A length that exceeds the bound by a rounding error is shortened by that error.
        let as_given = GramClip { length, whole: length, ..GramClip::unit(Some(terms.range), 0.0) };
        let (clip, reward_bound) = if terms.request.calibration.redesigns() {
            // For y in [-1/2, 1/2] the effective sensitivity is 1.25 (erratum E7, `docs/privacy.md`).
            (GramClip { centre, reward_unit: 2.0 * half, feature_unit: length, ..as_given }, 0.5)
        } else {
            (as_given, reach)
        };
        let claim = |budget: Budget, event: Event, noise_formula: String| {
            let request = Request { mechanism: name, budget, clip: Some(terms.range), ..terms.request };
            let unit = ClaimUnit::Interaction { clip: request.clip, local: terms.local };
            let note = format!(
                "contexts are shortened to length {length}; sums are released after {} of {} rounds",
                terms.due.len(),
                terms.rounds
            );
            Claim { notes: vec![note], ..Claim::of(&request, unit, event, noise_formula) }
        };
        if name == privunit::ENTRY.name {
            let (layout, length) = (terms.layout, clip.length / clip.feature_unit);
            let rows = layout.n_groups() * layout.n_rows();
            let item = PrivUnitItem::new(budget.answer(terms.budget.0), (layout.shape(), rows), (length, reward_bound), name)?;
            let noise = GramStream::new(factorisation, item.std());
            let claim = claim(Budget { delta: None, ..budget }, item.event(), item.formula());
            return Ok(Self { terms, noise, own: Some(Box::new(item)), clip, claim });
        }
        // In the local model every user's item is released on its own.
        let stated = if terms.local { 1 } else { releases };
        let release = GramRelease {
            factor,
            releases: stated,
            length: clip.length / clip.feature_unit,
            reward: Some(reward_bound),
            reward_unit: 1.0,
            participation: rows,
        };
        let symbols = [("epsilon", epsilon.get()), ("delta", delta.get())];
        let printed = if terms.local {
            // Printed for |x| <= 1 and |r| <= 1; other lengths scale by the square of the longer one.
            let Scale { size, formula } = zheng2020::SIGMA.scale(&symbols);
            Scale { size: size * (length * length).max(length * reach), formula }
        } else {
            let sizes = [("n", f64::from(dubey2021::nodes_printed(releases))), ("S", length * length + reach * reach)];
            shariff2018::SIGMA.scale(&[sizes, symbols].concat())
        };
        let formula = format!("{}, never below what the claim needs", printed.formula);
        let least = "sigma = 1.25 |columns| sigma_AG(epsilon, delta), contexts and rewards in their units (E7)";
        let printed = (printed.clone(), Scale { formula, ..printed });
        let Scale { size: sigma, formula } = release.scale(terms.request.calibration, terms.budget, columns, least, printed)?;
        let claim = claim(budget, release.event(sigma), format!("sigma = {sigma:.6}: {formula}"));
        Ok(Self { terms, noise: GramStream::new(factorisation, sigma), own: None, clip, claim })
    }

    /// Returns the divisor of contexts in the sums.
    pub fn context_unit(&self) -> f64 {
        self.clip.feature_unit
    }

    /// Returns the divisor of rewards.
    pub fn reward_unit(&self) -> f64 {
        self.clip.reward_unit
    }

    /// Returns which sums are released, from which data.
    pub fn terms(&self) -> &SumsTerms {
        &self.terms
    }

    /// Returns the standard deviation of a draw.
    pub fn sigma(&self) -> f64 {
        self.noise.sigma
    }

    /// Returns the standard deviation of the noise on release `at`, counted from 1.
    pub fn std(&self, at: u64) -> f64 {
        self.terms.std(&self.noise, at as usize - 1)
    }

    /// Makes the privatizer of a trial before its first round.
    pub fn privatizer(&self) -> Box<dyn InteractionPrivatizer> {
        let layout = self.terms.layout;
        let sums = match self.own.as_deref() {
            Some(&item) => {
                HeldSums::Own(OwnItems { item, sum: vec![0.0; layout.shape().len()], entries: Vec::new(), draws: Vec::new() })
            }
            None => HeldSums::Noisy(self.noise.sums(layout.shape())),
        };
        Box::new(InteractionSumsPrivatizer {
            terms: self.terms.clone(),
            clip: self.clip,
            sums,
            noise: self.noise.clone(),
            z: vec![0.0; layout.dimension],
            round: 0,
            releases: 0,
        })
    }

    /// Returns the ledger: claimed and delivered loss.
    pub fn ledger(&self) -> Ledger {
        Ledger::of(self.claim.clone())
    }
}

/// Holds the sum of every user's own released item.
struct OwnItems {
    item: PrivUnitItem,
    sum: Vec<f64>,
    /// The item of one user.
    entries: Vec<f64>,
    draws: Vec<f64>,
}

enum HeldSums {
    /// Sums that get their noise when they are released.
    Noisy(PrefixSums),
    Own(OwnItems),
}

struct InteractionSumsPrivatizer {
    terms: SumsTerms,
    clip: GramClip,
    sums: HeldSums,
    noise: GramStream,
    z: Vec<f64>,
    round: u64,
    releases: usize,
}

impl InteractionSumsPrivatizer {
    /// Opens an interaction and adds it.
    /// One with a wrong length, an unknown arm or a context that is not finite adds nothing; a NaN reward counts as the centre.
    fn add(&mut self, interaction: Interaction<'_>, noise: &mut Noise<'_>) {
        let Interaction { context, arm, reward } = interaction;
        let item = self.clip.item(context, Raw::seal(reward), &mut ReleaseCounts::default(), &mut self.z);
        let known = item.filter(|_| arm < self.terms.layout.n_blocks);
        match &mut self.sums {
            HeldSums::Own(OwnItems { item, sum, entries, draws }) => {
                entries.clear();
                entries.resize(sum.len(), 0.0);
                if let Some(y) = known {
                    self.terms.layout.add(entries, arm, &self.z, y);
                }
                item.release(entries, noise, draws);
                sum.iter_mut().zip(&*entries).for_each(|(sum, entry)| *sum += entry);
            }
            HeldSums::Noisy(sums) => {
                if let Some(y) = known {
                    sums.add_by(|sums| self.terms.layout.add(sums, arm, &self.z, y));
                }
            }
        }
    }
}

impl InteractionPrivatizer for InteractionSumsPrivatizer {
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, mut noise: Noise<'_>) -> Released<InteractionSignal<'a>> {
        self.add(interaction.open(), &mut noise);
        self.round += 1;
        if self.terms.due.get(self.releases) != Some(&self.round) {
            return Released::mark(InteractionSignal::Nothing);
        }
        // In the local model every user since the last release has added a draw: one draw with the law of their sum replaces
        // them.
        let before = if self.releases == 0 { 0 } else { self.terms.due[self.releases - 1] };
        let local = self.terms.local && !planted::is(PlantedFault::OwnNoise);
        let (layout, sigma) = (self.terms.layout, self.noise.sigma);
        let sigma = if local { sigma * libm::sqrt((self.round - before) as f64) } else { sigma };
        let gram_std = self.terms.std(&self.noise, self.releases);
        self.releases += 1;
        match &mut self.sums {
            HeldSums::Own(OwnItems { sum, .. }) => Released::mark(InteractionSignal::Sums { layout, entries: sum, gram_std }),
            HeldSums::Noisy(sums) => match sums.next_of(sigma, &mut noise) {
                Ok(entries) => entries.map(|entries| InteractionSignal::Sums { layout, entries, gram_std }),
                Err(_) => Released::mark(InteractionSignal::Nothing),
            },
        }
    }
}
