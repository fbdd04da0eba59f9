//! How the losses of adaptively chosen releases add up, and the budgets that stop them. Proofs: `docs/proofs/odometer.md`.

use crate::accounting::{Loss, zcdp};
use crate::planted::{self, PlantedFault};
use crate::{Delta, Epsilon, gdp_epsilon, gdp_mu};
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt;
use std::str::FromStr;

/// Share of a budget that sums may exceed it by: the rounding of a few thousand additions of doubles.
const ROUNDING: f64 = 1e-12;

/// The rule by which losses of one record add up where each release, its size included, may depend on all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterKind {
    /// The epsilons and the deltas are summed (Rogers2016).
    Sum,
    /// The concentrated bounds `rho` are summed (FeldmanZrnic2021, Whitehouse2023).
    Zcdp,
    /// The squares of `mu` are summed (SmithThakurta2022, Koskela2023).
    GaussianDp,
}

/// What a filter has summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FilterCost {
    /// Sum of epsilon, of rho or of mu squared, as the filter says.
    pub amount: f64,
    /// Sum of delta; only [`FilterKind::Sum`] has one.
    pub delta: f64,
}

impl FilterCost {
    /// The cost of what no filter bounds.
    pub const UNBOUNDED: Self = Self { amount: f64::INFINITY, delta: 1.0 };

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { amount: self.amount + other.amount, delta: self.delta + other.delta }
    }

    /// This cost `count` times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self { amount: self.amount * count as f64, delta: self.delta * count as f64 }
    }

    /// Whether this keeps a limit, up to rounding.
    pub fn keeps(self, limit: Self) -> bool {
        self.amount <= limit.amount * (1.0 + ROUNDING) && self.delta <= limit.delta * (1.0 + ROUNDING)
    }
}

impl FilterKind {
    const ALL: [Self; 3] = [Self::Sum, Self::Zcdp, Self::GaussianDp];

    /// The names on the command line.
    pub const NAMES: [&'static str; 3] = ["sum", "zcdp", "gaussian-dp"];

    /// The filter for a mechanism of this loss where nobody names one: the sum for pure losses, else Gaussian or concentrated sums.
    pub fn natural(loss: &Loss) -> Self {
        match loss {
            Loss::Gaussian { .. } => Self::GaussianDp,
            _ if loss.pure().is_some() => Self::Sum,
            _ => Self::Zcdp,
        }
    }

    /// The theorem that the filter rests on.
    pub fn theorem(self) -> &'static str {
        match self {
            Self::Sum => {
                "basic composition with adaptively chosen epsilon and delta (Rogers, Roth, Ullman & Vadhan 2016, \
                 Privacy odometers and filters)"
            }
            Self::Zcdp => {
                "fully adaptive Renyi and concentrated composition (Feldman & Zrnic 2021, Individual privacy accounting via a Renyi \
                 filter; Whitehouse, Ramdas, Rogers & Wu 2023, Fully adaptive composition in differential privacy)"
            }
            Self::GaussianDp => {
                "fully adaptive composition of Gaussian differential privacy (Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023, \
                 Individual privacy accounting with Gaussian differential privacy)"
            }
        }
    }

    /// What one release costs under this filter; `None` where the filter has no bound for it.
    /// * `claim` — epsilon and delta that the release states
    pub fn cost(self, loss: &Loss, claim: (f64, f64)) -> Option<FilterCost> {
        let finite = |amount: f64| (amount.is_finite() && 0.0 <= amount).then_some(FilterCost { amount, delta: 0.0 });
        match self {
            Self::Sum if *loss == Loss::Unbounded => None,
            Self::Sum if !(0.0..1.0).contains(&claim.1) => None,
            Self::Sum => finite(claim.0).map(|cost| FilterCost { delta: claim.1, ..cost }),
            Self::Zcdp => finite(loss.rho()),
            Self::GaussianDp => match loss {
                Loss::Gaussian { mu } => finite(mu * mu),
                _ => loss.pure().and_then(|epsilon| {
                    let mu = if planted::is(PlantedFault::PureAsGaussian) { epsilon } else { mu_of_pure(epsilon) };
                    finite(mu * mu)
                }),
            },
        }
    }

    /// The largest cost that keeps a budget.
    ///
    /// # Errors
    /// A budget without delta for a filter that needs one.
    pub fn limit(self, budget: PrivacyBudget) -> Result<FilterCost, BadBudget> {
        let epsilon = budget.epsilon;
        match (self, budget.delta) {
            (Self::Sum, delta) => Ok(FilterCost { amount: epsilon.get(), delta: delta.map_or(0.0, Delta::get) }),
            (Self::Zcdp, Some(delta)) => Ok(FilterCost { amount: zcdp::rho(epsilon, delta), delta: 0.0 }),
            (Self::GaussianDp, Some(delta)) => {
                let mu = gdp_mu(epsilon, delta);
                Ok(FilterCost { amount: mu * mu, delta: 0.0 })
            }
            (Self::Zcdp | Self::GaussianDp, None) => {
                Err(BadBudget(format!("filter `{self}` needs a delta, and the budget `{budget}` has none")))
            }
        }
    }

    /// `(epsilon, delta)` of a cost; a filter that sums no delta is read at `delta`, and has no epsilon without one.
    pub fn read(self, cost: FilterCost, delta: Option<Delta>) -> (f64, f64) {
        if cost.amount == 0.0 {
            return (0.0, cost.delta);
        }
        match (self, delta) {
            (Self::Sum, _) => (cost.amount, cost.delta),
            _ if !cost.amount.is_finite() => (f64::INFINITY, 1.0),
            (Self::Zcdp, Some(delta)) => (zcdp::epsilon(cost.amount, delta), delta.get()),
            (Self::GaussianDp, Some(delta)) => (gdp_epsilon(libm::sqrt(cost.amount), delta), delta.get()),
            (Self::Zcdp | Self::GaussianDp, None) => (f64::INFINITY, 0.0),
        }
    }
}

/// The least `mu` such that every `epsilon`-pure mechanism is `mu`-Gaussian: `Phi(-mu/2) = 1/(1 + e^epsilon)`, rounded up.
pub(super) fn mu_of_pure(epsilon: f64) -> f64 {
    // Beyond, the tail underflows, and a loss of this size protects nothing.
    if 600.0 < epsilon || epsilon.is_nan() {
        return f64::INFINITY;
    }
    let goal = 1.0 / (1.0 + libm::exp(epsilon));
    let tail = |mu: f64| 0.5 * libm::erfc(0.5 * mu * FRAC_1_SQRT_2);
    let (mut no, mut yes) = (0.0, 80.0);
    for _ in 0..200 {
        let middle = no + 0.5 * (yes - no);
        if tail(middle) <= goal {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for FilterKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|filter| filter.to_string() == text);
        known.ok_or_else(|| format!("`{text}` is not a filter, expected one of {}", Self::NAMES.join(", ")))
    }
}

/// The largest loss of one record, stated before anything is released.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "BudgetNumbers", try_from = "BudgetNumbers")]
pub struct PrivacyBudget {
    /// Privacy loss.
    pub epsilon: Epsilon,
    /// Failure probability; `None` for a pure budget.
    pub delta: Option<Delta>,
}

#[derive(Serialize, Deserialize)]
struct BudgetNumbers {
    epsilon: f64,
    delta: f64,
}

impl From<PrivacyBudget> for BudgetNumbers {
    fn from(budget: PrivacyBudget) -> Self {
        Self { epsilon: budget.epsilon.get(), delta: budget.delta.map_or(0.0, Delta::get) }
    }
}

impl TryFrom<BudgetNumbers> for PrivacyBudget {
    type Error = BadBudget;

    fn try_from(numbers: BudgetNumbers) -> Result<Self, BadBudget> {
        let epsilon = Epsilon::try_from(numbers.epsilon).map_err(|bad| BadBudget(bad.to_string()))?;
        let delta = match numbers.delta {
            0.0 => None,
            delta => Some(Delta::try_from(delta).map_err(|bad| BadBudget(bad.to_string()))?),
        };
        Ok(Self { epsilon, delta })
    }
}

/// A text or a pair of numbers that is not a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadBudget(pub String);

impl fmt::Display for BadBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadBudget {}

impl FromStr for PrivacyBudget {
    type Err = BadBudget;

    /// Reads `epsilon=4,delta=1e-6`; without `delta` the budget is pure.
    fn from_str(text: &str) -> Result<Self, BadBudget> {
        let bad = |problem: String| BadBudget(format!("{problem}; a budget is written `epsilon=4,delta=1e-6`, or `epsilon=4`"));
        let (mut epsilon, mut delta) = (None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| bad(format!("`{part}` has no `=`")))?;
            let number: f64 = value.trim().parse().map_err(|_| bad(format!("`{value}` is not a number")))?;
            let slot = match key.trim() {
                "epsilon" => &mut epsilon,
                "delta" => &mut delta,
                other => return Err(bad(format!("`{other}` is not a part of a budget"))),
            };
            if slot.replace(number).is_some() {
                return Err(bad(format!("`{}` is stated twice", key.trim())));
            }
        }
        let epsilon = epsilon.ok_or_else(|| bad("the budget states no epsilon".to_owned()))?;
        let epsilon = Epsilon::try_from(epsilon).map_err(|why| bad(why.to_string()))?;
        let delta = delta.filter(|delta| *delta != 0.0).map(Delta::try_from).transpose().map_err(|why| bad(why.to_string()))?;
        Ok(Self { epsilon, delta })
    }
}

impl fmt::Display for PrivacyBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delta {
            Some(delta) => write!(f, "epsilon={},delta={:e}", self.epsilon.get(), delta.get()),
            None => write!(f, "epsilon={}", self.epsilon.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_and_written_alike() {
        for text in ["epsilon=4,delta=1e-6", "epsilon=0.5"] {
            let budget: PrivacyBudget = text.parse().expect("a budget");
            assert_eq!(budget.to_string(), text);
            let json = serde_json::to_string(&budget).expect("JSON");
            assert_eq!(serde_json::from_str::<PrivacyBudget>(&json).expect("a budget"), budget);
        }
        for bad in ["", "4", "epsilon", "epsilon=x", "epsilon=0", "epsilon=-1", "epsilon=nan", "delta=1e-6", "epsilon=1,delta=1"]
        {
            assert!(bad.parse::<PrivacyBudget>().is_err(), "{bad}");
        }
        assert!("epsilon=1,epsilon=2".parse::<PrivacyBudget>().is_err() && "epsilon=1,rho=2".parse::<PrivacyBudget>().is_err());
        assert!(serde_json::from_str::<PrivacyBudget>(r#"{"epsilon":-1.0,"delta":0.0}"#).is_err());
    }

    /// Three times 0.1 keeps 0.3, although the sum of doubles is above it; a millionth more does not.
    #[test]
    fn limits_allow_for_rounding_alone() {
        let limit = FilterCost { amount: 0.3, delta: 0.0 };
        let step = FilterCost { amount: 0.1, delta: 0.0 };
        assert!(0.3 < step.times(3).amount && step.times(3).keeps(limit));
        assert!(!FilterCost { amount: 0.3 + 1e-9, delta: 0.0 }.keeps(limit));
        assert!(!FilterCost { amount: 0.1, delta: 1e-30 }.keeps(limit), "a pure budget pays for no delta");
    }

    /// The trade-off function of a pure mechanism lies above that of the Gaussian: the sums agree where both are known. A
    /// randomised response of `epsilon` and `mu_of_pure` have the same error probability 1/(1 + e^epsilon).
    #[test]
    fn pure_losses_are_gaussian_ones() {
        for epsilon in [1e-3, 0.5, 2.0, 20.0] {
            let mu = mu_of_pure(epsilon);
            for d in [1e-3, 0.01, 0.2] {
                // At each epsilon' the Gaussian allows at least the delta that the response has there: max(0, (1 - lie) - e^e' lie).
                let lie = 1.0 / (1.0 + libm::exp(epsilon));
                let at = epsilon * (1.0 - d);
                let response = (1.0 - lie) - libm::exp(at) * lie;
                assert!(response <= crate::gaussian_delta(at, mu) * (1.0 + 1e-9) + 1e-15, "{epsilon} {d}");
            }
        }
        assert!((mu_of_pure(1e-3) - 1e-3 * libm::sqrt(std::f64::consts::TAU) / 2.0).abs() < 1e-9);
        assert_eq!(mu_of_pure(1e4), f64::INFINITY);
    }

    #[test]
    fn every_filter_refuses_what_it_cannot_bound() {
        for filter in FilterKind::ALL {
            assert_eq!(filter.cost(&Loss::Unbounded, (1.0, 0.0)), None);
            assert_eq!(filter.to_string().parse::<FilterKind>(), Ok(filter));
            // serde names a variant by itself.
            assert_eq!(serde_json::to_value(filter).expect("a name"), filter.to_string());
            assert!(20 < filter.theorem().len());
        }
        assert_eq!(FilterKind::GaussianDp.cost(&Loss::Zcdp { rho: 0.1 }, (1.0, 1e-6)), None);
        assert!(FilterKind::Zcdp.limit("epsilon=1".parse().expect("a budget")).is_err());
    }
}
