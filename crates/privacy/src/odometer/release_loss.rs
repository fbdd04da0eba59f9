//! The loss of one release as a function of how a record changes.

use super::change::{InputSpace, RecordChange, is_same_column};
use crate::accounting::Loss;
use crate::planted::{self, PlantedFault};
use serde::{Deserialize, Serialize};

/// What of a record the law of a release depends on, and the loss at every change of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reads", rename_all = "kebab-case")]
pub enum ReleaseLoss {
    /// The release reads one value.
    Value {
        /// Its column.
        column: String,
        /// Loss for any two values.
        loss: Loss,
        /// Width of the range to which values are clipped; `None` where it is not known.
        width: Option<f64>,
    },
    /// The release reads inputs.
    Inputs(InputsLoss),
    /// The release reads the record in a way that no distance measures.
    Record {
        /// Loss for any two records.
        loss: Loss,
    },
}

/// Loss of a release of inputs, which are moved to an L2 norm of at most `bound`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputsLoss {
    /// The raw columns and their units.
    pub space: InputSpace,
    /// Largest move of a record that the release names.
    pub radius: f64,
    /// Public bound on the norm of a row: no two rows are further apart than twice the bound.
    pub bound: f64,
    /// Loss at a distance.
    pub by_distance: LossByDistance,
}

/// How the loss of a release grows with the distance between two inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LossByDistance {
    /// Gaussian noise on every released number.
    Gaussian {
        /// Standard deviation of the noise.
        sigma: f64,
        /// Most by which a public linear map stretches a distance; 1 without one.
        stretch: f64,
        /// Distance that rounding adds between two inputs, after the map.
        rounding: f64,
    },
    /// A mechanism that is private for a metric: its pure loss is proportional to the distance.
    Metric {
        /// Pure loss at distance 1.
        epsilon_per_unit: f64,
    },
    /// A loss that is proved for the named radius alone; longer distances are paths of several steps.
    Steps {
        /// Loss at the named radius.
        loss: Loss,
    },
}

impl InputsLoss {
    /// Returns the loss of two inputs at this distance, which may be infinite.
    pub fn at(&self, distance: f64) -> Loss {
        let distance = distance.min(2.0 * self.bound);
        let checked = |loss: Loss, size: f64| if size.is_finite() && 0.0 <= size { loss } else { Loss::Unbounded };
        match self.by_distance {
            LossByDistance::Gaussian { sigma, stretch, rounding } => {
                let mu = (distance * stretch + rounding) / sigma;
                checked(Loss::Gaussian { mu }, mu)
            }
            LossByDistance::Metric { epsilon_per_unit } => {
                let epsilon = distance * epsilon_per_unit;
                checked(Loss::Response { epsilon }, epsilon)
            }
            LossByDistance::Steps { loss } => match (distance / self.radius).ceil() {
                steps if (0.0..=9e15).contains(&steps) => loss.of_group(steps.max(1.0) as u64),
                _ => Loss::Unbounded,
            },
        }
    }
}

impl ReleaseLoss {
    /// Returns the change that the release names: its stated loss is proved for that one.
    pub fn named(&self) -> RecordChange {
        match self {
            Self::Value { column, .. } => RecordChange::Values { columns: vec![column.clone()] },
            Self::Inputs(InputsLoss { space, radius, .. }) => {
                RecordChange::InputsWithin { radius: *radius, space: space.clone() }
            }
            Self::Record { .. } => RecordChange::Record,
        }
    }

    /// Returns the largest loss over all pairs of records of this change; `None` where the law of the release does not depend on what
    /// changes.
    pub fn at(&self, change: &RecordChange) -> Option<Loss> {
        if planted::is(PlantedFault::CoveredSpend) && *change != self.named() && *change != RecordChange::Record {
            return None;
        }
        match (self, change) {
            // A loss for any two records holds for the pairs of every change.
            (Self::Record { loss }, _) | (Self::Value { loss, .. }, RecordChange::Record) => Some(*loss),
            (Self::Value { column, loss, .. }, RecordChange::Values { columns }) => {
                columns.iter().any(|name| is_same_column(name, column)).then_some(*loss)
            }
            // A value that is an input too moves with the inputs.
            (Self::Value { column, loss, width }, RecordChange::InputsWithin { radius, space }) => {
                space.scale(column).map(|scale| moved(*loss, *width, radius * scale))
            }
            (Self::Inputs(inputs), RecordChange::Record) => Some(inputs.at(f64::INFINITY)),
            // An input that is a value too can be any number.
            (Self::Inputs(inputs), RecordChange::Values { columns }) => {
                columns.iter().any(|column| inputs.space.scale(column).is_some()).then(|| inputs.at(f64::INFINITY))
            }
            (Self::Inputs(inputs), RecordChange::InputsWithin { radius, space }) if inputs.space.is_same(space) => {
                Some(inputs.at(*radius))
            }
            // In other units the same columns may move any distance.
            (Self::Inputs(inputs), RecordChange::InputsWithin { space, .. }) => {
                inputs.space.overlaps(space).then(|| inputs.at(f64::INFINITY))
            }
        }
    }
}

/// Most that rounding to the grid adds to the distance of two released values, in standard deviations or scales: noise has at least
/// 2^19 steps (`release::grid`).
const GRID: f64 = 1.0 / (1 << 17) as f64;

/// Returns the loss of a value that moves by at most `distance`, and by one step of the grid more.
fn moved(loss: Loss, width: Option<f64>, distance: f64) -> Loss {
    let share = width.map_or(1.0, |width| (distance / width).min(1.0));
    match loss {
        Loss::Gaussian { mu } => Loss::Gaussian { mu: mu.min(mu * share + GRID) },
        Loss::Laplace { epsilon } => Loss::Laplace { epsilon: epsilon.min(epsilon * share + GRID) },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(by_distance: LossByDistance) -> InputsLoss {
        let space = InputSpace::new(&["a".to_owned(), "b".to_owned()], &[1.0, 2.0]);
        InputsLoss { space, radius: 0.5, bound: 2.0, by_distance }
    }

    /// Gaussian and metric losses are proportional to the distance, steps are groups, and nothing is further than two bounds.
    #[test]
    fn losses_grow_with_the_distance() {
        let gaussian = inputs(LossByDistance::Gaussian { sigma: 0.25, stretch: 3.0, rounding: 0.0 });
        let metric = inputs(LossByDistance::Metric { epsilon_per_unit: 2.0 });
        let steps = inputs(LossByDistance::Steps { loss: Loss::Zcdp { rho: 0.1 } });
        for (distance, reached) in [(0.25, 0.25), (0.5, 0.5), (1.2, 1.2), (4.0, 4.0), (1e9, 4.0), (f64::INFINITY, 4.0)] {
            assert_eq!(gaussian.at(distance), Loss::Gaussian { mu: 12.0 * reached });
            assert_eq!(metric.at(distance), Loss::Response { epsilon: 2.0 * reached });
            let k = f64::ceil(reached / 0.5);
            assert_eq!(steps.at(distance), Loss::Zcdp { rho: k * k * 0.1 }, "{distance}");
        }
        let none = inputs(LossByDistance::Steps { loss: Loss::Unbounded });
        assert_eq!(none.at(0.1), Loss::Unbounded);
        assert_eq!(inputs(LossByDistance::Metric { epsilon_per_unit: 1e308 }).at(4.0), Loss::Unbounded);
    }

    /// A release counts for every change on which its law depends, and for no other.
    #[test]
    fn a_release_counts_where_its_law_depends_on_the_change() {
        let space = |columns: &[&str], scale: f64| {
            let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
            InputSpace::new(&columns, &vec![scale; columns.len()])
        };
        let within = |radius, space| RecordChange::InputsWithin { radius, space };
        let values = |column: &str| RecordChange::Values { columns: vec![column.to_owned()] };
        let rows = ReleaseLoss::Inputs(InputsLoss {
            space: space(&["a", "b"], 1.0),
            ..inputs(LossByDistance::Gaussian { sigma: 1.0, stretch: 1.0, rounding: 0.0 })
        });
        let mu = |mu| Some(Loss::Gaussian { mu });
        assert_eq!(rows.at(&RecordChange::Record), mu(4.0));
        assert_eq!(rows.at(&within(0.1, space(&["b", "a"], 1.0))), mu(0.1));
        assert_eq!(rows.at(&within(0.1, space(&["a", "b"], 2.0))), mu(4.0), "other units");
        assert_eq!(rows.at(&within(0.1, space(&["a"], 1.0))), mu(4.0), "fewer columns");
        assert_eq!((rows.at(&within(0.1, space(&["c"], 1.0))), rows.at(&values("y"))), (None, None));
        assert_eq!(rows.at(&values("B")), mu(4.0), "an input that is a value too");
        let value = ReleaseLoss::Value { column: "y".to_owned(), loss: Loss::Laplace { epsilon: 2.0 }, width: Some(4.0) };
        let laplace = |epsilon| Some(Loss::Laplace { epsilon });
        assert_eq!(
            (value.at(&RecordChange::Record), value.at(&values("y")), value.at(&values("z"))),
            (laplace(2.0), laplace(2.0), None)
        );
        assert_eq!(value.at(&within(0.5, space(&["y"], 2.0))), laplace(0.5 + GRID), "it moves with the inputs by at most one");
        assert_eq!(
            (value.at(&within(9.0, space(&["y"], 2.0))), value.at(&within(9.0, space(&["x"], 2.0)))),
            (laplace(2.0), None)
        );
        let record = ReleaseLoss::Record { loss: Loss::Gaussian { mu: 1.0 } };
        for change in [RecordChange::Record, values("y"), within(0.1, space(&["a"], 1.0))] {
            assert_eq!(record.at(&change), mu(1.0));
        }
    }
}
