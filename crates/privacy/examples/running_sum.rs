//! Releases the running sums of seven daily users with exact tree noise, from the mechanism that simulations use.
//!
//! `cargo run -p privateer-privacy --example running_sum`

use privateer_privacy::release::ChannelRelease;
use privateer_privacy::sums::{SumsNeed, joint};
use privateer_privacy::{Budget, Calibration, Channel, Query, Raw, Request, RewardFacts, Signal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each day one user brings two features and a reward in [0, 1]; each user comes once.
    let budget = Budget::new(Some(1.0), Some(1e-6))?;
    let request = Request { mechanism: "tree", calibration: Calibration::Tight, budget, clip: Some((0.0, 1.0)) };
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 7 };
    let need = SumsNeed::of_features(2, 7, 7);
    let mechanism = (joint::ENTRIES[0].build)(&request, &facts, need)?;
    println!("{}", mechanism.ledger().claimed);
    let mut sums = ChannelRelease::of(&Channel::Sums(mechanism))?;
    for day in 0..7 {
        let query = Query { features: vec![0.1 * f64::from(day), 0.5].into(), release: true };
        if let Signal::Sums(sums) = sums.release(&query, Raw::seal(0.5))?.value() {
            println!("day {day}: {:?}", sums.entries);
        }
    }
    Ok(())
}
