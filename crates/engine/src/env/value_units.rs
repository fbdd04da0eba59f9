//! Converts between the values of a file's column and rewards.

/// Holds how an environment makes rewards of the values of a column: logarithm, sign, centre and scale, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueUnits {
    pub log: bool,
    /// Whether small values are good.
    pub minimise: bool,
    pub centre: f64,
    /// Divides; above 0.
    pub scale: f64,
}

impl ValueUnits {
    /// Returns the reward of a value of the column; not finite where a logarithm does not exist.
    pub fn reward(self, value: f64) -> f64 {
        let value = if self.log { libm::log(value) } else { value };
        ((if self.minimise { -value } else { value }) - self.centre) / self.scale
    }

    /// Returns the value of the column for a reward.
    pub fn value(self, reward: f64) -> f64 {
        let value = reward * self.scale + self.centre;
        let value = if self.minimise { -value } else { value };
        if self.log { libm::exp(value) } else { value }
    }

    /// Returns the values of the column between which those of the rewards from `low` to `high` lie.
    pub fn values(self, low: f64, high: f64) -> (f64, f64) {
        let (a, b) = (self.value(low), self.value(high));
        (a.min(b), a.max(b))
    }

    /// Returns the rewards between which those of the values from `low` to `high` lie; `None` if one has no logarithm.
    pub fn rewards(self, low: f64, high: f64) -> Option<(f64, f64)> {
        let (a, b) = (self.reward(low), self.reward(high));
        (a.is_finite() && b.is_finite()).then(|| (a.min(b), a.max(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_rewards_convert_into_each_other() {
        for (log, minimise) in [(false, false), (false, true), (true, false), (true, true)] {
            let units = ValueUnits { log, minimise, centre: 0.3, scale: 2.5 };
            for value in [0.01, 1.0, 40.0] {
                let again = units.value(units.reward(value));
                assert!((again - value).abs() < 1e-12 * value, "{value} became {again}");
            }
            let (low, high) = units.rewards(0.5, 8.0).expect("both have rewards");
            assert!(low < high);
            assert_eq!(minimise, units.reward(8.0) == low);
        }
        let log = ValueUnits { log: true, minimise: false, centre: 0.0, scale: 1.0 };
        assert_eq!(log.rewards(0.0, 1.0), None);
        assert_eq!(log.rewards(-1.0, 1.0), None);
    }
}
