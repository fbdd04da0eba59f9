//! Calibrates the noise of gradients.
//! Each calibration has its noise for a budget, and every noise has its price.
//!
//! Sensitivities are for a replaced sample, in the dual norm l_q of the geometry's l_p. A gradient changes by at most `2 L`; a
//! contribution `(t + 1) grad - t grad'` by at most `2 (lr beta D + L)`, because steps are at most `lr/t` of the diameter
//! [Han2022, theorem 3.1]; a difference of gradients across a step `eta` by at most `2 beta eta D`.

use super::{BatchPlan, ChoiceLaw, Clip, GeneralizedGaussian, IsotropicGaussian, SampleClip, Start, VectorNoise};
use crate::accounting::choices::sum_over_rounds;
use crate::accounting::sensitivity::{Participation, from_lq};
use crate::accounting::{subsampled, zcdp};
use crate::calibration::NoiseTerms;
use crate::planted::{self, PlantedFault};
use crate::printed::{Formula, bassily2020, han2022_choice, han2022_tree};
use crate::priv_unit::{PrivUnit, PrivUnitNoise};
use crate::streams::Factorisation;
use crate::{Budget, Calibration, Delta, Epsilon, Event, Refusal, Scale, gdp_mu};
use privateer_numerics::linalg::Norm;

/// Holds the constants of a loss over a set, in the set's norm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constants {
    /// Diameter of the set.
    pub diameter: f64,
    /// Smoothness beta of the loss.
    pub smoothness: f64,
    /// Lipschitz constant L of the loss; infinite if gradients are unbounded.
    pub lipschitz: f64,
}

impl Constants {
    /// Returns the bound `lr beta D + L` on one contribution.
    pub fn contribution(&self, learning_rate: f64) -> f64 {
        learning_rate * self.smoothness * self.diameter + self.lipschitz
    }
}

/// Holds the inputs of a calibration, each of which refuses a law that the calibration does not offer.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// Privacy budget; `None` adds no noise.
    pub budget: Option<(Epsilon, Delta)>,
    /// How often one user gives a sample.
    pub participation: Participation,
    /// Number of samples.
    pub rounds: u64,
    /// Dimension d.
    pub dimension: usize,
    /// Norm l_p of the geometry.
    pub norm: Norm,
    /// Constants that hold; with a clip, those that the clip enforces.
    pub actual: Constants,
    /// Constants used in the printed formulas; only for the as-printed calibration.
    pub stated: Constants,
    /// Ball into which features are clipped; `None` clips neither features nor gradients.
    pub clip: Option<SampleClip>,
}

/// Names the law of noise on a vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VectorLaw {
    /// No noise.
    None,
    /// Independent normals.
    Gaussian {
        /// Standard deviation of an entry.
        sigma: f64,
    },
    /// Generalised Gaussian noise, see [`GeneralizedGaussian`].
    Generalized {
        /// Exponent of the norm.
        exponent: f64,
        /// Multiplier of the norm.
        multiplier: f64,
        /// Scale of the noise.
        sigma: f64,
    },
    /// A release on a sphere in place of a gradient and its noise, for gradients that use each sample once.
    Unit(PrivUnit),
}

impl VectorLaw {
    /// Returns the sampler; `None` for no noise.
    pub fn sampler(self) -> Option<Box<dyn VectorNoise>> {
        match self {
            Self::None => None,
            Self::Gaussian { sigma } => Some(Box::new(IsotropicGaussian { sigma })),
            Self::Generalized { exponent, multiplier, sigma } => {
                Some(Box::new(GeneralizedGaussian::new(exponent, multiplier, sigma)))
            }
            Self::Unit(mechanism) => Some(Box::new(PrivUnitNoise::from(mechanism))),
        }
    }

    /// Bounds the root mean square of a draw's Euclidean length in `d` dimensions; exact for independent normals.
    pub fn length(self, d: usize) -> f64 {
        let root = libm::sqrt(d as f64);
        match self {
            Self::None => 0.0,
            Self::Gaussian { sigma } => sigma * root,
            Self::Unit(mechanism) => mechanism.std() * root,
            // The mean of |z|_+² is d sigma², and |z|_+ = multiplier |z|_e.
            Self::Generalized { exponent, multiplier, sigma } => from_lq(sigma * root / multiplier, exponent, d),
        }
    }
}

/// Holds noise together with its price.
#[derive(Debug, Clone)]
pub struct PricedNoise<N> {
    /// The noise.
    pub noise: N,
    /// What is done, for the accountant.
    pub event: Event,
    /// The formula that set the noise.
    pub noise_formula: String,
}

impl<N> PricedNoise<N> {
    fn without(noise: N) -> Self {
        Self { noise, event: Event::NonPrivate, noise_formula: "no noise".to_owned() }
    }
}

/// The smooth norm of generalised Gaussian noise.
#[derive(Debug, Clone, Copy)]
struct Smooth {
    exponent: f64,
    multiplier: f64,
    /// Smoothness constant in the calibration formula.
    kappa: f64,
    /// Constant for which D_a <= a kappa s²/(2 sigma²) is proved; `None` if there is no proof.
    proved: Option<f64>,
}

impl Terms {
    fn q(&self) -> f64 {
        self.norm.dual().exponent()
    }

    /// Returns the Lipschitz constant L for a learner's steps.
    /// This is the actual constant, or the stated one if the actual one is infinite.
    pub fn lipschitz(&self) -> f64 {
        if self.actual.lipschitz.is_finite() { self.actual.lipschitz } else { self.stated.lipschitz }
    }

    /// Returns the bounds of the privatizers at this learning rate; `None` without a clip.
    pub fn bounds(&self, learning_rate: f64) -> Option<Clip> {
        self.clip.map(|sample| Clip {
            sample,
            norm: self.norm.dual(),
            gradient: self.actual.lipschitz,
            contribution: self.actual.contribution(learning_rate),
        })
    }

    /// Returns how the recursive estimate of noisy choices starts.
    pub fn choice_start(&self) -> Start {
        if self.budget.is_some() && !self.calibration.corrects() { Start::Full } else { Start::Half }
    }

    /// Returns `Some` only if a guarantee is possible: with a clip and a finite sensitivity.
    fn bounded(&self, sensitivity: f64) -> Option<f64> {
        (self.clip.is_some() && sensitivity.is_finite()).then_some(sensitivity)
    }

    /// Returns the budget; refuses one whose calibration is private through a clip that is left out.
    fn clipped_budget(&self) -> Result<Option<(Epsilon, Delta)>, Refusal> {
        if self.clip.is_some() || !self.calibration.corrects() || self.budget.is_none() {
            return Ok(self.budget);
        }
        Err(Refusal::new(
            "clip",
            format!("the {} calibration is private through its clip, and `clip` is false", self.calibration),
            "no `clip`, or `calibration = \"as-printed\"`",
        ))
    }

    /// Returns the number of samples of one user.
    fn group(&self) -> f64 {
        self.participation.releases() as f64
    }

    /// Refuses several samples of one user where no price is known for them.
    fn refuse_returns(&self, what: &str) -> Result<(), Refusal> {
        if self.participation.is_once() || self.budget.is_none() {
            return Ok(());
        }
        let message = format!("no price is known for {} samples of one user in {what}", self.participation.count);
        let expected = "users who take part once (a `population` of at least `rounds`, no `participations`), or another learner, such as `dp-ftrl`";
        Err(Refusal::new("participations", message, expected))
    }

    fn smooth(&self) -> Result<Smooth, Refusal> {
        let (q, d) = (self.q(), self.dimension);
        if q < 2.0 {
            // |z|_+ = d^(1/2 - 1/p) |z|_2: kappa = d^(1 - 2/p) [Han2022, lemma 3.3].
            let (multiplier, kappa) = han2022_tree::lemma_3_3(q, d);
            return Ok(Smooth { exponent: 2.0, multiplier, kappa, proved: Some(kappa) });
        }
        let least = han2022_tree::noise_norm(q, d);
        // For infinite q and few dimensions the lemma gives no norm: the least constant is the smallest change.
        let no_norm = q.is_infinite() && libm::log(d as f64) < 2.0;
        let corrected = if no_norm { least } else { han2022_tree::lemma_3_2_corrected(q, d) };
        let (exponent, kappa) = self.calibration.pick([han2022_tree::lemma_3_2_printed(q, d), corrected, least]);
        if !(0.0 < exponent && exponent.is_finite() && 0.0 < kappa) {
            let message = format!("generalised Gaussian noise has no {} norm in {d} dimensions at q = {q}", self.calibration);
            let refusal =
                Refusal::new("calibration", message, "another calibration, `mechanism = \"gaussian\"`, or more dimensions");
            return Err(refusal.hint("min(q - 1, ln d - 1) is not above 0 for d = 1 and 2 (E22)"));
        }
        // |v|_e <= d^(1/e - 1/q) |v|_q for e <= q, and |.|_e² is (e - 1)-smooth for e >= 2.
        let proved = (2.0 <= exponent)
            .then(|| (exponent - 1.0) * libm::pow(d as f64, 2.0 * (1.0 / exponent - 1.0 / q).max(0.0)))
            .filter(|kappa| kappa.is_finite());
        Ok(Smooth { exponent, multiplier: 1.0, kappa, proved })
    }

    /// Calibrates one mechanism on vectors that change by at most `actual`.
    /// `printed` is the printed scale of a draw, here at the `stated` sensitivity; `factor_norm` is the norm of the
    /// factorisation's columns.
    fn vector(
        &self,
        generalized: bool,
        (actual, stated): (f64, f64),
        factor_norm: f64,
        printed: &Formula,
    ) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let Some((epsilon, delta)) = self.clipped_budget()? else { return Ok(PricedNoise::without(VectorLaw::None)) };
        if !generalized {
            if !self.calibration.redesigns() {
                let message = format!("the {} calibration is of generalised Gaussian noise", self.calibration);
                return Err(Refusal::new("mechanism", message, "`generalized-gaussian`, `auto`, or `calibration = \"tight\"`"));
            }
            // All Gaussian draws together are one Gaussian mechanism; |v|_2 <= d^(1/2 - 1/q) |v|_q (erratum E24,
            // `docs/privacy.md`).
            let sensitivity = factor_norm * from_lq(actual, self.q(), self.dimension);
            let sigma = sensitivity / gdp_mu(epsilon, delta);
            let noise_formula =
                format!("sigma = {sigma:.6} = {sensitivity:.6} / mu(epsilon, delta), one Gaussian mechanism (E24, E25)");
            return Ok(PricedNoise {
                noise: VectorLaw::Gaussian { sigma },
                event: Event::Gaussian { sigma, sensitivity },
                noise_formula,
            });
        }
        let Smooth { exponent, multiplier, kappa, proved } = self.smooth()?;
        let event = |sigma| Event::GeneralizedGaussian { sigma, kappa: proved, sensitivity: self.bounded(factor_norm * actual) };
        let at = |sensitivity: f64| {
            let (n, epsilon, delta) = (self.rounds as f64, epsilon.get(), delta.get());
            printed.scale(&[("kappa", kappa), ("s", sensitivity), ("n", n), ("epsilon", epsilon), ("delta", delta)])
        };
        let Scale { size, formula } = at(stated);
        // The printed Gamma scale is 2 sigma_+ instead of 2 sigma_+²: it equals noise of scale sqrt(sigma_+) (E23).
        let as_printed = Scale {
            size: libm::sqrt(0.5 * han2022_tree::gamma_scale_printed(size)),
            formula: format!("sigma_+ = {size:.6}: {formula} (E22), Gamma scale 2 sigma_+ (E23)"),
        };
        let corrected = Scale { formula: format!("{} with E22 and E23 put right", printed.text), ..at(actual) };
        let terms = NoiseTerms {
            closed: Some(factor_norm * actual * libm::sqrt(proved.unwrap_or(kappa) / (2.0 * zcdp::rho(epsilon, delta)))),
            printed: Some((as_printed, corrected)),
            ..NoiseTerms::priced(epsilon, Some(delta), &event, "sigma_+ by concentrated privacy (E21, E25)")
        };
        let Scale { size: sigma, formula } = self.calibration.scale(terms)?;
        let noise = VectorLaw::Generalized { exponent, multiplier, sigma };
        let noise_formula = format!("{formula}, scale {sigma:.6}, exponent {exponent:.4}");
        Ok(PricedNoise { noise, event: event(sigma), noise_formula })
    }

    /// Calibrates the noise of the draws for prefix sums of recursive gradients.
    pub fn sum_noise(
        &self,
        generalized: bool,
        factorisation: &dyn Factorisation,
        learning_rate: f64,
    ) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let sensitivities = (2.0 * self.actual.contribution(learning_rate), 2.0 * self.stated.contribution(1.0));
        let factor_norm = factorisation.sensitivity(self.participation);
        self.vector(generalized, sensitivities, factor_norm, &han2022_tree::THEOREM_3_1)
    }

    /// Calibrates the noise of the draws for prefix sums of plain gradients.
    ///
    /// One user gives the samples of `participation`, or one sample is used in these rounds.
    pub fn plain_sum_noise(
        &self,
        generalized: bool,
        factorisation: &dyn Factorisation,
        participation: Participation,
    ) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let replaced = if planted::is(PlantedFault::PlainSums) { 1.0 } else { 2.0 };
        let sensitivities = (replaced * self.actual.lipschitz, 2.0 * self.stated.lipschitz);
        self.vector(generalized, sensitivities, factorisation.sensitivity(participation), &han2022_tree::THEOREM_3_1)
    }

    /// Calibrates the noise of one gradient per sample.
    pub fn step_noise(&self, generalized: bool) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let sensitivities = (2.0 * self.actual.lipschitz, 2.0 * self.stated.lipschitz);
        // Each sample is a release of its own; together they are one mechanism whose squared sensitivities add up.
        let root = libm::sqrt(self.group());
        let mut priced = self.vector(generalized, sensitivities, root, &han2022_tree::SIGMA_PLUS)?;
        if let Event::Gaussian { sensitivity, .. } | Event::GeneralizedGaussian { sensitivity: Some(sensitivity), .. } =
            &mut priced.event
        {
            *sensitivity /= root;
        }
        Ok(priced)
    }

    /// Calibrates the release of one gradient per sample on a sphere, at epsilon alone.
    ///
    /// # Errors
    /// The as-printed calibration, or gradients that are not bounded.
    pub fn unit_noise(&self) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let Some((epsilon, _)) = self.clipped_budget()? else { return Ok(PricedNoise::without(VectorLaw::None)) };
        let refuse = |message: &str| {
            Err(Refusal::new("mechanism", message, "`generalized-gaussian`, `auto`, or `calibration = \"tight\"`"))
        };
        if !self.calibration.corrects() {
            return refuse("the as-printed calibration is of generalised Gaussian noise");
        }
        let Some(bound) = self.bounded(self.actual.lipschitz) else {
            return refuse("a vector on a sphere has a bounded gradient");
        };
        let answer = Budget { participation: self.participation, ..epsilon.into() }.answer(epsilon);
        let radius = from_lq(bound, self.q(), self.dimension);
        let of = PrivUnit::new(answer, self.dimension, radius);
        Refusal::unless_normal(of.std(), "privunit", epsilon.get())?;
        let noise_formula =
            format!("PrivUnit [Bhowmick2018]: entries of standard deviation {:.6} for L2 norm {radius:.6}", of.std());
        Ok(PricedNoise { noise: VectorLaw::Unit(of), event: of.event(), noise_formula })
    }

    /// Calibrates Gaussian noise on hidden steps of length 1, of which one sample moves a point by `share` of twice a gradient.
    ///
    /// It suits steps that never increase distances; others only the noise of [`Terms::step_noise`] protects.
    pub fn hidden_noise(&self, share: f64) -> Result<PricedNoise<VectorLaw>, Refusal> {
        self.refuse_returns("a hidden descent")?;
        let replaced = if planted::is(PlantedFault::HiddenSteps) { 1.0 } else { 2.0 };
        self.vector(false, (replaced * self.actual.lipschitz, 2.0 * self.stated.lipschitz), share, &han2022_tree::SIGMA_PLUS)
    }

    /// Calibrates Gaussian noise on every iterate of a hidden descent, in units of the step before it.
    ///
    /// One sample must move each later iterate by at most twice a gradient in these units, as in `noisy-giga`.
    /// All of them are one release.
    pub fn iterate_noise(&self) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let moved = if planted::is(PlantedFault::EveryIterate) { 1.0 } else { self.rounds as f64 };
        self.hidden_noise(libm::sqrt(moved))
    }

    /// Calibrates the noise of batch means with steps `eta`: of the first batch, and of the later batches.
    ///
    /// Each sample is in one batch, so the price is the larger of the two prices.
    pub fn batch_noise(
        &self,
        generalized: bool,
        plan: BatchPlan,
        eta: f64,
    ) -> Result<PricedNoise<(VectorLaw, VectorLaw)>, Refusal> {
        let (n, first, batch) = (self.rounds as f64, plan.first as f64, plan.batch as f64);
        let (actual, stated) = (self.actual, self.stated);
        // A mean over m samples changes by at most 2/m of the bound on one; printed for batches of exactly n/2 and sqrt(n)/2.
        let gradients = (2.0 * actual.lipschitz / first, 4.0 * stated.lipschitz / n);
        let differences = (
            2.0 * actual.smoothness * eta * actual.diameter / batch,
            4.0 * stated.smoothness * eta * stated.diameter / libm::sqrt(n),
        );
        // All of a user's samples may be in one batch.
        let first = self.vector(generalized, gradients, self.group(), &han2022_tree::SIGMA_PLUS)?;
        let later = self.vector(generalized, differences, self.group(), &han2022_tree::SIGMA_PLUS)?;
        let worse = |event: &Event| crate::price(event).epsilon(self.budget.map(|(_, delta)| delta)).unwrap_or(f64::INFINITY);
        let event = if worse(&first.event) < worse(&later.event) { later.event } else { first.event };
        let noise_formula = format!("first batch: {}; later batches: {}", first.noise_formula, later.noise_formula);
        Ok(PricedNoise { noise: (first.noise, later.noise), event, noise_formula })
    }

    /// Calibrates the noise of choices of a vertex in rounds 1 to T, decreasing as 1/sqrt(t).
    ///
    /// * `in_order` — whether what a user moves are choices one after another, in the order of falling ranges
    pub fn choice_noise(&self, gumbel: bool, learning_rate: f64, in_order: bool) -> Result<PricedNoise<ChoiceLaw>, Refusal> {
        let Some((epsilon, delta)) = self.clipped_budget()? else { return Ok(PricedNoise::without(ChoiceLaw::Exact)) };
        if gumbel && !self.calibration.redesigns() {
            let message = format!("the {} calibration is of Laplace noise", self.calibration);
            return Err(Refusal::new("mechanism", message, "`laplace`, `auto`, or `calibration = \"tight\"`"));
        }
        // The range of the scores <d_t, v> changes by at most D |d_t - d_t'|_q: D · 2 (lr beta D + L)/(t + 1) (E27), and at
        // least D · 4 L/(t + 1) if the first gradient has full weight (E28).
        let contribution = 2.0 * self.actual.contribution(learning_rate);
        let moves = if self.choice_start() == Start::Full { contribution.max(4.0 * self.actual.lipschitz) } else { contribution };
        let range = self.group() * self.actual.diameter * moves;
        // sum over t of (range/(t + 1))² / (scale/sqrt(t))² = (range/scale)² sum t/(t + 1)².
        let sum = sum_over_rounds(self.rounds);
        let rounds = if gumbel && in_order { self.rounds } else { 0 };
        let event = |scale: f64| Event::Choices { gumbel, squares: self.bounded(range * range * sum / (scale * scale)), rounds };
        let printed = |constants: &Constants, learning_rate: f64| {
            let Constants { diameter, smoothness, lipschitz } = *constants;
            let of = [("D", diameter), ("beta", learning_rate * smoothness), ("L", lipschitz), ("n", self.rounds as f64)];
            let budget = [("t", 1.0), ("epsilon", epsilon.get()), ("delta", delta.get())];
            han2022_choice::LAPLACE_SCALE.scale(&[&of[..], &budget].concat())
        };
        let (closed, least_formula) = if gumbel {
            (None, "exponential mechanism, by choices that depend on all before (E29)")
        } else {
            (Some(range * libm::sqrt(sum / (2.0 * zcdp::rho(epsilon, delta)))), "Laplace by concentrated privacy (E29)")
        };
        let as_printed = printed(&self.stated, 1.0);
        let as_printed = Scale { formula: format!("{}, d_1 = grad (E28)", as_printed.formula), ..as_printed };
        let formula = "as printed with d_1 = grad/2 (E28), never below its price (E29)".to_owned();
        let terms = NoiseTerms {
            closed,
            printed: Some((as_printed, Scale { formula, ..printed(&self.actual, learning_rate) })),
            ..NoiseTerms::priced(epsilon, Some(delta), &event, least_formula)
        };
        let Scale { size, formula } = self.calibration.scale(terms)?;
        let noise_formula = format!("scale {size:.6}/sqrt(t): {formula}");
        let noise = if gumbel { ChoiceLaw::Gumbel { scale: size } } else { ChoiceLaw::Laplace { scale: size } };
        Ok(PricedNoise { noise, event: event(size), noise_formula })
    }

    /// Calibrates the Gaussian noise of `steps` gradients, each at a sample drawn from all samples.
    pub fn stored_noise(&self, steps: u64) -> Result<PricedNoise<VectorLaw>, Refusal> {
        let Some((epsilon, delta)) = self.clipped_budget()? else { return Ok(PricedNoise::without(VectorLaw::None)) };
        self.refuse_returns("steps on secretly drawn samples")?;
        let lipschitz = from_lq(self.actual.lipschitz, self.q(), self.dimension);
        let sensitivity = self.bounded(2.0 * lipschitz);
        let event = |sigma| Event::Subsampled { sigma, sensitivity, n_samples: self.rounds, steps };
        let printed = |l: f64| bassily2020::SIGMA.scale(&[("L", l), ("epsilon", epsilon.get()), ("delta", delta.get())]);
        let formula = "as printed, never below its price".to_owned();
        let terms = NoiseTerms {
            printed: Some((printed(self.stated.lipschitz), Scale { formula, ..printed(lipschitz) })),
            ..NoiseTerms::priced(epsilon, Some(delta), &event, "by the Rényi bound of secretly drawn samples")
        };
        let scale = self.calibration.scale(terms).map_err(|refusal| {
            let expected = format!("a number > {:.1e} at `delta = {}`", subsampled::least_epsilon(delta), delta.get());
            Refusal { expected, ..refusal }
        });
        let Scale { size: sigma, formula } = scale?;
        let noise_formula = format!("sigma = {sigma:.6}: {formula}");
        Ok(PricedNoise { noise: VectorLaw::Gaussian { sigma }, event: event(sigma), noise_formula })
    }
}
