//! What screens in f32 over features have cost, in counted multiply-adds, and when to go on in f64.
//!
//! In f32 a band is wider than in f64, by the ratio of their roundoffs, so that the host scores more candidates exactly: `m²` multiply-adds
//! each, and `m³` for a factor that starts a lane anew because its candidates have become dear. A round in f64 costs the device what it
//! costs in f32, at a rate of 1/2 to 1/64 of that. A card that is worth it has 1 Tflop/s in f32 at least, so 16 Gflop/s in f64: what
//! one core of the host has. So a multiply-add of the device in f64 is taken to cost what one of the host costs, and a screen
//! goes on in f64 when the host has paid as much for f32 as all rounds so far, and the tables once more, would have cost in f64:
//! never more than twice the least of both. The answers are the same either way. On faster cards it comes later than it
//! might; it never depends on a clock.

/// Counted multiply-adds of one screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryLedger {
    /// Of the host, for what f32 left open.
    paid: f64,
    /// Of the device.
    screened: f64,
}

/// The sizes behind the counts.
#[derive(Debug, Clone, Copy)]
pub struct MemorySizes {
    /// Points.
    pub n: usize,
    /// Features.
    pub m: usize,
}

impl MemoryLedger {
    /// A lane's round on the device: a row projected over all points (a repeated one counts as well), or a factor.
    pub fn screen(&mut self, MemorySizes { n, m }: MemorySizes, from_factor: bool) {
        let (n, m) = (n as f64, m as f64);
        self.screened += if from_factor { n * m * (m + 1.0) / 2.0 } else { n * m };
    }

    /// Exact scores of so many points.
    pub fn score(&mut self, points: usize, m: usize) {
        self.paid += (points * m * m) as f64;
    }

    /// A factor made to start a lane anew.
    pub fn start(&mut self, m: usize) {
        self.paid += (m * m * m) as f64;
    }

    /// Whether f64 would have been no dearer, with its tables and a factor of each lane.
    pub fn is_dear(&self, MemorySizes { n, m }: MemorySizes, lanes: usize) -> bool {
        let (n, m, lanes) = (n as f64, m as f64, lanes as f64);
        self.screened + n * m + lanes * (m * m * m + n * m * (m + 1.0) / 2.0) <= self.paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One candidate beyond the first a round never is dear where points are more than features; a scan a round is at once paid
    /// for as soon as the start is; whatever was screened is never more than what was paid and the start.
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
        // (1000 m² - n m) a round against n m + 8 (m³ + n m²/2).
        let (n, m) = (1000.0, 60.0);
        let price: f64 = (n * m + 8.0 * (m * m * m + n * m * (m + 1.0) / 2.0)) / (1000.0 * m * m - n * m);
        assert_eq!(first, price.ceil() as usize);
        let mut ledger = MemoryLedger::default();
        ledger.start(60);
        assert!(!ledger.is_dear(sizes, 1));
    }
}
