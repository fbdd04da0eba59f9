//! Sensor readings from an earlier time, which give the tails of the rewards before the first play.

/// The readings of every arm, and their deviations from the arm's mean.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainReadings {
    readings: Vec<f64>,
    deviations: Vec<f64>,
    /// Whether rewards are drawn from these same readings.
    pub also_test: bool,
}

impl TrainReadings {
    /// Creates the readings.
    /// * `values` — consecutive rows of `n_arms` readings
    pub fn new(values: &[f64], n_arms: usize, also_test: bool) -> Self {
        let rows = values.len().checked_div(n_arms).unwrap_or(0);
        let mean = |arm: usize| values.iter().skip(arm).step_by(n_arms).sum::<f64>() / rows as f64;
        let means: Vec<f64> = (0..n_arms).map(mean).collect();
        let deviations = values.iter().enumerate().map(|(i, value)| value - means[i % n_arms]).collect();
        Self { readings: values.to_vec(), deviations, also_test }
    }

    /// Returns the mean of `|reading|^order`.
    pub fn reward_moment(&self, order: f64) -> f64 {
        mean_power(&self.readings, order)
    }

    /// Returns the mean of `|reading - its arm's mean|^order`.
    pub fn noise_moment(&self, order: f64) -> f64 {
        mean_power(&self.deviations, order)
    }
}

fn mean_power(values: &[f64], order: f64) -> f64 {
    let power = |x: f64| if order == 2.0 { x * x } else { libm::pow(x.abs(), order) };
    values.iter().map(|&x| power(x)).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_readings_and_of_deviations() {
        // Arms with means 2 and -3.
        let readings = TrainReadings::new(&[1.0, -4.0, 3.0, -2.0], 2, false);
        assert_eq!(readings.reward_moment(2.0), (1.0 + 16.0 + 9.0 + 4.0) / 4.0);
        assert_eq!(readings.noise_moment(2.0), 1.0);
        assert_eq!(readings.noise_moment(1.3), 1.0);
        let expected = (1.0 + 8.0 + libm::pow(3.0, 1.5) + libm::pow(2.0, 1.5)) / 4.0;
        assert!((readings.reward_moment(1.5) - expected).abs() < 1e-14);
    }
}
