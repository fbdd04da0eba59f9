//! Counts the multiply-adds of f32 screens over features, and decides when to move to f64.
//!
//! A screen moves to f64 when the host has paid as much for f32 (exact scores, `m²` each, and factors that reset slots,
//! `m³` each) as all rounds so far, and the tables once more, would have cost in f64. A multiply-add of the device in f64
//! counts like one of the host. The total is at most twice the smaller of both; the answers are the same either way, and no
//! clock is involved. Derivation: `docs/derivations/device-error-band.md`, section "The type".

/// Counted multiply-adds of one screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryLedger {
    /// Multiply-adds of the host, for candidates that f32 left undecided.
    paid: f64,
    /// Multiply-adds of the device.
    screened: f64,
}

/// Sizes of a basis.
#[derive(Debug, Clone, Copy)]
pub struct MemorySizes {
    /// Number of points.
    pub n: usize,
    /// Number of features.
    pub m: usize,
}

impl MemoryLedger {
    /// Counts a slot's round on the device: a row projected over all points, or a factor.
    ///
    /// A repeated row counts like a new one.
    pub fn screen(&mut self, MemorySizes { n, m }: MemorySizes, from_factor: bool) {
        let (n, m) = (n as f64, m as f64);
        self.screened += if from_factor { n * m * (m + 1.0) / 2.0 } else { n * m };
    }

    pub fn score(&mut self, points: usize, m: usize) {
        self.paid += (points * m * m) as f64;
    }

    /// Counts a factor that resets a slot.
    pub fn start(&mut self, m: usize) {
        self.paid += (m * m * m) as f64;
    }

    pub fn add(&mut self, other: Self) {
        self.paid += other.paid;
        self.screened += other.screened;
    }

    /// Returns whether f64 would have cost no more, with its tables and a factor of each slot.
    pub fn is_dear(&self, MemorySizes { n, m }: MemorySizes, slots: usize) -> bool {
        let (n, m, slots) = (n as f64, m as f64, slots as f64);
        self.screened + n * m + slots * (m * m * m + n * m * (m + 1.0) / 2.0) <= self.paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One candidate per round beyond the first never triggers f64 where points outnumber features.
    ///
    /// One scan per round does, as soon as the move itself is paid for; the screened work never exceeds the paid work and
    /// the move.
    #[test]
    fn dear_is_what_costs_as_much() {
        let sizes = MemorySizes { n: 1000, m: 60 };
        let after = |rounds: usize, candidates: usize| {
            let mut ledger = MemoryLedger::default();
            (0..rounds).for_each(|_| {
                ledger.screen(sizes, false);
                ledger.score(candidates, sizes.m);
            });
            ledger
        };
        assert!(!after(100_000, 16).is_dear(sizes, 1), "16 m < n");
        assert!(after(100_000, 18).is_dear(sizes, 1), "18 m > n");
        let first = (1..1000).find(|&rounds| after(rounds, 1000).is_dear(sizes, 8)).expect("at last");
        // (1000 m² - n m) per round against n m + 8 (m³ + n m²/2).
        let (n, m) = (1000.0, 60.0);
        let price: f64 = (n * m + 8.0 * (m * m * m + n * m * (m + 1.0) / 2.0)) / (1000.0 * m * m - n * m);
        assert_eq!(first, price.ceil() as usize);
        let mut ledger = MemoryLedger::default();
        ledger.start(60);
        assert!(!ledger.is_dear(sizes, 1));
    }
}
