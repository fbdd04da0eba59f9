//! Implements DP-POFW: Frank-Wolfe on privately chosen vertices [Han2022, algorithm 2].
//!
//! It is for p = 1, and for every set whose vertices are listed.

use super::{FrankWolfe, GradientRequest, Learner, LearnerStreams, PreparedLearner, Setting, each, step_size};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_privacy::gradients::{Choice, Sample, VertexChoice};
use privateer_privacy::{Protects, Raw, Refusal, automatic};
use std::sync::Arc;

pub(super) fn prepare(setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let Some(vertices) = setting.set.vertices() else {
        let message = format!("`dp-pofw` chooses among vertices, and those of the {} are not listed", setting.set.words());
        return Err(
            Refusal::new("kind", message, "an l_1 ball (`p = 1`), a simplex or a polytope").hint("`dp-tofw` works on every set")
        );
    };
    let terms = request.terms(setting)?;
    let gumbel = match automatic(request.spec.mechanism, Protects::Choices, request.spec.calibration) {
        "gumbel" => true,
        "laplace" | "none" => false,
        other => {
            let message = format!("`{other}` is noise on vectors, and this learner releases choices");
            return Err(Refusal::new("mechanism", message, "`auto`, `laplace`, `gumbel` or `none`"));
        }
    };
    let priced = terms.choice_noise(gumbel, learning_rate, true)?;
    let (claim, law) = request.claim(&terms, priced.noise.name(), priced, false, &[]);
    let facts = Facts::from([("learning rate", learning_rate.into()), ("vertices", vertices.count().into())]);
    let (set, gradient) = (Arc::clone(&setting.set), request.gradient(setting));
    let (clip, start) = (terms.bounds(learning_rate), terms.choice_start());
    let make = move || {
        let choice = Choice::from(law);
        let (gradient, vertices) = (Arc::clone(&gradient), Arc::clone(&vertices));
        let privatizer = VertexChoice::new(gradient, set.dimension(), start, clip, vertices, choice);
        Box::new(Pofw::new(privatizer, Arc::clone(&set), learning_rate)) as Box<dyn Learner>
    };
    Ok(PreparedLearner { make: each(make), claim, facts })
}

#[derive(Debug)]
pub struct Pofw {
    privatizer: VertexChoice,
    pub server: FrankWolfe,
    learning_rate: f64,
    round: u64,
}

impl Pofw {
    pub fn new(privatizer: VertexChoice, set: Arc<dyn ConstraintSet>, learning_rate: f64) -> Self {
        Self { privatizer, server: FrankWolfe::new(set, 1), learning_rate, round: 0 }
    }
}

impl Learner for Pofw {
    fn observe(&mut self, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams) -> Result<(), Error> {
        let vertex = self.privatizer.release(self.server.query(), sample, &mut streams.mechanism);
        self.round += 1;
        if streams.transcript.is_some() {
            let mut chosen = vec![0.0; self.server.iterate().len()];
            self.server.set.vertex(*vertex.value(), &mut chosen);
            streams.heard(&chosen);
        }
        self.server.follow_vertex(*vertex.value(), step_size(self.learning_rate, self.round));
        Ok(())
    }

    fn iterate(&self) -> &[f64] {
        self.server.iterate()
    }
}
