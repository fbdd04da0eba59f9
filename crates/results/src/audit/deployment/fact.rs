//! States what was released of which record, as the noise, the ranges and the counts of a file say.

use privateer_privacy::accounting::Loss;
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::odometer::{LossByDistance, ReleaseLoss, Spend, SpentRecords, is_same_column};
use privateer_privacy::{Event, Growth, Ledger, Unit};

/// One release about one record or about all of them.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The session, release state or curated file that drew the noise.
    pub source: String,
    /// The record; `None` for every record.
    pub record: Option<u64>,
    /// What of the record was read, and through which noise.
    pub part: ReadPart,
}

/// What a release read of a record.
#[derive(Debug, Clone)]
pub enum ReadPart {
    /// One value.
    Value {
        /// Its column.
        column: String,
        /// Width of the range to which it was clipped.
        width: f64,
        /// The two laws that are easiest to tell apart.
        law: Law,
        /// Whether it is in sums over users: several answers of one session are one stream.
        stream: bool,
    },
    /// A row of inputs, with Gaussian noise on every number.
    Rows {
        /// Columns, and the numbers that they were divided by.
        axes: Vec<(String, f64)>,
        /// Norm to which rows were moved.
        bound: f64,
        /// Standard deviation of the noise.
        sigma: f64,
        /// Largest factor by which a public map stretches a distance.
        stretch: f64,
    },
    /// The whole record, in sums over users: several answers of one session are one stream.
    Sums {
        /// Distance of one answer over the noise.
        mu: f64,
    },
    /// The noise says nothing that could be computed.
    Unknown,
}

/// The pair of laws of a release that is easiest to tell apart.
#[derive(Debug, Clone, PartialEq)]
pub enum Law {
    /// Two Gaussians at this distance in standard deviations.
    Gaussian(f64),
    /// Two Laplace laws at this distance in scales.
    Laplace(f64),
    /// Probabilities under the first law, with the logarithm of the ratio to the second.
    Atoms(Vec<(f64, f64)>),
}

impl Fact {
    /// Returns what an answer released, from the noise that its ledger states.
    pub fn of_answer(ledger: &Ledger, source: &str, column: &str, record: u64) -> Self {
        let part = match (&ledger.threat_model.unit, ledger.clip) {
            (Unit::Reward, Some([lo, hi])) => {
                ReadPart::of_value(column, hi - lo, law(&ledger.event, hi - lo), ledger.is_of_running_sums())
            }
            _ => match ledger.event {
                Event::Sums {
                    factor,
                    releases,
                    gram_sigma,
                    moment_sigma,
                    reward: Some(reward),
                    equal_diagonal,
                    participation,
                } if participation.is_once() => {
                    let nodes = factor.factorisation(releases, Participation::ONCE).sensitivity(Participation::ONCE);
                    ReadPart::Sums { mu: nodes * largest_item(reward, (gram_sigma, equal_diagonal), moment_sigma) }
                }
                _ => ReadPart::Unknown,
            },
        };
        Self { source: source.to_owned(), record: Some(record), part }
    }

    /// Returns the releases of a spend, each as one fact, from the noise that it states.
    pub fn of_spend(spend: &Spend) -> impl Iterator<Item = Self> + use<> {
        let part = match &spend.loss {
            ReleaseLoss::Inputs(inputs) => match inputs.by_distance {
                LossByDistance::Gaussian { sigma, stretch, .. } => {
                    let axis = |column: &&str| ((*column).to_owned(), inputs.space.scale(column).unwrap_or(1.0));
                    ReadPart::Rows {
                        axes: inputs.space.columns().iter().map(axis).collect(),
                        bound: inputs.bound,
                        sigma,
                        stretch,
                    }
                }
                _ => ReadPart::Unknown,
            },
            ReleaseLoss::Value { column, loss, width } => {
                ReadPart::of_value(column, width.unwrap_or(f64::INFINITY), of_loss(loss), spend.growth == Growth::OneStream)
            }
            ReleaseLoss::Record { loss: Loss::Gaussian { mu } } => ReadPart::Sums { mu: *mu },
            ReleaseLoss::Record { .. } => ReadPart::Unknown,
        };
        let record = match spend.records {
            SpentRecords::One { row } => Some(row),
            SpentRecords::All => None,
        };
        let fact = Self { source: spend.session.clone(), record, part };
        std::iter::repeat_n(fact, usize::try_from(spend.count).unwrap_or(usize::MAX))
    }

    pub(super) fn is_about(&self, record: Option<u64>) -> bool {
        self.record.is_none() || self.record == record
    }
}

impl ReadPart {
    fn of_value(column: &str, width: f64, law: Option<Law>, stream: bool) -> Self {
        law.map_or(Self::Unknown, |law| Self::Value { column: column.to_owned(), width, law, stream })
    }

    /// Returns the number that a column of the inputs was divided by, if it was read.
    pub(super) fn scale(&self, column: &str) -> Option<f64> {
        match self {
            Self::Rows { axes, .. } => axes.iter().find(|(name, _)| is_same_column(name, column)).map(|(_, scale)| *scale),
            _ => None,
        }
    }
}

/// Returns the pair of laws that an odometer keeps of a value.
fn of_loss(loss: &Loss) -> Option<Law> {
    let rare = |epsilon: f64| 1.0 / (1.0 + libm::exp(epsilon));
    match *loss {
        Loss::Gaussian { mu } => Some(Law::Gaussian(mu)),
        Loss::Laplace { epsilon } => Some(Law::Laplace(epsilon)),
        Loss::Response { epsilon } => law(&Event::TwoPoint { rare: rare(epsilon) }, 1.0),
        Loss::TwoLevel { epsilon, kept } => {
            let other = kept * libm::exp(-epsilon);
            Some(Law::Atoms(vec![(kept, epsilon), (other, -epsilon), (1.0 - kept - other, 0.0)]))
        }
        Loss::Mixture { response, epsilon, share, .. } => {
            let (high, low) = (libm::exp(epsilon), 1.0);
            law(&Event::Mixture { rare: rare(response), high, low, two_level_share: share }, 1.0)
        }
        Loss::Unbounded | Loss::Choice { .. } | Loss::Choices { .. } | Loss::Zcdp { .. } => None,
    }
}

/// Returns the worst pair of laws of a value clipped to a range of this width.
fn law(event: &Event, width: f64) -> Option<Law> {
    let atoms = |share: f64, rare: f64| {
        vec![(share * (1.0 - rare), libm::log((1.0 - rare) / rare)), (share * rare, libm::log(rare / (1.0 - rare)))]
    };
    // High and low density on an interval that the value moves: its probability p has odds (high/low)^(1/2).
    let levels = |share: f64, high: f64, low: f64| {
        let (ratio, odds) = (libm::log(high / low), (high / low).sqrt());
        let (kept, other) = (odds / (1.0 + odds), odds / (1.0 + odds) * low / high);
        vec![(share * kept, ratio), (share * other, -ratio), (share * (1.0 - kept - other), 0.0)]
    };
    match *event {
        // A reward in running sums moves all of its columns.
        Event::Gaussian { sigma, sensitivity } => Some(Law::Gaussian(width.max(sensitivity) / sigma)),
        Event::Laplace { scale, .. } => Some(Law::Laplace(width / scale)),
        Event::TwoPoint { rare } => Some(Law::Atoms(atoms(1.0, rare))),
        Event::Response { right, wrong } => Some(Law::Atoms(vec![
            (right, libm::log(right / wrong)),
            (wrong, libm::log(wrong / right)),
            (1.0 - right - wrong, 0.0),
        ])),
        Event::TwoLevel { high, low } => Some(Law::Atoms(levels(1.0, high, low))),
        Event::Mixture { rare, high, low, two_level_share } => {
            Some(Law::Atoms([atoms(1.0 - two_level_share, rare), levels(two_level_share, high, low)].concat()))
        }
        _ => None,
    }
}

/// Returns the largest distance over the noise of `phi phi^T` and `y phi`, `|phi| <= 1`, `|y| <= reward`, found on a grid of angles between two
/// unit vectors: the matrix has noise of `gram_sigma` off the diagonal, and on it as much or `sqrt(2)` times as much.
fn largest_item(reward: f64, (gram_sigma, equal_diagonal): (f64, bool), moment_sigma: f64) -> f64 {
    let on_diagonal = if equal_diagonal { 2.0 } else { 1.0 };
    let squared = |cosine: f64| {
        let matrix = on_diagonal * (1.0 - cosine * cosine) / (gram_sigma * gram_sigma);
        // The two rewards have the signs that take the vectors apart.
        matrix + reward * reward * (2.0 + 2.0 * cosine) / (moment_sigma * moment_sigma)
    };
    (0..=100_000).map(|at| squared(f64::from(at) / 1e5)).fold(0.0, f64::max).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The item of the grid is the one of two explicit pairs: the same direction with opposite rewards, orthogonal ones.
    #[test]
    fn the_largest_item_is_found() {
        assert!((largest_item(1.0, (1e9, false), 0.5) - 4.0).abs() < 1e-9, "opposite rewards: 2/0.5");
        assert!((largest_item(0.0, (0.5, false), 1.0) - 2.0).abs() < 1e-9, "orthogonal features: sqrt(2)/(sqrt(2) 0.5)");
        assert!((largest_item(0.0, (0.5, true), 1.0) - 8f64.sqrt()).abs() < 1e-9, "two entries of the diagonal move by 1");
        // d/dc: c = reward² gram²/moment² = 1/4, so 1 - 1/16 + (1/4)(2 + 1/2).
        assert!((largest_item(0.5, (1.0, false), 1.0) - (0.9375f64 + 0.625).sqrt()).abs() < 1e-9);
    }
}
