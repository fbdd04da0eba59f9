//! Speed of online convex learners: whole runs on one thread, samples drawn on the way, risk never computed.

use crate::oco::learner::{GradientRequest, LearnerPlan, LearnerStreams, dp_pofw, dp_tofw, noisy_sfw, noisy_sgd, ofw};
use crate::oco::problem::{Problem, ProblemContext, regression};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value};
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::{Budget, Calibration, Request};
use std::sync::Arc;
use std::time::Instant;

/// One measured run.
#[derive(Debug, Clone)]
pub struct Timed {
    /// Learner, noise and calibration.
    pub name: &'static str,
    /// Exponent of the set.
    pub p: f64,
    /// Dimension.
    pub dimension: usize,
    /// Samples.
    pub rounds: u64,
    /// Seconds of the fastest run.
    pub seconds: f64,
}

impl Timed {
    /// One JSON line.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "workload": "oco", "name": self.name, "p": self.p.to_string(), "dimension": self.dimension, "rounds": self.rounds,
            "seconds": self.seconds, "ns_per_round": 1e9 * self.seconds / self.rounds as f64,
        })
    }

    /// One line of the table.
    #[must_use]
    pub fn line(&self) -> String {
        let ns = 1e9 * self.seconds / self.rounds as f64;
        let Self { name, p, dimension, rounds, seconds } = self;
        format!("{name:<34} p = {p:<4} d = {dimension:<5} T = {rounds:<6} {:>10.2} ms {ns:>10.0} ns a round", 1e3 * seconds)
    }
}

/// Name, learner, request, p, d, T.
type LearnerJob = (&'static str, fn(&Args<'_>) -> Box<dyn LearnerPlan>, &'static str, Calibration, f64, usize, u64);

const JOBS: [LearnerJob; 13] = [
    ("ofw, no noise", ofw::parse, "none", Calibration::Tight, 1.5, 20, 10_000),
    ("dp-tofw, gaussian, blt", dp_tofw::parse, "auto", Calibration::Tight, 1.5, 20, 10_000),
    ("dp-tofw, gaussian, blt", dp_tofw::parse, "auto", Calibration::Tight, 1.5, 20, 1_000),
    ("dp-tofw, gaussian, blt", dp_tofw::parse, "auto", Calibration::Tight, 1.5, 20, 100_000),
    ("dp-tofw, gaussian, blt", dp_tofw::parse, "auto", Calibration::Tight, f64::INFINITY, 20, 10_000),
    ("dp-tofw, gaussian, blt", dp_tofw::parse, "auto", Calibration::Tight, 1.3, 20, 10_000),
    ("dp-tofw, gaussian, blt", dp_tofw::parse, "auto", Calibration::Tight, 1.5, 1000, 10_000),
    ("dp-tofw, generalized-gaussian, tree", dp_tofw::parse, "auto", Calibration::Corrected, 1.5, 20, 10_000),
    ("dp-pofw, gumbel", dp_pofw::parse, "auto", Calibration::Tight, 1.0, 20, 10_000),
    ("dp-pofw, gumbel", dp_pofw::parse, "auto", Calibration::Tight, 1.0, 1000, 10_000),
    ("dp-pofw, laplace", dp_pofw::parse, "auto", Calibration::Corrected, 1.0, 20, 10_000),
    ("noisy-sfw, gaussian", noisy_sfw::parse, "auto", Calibration::Tight, 1.5, 20, 10_000),
    ("noisy-sgd (T² steps)", noisy_sgd::parse, "auto", Calibration::Tight, f64::INFINITY, 20, 1_000),
];

fn problem(p: f64, dimension: usize, rounds: u64) -> Result<Arc<dyn Problem>, Error> {
    let sink = Sink::new(privateer_config::error::Sources::default());
    let number = |key: &str, n: usize| Entry { key: key.to_owned(), key_span: None, node: Node::bare(Value::Integer(n as i64)) };
    let entry = |key: &str, value: Value| Entry { key: key.to_owned(), key_span: None, node: Node::bare(value) };
    let choice = |kind: &str, key: &str, number: f64| {
        let entries = vec![entry("kind", Value::Text(kind.to_owned())), entry(key, Value::Float(number))];
        Value::Table(Table { entries, span: None })
    };
    let mut set = choice("lp-ball", "p", p);
    if let Value::Table(set) = &mut set {
        set.entries.push(entry("radius", Value::Float(2.0)));
    }
    let entries = vec![
        number("dimension", dimension),
        number("test_samples", 1),
        entry("set", set),
        entry("loss", choice("squared", "clip", 1.0)),
    ];
    let table = Table { entries, span: None };
    let plan = regression::parse_linear(&Args::new(&table, "problem", &sink));
    let streams = Streams::new(1, "bench");
    plan.build(&ProblemContext { streams: &streams, rounds, memory_bytes: 1e12 })
}

/// Runs every job `repeat` times; hands over each result as it comes.
///
/// # Errors
/// A job that cannot be prepared, which is a fault of the program.
pub fn measure_oco(repeat: usize, mut done: impl FnMut(Timed)) -> Result<(), Error> {
    for (name, parse, mechanism, calibration, p, dimension, rounds) in JOBS {
        let sink = Sink::new(privateer_config::error::Sources::default());
        let learner = parse(&Args::dry(&sink));
        let budget = Budget::new(Some(1.0), None).map_err(|refusal| Error::input(Diagnostic::new(refusal.message)))?;
        let spec = Request { mechanism, calibration, budget, clip: None };
        let request = GradientRequest { spec, ..GradientRequest::none() };
        let problem = problem(p, dimension, rounds)?;
        let prepared = learner
            .prepare(problem.setting(), &request, 1.0)
            .map_err(|refusal| Error::input(Diagnostic::new(refusal.message)))?;
        let streams = Streams::new(1, "bench");
        let mut best = f64::INFINITY;
        for run in 0..repeat as u64 {
            let started = Instant::now();
            let mut trial = problem.trial(run);
            let mut learner = (prepared.make)();
            let of = |purpose| streams.of(run, purpose);
            let mut streams = LearnerStreams::new(of(Purpose::Mechanism(name)), of(Purpose::Policy(name)));
            for _ in 0..rounds {
                learner.observe(trial.stream.next(), &mut streams)?;
            }
            std::hint::black_box(learner.iterate());
            best = best.min(started.elapsed().as_secs_f64());
        }
        done(Timed { name, p, dimension, rounds, seconds: best });
    }
    Ok(())
}
