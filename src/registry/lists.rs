//! Lists all registered items, one list per kind.

use super::Entry;
use crate::env::contextual::{ContextualPlan, generalized_linear, logged, table};
pub use crate::env::noise::NOISES;
use crate::env::test_function::{ackley, branin, camelback, hartmann, levy, michalewicz, styblinski_tang};
use crate::env::{EnvironmentPlan, EnvironmentRegistry, arms_table, gp_sample, points_table, rkhs};
use crate::oco::learner::{LearnerPlan, dp_pofw, dp_tofw, local_md, noisy_sfw, noisy_sgd, ofw, projected_sgd};
use crate::oco::loss::{Loss, logistic, smoothed_absolute, squared};
use crate::oco::problem::{ProblemPlan, ProblemRegistry, regression};
use crate::oco::set::{SetPlan, lp_ball, polytope, simplex};
use crate::policy::contextual::{ContextPolicyBuild, dp_hdb, dp_linucb, epsilon_greedy, lasso_bandit, linucb, random_arm};
use crate::policy::{
    FeatureRegistry, FeaturesPlan, PolicyPlan, ata_gp_ucb, features, gp_ucb, igp_ucb, jdp_gp_ucb, jdp_linucb, local_jdp_gp_ucb,
    moma_gp_ucb, qff_gp_ucb, rff_gp_ucb, tgp_ucb, uniform,
};
use privateer_config::params::Args;
use privateer_gp::kernel::empirical::Normalise;
use privateer_gp::kernel::{Kernel, KernelRegistry, additive, empirical, linear, matern, squared_exponential};
use privateer_privacy::MechanismEntry;
use privateer_privacy::curator::{CuratorEntry, input_noise, projection};
use privateer_privacy::mechanism::{duchi, gaussian, hybrid, laplace, none, piecewise};
use privateer_privacy::sums::{SumsEntry, joint, local, none as no_sums};
use std::sync::Arc;

/// States how a kernel is constructed.
#[derive(Debug, Clone, Copy)]
pub enum KernelBuild {
    /// A function of two points.
    Function(fn(&Args<'_>) -> Arc<dyn Kernel>),
    /// A function of two points that is built from another kernel; `None` after a mistake.
    Composed(fn(&Args<'_>, &dyn KernelRegistry) -> Option<Arc<dyn Kernel>>),
    /// A covariance computed from a table of samples.
    Empirical(fn(&Args<'_>) -> Normalise),
}

/// Reads a feature map.
pub type FeaturesBuild = fn(&Args<'_>) -> Arc<dyn FeaturesPlan>;
/// Reads an environment.
pub type EnvironmentBuild = fn(&Args<'_>, &dyn EnvironmentRegistry) -> Box<dyn EnvironmentPlan>;
/// Reads a contextual environment.
pub type ContextualBuild = fn(&Args<'_>, &dyn EnvironmentRegistry) -> Box<dyn ContextualPlan>;
/// Reads a policy.
pub type PolicyBuild = fn(&Args<'_>, &dyn FeatureRegistry) -> Box<dyn PolicyPlan>;

/// Reads a problem of online convex optimization.
pub type ProblemBuild = fn(&Args<'_>, &dyn ProblemRegistry) -> Box<dyn ProblemPlan>;
/// Reads a constraint set.
pub type SetBuild = fn(&Args<'_>) -> Box<dyn SetPlan>;
/// Reads a loss.
pub type LossBuild = fn(&Args<'_>) -> Arc<dyn Loss>;
/// Reads a learner.
pub type LearnerBuild = fn(&Args<'_>) -> Box<dyn LearnerPlan>;

/// The registered kernels.
pub static KERNELS: &[Entry<KernelBuild>] = &[
    Entry {
        name: "squared-exponential",
        summary: "exp(-r² / 2 l²)",
        paper: "Rasmussen2006",
        build: KernelBuild::Function(squared_exponential::parse),
    },
    Entry {
        name: "matern",
        summary: "Matern of any smoothness nu > 0",
        paper: "Rasmussen2006",
        build: KernelBuild::Function(matern::parse),
    },
    Entry {
        name: "additive",
        summary: "mean of a kernel over groups of coordinates",
        paper: "Mutny2018",
        build: KernelBuild::Composed(additive::parse),
    },
    Entry { name: "linear", summary: "x · y", paper: "Rasmussen2006", build: KernelBuild::Function(linear::parse) },
    Entry {
        name: "empirical-covariance",
        summary: "covariance of a train table's arms",
        paper: "Srinivas2010",
        build: KernelBuild::Empirical(empirical::parse),
    },
];

/// The registered feature maps.
pub static FEATURES: &[Entry<FeaturesBuild>] = &[
    Entry { name: "exact", summary: "pivoted Cholesky of the Gram matrix, to a tolerance", paper: "", build: features::exact },
    Entry {
        name: "nystrom",
        summary: "Nystrom features over a fixed dictionary of points",
        paper: "Zhou2021",
        build: features::nystrom,
    },
    Entry {
        name: "quadrature-fourier",
        summary: "cosines and sines at the nodes of a rule over the spectral density",
        paper: "Dubey2021",
        build: features::quadrature_fourier,
    },
    Entry {
        name: "random-fourier",
        summary: "cosines and sines at random frequencies",
        paper: "Rahimi2007",
        build: features::random_fourier,
    },
];

/// Mechanisms for one reward under local differential privacy.
pub static MECHANISMS: &[MechanismEntry] =
    &[none::ENTRY, laplace::ENTRY, duchi::ENTRY, piecewise::ENTRY, hybrid::ENTRY, gaussian::ENTRY];

/// Mechanisms for running sums (joint privacy) and for each user's own items (local privacy).
pub static SUMS: &[SumsEntry] =
    &[no_sums::ENTRY, joint::ENTRIES[0], joint::ENTRIES[1], joint::ENTRIES[2], joint::ENTRIES[3], local::ENTRY];
/// Mechanisms for the inputs of an outsourced problem.
pub static CURATORS: &[CuratorEntry] = &[input_noise::ENTRY, projection::PROJECTION, projection::ALWAYS_LIFT];

/// The registered environments.
pub static ENVIRONMENTS: &[Entry<EnvironmentBuild>] = &[
    Entry { name: "rkhs", summary: "random functions in the kernel's space", paper: "Zhou2021", build: rkhs::parse },
    Entry { name: "gp-sample", summary: "draws of the Gaussian process", paper: "Srinivas2010", build: gp_sample::parse },
    Entry {
        name: "arms-table",
        summary: "a CSV of readings: arms by columns, rounds by rows",
        paper: "Zhou2021",
        build: arms_table::parse,
    },
    Entry { name: "points-table", summary: "a CSV of points with values", paper: "Kharkovskii2020", build: points_table::parse },
    Entry { name: "branin", summary: "the Branin function of two coordinates", paper: "", build: branin::parse },
    Entry { name: "camelback", summary: "the six-hump camel of two coordinates", paper: "Mutny2018", build: camelback::parse },
    Entry {
        name: "styblinski-tang",
        summary: "the Styblinski-Tang function, additive",
        paper: "Mutny2018",
        build: styblinski_tang::parse,
    },
    Entry { name: "michalewicz", summary: "the Michalewicz function, additive", paper: "Mutny2018", build: michalewicz::parse },
    Entry { name: "hartmann-6", summary: "the Hartmann function of six coordinates", paper: "", build: hartmann::parse },
    Entry { name: "ackley", summary: "the Ackley function", paper: "", build: ackley::parse },
    Entry { name: "levy", summary: "the Levy function", paper: "", build: levy::parse },
];

/// The registered policies.
pub static POLICIES: &[Entry<PolicyBuild>] = &[
    Entry {
        name: "ata-gp-ucb",
        summary: "GP-UCB truncated in Nystrom feature space: LDP-ATA-GP-UCB, ATA-GP-UCB",
        paper: "Zhou2021",
        build: ata_gp_ucb::parse,
    },
    Entry { name: "gp-ucb", summary: "GP-UCB with the Bayesian exploration factor", paper: "Srinivas2010", build: gp_ucb::parse },
    Entry {
        name: "igp-ucb",
        summary: "GP-UCB with the improved frequentist exploration factor",
        paper: "Chowdhury2017",
        build: igp_ucb::parse,
    },
    Entry {
        name: "jdp-gp-ucb",
        summary: "GP-UCB over features from private sums: joint differential privacy",
        paper: "Dubey2021",
        build: jdp_gp_ucb::parse,
    },
    Entry {
        name: "jdp-linucb",
        summary: "linear UCB from private sums: joint differential privacy",
        paper: "ShariffSheffet2018",
        build: jdp_linucb::parse,
    },
    Entry {
        name: "local-jdp-gp-ucb",
        summary: "GP-UCB over features from everybody's own noisy item: local joint differential privacy",
        paper: "Dubey2021",
        build: local_jdp_gp_ucb::parse,
    },
    Entry {
        name: "moma-gp-ucb",
        summary: "median of means over Nystrom features: LDP-MoMA-GP-UCB, MoMA-GP-UCB",
        paper: "Zhou2021",
        build: moma_gp_ucb::parse,
    },
    Entry {
        name: "qff-gp-ucb",
        summary: "GP-UCB over quadrature Fourier features, without privacy of its own",
        paper: "Dubey2021",
        build: qff_gp_ucb::parse,
    },
    Entry { name: "rff-gp-ucb", summary: "GP-UCB over random Fourier features", paper: "Rahimi2007", build: rff_gp_ucb::parse },
    Entry {
        name: "tgp-ucb",
        summary: "GP-UCB on truncated rewards: LDP-TGP-UCB, TGP-UCB",
        paper: "Zhou2021",
        build: tgp_ucb::parse,
    },
    Entry { name: "uniform", summary: "a uniformly random point every round", paper: "", build: uniform::parse },
];

/// Problems of online convex optimization.
pub static PROBLEMS: &[Entry<ProblemBuild>] = &[
    Entry {
        name: "linear-regression",
        summary: "normal features on the dual norm's unit sphere, normal noise",
        paper: "Han2022",
        build: regression::parse_linear,
    },
    Entry {
        name: "logistic-regression",
        summary: "the same features, responses 0 and 1 with logistic odds",
        paper: "",
        build: regression::parse_logistic,
    },
];

/// The registered constraint sets.
pub static SETS: &[Entry<SetBuild>] = &[
    Entry { name: "lp-ball", summary: "|theta|_p <= radius, 1 <= p <= infinity", paper: "Han2022", build: lp_ball::parse },
    Entry { name: "simplex", summary: "nonnegative parameters of a given sum", paper: "", build: simplex::parse },
    Entry { name: "polytope", summary: "the hull of stated vertices", paper: "", build: polytope::parse },
];

/// Losses of linear predictions.
pub static LOSSES: &[Entry<LossBuild>] = &[
    Entry { name: "squared", summary: "(y - z)², its slope clipped (Huber)", paper: "Han2022", build: squared::parse },
    Entry { name: "logistic", summary: "ln(1 + e^z) - y z", paper: "", build: logistic::parse },
    Entry {
        name: "smoothed-absolute",
        summary: "absolute deviation, rounded at zero",
        paper: "",
        build: smoothed_absolute::parse,
    },
];

/// Learners of online convex optimization.
pub static LEARNERS: &[Entry<LearnerBuild>] = &[
    Entry {
        name: "dp-tofw",
        summary: "Frank-Wolfe on noisy prefix sums of recursive gradients",
        paper: "Han2022",
        build: dp_tofw::parse,
    },
    Entry { name: "dp-pofw", summary: "Frank-Wolfe on noisily chosen vertices", paper: "Han2022", build: dp_pofw::parse },
    Entry {
        name: "noisy-sfw",
        summary: "Frank-Wolfe on noisy batch gradients, each sample in one batch",
        paper: "BassilyGuzmanNandi2021",
        build: noisy_sfw::parse,
    },
    Entry {
        name: "noisy-sgd",
        summary: "n² noisy steps over stored samples; answers once",
        paper: "Bassily2020",
        build: noisy_sgd::parse,
    },
    Entry {
        name: "local-md",
        summary: "mirror descent in phases, 1 < p <= 2; one pass, our reading",
        paper: "Asi2021",
        build: local_md::parse,
    },
    Entry { name: "ofw", summary: "online Frank-Wolfe without privacy", paper: "Xie2020", build: ofw::parse },
    Entry {
        name: "projected-sgd",
        summary: "projected gradient descent without privacy, mean iterate",
        paper: "Zinkevich2003",
        build: projected_sgd::parse,
    },
];

/// Noises on gradients and choices; each learner decides which of them it supports.
pub static GRADIENT_NOISES: &[Entry<()>] = &[
    Entry { name: "none", summary: "no noise", paper: "", build: () },
    Entry {
        name: "gaussian",
        summary: "independent normals; what `auto` is for vectors in the tight calibration",
        paper: "Han2022",
        build: (),
    },
    Entry { name: "generalized-gaussian", summary: "exp(-|z|_+² / 2 sigma²) for a smooth norm", paper: "Han2022", build: () },
    Entry { name: "laplace", summary: "Laplace noise on the score of each vertex", paper: "Han2022", build: () },
    Entry {
        name: "gumbel",
        summary: "the exponential mechanism; what `auto` is for choices in the tight calibration",
        paper: "CesarRogers2021",
        build: (),
    },
];

/// Environments that show arms to users with contexts.
pub static CONTEXTUAL_ENVIRONMENTS: &[Entry<ContextualBuild>] = &[
    Entry {
        name: "generalized-linear",
        summary: "fresh contexts, a parameter vector an arm, linear or logistic rewards",
        paper: "Han2022",
        build: generalized_linear::parse,
    },
    Entry {
        name: "contexts-table",
        summary: "the users of a CSV, with every arm's reward or the right arm",
        paper: "Bastani2020",
        build: table::parse,
    },
    Entry {
        name: "logged-replay",
        summary: "a log with propensities: what a policy would have earned is estimated",
        paper: "Li2011",
        build: logged::parse,
    },
];

/// Policies that choose by contexts.
pub static CONTEXTUAL_POLICIES: &[Entry<ContextPolicyBuild>] = &[
    Entry {
        name: "dp-hdb",
        summary: "private high-dimensional bandit: Frank-Wolfe over the l1 ball, one stream an arm",
        paper: "Han2022",
        build: dp_hdb::parse,
    },
    Entry {
        name: "dp-linucb",
        summary: "upper confidence bounds from noisy running sums: joint privacy",
        paper: "Shariff2018",
        build: dp_linucb::parse,
    },
    Entry {
        name: "ldp-linucb",
        summary: "the same where everybody adds their own noise: local privacy",
        paper: "Zheng2020",
        build: dp_linucb::parse_local,
    },
    Entry {
        name: "linucb",
        summary: "upper confidence bounds of ridge models, not private",
        paper: "AbbasiYadkori2011",
        build: linucb::parse,
    },
    Entry {
        name: "lasso-bandit",
        summary: "sparse models of arms with forced samples, not private",
        paper: "Bastani2020",
        build: lasso_bandit::parse,
    },
    Entry {
        name: "epsilon-greedy",
        summary: "the largest ridge estimate, now and then a random arm; not private",
        paper: "",
        build: epsilon_greedy::parse,
    },
    Entry { name: "random-arm", summary: "a uniformly random arm every round", paper: "", build: random_arm::parse },
];
