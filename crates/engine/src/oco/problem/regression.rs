//! Implements linear and logistic regression on unit-sphere features [Han2022, section 5].
//!
//! The sphere is that of the dual norm: `x` is a standard normal vector scaled to `|x|_q = 1`. The truth is `ones/|ones|_p`, or
//! (in the paper's words) a normal vector scaled to `|truth|_p = 1`, redrawn for every trial. The responses are `<x, truth>`
//! plus normal noise, or 0 and 1 with logistic odds.

use super::{Evaluation, Problem, ProblemContext, ProblemPlan, Score, Trial};
use crate::oco::learner::Setting;
use crate::oco::loss::{Loss, logistic::sigmoid, parse_loss};
use crate::oco::set::{ConstraintSet, SetPlan, parse_set};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::memory::allow;
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, ROWS_TOGETHER, add_outer_products, dot};
use privateer_numerics::rng::{self, Purpose, Streams};
use std::array;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Response {
    Linear,
    Logistic,
}

struct RegressionPlan {
    response: Response,
    dimension: usize,
    set: Option<Box<SetPlan>>,
    loss: Option<Arc<dyn Loss>>,
    random_truth: bool,
    truth_norm: f64,
    noise: f64,
    test_samples: usize,
}

pub(super) fn parse(args: &Args<'_>, response: Response, loss: &'static str) -> Box<ProblemPlan> {
    let plan = Arc::new(RegressionPlan {
        response,
        dimension: args.count("dimension", "features").between(1, 100_000).required() as usize,
        set: parse_set(args),
        loss: parse_loss(args, loss),
        random_truth: args.choice(
            "truth",
            "the true parameter: all entries equal, or normal entries drawn for every trial",
            &[("ones", false), ("normal", true)],
            "ones",
        ),
        truth_norm: args.number("truth_norm", "norm of the true parameter, in the set's norm").above(0.0).at_most(1e6).or(1.0),
        noise: if response == Response::Linear {
            args.number("noise", "standard deviation of the responses' normal noise").at_least(0.0).at_most(1e6).or(0.05)
        } else {
            0.0
        },
        test_samples: args
            .count("test_samples", "samples that risk is measured on; validation has as many of its own")
            .between(1, 10_000_000)
            .or(10_000) as usize,
    });
    Box::new(move |context| plan.build(context))
}

/// Draws a normal vector scaled to the unit sphere of a norm; zero stays zero.
fn on_the_sphere(norm: Norm, stream: &mut rng::Stream, out: &mut [f64]) {
    stream.normals(out);
    scale_to_the_sphere(norm, out);
}

fn scale_to_the_sphere(norm: Norm, x: &mut [f64]) {
    divide(x, norm.size(x));
}

/// Divides a vector by a number above 0; any other leaves it unchanged.
fn divide(x: &mut [f64], size: f64) {
    if 0.0 < size {
        x.iter_mut().for_each(|x| *x /= size);
    }
}

impl RegressionPlan {
    fn build(self: &Arc<Self>, context: &ProblemContext<'_>) -> Result<Problem, Error> {
        let (Some(set), Some(loss)) = (&self.set, &self.loss) else {
            return Diagnostic::new("the problem has no set or no loss").refuse();
        };
        let (d, n) = (self.dimension, self.test_samples);
        let set = set(d)?;
        let by_moments = self.response == Response::Linear && loss.is_square() && d <= n;
        let needs = 8.0 * if by_moments { (d * d) as f64 } else { (d as f64 + 1.0) * n as f64 };
        let what = format!("the data to judge on, {n} samples of {d} features");
        allow(context.memory_bytes, &what, needs, "lower `test_samples` or `dimension`")?;
        let evaluation = Arc::new(self.evaluation(set.as_ref(), loss, by_moments, &mut context.streams.shared(Purpose::Domain)));
        let setting = Setting { set, loss: Arc::clone(loss), rounds: context.rounds, sample_radius: 1.0 };
        let facts = self.facts(&setting);
        let (plan, set, streams) = (Arc::clone(self), Arc::clone(&setting.set), context.streams.clone());
        Ok(Problem { setting, facts, trial: Box::new(move |trial| plan.trial(set.as_ref(), &evaluation, &streams, trial)) })
    }

    fn facts(&self, setting: &Setting) -> Facts {
        let truth = if self.random_truth { "normal entries, drawn for every trial" } else { "all entries equal" };
        [
            ("dimension", self.dimension.into()),
            ("set", setting.set.words().into()),
            ("loss", setting.loss.words().into()),
            ("truth", truth.into()),
            ("norm of the truth", self.truth_norm.into()),
            ("noise", self.noise.into()),
            ("samples that risk is measured on", self.test_samples.into()),
        ]
        .into()
    }

    fn evaluation(
        &self,
        set: &dyn ConstraintSet,
        loss: &Arc<dyn Loss>,
        by_moments: bool,
        stream: &mut rng::Stream,
    ) -> Evaluation {
        let (d, n, norm) = (self.dimension, self.test_samples, set.norm().dual());
        let mut draw = |row: &mut [f64]| {
            on_the_sphere(norm, stream, row);
            match self.response {
                Response::Linear => self.noise * stream.normal(),
                Response::Logistic => stream.uniform(),
            }
        };
        if by_moments {
            let (mut second, mut cross, mut noise) = (vec![0.0; d * d], vec![0.0; d], 0.0);
            let mut rows = vec![0.0; d * TOGETHER.min(n)];
            for start in (0..n).step_by(TOGETHER) {
                let rows = &mut rows[..d * TOGETHER.min(n - start)];
                for row in rows.chunks_exact_mut(d) {
                    let e = draw(row);
                    noise += e * e;
                    cross.iter_mut().zip(&*row).for_each(|(cross, x)| *cross += e * x);
                }
                add_outer_products(rows, d, &mut second);
            }
            for i in 0..d {
                for j in 0..i {
                    second[i * d + j] = second[j * d + i];
                }
            }
            let count = n as f64;
            second.iter_mut().chain(&mut cross).for_each(|sum| *sum /= count);
            return Evaluation::Moments { second, cross, noise: noise / count };
        }
        let (mut row, mut x, mut e) = (vec![0.0; d], Vec::with_capacity(n * d), Vec::with_capacity(n));
        for _ in 0..n {
            e.push(draw(&mut row));
            x.extend(&row);
        }
        let law = match self.response {
            Response::Linear => |z: f64, e: f64| z + e,
            Response::Logistic => |z: f64, e: f64| if e < sigmoid(z) { 1.0 } else { 0.0 },
        };
        Evaluation::Rows { x, e, law, loss: loss.unclipped().unwrap_or_else(|| Arc::clone(loss)) }
    }

    fn truth(&self, norm: Norm, streams: &Streams, trial: u64) -> Vec<f64> {
        let mut truth = vec![1.0; self.dimension];
        if self.random_truth {
            streams.of(trial, Purpose::Function).normals(&mut truth);
        }
        let size = norm.size(&truth);
        truth.iter_mut().for_each(|x| *x *= self.truth_norm / size);
        truth
    }

    fn trial(&self, set: &dyn ConstraintSet, evaluation: &Arc<Evaluation>, streams: &Streams, trial: u64) -> Trial {
        let truth = Arc::new(self.truth(set.norm(), streams, trial));
        let score = Score::new(Arc::clone(evaluation), Arc::clone(&truth));
        let mut samples = RegressionSamples {
            ahead: Vec::new(),
            n_used: 0,
            norm: set.norm().dual(),
            response: self.response,
            noise: self.noise,
            stream: streams.of(trial, Purpose::Noise),
            truth,
        };
        Trial::new(self.dimension, score, move |x| samples.draw(x))
    }
}

/// Number of samples whose products are added to the moments together.
const TOGETHER: usize = 128;

struct RegressionSamples {
    truth: Arc<Vec<f64>>,
    norm: Norm,
    response: Response,
    noise: f64,
    stream: rng::Stream,
    /// Samples of a linear problem, row-major: features, and the response's normal. Many together cost less.
    ahead: Vec<f64>,
    n_used: usize,
}

/// Number of normals that samples are drawn from together.
const AHEAD: usize = 512;

impl RegressionSamples {
    /// Draws the next features of a linear problem; returns the normal of the response.
    fn draw_linear(&mut self, x: &mut [f64]) -> f64 {
        let width = x.len() + 1;
        if self.n_used == self.ahead.len() {
            self.ahead.resize((AHEAD / width).max(1) * width, 0.0);
            self.stream.normals(&mut self.ahead);
            for rows in self.ahead.chunks_mut(ROWS_TOGETHER * width) {
                if rows.len() == ROWS_TOGETHER * width {
                    let sizes = self.norm.sizes::<ROWS_TOGETHER>(array::from_fn(|r| &rows[r * width..][..width - 1]));
                    for (row, size) in rows.chunks_exact_mut(width).zip(sizes) {
                        divide(&mut row[..width - 1], size);
                    }
                } else {
                    rows.chunks_exact_mut(width).for_each(|row| scale_to_the_sphere(self.norm, &mut row[..width - 1]));
                }
            }
            self.n_used = 0;
        }
        let row = &self.ahead[self.n_used..self.n_used + width];
        self.n_used += width;
        x.copy_from_slice(&row[..width - 1]);
        row[width - 1]
    }

    /// Writes the features of the next sample and returns its response.
    fn draw(&mut self, x: &mut [f64]) -> f64 {
        match self.response {
            Response::Linear => {
                let error = self.draw_linear(x);
                dot(x, &self.truth) + self.noise * error
            }
            Response::Logistic => {
                on_the_sphere(self.norm, &mut self.stream, x);
                f64::from(u8::from(self.stream.uniform() < sigmoid(dot(x, &self.truth))))
            }
        }
    }
}
