//! Zhou and Tan, local privacy for one reward.

use super::shown::{Erratum, Shown, attacked, budget};
use privateer::audit::{Case, Settings, Verdict, audit, rewards};
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::Calibration;
use privateer_privacy::accounting::{Composition, Loss};
use privateer_privacy::mechanism::laplace;
use privateer_privacy::printed::zhou2021::{laplace_scale, moment, probable_noise_bound};

pub const ERRATA: &[Erratum] = &[
    Erratum { name: "E1", about: "the Laplace scale 2(B + R)/epsilon is right for rewards within B + R", show: e1 },
    Erratum { name: "E2", about: "the promise is one over all inputs: a misstated B voids it, so rewards are clipped", show: e2 },
    Erratum { name: "E3", about: "a bound that holds with high probability is no privacy", show: e3 },
    Erratum { name: "E4", about: "the epsilon of the second moment v is that of privacy", show: e4 },
    Erratum { name: "E5", about: "one user who answers k times spends k epsilon", show: e5 },
];

fn e1() -> Shown {
    attacked(Shown::new(), "laplace", Verdict::Consistent)
}

fn e2() -> Shown {
    let Ok(unclipped) = rewards::built(&laplace::ENTRY, Calibration::AsPrinted, 1.0, false) else { return Shown::default() };
    // B + R = 1 is stated and rewards reach 3.
    let case: Case = rewards::of_ends("laplace, B + R = 1, rewards up to 3".to_owned(), &unclipped, (3.0, -3.0), "");
    let found = audit(&[case], Settings { samples: 20_000, ..Settings::default() });
    let Some(found) = found.ok().and_then(|found| found.into_iter().next()) else { return Shown::default() };
    let text = format!("not clipped: claimed 1, at least {:.3}: {}", found.at_least, found.verdict);
    Shown::new().line(text, found.verdict == Verdict::Refuted)
}

fn e3() -> Shown {
    let bound = probable_noise_bound(1.0, 1.0, 1000, 1e-3);
    let shown = Shown::new().line(
        format!("R = ln(T/delta) = {bound:.2} at T = 1000, delta = 1/1000: inputs beyond it are inputs all the same"),
        true,
    );
    attacked(shown, "E3", Verdict::Refuted)
}

fn e4() -> Shown {
    let (bound, noise, epsilon, n) = (1.0, 1.0, 0.5, 200_000);
    let mut stream = Streams::new(1, "E4").of(0, Purpose::Noise);
    let scale = laplace_scale(bound, noise, epsilon);
    let squares: f64 = (0..n)
        .map(|_| {
            let released = bound + stream.uniform_in(-noise, noise) + stream.laplace(scale);
            released * released
        })
        .sum();
    let (found, stated) = (squares / f64::from(n), moment(bound, noise, epsilon));
    // The noise is uniform: a third of R², which v bounds by R².
    let exact = stated - noise * noise * (2.0 / 3.0);
    Shown::new().line(
        format!("second moment of released rewards {found:.2}, v = B² + R² + 8 (B + R)²/epsilon² = {stated:.2} (exact here: {exact:.2})"),
        (found - exact).abs() < 0.02 * exact && found <= 1.01 * stated,
    )
}

fn e5() -> Shown {
    let (_, delta) = budget(1.0, 1e-5);
    [1_u64, 10, 100].into_iter().fold(Shown::new(), |shown, times| {
        let composed = Composition::default().and(Loss::Laplace { epsilon: 0.1 }, times);
        let pure = composed.pure().unwrap_or(f64::NAN);
        let numeric = composed.epsilon(delta).upper;
        let text = format!("epsilon 0.1, {times} answers: {pure:.2} pure, {numeric:.2} at delta 1e-5");
        shown.line(text, (pure - 0.1 * times as f64).abs() < 1e-9 && numeric <= pure + 1e-9)
    })
}
