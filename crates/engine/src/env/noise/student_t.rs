//! Implements Student's t noise: the heavy-tailed payoffs of [Chowdhury2019, experiments].

use super::Noise;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::sync::Arc;

#[derive(Debug)]
struct StudentT {
    dof: f64,
    scale: f64,
}

pub(super) fn parse(args: &Args<'_>) -> Arc<dyn Noise> {
    // From half a degree of freedom on, the largest draw, about 2^(53/dof), is far below the f64 overflow.
    let dof = args.number("dof", "degrees of freedom; moments below this order are finite").at_least(0.5).at_most(1e6).required();
    let scale = args.number("scale", "factor of the standard draw").above(0.0).or(1.0);
    Arc::new(StudentT { dof, scale })
}

impl Noise for StudentT {
    fn reward(&self, mean: f64, _point: usize, stream: &mut Stream) -> f64 {
        mean + self.scale * stream.student_t(self.dof)
    }

    fn variance(&self) -> Option<f64> {
        // scale² dof/(dof - 2), infinite up to two degrees of freedom.
        (2.0 < self.dof).then(|| self.scale * self.scale * self.dof / (self.dof - 2.0))
    }
}
