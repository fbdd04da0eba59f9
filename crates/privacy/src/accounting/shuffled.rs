//! Computes the loss of randomised answers that a shuffler mixes: only how many users gave each is seen.
//!
//! Each of n users answers with one of k levels: their own unless the coin fails, each other with probability `rare`. For two levels
//! the loss is exact: neighbours and all other users are at the ends, since the hockey-stick divergence is convex in each user's law;
//! the number of others at the upper end is tried from 0 to n - 1. For more levels it is a bound: whoever sees the answers is also told
//! which other users answered at random. Proof: `docs/proofs/shuffled.md`.

use super::search::bisect;
use crate::memo::Memo;
use crate::{Delta, Epsilon};
use std::sync::LazyLock;

/// Users whose answers are counted as hiding each other; more hide no less, and count as these.
pub const MOST_USERS: u64 = 1000;

/// Relative bound on the rounding errors of a tail.
const ROUNDING: f64 = 1e-11;

/// Returns the probability of each other level's answer, for answers of this pure loss.
pub fn rare(loss: f64, levels: u64) -> f64 {
    1.0 / ((levels - 1) as f64 + libm::exp(loss))
}

/// Returns the pure loss of one answer.
pub fn loss(rare: f64, levels: u64) -> f64 {
    // ln(own/rare), without rounding the own level's probability.
    libm::log1p(-((levels - 1) as f64) * rare) - libm::log(rare)
}

/// Returns the failure probability at `epsilon` of the answers of `users` users.
pub fn delta(epsilon: f64, rare: f64, levels: u64, users: u64) -> f64 {
    let others = users.clamp(1, MOST_USERS) as usize - 1;
    if 2 < levels {
        return random_others(epsilon, rare, levels, others);
    }
    (0..=others).map(|upper| Others::new(rare, upper, others - upper).delta(epsilon)).fold(0.0, f64::max)
}

/// Maps a level count and the bits of three numbers to a number that is computed once.
type Known = Memo<[u64; 4], f64>;

/// Returns the least epsilon at `delta`.
pub fn epsilon(rare: f64, levels: u64, users: u64, delta: Delta) -> f64 {
    static KNOWN: Known = Known::new(usize::MAX);
    let users = users.clamp(1, MOST_USERS);
    KNOWN.get([levels, rare.to_bits(), users, delta.get().to_bits()], || {
        let (quick, all) = (|e: f64| likely(e, rare, levels, users), |e: f64| self::delta(e, rare, levels, users));
        let pure = loss(rare, levels);
        let least = if quick(0.0) <= delta.get() { 0.0 } else { bisect(0.0, pure, 1e-13, |e| quick(e) <= delta.get()) };
        if all(least) <= delta.get() { least } else { bisect(least, pure, 1e-13, |e| all(e) <= delta.get()) }
    })
}

/// Returns the failure probability with all others alike at an end, which were the worst wherever this was computed; that they are
/// is not proved.
fn likely(epsilon: f64, rare: f64, levels: u64, users: u64) -> f64 {
    let others = users as usize - 1;
    if 2 < levels {
        return random_others(epsilon, rare, levels, others);
    }
    let alike = [Others::new(rare, 0, others), Others::new(rare, others, 0)];
    alike.iter().map(|others| others.delta(epsilon)).fold(0.0, f64::max)
}

/// Returns the largest pure loss of an answer for which the answers of `users` users keep the budget.
pub fn largest_loss(budget: Epsilon, levels: u64, users: u64, delta: Delta) -> f64 {
    static KNOWN: Known = Known::new(usize::MAX);
    let (users, budget) = (users.clamp(1, MOST_USERS), budget.get());
    KNOWN.get([levels, budget.to_bits(), users, delta.get().to_bits()], || {
        let quick = |loss: f64| likely(budget, rare(loss, levels), levels, users) <= delta.get();
        let all = |loss: f64| self::delta(budget, rare(loss, levels), levels, users) <= delta.get();
        // Answers of the budget keep it whatever the others answer.
        let mut beyond = 2.0 * budget;
        while beyond < MOST_LOSS && quick(beyond) {
            beyond *= 2.0;
        }
        let largest = if beyond < MOST_LOSS { bisect(beyond, budget, 1e-13, quick) } else { MOST_LOSS.max(budget) };
        if all(largest) { largest } else { bisect(largest, budget, 1e-13, all) }
    })
}

/// Largest pure loss of one answer: a wrong one once in 10^13.
const MOST_LOSS: f64 = 30.0;

/// Weights below this are left out.
const LEAST_WEIGHT: f64 = 1e-27;

/// Bound on the failure probability of what [`LEAST_WEIGHT`] leaves out, and on the rounding of the share of those who do not answer at
/// random.
const LEFT_OUT: f64 = 1e-14;

/// At n (n + 1)/2 + j: the probability of at least j heads in n throws of a fair coin.
static HEADS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let most = MOST_USERS as usize;
    let mut tails = vec![1.0];
    for n in 1..=most {
        let before = n * (n - 1) / 2;
        tails.push(1.0);
        for j in 1..=n {
            let more = if j < n { tails[before + j] } else { 0.0 };
            tails.push(0.5 * (more + tails[before + j - 1]));
        }
    }
    tails
});

/// Returns the probability of at least `j` heads in `n` throws of a fair coin, for `j <= n`.
fn heads(n: usize, j: usize) -> f64 {
    HEADS[n * (n + 1) / 2 + j]
}

/// Returns a bound on the failure probability for more than two levels, by those of the `others` who answer at random.
///
/// With M uniform answers, one of them the user's if it is one, the probability of their counts is that of M uniform answers times
/// `random + kept k/M` times the count of the user's level.
fn random_others(epsilon: f64, rare: f64, levels: u64, others: usize) -> f64 {
    let (k, e) = (levels as f64, libm::exp(epsilon));
    let random = k * rare;
    let kept = 1.0 - random;
    if random <= 0.0 {
        return 1.0;
    }
    if kept <= 0.0 {
        return LEFT_OUT;
    }
    let mut delta = LEFT_OUT;
    for (more, weight) in binomial(others, random, kept).into_iter().enumerate().filter(|(_, weight)| LEAST_WEIGHT < *weight) {
        let answers = more + 1;
        let (share, both) = (kept * k / answers as f64, 2.0 / k);
        let rest = random * libm::expm1(epsilon);
        // The answers at the two levels, of which those at the first are heads.
        for (n, at_two) in pairs(answers, both) {
            let least = ((e * n as f64 + rest / share) / (1.0 + e)).floor() as usize + 1;
            if n < least {
                continue;
            }
            // The mean number of heads, where they are at least `least`.
            let mean = 0.5 * n as f64 * heads(n - 1, least - 1);
            let above = share * (1.0 + e) * mean;
            let term = (above - (share * e * n as f64 + rest) * heads(n, least)).max(0.0) + ROUNDING * above;
            delta += weight * at_two * term;
        }
    }
    delta
}

/// Returns the numbers of successes of `n` trials that are not too rare, with their probabilities.
fn pairs(n: usize, p: f64) -> impl Iterator<Item = (usize, f64)> {
    let odds = p / (1.0 - p);
    let next = move |&(j, at): &(usize, f64)| (j < n).then(|| (j + 1, at * odds * (n - j) as f64 / (j + 1) as f64));
    // From below all that count: a sum of n trials is below its mean by 12 of its deviations with less than the least weight.
    let (mean, deviation) = (n as f64 * p, libm::sqrt(n as f64 * p * (1.0 - p)));
    let first = (mean - 12.0 * deviation).floor().max(0.0) as usize;
    let log = |k: usize| libm::lgamma(k as f64 + 1.0);
    let at = libm::exp(log(n) - log(first) - log(n - first) + first as f64 * libm::log(p) + (n - first) as f64 * libm::log1p(-p));
    std::iter::successors(Some((first, at)), next)
        .skip_while(|pair| pair.1 <= LEAST_WEIGHT)
        .take_while(|pair| LEAST_WEIGHT < pair.1)
}

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
    use std::collections::BTreeMap;

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
                    enumerated(epsilon, rare(bit, 2), &others)
                });
                let right = all.fold(0.0, f64::max);
                let found = delta(epsilon, rare(bit, 2), 2, n as u64);
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
            let found = epsilon(rare(bit, 2), 2, n, delta);
            assert!((found - right).abs() < 6e-4, "{bit} {n}: {found}");
            let back = largest_loss(Epsilon::try_from(found).expect("a budget"), 2, n, delta);
            assert!((back - bit).abs() < 1e-7 * bit, "{bit} {n}: {back}");
            // More users hide each other better.
            assert!(n == 10 || found < epsilon(rare(bit, 2), 2, n / 2, delta));
        }
        assert_eq!(epsilon(rare(1.0, 2), 2, 10 * MOST_USERS, delta), epsilon(rare(1.0, 2), 2, MOST_USERS, delta));
    }

    /// Returns the failure probability of the counts of k levels by all answers of all users, the first user's own level being 0 or 1.
    ///
    /// * `own` — the levels of the other users; `None` where it is seen who answered at random, and the others' answers are left out
    fn counted(epsilon: f64, rare: f64, levels: usize, own: &[Option<usize>]) -> f64 {
        let answer = |level: Option<usize>, at: usize| match level {
            Some(level) if level == at => 1.0 - (levels - 1) as f64 * rare,
            Some(_) => rare,
            None => 1.0 / levels as f64,
        };
        let law = |first: usize| {
            let mut law = BTreeMap::from([(vec![0_u8; levels], 1.0)]);
            for level in std::iter::once(Some(first)).chain(own.iter().copied()) {
                let mut next = BTreeMap::new();
                for (counts, p) in &law {
                    for at in 0..levels {
                        let mut counts = counts.clone();
                        counts[at] += 1;
                        *next.entry(counts).or_insert(0.0) += p * answer(level, at);
                    }
                }
                law = next;
            }
            law
        };
        law(0).iter().zip(law(1).values()).map(|((_, p), q)| (p - libm::exp(epsilon) * q).max(0.0)).sum()
    }

    /// The bound is the mean over who answers at random, and no levels of the other users are worse.
    #[test]
    fn more_levels_are_bounded_by_those_who_answer_at_random() {
        for (answer, levels, n) in [(0.5, 3_usize, 5_usize), (2.0, 3, 6), (2.0, 4, 5), (3.0, 5, 4)] {
            let rare = rare(answer, levels as u64);
            let random = levels as f64 * rare;
            for epsilon in [0.0, 0.1, 0.7, 1.9] {
                let weights = binomial(n - 1, random, 1.0 - random);
                let mean = |(m, weight): (usize, f64)| weight * counted(epsilon, rare, levels, &vec![None; m]);
                let right: f64 = weights.into_iter().enumerate().map(mean).sum();
                let found = delta(epsilon, rare, levels as u64, n as u64);
                assert!(right <= found + 1e-15 && found <= right + 1e-10, "{answer} {levels} {n} {epsilon}: {found} {right}");
                for mut code in 0..levels.pow(n as u32 - 1) {
                    let own: Vec<Option<usize>> = (1..n)
                        .map(|_| {
                            let at = code % levels;
                            code /= levels;
                            Some(at)
                        })
                        .collect();
                    assert!(counted(epsilon, rare, levels, &own) <= found + 1e-15, "{answer} {levels} {epsilon} {own:?}");
                }
            }
        }
    }

    /// By another program, with the same bound; and the answers' own loss where nobody hides them.
    #[test]
    fn levels_keep_budgets() {
        let delta = Delta::try_from(1e-4).expect("a probability");
        let one = Epsilon::try_from(1.0).expect("a budget");
        for (levels, users, right) in [(3, 50, 1.598), (5, 200, 2.586), (17, 200, 2.991)] {
            let found = largest_loss(one, levels, users, delta);
            assert!((found - right).abs() < 1e-3, "{levels} {users}: {found}");
            let back = epsilon(rare(found, levels), levels, users, delta);
            assert!((back - 1.0).abs() < 1e-7, "{levels} {users}: {back}");
        }
        assert_eq!(largest_loss(one, 3, 1, delta).total_cmp(&1.0), std::cmp::Ordering::Greater);
        assert!(largest_loss(one, 3, 1, delta) < 1.001);
    }
}
