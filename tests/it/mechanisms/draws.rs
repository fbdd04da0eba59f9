//! Draws serve once: every entry, node, user and batch has its own, and nothing of one batch is left in the next.

use super::parts::{self, Linear, entries, entries_of, interactions, mean_square, stream, sums};
use privateer_privacy::gradients::{BatchGradients, BatchPlan, GradientQuery as Iterates, NoNoise, Sample};
use privateer_privacy::interactions::Interaction;
use privateer_privacy::mechanism::laplace;
use privateer_privacy::noise::Noise;
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
use privateer_privacy::sums::joint;
use privateer_privacy::{Channel, Query, Raw};
use std::collections::VecDeque;
use std::sync::Arc;

fn released(release: &mut ChannelRelease, features: [f64; 2], reward: f64) -> Vec<f64> {
    let query = Query { features: features.to_vec().into(), release: true };
    entries(release.release(&query, Raw::seal(reward)).expect("entropy").value())
}

#[test]
fn entries_of_a_sum_have_draws_of_their_own() {
    for shape in [Shape::Vector(3), Shape::Symmetric(2), Shape::Bordered(2)] {
        let mut drawn = vec![0.0; shape.len()];
        shape.draw(1.0, &mut stream(1), &mut drawn);
        let mut sorted = drawn.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "{drawn:?}");
    }
    // Exact: the entry off the diagonal and both entries of the vector, three draws on half a million steps, agree once in 10^12.
    for entry in &joint::ENTRIES {
        let mut release = ChannelRelease::of(&Channel::Sums(sums(entry, 1.0, 4))).expect("sizes");
        let entries = released(&mut release, [0.0, 0.0], 0.0);
        assert!(entries[1] != entries[3] || entries[3] != entries[4], "{}: {entries:?}", entry.name);
    }
}

/// The mean of 1600 second releases is the first user's item, 1, within six standard errors: an item that stays in the row makes it 2.
#[test]
fn rows_of_an_exact_sum_are_cleared() {
    let (mut seconds, n) = (Vec::new(), 1600);
    for _ in 0..n {
        let mut release = ChannelRelease::of(&Channel::Sums(sums(&joint::ENTRIES[0], 8.0, 2))).expect("sizes");
        let _ = released(&mut release, [1.0, 0.0], 0.0);
        seconds.push(released(&mut release, [0.0, 0.0], 0.0)[0]);
    }
    let mean = seconds.iter().sum::<f64>() / f64::from(n);
    let error = (mean_square(&seconds) - mean * mean).sqrt() / f64::from(n).sqrt();
    assert!(error < 0.1 && (mean - 1.0).abs() < 6.0 * error, "{mean} ± {error}");
}

/// The Fenwick tree takes one fresh draw a round.
#[test]
fn the_tree_draws_in_every_round() {
    let tree: Arc<dyn Factorisation> = Arc::new(Tree::new(16));
    let mut sums = PrefixSums::new(&tree, Shape::Vector(1), 1.0);
    let mut draws: VecDeque<Vec<f64>> = (0..64).map(|draw| vec![f64::from(draw)]).collect();
    for round in 1..=16 {
        sums.next(&mut Noise::Replayed(&mut draws)).expect("a round");
        assert_eq!(draws.len(), 64 - round);
    }
}

#[test]
fn a_batch_holds_nothing_of_the_one_before() {
    let plan = BatchPlan { first: 1, batch: 1, steps: 1 };
    let mut batches = BatchGradients::new(Arc::new(Linear), 1, None, plan, 1.0, (Box::new(NoNoise), Box::new(NoNoise)));
    let mut of = |y: f64| {
        let query = Iterates { now: &[1.0], before: &[0.0] };
        batches.release(query, Raw::seal(Sample { x: &[1.0], y }), &mut stream(1)).expect("a batch").value()[0]
    };
    assert_eq!([of(3.0), of(0.0)], [3.0, 0.0]);
}

/// Four users in one release of the local model: four draws, a variance of 4 sigma² within five standard errors.
#[test]
fn every_local_interaction_has_noise_of_its_own() {
    let mechanism = interactions(true, &[4]);
    let values: Vec<f64> = (0..400)
        .flat_map(|seed| {
            let (mut privatizer, mut stream) = (mechanism.privatizer(), stream(seed));
            let nothing = || Raw::seal(Interaction { context: &[0.0, 0.0], arm: 0, reward: 0.0 });
            for _ in 0..3 {
                let _ = privatizer.release(nothing(), (&mut stream).into());
            }
            let last = entries_of(privatizer.release(nothing(), (&mut stream).into()).value());
            // Off the diagonal of the matrix, and the vector, of both arms.
            [1, 3, 4, 6, 8, 9].map(|at| last[at])
        })
        .collect();
    let ratio = mean_square(&values) / (mechanism.sigma() * mechanism.sigma());
    assert!((ratio / 4.0 - 1.0).abs() < 5.0 * (2.0 / values.len() as f64).sqrt(), "{ratio}");
}

/// Two releases have the same noise once in ten million.
#[test]
fn every_release_has_a_key_of_its_own() {
    assert_ne!(parts::released(&laplace::ENTRY, 1.0, 0.0), parts::released(&laplace::ENTRY, 1.0, 0.0));
}
