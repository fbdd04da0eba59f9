//! Two parties in one process, through the library: a data holder releases released inputs for real, a modeler asks for rows and learns
//! rewards with noise, in both forms: the data holder adds the noise, or a trusted curator who runs the session. An odometer stops
//! either at the budget of a row. In practice each half runs at another organisation; `two_parties.sh` does the same with the command line.
//!
//! Run: `cargo run --release --example two_parties`. Prints the noise, what a row has spent at most, and the best row of each form.

use privateer::engine::{Preparation, Session};
use privateer::env::{CuratedLedger, DataFolder};
use privateer::spec::Sweep;
use privateer_backend::Cpu;
use privateer_privacy::mechanism::hybrid;
use privateer_privacy::odometer::{DeploymentForm, FilterKind, Odometer};
use privateer_privacy::release::{ChannelRelease, HolderRelease, RowsRelease, random_name};
use privateer_privacy::{Budget, Calibration, Channel, Delta, Epsilon, Query, Raw, Request, RewardFacts};
use std::error::Error;

const SPEC: &str = r#"
rounds = 60
[environment]
kind = "points-table"
file = "released.csv"
released = "ledger.json"
inputs = ["u", "v"]
kernel = { kind = "squared-exponential", lengthscale = 0.8, variance = 0.2 }
noise = { kind = "gaussian", sd = 0.05 }
bound = 1.0
[privacy]
mechanism = "hybrid"
epsilon = 4.0
clip = [0.0, 1.0]
[[policy]]
kind = "igp-ucb"
ridge = 0.06
beta = { kind = "constant", value = 2.0 }
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

    // What the data holder adds to an outcome before it leaves.
    let budget = Budget::new(Some(4.0), None)?;
    let request = Request { mechanism: "hybrid", calibration: Calibration::Tight, budget, clip: Some((0.0, 1.0)) };
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 1 };
    let mut holder = ChannelRelease::of(&Channel::Rewards((hybrid::ENTRY.build)(&request, &facts)?))?;

    // What crosses over.
    std::fs::write(folder.join("released.csv"), released_inputs)?;
    std::fs::write(folder.join("ledger.json"), serde_json::to_string(&ledger)?)?;

    // The modeler: sees the folder alone.
    let sweep = Sweep::parse("modeler.toml", SPEC, &[])?;
    let (data, backend) = (DataFolder::new(Some(folder.clone())), Cpu::default());
    let preparation = Preparation::new(&sweep, &data, &backend);
    let most = (0..400).map(outcome).fold(0.0, f64::max);
    for form in [DeploymentForm::DataHolder, DeploymentForm::TrustedCurator] {
        let mut session = Session::start(&sweep, &preparation)?;
        let (name, ledger) = (random_name()?, session.ledger(form));
        // On whichever side adds the noise: twice the epsilon of one answer for each row.
        let mut odometer = Odometer::new(FilterKind::Sum, Some("epsilon=8".parse()?), Some(400))?;
        while session.progress().0 < session.progress().1 {
            let row = session.ask()?;
            let spend = session.spend(form, &name, "outcome", row).ok_or("the session has a mechanism")?;
            // Spent before anything leaves; a program that can be killed keeps this on the disk.
            if odometer.spend(&spend).is_err() {
                break;
            }
            match form {
                DeploymentForm::TrustedCurator => session.tell(row, outcome(row))?,
                DeploymentForm::DataHolder => {
                    let released = holder.release(&Query::default(), Raw::seal(outcome(row)))?;
                    let answer = HolderRelease {
                        format: HolderRelease::FORMAT.to_owned(),
                        version: HolderRelease::VERSION,
                        source: name.clone(),
                        name: format!("answer {}", session.progress().0 + 1),
                        newest: (session.progress().0 + 1, format!("answer {}", session.progress().0 + 1)),
                        row: row as u64,
                        id: None,
                        round: session.progress().0 + 1,
                        column: "outcome".to_owned(),
                        released: released.reward().ok_or("one reward")?,
                        mechanism: ledger.mechanism.clone(),
                        epsilon: 4.0,
                        delta: 0.0,
                        clip: [0.0, 1.0],
                    };
                    session.tell_received(row, &answer)?
                }
            };
        }
        let best = session.best().ok_or("nothing was told")?;
        println!("{form}: {} after {} answers", odometer.ledger().short_words(), session.progress().0);
        println!("{form}: best row {best}, outcome {:.3} of {most:.3}", outcome(best));
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
