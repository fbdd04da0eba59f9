//! Releases running sums by a trusted privatizer \[Dubey2021, algorithm 2\].
//! They are one Gaussian mechanism over matrix and vector, whose noise follows any factorisation of prefix sums (`streams`).
//!
//! * as printed: the tree with fresh noise in every node, sigma of the proof of lemma 2 (erratum E8, `docs/privacy.md`),
//!   rewards not centred, and clipped only where they are bounded.
//! * corrected: the same formula at the sensitivity of the released sums, `1 + Y²` or `2 Y` (E7), with rewards clipped; for
//!   other factorisations the norm of their columns replaces `sqrt(n)`.
//! * tight: rewards clipped, centred and in units of the clip range, sigma by the analytic Gaussian mechanism at the norm of the
//!   columns. Where points and features are public, sums of features are functions of released values and have no noise.
//!
//! Proof: `docs/proofs/sums.md`.

use super::{Epochs, Spectrum, Sums, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::accounting::sensitivity::{Participation, Relation, gram_and_reward};
use crate::calibration::NoiseTerms;
use crate::event::Factor;
use crate::gram::{GramClip, GramLayout, GramRelease, GramStream};
use crate::mechanism::window::Window;
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::printed::{dubey2021, shariff2018};
use crate::streams::{Factorisation, PrefixSums, Shape, columns, toeplitz};
use crate::{
    Calibrated, Calibration, Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Privatizer, Protection, Query, Raw, Refusal,
    ReleaseCounts, Released, Request, RewardFacts, Scale, Signal, analytic_gaussian_sigma,
};
use std::sync::Arc;

/// Registry entries.
pub const ENTRIES: [SumsEntry; 6] = [
    entry("tree", "binary tree of prefix sums, fresh noise in every node", "Dubey2021"),
    entry("honaker", "the tree, each node estimated from its children's noise too", "Honaker2015"),
    entry("blt", "buffered linear Toeplitz noise: little, in a few buffers", "Dvijotham2024"),
    entry(
        "sqrt-toeplitz",
        "square-root Toeplitz noise: the smallest largest variance of all Toeplitz factorisations; stores every draw",
        "Fichtenberger2023",
    ),
    entry(
        "banded-toeplitz",
        "square-root Toeplitz noise cut off after a band: less for users who return; stores a band of draws",
        "Kalinin2024",
    ),
    entry(
        "normalised-toeplitz",
        "buffers with scaled rows, or a band for users who return, with columns of one norm: the least largest error; more noise on the first releases",
        "Henzinger2025",
    ),
];

const fn entry(name: &'static str, summary: &'static str, paper: &'static str) -> SumsEntry {
    SumsEntry { name, summary, paper, serves: Protection::Sums, build }
}

/// Holds one continuous stream: a known horizon, or one epoch of an unknown one.
#[derive(Debug, Clone)]
struct Epoch {
    /// Number of rounds.
    rounds: u64,
    /// Horizon that the noise assumes.
    horizon: u64,
    noise: GramStream,
}

#[derive(Debug, Clone)]
struct Joint {
    factor: Factor,
    request: Request,
    /// How often one user takes part, in releases of one epoch.
    participation: Participation,
    need: SumsNeed,
    rewards: Rewards,
    epochs: Arc<[Epoch]>,
    spectrum: Spectrum,
    noise_formula: Arc<str>,
}

/// Returns the lengths 1, 1, 2, 4, 8, … of the epochs that cover `rounds` rounds, and their ends.
fn epoch_rounds(rounds: u64) -> impl Iterator<Item = (u64, u64)> {
    let ends = std::iter::successors(Some(1_u64), |end| end.checked_mul(2));
    let mut before = 0;
    ends.map(move |end| {
        let length = end - before;
        let first = before;
        before = end;
        (first, length, end)
    })
    .take_while(move |&(first, ..)| first < rounds)
    .map(|(_, length, end)| (length, end))
}

/// Calibrates the mechanism.
///
/// # Errors
/// A refusal on `epsilon` or `delta` (missing, out of range, or noise beyond f64), `clip` (empty, or missing with unbounded
/// noise) or `mechanism` (the papers print the tree only).
fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Calibrated<dyn SumsMechanism> {
    let Some(factor) = Factor::named(request.mechanism) else {
        return Err(Refusal::new(
            "mechanism",
            format!("`{}` is no noise of running sums", request.mechanism),
            "`tree`, `honaker`, `blt`, `sqrt-toeplitz`, `banded-toeplitz` or `normalised-toeplitz`",
        ));
    };
    let (epsilon, delta) = (request.epsilon()?, request.delta(facts.rounds)?);
    if !request.calibration.corrects() && factor != Factor::Tree {
        return Err(Refusal::new("mechanism", "the papers print the tree and no other mechanism", "`tree`, or `auto`")
            .hint("with `calibration = \"corrected\"` or `\"tight\"` every mechanism is calibrated"));
    }
    need.refuse_rewards_of_papers(request.calibration)?;
    let rewards = Rewards::of(request, facts)?;
    let participation = need.in_releases(request.budget.participation);
    let stream = |releases: u64, rounds: u64, horizon: u64| -> Result<(Epoch, String), Refusal> {
        let factorisation = factor.factorisation(releases, participation);
        let norm = columns(factorisation.as_ref(), participation);
        if let Some(width) = rewards.width().filter(|_| need.rewards_alone) {
            let moved = norm * width / rewards.clip.reward_unit;
            let Scale { size, formula } = of_rewards(request.calibration, (epsilon, delta), moved)?;
            Refusal::unless_normal(size, factor.name(), epsilon.get())?;
            Refusal::unless_normal(size * rewards.clip.reward_unit, factor.name(), epsilon.get())?;
            return Ok((Epoch { rounds, horizon, noise: GramStream::new(factorisation, size) }, formula));
        }
        let release = rewards.release(factor, factorisation.as_ref(), participation);
        let printed = rewards.printed(need.linear, (release, norm), horizon, (epsilon, delta));
        let least = "sigma = D |C| sigma_AG(epsilon, delta), D = 1 + Y² or 2Y on centred rewards, 1.25 in units of the clip range (E7), |C| the norm of a column [BalleWang2018]";
        let Scale { size, formula } = release.scale(request.calibration, (epsilon, delta), norm, least, printed)?;
        Refusal::unless_normal(size * rewards.clip.reward_unit, factor.name(), epsilon.get())?;
        Ok((Epoch { rounds, horizon, noise: GramStream::new(factorisation, size) }, formula))
    };
    let made: Vec<(Epoch, String)> = match need.epochs {
        Epochs::One => vec![stream(need.releases, need.rounds, need.rounds)?],
        Epochs::Restart | Epochs::Carry => {
            epoch_rounds(need.rounds).map(|(length, end)| stream(length, length, end)).collect::<Result<_, _>>()?
        }
    };
    let noise_formula = made.last().map_or("", |(_, words)| words.as_str()).into();
    let epochs: Arc<[Epoch]> = made.into_iter().map(|(epoch, _)| epoch).collect();
    let gram = largest(request.calibration, factor, &epochs);
    let moment = gram * rewards.clip.reward_unit;
    let spectrum = if need.rewards_alone { Spectrum::Moments { std: moment } } else { Spectrum::Joint { gram, moment } };
    let request = request.at(Some(delta));
    Ok(Arc::new(Joint { factor, request, participation, need, rewards, epochs, spectrum, noise_formula }))
}

/// Returns the noise of sums of rewards at public points, which one user moves by at most `moved` in C x.
fn of_rewards(calibration: Calibration, (epsilon, delta): (Epsilon, Delta), moved: f64) -> Result<Scale, Refusal> {
    let least = "sigma = (hi - lo) |C| sigma_AG(epsilon, delta), |C| the norm of a column [BalleWang2018]";
    let event = |sigma| Event::Gaussian { sigma, sensitivity: moved };
    calibration.scale(NoiseTerms {
        closed: Some(moved * analytic_gaussian_sigma(epsilon, delta)),
        ..NoiseTerms::priced(epsilon, Some(delta), &event, least)
    })
}

/// Returns lemma 3's largest standard deviation: `sigma sqrt(n)` for trees, else the exact one.
fn largest(calibration: Calibration, factor: Factor, epochs: &[Epoch]) -> f64 {
    let of = |epoch: &Epoch| match factor {
        Factor::Tree if !calibration.redesigns() => {
            epoch.noise.sigma * libm::sqrt(f64::from(dubey2021::nodes_printed(epoch.noise.factorisation.rounds())))
        }
        _ => epoch.noise.largest_std(),
    };
    epochs.iter().map(of).fold(0.0, f64::max)
}

/// Says how rewards are clipped, and bounds them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rewards {
    pub(super) clip: GramClip,
    pub(super) reach: Option<f64>,
    pub(super) bound: f64,
    pub(super) noise_std: f64,
}

impl Rewards {
    /// # Errors
    /// Those of [`Window::of`]; for unbounded rewards as printed, a clip, or noise of unknown variance.
    pub(super) fn of(request: &Request, facts: &RewardFacts) -> Result<Self, Refusal> {
        let bounded = facts.range.is_some() || facts.noise_bound.is_some();
        let noise_std = facts.noise_variance.map_or(f64::NAN, libm::sqrt);
        if !request.calibration.corrects() && !bounded {
            if request.clip.is_some() {
                return Err(Refusal::new("clip", "the as-printed calibration does not clip unbounded rewards", "no `clip`")
                    .hint("`calibration = \"corrected\"` clips, and its promise holds (E3)"));
            }
            if noise_std.is_nan() {
                return Err(Window::unstated(
                    request,
                    "scales its noise by the variance of rewards, and this problem's has none",
                ));
            }
            let clip = GramClip::unit(None, 0.0);
            return Ok(Self { clip, reach: None, bound: facts.bound, noise_std });
        }
        let (lo, hi) = Window::of(request, facts)?.range();
        let centre = if request.calibration.redesigns() { 0.5 * lo + 0.5 * hi } else { 0.0 };
        let reach = (hi - centre).abs().max((lo - centre).abs());
        // In [-1/2, 1/2] rewards move both sums by 1.25 whatever their range.
        let reward_unit = if request.calibration.redesigns() { 2.0 * reach } else { 1.0 };
        let clip = GramClip { reward_unit, ..GramClip::unit(Some((lo, hi)), centre) };
        Ok(Self { clip, reach: Some(reach), bound: facts.bound, noise_std })
    }

    /// States the release of one stream.
    fn release(&self, factor: Factor, factorisation: &dyn Factorisation, participation: Participation) -> GramRelease {
        let (releases, reward_unit) = (factorisation.rounds(), self.clip.reward_unit);
        GramRelease { factor, releases, length: 1.0, reward: self.reach, reward_unit, participation }
    }

    /// Returns by how much one reward moves the sum at a public point; `None` where rewards have no bound.
    fn width(&self) -> Option<f64> {
        self.reach.map(|reach| 2.0 * reach * planted::noise_share(PlantedFault::PublicSums))
    }

    /// Returns the largest reward in the units of the stream; `None` if unbounded.
    pub(super) fn in_units(&self) -> Option<f64> {
        self.reach.map(|reach| reach / self.clip.reward_unit)
    }

    /// Returns the scale as printed, and by lemma 2 at the sensitivity of what is released.
    /// For other factorisations than the tree, the norm of their columns replaces `sqrt(n)`.
    fn printed(
        &self,
        linear: bool,
        (release, norm): (GramRelease, f64),
        horizon: u64,
        (epsilon, delta): (Epsilon, Delta),
    ) -> (Scale, Scale) {
        let nodes = f64::from(dubey2021::nodes_printed(release.releases));
        let squared = match self.reach {
            // Bounded rewards need no logarithm [Dubey2021, section 6.1].
            Some(reach) => 1.0 + reach * reach,
            None => dubey2021::squared_norm(self.bound, self.noise_std, horizon, delta.get()),
        };
        let formula = if linear { &shariff2018::SIGMA } else { &dubey2021::SIGMA_OF_THE_PROOF };
        let printed = formula.scale(&[("n", nodes), ("S", squared), ("epsilon", epsilon.get()), ("delta", delta.get())]);
        let n = if release.factor == Factor::Tree { libm::sqrt(nodes) } else { norm };
        let corrected = Scale {
            size: 4.0 * n * release.distance() * libm::log(10.0 / delta.get()) / epsilon.get(),
            formula: "sigma = 4 sqrt(n) D ln(10/delta)/epsilon, D = 1 + Y² or 2Y: lemma 2 at the sensitivity of what is released (E7, E8)"
                .to_owned(),
        };
        (printed, corrected)
    }
}

impl Joint {
    /// Returns what gets noise: matrix and vector, or the vector alone.
    fn shape(&self) -> Shape {
        if self.need.rewards_alone { Shape::Vector(self.need.n_features) } else { Shape::Bordered(self.need.n_features) }
    }
}

impl crate::privatizer::sealed::Sealed for Joint {}

impl SumsMechanism for Joint {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(JointPrivatizer::new(self.clone()))
    }

    fn facts(&self) -> SumsFacts {
        let Self { request, rewards: Rewards { clip, .. }, spectrum, .. } = *self;
        SumsFacts { calibration: request.calibration, clip: clip.range, centre: clip.centre, spectrum }
    }

    fn ledger(&self) -> Ledger {
        let Self { factor, participation, need, rewards, .. } = *self;
        let clip = rewards.clip;
        // Epochs have independent noise: k participations, in one or several, change the releases by at most k times the worst
        // epoch's mu.
        let mu = |epoch: &Epoch| columns(epoch.noise.factorisation.as_ref(), participation) / epoch.noise.sigma;
        let worst = self.epochs.iter().max_by(|a, b| mu(a).total_cmp(&mu(b)));
        let event = worst.map_or(Event::NonPrivate, |epoch| {
            let (factorisation, sigma) = (epoch.noise.factorisation.as_ref(), epoch.noise.sigma);
            match rewards.width().filter(|_| need.rewards_alone) {
                Some(width) => {
                    let sensitivity = width * columns(factorisation, participation);
                    Event::Gaussian { sigma: sigma * clip.reward_unit, sensitivity }
                }
                None => rewards.release(factor, factorisation, participation).event(sigma),
            }
        });
        let mut notes = Vec::new();
        if need.releases < need.rounds {
            notes.push(format!(
                "at most {} releases, at rounds that follow from earlier releases alone; all rounds between two releases enter together",
                need.releases
            ));
        }
        let how = match need.epochs {
            Epochs::One => None,
            Epochs::Restart => Some("each from nothing, with noise of its own"),
            Epochs::Carry => Some("each with noise of its own and added to the last release of the one before"),
        };
        notes.extend(
            how.map(|how| format!("epochs of 1, 1, 2, 4, 8, … rounds, {how}; the stated draw is of the one that costs most")),
        );
        let unit = match clip.range.filter(|_| need.rewards_alone) {
            Some(range) => {
                notes.push(
                    "points are public, so that sums of features are functions of released values and have no noise".to_owned(),
                );
                ClaimUnit::SummedReward { clip: range, centre: Some(clip.centre) }
            }
            None => ClaimUnit::GramItem { clip: clip.range, centre: clip.centre, local: false },
        };
        Ledger::of(Claim { notes, ..Claim::of(&self.request, unit, event, &*self.noise_formula) })
    }

    /// Beside the noise: sum, last releases of this and earlier epochs, and, for the round under way, item and release, all with
    /// a matrix, also where that has no noise.
    fn state(&self) -> f64 {
        let (length, whole) = (self.shape().len() as f64, Shape::Bordered(self.need.n_features).len() as f64);
        let noise = |epoch: &Epoch| match (self.factor, epoch.noise.factorisation.rounds()) {
            (Factor::SqrtToeplitz, rounds) => rounds as f64 * length + toeplitz::work_space(rounds),
            _ => epoch.noise.factorisation.noise(Shape::Vector(1)).state() as f64 * length,
        };
        self.epochs.iter().map(noise).fold(0.0, f64::max) + 5.0 * whole
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        self.request.budget.exact_is_once()?;
        let Some(reach) = self.rewards.in_units() else {
            return Err(ReleaseError::Range("a mechanism that clips no reward".to_owned()));
        };
        let shape = self.shape();
        let distance = if self.need.rewards_alone { 2.0 * reach } else { gram_and_reward(reach, Relation::Replace) };
        let of = |epoch: &Epoch| Ok(Epoch { noise: epoch.noise.exact(shape, distance, epoch.rounds)?, ..*epoch });
        Ok(Arc::new(Self { epochs: self.epochs.iter().map(of).collect::<Result<_, _>>()?, ..self.clone() }))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        self.epochs.iter().filter_map(|epoch| Some(epoch.noise.grid?.gaussian_law())).collect()
    }
}

/// Holds raw sums and the state of the noise.
struct JointPrivatizer {
    mechanism: Joint,
    epoch: usize,
    /// Rounds received in this epoch.
    rounds: u64,
    sums: Option<PrefixSums>,
    /// Features of the user of this round.
    z: Vec<f64>,
    /// Sums of public features in this epoch, without a vector; empty where they are private.
    public: Vec<f64>,
    /// Last release of the earlier epochs, if sums are carried over.
    before: Sums,
    /// The last release.
    last: Option<Arc<Sums>>,
    counts: ReleaseCounts,
}

impl JointPrivatizer {
    fn new(mechanism: Joint) -> Self {
        let m = mechanism.need.n_features;
        let mut made = Self {
            epoch: 0,
            rounds: 0,
            sums: None,
            z: vec![0.0; m],
            public: Vec::new(),
            before: Sums::empty(m, mechanism.need.rounds),
            last: None,
            counts: ReleaseCounts::default(),
            mechanism,
        };
        made.open();
        made
    }

    /// Starts the stream of the current epoch; `None` after the horizon.
    fn open(&mut self) {
        let shape = self.mechanism.shape();
        if self.mechanism.need.rewards_alone {
            self.public = vec![0.0; Shape::Bordered(self.z.len()).len()];
        }
        self.sums = self.mechanism.epochs.get(self.epoch).map(|epoch| epoch.noise.sums(shape));
    }

    fn horizon(&self) -> u64 {
        self.mechanism.epochs.get(self.epoch).map_or(self.mechanism.need.rounds, |epoch| epoch.horizon)
    }

    /// Releases the sums so far.
    fn give_out(&mut self, mut noise: Noise<'_>) -> Signal {
        let horizon = self.horizon();
        let (Some(epoch), Some(sums)) = (self.mechanism.epochs.get(self.epoch), &mut self.sums) else { return Signal::Nothing };
        let row = sums.round() as usize;
        let Ok(released) = sums.next_owned(&mut noise) else { return Signal::Nothing };
        let mut entries = released.into_value();
        let matrix = self.public.len().saturating_sub(self.z.len());
        entries.splice(..0, self.public[..matrix].iter().copied());
        let vector = entries.len() - self.z.len();
        self.mechanism.rewards.clip.in_rewards(&mut entries[vector..]);
        if 0 < self.before.users {
            entries.iter_mut().zip(&self.before.entries).for_each(|(entry, before)| *entry += before);
        }
        // The noise carried over is independent of this epoch's noise.
        let std = epoch.noise.std(row);
        let gram_std = if self.public.is_empty() { libm::hypot(std, self.before.gram_std) } else { 0.0 };
        let moment_std = libm::hypot(std * self.mechanism.rewards.clip.reward_unit, self.before.moment_std);
        let users = self.before.users + self.rounds;
        self.counts.releases += 1;
        let sums = Arc::new(Sums { entries, users, gram_std, moment_std, horizon });
        self.last = Some(Arc::clone(&sums));
        Signal::Sums(sums)
    }

    /// Ends the epoch if its rounds are over.
    fn turn(&mut self) {
        let over = self.mechanism.epochs.get(self.epoch).is_some_and(|epoch| epoch.rounds <= self.rounds);
        if over && self.mechanism.need.epochs != Epochs::One {
            if let (Epochs::Carry, Some(last)) = (self.mechanism.need.epochs, &self.last) {
                self.before = Sums::clone(last);
            }
            self.epoch += 1;
            self.rounds = 0;
            self.open();
        }
    }
}

impl Privatizer for JointPrivatizer {
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, noise: Noise<'_>) -> Released<Signal> {
        let item = self.mechanism.rewards.clip.item(&query.features, reward, &mut self.counts, &mut self.z);
        if let (Some(y), Some(sums)) = (item, &mut self.sums) {
            let layout = GramLayout::single(self.z.len());
            if self.public.is_empty() {
                sums.add_by(|sums| layout.add(sums, 0, &self.z, y));
            } else {
                layout.add(&mut self.public, 0, &self.z, 0.0);
                sums.add_by(|sums| sums.iter_mut().zip(&self.z).for_each(|(sum, x)| *sum += y * x));
            }
        }
        self.rounds += 1;
        let signal = if query.release { self.give_out(noise) } else { Signal::Nothing };
        self.turn();
        Released::mark(signal)
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }
}
