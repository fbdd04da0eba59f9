//! Tests the closed forms of the sets against generic solvers.
//!
//! Linear minimization and projection are compared with projected or conditional gradients that access a set only through
//! membership, or through its vertices.

use super::{ConstraintSet, LpBall, Polytope, Simplex};
use privateer_numerics::linalg::{Norm, dot};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use std::sync::Arc;

fn stream() -> Stream {
    Streams::new(11, "oracles").of(0, Purpose::Noise)
}

fn sets(d: usize, stream: &mut Stream) -> Vec<Arc<dyn ConstraintSet>> {
    let mut sets: Vec<Arc<dyn ConstraintSet>> = [1.0, 1.0001, 1.05, 1.5, 2.0, 3.0, 8.0, 60.0, f64::INFINITY]
        .iter()
        .map(|&p| Arc::new(LpBall::new(Norm::of(p).expect("a norm"), 1.7, d)) as Arc<_>)
        .collect();
    sets.push(Arc::new(Simplex::new(1.3, d)));
    let rows = (0..d * (d + 3)).map(|_| stream.normal()).collect();
    sets.push(Arc::new(Polytope::new(Norm::of(1.0).expect("a norm"), d, rows).expect("a polytope")));
    sets
}

/// Scales a direction from the centre to the set's boundary, by membership tests alone.
fn on_the_boundary(set: &dyn ConstraintSet, direction: &[f64]) -> Vec<f64> {
    let centre = set.centre();
    let at = |s: f64| centre.iter().zip(direction).map(|(c, d)| c + s * d).collect::<Vec<f64>>();
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if set.contains(&at(middle), 0.0) { low = middle } else { high = middle }
    }
    at(low)
}

/// No point found by a search over directions has a smaller product than the minimizer.
///
/// The minimizer is in the set; the corner cases d = 1 and 2 are included.
#[test]
fn linear_minimization_is_beaten_by_no_other_point() {
    let mut stream = stream();
    for d in [1, 2, 5] {
        for set in sets(d, &mut stream) {
            let mut v = vec![0.0; d];
            for _ in 0..10 {
                let g: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
                set.minimise(&g, &mut v);
                assert!(set.contains(&v, 1e-12), "{}: {v:?}", set.words());
                let value = dot(&g, &v);
                for i in 0..100 {
                    // Directions near the minimizer and far from it; the simplex's membership test projects them onto its
                    // plane.
                    let scale = libm::pow(0.8, f64::from(i) * 0.5);
                    let mut direction: Vec<f64> = v.iter().map(|v| v + scale * stream.normal()).collect();
                    if set.words().starts_with("simplex") {
                        let mean = direction.iter().sum::<f64>() / d as f64;
                        direction.iter_mut().for_each(|x| *x -= mean);
                    }
                    let other = dot(&g, &on_the_boundary(set.as_ref(), &direction));
                    // Membership in a hull is decided by distance, to 1e-7 of the diameter.
                    let slack = 1e-9 * (1.0 + value.abs()) + 1e-6 * set.diameter() * g.iter().map(|g| g.abs()).sum::<f64>();
                    assert!(value <= other + slack, "{}: {value} {other}", set.words());
                }
            }
        }
    }
}

/// The nearest point y of a convex set satisfies `<x - y, z - y> <= 0` for all z in it.
///
/// The worst z is the set's own minimizer, which the test above checks separately.
#[test]
fn projections_satisfy_the_obtuse_angle() {
    let mut stream = stream();
    for d in [1, 2, 5, 30] {
        for set in sets(d, &mut stream) {
            for scale in [0.1, 1.0, 4.0, 1e4, 1e6] {
                let x: Vec<f64> = (0..d).map(|_| scale * stream.normal()).collect();
                let mut y = x.clone();
                set.project(&mut y);
                assert!(set.contains(&y, 1e-9), "{} of {x:?}: {y:?}", set.words());
                let gap: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
                let away: Vec<f64> = gap.iter().map(|g| -g).collect();
                let mut z = vec![0.0; d];
                set.minimise(&away, &mut z);
                let product = dot(&gap, &z) - dot(&gap, &y);
                assert!(product <= 1e-8 * scale * scale.max(1.0), "{} scale {scale}: {product}", set.words());
                let mut again = y.clone();
                set.project(&mut again);
                let moved = again.iter().zip(&y).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(moved <= 1e-8, "{}: {moved}", set.words());
            }
        }
    }
}

/// The same condition detects a planted fault: radial scaling instead of the projection.
#[test]
fn scaling_is_no_projection() {
    let ball = LpBall::new(Norm::of(1.5).expect("a norm"), 1.0, 2);
    let x = [3.0, 0.5];
    let mut y = x.to_vec();
    ball.norm().clip(&mut y, 1.0);
    let gap: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
    let mut z = vec![0.0; 2];
    ball.minimise(&[-gap[0], -gap[1]], &mut z);
    assert!(0.01 < dot(&gap, &z) - dot(&gap, &y));
}

/// Diameters are attained by vertices or opposite points, and no pair found exceeds them.
#[test]
fn diameters() {
    let mut stream = stream();
    for d in [1, 2, 6] {
        for set in sets(d, &mut stream) {
            let mut longest: f64 = 0.0;
            let (mut a, mut b) = (vec![0.0; d], vec![0.0; d]);
            for _ in 0..300 {
                let g: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
                set.minimise(&g, &mut a);
                set.minimise(&g.iter().map(|g| -g).collect::<Vec<f64>>(), &mut b);
                let gap: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
                longest = longest.max(set.norm().size(&gap));
            }
            assert!(longest <= set.diameter() * (1.0 + 1e-12), "{}: {longest} {}", set.words(), set.diameter());
            assert!(0.6 * set.diameter() <= longest, "{}: {longest} {}", set.words(), set.diameter());
        }
    }
}

#[test]
fn vertices_are_the_minimizers() {
    let mut stream = stream();
    for d in [1, 2, 4] {
        for set in sets(d, &mut stream) {
            let Some(vertices) = set.vertices() else { continue };
            let g: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
            let mut scores = vec![0.0; vertices.count()];
            vertices.scores(&g, &mut scores);
            let (mut vertex, mut best) = (vec![0.0; d], vec![0.0; d]);
            for (i, score) in scores.iter().enumerate() {
                set.vertex(i, &mut vertex);
                assert!((dot(&vertex, &g) - score).abs() < 1e-12 && set.contains(&vertex, 1e-12));
            }
            set.minimise(&g, &mut best);
            let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((dot(&best, &g) - least).abs() < 1e-12, "{}", set.words());
        }
    }
    assert!(Polytope::new(Norm::MAX, 2, vec![1.0, 2.0, 3.0]).is_none() && Polytope::new(Norm::MAX, 2, vec![]).is_none());
}
