//! Computes the loss of randomised bits that a shuffler mixes: only their number is seen.
//!
//! Each of n users answers with one bit, wrong with probability `rare` at the ends of the range. The loss is exact: neighbours and all
//! other users are at the ends, since the hockey-stick divergence is convex in each user's law; the number of others at the
//! upper end is tried from 0 to n - 1. Proof: `docs/proofs/shuffled.md`.

use super::search::bisect;
use crate::{Delta, Epsilon};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Users whose bits are counted as hiding each other; more hide no less, and count as these.
pub const MOST_USERS: u64 = 1000;

/// Relative bound on the rounding errors of a tail.
const ROUNDING: f64 = 1e-11;

/// Returns the probability of a wrong bit at the ends of the range, for bits of this pure loss.
pub fn rare(loss: f64) -> f64 {
    1.0 / (1.0 + libm::exp(loss))
}

/// Returns the pure loss of one bit.
pub fn loss(rare: f64) -> f64 {
    // ln((1 - rare)/rare), without rounding 1 - rare.
    libm::log1p(-rare) - libm::log(rare)
}

/// Returns the failure probability at `epsilon` of the number of `users` bits.
pub fn delta(epsilon: f64, rare: f64, users: u64) -> f64 {
    let others = users.clamp(1, MOST_USERS) as usize - 1;
    (0..=others).map(|upper| Others::new(rare, upper, others - upper).delta(epsilon)).fold(0.0, f64::max)
}

/// Returns a number of this key, which is computed once.
fn once(known: &Mutex<BTreeMap<[u64; 3], f64>>, key: [u64; 3], number: impl FnOnce() -> f64) -> f64 {
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(&key) {
        return *known;
    }
    let number = number();
    lock().insert(key, number);
    number
}

/// Returns the least epsilon at `delta`.
pub fn epsilon(rare: f64, users: u64, delta: Delta) -> f64 {
    static KNOWN: Mutex<BTreeMap<[u64; 3], f64>> = Mutex::new(BTreeMap::new());
    let users = users.clamp(1, MOST_USERS);
    once(&KNOWN, [rare.to_bits(), users, delta.get().to_bits()], || searched_epsilon(rare, users, delta))
}

fn searched_epsilon(rare: f64, users: u64, delta: Delta) -> f64 {
    let others = users as usize - 1;
    let alike = [Others::new(rare, 0, others), Others::new(rare, others, 0)];
    let pure = loss(rare);
    let keeps = |epsilon: f64| alike.iter().all(|others| others.delta(epsilon) <= delta.get());
    let least = if keeps(0.0) { 0.0 } else { bisect(0.0, pure, 1e-13, keeps) };
    // Others who are alike were the worst wherever this was computed; that they are is not proved.
    if self::delta(least, rare, users) <= delta.get() {
        least
    } else {
        bisect(least, pure, 1e-13, |e| self::delta(e, rare, users) <= delta.get())
    }
}

/// Returns the largest pure loss of a bit for which `users` bits keep the budget.
pub fn largest_loss(budget: Epsilon, users: u64, delta: Delta) -> f64 {
    static KNOWN: Mutex<BTreeMap<[u64; 3], f64>> = Mutex::new(BTreeMap::new());
    let users = users.clamp(1, MOST_USERS);
    once(&KNOWN, [budget.get().to_bits(), users, delta.get().to_bits()], || searched_loss(budget.get(), users, delta))
}

fn searched_loss(budget: f64, users: u64, delta: Delta) -> f64 {
    let others = users as usize - 1;
    let alike = |loss: f64| {
        let rare = rare(loss);
        [(0, others), (others, 0)].iter().all(|&(upper, lower)| Others::new(rare, upper, lower).delta(budget) <= delta.get())
    };
    let all = |loss: f64| self::delta(budget, rare(loss), users) <= delta.get();
    // Bits of the budget keep it whatever the others answer.
    let mut beyond = 2.0 * budget;
    while beyond < MOST_LOSS && alike(beyond) {
        beyond *= 2.0;
    }
    let largest = if beyond < MOST_LOSS { bisect(beyond, budget, 1e-13, alike) } else { MOST_LOSS.max(budget) };
    if all(largest) { largest } else { bisect(largest, budget, 1e-13, all) }
}

/// Largest pure loss of one bit: a bit that is wrong once in 10^13 answers.
const MOST_LOSS: f64 = 30.0;

/// The law of the number of upper bits among the other users, all at the ends of the range.
struct Others {
    rare: f64,
    /// Probabilities of the number of upper bits of those at the upper end, and of those at the lower.
    parts: [Vec<f64>; 2],
    /// At i: the probability that at least i of those at the lower end answer with the upper bit.
    tail: Vec<f64>,
}

impl Others {
    fn new(rare: f64, upper: usize, lower: usize) -> Self {
        let parts = [binomial(upper, 1.0 - rare, rare), binomial(lower, rare, 1.0 - rare)];
        let mut tail = parts[1].clone();
        (0..lower).rev().for_each(|i| tail[i] += tail[i + 1]);
        Self { rare, parts, tail }
    }

    /// Returns the probability of `number` upper bits.
    fn at(&self, number: usize) -> f64 {
        let [upper, lower] = &self.parts;
        let first = (number + 1).saturating_sub(lower.len());
        (first..=number.min(upper.len() - 1)).map(|i| upper[i] * lower[number - i]).sum()
    }

    /// Returns the probability of at least `number` upper bits.
    fn at_least(&self, number: usize) -> f64 {
        let tail = |i: usize| self.tail.get(number.saturating_sub(i)).copied().unwrap_or(0.0);
        self.parts[0].iter().enumerate().map(|(i, p)| p * tail(i)).sum()
    }

    /// Returns the failure probability for a user at the upper end against one at the lower.
    fn delta(&self, epsilon: f64) -> f64 {
        // P(j) - e^epsilon Q(j) = more at(j - 1) - less at(j).
        let (e, r) = (libm::exp(epsilon), self.rare);
        let (more, less) = (1.0 - r - e * r, e * (1.0 - r) - r);
        if more <= 0.0 {
            return 0.0;
        }
        let is_more = |j: usize| less * self.at(j) < more * self.at(j - 1);
        // The law is log-concave, so that the difference changes its sign once; far ends are 0 in f64.
        let n = self.parts[0].len() + self.parts[1].len() - 1;
        let (mut no, mut yes) = (0, n);
        while 1 < yes && self.at(yes - 1) == 0.0 {
            yes -= 1;
        }
        while 1 < yes - no {
            let middle = no + (yes - no) / 2;
            if is_more(middle) { yes = middle } else { no = middle }
        }
        let (above, from) = (more * self.at_least(yes - 1), less * self.at_least(yes));
        (above - from).max(0.0) + ROUNDING * above
    }
}

/// Returns the probabilities of 0 to n successes, each of probability p = 1 - q.
fn binomial(n: usize, p: f64, q: f64) -> Vec<f64> {
    let log_factorial = |k: usize| libm::lgamma(k as f64 + 1.0);
    let (all, log_p, log_q) = (log_factorial(n), libm::log(p), libm::log(q));
    (0..=n)
        .map(|k| libm::exp(all - log_factorial(k) - log_factorial(n - k) + k as f64 * log_p + (n - k) as f64 * log_q))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the failure probability by the laws of all bits, one after another, for others at these ends.
    fn enumerated(epsilon: f64, rare: f64, others: &[bool]) -> f64 {
        let add = |law: &[f64], up: f64| -> Vec<f64> {
            (0..=law.len()).map(|i| (1.0 - up) * law.get(i).unwrap_or(&0.0) + if 0 < i { up * law[i - 1] } else { 0.0 }).collect()
        };
        let chance = |upper: bool| if upper { 1.0 - rare } else { rare };
        let law = others.iter().fold(vec![1.0], |law, upper| add(&law, chance(*upper)));
        let (one, other) = (add(&law, 1.0 - rare), add(&law, rare));
        one.iter().zip(&other).map(|(p, q)| (p - libm::exp(epsilon) * q).max(0.0)).sum()
    }

    #[test]
    fn the_loss_is_that_of_an_enumeration() {
        for (bit, n) in [(0.5, 1), (1.0, 2), (1.0, 7), (2.0, 30), (3.0, 61), (0.2, 200)] {
            for epsilon in [0.0, 0.01, 0.1, 0.5, 1.0, 1.9] {
                let all = (0..n).map(|upper| {
                    let others: Vec<bool> = (1..n).map(|i| i <= upper).collect();
                    enumerated(epsilon, rare(bit), &others)
                });
                let right = all.fold(0.0, f64::max);
                let found = delta(epsilon, rare(bit), n as u64);
                assert!(right <= found + 1e-15 && found <= right + 1e-10, "{bit} {n} {epsilon}: {found} {right}");
            }
        }
    }

    #[test]
    fn budgets_are_kept_and_used() {
        let delta = Delta::try_from(1e-5).expect("a probability");
        // (Exact to the digits given): an enumeration in another program.
        for (bit, n, right) in
            [(1.0, 1000, 0.105), (1.0, 100, 0.408), (1.0, 50, 0.636), (2.0, 1000, 0.272), (2.0, 100, 1.342), (2.0, 10, 2.0)]
        {
            let found = epsilon(rare(bit), n, delta);
            assert!((found - right).abs() < 6e-4, "{bit} {n}: {found}");
            let back = largest_loss(Epsilon::try_from(found).expect("a budget"), n, delta);
            assert!((back - bit).abs() < 1e-7 * bit, "{bit} {n}: {back}");
            // More users hide each other better.
            assert!(n == 10 || found < epsilon(rare(bit), n / 2, delta));
        }
        assert_eq!(epsilon(rare(1.0), 10 * MOST_USERS, delta), epsilon(rare(1.0), MOST_USERS, delta));
    }
}
