//! Tests every factorisation against dense matrices.

use super::banded::Banded;
use super::blt::Blt;
use super::honaker::Honaker;
use super::normalised::Normalised;
use super::own::Own;
use super::toeplitz::SquareRoot;
use super::tree::Tree;
use super::{Factorisation, PrefixSums, Shape};
use crate::Raw;
use crate::accounting::sensitivity::Participation;
use crate::gram::GramStream;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

/// Two participations at least three rounds apart.
const TWICE: Participation = Participation { count: 2, separation: 3 };

fn all(rounds: u64) -> Vec<Arc<dyn Factorisation>> {
    vec![
        Arc::new(Tree::new(rounds)),
        Arc::new(Honaker::new(rounds)),
        Arc::new(Blt::fitted(rounds, Participation::ONCE)),
        Arc::new(Blt::fitted(rounds, TWICE)),
        Arc::new(SquareRoot::new(rounds)),
        Arc::new(Banded::new(rounds, 5, [0.2, 0.3])),
        Arc::new(Normalised::fitted(rounds, TWICE)),
    ]
}

fn stream() -> Stream {
    Streams::new(5, "streams").of(0, Purpose::Mechanism("streams"))
}

/// Returns B row by row: the noise on each prefix as weights of the draws.
/// Computed by feeding one unit draw at a time.
fn noise_matrix(factorisation: &dyn Factorisation) -> Vec<Vec<f64>> {
    let rounds = factorisation.rounds() as usize;
    let mut n_draws = 0;
    let mut count = factorisation.noise(Shape::Vector(1));
    (0..rounds).for_each(|_| {
        count.next(&mut |out| {
            out[0] = 0.0;
            n_draws += 1;
        });
    });
    let mut rows = vec![vec![0.0; n_draws]; rounds];
    for chosen in 0..n_draws {
        let (mut noise, mut at) = (factorisation.noise(Shape::Vector(1)), 0);
        for row in &mut rows {
            row[chosen] = noise.next(&mut |out| {
                out[0] = f64::from(u8::from(at == chosen));
                at += 1;
            })[0];
        }
    }
    rows
}

/// Returns the matrix C with `A = B C`.
/// For trees it lists the rounds of each node; for other factorisations a linear system is solved.
fn data_matrix(factorisation: &dyn Factorisation, noise: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let rounds = noise.len();
    match factorisation.name() {
        "tree" => (1..=rounds)
            .map(|k| (1..=rounds).map(|j| f64::from(u8::from(k - (k & k.wrapping_neg()) < j && j <= k))).collect())
            .collect(),
        "honaker" => (1..=rounds)
            .flat_map(|k| (0..=k.trailing_zeros()).map(move |level| (k, 1 << level)))
            .map(|(k, size)| (1..=rounds).map(|j| f64::from(u8::from(k - size < j && j <= k))).collect())
            .collect(),
        _ => {
            // B is lower triangular with ones on its diagonal.
            let mut c = vec![vec![0.0; rounds]; rounds];
            for (row, weights) in noise.iter().enumerate() {
                c[row] = (0..rounds)
                    .map(|column| {
                        let known: f64 = c[..row].iter().zip(weights).map(|(node, weight)| weight * node[column]).sum();
                        (f64::from(u8::from(column <= row)) - known) / weights[row]
                    })
                    .collect();
            }
            c
        }
    }
}

/// Checks that `C x` equals the dense product, row by row.
/// The noise side must turn it into prefix sums. A state of another form is refused.
#[test]
fn transforms_are_the_other_half() {
    for rounds in [1_u64, 2, 7, 8, 21] {
        let mut draws = stream();
        let x: Vec<f64> = (0..rounds).map(|_| draws.normal()).collect();
        let prefixes: Vec<f64> = x
            .iter()
            .scan(0.0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect();
        let through = |coder: &dyn Factorisation, factorisation: &dyn Factorisation| {
            let (mut transform, mut noise) = (coder.transform(1).expect("a transform"), factorisation.noise(Shape::Vector(1)));
            let (mut sums, mut seen) = (Vec::new(), Vec::new());
            for &x in &x {
                let mut rows = std::collections::VecDeque::new();
                transform.next(&[x], &mut |row| rows.push_back(row[0]));
                seen.extend(rows.iter().copied());
                sums.push(noise.next(&mut |out| out[0] = rows.pop_front().unwrap_or(0.0))[0]);
            }
            (seen, sums)
        };
        let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let once: Arc<dyn Factorisation> = Arc::new(Normalised::fitted(rounds, Participation::ONCE));
        for factorisation in all(rounds).into_iter().chain([once]) {
            let (seen, sums) = through(factorisation.as_ref(), factorisation.as_ref());
            let dense: Vec<f64> = data_matrix(factorisation.as_ref(), &noise_matrix(factorisation.as_ref()))
                .iter()
                .map(|row| row.iter().zip(&x).map(|(c, x)| c * x).sum())
                .collect();
            assert_eq!(seen.len(), dense.len(), "{} {rounds}", factorisation.name());
            assert!(far(&seen, &dense) < 1e-10 && far(&sums, &prefixes) < 1e-10, "{} {rounds}", factorisation.name());
        }
        let (_, crossed) = through(&Tree::new(rounds), &SquareRoot::new(rounds));
        assert_eq!(far(&crossed, &prefixes) < 1e-10, rounds == 1);
    }
}

/// The largest deviation is that of one of the prefixes, to the bit, and found without them.
#[test]
fn largest_deviations() {
    for rounds in (1_u64..140).chain([255, 256, 257, 1000]) {
        for factorisation in all(rounds).into_iter().chain([Arc::new(Own::new(rounds)) as Arc<dyn Factorisation>]) {
            let name = factorisation.name();
            let each: Vec<f64> = factorisation.variances();
            assert_eq!(each.len() as u64, rounds, "{name}");
            let stream = GramStream::new(factorisation, 0.3);
            let largest = (0..each.len()).map(|at| stream.std(at)).fold(0.0, f64::max);
            assert_eq!(stream.largest_std().to_bits(), largest.to_bits(), "{name} {rounds}");
            assert!(stream.std(each.len()).is_nan(), "{name}");
        }
    }
}

#[test]
fn factors_multiply_to_prefix_sums_and_norms_are_stated() {
    for rounds in [1_u64, 2, 3, 7, 8, 21, 40] {
        for factorisation in all(rounds) {
            let name = factorisation.name();
            let noise = noise_matrix(factorisation.as_ref());
            let data = data_matrix(factorisation.as_ref(), &noise);
            for (t, row) in noise.iter().enumerate() {
                let variance: f64 = row.iter().map(|weight| weight * weight).sum();
                let stated = factorisation.variance(t as u64 + 1);
                assert!((variance - stated).abs() < 1e-10, "{name} {rounds} {t}: {variance} {stated}");
                for j in 0..rounds as usize {
                    let product: f64 = row.iter().zip(&data).map(|(weight, node)| weight * node[j]).sum();
                    assert!((product - f64::from(u8::from(j <= t))).abs() < 1e-10, "{name} {rounds}: prefix {t} of {j}");
                }
            }
            let norm = |columns: &[usize]| {
                let square = |node: &Vec<f64>| columns.iter().map(|&j| node[j]).sum::<f64>();
                libm::sqrt(data.iter().map(|node| square(node) * square(node)).sum())
            };
            let largest = (0..rounds as usize).map(|j| norm(&[j])).fold(0.0, f64::max);
            let stated = factorisation.sensitivity(Participation::ONCE);
            assert!((largest - stated).abs() < 1e-10, "{name} {rounds}: {largest} {stated}");
            // An upper bound, and exact for Toeplitz matrices.
            let pairs = (0..rounds as usize).flat_map(|i| (i + 3..rounds as usize).map(move |j| [i, j]));
            let two = pairs.map(|pair| norm(&pair)).fold(largest, f64::max);
            let stated = factorisation.sensitivity(TWICE);
            assert!(two <= stated + 1e-10, "{name} {rounds}: {two} {stated}");
            // Never above the triangle inequality, and near the exact value for trees.
            assert!(
                stated <= (2.0 * factorisation.sensitivity(Participation::ONCE)).min(1.2 * two) + 1e-10,
                "{name} {rounds}: {two} {stated}"
            );
            if !["tree", "honaker"].contains(&name) {
                assert!((two - stated).abs() < 1e-10, "{name} {rounds}: {two} {stated}");
            }
        }
    }
}

/// Checks that each release is the raw sum plus the noise that B gives for the same draws.
/// The diagonal of a matrix has variance 2.
#[test]
fn releases_are_raw_sums_and_that_noise() {
    let (rounds, n, sigma) = (19, 3, 0.7);
    let shape = Shape::Symmetric(n);
    for factorisation in all(rounds) {
        let noise = noise_matrix(factorisation.as_ref());
        let (mut words, mut draws) = (stream(), Vec::new());
        for _ in 0..noise[0].len() {
            let diagonal = [true, false, false, true, false, true];
            draws.push(diagonal.map(|d| if d { std::f64::consts::SQRT_2 } else { 1.0 } * sigma * words.normal()));
        }
        let (mut sums, mut stream) = (PrefixSums::new(&factorisation, shape, sigma), stream());
        let mut raw = [0.0; 6];
        for (t, row) in noise.iter().enumerate() {
            let item: Vec<f64> = (0..6).map(|i| f64::from(i) - t as f64).collect();
            raw.iter_mut().zip(&item).for_each(|(sum, x)| *sum += x);
            let released = sums.release(Raw::seal(&item), &mut stream).expect("a round").value().to_vec();
            for entry in 0..6 {
                let said: f64 = row.iter().zip(&draws).map(|(weight, draw)| weight * draw[entry]).sum();
                assert!((released[entry] - raw[entry] - said).abs() < 1e-12, "{} {t}", factorisation.name());
            }
        }
        let over = sums.release(Raw::seal(&raw), &mut stream).map(|_| ()).map_err(|e| e.to_string());
        assert!(over.is_err_and(|e| e.contains("calibrated for 19 rounds")));
    }
}

/// Checks that items with entries that are not finite count as zero and draw the same words.
#[test]
fn nothing_of_a_bad_item_is_visible() {
    let released = |item: &[f64]| {
        let mut sums = PrefixSums::new(&all(4)[2], Shape::Vector(2), 1.0);
        sums.release(Raw::seal(item), &mut stream()).expect("a round").value().to_vec()
    };
    for bad in [[f64::NAN, 1.0], [f64::INFINITY, 0.0]] {
        assert_eq!(released(&bad), released(&[0.0, 0.0]));
    }
    assert_eq!(released(&[1.0]), released(&[0.0, 0.0]));
}

#[test]
fn states_are_small() {
    for (factorisation, most) in all(1000).into_iter().zip([10, 20, 5, 1000]) {
        let mut noise = factorisation.noise(Shape::Vector(1));
        (0..1000).for_each(|_| {
            noise.next(&mut |out| out.fill(0.0));
        });
        assert!(noise.state() <= most, "{} holds {}", factorisation.name(), noise.state());
    }
}
