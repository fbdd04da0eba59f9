//! Prices a mechanism before anything is run.
//!
//! A report states the event, the sensitivity with its derivation, the noise, epsilon as a function of delta, and what is not
//! protected.

use super::accounting::sensitivity::{self, Participation, Relation};
use super::accounting::{Bracket, Composition, Loss, PriceMethod, least_noise};
use super::event::mu_of_sums;
use super::streams::{Factorisation, columns};
pub use super::threat_model::short;
use super::{
    Adversary, Delta, Epsilon, Event, Factor, Growth, Guarantee, Ledger, Participations, PrivacyLoss, Refusal, RewardMechanism,
    ThreatModel, Unit, gdp_mu, price,
};
use serde::Serialize;
use std::sync::Arc;

/// Failure probabilities at which reports give epsilon.
pub const CURVE: [f64; 6] = [1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10];

/// Gives epsilon at one failure probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Failure probability.
    pub delta: f64,
    /// Least epsilon at that delta; an infinite bound is serialised as null.
    pub epsilon: Bracket,
}

/// Reports the price of a mechanism.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceReport {
    /// Name of the mechanism.
    pub mechanism: String,
    /// What the mechanism does, in words.
    pub event: String,
    /// Adversary, neighbouring inputs, protected unit and covered participations.
    pub threat_model: ThreatModel,
    /// Participations of one user that this report prices.
    pub participations: u64,
    /// Largest distance between two neighbouring inputs in one participation; `None` if unbounded.
    /// It is measured after the transformation that the noise is added to.
    pub sensitivity: Option<f64>,
    /// How the sensitivity is derived.
    pub derivation: String,
    /// The noise in words, with its size.
    pub noise: String,
    /// Size of the noise: standard deviation, scale, or epsilon of one answer, as `noise` says.
    pub noise_size: Option<f64>,
    /// Pure privacy loss; `None` if the loss is not pure.
    pub pure_epsilon: Option<f64>,
    /// Each loss and its count, as another accountant needs them.
    pub composition: Composition,
    /// Epsilon as a function of delta.
    pub curve: Vec<Point>,
    /// Whether the mechanism's claim holds for these participations; `None` if it makes no claim.
    pub guarantee: Option<Guarantee>,
    /// Further facts for the reader.
    pub notes: Vec<String>,
}

impl PriceReport {
    /// Prices the event of a ledger for a user who takes part `participations` times.
    ///
    /// # Errors
    /// A refusal on `participations` if no valid price is known for more than one.
    pub fn of_ledger(ledger: &Ledger, participations: u64) -> Result<Self, Refusal> {
        let participations = participations.max(ledger.threat_model.participations.covered);
        let (Some(composition), Some(guarantee)) = (ledger.composition(participations), ledger.guarantee_for(participations))
        else {
            let message = format!(
                "no valid price is known for {participations} participations of one user with mechanism `{}`",
                ledger.mechanism
            );
            return Err(Refusal::new("participations", message, "`--participations 1`"));
        };
        let event = event_words(&ledger.event);
        let (sensitivity, derivation, noise_size) = sensitivity_of(ledger);
        Ok(Self {
            mechanism: ledger.mechanism.clone(),
            event: match ledger.threat_model.unit {
                Unit::Reward => format!("{}: {event}", releases_words(ledger)),
                Unit::Sample => format!("a stream of samples: {event}"),
                Unit::Row => format!("all rows, once: {event}"),
                _ => event,
            },
            threat_model: ledger.threat_model.clone(),
            participations,
            sensitivity,
            derivation,
            noise: ledger.noise_formula.clone(),
            noise_size,
            pure_epsilon: composition.pure(),
            curve: if matches!(ledger.event, Event::Subsampled { .. })
                || matches!(ledger.event, Event::Shuffled { .. }) && participations <= 1
            {
                curve_alone(&ledger.event)
            } else {
                curve_of(&composition)
            },
            composition,
            guarantee: Some(guarantee),
            notes: match (ledger.epsilon, &ledger.threat_model.unit) {
                (None, _) | (_, Unit::Row) => ledger.notes.clone(),
                _ => ledger.notes.iter().cloned().chain(ledger.provenance.warning().map(str::to_owned)).collect(),
            },
        })
    }

    /// Prices a released stream of running sums whose noise draws have standard deviation `sigma`.
    pub fn of_stream(what: &StreamKind, stated: StreamTerms, factorisation: &dyn Factorisation, sigma: f64) -> Self {
        let StreamTerms { relation, participation } = stated;
        let (distance, derivation) = what.distance(relation);
        let norm = factorisation.sensitivity(participation);
        let composition = Composition::of(Loss::Gaussian { mu: distance * norm / sigma });
        let rounds = factorisation.rounds();
        let last = sigma * libm::sqrt(factorisation.variance(rounds));
        Self {
            mechanism: what.name().to_owned(),
            event: format!("{} after each of {rounds} rounds, by the factorisation `{}`", what.words(), factorisation.name()),
            threat_model: ThreatModel {
                adversary: Adversary::Observer,
                neighbours: relation.into(),
                unit: what.unit(),
                participations: Participations {
                    covered: participation.count,
                    separation: participation.separation,
                    growth: Growth::OneStream,
                },
            },
            participations: participation.count,
            sensitivity: Some(distance * norm),
            derivation: format!(
                "{derivation}; times {} for the columns of the factorisation ({} in one stream, at least {} apart)",
                short(norm),
                counted(participation.count, "participation"),
                counted(participation.separation, "round")
            ),
            noise: format!(
                "Gaussian draws of standard deviation {}; on the last prefix {}, on the worst {}",
                short(sigma),
                short(last),
                short(sigma * libm::sqrt(factorisation.largest_variance()))
            ),
            noise_size: Some(sigma),
            pure_epsilon: composition.pure(),
            curve: curve_of(&composition),
            composition,
            guarantee: None,
            notes: vec![
                "items must be clipped to the stated bounds before anything else, and NaN refused before the clip".to_owned(),
            ],
        }
    }
}

/// States the neighbouring relation and the participation pattern of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamTerms {
    /// Which pairs of streams must be indistinguishable.
    pub relation: Relation,
    /// How often one user takes part.
    pub participation: Participation,
}

/// Says what a stream sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StreamKind {
    /// Vectors clipped to an L2 norm.
    Vector {
        /// Largest L2 norm.
        radius: f64,
    },
    /// `phi phi^T` and `y phi` with `|phi| <= 1` and rewards clipped to `|y| <= reward`.
    /// The corner `y²` is not released.
    Gram {
        /// Largest absolute reward.
        reward: f64,
    },
}

impl StreamKind {
    /// Returns the name used on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Vector { .. } => "vector-prefix",
            Self::Gram { .. } => "gram-prefix",
        }
    }

    fn unit(&self) -> Unit {
        match *self {
            Self::Vector { radius } => Unit::Vector { norm: radius },
            Self::Gram { reward } => Unit::GramItem { reward },
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Self::Vector { .. } => "the running sum of vectors",
            Self::Gram { .. } => {
                "the running sums of phi phi^T (symmetric noise, diagonal variance 2 sigma²) and y phi, without the y² corner,"
            }
        }
    }

    /// Returns the distance between two neighbouring items and its derivation.
    pub fn distance(&self, relation: Relation) -> (f64, String) {
        match *self {
            Self::Vector { radius } => {
                (sensitivity::vector(radius, relation), format!("vectors are clipped to L2 norm {radius}"))
            }
            Self::Gram { reward } => (
                sensitivity::gram_and_reward(reward, relation),
                format!("|phi| <= 1 and |y| <= {reward}: 1 + Y² up to Y = 1, 2Y above, for replaced data (E7)"),
            ),
        }
    }
}

/// Names that [`factorisation`] accepts.
pub const FACTORISATIONS: [&str; 6] = ["blt", "tree", "honaker", "sqrt-toeplitz", "banded-toeplitz", "normalised-toeplitz"];

/// Returns the factorisation of this name over `rounds` rounds for this participation; `None` for an unknown name.
pub fn factorisation(name: &str, rounds: u64, participation: Participation) -> Option<Arc<dyn Factorisation>> {
    Factor::named(name).map(|factor| factor.factorisation(rounds, participation))
}

/// Returns the least standard deviation of a noise draw that keeps a budget: `distance · sensitivity / mu(epsilon, delta)`.
pub fn least_sigma(what: &StreamKind, terms: StreamTerms, factorisation: &dyn Factorisation, budget: (Epsilon, Delta)) -> f64 {
    let StreamTerms { relation, participation } = terms;
    what.distance(relation).0 * factorisation.sensitivity(participation) / gdp_mu(budget.0, budget.1)
}

/// Returns the largest epsilon of one answer at which `participations` answers keep a budget.
/// `build` makes the mechanism at an epsilon; `delta = None` asks for a pure budget.
///
/// # Errors
/// The refusal of `build`, or a refusal on `epsilon` if no noise keeps the budget.
pub fn largest_answer(
    build: impl Fn(f64) -> Result<Arc<dyn RewardMechanism>, Refusal>,
    participations: u64,
    epsilon: Epsilon,
    delta: Option<Delta>,
) -> Result<f64, Refusal> {
    build(epsilon.get())?;
    if participations == 1 && delta.is_none() {
        return Ok(epsilon.get());
    }
    let of = |size: f64| match build(1.0 / size) {
        Ok(mechanism) => Composition::of(Loss::of(&mechanism.ledger().event)).times(participations),
        // Sizes that the mechanism refuses are far from those in use: the largest noise counts as releasing no information.
        Err(_) if 1.0 < size => Composition::default(),
        Err(_) => Composition::of(Loss::Unbounded),
    };
    let size = least_noise(of, epsilon, delta)
        .ok_or_else(|| Refusal::new("epsilon", "no noise keeps this budget", "a larger budget, or fewer participations"))?;
    build(1.0 / size)?;
    Ok(1.0 / size)
}

/// Says in which releases a reward is.
fn releases_words(ledger: &Ledger) -> &'static str {
    match (&ledger.event, ledger.threat_model.participations.growth) {
        _ if ledger.is_of_running_sums() => "running sums of rewards",
        (Event::Choice { .. }, _) => "one answer of the run",
        (Event::Laplace { .. } | Event::Gaussian { .. }, Growth::OneStream) => "one sum a batch",
        _ => "one answer a round",
    }
}

/// Returns the sensitivity of one participation, its derivation and, if one number, the noise size.
fn sensitivity_of(ledger: &Ledger) -> (Option<f64>, String, Option<f64>) {
    let unclipped = "features and gradients are not clipped: two samples can differ by anything (E3)".to_owned();
    let covered = ledger.threat_model.participations.covered;
    match (&ledger.threat_model.unit, &ledger.event) {
        (_, event @ &Event::Sums { factor, releases, gram_sigma, equal_diagonal, moment_sigma, reward, participation }) => {
            let (one, mu) = (gram_sigma.min(moment_sigma), mu_of_sums(event));
            // Equal noise on the diagonal protects like 1/sqrt(2) of its draw (E13).
            let matrix = if equal_diagonal { gram_sigma / std::f64::consts::SQRT_2 } else { gram_sigma };
            let (unit, share) = (moment_sigma / matrix, one / matrix);
            let differs = |factor: f64| 1e-12 < (factor - 1.0).abs();
            let derivation =
                reward.map_or("rewards are not clipped: two of them can differ by anything (E3)".to_owned(), |reward| {
                    let mut words = format!("|phi| <= 1 and |y| <= {}", short(reward / unit));
                    if differs(unit) {
                        words += &format!(" in units of {}, by which the vector has more noise than the matrix", short(unit));
                    }
                    words += ": 1 + Y² up to Y = 1, 2Y above (E7)";
                    if factor == Factor::Own {
                        words += ", an item on its own";
                    } else {
                        let norm = columns(factor.factorisation(releases, participation).as_ref(), participation);
                        let count = participation.count;
                        let whose = if participation.is_once() { "a column".to_owned() } else { format!("{count} columns") };
                        words += &format!("; times {} for {whose} of the factorisation over {releases} releases", short(norm));
                    }
                    if differs(share) {
                        let why = if equal_diagonal { "equal noise on the diagonal (E13) and " } else { "" };
                        words += &format!("; times {} for {why}the smaller draw as unit", short(share));
                    }
                    words
                });
            (mu.is_finite().then_some(mu * one), derivation, Some(one))
        }
        (_, Event::Cap { .. } | Event::Ranks { .. }) => {
            let derivation =
                "for every input the law has two levels on one sphere: their ratio is the loss, and no distance enters";
            (None, derivation.to_owned(), None)
        }
        (Unit::Sample, Event::NonPrivate) => (None, "samples enter as they are".to_owned(), None),
        (Unit::Sample, &Event::Gaussian { sensitivity, .. }) if sensitivity.is_finite() => {
            let derivation = "features and gradients are clipped, L2 norm, columns of the factorisation counted; one mechanism over the whole run";
            (Some(sensitivity), derivation.to_owned(), None)
        }
        (Unit::Sample, &Event::GeneralizedGaussian { sensitivity: Some(sensitivity), .. }) => {
            let derivation = "features and gradients are clipped, norm of the noise; one mechanism over the whole run";
            (Some(sensitivity), derivation.to_owned(), None)
        }
        (Unit::Sample, &Event::Subsampled { sensitivity: Some(sensitivity), .. }) => {
            (Some(sensitivity), "features and gradients are clipped, L2 norm, of one step".to_owned(), None)
        }
        (_, &Event::Choice { scale, sensitivity }) => {
            let derivation = "one clipped reward moves the sum of one candidate, and so the range of all sums, by at most hi - lo (E2); \
                              those of one user move two sums apart at most";
            (Some(sensitivity), derivation.to_owned(), Some(scale))
        }
        (_, &Event::Choices { squares: Some(squares), .. }) => {
            let derivation = "range of the scores' change over the scale of the noise, root of the squares' sum over rounds";
            (Some(libm::sqrt(squares)), derivation.to_owned(), None)
        }
        (Unit::Sample, _) => (None, unclipped, None),
        (Unit::Row, &Event::Gaussian { sensitivity, .. }) => {
            let derivation = "a row that moves by the radius moves its released row by at most sigma_max(P) times that";
            (Some(sensitivity), derivation.to_owned(), None)
        }
        (Unit::Row, _) => (None, "neighbours have released inputs of different column spaces (E16)".to_owned(), None),
        (Unit::Reward, &Event::Gaussian { sigma, sensitivity }) if ledger.is_of_running_sums() => {
            let derivation = "|phi| <= 1 is public and a clipped reward moves by at most hi - lo (E2); times the norm of a user's \
                              columns of the factorisation";
            (Some(sensitivity), derivation.to_owned(), Some(sigma))
        }
        (Unit::Reward, &Event::Gaussian { sensitivity, .. } | &Event::Laplace { sensitivity: Some(sensitivity), .. })
            if 1 < covered && ledger.threat_model.participations.growth == Growth::OneStream =>
        {
            (
                Some(sensitivity),
                format!("{covered} rewards of one user may be in one batch, and each moves its sum by at most hi - lo (E2)"),
                None,
            )
        }
        _ => match ledger.clip {
            Some([lo, hi]) => (
                Some(sensitivity::scalar(lo, hi, Relation::Replace)),
                format!("rewards are clipped to [{lo}, {hi}]: two of them differ by at most hi - lo (E2)"),
                None,
            ),
            None => (None, "rewards are not clipped: two of them can differ by anything (E3)".to_owned(), None),
        },
    }
}

fn curve(epsilon: impl Fn(Delta) -> Bracket) -> Vec<Point> {
    let point = |delta: Delta| Point { delta: delta.get(), epsilon: epsilon(delta) };
    CURVE.into_iter().filter_map(|delta| Delta::try_from(delta).ok()).map(point).collect()
}

fn curve_of(composition: &Composition) -> Vec<Point> {
    let solver = composition.solver();
    curve(|delta| solver.epsilon(delta))
}

/// Returns the curve of an event that no composition of losses describes: steps on randomly drawn samples, and shuffled answers.
fn curve_alone(event: &Event) -> Vec<Point> {
    let delivered = price(event);
    curve(|delta| {
        let upper = delivered.epsilon(Some(delta)).unwrap_or(f64::INFINITY);
        let (method, lower) = match delivered {
            PrivacyLoss::Shuffled { levels: 2, users, .. } if users <= crate::accounting::shuffled::MOST_USERS => {
                (PriceMethod::Enumeration, upper)
            }
            PrivacyLoss::Shuffled { .. } => (PriceMethod::Enumeration, 0.0),
            _ if upper.is_finite() => (PriceMethod::Renyi, 0.0),
            _ => (PriceMethod::Unbounded, 0.0),
        };
        Bracket { lower, upper, method }
    })
}

fn event_words(event: &Event) -> String {
    use Event as E;
    match *event {
        E::NonPrivate => "the reward as it is".to_owned(),
        E::Unverified => "what foreign code returns for the clipped reward: its loss is not known here".to_owned(),
        E::Laplace { scale, .. } => format!("Laplace noise of scale {}", short(scale)),
        E::TwoPoint { rare } => format!("one of two values, the rarer with probability {} at the ends", short(rare)),
        E::Shuffled { rare, levels, users } => format!(
            "each user's one of {levels} values, each other than their own with probability {}, mixed with those of at least {} others",
            short(rare),
            users.saturating_sub(1)
        ),
        E::TwoLevel { high, low } => format!("a density of two levels, {} and {}", short(high), short(low)),
        E::Response { right, wrong } => {
            format!("one of several values, its own with probability {}, each other with {}", short(right), short(wrong))
        }
        E::Cap { dimension, gap, rare, length } => format!(
            "a vector on a sphere of radius {} in {dimension} dimensions: with probability {} in the cap of height {} of the radius around \
             the input, else outside of it",
            short(length),
            short(1.0 - rare),
            short(gap)
        ),
        E::Ranks { draws, favoured, odds, length } => format!(
            "one of {draws} random vectors on a sphere of radius {}, each of the {favoured} nearest to the input {} times as likely as another",
            short(length),
            short(odds)
        ),
        E::Mixture { rare, high, low, two_level_share } => format!(
            "with probability {} a density of two levels, {} and {}, else one of two values, the rarer with probability {}",
            short(two_level_share),
            short(high),
            short(low),
            short(rare)
        ),
        E::Gaussian { sigma, .. } => format!("Gaussian noise of standard deviation {}", short(sigma)),
        E::GeneralizedGaussian { sigma, .. } => format!("generalised Gaussian noise of scale {}", short(sigma)),
        E::Choice { scale, .. } => {
            format!("one candidate, with weights exp(sum of its rewards / {})", short(scale))
        }
        E::Choices { gumbel: true, .. } => "a choice by the exponential mechanism".to_owned(),
        E::Choices { gumbel: false, .. } => "the least score after Laplace noise".to_owned(),
        E::Subsampled { sigma, n_samples, steps, .. } => format!(
            "the gradient of one of {n_samples} samples, drawn at random, with Gaussian noise of standard deviation {}, {steps} times",
            short(sigma)
        ),
        E::Sums { factor, releases, gram_sigma, equal_diagonal, moment_sigma, .. } => {
            let sigmas = if gram_sigma == moment_sigma {
                format!("of standard deviation {}", short(gram_sigma))
            } else {
                format!("of standard deviations {} (matrix) and {} (vector)", short(gram_sigma), short(moment_sigma))
            };
            let how = match factor {
                Factor::Own => "everybody's own phi phi^T and y phi".to_owned(),
                _ => format!("the running sums of phi phi^T and y phi, {} by `{}`", counted(releases, "release"), factor.name()),
            };
            let diagonal = if equal_diagonal { "the same variance on the diagonal" } else { "diagonal variance 2 sigma²" };
            format!("Gaussian draws {sigmas} on {how} at |phi| <= 1, without the y² corner ({diagonal})")
        }
        E::Projection { rows, dimension, columns } => {
            format!("{rows} rows of {dimension} numbers, times a secret normal matrix with {columns} columns")
        }
    }
}

/// Returns a number of things in words.
pub(super) fn counted(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
