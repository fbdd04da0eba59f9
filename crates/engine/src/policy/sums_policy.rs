//! Implements the server of `jdp-gp-ucb`, `local-jdp-gp-ucb` and `jdp-linucb`.
//!
//! It is GP-UCB over features from released sums \[Dubey2021, algorithm 1\]. The server stores released values and the points
//! it has played; the features of a played point go to the privatizer as a plain query. Features are divided by their largest
//! norm r over the domain, so that `|phi| <= 1`; in these coordinates the precision matrix is `V = G~ + (shift + ridge/r²) I`.

use super::noise_spectrum::SpectrumPlan;
use super::release_rule::ReleaseRule;
pub use super::sums_server::SumsPolicyKind;
use super::sums_server::{SumsKeys, SumsPolicyShared, SumsServer};
use super::{
    ExplorationFactor, FeaturesPlan, Initial, Policy, PolicyMaker, PolicyPlan, Problem, Setting, SharedInputs, parse_features,
};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::{FactValue, Facts};
use privateer_config::params::Args;
use privateer_gp::score::{AxisFeatures, Basis, Moments};
use privateer_gp::{Plays, Points};
use privateer_privacy::sums::{Epochs, Spectrum, Sums, SumsFacts, SumsNeed};
use privateer_privacy::{Calibration, Protection};
use std::sync::Arc;

/// Reads the keys of a server; `default` are the features where the spec names none.
pub fn sums_plan(args: &Args<'_>, kind: SumsPolicyKind, default: Arc<dyn FeaturesPlan>) -> PolicyPlan {
    let features = if kind.linear { default } else { parse_features(args).unwrap_or(default) };
    let beta = ExplorationFactor::parse(args);
    let failure_prob = super::gp_policy::failure_prob(args);
    let ridge = args.number("ridge", "regularizer: the noise variance the posterior assumes").above(0.0).at_most(1e12).or(1.0);
    let noise_std = args.number(
        "noise_std",
        "rho: sub-Gaussian scale of the observation noise, for beta, which adds that of a mechanism for rewards",
    );
    let noise_std = noise_std.above(0.0).at_most(1e12).optional("the noise's standard deviation, else half of the clip range");
    let spectrum = SpectrumPlan::parse(args);
    let release = ReleaseRule::parse(args);
    let epochs = if kind.local {
        Epochs::One
    } else {
        let doc =
            "for an unknown horizon: epochs ending at rounds 1, 2, 4, 8, …; each starts from nothing (`restart`) or continues";
        args.choice("epochs", doc, &[("one", Epochs::One), ("restart", Epochs::Restart), ("carry", Epochs::Carry)], "one")
    };
    if epochs != Epochs::One && release != ReleaseRule::EveryRound {
        args.reject("release", "epochs of an unknown horizon release after every round", "`every-round`, or `epochs = \"one\"`");
    }
    let keys = SumsKeys { ridge, beta, failure_prob, noise_std, spectrum, release, epochs, initial: Initial::parse(args) };
    PolicyPlan {
        plays_sets: true,
        protection: if kind.local { Protection::LocalSums } else { Protection::Sums },
        ..PolicyPlan::new(move |problem| prepare(problem, kind, keys, &features))
    }
}

fn prepare(
    problem: &Problem,
    kind: SumsPolicyKind,
    keys: SumsKeys,
    features: &Arc<dyn FeaturesPlan>,
) -> Result<Box<dyn PolicyMaker>, Error> {
    let (table, prior_bound) = problem.tables.table(features.as_ref(), problem)?;
    let axes = features.axes(problem);
    let facts = features.facts(problem, &table);
    let plays = Plays::new(Arc::clone(&table), axes.clone());
    let norm = plays.largest_norm();
    if !(0.0 < norm && norm.is_finite()) {
        let diagnostic = Diagnostic::new(format!("the features of `{}` are zero or not finite everywhere", kind.name));
        return diagnostic.hint("check the kernel, or name other `features`").refuse();
    }
    Ok(Box::new(SumsMaker(Arc::new(SumsPolicyShared {
        kind,
        keys,
        prior_bound,
        axes,
        facts,
        need: SumsNeed {
            epochs: keys.epochs,
            linear: kind.linear,
            ..SumsNeed::of_features(table.n_features, keys.release.most(problem.rounds), problem.rounds)
        },
        norm,
        features: Arc::clone(features),
        problem: problem.clone(),
        table,
    }))))
}

/// Returns whether stored sums, enough to evaluate a model [Dubey2021, remark 1], have this number of features and valid values.
fn are_possible(sums: &Sums, n_features: usize) -> bool {
    sums.entries.len() == Sums::empty(n_features, 1).entries.len()
        && sums.entries.iter().all(|x| x.is_finite())
        && [sums.gram_std, sums.moment_std].iter().all(|std| std.is_finite() && 0.0 <= *std)
        && (1..=1 << 53).contains(&sums.horizon)
        && sums.users <= 1 << 53
}

struct SumsMaker(Arc<SumsPolicyShared>);

impl SumsMaker {
    fn server(&self, setting: &Setting) -> Result<SumsServer, Error> {
        // Rewards are released one by one where everybody knows the points.
        let clip = setting.released.clip;
        let rewards = SumsFacts { calibration: Calibration::DEFAULT, clip, centre: 0.0, spectrum: Spectrum::None };
        let facts = setting.sums.or(self.0.kind.local.then_some(rewards)).ok_or_else(|| Error::Failed {
            problem: format!("policy `{}` was given a mechanism for single rewards", self.0.kind.name),
            hint: "this is a fault of the program, not of the spec: please report it".to_owned(),
        })?;
        SumsServer::new(Arc::clone(&self.0), facts, setting)
    }
}

impl PolicyMaker for SumsMaker {
    fn basis(&self) -> Option<Basis> {
        Some(Basis::Table(Arc::clone(&self.0.table)))
    }

    fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        self.0.axes.clone()
    }

    fn sums(&self) -> Option<SumsNeed> {
        Some(self.0.need)
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.server(setting)?))
    }

    fn facts(&self, setting: &Setting) -> Facts {
        let shared = &self.0;
        let mut facts = shared.facts.clone();
        facts
            .extend([("largest norm of a point's features", shared.norm.into()), ("most releases", shared.need.releases.into())]);
        if let Ok(server) = self.server(setting) {
            facts.push("noise scale of beta", server.noise_std);
        }
        facts
    }

    fn predict(
        &self,
        setting: &Setting,
        parameters: &FactValue,
        dimension: usize,
        points: &[f64],
    ) -> Result<Vec<Moments>, Error> {
        let shared = &self.0;
        let name = shared.kind.name;
        let refuse = |why: String, hint: &str| Diagnostic::new(why).hint(hint).refuse();
        let SharedInputs { points: Some(domain), .. } = shared.problem.shared()? else {
            return refuse(format!("the domain of `{name}` has no coordinates"), "a model over arms knows no other points");
        };
        if dimension != domain.dimension() {
            let why = format!("the points have {dimension} coordinates, and the domain of the run {}", domain.dimension());
            return refuse(why, "give a column for each coordinate, in their order");
        }
        let Some(sums) = parameters.read::<Sums>().ok().filter(|sums| are_possible(sums, shared.need.n_features)) else {
            return refuse(
                format!("the parameters are not those of `{name}` over this problem"),
                "use the file as the run wrote it",
            );
        };
        let points = Points::new(dimension, points.to_vec());
        let Some(table) = shared.features.at(&shared.problem, &points)? else {
            return refuse(
                format!("the features of `{name}` are known at the points of its domain alone"),
                "use features of a kernel",
            );
        };
        let mut server = self.server(setting)?;
        if !server.set_sums(sums) {
            return refuse("the parameters have left the range of f64".to_owned(), "use the file as the run wrote it");
        }
        let moments = |point: usize| {
            let Moments { mean, variance } = server.at(&table.row(point));
            Moments { mean, variance: variance + table.residual[point] }
        };
        Ok((0..table.n_points).map(moments).collect())
    }
}
