//! Registered policies on a stored problem: what the sequences and the betas have in common.

use privateer::policy::{KnownInputs, Policy, PolicyMaker, PolicyStreams, Problem, ReleasedFacts, Setting, SharedInputs};
use privateer::registry::{MECHANISMS, POLICIES, find};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value};
use privateer_gp::kernel::Kernel;
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::{Budget, Calibration, Query, Raw, Released, Request, RewardFacts, RewardMechanism, Signal};
use std::sync::Arc;

/// How the stored policies are configured.
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    /// B.
    pub bound: f64,
    /// R.
    pub noise_bound: f64,
    /// L, or 0 without a mechanism.
    pub laplace_scale: f64,
    /// v.
    pub moment: f64,
    /// lam.
    pub ridge: f64,
    /// delta of the confidence bound.
    pub failure_prob: f64,
    /// What multiplies the theorem's beta.
    pub scale: f64,
    /// T.
    pub rounds: u64,
    /// c.
    pub noise_moment: f64,
}

/// The formulas that a stored run follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulas {
    /// IGP-UCB.
    Improved,
    /// LDP-TGP-UCB: Laplace noise.
    LocalDp,
    /// TGP-UCB: a second moment and no more.
    HeavyTails,
    /// LDP-ATA-GP-UCB.
    AtaLocalDp,
    /// ATA-GP-UCB.
    AtaHeavyTails,
    /// ATA-GP-UCB on bounded noise, nothing stated.
    AtaBounded,
    /// LDP-MoMA-GP-UCB.
    MomaLocalDp,
    /// MoMA-GP-UCB.
    MomaHeavyTails,
}

impl Formulas {
    fn policy(self) -> &'static str {
        match self {
            Self::Improved => "igp-ucb",
            Self::LocalDp | Self::HeavyTails => "tgp-ucb",
            Self::AtaLocalDp | Self::AtaHeavyTails | Self::AtaBounded => "ata-gp-ucb",
            Self::MomaLocalDp | Self::MomaHeavyTails => "moma-gp-ucb",
        }
    }

    fn is_laplace(self) -> bool {
        matches!(self, Self::LocalDp | Self::AtaLocalDp | Self::MomaLocalDp)
    }

    fn is_heavy(self) -> bool {
        matches!(self, Self::HeavyTails | Self::AtaHeavyTails | Self::MomaHeavyTails)
    }
}

/// What policies over Nystrom features read besides.
#[derive(Debug, Clone, Default)]
pub struct Nystrom {
    /// Fixed dictionary; drawn every round where empty.
    pub dictionary: Vec<f64>,
    /// approx_eps.
    pub accuracy: f64,
    /// k.
    pub users: Option<u64>,
}

impl Constants {
    /// What a policy is told of the problem, such that the formulas follow.
    pub fn setting(&self, formulas: Formulas) -> Setting {
        let laplace = formulas.is_laplace();
        let bounded = !formulas.is_heavy();
        let facts = RewardFacts {
            bound: self.bound,
            noise_bound: bounded.then_some(self.noise_bound),
            range: None,
            noise_variance: None,
            rounds: self.rounds,
        };
        let released = ReleasedFacts {
            mechanism_variance: if laplace { 2.0 * self.laplace_scale * self.laplace_scale } else { 0.0 },
            laplace_scale: laplace.then_some(self.laplace_scale),
            mechanism_scale: (!laplace).then_some(0.0),
            ..ReleasedFacts::unchanged(bounded.then_some(self.bound + self.noise_bound))
        };
        Setting {
            facts,
            released,
            sums: None,
            noise_scale: bounded.then_some(self.noise_bound),
            train: None,
            released_inputs: None,
        }
    }

    /// The registered policy over these points.
    pub fn maker(
        &self,
        formulas: Formulas,
        kernel: Arc<dyn Kernel>,
        points: Points,
        nystrom: &Nystrom,
    ) -> Result<Box<dyn PolicyMaker>, String> {
        let name = formulas.policy();
        let mut keys = vec![
            ("initial", Value::Text("lowest-index".to_owned())),
            ("ridge", Value::Float(self.ridge)),
            ("failure_prob", Value::Float(self.failure_prob)),
            ("beta", Value::Table(table(vec![("kind", Value::Text("scaled".to_owned())), ("factor", Value::Float(self.scale))]))),
        ];
        match formulas {
            Formulas::HeavyTails | Formulas::AtaHeavyTails => keys.push(("moment", Value::Float(self.moment))),
            Formulas::MomaHeavyTails => keys.push(("noise_moment", Value::Float(self.noise_moment))),
            _ => {}
        }
        if ["ata-gp-ucb", "moma-gp-ucb"].contains(&name) {
            if !nystrom.dictionary.is_empty() {
                let points = nystrom.dictionary.iter().map(|&point| Node::bare(Value::Float(point))).collect();
                let resample = vec![("kind", Value::Text("fixed".to_owned())), ("points", Value::Array(points))];
                keys.push(("resample", Value::Table(table(resample))));
            }
            keys.push(("accuracy", Value::Float(nystrom.accuracy)));
        }
        if let Some(users) = nystrom.users {
            keys.push(("k", Value::Integer(users as i64)));
        }
        let table = table(keys);
        let sink = Sink::new(Sources::default());
        let args = Args::new(&table, "policy", &sink);
        let plan = (find(POLICIES, name).ok_or("the policy is not registered")?.build)(&args);
        args.finish();
        sink.into_result().map_err(said)?;
        let problem = Problem {
            inputs: KnownInputs::Shared(SharedInputs {
                gram: tabulated(KernelGram::new(Arc::clone(&kernel), points.clone())),
                points: Some(points),
                kernel: Some(kernel),
            }),
            rounds: self.rounds,
            streams: Streams::new(0, "conformance"),
            memory_bytes: 1e9,
            tables: Default::default(),
        };
        plan.prepare(&problem).map_err(said)
    }
}

/// A table of a spec.
pub fn table(keys: Vec<(&str, Value)>) -> Table {
    let entry = |(key, value): (&str, Value)| Entry { key: key.to_owned(), key_span: None, node: Node::bare(value) };
    Table { entries: keys.into_iter().map(entry).collect(), span: None }
}

/// An error as a line.
pub fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The streams of a policy that draws nothing.
pub fn unused_streams() -> PolicyStreams {
    PolicyStreams { start: stream(), own: stream() }
}

fn stream() -> Stream {
    Streams::new(0, "conformance").of(0, Purpose::Start)
}

/// The reward as it is, through the mechanism `none`.
pub fn released(reward: f64) -> Result<Released<Signal>, String> {
    Ok(mechanism("none", Calibration::Tight, None, 0.0, 0.0)?.privatizer().release(
        &Query::default(),
        Raw::seal(reward),
        &mut stream(),
    ))
}

/// A registered mechanism for rewards in +-(B + R).
pub fn mechanism(
    name: &str,
    calibration: Calibration,
    epsilon: Option<f64>,
    bound: f64,
    noise_bound: f64,
) -> Result<Arc<dyn RewardMechanism>, String> {
    let entry = MECHANISMS.iter().find(|entry| entry.name == name).ok_or("the mechanism is not registered")?;
    let facts = RewardFacts { bound, noise_bound: Some(noise_bound), range: None, noise_variance: None, rounds: 1 };
    let budget = Budget::new(epsilon, None).map_err(|refusal| refusal.to_string())?;
    (entry.build)(&Request { mechanism: entry.name, calibration, budget, clip: None }, &facts)
        .map_err(|refusal| refusal.to_string())
}

/// The truncation levels of a policy that keeps rewards sorted by `|reward| / level`, from its saved state.
pub fn levels(policy: &dyn Policy) -> Vec<f64> {
    let state = policy.save();
    let blocks = state["rewards"].as_array().into_iter().flatten().flat_map(|list| list.as_array().into_iter().flatten());
    let of = |block: &serde_json::Value, key: &str| -> Vec<f64> {
        block[key].as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
    };
    blocks
        .flat_map(|block| {
            of(block, "rewards").into_iter().zip(of(block, "keys")).map(|(reward, key)| reward.abs() / key).collect::<Vec<_>>()
        })
        .collect()
}

/// The sum of the rewards that a policy has admitted at a point, from its saved state.
pub fn admitted(policy: &dyn Policy, point: usize) -> f64 {
    let visits = policy.save()["posterior"]["visits"].take();
    let slot = visits["points"].as_array().into_iter().flatten().position(|p| p.as_u64() == Some(point as u64));
    slot.and_then(|slot| visits["sums"][slot].as_f64()).unwrap_or(0.0)
}
