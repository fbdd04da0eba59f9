//! Makes an algorithm from outside a policy like any other.

use super::contract::{EachTrial, Stage};
use super::group::failure;
use super::played::PlayedPolicy;
use super::{BatchPolicy, PolicyFailure, PolicyGroup, PolicyStart, SumsFeatures, TrialFacts, TrialPolicy};
use crate::policy::{FeaturesPlan, MeanNoise, Policy, PolicyMaker, PolicyPlan, Problem, Setting, parse_features};
use privateer_config::error::{Diagnostic, Error, guarded};
use privateer_config::facts::Facts;
use privateer_config::memory::allow;
use privateer_config::params::Args;
use privateer_gp::Plays;
use privateer_gp::features::exact::Exact;
use privateer_gp::posterior::Visits;
use privateer_privacy::Protection;
use privateer_privacy::sums::SumsNeed;
use std::sync::Arc;

type MakeBatch = Arc<dyn Fn(PolicyStart) -> Result<Box<dyn BatchPolicy>, PolicyFailure> + Send + Sync>;

/// Describes a policy from outside.
///
/// It receives released rewards and nothing else, so its ledger is that of the mechanism, by post-processing; the ledger says
/// that the algorithm is not this program's.
#[derive(Clone)]
pub struct OwnPolicy {
    make: MakeBatch,
    /// Whether the choices of a trial depend on the trials beside it.
    depends_on_block: bool,
    stage: Stage,
}

impl OwnPolicy {
    /// Describes an algorithm that runs one trial; `make` is called once for each.
    pub fn per_trial<P: TrialPolicy + 'static>(
        make: impl Fn(&PolicyStart, &TrialFacts) -> Result<P, PolicyFailure> + Send + Sync + 'static,
    ) -> Self {
        let each = move |start: PolicyStart| -> Result<EachTrial<P>, PolicyFailure> {
            let policies = start.trials.iter().map(|trial| make(&start, trial));
            Ok(EachTrial(policies.collect::<Result<Vec<P>, PolicyFailure>>()?))
        };
        Self::batched(each).independent()
    }

    /// Describes an algorithm that runs many trials at once; `make` is called once for each block of trials.
    ///
    /// Sums over arrays round differently for other sizes, so the choices of a trial may depend on how many run beside it. Such
    /// a policy always gets the trials of a whole block, and its cells record that their bits depend on the key `block`.
    /// [`OwnPolicy::independent`] promises more.
    pub fn batched<P: BatchPolicy + 'static>(
        make: impl Fn(PolicyStart) -> Result<P, PolicyFailure> + Send + Sync + 'static,
    ) -> Self {
        let boxed = move |start| -> Result<Box<dyn BatchPolicy>, PolicyFailure> { Ok(Box::new(make(start)?)) };
        Self { make: Arc::new(boxed), depends_on_block: true, stage: Stage::Rewards }
    }

    /// Promises that a trial's choices have the same bits whatever trials run beside it: any number of them may.
    ///
    /// `privateer::testing::policy_contract` tests the promise.
    #[must_use]
    pub fn independent(self) -> Self {
        Self { depends_on_block: false, ..self }
    }

    /// Asks for a trusted server or a shuffler that sums the rewards of a batch of users and releases their mean once.
    ///
    /// The algorithm states each batch by [`BatchPolicy::users`]; the spec's mechanism is one of batches, such as `batch-laplace`.
    ///
    /// * `least` — the least number of users of a batch, for which a shuffler is calibrated; `None`: the mechanism's own, which
    ///   [`TrialFacts::batches`] states
    #[must_use]
    pub fn in_batches(self, least: Option<u64>) -> Self {
        Self { stage: Stage::Batches(least.map(|least| least.max(1))), ..self }
    }

    /// Asks for a trusted server that releases noisy running sums of features and rewards, as for `jdp-gp-ucb` (joint privacy).
    ///
    /// The algorithm is told them by [`BatchPolicy::learn`] and never told a reward. [`PolicyStart::features`] has the features that
    /// the key `features` of the policy names; without it they are exact.
    ///
    /// * `every` — rounds from one release to the next, the first of which follows round 1
    #[must_use]
    pub fn over_sums(self, args: &Args<'_>, every: u64) -> Self {
        let features = parse_features(args).unwrap_or_else(|| Arc::new(Exact::default()) as Arc<dyn FeaturesPlan>);
        Self { stage: Stage::Sums(features, every), ..self }
    }

    /// Asks for a trusted server that releases one of the points that are played first, by the exponential mechanism.
    ///
    /// The first points that the algorithm chooses are the candidates. It is told the chosen one by [`BatchPolicy::learn`], and
    /// nothing else of any reward; what it plays after that is scored by nobody.
    ///
    /// * `candidates` — number of candidates, at least 2
    /// * `users` — users that score each of them, one after the other
    #[must_use]
    pub fn by_choice(self, candidates: u64, users: u64) -> Self {
        Self { stage: Stage::Choice(candidates, users), ..self }
    }
}

impl Stage {
    /// Returns what a server is asked for, and the features of its sums.
    fn prepare(&self, problem: &Problem) -> Result<(Option<SumsNeed>, Option<SumsFeatures>), Error> {
        let rounds = problem.rounds;
        match self {
            Self::Rewards => Ok((None, None)),
            &Self::Batches(least) => {
                if let Some(least) = least.filter(|least| rounds < *least) {
                    let message = format!("a batch has at least {least} users, and there are {rounds} rounds");
                    return Diagnostic::new(message).hint("state more `rounds`, or smaller batches").refuse();
                }
                Ok((Some(SumsNeed::of_rewards(rounds, least)), None))
            }
            Self::Sums(_, 0) => Diagnostic::new("a release every 0 rounds").expected("at least 1 round").refuse(),
            Self::Sums(features, every) => {
                let (table, _) = problem.tables.table(features.as_ref(), problem)?;
                let norm = Plays::new(Arc::clone(&table), None).largest_norm();
                if !(0.0 < norm && norm.is_finite()) {
                    let why = "the features of a policy from outside are zero or not finite everywhere";
                    return Diagnostic::new(why).hint("check the kernel, or name other `features`").refuse();
                }
                let needs = 16.0 * table.n_points as f64 * table.n_features as f64;
                allow(problem.memory_bytes, "the features of all points", needs, "lower `features` or the domain's points")?;
                let rows = (0..table.n_points).flat_map(|point| table.row(point).into_owned()).map(|x| x / norm).collect();
                let n_features = table.n_features;
                let releases = (1 + (rounds - 1).div_ceil(*every)).min(rounds);
                let need = SumsNeed::of_features(n_features, releases, rounds);
                Ok((Some(need), Some(SumsFeatures { n_features, rows, norm })))
            }
            &Self::Choice(candidates, users) => {
                if candidates < 2 || users == 0 {
                    let message = format!("a choice among {candidates} candidates with {users} users each");
                    return Diagnostic::new(message).expected("at least 2 candidates and 1 user of each").refuse();
                }
                let scored = candidates.checked_mul(users).filter(|scored| *scored <= rounds);
                let Some(scored) = scored else {
                    let message = format!("{candidates} candidates with {users} users each need more than {rounds} rounds");
                    return Diagnostic::new(message).hint("state more `rounds`, fewer candidates or fewer users").refuse();
                };
                Ok((Some(SumsNeed::of_features(candidates as usize, 1, scored)), None))
            }
        }
    }
}

impl From<OwnPolicy> for PolicyPlan {
    fn from(OwnPolicy { make, depends_on_block, stage }: OwnPolicy) -> Self {
        // Foreign code could store the decision sets of users, which joint privacy protects. Nobody knows when the first batch ends:
        // audits play the whole horizon.
        let (protection, plays_sets, before) = match stage {
            Stage::Rewards => (Protection::Rewards, true, 1),
            Stage::Batches(_) => (Protection::Batches, false, u64::MAX),
            Stage::Sums(..) => (Protection::Sums, false, 1),
            Stage::Choice(candidates, users) => (Protection::Answer, false, candidates.saturating_mul(users)),
        };
        let patience = Box::new(move |rounds: u64| before.min(rounds));
        let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
            let shared = problem.shared()?;
            let (need, features) = stage.prepare(problem)?;
            let start = PolicyStart {
                n_points: problem.n_points(),
                points: shared.points.clone(),
                covariance: Arc::clone(&shared.gram),
                kernel: shared.kernel.clone(),
                features,
                rounds: problem.rounds,
                trials: Vec::new(),
            };
            Ok(Box::new(OwnMaker { make: Arc::clone(&make), start, depends_on_block, stage: stage.clone(), need }))
        };
        Self { plays_sets, is_foreign: true, depends_on_block, protection, patience, ..Self::new(prepare) }
    }
}

pub(super) struct OwnMaker {
    make: MakeBatch,
    start: PolicyStart,
    depends_on_block: bool,
    stage: Stage,
    need: Option<SumsNeed>,
}

impl PolicyMaker for OwnMaker {
    /// Released sums, and a copy of them as whole matrices.
    fn own_bytes(&self) -> f64 {
        let m = self.start.features.as_ref().map_or(0.0, |features| features.n_features as f64);
        8.0 * (1.5 * m * m + 3.0 * m)
    }

    fn sums(&self) -> Option<SumsNeed> {
        self.need
    }

    /// Makes what keeps the plays of one trial; its group proposes for it and is told what was released.
    fn make(&self, _setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let every = if let Stage::Sums(_, every) = self.stage { every } else { 0 };
        let (features, rounds) = (self.start.features.clone(), self.start.rounds);
        Ok(Box::new(PlayedPolicy { features, every, rounds, round: 1, last: None, visits: Visits::default() }))
    }

    fn group(&self, trials: &[(u64, &Setting)]) -> Result<Option<PolicyGroup>, Error> {
        let facts = |&(trial, setting): &(u64, &Setting)| TrialFacts {
            trial,
            rewards: setting.facts.clone(),
            released: setting.released,
            batches: if let Stage::Batches(_) = self.stage { MeanNoise::of_sums(setting) } else { None },
            sums: if let Stage::Sums(..) | Stage::Choice(..) = self.stage { setting.sums } else { None },
        };
        let start = PolicyStart { trials: trials.iter().map(facts).collect(), ..self.start.clone() };
        let least: Vec<u64> = start.trials.iter().map(|trial| trial.batches.map_or(1, |noise| noise.least)).collect();
        let batch = guarded(|| (self.make)(start)).map_err(|why| failure("from outside", "its start", why))?;
        Ok(Some(PolicyGroup::new(batch, self.start.n_points, self.stage.clone(), least.into_iter())))
    }

    fn facts(&self, _setting: &Setting) -> Facts {
        let bits = if self.depends_on_block { "depend on `block`" } else { "do not depend on the trials beside a trial" };
        [("policy from outside: its bits", bits.into())].into()
    }
}
