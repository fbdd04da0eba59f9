//! Reads saved states of policies.

use privateer_config::error::{Diagnostic, Error};
use privateer_gp::posterior::Visits;
use serde::de::DeserializeOwned;
use std::fmt;

/// Holds a saved state, after a check that it is one of the named policy.
pub struct SavedState {
    policy: &'static str,
    value: serde_json::Value,
}

impl SavedState {
    /// Checks that a value is the state of this policy, if there is one.
    ///
    /// # Errors
    /// If it is of another one.
    pub fn of(policy: &'static str, saved: Option<serde_json::Value>) -> Result<Option<Self>, Error> {
        let Some(value) = saved else { return Ok(None) };
        let found = value["policy"].as_str().unwrap_or("none");
        if found == policy {
            return Ok(Some(Self { policy, value }));
        }
        Diagnostic::new(format!("the state is of policy `{found}`"))
            .expected(format!("policy `{policy}`"))
            .hint("restore it with the spec that saved it")
            .refuse()
    }

    /// Takes the value under a key; null where the key is missing.
    pub fn take(&mut self, key: &str) -> serde_json::Value {
        self.value[key].take()
    }

    /// Takes and reads the value under a key.
    ///
    /// # Errors
    /// If it has another form.
    pub fn read<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, Error> {
        serde_json::from_value(self.take(key)).map_err(|source| self.unreadable("state", source))
    }

    /// Takes and reads a state whose keys stand beside the policy's name.
    ///
    /// # Errors
    /// As [`SavedState::read`].
    pub fn read_all<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        serde_json::from_value(self.value.take()).map_err(|source| self.unreadable("state", source))
    }

    /// Takes and reads the visits of a policy whose state they are.
    pub(super) fn visits(&mut self, n_points: usize) -> Result<Visits, Error> {
        let visits: Visits = serde_json::from_value(self.take("visits")).map_err(|source| self.unreadable("visits", source))?;
        visits.check(n_points).map_err(|why| self.unreadable("visits", why))?;
        Ok(visits)
    }

    /// Returns the error for a part of the state that cannot be used.
    pub fn unreadable(&self, part: &str, why: impl fmt::Display) -> Error {
        Diagnostic::new(format!("the saved {part} of `{}` cannot be read: {why}", self.policy)).error()
    }
}
