//! Normal quantiles with AVX-512, with the bits of [`super::normal_quantile`].
//!
//! AVX-512 gathers the numbers outside of the centre and puts them back in a few cycles. Each number passes the same
//! operations in the same order. The version without AVX-512 is in `normals`.

use super::logarithm::{LG, LN2_HIGH, LN2_LOW};
use super::quantile::{A, B, C, CENTRE, D, FAR, MANY, SHOULDER, normal_quantile};
use pulp::NullaryFnOnce;
use pulp::x86::V4;
use std::arch::x86_64::{__m512d, _CMP_GT_OQ, _CMP_LT_OQ};

const LANES: usize = 8;
/// Number of interleaved vectors of the tails, which hides the latency of quotients and roots.
const ABREAST: usize = 4;

/// Replaces up to [`MANY`] probabilities in (0, 1) by their standard normal quantiles.
pub struct Compressed<'a> {
    pub simd: V4,
    pub values: &'a mut [f64],
}

#[inline(always)]
fn load(values: &[f64]) -> __m512d {
    pulp::cast(values.as_chunks::<LANES>().0[0])
}

#[inline(always)]
fn store(values: &mut [f64], vector: __m512d) {
    values.as_chunks_mut::<LANES>().0[0] = pulp::cast(vector);
}

/// Most numbers for which the small work space is used: preparing the large one costs as much as they do.
const FEW: usize = 64;
/// Space behind the gathered numbers, which a store of a whole group may fill.
const GROUP: usize = LANES * ABREAST;

impl NullaryFnOnce for Compressed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, values } = self;
        if values.len() <= FEW {
            let n = values.len();
            let mut padded = [0.5; FEW];
            padded[..n].copy_from_slice(values);
            let mut beyond = [0.0; FEW + GROUP];
            quantiles(simd, &mut padded[..n.next_multiple_of(LANES)], &mut beyond, &mut [0; FEW / LANES]);
            values.copy_from_slice(&padded[..n]);
            return;
        }
        let (mut beyond, mut masks) = ([0.0; MANY + GROUP], [0; MANY / LANES]);
        let (whole, rest) = values.split_at_mut(values.len() / LANES * LANES);
        quantiles(simd, whole, &mut beyond, &mut masks);
        if !rest.is_empty() {
            let mut padded = [0.5; LANES];
            padded[..rest.len()].copy_from_slice(rest);
            quantiles(simd, &mut padded, &mut beyond, &mut masks);
            rest.copy_from_slice(&padded[..rest.len()]);
        }
    }
}

/// Computes the quantiles of whole vectors.
///
/// * `beyond` — work space, [`GROUP`] numbers longer than `values`
/// * `masks` — work space, one for each vector
#[inline(always)]
fn quantiles(simd: V4, values: &mut [f64], beyond: &mut [f64], masks: &mut [u8]) {
    let f = simd.avx512f;
    let half = f._mm512_set1_pd(0.5);
    let mut n = 0;
    let (fours, rest) = values.split_at_mut(values.len() / GROUP * GROUP);
    let (masks_of_fours, masks_of_rest) = masks.split_at_mut(fours.len() / LANES);
    for (values, masks) in fours.chunks_exact_mut(GROUP).zip(masks_of_fours.chunks_exact_mut(ABREAST)) {
        n = centres::<ABREAST>(simd, values, masks, beyond, n);
    }
    for (values, masks) in rest.chunks_exact_mut(LANES).zip(masks_of_rest.chunks_exact_mut(1)) {
        n = centres::<1>(simd, values, masks, beyond, n);
    }
    // Fills the rest of the last group.
    (0..ABREAST).for_each(|u| store(&mut beyond[n + LANES * u..], half));
    if n <= LANES {
        tails::<1>(simd, &mut beyond[..LANES]);
    } else {
        for numbers in beyond[..n.next_multiple_of(GROUP)].chunks_exact_mut(GROUP) {
            tails::<ABREAST>(simd, numbers);
        }
    }
    let mut n = 0;
    for (values, &mask) in values.chunks_exact_mut(LANES).zip(&*masks) {
        let expanded = f._mm512_mask_expand_pd(load(values), mask, load(&beyond[n..]));
        store(values, expanded);
        n += mask.count_ones() as usize;
    }
}

/// Computes quantiles as in the centre; others are gathered in `beyond` from number `n` on.
#[inline(always)]
fn centres<const V: usize>(simd: V4, values: &mut [f64], masks: &mut [u8], beyond: &mut [f64], mut n: usize) -> usize {
    let f = simd.avx512f;
    let half = f._mm512_set1_pd(0.5);
    let mut q = [half; V];
    let mut r = [half; V];
    for v in 0..V {
        let p = load(&values[LANES * v..]);
        q[v] = f._mm512_sub_pd(p, half);
        masks[v] = f._mm512_cmp_pd_mask::<_CMP_GT_OQ>(f._mm512_abs_pd(q[v]), f._mm512_set1_pd(CENTRE));
        store(&mut beyond[n..], f._mm512_maskz_compress_pd(masks[v], p));
        n += masks[v].count_ones() as usize;
        r[v] = f._mm512_sub_pd(f._mm512_set1_pd(0.180_625), f._mm512_mul_pd(q[v], q[v]));
    }
    let ratios = ratios(simd, r, &A, &B);
    for v in 0..V {
        store(&mut values[LANES * v..], f._mm512_mul_pd(q[v], ratios[v]));
    }
    n
}

/// Computes the quotients of two polynomials, interleaved over several vectors.
#[inline(always)]
fn ratios<const V: usize>(simd: V4, r: [__m512d; V], numerator: &[f64; 8], denominator: &[f64; 8]) -> [__m512d; V] {
    let f = simd.avx512f;
    let (mut a, mut b) = ([f._mm512_set1_pd(numerator[7]); V], [f._mm512_set1_pd(denominator[7]); V]);
    for k in (0..7).rev() {
        for v in 0..V {
            a[v] = f._mm512_add_pd(f._mm512_mul_pd(a[v], r[v]), f._mm512_set1_pd(numerator[k]));
            b[v] = f._mm512_add_pd(f._mm512_mul_pd(b[v], r[v]), f._mm512_set1_pd(denominator[k]));
        }
    }
    for v in 0..V {
        a[v] = f._mm512_div_pd(a[v], b[v]);
    }
    a
}

/// Computes the quantiles of probabilities outside of the centre.
#[inline(always)]
fn tails<const V: usize>(simd: V4, numbers: &mut [f64]) {
    let f = simd.avx512f;
    let half = f._mm512_set1_pd(0.5);
    let mut signs = [0u8; V];
    let mut radii = [half; V];
    let mut far = 0;
    for u in 0..V {
        let p = load(&numbers[LANES * u..]);
        // The sign is that of p - 1/2, which is exact near one half.
        signs[u] = f._mm512_cmp_pd_mask::<_CMP_LT_OQ>(p, half);
        let tail = f._mm512_mask_mov_pd(f._mm512_sub_pd(f._mm512_set1_pd(1.0), p), signs[u], p);
        radii[u] = f._mm512_sqrt_pd(f._mm512_sub_pd(f._mm512_set1_pd(-0.0), logarithm(simd, tail)));
        far |= f._mm512_cmp_pd_mask::<_CMP_GT_OQ>(radii[u], f._mm512_set1_pd(FAR));
    }
    if far != 0 {
        numbers.iter_mut().for_each(|number| *number = normal_quantile(*number));
        return;
    }
    radii.iter_mut().for_each(|radius| *radius = f._mm512_sub_pd(*radius, f._mm512_set1_pd(SHOULDER)));
    let magnitudes = ratios(simd, radii, &C, &D);
    for u in 0..V {
        let magnitude = magnitudes[u];
        let signed = f._mm512_mask_sub_pd(magnitude, signs[u], f._mm512_set1_pd(-0.0), magnitude);
        store(&mut numbers[LANES * u..], signed);
    }
}

/// Computes the logarithm as `normals::logarithm` does.
#[inline(always)]
fn logarithm(simd: V4, x: __m512d) -> __m512d {
    let f = simd.avx512f;
    // x = 2^k (1 + f) with 1 + f in [sqrt(2)/2, sqrt(2)].
    let high = f._mm512_add_epi64(pulp::cast(x), f._mm512_set1_epi64((0x3ff0_0000 - 0x3fe6_a09e) << 32));
    let exponent = f._mm512_sub_epi64(f._mm512_srli_epi64::<52>(high), f._mm512_set1_epi64(0x3ff));
    let k = simd.avx512dq._mm512_cvtepi64_pd(exponent);
    let fraction = f._mm512_and_si512(high, f._mm512_set1_epi64(0x000f_ffff_ffff_ffff));
    let fraction = f._mm512_add_epi64(fraction, f._mm512_set1_epi64(0x3fe6_a09e << 32));
    let g = f._mm512_sub_pd(pulp::cast(fraction), f._mm512_set1_pd(1.0));
    let half_square = f._mm512_mul_pd(f._mm512_mul_pd(f._mm512_set1_pd(0.5), g), g);
    let s = f._mm512_div_pd(g, f._mm512_add_pd(f._mm512_set1_pd(2.0), g));
    let z = f._mm512_mul_pd(s, s);
    let w = f._mm512_mul_pd(z, z);
    let mut even = f._mm512_set1_pd(LG[5]);
    for k in [3, 1] {
        even = f._mm512_add_pd(f._mm512_set1_pd(LG[k]), f._mm512_mul_pd(w, even));
    }
    let mut odd = f._mm512_set1_pd(LG[6]);
    for k in [4, 2, 0] {
        odd = f._mm512_add_pd(f._mm512_set1_pd(LG[k]), f._mm512_mul_pd(w, odd));
    }
    let series = f._mm512_add_pd(f._mm512_mul_pd(z, odd), f._mm512_mul_pd(w, even));
    let sum = f._mm512_mul_pd(s, f._mm512_add_pd(half_square, series));
    let sum = f._mm512_add_pd(sum, f._mm512_mul_pd(k, f._mm512_set1_pd(LN2_LOW)));
    let sum = f._mm512_add_pd(f._mm512_sub_pd(sum, half_square), g);
    f._mm512_add_pd(sum, f._mm512_mul_pd(k, f._mm512_set1_pd(LN2_HIGH)))
}
