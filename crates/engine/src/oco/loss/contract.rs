//! Defines the interface of losses.

use privateer_numerics::linalg::dot;
use privateer_privacy::gradients::{Gradient, Sample};
use std::fmt;
use std::sync::Arc;

/// Defines a convex loss of a prediction `z = <x, theta>` against a response y.
pub trait Loss: fmt::Debug + Send + Sync {
    fn value(&self, z: f64, y: f64) -> f64;

    /// Returns its derivative in z.
    fn slope(&self, z: f64, y: f64) -> f64;

    /// Returns the largest `|slope|` over all z and y; infinite if unbounded.
    ///
    /// With `|x| <= R` in the dual norm, the loss is Lipschitz in theta with `R` times this constant.
    fn lipschitz(&self) -> f64;

    /// Returns the largest change of the slope per unit of z.
    ///
    /// With `|x| <= R` in the dual norm, the loss is smooth in theta with `R²` times this constant.
    fn smoothness(&self) -> f64;

    /// Returns the loss without its own clip, if it has one; risk is measured with this loss.
    fn unclipped(&self) -> Option<Arc<dyn Loss>> {
        None
    }

    /// Returns whether it is the squared loss up to a clip: second moments then give its risk.
    fn is_square(&self) -> bool {
        false
    }

    fn words(&self) -> String;
}

/// Computes the gradient of a loss of linear predictions: `slope(<x, theta>, y) x`.
#[derive(Debug, Clone)]
pub struct LinearModel {
    pub loss: Arc<dyn Loss>,
}

impl Gradient for LinearModel {
    fn gradient(&self, theta: &[f64], sample: Sample<'_>, out: &mut [f64]) {
        let slope = self.loss.slope(dot(sample.x, theta), sample.y);
        out.iter_mut().zip(sample.x).for_each(|(out, x)| *out = slope * x);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{logistic::Logistic, smoothed_absolute::SmoothedAbsolute, squared::Squared};
    use super::*;

    fn all() -> Vec<Arc<dyn Loss>> {
        vec![
            Arc::new(Squared { clip: f64::INFINITY }),
            Arc::new(Squared { clip: 1.0 }),
            Arc::new(Squared { clip: 0.3 }),
            Arc::new(Logistic),
            Arc::new(SmoothedAbsolute { width: 0.2 }),
            Arc::new(SmoothedAbsolute { width: 3.0 }),
        ]
    }

    /// Slopes are derivatives, and the constants bound them.
    ///
    /// The constants are attained to 2 % in the range searched (the squared loss without a clip has no constant).
    #[test]
    fn constants_by_finite_differences() {
        for loss in all() {
            let (step, mut steepest, mut bent) = (1e-5, 0.0_f64, 0.0_f64);
            for i in -4000..=4000 {
                for y in [0.0, 0.3, 1.0] {
                    let z = f64::from(i) * 5e-3;
                    let slope = loss.slope(z, y);
                    let by_values = (loss.value(z + step, y) - loss.value(z - step, y)) / (2.0 * step);
                    assert!(
                        (slope - by_values).abs() < 1e-4 * (1.0 + slope.abs()),
                        "{} {z} {y}: {slope} {by_values}",
                        loss.words()
                    );
                    let change = (loss.slope(z + step, y) - loss.slope(z - step, y)) / (2.0 * step);
                    assert!(-1e-9 <= change, "{} is not convex at {z}", loss.words());
                    (steepest, bent) = (steepest.max(slope.abs()), bent.max(change));
                }
            }
            let (lipschitz, smoothness) = (loss.lipschitz(), loss.smoothness());
            assert!(steepest <= lipschitz && bent <= smoothness * (1.0 + 1e-6), "{}: {steepest} {bent}", loss.words());
            assert!(0.99 * smoothness < bent && (lipschitz.is_infinite() || 0.98 * lipschitz < steepest), "{}", loss.words());
        }
    }

    /// The same search detects a constant that is planted too small.
    #[test]
    fn a_constant_too_small_is_caught() {
        let loss = Squared { clip: 1.0 };
        let bent = (loss.slope(1e-5, 0.0) - loss.slope(-1e-5, 0.0)) / 2e-5;
        assert!(1.0 < bent, "smoothness 1, as the paper states it, is too small");
    }

    /// Checks |grad - grad'|_q <= beta |theta - theta'|_p and |grad|_q <= L for |x|_q <= 1.
    #[test]
    fn constants_hold_in_every_geometry() {
        use privateer_numerics::linalg::Norm;
        use privateer_numerics::rng::{Purpose, Streams};
        let mut stream = Streams::new(3, "losses").of(0, Purpose::Noise);
        for loss in all() {
            let model = LinearModel { loss: Arc::clone(&loss) };
            for p in [1.0, 1.2, 2.0, 5.0, f64::INFINITY] {
                let norm = Norm::of(p).expect("a norm");
                for d in [1_usize, 2, 7] {
                    let mut draw = || (0..d).map(|_| stream.normal()).collect::<Vec<f64>>();
                    let (mut x, a, b) = (draw(), draw(), draw());
                    norm.dual().clip(&mut x, 1.0);
                    let (mut at_a, mut at_b) = (vec![0.0; d], vec![0.0; d]);
                    let sample = Sample { x: &x, y: 0.4 };
                    model.gradient(&a, sample, &mut at_a);
                    model.gradient(&b, sample, &mut at_b);
                    let gap: Vec<f64> = at_a.iter().zip(&at_b).map(|(a, b)| a - b).collect();
                    let moved: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
                    let most = loss.smoothness() * norm.size(&moved);
                    assert!(norm.dual().size(&gap) <= most * (1.0 + 1e-9), "{} p = {p}", loss.words());
                    assert!(norm.dual().size(&at_a) <= loss.lipschitz() * (1.0 + 1e-9), "{} p = {p}", loss.words());
                }
            }
        }
    }
}
