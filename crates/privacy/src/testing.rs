//! Budgets of the tests.

use super::{Delta, Epsilon};

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::try_from(value).expect("a budget")
}

pub(crate) fn delta(value: f64) -> Delta {
    Delta::try_from(value).expect("a probability")
}
