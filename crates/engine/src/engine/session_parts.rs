//! What a session is made of, from its spec: policy, exact mechanism, ledger, points.

use super::prepare::Preparation;
use crate::policy::{Policy, Setting};
use crate::spec::{CellPlan, Sweep, Task};
use privateer_backend::Domain;
use privateer_config::error::{Diagnostic, Error};
use privateer_numerics::rng::Streams;
use privateer_privacy::release::ChannelRelease;
use privateer_privacy::{Channel, Guarantee, Ledger, RewardMechanism};
use std::mem::discriminant;
use std::sync::Arc;

/// A session's parts as its spec gives them.
pub(super) struct SessionParts {
    pub(super) plan: CellPlan,
    pub(super) streams: Streams,
    pub(super) domain: Option<Arc<dyn Domain>>,
    pub(super) release: ChannelRelease,
    /// Of one answer, as the mechanism is simulated.
    pub(super) ledger: Ledger,
    /// Stated bound on the mean reward.
    pub(super) bound: f64,
    /// The range in which every value lies that the mechanism releases; `None` without a mechanism for single rewards.
    pub(super) outputs: Option<(f64, f64)>,
    pub(super) n_points: usize,
    pub(super) fingerprint: String,
    /// Hash of the resolved spec.
    pub(super) spec_hash: String,
}

pub(super) fn refuse<T>(problem: impl Into<String>, hint: &str) -> Result<T, Error> {
    Diagnostic::new(problem).hint(hint).refuse()
}

/// Makes a session's parts ready, and its policy before the first round.
pub(super) fn session_parts(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<(SessionParts, Box<dyn Policy>), Error> {
    let [plan] = sweep.listed() else {
        return refuse(
            format!("the spec has {} cells, and a session runs one policy at one setting", sweep.listed().len()),
            "drop `[sweep…]` and all but one `[[policy]]`, or fix swept keys with `--set`",
        );
    };
    let Task::Bandit(bandit) = &plan.task else {
        return refuse(
            format!("`{}` is no policy over points, and a session asks for points one by one", plan.policy),
            "state `[environment]` and one `[[policy]]`",
        );
    };
    if bandit.curator.is_some() {
        return refuse(
            "the spec has a `[curator]`, and the points of a session are released already",
            "release them with `privateer curate`, name its files in `environment.file` and `environment.released`, and drop `[curator]`",
        );
    }
    if bandit.policy_plan.is_foreign {
        return refuse(
            format!("`{}` is a policy from outside, which keeps no state that a session could store", plan.policy),
            "use a policy of this program in sessions",
        );
    }
    let cell = preparation.cell(plan).map_err(|error| plan.placed(error))?;
    let Some(facts) = cell.environment.told_rewards.clone() else {
        return refuse(
            "rewards of a session are told, and nothing in the spec bounds them",
            "use `points-table` with a stated `bound` in units of the rewards (`units = \"rewards\"`), and without `value` or with \
             `replicates = \"apart\"`: a session counts rows of the file",
        );
    };
    let channel = bandit.privacy.channel((&facts, cell.environment.set_size.is_none()), true, cell.maker.sums(), None, None)?;
    let mut ledger = channel.ledger();
    cell.environment.derived_from_rewards.state_in(&mut ledger);
    if 1 < ledger.threat_model.participations.covered {
        let message = "a session counts the answers of each record itself, and its spec states `participations`";
        let diagnostic = Diagnostic::new(message).expected("no `participations` in `[privacy]`, and the epsilon of one answer");
        return diagnostic.refuse();
    }
    if let Guarantee::NoGuarantee { .. } = ledger.guarantee {
        return refuse(
            format!("mechanism `{}` has {}", ledger.mechanism, ledger.guarantee),
            "use `calibration = \"tight\"`, and state `privacy.clip` where the noise is unbounded",
        );
    }
    if let (Some(claimed), Some(delivered)) = (ledger.epsilon, ledger.delivered_epsilon)
        && 1e-6 * claimed < (claimed - delivered).abs()
    {
        return refuse(
            format!(
                "the mechanism claims epsilon = {claimed} and delivers {delivered:.6}, and a data holder adds the noise of the claim"
            ),
            "use `calibration = \"tight\"`",
        );
    }
    let release = ChannelRelease::of(&channel).map_err(|why| {
        Diagnostic::new(format!("mechanism `{}` has no exact form: {why}", ledger.mechanism))
            .hint("choose another `privacy.mechanism`")
            .error()
    })?;
    // What is done to a vector of a real user is another event than in a simulation, with a loss of its own.
    let mut exact = release.ledger();
    cell.environment.derived_from_rewards.state_in(&mut exact);
    let ledger = if discriminant(&exact.event) == discriminant(&ledger.event) { ledger } else { exact };
    let outputs = match &channel {
        Channel::Rewards(mechanism) => outputs(mechanism.as_ref(), &ledger),
        Channel::Sums(_) => None,
    };
    let setting = Setting::new(&facts, cell.environment.told_noise_scale, &channel, cell.environment.train_readings.clone());
    let policy = cell.maker.make(&setting)?;
    let parts = SessionParts {
        n_points: cell.environment.gram.n_points(),
        fingerprint: cell.environment.fingerprint.clone().unwrap_or_default(),
        streams: Streams::new(sweep.seed, "session"),
        spec_hash: sweep.hash.clone(),
        plan: cell.plan,
        domain: cell.domain,
        release,
        ledger,
        bound: facts.bound,
        outputs,
    };
    Ok((parts, policy))
}

/// Standard deviations of unbounded noise beyond which no value is believed: Laplace noise gets there with probability below 1e-60.
const MOST_DEVIATIONS: f64 = 100.0;

/// Returns the range in which released rewards lie, a millionth wider for the grid of exact noise.
fn outputs(mechanism: &dyn RewardMechanism, ledger: &Ledger) -> Option<(f64, f64)> {
    let [low, high] = ledger.clip?;
    let noise = MOST_DEVIATIONS * libm::sqrt(mechanism.noise_variance());
    let (low, high) = mechanism.output_range().unwrap_or((low - noise, high + noise));
    let slack = 1e-6 * (high - low);
    Some((low - slack, high + slack))
}
