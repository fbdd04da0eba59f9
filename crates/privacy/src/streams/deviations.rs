//! Standard deviations of the noise on every prefix, which only a stream that runs needs.

use super::Factorisation;
use std::sync::{Arc, OnceLock};

/// The standard deviations of the noise on the prefixes of a stream, computed at their first use.
#[derive(Debug)]
pub struct Deviations {
    factorisation: Arc<dyn Factorisation>,
    sigma: f64,
    computed: OnceLock<Vec<f64>>,
}

impl Deviations {
    /// Describes a stream whose draws have standard deviation `sigma`.
    #[must_use]
    pub fn new(factorisation: &Arc<dyn Factorisation>, sigma: f64) -> Self {
        Self { factorisation: Arc::clone(factorisation), sigma, computed: OnceLock::new() }
    }

    /// Returns the standard deviation of the noise on prefix `at`, counted from 0; NaN beyond the last.
    #[must_use]
    pub fn at(&self, at: usize) -> f64 {
        let compute = || self.factorisation.variances().into_iter().map(|variance| self.of(variance)).collect();
        self.computed.get_or_init(compute).get(at).copied().unwrap_or(f64::NAN)
    }

    /// Returns the number of prefixes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a stream has at least one round")]
    pub fn len(&self) -> u64 {
        self.factorisation.rounds()
    }

    /// Returns the largest of all, without computing the others.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.of(self.factorisation.largest_variance())
    }

    fn of(&self, variance: f64) -> f64 {
        self.sigma * libm::sqrt(variance)
    }
}
