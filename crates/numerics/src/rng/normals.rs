//! Normal quantiles of many numbers with SIMD, with the bits of [`super::normal_quantile`].
//!
//! Each number passes the same operations in the same order.

use super::logarithm::{reduced, series};
use super::quantile::{CENTRE, FAR, MANY, centre, normal_quantile, shoulder};
use crate::vectorised;

/// Replaces up to [`MANY`] probabilities in (0, 1) by their standard normal quantiles.
pub fn quantiles(values: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        simd.vectorize(super::compressed::Compressed { simd, values });
        return;
    }
    normal_quantiles(values);
}

vectorised! {
    fn normal_quantiles(values: &mut [f64]) {
        debug_assert!(values.len() <= MANY);
        // One in seven lies outside of the centre: these are gathered, so that all lanes take the same path.
        let (mut beyond, mut places, mut n) = ([0.5; MANY], [0u16; MANY], 0);
        for (i, &p) in values.iter().enumerate().take(MANY) {
            (beyond[n], places[n]) = (p, i as u16);
            n += usize::from(CENTRE < (p - 0.5).abs());
        }
        for value in values.iter_mut() {
            *value = centre(*value - 0.5);
        }
        let mut radii = [0.0; MANY];
        for (radius, &p) in radii.iter_mut().zip(&beyond[..n]) {
            *radius = (-logarithm(if p - 0.5 < 0.0 { p } else { 1.0 - p })).sqrt();
        }
        let mut magnitudes = [0.0; MANY];
        for (magnitude, &radius) in magnitudes.iter_mut().zip(&radii[..n]) {
            *magnitude = shoulder(radius);
        }
        for (((&place, &p), &magnitude), &radius) in places.iter().zip(&beyond[..n]).zip(&magnitudes).zip(&radii) {
            let magnitude = if p - 0.5 < 0.0 { -magnitude } else { magnitude };
            values[usize::from(place)] = if radius <= FAR { magnitude } else { normal_quantile(p) };
        }
    }
}

/// Returns `libm::log` of a normal number in (0, 1), bit by bit.
///
/// The operations and their order are the same, without the branches of `libm`, which prevent vectorisation.
///
/// The algorithm and its constants are those of FreeBSD's `e_log.c`: "Copyright (C) 1993 by Sun Microsystems, Inc. All
/// rights reserved. Developed at SunSoft, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and
/// distribute this software is freely granted, provided that this notice is preserved."
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    let (k, f) = reduced(x);
    series(k, f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn the_bits_of_one_at_a_time() {
        let stream = || Streams::new(5, "normals").of(0, Purpose::Noise);
        for n in [0, 1, 7, 8, 20, 63, 64, 65, 255, 256, 257, 5000] {
            let (mut one, mut many) = (stream(), stream());
            let expected: Vec<u64> = (0..n).map(|_| one.normal().to_bits()).collect();
            let mut found = vec![0.0; n];
            many.normals(&mut found);
            assert!(found.iter().map(|x| x.to_bits()).eq(expected.iter().copied()), "{n}");
            // The path without AVX-512 has the same bits.
            let mut copy = stream();
            found.iter_mut().for_each(|value| *value = copy.open_uniform());
            found.chunks_mut(MANY).for_each(normal_quantiles);
            assert!(found.iter().map(|x| x.to_bits()).eq(expected), "{n}");
            assert_eq!(one.word(), many.word(), "{n}: as many words");
        }
    }

    /// Tests far tails and both edges of every branch.
    #[test]
    fn rare_numbers_too() {
        let edges = [0.075, 0.925, 1e-3, 1.0 - 1e-3, f64::EPSILON / 4.0, 1.0 - f64::EPSILON / 2.0, 0.5, libm::exp(-25.0)];
        let near = |p: f64| [p.next_down(), p, p.next_up()];
        let mut values: Vec<f64> = edges.into_iter().flat_map(near).filter(|p| 0.0 < *p && *p < 1.0).collect();
        values.extend((1..54).map(|k| 0.5f64.powi(k)));
        let expected: Vec<u64> = values.iter().map(|&p| normal_quantile(p).to_bits()).collect();
        let mut copy = values.clone();
        quantiles(&mut values);
        assert!(values.iter().map(|x| x.to_bits()).eq(expected.iter().copied()));
        normal_quantiles(&mut copy);
        assert!(copy.iter().map(|x| x.to_bits()).eq(expected));
        let mut stream = Streams::new(6, "normals").of(0, Purpose::Noise);
        for _ in 0..100_000 {
            let x = stream.open_uniform();
            assert_eq!(logarithm(x).to_bits(), libm::log(x).to_bits(), "{x}");
        }
    }
}
