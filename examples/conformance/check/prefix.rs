//! Noisy prefix sums of vectors by the tree, low-bit form.

use super::outcome::Outcome;
use super::read::matrix;
use super::stored::{Stored, streams};
use privateer_privacy::gradients::VectorNoise;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, Shape};
use serde_json::Value;

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    outcome.compare("prefix", sums(file), &file["prefix"]);
    let n = file["z"].as_array().map_or(0, Vec::len);
    outcome.compare("nodes_in_prefix", Ok(nodes(n)), &file["nodes_in_prefix"]);
    for (at, node) in file["node_of_noise"].as_array().into_iter().flatten().enumerate() {
        let t = at + 1;
        let lowbit = t & t.wrapping_neg();
        for (name, value) in [("t", t), ("start", t - lowbit + 1), ("end", t)] {
            outcome.compare(&format!("node_of_noise {at} {name}"), Ok(vec![value as f64]), &node[name]);
        }
    }
    outcome.note_rest(file, &["z", "noise", "prefix", "nodes_in_prefix", "node_of_noise", "n", "d"]);
    outcome
}

fn sums(file: &Value) -> Result<Vec<f64>, String> {
    let ((d, z), (width, noise)) = (matrix(file, "z")?, matrix(file, "noise")?);
    if d != width || z.len() != noise.len() {
        return Err("`z` and `noise` are not of the same shape".to_owned());
    }
    let mut stored = Stored::new(d, noise);
    let mut stream = streams().mechanism;
    let mut prefix = Tree::new((z.len() / d) as u64).noise(Shape::Vector(d));
    let (mut sum, mut found) = (vec![0.0; d], Vec::new());
    for z in z.chunks_exact(d) {
        sum.iter_mut().zip(z).for_each(|(sum, z)| *sum += z);
        let noise = prefix.next(&mut |out| stored.draw(&mut stream, out));
        found.extend(sum.iter().zip(noise).map(|(sum, noise)| sum + noise));
    }
    Ok(found)
}

/// Which draws the tree's prefixes read, latest first, by feeding one unit draw at a time.
fn nodes(n: usize) -> Vec<f64> {
    let reads = |draw: usize| -> Vec<bool> {
        let mut prefix = Tree::new(n as u64).noise(Shape::Vector(1));
        (0..n).map(|t| prefix.next(&mut |out| out.fill(if t == draw { 1.0 } else { 0.0 }))[0] != 0.0).collect()
    };
    let all: Vec<Vec<bool>> = (0..n).map(reads).collect();
    (0..n).flat_map(|t| (0..n).rev().filter(|&draw| all[draw][t]).map(|draw| draw as f64 + 1.0).collect::<Vec<_>>()).collect()
}
