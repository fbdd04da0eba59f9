//! Updates of a Cholesky factor.

/// Replaces the lower factor `l` of `A` by that of `A + x x^T`, in O(n²); `x` is overwritten.
///
/// `l` is `n x n` row-major with `n = x.len()`. Plane rotations act on one column at a time [Gill, Golub, Murray &
/// Saunders 1974, Mathematics of Computation 28, method C1]. The update cannot fail for a factor with a positive diagonal
/// and finite entries.
pub fn rank_one_update(l: &mut [f64], x: &mut [f64]) {
    let n = x.len();
    debug_assert_eq!(l.len(), n * n);
    for k in 0..n {
        let pivot = l[k * n + k];
        // The rotation that maps (pivot, x_k) to (r, 0).
        let r = libm::hypot(pivot, x[k]);
        let (cosine, sine) = (pivot / r, x[k] / r);
        l[k * n + k] = r;
        for i in k + 1..n {
            let entry = l[i * n + k];
            l[i * n + k] = cosine * entry + sine * x[i];
            x[i] = cosine * x[i] - sine * entry;
        }
        x[k] = 0.0;
    }
}
