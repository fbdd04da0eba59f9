//! Adds an environment of our own to `privateer`: a queue whose number of servers and patience are to be chosen.
//!
//! ```text
//! cargo run -p plugin-simulator -- run examples/plugin-simulator/queue.toml
//! ```
//!
//! Each reward is one simulated day; the users whose day it is are protected by the mechanism of the spec.

use privateer::numerics::rng::Stream;
use privateer::{FnEnvironment, Registry};

/// Customers of a day.
const CUSTOMERS: usize = 60;
/// Mean time between two arrivals, and mean time of a service.
const ARRIVAL: f64 = 1.0;
const SERVICE: f64 = 2.2;

/// Draws an exponential time.
fn exponential(mean: f64, random: &mut Stream) -> f64 {
    -mean * random.open_uniform().ln()
}

/// Simulates one day: income of a served customer 1, cost of a server 0.12 a customer; customers leave when they would wait too
/// long. Returns the profit per customer.
fn day(servers: usize, patience: f64, random: &mut Stream) -> f64 {
    let mut free_at = vec![0.0f64; servers];
    let (mut now, mut served) = (0.0, 0);
    for _ in 0..CUSTOMERS {
        now += exponential(ARRIVAL, random);
        let service = exponential(SERVICE, random);
        let next = (0..servers).min_by(|&a, &b| free_at[a].total_cmp(&free_at[b])).unwrap_or(0);
        let start = free_at[next].max(now);
        if start - now <= patience {
            free_at[next] = start + service;
            // Waiting annoys: whoever waits for long pays less.
            served += usize::from(random.uniform() < 1.0 - 0.15 * (start - now));
        }
    }
    served as f64 / CUSTOMERS as f64 - 0.12 * servers as f64
}

/// One to five servers, and patience from 0 to 3, both scaled to [0, 1].
fn points() -> Vec<f64> {
    let patience = |i: u32| f64::from(i) / 6.0;
    (1..=5u32).flat_map(|servers| (0..7).flat_map(move |i| [f64::from(servers - 1) / 4.0, patience(i)])).collect()
}

/// What `privateer` has, and our environment.
fn registry() -> Registry {
    Registry::builtin().with_environment("queue", "profit of a queue by servers and patience", |args| {
        let simulate = |x: &[f64], random: &mut Stream| day(1 + (4.0 * x[0]).round() as usize, 3.0 * x[1], random);
        FnEnvironment::new(2, points(), simulate).with_range(-0.6, 1.0).read(args)
    })
}

fn main() -> std::process::ExitCode {
    privateer::cli::main_with(&registry(), std::env::args_os()).into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn keeps_the_contract() {
        let spec = "kind = \"queue\"\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.5 }";
        privateer::testing::environment_contract(&super::registry(), spec).expect("the contract");
    }
}
