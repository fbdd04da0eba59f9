//! One look tells neighbours apart: why Theorem 1 of Kharkovskii, Dai & Low (ICML 2020) is false for more rows than columns.
//!
//! `Z = X M / sqrt(r)` has the column space of `X`, whatever the secret `M` is, and lifting singular values keeps it. Who holds a data
//! set that may be the one behind `Z` projects `Z` onto the orthogonal complement of its columns: nothing remains, or something does.
//! No epsilon separates the two, and no `omega` repairs it. Shows nothing about the replacement, whose noise fills all of space.
//!
//! Run: `cargo run --release --example one_look`. Prints, for both branches, how often the look was right about a row that moved by 1e-3.

use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::curator::Inputs;
use privateer_privacy::curator::projection::{centred, lifted, released_inputs};
use privateer_privacy::printed::kharkovskii2020::omega;
use std::sync::Arc;

const ROWS: usize = 2004;
const COLUMNS: usize = 10;
const LOOKS: u64 = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut draws = Streams::new(1, "one look").shared(Purpose::Domain);
    let inputs: Vec<f64> = (0..ROWS * 2).map(|_| draws.uniform_in(-17.0, 17.0)).collect();
    let mut neighbour = inputs.clone();
    neighbour[2 * 1000] += 1e-3;
    let [data, neighbour] = [inputs, neighbour].map(|values| centred(&Inputs::new(2, Arc::new(values))));
    // What the attacker knows: the columns of the one data set, made orthonormal.
    let columns = orthonormal(&data);
    for (branch, epsilon) in [("as it is (sigma_min >= omega)", 100.0), ("lifted (sigma_min < omega)", 1.0)] {
        let threshold = omega(COLUMNS as u32, epsilon, 1e-5);
        let mut right = 0;
        for look in 0..LOOKS {
            let mut secret = Streams::new(look, "secret").of(look, Purpose::Curator);
            let truth = secret.bernoulli(0.5);
            let m: Vec<f64> = (0..2 * COLUMNS).map(|_| secret.normal()).collect();
            let held = if truth { &data } else { &neighbour };
            let z = released_inputs(&lifted(held, 2, threshold, false)?, 2, &m, COLUMNS);
            right += u64::from((outside(&z, &columns) < 1e-9) == truth);
        }
        println!("{branch}, omega = {threshold:.1}: right in {right} of {LOOKS} looks");
    }
    Ok(())
}

/// What of `z` lies outside of the columns, as a share of it.
fn outside(z: &[f64], columns: &[Vec<f64>; 2]) -> f64 {
    let total: f64 = z.iter().map(|v| v * v).sum();
    let rest: f64 = (0..COLUMNS)
        .map(|c| {
            let mut v: Vec<f64> = z.iter().skip(c).step_by(COLUMNS).copied().collect();
            columns.iter().for_each(|q| remove(&mut v, q));
            v.iter().map(|v| v * v).sum::<f64>()
        })
        .sum();
    (rest / total).sqrt()
}

fn remove(v: &mut [f64], q: &[f64]) {
    let along: f64 = v.iter().zip(q).map(|(v, q)| v * q).sum();
    v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
}

fn orthonormal(rows: &[f64]) -> [Vec<f64>; 2] {
    let unit = |v: Vec<f64>| {
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.into_iter().map(|v| v / norm).collect::<Vec<f64>>()
    };
    let first = unit(rows.iter().step_by(2).copied().collect());
    let mut second: Vec<f64> = rows.iter().skip(1).step_by(2).copied().collect();
    remove(&mut second, &first);
    remove(&mut second, &first);
    [first, unit(second)]
}
