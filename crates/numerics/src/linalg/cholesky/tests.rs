//! Tests identities over random matrices of every size from 0.

use super::super::{inverse_spd, solve_lower, solve_lower_transposed, solve_spd};
use super::*;
use crate::rng::{Purpose, Stream, Streams};

fn stream(n: usize) -> Stream {
    Streams::new(11, "linalg").of(n as u64, Purpose::Function)
}

/// Returns `B B^T + I/2` for a random square B.
pub fn random_spd(n: usize, stream: &mut Stream) -> Vec<f64> {
    let b: Vec<f64> = (0..n * n).map(|_| stream.normal()).collect();
    let mut a = product_transposed(&b, n);
    for i in 0..n {
        a[i * n + i] += 0.5;
    }
    a
}

fn product_transposed(l: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|at| dot(&l[at / n * n..at / n * n + n], &l[at % n * n..at % n * n + n])).collect()
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, x| m.max(x.abs()))
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    assert!(largest(&difference) <= tolerance * (1.0 + largest(b)), "{what}: {}", largest(&difference));
}

#[test]
fn the_factor_multiplies_back() {
    for n in 0..=20 {
        let a = random_spd(n, &mut stream(n));
        let mut l = a.clone();
        cholesky(&mut l, n).expect("positive definite");
        assert_close(&product_transposed(&l, n), &a, 1e-14, "L L^T = A");
        assert!((0..n).all(|i| l[i * n + i + 1..i * n + n].iter().all(|&x| x == 0.0)), "upper triangle is zero");
        // Entries above the diagonal are not read.
        let mut garbage = a.clone();
        (0..n).for_each(|i| garbage[i * n + i + 1..i * n + n].fill(f64::NAN));
        cholesky(&mut garbage, n).expect("positive definite");
        assert_eq!(garbage, l);
    }
}

#[test]
fn solves_and_inverse_undo_the_matrix() {
    for n in 0..=20 {
        let mut stream = stream(n);
        let a = random_spd(n, &mut stream);
        let mut l = a.clone();
        cholesky(&mut l, n).expect("positive definite");
        let x: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let times = |m: &[f64], v: &[f64]| (0..n).map(|i| dot(&m[i * n..i * n + n], v)).collect::<Vec<_>>();
        let mut lower = times(&l, &x);
        solve_lower(&l, &mut lower);
        assert_close(&lower, &x, 1e-12, "L^-1 L x = x");
        let transposed: Vec<f64> = (0..n * n).map(|at| l[at % n * n + at / n]).collect();
        let mut upper = times(&transposed, &x);
        solve_lower_transposed(&l, &mut upper);
        assert_close(&upper, &x, 1e-12, "L^-T L^T x = x");
        let mut both = times(&a, &x);
        solve_spd(&l, &mut both);
        assert_close(&both, &x, 1e-11, "A^-1 A x = x");
        let inverse = inverse_spd(&l, n);
        let identity: Vec<f64> = (0..n).flat_map(|i| times(&inverse, &a[i * n..i * n + n])).collect();
        let expected: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
        assert_close(&identity, &expected, 1e-11, "A^-1 A = I");
        assert!((0..n * n).all(|at| inverse[at].to_bits() == inverse[at % n * n + at / n].to_bits()), "symmetric bits");
    }
}

#[test]
fn what_is_not_positive_is_said_and_repaired_only_a_little() {
    let mut indefinite = vec![1.0, 0.0, 0.0, -1.0];
    assert_eq!(cholesky(&mut indefinite.clone(), 2), Err(NotPositive { row: 1, pivot: -1.0 }));
    assert!(cholesky_repaired(&mut indefinite, 2).is_err());
    assert_eq!(indefinite, [1.0, 0.0, 0.0, -1.0], "given back as it was");
    assert!(cholesky(&mut [f64::NAN], 1).is_err());
    assert!(cholesky_repaired(&mut [f64::NAN], 1).is_err());
    // Rank one: singular, but a negligible jitter suffices.
    let mut singular = vec![1.0; 9];
    let jitter = cholesky_repaired(&mut singular, 3).expect("repairable");
    // At most the first attempt's: the second adds 1.4e-11.
    assert!(jitter < 1e-11, "{jitter}");
    assert_close(&product_transposed(&singular, 3), &[1.0; 9], 1e-11, "close to the given matrix");
    assert_eq!(cholesky_repaired(&mut [4.0], 1), Ok(0.0));
    assert_eq!(cholesky_repaired(&mut [], 0), Ok(0.0));
}
