//! Makes an algorithm from outside a policy like any other.

use super::contract::EachTrial;
use super::group::failure;
use super::{BatchPolicy, PolicyFailure, PolicyGroup, PolicyStart, TrialFacts, TrialPolicy};
use crate::policy::uniform::VisitsPolicy;
use crate::policy::{MeanNoise, Policy, PolicyMaker, PolicyPlan, Problem, Proposal, Setting};
use privateer_config::error::{Diagnostic, Error, guarded};
use privateer_gp::posterior::Visits;
use privateer_privacy::Protection;
use privateer_privacy::sums::SumsNeed;
use std::sync::Arc;

/// Makes the algorithm for the trials of a start.
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

/// Who stands between the users and an algorithm from outside.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Each user's reward is released by itself.
    Rewards,
    /// A trusted server or a shuffler releases the mean of each batch, of which the least may be stated.
    Batches(Option<u64>),
}

impl OwnPolicy {
    /// Describes an algorithm that runs one trial; `make` is called once for each.
    pub fn per_trial<P: TrialPolicy + 'static>(
        make: impl Fn(&PolicyStart, &TrialFacts) -> Result<P, PolicyFailure> + Send + Sync + 'static,
    ) -> Self {
        let each = move |start: PolicyStart| -> Result<Box<dyn BatchPolicy>, PolicyFailure> {
            let policies = start.trials.iter().map(|trial| Ok(Box::new(make(&start, trial)?) as Box<dyn TrialPolicy>));
            Ok(Box::new(EachTrial(policies.collect::<Result<_, PolicyFailure>>()?)))
        };
        Self { make: Arc::new(each), depends_on_block: false, stage: Stage::Rewards }
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
    /// [`crate::testing::policy_contract`] tests the promise.
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
}

impl From<OwnPolicy> for PolicyPlan {
    fn from(OwnPolicy { make, depends_on_block, stage }: OwnPolicy) -> Self {
        let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
            let shared = problem.shared()?;
            if let Stage::Batches(Some(least)) = stage
                && problem.rounds < least
            {
                let message = format!("a batch has at least {least} users, and there are {} rounds", problem.rounds);
                return Diagnostic::new(message).hint("state more `rounds`, or smaller batches").refuse();
            }
            let start = PolicyStart {
                n_points: problem.n_points(),
                points: shared.points.clone(),
                covariance: Arc::clone(&shared.gram),
                kernel: shared.kernel.clone(),
                rounds: problem.rounds,
                trials: Vec::new(),
            };
            Ok(Box::new(OwnMaker { make: Arc::clone(&make), start, depends_on_block, stage }))
        };
        let plan = Self { plays_sets: true, is_foreign: true, depends_on_block, ..Self::new(prepare) };
        match stage {
            Stage::Rewards => plan,
            // Nobody knows when the first batch ends: audits play the whole horizon.
            Stage::Batches(_) => {
                Self { plays_sets: false, protection: Protection::Batches, patience: Box::new(|rounds| rounds), ..plan }
            }
        }
    }
}

/// Makes the groups of a cell.
pub(super) struct OwnMaker {
    make: MakeBatch,
    start: PolicyStart,
    depends_on_block: bool,
    stage: Stage,
}

impl PolicyMaker for OwnMaker {
    fn sums(&self) -> Option<SumsNeed> {
        let Stage::Batches(least) = self.stage else { return None };
        Some(SumsNeed::of_rewards(self.start.rounds, least))
    }

    /// Makes what keeps the plays of one trial; its group proposes for it and is told what was released.
    fn make(&self, _setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let proposal = Proposal::Refused("a policy from outside is asked together with the trials of its group");
        Ok(Box::new(VisitsPolicy { name: "from outside", proposal, visits: Visits::default() }))
    }

    fn group(&self, trials: &[(u64, &Setting)]) -> Result<Option<PolicyGroup>, Error> {
        let facts = |&(trial, setting): &(u64, &Setting)| TrialFacts {
            trial,
            rewards: setting.facts.clone(),
            released: setting.released,
            batches: MeanNoise::of_sums(setting),
        };
        let start = PolicyStart { trials: trials.iter().map(facts).collect(), ..self.start.clone() };
        let least: Vec<u64> = start.trials.iter().map(|trial| trial.batches.map_or(1, |noise| noise.least)).collect();
        let batch = guarded(|| (self.make)(start)).map_err(|why| failure("from outside", "its start", why))?;
        Ok(Some(PolicyGroup::new(batch, self.start.n_points, least.into_iter())))
    }

    fn facts(&self, _setting: &Setting) -> Vec<(String, serde_json::Value)> {
        let bits = if self.depends_on_block { "depend on `block`" } else { "do not depend on the trials beside a trial" };
        vec![("policy from outside: its bits".to_owned(), bits.into())]
    }

    fn restore(&self, _setting: &Setting, _state: serde_json::Value) -> Result<Box<dyn Policy>, Error> {
        Diagnostic::new("a policy from outside keeps no state that a session could store")
            .hint("drive it in one program with `AskTell`, or use a policy of this program in sessions")
            .refuse()
    }
}
