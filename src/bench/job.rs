//! What is measured: workload, sizes, numbers of the model; and the flags that change them.

use privateer_config::error::{Diagnostic, Error};
use privateer_gp::special::MOST_NODES;
use std::str::FromStr;

/// Which of the two jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Rank-one updates.
    Incremental,
    /// A new precision matrix every round.
    FullRank,
}

impl Workload {
    /// Both, in the order of the output.
    pub const ALL: [Self; 2] = [Self::Incremental, Self::FullRank];

    /// As it is written on the command line and in the output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Incremental => "incremental",
            Self::FullRank => "fullrank",
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|workload| workload.name() == text);
        known.ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// A default size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// 1024 points, 64 features, 32 trials, 500 rounds.
    Small,
    /// 10 000 points, 144 features, 32 trials, 100 rounds.
    Large,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "small" => Ok(Self::Small),
            "large" => Ok(Self::Large),
            _ => Err("expected small or large".to_owned()),
        }
    }
}

/// One job, without its arrays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Which workload.
    pub workload: Workload,
    /// `N`.
    pub points: usize,
    /// `m`.
    pub features: usize,
    /// `B`.
    pub trials: usize,
    /// `T`.
    pub rounds: usize,
    /// Seed of own instances.
    pub seed: u64,
    /// Length-scale of the kernel that the features stand for.
    pub lengthscale: f64,
    /// `lam`: what is added to the precision matrix.
    pub ridge: f64,
    /// `beta`: exploration factor of the first round.
    pub beta: f64,
    /// By how much that grows with the logarithm of the round.
    pub growth: f64,
    /// Standard deviation of the observation noise.
    pub noise: f64,
    /// Standard deviation of an off-diagonal entry of a tree node.
    pub node_std: f64,
}

impl Job {
    /// The standard job.
    #[must_use]
    pub fn standard(workload: Workload, size: Size) -> Self {
        let (points, features, rounds) = match size {
            Size::Small => (1024, 64, 500),
            Size::Large => (10_000, 144, 100),
        };
        Self {
            workload,
            points,
            features,
            trials: 32,
            rounds,
            seed: 0,
            lengthscale: 0.5,
            ridge: 0.01,
            beta: 2.0,
            growth: 0.0,
            noise: 0.1,
            node_std: 0.05,
        }
    }

    /// Nodes an axis of the quadrature: the root of the number of features.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.features.isqrt()
    }

    /// What multiplies the posterior standard deviation in round 1, 2, ….
    #[must_use]
    pub fn beta_of(&self, round: usize) -> f64 {
        self.beta + self.growth * libm::log(round as f64)
    }

    /// Checks every number.
    ///
    /// # Errors
    /// [`Error::Input`] with every mistake; [`Error::TooLarge`].
    pub fn check(&self) -> Result<(), Error> {
        let mut mistakes = Vec::new();
        let mut refuse = |flag: &str, value: String, expected: &str| {
            mistakes.push(Diagnostic::new(format!("`--{flag} {value}` cannot be run")).expected(expected));
        };
        for (flag, value) in [("points", self.points), ("trials", self.trials), ("rounds", self.rounds)] {
            if value == 0 || MOST < value {
                refuse(flag, value.to_string(), "a whole number from 1 to 1000000000");
            }
        }
        for (flag, value) in [("lengthscale", self.lengthscale), ("ridge", self.ridge)] {
            if !(SMALLEST..=LARGEST).contains(&value) {
                refuse(flag, value.to_string(), "a number from 1e-9 to 1e9");
            }
        }
        for (flag, value) in [("beta", self.beta), ("growth", self.growth), ("noise", self.noise), ("node-std", self.node_std)] {
            if !(0.0..=LARGEST).contains(&value) {
                refuse(flag, value.to_string(), "a number from 0 to 1e9");
            }
        }
        if !mistakes.is_empty() {
            return Err(Error::Input(mistakes));
        }
        let needs_bytes = self.needs_bytes();
        if MOST_BYTES < needs_bytes {
            return Err(Error::TooLarge {
                what: format!("{} trials over {} points with {} features", self.trials, self.points, self.features),
                needs_bytes,
                limit_bytes: MOST_BYTES,
                hint: "lower `--points`, `--features`, `--trials` or `--rounds`".to_owned(),
            });
        }
        Ok(())
    }

    /// Checks that the features are those of a quadrature rule.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn check_features(&self) -> Result<(), Error> {
        let nodes = self.nodes();
        if nodes * nodes == self.features && nodes.is_multiple_of(2) && (2..=MOST_NODES).contains(&nodes) {
            return Ok(());
        }
        let most = MOST_NODES * MOST_NODES;
        Err(Error::input(
            Diagnostic::new(format!("`--features {}` is not the square of an even number", self.features))
                .expected(format!("4, 16, 36, 64, 100, 144, … up to {most}"))
                .hint("the features are a square grid of quadrature nodes, half of it by symmetry"),
        ))
    }

    /// About what the arrays of all trials take: table twice, noise, actions, screens, states.
    fn needs_bytes(&self) -> f64 {
        // Whole factors are kept eight trials at a time, with the features of up to all observations where a level of the tree is new.
        let trials = match self.workload {
            Workload::Incremental => self.trials,
            Workload::FullRank => self.trials.next_multiple_of(8),
        };
        let [n, m, b, t] = [self.points, self.features, trials, self.rounds].map(|count| count as f64);
        let state = match self.workload {
            Workload::Incremental => 8.0 * m * m,
            Workload::FullRank => 8.0 * m * m * (3.5 + 0.5 * (t + 2.0).log2()) + 8.0 * m * t,
        };
        16.0 * n * m + 24.0 * t * b + b * (32.0 * n + state)
    }
}

/// Largest count: indices of points are 32 bits.
const MOST: usize = 1_000_000_000;
const SMALLEST: f64 = 1e-9;
const LARGEST: f64 = 1e9;
/// Largest job, in bytes.
pub(super) const MOST_BYTES: f64 = 32.0 * 1024.0 * 1024.0 * 1024.0;

/// What the command line changes in a standard job.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flags {
    /// `--points`
    pub points: Option<usize>,
    /// `--features`
    pub features: Option<usize>,
    /// `--trials`
    pub trials: Option<usize>,
    /// `--rounds`
    pub rounds: Option<usize>,
    /// `--seed`
    pub seed: Option<u64>,
    /// `--lengthscale`
    pub lengthscale: Option<f64>,
    /// `--ridge`
    pub ridge: Option<f64>,
    /// `--beta`
    pub beta: Option<f64>,
    /// `--growth`
    pub growth: Option<f64>,
    /// `--noise`
    pub noise: Option<f64>,
    /// `--node-std`
    pub node_std: Option<f64>,
}

impl Flags {
    /// Whether a size is given by hand.
    #[must_use]
    pub fn name_a_size(&self) -> bool {
        [self.points, self.features, self.trials, self.rounds].iter().any(Option::is_some)
    }

    /// The job with these changes, checked.
    ///
    /// # Errors
    /// As [`Job::check`] and [`Job::check_features`].
    pub fn applied(&self, job: Job) -> Result<Job, Error> {
        let job = self.changed(job);
        job.check()?;
        job.check_features()?;
        Ok(job)
    }

    /// The job with these changes.
    fn changed(&self, job: Job) -> Job {
        Job {
            workload: job.workload,
            points: self.points.unwrap_or(job.points),
            features: self.features.unwrap_or(job.features),
            trials: self.trials.unwrap_or(job.trials),
            rounds: self.rounds.unwrap_or(job.rounds),
            seed: self.seed.unwrap_or(job.seed),
            lengthscale: self.lengthscale.unwrap_or(job.lengthscale),
            ridge: self.ridge.unwrap_or(job.ridge),
            beta: self.beta.unwrap_or(job.beta),
            growth: self.growth.unwrap_or(job.growth),
            noise: self.noise.unwrap_or(job.noise),
            node_std: self.node_std.unwrap_or(job.node_std),
        }
    }

    /// The job of a stored instance with these changes: what its arrays hold cannot be changed, the model's numbers can.
    ///
    /// # Errors
    /// [`Error::Input`] for every flag that contradicts the arrays.
    pub fn applied_to_stored(&self, stored: Job) -> Result<Job, Error> {
        let mut mistakes = Vec::new();
        let mut compare = |flag: &str, given: Option<String>, found: String| {
            if let Some(given) = given.filter(|given| *given != found) {
                let message = format!("`--{flag} {given}` is not what the instance was made with");
                mistakes.push(Diagnostic::new(message).expected(format!("{found}, or leave the flag away")));
            }
        };
        let count = |value: Option<usize>| value.map(|value| value.to_string());
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        compare("points", count(self.points), stored.points.to_string());
        compare("features", count(self.features), stored.features.to_string());
        compare("trials", count(self.trials), stored.trials.to_string());
        compare("rounds", count(self.rounds), stored.rounds.to_string());
        compare("seed", self.seed.map(|seed| seed.to_string()), stored.seed.to_string());
        compare("lengthscale", number(self.lengthscale), stored.lengthscale.to_string());
        compare("noise", number(self.noise), stored.noise.to_string());
        if !mistakes.is_empty() {
            return Err(Error::Input(mistakes));
        }
        let job = self.changed(stored);
        job.check()?;
        Ok(job)
    }
}
