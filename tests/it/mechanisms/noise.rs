//! Noise has the law that is stated, simulated at fixed seeds and exact: bounds of five standard errors or more, and six for entropy of the
//! operating system (a false alarm once in five hundred million).

use super::parts::{
    Linear, choice_terms, d, e, entries, entries_of, mean_square, need, released, request, rewards, stream, sums,
};
use privateer_numerics::rng::Stream;
use privateer_privacy::curator::{Inputs, InputsNeed, input_noise};
use privateer_privacy::gradients::{
    Choice, GeneralizedGaussian, GradientQuery as Iterates, IsotropicGaussian, LaplaceVector, Sample, Start, VectorNoise,
    VertexChoice, Vertices,
};
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::choices::{ArmChoices, ChoiceLaw};
use privateer_privacy::interactions::sums::{InteractionSums, SumsTerms};
use privateer_privacy::interactions::{ArmStep, Interaction, InteractionPrivatizer, InteractionSignal};
use privateer_privacy::mechanism::{MECHANISMS, duchi, gaussian, hybrid, laplace, piecewise, response, warped};
use privateer_privacy::quote;
use privateer_privacy::release::RowsRelease;
use privateer_privacy::streams::Shape;
use privateer_privacy::sums::{SumsNeed, joint, local, privunit};
use privateer_privacy::{Calibration, Event, MechanismEntry, Query, Raw, Request, RewardFacts, Signal, gdp_mu};
use std::sync::Arc;

const N: u64 = 20_000;

/// Number of exact draws.
const EXACT: usize = 4000;

/// Releases of one reward at epsilon = 2: simulated, and exact.
fn draws(entry: &MechanismEntry, reward: f64) -> [Vec<f64>; 2] {
    let mechanism = rewards(entry, 2.0);
    let (mut privatizer, mut stream) = (mechanism.privatizer(), stream(2));
    let simulated = (0..N)
        .map(|_| privatizer.release(&Query::default(), Raw::seal(reward), (&mut stream).into()).reward().expect("a reward"))
        .collect();
    [simulated, (0..EXACT).map(|_| released(entry, 2.0, reward)).collect()]
}

/// The share of draws that are meant, within six standard errors.
fn have_share(draws: &[Vec<f64>], is_meant: impl Fn(f64) -> bool, stated: f64) {
    for draws in draws {
        is_share(draws.iter().filter(|x| is_meant(**x)).count() as u64, draws.len() as u64, stated);
    }
}

/// The share that is stated, within six standard errors of `n` draws.
pub fn is_share(found: u64, n: u64, stated: f64) {
    let share = found as f64 / n as f64;
    assert!((share - stated).abs() < 6.0 * (stated * (1.0 - stated) / n as f64).sqrt(), "{share} for {stated}");
}

/// Mean squares over the stated variance: at a kurtosis of 6 or less, six standard errors.
fn is_variance(values: &[f64], stated: f64) {
    let ratio = mean_square(values) / stated;
    assert!((ratio - 1.0).abs() < 6.0 * (5.0 / values.len() as f64).sqrt(), "{ratio}");
}

#[test]
fn laplace_noise_has_its_scale() {
    // Width 2 at epsilon = 2: scale 1.
    draws(&laplace::ENTRY, 0.0).iter().for_each(|draws| is_variance(draws, 2.0));
}

#[test]
fn gaussian_noise_has_its_size() {
    let stated = rewards(&gaussian::ENTRY, 2.0).noise_variance();
    draws(&gaussian::ENTRY, 0.0).iter().for_each(|draws| is_variance(draws, stated));
}

#[test]
fn exact_gaussian_noise_has_its_size() {
    let mechanism = RowsRelease::calibrated(e(1.0), d(1e-3), 2.0, 1.0, EXACT).expect("a mechanism");
    let values = mechanism.release(Raw::seal(vec![0.0; EXACT])).expect("entropy").rows;
    let sigma = 2.0 / gdp_mu(e(1.0), d(1e-3));
    let ratio = mean_square(values.value()) / (sigma * sigma);
    assert!((ratio - 1.0).abs() < 6.0 * (2.0 / EXACT as f64).sqrt(), "{ratio}");
}

#[test]
fn a_bit_answers_at_its_epsilon() {
    have_share(&draws(&duchi::ENTRY, 1.0), |x| 0.0 < x, 1.0 / (1.0 + (-2.0_f64).exp()));
}

/// Of three levels at epsilon = 2 the input's own has probability e²/(e² + 2).
/// At the upper end it is the largest answer.
#[test]
fn randomised_response_answers_at_its_epsilon() {
    let own = 2.0_f64.exp() / (2.0_f64.exp() + 2.0);
    have_share(&draws(&response::ENTRY, 1.0), |x| 1.0 < x, own);
}

/// The raised stretch has probability s/(s + 1), s = e^(epsilon/2); at the upper end it is [1, C], in cells but for the rounding of the
/// window. Spaced values begin at 1.17 in the outer band, which a window of 1565 of the 4096 cells covers.
#[test]
fn the_densities_answer_at_their_epsilon() {
    have_share(&draws(&piecewise::ENTRY, 1.0), |x| 1.0 <= x, 1.0 / (1.0 + (-1.0_f64).exp()));
    have_share(&draws(&warped::ENTRY, 1.0), |x| 1.0 <= x, 1.0 / (1.0 + (4096.0 / 1565.0 - 1.0) * (-2.0_f64).exp()));
}

/// The bit is taken with probability e^(-epsilon/2), whatever the reward is.
#[test]
fn the_hybrid_mixes_by_a_public_coin() {
    let output = 1.0 / 1.0_f64.tanh();
    for reward in [1.0, -1.0] {
        have_share(&draws(&hybrid::ENTRY, reward), |x| (x.abs() - output).abs() < 1e-12, (-1.0_f64).exp());
    }
}

#[test]
fn draws_of_running_sums_have_their_size() {
    let mut values = vec![0.0; N as usize];
    Shape::Vector(N as usize).draw(3.0, &mut stream(4), &mut values);
    is_variance(&values, 9.0);
}

#[test]
fn noise_of_own_items_has_its_size() {
    let mechanism = sums(&local::ENTRY, 1.0, N);
    let (mut privatizer, mut stream) = (mechanism.privatizer(), stream(5));
    let (mut values, mut std) = (Vec::new(), 0.0);
    for _ in 0..N {
        let query = Query { features: vec![0.0, 0.0].into(), release: true };
        if let Signal::Item(item) = privatizer.release(&query, Raw::seal(0.0), (&mut stream).into()).value() {
            values.push(item.entries[1]);
            std = item.gram_std;
        }
    }
    is_variance(&values, std * std);
}

/// A point of a user's own item leaves its cap at the stated probability, simulated; its law on ranks follows from its weights.
#[test]
fn a_cap_is_left_at_its_probability() {
    let mechanism = sums(&privunit::ENTRY, 2.0, N);
    let (mut privatizer, mut stream) = (mechanism.privatizer(), stream(5));
    let Event::Cap { gap, rare, length, .. } = mechanism.ledger().event else { panic!("{:?}", mechanism.ledger().event) };
    // (1, 0) and 1, a half in units of the range [-1, 1]: the item ((1, 0), (0, 0)) less half of the identity, then (1/2, 0);
    // |item|² = 1/4 + 1/4. What is released of the vector is in units of the reward.
    let query = Query { features: vec![1.0, 0.0].into(), release: true };
    let is_outside = |_: &u64| match privatizer.release(&query, Raw::seal(1.0), (&mut stream).into()).value() {
        Signal::Item(item) => {
            let [first, _, last, moment, _] = item.entries[..] else { panic!("{item:?}") };
            0.25 * (first - 0.5) - 0.25 * (last - 0.5) + 0.5 * (0.5 * moment) < (1.0 - gap) * length * 0.5_f64.sqrt()
        }
        other => panic!("{other:?}"),
    };
    is_share((0..N).filter(is_outside).count() as u64, N, rare);
}

#[test]
fn noise_on_rows_has_its_size() {
    let budget = (e(1.0), d(1e-3)).into();
    let request = Request { mechanism: "input-noise", calibration: Calibration::Tight, budget, clip: None };
    let curator = (input_noise::ENTRY.build)(&request, InputsNeed { radius: Some(1.0), columns: None }).expect("a curator");
    let inputs = Inputs::new(2, Arc::new(vec![0.0; N as usize]));
    let released_inputs = curator.release(Raw::seal(inputs), &mut stream(6)).expect("released inputs");
    is_variance(&released_inputs.value().values, released_inputs.value().noise_variance);
}

#[test]
fn gaussian_noise_on_gradients_has_its_size() {
    let mut values = vec![0.0; N as usize];
    IsotropicGaussian { sigma: 3.0 }.draw(&mut stream(7), &mut values);
    is_variance(&values, 9.0);
}

/// |z|² over sigma² is a chi-square variable of as many degrees of freedom as entries.
#[test]
fn generalised_gaussian_noise_has_its_size() {
    let (mut noise, mut stream) = (GeneralizedGaussian::new(3.0, 1.0, 2.0), stream(8));
    let mut draw = || {
        let mut z = [0.0; 4];
        noise.draw(&mut stream, &mut z);
        let size = z.iter().map(|z| z.abs().powi(3)).sum::<f64>().cbrt();
        size * size / 4.0
    };
    let mean = (0..N).map(|_| draw()).sum::<f64>() / N as f64;
    assert!((mean - 4.0).abs() < 6.0 * (8.0 / N as f64).sqrt(), "{mean}");
}

#[test]
fn laplace_noise_on_vertices_has_its_scale() {
    let mut values = vec![0.0; N as usize];
    LaplaceVector { scale: 3.0 }.draw(&mut stream(9), &mut values);
    is_variance(&values, 18.0);
}

/// Four vertices.
#[derive(Debug)]
struct Fixed;

impl Fixed {
    /// Scores of the vertices, whatever the direction.
    const SCORES: [f64; 4] = [0.0, 1.0, -0.5, 3.0];
}

impl Vertices for Fixed {
    fn count(&self) -> usize {
        4
    }

    fn scores(&self, _direction: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&Self::SCORES);
    }
}

/// How often each choice is made has the weight `exp(-score/scale)`.
fn have_weights(scores: &[f64], scale: f64, mut chosen: impl FnMut() -> usize) {
    let weights: Vec<f64> = scores.iter().map(|score| (-score / scale).exp()).collect();
    let (total, mut counts) = (weights.iter().sum::<f64>(), vec![0; scores.len()]);
    (0..N).for_each(|_| counts[chosen()] += 1);
    counts.iter().zip(&weights).for_each(|(count, weight)| is_share(*count, N, weight / total));
}

#[test]
fn the_exponential_mechanism_over_vertices_has_its_scale() {
    let mut stream = stream(10);
    have_weights(&Fixed::SCORES, 0.8, || {
        let choice = Choice::Exponential { scale: 0.8 };
        let mut choices = VertexChoice::new(Arc::new(Linear), 1, Start::Half, None, Arc::new(Fixed), choice);
        let query = Iterates { now: &[0.0], before: &[0.0] };
        *choices.release(query, Raw::seal(Sample { x: &[1.0], y: 1.0 }), &mut stream).value()
    });
}

/// The vertex of one step after a reward of 1 for a context: its scores are those of half a gradient, -x/2.
fn vertex(context: &[f64], law: ChoiceLaw, stream: &mut Stream) -> usize {
    let interaction = Interaction { context, arm: 0, reward: 1.0 };
    let mut arms = ArmChoices::new(choice_terms(context.len(), law));
    match arms.release(Raw::seal(interaction), stream.into()).value() {
        InteractionSignal::Steps([ArmStep::Vertex(index), ..]) => *index,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_exponential_mechanism_over_arms_has_its_scale() {
    let (mut stream, context) = (stream(11), [1.0, -0.5, 0.0]);
    // The vertices are +e_j, then -e_j.
    let scores: Vec<f64> = [-0.5, 0.5].into_iter().flat_map(|sign| context.map(|x| sign * x)).collect();
    have_weights(&scores, 0.4, || vertex(&context, ChoiceLaw::Gumbel { scale: 0.4 }, &mut stream));
}

/// The difference of two Laplace draws of scale b exceeds d with probability e^(-d/b) (1/2 + d/(4 b)).
#[test]
fn laplace_noise_over_arms_has_its_scale() {
    let mut stream = stream(11);
    let first = |_: &u64| vertex(&[1.0], ChoiceLaw::Laplace { scale: 1.0 }, &mut stream) == 0;
    is_share((0..N).filter(first).count() as u64, N, 1.0 - (-1.0_f64).exp() * 0.75);
}

/// Number of features of the sums below.
const M: usize = 40;

/// Compares noise on sums of `M` features with the draws that an event states, at the first release of a stream.
///
/// * `scale` — by how much the released features are longer than those of the event
fn draws_are_stated(what: &str, event: &Event, scale: f64, noise: &[Vec<f64>]) {
    let &Event::Sums { factor, releases, gram_sigma, equal_diagonal, moment_sigma, .. } = event else {
        panic!("{what}: {event:?}")
    };
    let first = factor.factorisation(releases, Default::default()).variance(1).sqrt();
    let diagonal = if equal_diagonal { 1.0 } else { std::f64::consts::SQRT_2 };
    let (mut on, mut off, mut moment) = (Vec::new(), Vec::new(), Vec::new());
    for entries in noise {
        let mut rest = &entries[..];
        for row in 0..M {
            on.push(rest[0]);
            off.extend(&rest[1..M - row]);
            rest = &rest[M - row..];
        }
        moment.extend(rest);
    }
    for (part, values, stated) in [
        ("diagonal", on, diagonal * gram_sigma * scale * scale),
        ("matrix", off, gram_sigma * scale * scale),
        ("vector", moment, moment_sigma * scale),
    ] {
        let ratio = mean_square(&values) / (stated * first).powi(2);
        let room = 6.0 * (2.0 / values.len() as f64).sqrt();
        assert!((ratio - 1.0).abs() < room, "{what}, {part}: {} of the stated draw", ratio.sqrt());
    }
}

/// What ledgers state as the standard deviation of a draw is that of the draws: of every mechanism for sums, under every
/// calibration. Fixed seeds; at six standard errors a false alarm once in five million for a set of seeds.
#[test]
fn ledgers_state_the_draws_of_sums() {
    let (mut drawn, mut seen) = (stream(12), 0);
    for calibration in Calibration::ALL {
        for entry in joint::ENTRIES.into_iter().chain([local::ENTRY]) {
            for linear in [false, true] {
                let request = Request { calibration, clip: Some((0.0, 3.0)), ..request(entry.name, 2.0) };
                let facts = RewardFacts { bound: 1.0, noise_bound: Some(0.5), range: None, noise_variance: Some(0.1), rounds: 4 };
                let Ok(mechanism) = (entry.build)(&request, &facts, SumsNeed { linear, ..need(M, 4) }) else { continue };
                let query = Query { features: vec![0.0; M].into(), release: true };
                let one = |_| entries(mechanism.privatizer().release(&query, Raw::seal(0.0), (&mut drawn).into()).value());
                let noise: Vec<Vec<f64>> = (0..25).map(one).collect();
                draws_are_stated(&format!("{} {calibration}", entry.name), &mechanism.ledger().event, 1.0, &noise);
                seen += 1;
            }
        }
        for (local, mechanism) in [(true, "local-gaussian")].into_iter().chain(quote::FACTORISATIONS.map(|name| (false, name))) {
            for context_length in [1.0, 2.5] {
                let terms = SumsTerms {
                    layout: GramLayout::single(M),
                    due: vec![1, 2, 3, 4].into(),
                    rounds: 4,
                    context_length,
                    range: (0.0, 3.0),
                    request: Request { mechanism, calibration, ..Request::NONE },
                    budget: (e(2.0), d(1e-3)),
                    local,
                };
                let Ok(mechanism) = InteractionSums::calibrated(terms) else { continue };
                let one = |_| {
                    let nothing = Interaction { context: &[0.0; M], arm: 0, reward: 0.0 };
                    entries_of(mechanism.privatizer().release(Raw::seal(nothing), (&mut drawn).into()).value())
                };
                let noise: Vec<Vec<f64>> = (0..25).map(one).collect();
                let scale = mechanism.terms().context_length / mechanism.context_unit();
                let what = format!("interactions, local {local}, {calibration}, length {context_length}");
                draws_are_stated(&what, &mechanism.ledger().event, scale, &noise);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 64, "mechanisms and calibrations");
}

/// The same for rewards and rows, whose noise is a number.
#[test]
fn ledgers_state_the_draws_of_numbers() {
    for calibration in Calibration::ALL {
        for entry in MECHANISMS.iter().filter(|entry| entry.name != "none") {
            let request = Request { calibration, clip: Some((0.0, 3.0)), ..request(entry.name, 2.0) };
            let facts = RewardFacts { bound: 1.0, noise_bound: Some(0.5), range: None, noise_variance: None, rounds: 4 };
            let mechanism = (entry.build)(&request, &facts).expect("a mechanism");
            let (mut privatizer, mut stream) = (mechanism.privatizer(), stream(13));
            let mut one = |reward| {
                privatizer.release(&Query::default(), Raw::seal(reward), (&mut stream).into()).reward().expect("a reward") - 1.5
            };
            let middle: Vec<f64> = (0..N).map(|_| one(1.5)).collect();
            let top: Vec<f64> = (0..N).map(|_| one(3.0)).collect();
            let share = |found: &dyn Fn(f64) -> bool| top.iter().filter(|x| found(**x)).count() as u64;
            let bit = 1.5 / 1.0_f64.tanh();
            let is_bit = |x: f64| (x.abs() - bit).abs() < 1e-9;
            match mechanism.ledger().event {
                Event::Laplace { scale, .. } => is_variance(&middle, 2.0 * scale * scale),
                Event::Gaussian { sigma, .. } => is_variance(&middle, sigma * sigma),
                Event::TwoPoint { rare } => is_share(share(&|x| x < 0.0), N, rare),
                // At the upper end the answers above it are the input's own.
                Event::Response { right, .. } => is_share(share(&|x| 1.5 <= x), N, right),
                // On the unit scale the density is `high` on [1, C] at the upper end, and C is the largest output.
                Event::TwoLevel { high, .. } => {
                    let output = mechanism.output_range().expect("a range").1 / 1.5 - 1.0;
                    is_share(share(&|x| 1.5 <= x), N, high * (output - 1.0));
                }
                Event::Mixture { rare, two_level_share, .. } => {
                    is_share(share(&|x| !is_bit(x)), N, two_level_share);
                    is_share(share(&|x| is_bit(x) && x < 0.0), N, (1.0 - two_level_share) * rare);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
