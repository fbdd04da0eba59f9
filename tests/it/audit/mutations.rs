//! Broken mechanisms: each is one step away from a sound one, claims what the sound one claims, and must be refuted.

use super::noises::{BrokenTree, Fault};
use privateer::audit::prefix::{self, Part};
use privateer::audit::{Case, Claim, Settings, Side, Verdict, audit, rewards};
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::{Participation, Relation};
use privateer_privacy::mechanism::{duchi, gaussian, hybrid, laplace, piecewise};
use privateer_privacy::quote::{self, StreamKind, StreamTerms};
use privateer_privacy::release::RowsRelease;
use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
use privateer_privacy::{Calibration, Delta, Epsilon, MechanismEntry, Raw};
use std::sync::Arc;

const ENDS: (f64, f64) = (1.0, -1.0);

/// The registry of faults.
fn mutations() -> Vec<Case> {
    [of_rewards(), of_streams(), of_gram(), of_randomness(), of_releases()].into_iter().flatten().collect()
}

/// A reward mechanism that claims `share` of the epsilon that it is built with: noise of `share` times the size, where the noise
/// scales with 1/epsilon.
fn overstated(entry: &MechanismEntry, share: f64, epsilon: f64) -> Case {
    let mechanism = rewards::built(entry, Calibration::Tight, epsilon / share, true).expect("a mechanism");
    let case = rewards::of_ends(entry.name.to_owned(), &mechanism, ENDS, "");
    let claim = Claim { epsilon, ..case.claim };
    case.claiming(format!("{} with {share} of its noise", entry.name), claim)
}

fn of_rewards() -> Vec<Case> {
    let unclipped = rewards::built(&laplace::ENTRY, Calibration::AsPrinted, 1.0, false).expect("printed, not clipped");
    vec![
        overstated(&laplace::ENTRY, 0.5, 1.0),
        // A tenth less takes more replays: one costs nothing.
        overstated(&laplace::ENTRY, 0.9, 2.0).effort(20),
        overstated(&duchi::ENTRY, 0.5, 1.0),
        overstated(&piecewise::ENTRY, 0.5, 1.0),
        overstated(&hybrid::ENTRY, 0.5, 1.0),
        overstated(&gaussian::ENTRY, 0.5, 1.0),
        rewards::of_ends("laplace without its clip".to_owned(), &unclipped, (1e3, -1e3), ""),
    ]
}

fn once() -> StreamTerms {
    StreamTerms { relation: Relation::Replace, participation: Participation::ONCE }
}

fn budget() -> (Epsilon, Delta) {
    (Epsilon::try_from(prefix::CLAIM.epsilon).expect("a budget"), Delta::try_from(prefix::CLAIM.delta).expect("a probability"))
}

/// The sound noise of numbers clipped to [-1, 1].
fn sound(factorisation: &dyn Factorisation) -> f64 {
    quote::least_sigma(&StreamKind::Vector { radius: 1.0 }, once(), factorisation, budget())
}

fn of_streams() -> Vec<Case> {
    let of = |name: &str, factorisation: &Arc<dyn Factorisation>, sigma: f64, changed: &[u64]| {
        prefix::case(name.to_owned(), prefix::CLAIM, factorisation, vec![Part::scalar(sigma, 2.0)], changed, "x_1 = 1 against -1")
    };
    let named = |name: &str| quote::factorisation(name, 64, Participation::ONCE).expect("a factorisation");
    let (tree, blt) = (named("tree"), named("blt"));
    let mut all = vec![
        of("tree with half of its noise", &tree, 0.5 * sound(tree.as_ref()), &[1]),
        of("tree with 0.8 of its noise", &tree, 0.8 * sound(tree.as_ref()), &[1]),
        // Calibrated as if one node held a leaf.
        of("tree without composition", &tree, sound(&privateer_privacy::streams::tree::Tree::new(1)), &[1]),
        of("blt not scaled by its column", &blt, sound(blt.as_ref()) / blt.sensitivity(Participation::ONCE), &[1]),
        of("blt, three participations priced as one", &blt, sound(blt.as_ref()), &[1, 17, 33]),
    ];
    for (name, fault) in [
        ("tree with raw sums in its nodes", Fault::RawNodes),
        ("tree with one draw for a level", Fault::SharedLevels),
        ("tree with one draw for all nodes", Fault::OneDraw),
    ] {
        let broken: Arc<dyn Factorisation> = Arc::new(BrokenTree { rounds: 64, fault });
        all.push(of(name, &broken, sound(tree.as_ref()), &[1]));
    }
    all
}

fn of_gram() -> Vec<Case> {
    let own = quote::factorisation("tree", 1, Participation::ONCE).expect("a factorisation");
    let sigma = |reward: f64| quote::least_sigma(&StreamKind::Gram { reward }, once(), own.as_ref(), budget());
    let unit = sigma(1.0) / 2.0;
    let of = |name: &str, parts: Vec<Part>| prefix::case(name.to_owned(), prefix::CLAIM, &own, parts, &[1], "one user's pair");
    let (e1, e2, large) = ([1.0, 0.0], [0.0, 1.0], 3.0);
    vec![
        // Y in the place of 2Y.
        of("rewards with the sensitivity of one side", vec![Part::rewards(0.5 * sigma(large), (&e1, large), (&e1, -large))]),
        // The corner moves by 1 + Y², noise for its root.
        of(
            "gram with its corner and noise for the root",
            vec![Part::gram(unit * (1.0 + large * large).sqrt(), &[1.0, 0.0, large], &[0.0, 1.0, -large])],
        ),
        // The same variance on the diagonal as off it, calibrated as if the diagonal had twice as much.
        of("gram with a diagonal too quiet", vec![Part::gram(unit, &e1, &e2).even()]),
        // A matrix priced alone, released with the rewards.
        of(
            "gram and rewards, the matrix priced alone",
            vec![Part::gram(unit, &e1, &e2), Part::rewards(unit, (&e1, 1.0), (&e2, -1.0))],
        ),
    ]
}

/// Draws that serve twice.
fn of_randomness() -> Vec<Case> {
    let mechanism = rewards::built(&laplace::ENTRY, Calibration::Tight, 1.0, true).expect("a mechanism");
    let claim = Claim { epsilon: 1.0, delta: 0.0 };
    let scale = mechanism.laplace_scale().expect("Laplace");
    let (of, same) = (Arc::clone(&mechanism), mechanism);
    let blt = quote::factorisation("blt", 8, Participation::ONCE).expect("a factorisation");
    let sigma = sound(blt.as_ref());
    vec![
        Case::new("noise drawn from the stream of the starting points", claim, "y = 1 against -1", "", move |side, stream| {
            // Everybody sees where a run starts, here to twenty bits.
            let cells = 1 << 20;
            let start = stream.clone().index(cells);
            let uniform = (start as f64 + 0.5) / cells as f64 - 0.5;
            let noise = -scale * uniform.signum() * (-2.0 * uniform.abs()).ln_1p();
            rewards::answer(of.privatizer().as_mut(), side.pick(1.0, -1.0), stream) - noise
        }),
        Case::new("the same noise in two rounds", claim, "y_1 = 1 against -1, y_2 = 0", "", move |side, stream: &mut Stream| {
            let mut again = stream.clone();
            let first = rewards::answer(same.privatizer().as_mut(), side.pick(1.0, -1.0), stream);
            first - rewards::answer(same.privatizer().as_mut(), 0.0, &mut again)
        }),
        Case::new(
            "two arms with the same noise",
            prefix::CLAIM,
            "arm 0 gets 1 against -1, arm 1 gets 0",
            "",
            move |side, stream| {
                let mut other = stream.clone();
                let mut arms = [0, 1].map(|_| PrefixSums::new(&blt, Shape::Vector(1), sigma));
                let [pulled, idle] = &mut arms;
                let (item, zero) = (side.pick([1.0], [-1.0]), [0.0]);
                let pulled = pulled.release(Raw::seal(&item[..]), stream).expect("a round").value()[0];
                pulled - idle.release(Raw::seal(&zero[..]), &mut other).expect("a round").value()[0]
            },
        ),
    ]
}

fn of_releases() -> Vec<Case> {
    let row = |side: Side, _: &mut Stream| {
        // A row that may be replaced by its opposite, priced as one that moves by half of the way.
        let (epsilon, delta) = budget();
        let mechanism = RowsRelease::calibrated(epsilon, delta, 1.0, 1.0, 1).expect("a mechanism");
        mechanism.release(Raw::seal(vec![side.pick(1.0, -1.0)])).expect("a release").rows.value()[0]
    };
    vec![Case::new("row within half of its range", prefix::CLAIM, "", "", row).gaussian()]
}

/// At the size of a quick check; the attacks that use the operating system's entropy have room to spare.
#[test]
fn every_mutation_is_refuted() {
    let samples = std::env::var("PRIVATEER_AUDIT_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let mutations = mutations();
    assert!(20 <= mutations.len());
    let findings = audit(&mutations, Settings { samples, ..Settings::default() }, &|_| ()).expect("scores");
    let missed: Vec<String> = findings
        .iter()
        .filter(|found| found.verdict != Verdict::Refuted)
        .map(|found| format!("{}: {} of {:?}", found.name, found.at_least, found.epsilon))
        .collect();
    for found in &findings {
        println!("{:<52} {:>8.3} of {:?}", found.name, found.at_least, found.epsilon);
    }
    assert!(missed.is_empty(), "not refuted:\n{}", missed.join("\n"));
}
