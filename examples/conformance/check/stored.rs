//! What the files of convex optimization share: exponents as text, stored noise, samples row by row.

use super::read::{matrix, number, numbers};
use privateer::oco::learner::LearnerStreams;
use privateer::oco::loss::{LinearModel, squared::Squared};
use privateer_numerics::linalg::Norm;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::Raw;
use privateer_privacy::gradients::{Sample, VectorNoise};
use serde_json::Value;
use std::sync::Arc;

/// The norm of `p`, a number, its text, or "inf".
pub fn norm(case: &Value, name: &str) -> Result<Norm, String> {
    let exponent = match &case[name] {
        Value::String(text) if text == "inf" => Some(f64::INFINITY),
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    exponent.and_then(Norm::of).ok_or_else(|| format!("`{name}` is no exponent"))
}

/// Draws that a file states, one after the other; zeros past the end.
#[derive(Debug)]
pub struct Stored {
    width: usize,
    draws: Vec<f64>,
    at: usize,
}

impl Stored {
    pub fn new(width: usize, draws: Vec<f64>) -> Self {
        Self { width, draws, at: 0 }
    }
}

impl VectorNoise for Stored {
    fn draw(&mut self, _stream: &mut Stream, out: &mut [f64]) {
        match self.draws.get(self.at..self.at + self.width) {
            Some(draw) if draw.len() == out.len() => out.copy_from_slice(draw),
            _ => out.fill(0.0),
        }
        self.at += self.width;
    }
}

/// `X` and `y`.
pub struct Samples {
    pub dimension: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Samples {
    pub fn read(file: &Value) -> Result<Self, String> {
        let (dimension, x) = matrix(file, "X")?;
        let y = numbers(file, "y")?;
        if y.len() * dimension != x.len() {
            return Err("`X` and `y` are not equally long".to_owned());
        }
        Ok(Self { dimension, x, y })
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    pub fn sealed(&self) -> impl Iterator<Item = Raw<Sample<'_>>> {
        self.x.chunks_exact(self.dimension).zip(&self.y).map(|(x, &y)| Raw::seal(Sample { x, y }))
    }
}

/// `(<x, theta> - y)²`, its slope clipped where the case says so.
pub fn gradient(case: &Value) -> Result<Arc<LinearModel>, String> {
    let clip = if case["clip"].is_null() { f64::INFINITY } else { number(case, "clip")? };
    Ok(Arc::new(LinearModel { loss: Arc::new(Squared { clip }) }))
}

/// Streams that nothing draws from.
pub fn streams() -> LearnerStreams {
    let streams = Streams::new(0, "conformance");
    LearnerStreams::new(streams.of(0, Purpose::Mechanism("stored")), streams.of(0, Purpose::Policy("stored")))
}
