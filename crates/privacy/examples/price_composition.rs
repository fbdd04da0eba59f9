//! Prices ten Laplace releases and forty Gaussian releases of one record, composed together.
//! Prints both bounds that enclose the numerical value.
//!
//! `cargo run -p privateer-privacy --example price_composition`

use privateer_privacy::accounting::{Composition, Loss};
use privateer_privacy::{Delta, Epsilon, analytic_gaussian_sigma};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let delta = Delta::try_from(1e-6)?;
    // Noise of one Gaussian release at sensitivity 1 that costs epsilon = 0.5 by itself.
    let sigma = analytic_gaussian_sigma(Epsilon::try_from(0.5)?, delta);
    let both = Composition::default().and(Loss::Laplace { epsilon: 0.1 }, 10).and(Loss::Gaussian { mu: 1.0 / sigma }, 40);
    let priced = both.epsilon(delta);
    println!("adding up the epsilons: {:.3}", 10.0 * 0.1 + 40.0 * 0.5);
    println!("privacy-loss distributions: between {:.3} and {:.3} at delta = {}", priced.lower, priced.upper, delta.get());
    println!("who takes part twice: at most {:.3}", both.times(2).epsilon(delta).upper);
    Ok(())
}
