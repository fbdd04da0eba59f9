//! Our bounds beside the Python package dp-accounting, where it is installed; a word where it is not.

use privateer_privacy::Delta;
use privateer_privacy::accounting::{Composition, Loss, zcdp};
use std::process::Command;

const SCRIPT: &str = r#"
try:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting import rdp, dp_event
except ImportError:
    print("skipped"); raise SystemExit
laplace = pld.from_laplace_mechanism(10.0, value_discretization_interval=1e-4).self_compose(40)
gaussian = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4)
print(laplace.get_epsilon_for_delta(1e-5))
print(laplace.compose(gaussian).get_epsilon_for_delta(1e-5))
accountant = rdp.RdpAccountant([1 + 0.01 * i for i in range(1, 20000)])
accountant.compose(dp_event.GaussianDpEvent(3.0))
print(accountant.get_epsilon(1e-5))
"#;

#[test]
fn bounds_agree_with_another_accountant() {
    let Ok(output) = Command::new("python3").args(["-c", SCRIPT]).output() else {
        println!("skipped");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.trim() == "skipped" {
        println!("skipped");
        return;
    }
    let theirs: Vec<f64> = said.lines().map(|line| line.parse().expect("a number")).collect();
    let delta = Delta::try_from(1e-5).expect("a probability");
    let laplace = Composition::default().and(Loss::Laplace { epsilon: 0.1 }, 40);
    let mixed = laplace.clone().and(Loss::Gaussian { mu: 0.5 }, 1);
    // Both give upper bounds on grids: neither may be below the other's lower bound, and they are close.
    for (composition, theirs) in [(laplace, theirs[0]), (mixed, theirs[1])] {
        let ours = composition.epsilon(delta);
        assert!(ours.lower <= theirs && (ours.upper - theirs).abs() < 0.02 * theirs, "{ours:?} {theirs}");
    }
    let ours = zcdp::epsilon(zcdp::of_gaussian(1.0 / 3.0), delta);
    assert!((ours - theirs[2]).abs() < 1e-4 * theirs[2], "{ours} {}", theirs[2]);
}
