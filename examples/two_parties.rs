//! Two parties in one process, through the library: a curator releases released inputs for real, a modeler asks for rows and is
//! told rewards. In practice each half runs at another organisation; what passes between them is `released`, `ledger`, rows and
//! rewards. `two_parties.sh` does the same with the command line.
//!
//! Run: `cargo run --release --example two_parties`. Prints the noise, the budget, and the best row found.

use privateer::engine::{Preparation, Session};
use privateer::env::{CuratedLedger, DataFolder};
use privateer::spec::Sweep;
use privateer_backend::Cpu;
use privateer_privacy::release::RowsRelease;
use privateer_privacy::{Delta, Epsilon, Raw};
use std::error::Error;

const SPEC: &str = r#"
rounds = 20
[environment]
kind = "points-table"
file = "released.csv"
released = "ledger.json"
inputs = ["u", "v"]
kernel = { kind = "squared-exponential", lengthscale = 0.8, variance = 0.2 }
noise = { kind = "gaussian", sd = 0.05 }
bound = 1.0
[[policy]]
kind = "gp-ucb"
ridge = 0.0025
beta = { kind = "scaled", factor = 0.4 }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("privateer-two-parties-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;

    // The curator: 20 x 20 rows that stay here, and what is to be optimized over them.
    let rows: Vec<f64> = (0..400).flat_map(|i| [f64::from(i % 20) * 0.2 - 1.9, f64::from(i / 20) * 0.2 - 1.9]).collect();
    let outcome = |row: usize| (-(rows[2 * row] - 0.3).powi(2) - (rows[2 * row + 1] + 0.5).powi(2)).exp();
    let (epsilon, delta, radius, bound) = (Epsilon::try_from(4.0)?, Delta::try_from(1e-6)?, 0.5, 3.0);
    let mechanism = RowsRelease::calibrated(epsilon, delta, radius, bound, 2)?;
    let sigma = mechanism.sigma();
    let released = mechanism.release(Raw::seal(rows.clone()))?;
    let (ledger, released_inputs) = CuratedLedger::with_released_inputs(&released.rows, &["u", "v"], radius, bound, sigma);
    println!("noise {sigma:.3} in each number, ({}, {}) at radius {radius}", ledger.epsilon, ledger.delta);

    // What crosses over.
    std::fs::write(folder.join("released.csv"), released_inputs)?;
    std::fs::write(folder.join("ledger.json"), serde_json::to_string(&ledger)?)?;

    // The modeler: sees the folder alone.
    let sweep = Sweep::parse("modeler.toml", SPEC, &[])?;
    let (data, backend) = (DataFolder::new(Some(folder.clone())), Cpu::default());
    let preparation = Preparation::new(&sweep, &data, &backend);
    let mut session = Session::start(&sweep, &preparation)?;
    for _ in 0..20 {
        let row = session.ask()?;
        session.tell(row, outcome(row))?;
    }
    let best = session.best().ok_or("nothing was told")?;
    let most = (0..400).map(outcome).fold(0.0, f64::max);
    println!("best row {best}: outcome {:.3} of {most:.3}", outcome(best));
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
