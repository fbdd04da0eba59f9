//! Privateer's exact noise beside that of OpenDP: what it promises at the same scale, and the spread of what it draws.
//!
//! `cargo run --release` in this folder; exits with 1 where they differ. OpenDP's losses include its own rounding, so ours may be
//! smaller by a little and never larger.

use opendp::domains::AtomDomain;
use opendp::measurements::{make_gaussian, make_laplace};
use opendp::measures::{MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::AbsoluteDistance;
use privateer::privacy::accounting::zcdp;
use privateer::privacy::mechanism::laplace;
use privateer::privacy::release::{ChannelRelease, RowsRelease};
use privateer::privacy::{Budget, Calibration, Channel, Delta, Epsilon, Query, Raw, Request, RewardFacts, gdp_mu};
use std::process::ExitCode;

const DRAWS: u32 = 100_000;

fn spread(mut draw: impl FnMut() -> f64) -> f64 {
    let squares: f64 = (0..DRAWS).map(|_| draw()).map(|x| x * x).sum();
    (squares / f64::from(DRAWS)).sqrt()
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut fine = true;
    let mut line = |what: &str, ours: f64, theirs: f64, tolerance: f64| {
        let agree = (ours - theirs).abs() <= tolerance * theirs;
        fine &= agree;
        println!("{what:32} {ours:>12.6} {theirs:>12.6} {}", if agree { "agree" } else { "DIFFER" });
    };
    println!("{:32} {:>12} {:>12}", "", "privateer", "opendp");
    let space = || (AtomDomain::<f64>::new_non_nan(), AbsoluteDistance::<f64>::default());

    let epsilon = Epsilon::try_from(0.5)?;
    let (domain, metric) = space();
    let laplace = make_laplace::<_, _, MaxDivergence>(domain, metric, 2.0 / 0.5, None)?;
    line("Laplace: epsilon at distance 2", 0.5, laplace.map(&2.0)?, 1e-6);
    let theirs = spread(|| laplace.invoke(&0.0).unwrap_or(f64::NAN));
    let budget = Budget::new(Some(0.5), None)?;
    let request = Request { mechanism: "laplace", calibration: Calibration::Tight, budget, clip: Some((-1.0, 1.0)) };
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: 1 };
    let mut exact = ChannelRelease::of(&Channel::Rewards(laplace::build(&request, &facts)?))?;
    let ours = spread(|| {
        let release = exact.release(&Query::default(), Raw::seal(0.0));
        release.ok().and_then(|release| release.reward()).unwrap_or(f64::NAN)
    });
    // Ours pays for rounding 100000 entries: about 0.4 % more noise. Five standard errors of a difference of two: kurtosis 6 of the Laplace law, 3 of the Gaussian.
    line("Laplace: spread of draws", ours, theirs, 5.0 * (2.0 * 5.0 / (4.0 * f64::from(DRAWS))).sqrt());

    let mu = gdp_mu(epsilon, Delta::try_from(1e-6)?);
    let (domain, metric) = space();
    let gaussian = make_gaussian::<_, _, ZeroConcentratedDivergence>(domain, metric, 2.0 / mu, None)?;
    line("Gaussian: rho at distance 2", zcdp::of_gaussian(mu), gaussian.map(&2.0)?, 1e-6);
    let theirs = spread(|| gaussian.invoke(&0.0).unwrap_or(f64::NAN));
    let mechanism = RowsRelease::calibrated(epsilon, Delta::try_from(1e-6)?, 2.0, 1.0, DRAWS as usize)?;
    let release = mechanism.release(Raw::seal(vec![0.0; DRAWS as usize]))?;
    let mut values = release.rows.value().iter();
    let ours = spread(|| values.next().copied().unwrap_or(f64::NAN));
    line("Gaussian: spread of draws", ours, theirs, 5.0 * (2.0 * 2.0 / (4.0 * f64::from(DRAWS))).sqrt());
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
