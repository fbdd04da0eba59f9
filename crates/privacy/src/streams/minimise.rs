//! Finds a least value of a smooth function of a few numbers.

/// Returns where the function is least, by quasi-Newton steps from `at`; its value may be infinite elsewhere.
pub(super) fn minimise(mut at: Vec<f64>, value: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let n = at.len();
    let gradient = |at: &[f64]| -> Vec<f64> {
        let mut moved = at.to_vec();
        (0..n)
            .map(|i| {
                let step = 1e-5;
                moved[i] = at[i] + step;
                let above = value(&moved);
                moved[i] = at[i] - step;
                let below = value(&moved);
                moved[i] = at[i];
                (above - below) / (2.0 * step)
            })
            .collect()
    };
    let (mut best, mut slope) = (value(&at), gradient(&at));
    let mut inverse = identity(n);
    for _ in 0..300 {
        let mut direction: Vec<f64> = inverse.iter().map(|row| -dot(row, &slope)).collect();
        if 0.0 <= dot(&direction, &slope) {
            inverse = identity(n);
            direction = slope.iter().map(|s| -s).collect();
        }
        let longest = direction.iter().fold(0.0_f64, |longest, d| longest.max(d.abs()));
        let mut length = if longest < 1.0 { 1.0 } else { 1.0 / longest };
        let fall = dot(&direction, &slope);
        let found = (0..40).find_map(|_| {
            let next: Vec<f64> = at.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            let reached = value(&next);
            let enough = reached <= best + 1e-4 * length * fall;
            length *= 0.5;
            enough.then_some((next, reached))
        });
        let Some((next, reached)) = found else { break };
        let next_slope = gradient(&next);
        let step: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
        let gained = best - reached;
        (at, best, slope) = (next, reached, next_slope);
        update(&mut inverse, &step, &change);
        if gained < 1e-10 {
            break;
        }
    }
    at
}

fn identity(n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Applies the BFGS update to an inverse Hessian.
fn update(inverse: &mut [Vec<f64>], step: &[f64], change: &[f64]) {
    let curvature = dot(step, change);
    if curvature <= 1e-14 {
        return;
    }
    let turned: Vec<f64> = inverse.iter().map(|row| dot(row, change)).collect();
    let scale = (1.0 + dot(change, &turned) / curvature) / curvature;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry += scale * step[i] * step[j] - (turned[i] * step[j] + step[i] * turned[j]) / curvature;
        }
    }
}
