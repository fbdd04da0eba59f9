//! Triangular solves with a lower triangle packed by rows: row `i` holds `i + 1` entries from `i (i + 1) / 2`.

use super::dot;

/// Solves `L x = b` in place, where `L` is as large as `b`.
pub fn solve_lower_packed(lower: &[f64], b: &mut [f64]) {
    for i in 0..b.len() {
        let start = i * (i + 1) / 2;
        let (done, rest) = b.split_at_mut(i);
        rest[0] = (rest[0] - dot(&lower[start..start + i], done)) / lower[start + i];
    }
}

/// Solves `L^T x = b` in place.
pub fn solve_lower_transposed_packed(lower: &[f64], b: &mut [f64]) {
    for i in (0..b.len()).rev() {
        let start = i * (i + 1) / 2;
        let (before, rest) = b.split_at_mut(i);
        let x = rest[0] / lower[start + i];
        rest[0] = x;
        for (entry, &l) in before.iter_mut().zip(&lower[start..start + i]) {
            *entry -= x * l;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_undo_products() {
        let lower = [2.0, -1.0, 3.0, 0.5, 0.25, 1.5];
        let rows = [vec![2.0], vec![-1.0, 3.0], vec![0.5, 0.25, 1.5]];
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> = rows.iter().map(|row| row.iter().zip(&x).map(|(l, x)| l * x).sum()).collect();
        solve_lower_packed(&lower, &mut b);
        assert!(b.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-14), "{b:?}");
        let mut b = vec![0.0; 3];
        for (i, row) in rows.iter().enumerate() {
            for (j, l) in row.iter().enumerate() {
                b[j] += l * x[i];
            }
        }
        solve_lower_transposed_packed(&lower, &mut b);
        assert!(b.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-14), "{b:?}");
    }
}
