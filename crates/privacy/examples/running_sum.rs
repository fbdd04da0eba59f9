//! Releases the running sum of seven daily vectors with exact tree noise, each day with its ledger.
//!
//! `cargo run -p privateer-privacy --example running_sum`

use privateer_privacy::accounting::sensitivity::{Participation, Relation};
use privateer_privacy::release::{TreeRelease, publish};
use privateer_privacy::{Delta, Epsilon, Raw};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let budget = (Epsilon::try_from(1.0)?, Delta::try_from(1e-6)?);
    // Each day adds a vector of two entries, clipped to L2 norm 1; each user contributes to one day.
    let terms = (Relation::Replace, Participation::ONCE);
    let mut sums = TreeRelease::calibrated(budget, 1.0, 2, 7, terms)?;
    for day in 0..7 {
        let vector = vec![0.1 * f64::from(day), 0.5];
        println!("{}", publish(&sums.add(Raw::seal(vector))?));
    }
    Ok(())
}
