//! Kharkovskii et al.: the curator of outsourced optimization.

use super::shown::{Erratum, Shown, attacked, budget};
use privateer::audit::Verdict;
use privateer_privacy::printed::kharkovskii2020::{grid_singular_value, omega, omega_as_printed};
use privateer_privacy::{gdp_epsilon, gdp_mu};

pub const ERRATA: &[Erratum] = &[
    Erratum { name: "E16", about: "theorem 1 is false: the released inputs keep the column space of the inputs", show: e16 },
    Erratum { name: "E17", about: "the branch on the least singular value", show: e17 },
    Erratum { name: "E18", about: "omega: the tables and line 5 differ", show: e18 },
    Erratum { name: "E19", about: "centring is harmless, normalising by the data's own largest norm is not", show: e19 },
    Erratum { name: "E20", about: "neighbours are one apart, rows up to fifty", show: e20 },
];

fn e16() -> Shown {
    attacked(Shown::new(), "E16", Verdict::Refuted)
}

fn e17() -> Shown {
    let lift = omega(10, 1.0, 1e-3);
    let (above, below) = (lift + 0.4, lift - 0.4);
    let raised = libm::sqrt(below * below + lift * lift);
    Shown::new().line(
        format!(
            "omega = {lift:.1}; neighbours at {above:.1} and {below:.1} come out as {above:.1} and {raised:.1}, a factor {:.4}",
            raised / above
        ),
        (raised / above - std::f64::consts::SQRT_2).abs() < 2e-3,
    )
}

fn e18() -> Shown {
    let least = grid_singular_value(100, 25.0);
    let shown = Shown::new()
        .line(format!("the 100 x 100 grid of norm 25 has the least singular value {least:.1}"), (least - 1030.9).abs() < 0.1);
    [(1.1, 10), (1.3, 15), (1.5, 20)].into_iter().fold(shown, |shown, (log, r)| {
        let epsilon = libm::exp(log);
        let (tables, line) = (omega(r, epsilon, 1e-5), omega_as_printed(r, epsilon, 1e-5));
        let text = format!("epsilon = e^{log}, r = {r}: omega = {tables:.0} by the tables, {line:.0} by line 5");
        shown.line(text, tables < least && least < line)
    })
}

fn e19() -> Shown {
    // One of four inputs moves by 1: centred, all move, by no more than 1 together.
    let move_ = [0.75_f64, -0.25, -0.25, -0.25];
    let together = libm::sqrt(move_.iter().map(|x| x * x).sum());
    let shown =
        Shown::new().line(format!("a move of 1 of one of four rows is one of {together:.3} after centring"), together <= 1.0);
    // Scaled to norm 25 by the largest: 20 becomes 21, and every other row shrinks by a twentieth.
    let moved: f64 = [10.0_f64, 5.0, 15.0].iter().map(|x| x * 25.0 / 20.0 - x * 25.0 / 21.0).map(|x| x * x).sum();
    shown.line(
        format!(
            "one row of norm 20 that grows by 1 moves three others, of norm 10, 5 and 15, by {:.2} in all",
            libm::sqrt(moved)
        ),
        1.0 < moved,
    )
}

fn e20() -> Shown {
    let (epsilon, delta) = budget(1.0, 1e-5);
    let mu = gdp_mu(epsilon, delta);
    let whole = gdp_epsilon(50.0 * mu, delta);
    Shown::new().line(format!("epsilon 1 for a move of 1 is epsilon {whole:.0} for any other row, 50 away"), 50.0 < whole)
}
