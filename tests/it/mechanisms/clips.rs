//! Inputs outside of every clip: simulated streams release the same bits as for inputs at the clip; releases stay near it.

use super::parts::{Linear, choice_terms, d, e, entries, entries_of, interactions, released, rewards, stream, sums};
use privateer_numerics::linalg::Norm;
use privateer_privacy::gradients::{self, Clip, Gradient, NoNoise, Sample, SampleClip, SampleGradients};
use privateer_privacy::interactions::choices::{ArmChoices, ChoiceBounds, ChoiceLaw, ChoiceTerms};
use privateer_privacy::interactions::{ArmStep, Interaction, InteractionPrivatizer, InteractionSignal};
use privateer_privacy::mechanism::{MECHANISMS, duchi, gaussian, laplace};
use privateer_privacy::release::{ChannelRelease, RowsRelease};
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
use privateer_privacy::sums::{SumsEntry, joint, local};
use privateer_privacy::{Channel, MechanismEntry, Query, Raw};
use std::sync::{Arc, Mutex};

const INF: f64 = f64::INFINITY;

/// At the same draws a reward outside releases what the end of the range does; NaN releases what the centre does.
fn releases_as_the_ends(entry: &MechanismEntry) {
    let mechanism = rewards(entry, 2.0);
    for seed in 0..50 {
        let released = |reward: f64| {
            let signal = mechanism.privatizer().release(&Query::default(), Raw::seal(reward), (&mut stream(seed)).into());
            signal.reward().expect("a reward").to_bits()
        };
        for (outside, inside) in [(1e6, 1.0), (-1e6, -1.0), (INF, 1.0), (-INF, -1.0), (f64::NAN, 0.0)] {
            assert_eq!(released(outside), released(inside), "{}: {outside}", entry.name);
        }
    }
}

/// What `tell ROW 1e6` releases at epsilon = 1 on [-1, 1]: at most the end of the range and 60 scales of the noise, but for once in e^60.
fn releases_near_the_ends(entry: &MechanismEntry) {
    for reward in [1e6, -1e6, 1e300] {
        let value = released(entry, 1.0, reward);
        assert!(value.abs() <= 1.0 + 60.0 * 2.0, "{}: {reward} released {value}", entry.name);
    }
}

#[test]
fn laplace_clips_rewards() {
    releases_as_the_ends(&laplace::ENTRY);
    releases_near_the_ends(&laplace::ENTRY);
}

#[test]
fn gaussian_clips_rewards() {
    releases_as_the_ends(&gaussian::ENTRY);
    releases_near_the_ends(&gaussian::ENTRY);
}

/// In exact releases the upper answer at the upper end has probability e/(1 + e) = 0.731 at epsilon = 1: within six standard errors of 2000
/// draws.
#[test]
fn bounded_randomisers_clip_rewards() {
    let bounded = |entry: &&MechanismEntry| rewards(entry, 2.0).output_range().is_some();
    MECHANISMS.iter().filter(|entry| entry.name != "none").filter(bounded).for_each(releases_as_the_ends);
    let upper = |reward: f64| (0..2000).filter(|_| 0.0 < released(&duchi::ENTRY, 1.0, reward)).count() as f64 / 2000.0;
    assert!((upper(1e6) - 0.7311).abs() < 0.06 && (upper(-1e6) - 0.2689).abs() < 0.06);
}

#[test]
fn released_rows_are_moved_to_their_bound() {
    let mechanism = RowsRelease::calibrated(e(1.0), d(1e-3), 2.0, 1.0, 2).expect("a mechanism");
    let far = 1.0 + 40.0 * mechanism.sigma();
    let released = mechanism.release(Raw::seal(vec![1e6, 1e6, 0.1, 0.1])).expect("entropy");
    assert!(released.rows.value().iter().all(|x| x.abs() < far), "{:?}", released.rows);
    assert_eq!(released.moved, 1);
}

/// Entries of a simulated release of one user's data, at the same draws; and of a release for real.
fn both_entries(entry: &SumsEntry, features: [f64; 2], reward: f64) -> (Vec<f64>, Vec<f64>) {
    let mechanism = sums(entry, 1.0, 4);
    let query = Query { features: features.to_vec().into(), release: true };
    let simulated = entries(mechanism.privatizer().release(&query, Raw::seal(reward), (&mut stream(3)).into()).value());
    let mut release = ChannelRelease::of(&Channel::Sums(mechanism)).expect("sizes");
    let released = entries(release.release(&query, Raw::seal(reward)).expect("entropy").value());
    (simulated, released)
}

fn sums_release_as(outside: ([f64; 2], f64), inside: ([f64; 2], f64)) {
    for entry in joint::ENTRIES.iter().chain([&local::ENTRY]) {
        let (simulated, released) = both_entries(entry, outside.0, outside.1);
        assert_eq!(simulated, both_entries(entry, inside.0, inside.1).0, "{}", entry.name);
        // The noise of an entry has a standard deviation below 15; a user's item is at most 1 in every entry.
        assert!(released.iter().all(|x| x.abs() < 1.0 + 40.0 * 15.0), "{}: {released:?}", entry.name);
    }
    for local in [false, true] {
        assert_eq!(interaction(local, outside.0, outside.1), interaction(local, inside.0, inside.1));
    }
}

#[test]
fn sums_clip_rewards() {
    sums_release_as(([1.0, 0.0], 1e6), ([1.0, 0.0], 1.0));
    sums_release_as(([1.0, 0.0], -1e6), ([1.0, 0.0], -1.0));
    for local in [false, true] {
        assert_eq!(interaction(local, [1.0, 0.0], -INF), interaction(local, [1.0, 0.0], -1.0));
    }
}

#[test]
fn sums_shorten_features() {
    // A power of two is divided by its length without rounding.
    sums_release_as(([1_048_576.0, 0.0], 0.5), ([1.0, 0.0], 0.5));
}

#[test]
fn sums_take_nothing_that_is_not_finite() {
    sums_release_as(([INF, 0.0], 0.5), ([0.0, 0.0], 0.5));
    sums_release_as(([0.5, f64::NAN], 0.5), ([0.0, 0.0], 0.5));
}

#[test]
fn running_sums_take_nothing_that_is_not_finite() {
    let tree: Arc<dyn Factorisation> = Arc::new(Tree::new(4));
    let released = |item: f64| {
        let mut sums = PrefixSums::new(&tree, Shape::Vector(1), 1.0);
        sums.release(Raw::seal(&[item]), &mut stream(5)).expect("a round").value()[0]
    };
    assert_eq!([released(INF), released(f64::NAN)], [released(0.0); 2]);
}

/// The gradient of [`Linear`], which records the largest entry of x that it was given.
#[derive(Debug, Default)]
struct Recording(Mutex<f64>);

impl Gradient for Recording {
    fn gradient(&self, theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        let mut largest = self.0.lock().expect("no panic");
        *largest = sample.x.iter().fold(*largest, |largest, x| largest.max(x.abs()));
        Linear.gradient(theta, sample, out);
    }
}

fn unit_clip() -> Clip {
    let norm = Norm::of(2.0).expect("a norm");
    Clip { sample: SampleClip { norm, radius: 1.0 }, norm, gradient: 1.0, contribution: 1.0 }
}

/// The gradient of one sample without noise, and the largest entry of the features from which it was computed.
fn gradient(x: [f64; 2], y: f64) -> (Vec<f64>, f64) {
    let recording = Arc::new(Recording::default());
    let mut gradients = SampleGradients::new(Arc::clone(&recording) as _, 2, Some(unit_clip()), Box::new(NoNoise));
    let released = gradients.release(&[0.0; 2], Raw::seal(Sample { x: &x, y }), &mut stream(1)).value().to_vec();
    let largest = *recording.0.lock().expect("no panic");
    (released, largest)
}

#[test]
fn gradients_are_clipped() {
    for y in [1e6, -1e6] {
        let (released, _) = gradient([0.6, 0.8], y);
        let length = released.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(length < 1.0 + 1e-9, "{released:?}");
    }
}

#[test]
fn features_are_clipped_before_the_gradient() {
    let (_, largest) = gradient([1e6, 0.0], 1.0);
    assert!(largest <= 1.0 + 1e-9, "{largest}");
}

#[test]
fn gradients_of_what_is_not_finite_are_zero() {
    for (x, y) in [([0.6, 0.8], INF), ([INF, 0.0], 1.0), ([0.6, 0.8], f64::NAN)] {
        assert_eq!(gradient(x, y).0, [0.0, 0.0]);
    }
}

/// Entries of the first release of sums over interactions, at the same draws.
fn interaction(local: bool, context: [f64; 2], reward: f64) -> Vec<f64> {
    let mechanism = interactions(local, &[1, 2, 3, 4]);
    let mut privatizer = mechanism.privatizer();
    entries_of(privatizer.release(Raw::seal(Interaction { context: &context, arm: 0, reward }), (&mut stream(7)).into()).value())
}

/// Vertices chosen over twenty rounds after one interaction, at the same draws.
fn choices(law: ChoiceLaw, context: [f64; 2], reward: f64) -> Vec<Vec<ArmStep>> {
    let bounds = ChoiceBounds { entry: 1.0, range: (-1.0, 1.0), residual: 2.0, contribution: 3.0 };
    let terms = ChoiceTerms { bounds: Some(bounds), ..choice_terms(2, law) };
    let (mut arms, mut stream) = (ArmChoices::new(terms), stream(11));
    let step = |round: usize| {
        let nothing = Interaction { context: &[0.0, 0.0], arm: usize::from(round != 0), reward: 0.0 };
        let interaction = if round == 0 { Interaction { context: &context, arm: 0, reward } } else { nothing };
        match arms.release(Raw::seal(interaction), (&mut stream).into()).value() {
            InteractionSignal::Steps(steps) => steps.to_vec(),
            other => panic!("{other:?}"),
        }
    };
    (0..20).map(step).collect()
}

#[test]
fn choices_enforce_their_bounds() {
    for law in [ChoiceLaw::Gumbel { scale: 1.0 }, ChoiceLaw::Laplace { scale: 1.0 }] {
        assert_eq!(choices(law, [1.0, 0.0], 1e6), choices(law, [1.0, 0.0], 1.0));
        assert_eq!(choices(law, [1_048_576.0, 0.0], 1.0), choices(law, [1.0, 0.0], 1.0));
    }
}

/// A sample far outside counts in a batch as one at the bound.
#[test]
fn batches_bound_each_sample() {
    let plan = gradients::BatchPlan { first: 2, batch: 2, steps: 1 };
    let noises = (Box::new(NoNoise) as _, Box::new(NoNoise) as _);
    let mut batches = gradients::BatchGradients::new(Arc::new(Linear), 1, Some(unit_clip()), plan, 0.5, noises);
    let query = gradients::GradientQuery { now: &[0.0], before: &[0.0] };
    let mut of =
        |y: f64| batches.release(query, Raw::seal(Sample { x: &[1.0], y }), &mut stream(1)).map(|released| released.value()[0]);
    assert_eq!(of(1e6), None);
    // One sample at the bound of 1 and one of -0.5: a mean of 0.25.
    assert!((of(-0.5).expect("a batch") - 0.25).abs() < 1e-9);
}
