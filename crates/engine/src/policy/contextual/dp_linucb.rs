//! Implements `dp-linucb` [Shariff2018, algorithm 1] and `ldp-linucb` [Zheng2020, algorithm 2].
//!
//! Both are upper confidence bounds from noisy running sums, with `V = G~ + (ridge + shift) I`. The noise may leave the sums
//! indefinite. A shift by a bound on the norm of the noise makes them positive definite with high probability, and costs no
//! privacy because it does not depend on the data (erratum E11, `docs/privacy.md`). As printed, the shift is twice `Upsilon =
//! sigma_node sqrt(2m)(4 sqrt(n) + 2 ln(2T/alpha))`. Otherwise it is `shift` times `2 std (sqrt(n) + sqrt(ln(2T/alpha)))`, with
//! `std` that of the current release and n the number of rows of one matrix.

use super::arm_models::ArmModels;
use super::contract::{another_kind, best_arm};
use super::linucb::noise_scale;
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, PreparedContextual, Scratch};
use crate::policy::ExplorationFactor;
use crate::policy::gp_policy::failure_prob;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::sums::SumsTerms;
use privateer_privacy::interactions::{
    CalibratedInteractions, ContextFacts, InteractionNeed, InteractionSignal, InteractionSumsNeed,
};
use privateer_privacy::printed::shariff2018::{self, BetaTerms};
use privateer_privacy::printed::{dubey2021, zheng2020};
use privateer_privacy::{Refusal, Released, Request};
use std::sync::Arc;

/// Reads the keys of `dp-linucb`.
pub fn parse(args: &Args<'_>) -> ContextPolicyPlan {
    plan(args, "dp-linucb", false)
}

/// Reads the keys of `ldp-linucb`.
pub fn parse_local(args: &Args<'_>) -> ContextPolicyPlan {
    plan(args, "ldp-linucb", true)
}

fn plan(args: &Args<'_>, name: &'static str, local: bool) -> ContextPolicyPlan {
    let plan = DpLinUcbPlan {
        name,
        local,
        beta: ExplorationFactor::parse(args),
        failure_prob: failure_prob(args),
        ridge: args.number("ridge", "what is added to the diagonal beside the shift").above(0.0).at_most(1e12).or(1.0),
        shift: args
            .number("shift", "multiplies the bound on the noise's norm that is added to the diagonal")
            .at_least(0.0)
            .at_most(1e6)
            .or(1.0),
        growth: args
            .number("growth", "rounds of releases grow by this factor; 1 releases after every round")
            .at_least(1.0)
            .at_most(100.0)
            .optional("1 as printed or corrected, 1.1 under the tight calibration"),
        length: args
            .number("context_length", "contexts longer than this are shortened to it")
            .above(0.0)
            .at_most(1e12)
            .optional("the environment's bound"),
    };
    ContextPolicyPlan {
        open_kind: Some(("linucb", &["shift", "growth", "context_length"])),
        need_bytes: Box::new(move |facts, request| BYTES_PER_RELEASE * releases_at_most(facts.rounds, plan.growth(request))),
        ..ContextPolicyPlan::new(move |facts, request| plan.prepare(facts, request))
    }
}

#[derive(Clone, Copy)]
struct DpLinUcbPlan {
    name: &'static str,
    local: bool,
    beta: ExplorationFactor,
    failure_prob: f64,
    ridge: f64,
    shift: f64,
    growth: Option<f64>,
    length: Option<f64>,
}

/// Returns the release rounds 1, 2, … up to the horizon.
///
/// Each is at least `growth` times the one before.
fn due(rounds: u64, growth: f64) -> Arc<[u64]> {
    let next = |round: &u64| Some(((*round as f64 * growth).ceil() as u64).max(round + 1)).filter(|next| *next <= rounds);
    std::iter::successors(Some(1), next).collect()
}

/// Bytes that each release takes: its round while the list grows and when it is shared, its variance and its deviation.
const BYTES_PER_RELEASE: f64 = 48.0;

/// Returns how many rounds [`due`] lists at most, in constant time.
fn releases_at_most(rounds: u64, growth: f64) -> f64 {
    let rounds = rounds as f64;
    // Up to round 1/(growth - 1) each step is of one round; from there on each is at least by the factor.
    let single = 1.0 / (growth - 1.0);
    if rounds <= single { rounds } else { single.max(1.0) + libm::log(rounds / single.max(1.0)) / libm::log(growth) + 2.0 }
}

impl DpLinUcbPlan {
    fn growth(&self, request: &Request) -> f64 {
        self.growth.unwrap_or(if request.calibration.redesigns() { 1.1 } else { 1.0 })
    }

    fn prepare(&self, facts: &ContextFacts, request: &Request) -> Result<PreparedContextual, Refusal> {
        if request.mechanism == "none" {
            let message = format!("`{}` is private by its kind", self.name);
            return Err(Refusal::new("mechanism", message, "no `mechanism`, or `auto`")
                .hint("`linucb` is the same policy without privacy"));
        }
        let need = InteractionNeed::Sums(InteractionSumsNeed {
            due: due(facts.rounds, self.growth(request)),
            context_length: self.length.unwrap_or(facts.length).min(facts.length),
            local: self.local,
        });
        let mechanism = need.calibrated(facts, request)?;
        let CalibratedInteractions::Sums(sums) = &mechanism else { return Err(another_kind()) };
        let SumsTerms { layout, context_length, request, due, .. } = sums.terms();
        let (printed, releases) = (!request.calibration.corrects(), due.len() as u64);
        // In the units of the sums: |z| <= l, rewards y = <z, theta'> with |theta'| <= S.
        let length = *context_length / sums.context_unit();
        let bound = facts.parameter_length * sums.context_unit() / sums.reward_unit();
        let total = bound * libm::sqrt(facts.n_arms as f64);
        let consts = Consts {
            layout: *layout,
            printed,
            keys: Self { ridge: if printed { 0.0 } else { self.ridge }, ..*self },
            rounds: facts.rounds,
            context_unit: sums.context_unit(),
            context_length: *context_length,
            length,
            total,
            noise_sd: noise_scale(facts) / sums.reward_unit(),
            sigma: sums.sigma(),
            nodes: dubey2021::nodes_printed(facts.rounds),
            first_std: sums.std(1),
        };
        let maker = maker(Arc::new(consts), releases, sums.std(releases));
        Ok(PreparedContextual { maker, mechanism: Box::new(mechanism) })
    }
}

struct Consts {
    layout: GramLayout,
    printed: bool,
    /// The keys; `ridge` is 0 where sums are as printed.
    keys: DpLinUcbPlan,
    rounds: u64,
    context_unit: f64,
    context_length: f64,
    /// l: largest length of a context, in the units of the sums.
    length: f64,
    /// S: Euclidean norm of all arms' parameters together, in those units.
    total: f64,
    noise_sd: f64,
    sigma: f64,
    nodes: u32,
    first_std: f64,
}

/// Bounds on the regularizer (shift plus noise), and the term that the noise on `u` adds to `beta`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RegularizerSpectrum {
    shift: f64,
    least: f64,
    most: f64,
    gamma: f64,
}

impl Consts {
    /// Returns the bounds after `round` rounds, with noise of standard deviation `std` in the sums.
    fn spectrum(&self, round: u64, std: f64) -> RegularizerSpectrum {
        let DpLinUcbPlan { failure_prob, ridge, shift, local, .. } = self.keys;
        let (n, log) = (self.layout.n_rows() as f64, libm::log(2.0 * self.rounds as f64 / failure_prob));
        if self.printed {
            // Upsilon, the interval [Upsilon, 3 Upsilon] after the shift by 2 Upsilon, and gamma; the same in the local model.
            let (upsilon, sigma, nodes) = if local {
                let users = round.max(1);
                let upsilon = zheng2020::spectrum(self.sigma, users, self.layout.n_rows(), self.rounds, failure_prob);
                (upsilon, self.sigma * libm::sqrt(users as f64), 1)
            } else {
                let (nodes, rows) = (self.nodes, self.layout.n_rows());
                (dubey2021::spectrum(self.sigma, nodes, rows, self.rounds, failure_prob), self.sigma, nodes)
            };
            let gamma = shariff2018::gamma(sigma, nodes, upsilon, self.n_features(), self.rounds, failure_prob);
            return RegularizerSpectrum { shift: 2.0 * upsilon * shift, least: upsilon, most: 3.0 * upsilon, gamma };
        }
        let vector = libm::sqrt(self.n_features() as f64) + libm::sqrt(2.0 * log);
        let norm = 2.0 * std * (libm::sqrt(n) + libm::sqrt(log));
        let least = ridge + (shift - 1.0).max(0.0) * norm;
        let shift = ridge + shift * norm;
        RegularizerSpectrum { shift, least, most: shift + norm, gamma: std * vector / libm::sqrt(least) }
    }

    /// Returns the exploration factor of round `round`, 1-based.
    fn beta(&self, round: u64, spectrum: &RegularizerSpectrum) -> f64 {
        let terms = BetaTerms {
            noise_sd: self.noise_sd,
            length: self.length,
            bound: self.total,
            n_features: self.n_features(),
            spectrum: (spectrum.least, spectrum.most),
            gamma: spectrum.gamma,
            failure_prob: self.keys.failure_prob,
        };
        let order = || self.noise_sd * libm::sqrt(self.layout.dimension as f64) + self.total * libm::sqrt(spectrum.most);
        self.keys.beta.value(|| terms.beta(round), order)
    }

    fn n_features(&self) -> usize {
        self.layout.n_blocks * self.layout.dimension
    }
}

/// Returns the maker of the policies.
///
/// * `last_std` — standard deviation of the noise in the last of the `releases`
fn maker(consts: Arc<Consts>, releases: u64, last_std: f64) -> ContextPolicyMaker {
    let last = consts.spectrum(consts.rounds, last_std);
    let facts = Facts::from([
        ("releases of the sums", releases.into()),
        ("standard deviation of the noise in the last release", last_std.into()),
        ("shift of the last matrix", last.shift.into()),
        ("beta of the last round", consts.beta(consts.rounds, &last).into()),
    ]);
    let (layout, std) = (consts.layout, consts.first_std);
    let shift = consts.spectrum(0, std).shift.max(f64::MIN_POSITIVE);
    ContextPolicyMaker::new(move || {
        let spectrum = consts.spectrum(0, std);
        let beta = consts.beta(1, &spectrum);
        DpLinUcb { consts: Arc::clone(&consts), spectrum, beta, round: 0, models: ArmModels::empty(layout, shift) }
    })
    .stating(facts)
}

struct DpLinUcb {
    consts: Arc<Consts>,
    spectrum: RegularizerSpectrum,
    /// Exploration factor of the coming round.
    beta: f64,
    /// Number of rounds observed.
    round: u64,
    models: ArmModels,
}

impl ContextPolicy for DpLinUcb {
    fn choose(&self, context: &[f64], _own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let (consts, Scratch { vector, scored }) = (&self.consts, scratch);
        let length = libm::sqrt(context.iter().map(|x| x * x).sum::<f64>());
        let kept = if length <= consts.context_length { 1.0 } else { consts.context_length / length };
        let factor = kept / consts.context_unit;
        let models = &self.models;
        let score = |arm| {
            // The models are linear in the context, so its scale can be applied last.
            let score = models.mean(arm, context) + self.beta * models.deviation(consts.layout, arm, context, vector);
            (arm, factor * score)
        };
        best_arm((0..consts.layout.n_blocks).map(score), scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.round += 1;
        if let InteractionSignal::Sums { layout, entries, gram_std } = *signal.value() {
            self.spectrum = self.consts.spectrum(self.round, gram_std);
            self.models.refit(layout, entries, self.spectrum.shift);
        }
        self.beta = self.consts.beta(self.round + 1, &self.spectrum);
    }
}
