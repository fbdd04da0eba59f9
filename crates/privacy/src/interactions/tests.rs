//! Tests sums and choices: their values without noise, their noise, and the detection of faults.

use super::choices::{ArmChoices, ChoiceBounds, ChoiceLaw, ChoiceTerms};
use super::contract::ArmStep;
use super::sums::{InteractionSums, SumsTerms};
use super::{InteractionPrivatizer, InteractionSignal, Link, seal};
use crate::accounting::sensitivity::{Relation, gram_and_reward_mu_squared};
use crate::gradients::Start;
use crate::gram::GramLayout;
use crate::{Calibration, Delta, Epsilon, Guarantee, Raw, Refusal, Request};
use privateer_numerics::rng::{Purpose, Stream, Streams};

fn stream(trial: u64) -> Stream {
    Streams::new(4, "visits").of(trial, Purpose::Noise)
}

fn terms(calibration: Calibration, mechanism: &'static str, epsilon: f64) -> SumsTerms {
    let rounds = 40;
    SumsTerms {
        layout: GramLayout { n_blocks: 3, dimension: 2, joint: calibration != Calibration::Tight },
        due: (1..=rounds).collect(),
        rounds,
        context_length: 2.0,
        range: (-1.0, 3.0),
        request: Request { mechanism, calibration, ..Request::NONE },
        budget: (Epsilon::try_from(epsilon).expect("a budget"), Delta::try_from(0.01).expect("a probability")),
        local: false,
    }
}

fn sums(terms: SumsTerms) -> Result<InteractionSums, Refusal> {
    InteractionSums::calibrated(terms)
}

/// Checks packed sums against dense ones, in both layouts.
#[test]
fn packed_sums_are_the_dense_ones() {
    for joint in [false, true] {
        let layout = GramLayout { n_blocks: 3, dimension: 2, joint };
        let mut entries = vec![0.0; layout.shape().len()];
        let (n, mut dense, mut vector) = (6, vec![0.0; 36], vec![0.0; 6]);
        for (arm, z, y) in [(0, [1.0, 2.0], 3.0), (2, [-1.0, 0.5], 2.0), (1, [4.0, 5.0], -1.0), (2, [0.25, 8.0], 0.5)] {
            layout.add(&mut entries, arm, &z, y);
            let mut whole = [0.0; 6];
            whole[2 * arm..2 * arm + 2].copy_from_slice(&z);
            for (i, x) in whole.iter().enumerate() {
                dense[i * n..(i + 1) * n].iter_mut().zip(&whole).for_each(|(entry, other)| *entry += x * other);
                vector[i] += y * x;
            }
        }
        for group in 0..layout.n_groups() {
            let (gram, moment) = layout.group(&entries, group);
            let rows = layout.n_rows();
            let mut at = 0;
            for (i, sum) in moment.iter().enumerate() {
                for j in i..rows {
                    assert_eq!(gram[at], dense[(group * rows + i) * n + group * rows + j], "{joint} {group} {i} {j}");
                    at += 1;
                }
                assert_eq!(*sum, vector[group * rows + i]);
            }
        }
    }
}

/// Checks that pairs of interactions in any two blocks change the sums by at most the sensitivity.
/// Some pair attains it nearly.
#[test]
fn sensitivity_covers_arms_that_differ() {
    let bound = gram_and_reward_mu_squared(0.5, 1.0, 1.0, Relation::Replace);
    let (mut same, mut other) = (0.0_f64, 0.0_f64);
    for i in 0..=200 {
        let c = -1.0 + f64::from(i) / 100.0;
        for y in [-0.5, 0.0, 0.5] {
            for z in [-0.5, 0.5] {
                // |phi phi^T - phi' phi'^T|²/2 + |y phi - z phi'|².
                same = same.max(1.0 - c * c + y * y + z * z - 2.0 * y * z * c);
                other = other.max(1.0 + y * y + z * z);
            }
        }
    }
    assert!(same <= bound + 1e-12 && bound <= same * 1.001, "{same} {bound}");
    assert!(other < bound, "{other} {bound}");
}

/// Checks that the noise in a release has the stated standard deviation, to five standard errors.
/// Diagonals have sqrt(2) times as much.
#[test]
fn noise_is_as_stated() {
    for (calibration, mechanism, local) in
        [(Calibration::AsPrinted, "tree", false), (Calibration::Tight, "blt", false), (Calibration::Tight, "auto", true)]
    {
        let made = sums(SumsTerms { local, due: [1, 7, 40].into(), ..terms(calibration, mechanism, 1.0) }).expect("calibrated");
        let (mut off, mut diagonal, n) = (0.0, 0.0, 3000);
        for trial in 0..n {
            let (mut privatizer, mut stream) = (made.privatizer(), stream(trial));
            for round in 1..=40 {
                // Nobody contributes: contexts of another length add nothing.
                let signal = privatizer.release(seal(&[], 0, Raw::seal(0.0)), (&mut stream).into());
                if round == 40 {
                    let InteractionSignal::Sums { entries, gram_std, .. } = *signal.value() else { panic!("due") };
                    assert_eq!(gram_std, made.std(3));
                    diagonal += entries[0] * entries[0];
                    off += entries[1] * entries[1];
                }
            }
        }
        let variance = made.std(3) * made.std(3);
        // A mean of n squares of normals has relative standard error sqrt(2/n).
        let error = 5.0 * libm::sqrt(2.0 / n as f64);
        assert!((off / n as f64 / variance - 1.0).abs() < error, "{calibration} {mechanism}: {off}");
        assert!((diagonal / n as f64 / (2.0 * variance) - 1.0).abs() < error, "{calibration} {mechanism}: {diagonal}");
    }
}

/// Checks that corrected noise is never below what the claim needs, also where printed noise is.
#[test]
fn large_budgets_break_the_printed_formula_only() {
    let broken = sums(terms(Calibration::AsPrinted, "auto", 1e4)).expect("calibrated").ledger();
    assert!(matches!(broken.guarantee, Guarantee::NoGuarantee { .. }), "{broken:?}");
    for calibration in [Calibration::Corrected, Calibration::Tight] {
        assert_eq!(sums(terms(calibration, "auto", 1e4)).expect("calibrated").ledger().guarantee, Guarantee::Holds);
    }
    let noise = |calibration| sums(terms(calibration, "auto", 1.0)).expect("calibrated");
    // In the units of the data the tight sums carry less noise.
    let tight = noise(Calibration::Tight);
    assert!(tight.std(40) * tight.context_unit() * tight.context_unit() < noise(Calibration::Corrected).std(40));
    assert!(sums(terms(Calibration::Tight, "laplace", 1.0)).is_err() && sums(terms(Calibration::AsPrinted, "blt", 1.0)).is_err());
}

fn choices(law: ChoiceLaw) -> ChoiceTerms {
    ChoiceTerms {
        n_arms: 2,
        dimension: 3,
        radius: 1.0,
        link: Link::Linear,
        warm_up: 1,
        start: Start::Half,
        law,
        bounds: Some(ChoiceBounds { entry: 1.0, range: (-1.0, 1.0), residual: 2.0, contribution: 4.0 }),
        synthetic: true,
    }
}

/// Checks that after the warm-up every arm steps in every round, with its own step count.
/// Without synthetic interactions the arm shown can be read from the steps.
#[test]
fn arms_that_are_not_shown_step_too() {
    let mut stream = stream(0);
    for synthetic in [true, false] {
        let mut arms = ArmChoices::new(ChoiceTerms { synthetic, ..choices(ChoiceLaw::Gumbel { scale: 1.0 }) });
        for round in 0..20 {
            let shown = if round < 2 { round } else { 1 };
            let signal = arms.release(seal(&[1.0, 0.0, 0.0], shown, Raw::seal(0.5)), (&mut stream).into());
            let InteractionSignal::Steps(steps) = *signal.value() else { panic!("steps") };
            let moved: Vec<bool> = steps.iter().map(|step| *step != ArmStep::None).collect();
            let expected = if round < 2 || !synthetic { vec![shown == 0, shown == 1] } else { vec![true, true] };
            assert_eq!(moved, expected, "round {round}");
        }
    }
}
