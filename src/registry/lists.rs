//! The lists.

use super::Entry;
pub use crate::env::noise::NOISES;
use crate::env::test_function::{ackley, branin, camelback, hartmann, levy, michalewicz, styblinski_tang};
use crate::env::{EnvironmentPlan, Parts as EnvironmentParts, arms_table, gp_sample, points_table, rkhs};
use crate::gp::kernel::empirical::Normalise;
use crate::gp::kernel::{Kernel, Parts as KernelParts, additive, empirical, linear, matern, squared_exponential};
use crate::params::Args;
use crate::policy::{
    FeaturesPlan, Parts as PolicyParts, PolicyPlan, ata_gp_ucb, features, gp_ucb, igp_ucb, jdp_gp_ucb, jdp_linucb,
    local_jdp_gp_ucb, moma_gp_ucb, qff_gp_ucb, rff_gp_ucb, tgp_ucb, uniform,
};
use crate::privacy::MechanismEntry;
use crate::privacy::curator::{CuratorEntry, input_noise, projection};
use crate::privacy::mechanism::{duchi, gaussian, hybrid, laplace, none, piecewise};
use crate::privacy::sums::{SumsEntry, joint, local, none as no_sums};
use std::sync::Arc;

/// How a kernel is made.
#[derive(Debug, Clone, Copy)]
pub enum KernelBuild {
    /// A function of two points.
    Function(fn(&Args<'_>) -> Arc<dyn Kernel>),
    /// A function of two points that is made of another kernel; `None` after a mistake.
    Composed(fn(&Args<'_>, &dyn KernelParts) -> Option<Arc<dyn Kernel>>),
    /// From a table of samples.
    Empirical(fn(&Args<'_>) -> Normalise),
}

/// Reads a feature map.
pub type FeaturesBuild = fn(&Args<'_>) -> Arc<dyn FeaturesPlan>;
/// Reads an environment.
pub type EnvironmentBuild = fn(&Args<'_>, &dyn EnvironmentParts) -> Box<dyn EnvironmentPlan>;
/// Reads a policy.
pub type PolicyBuild = fn(&Args<'_>, &dyn PolicyParts) -> Box<dyn PolicyPlan>;

/// Kernels.
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

/// Feature maps.
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

/// Mechanisms for running sums under joint differential privacy, and for everybody's own items under its local version.
pub static SUMS: &[SumsEntry] =
    &[no_sums::ENTRY, joint::ENTRIES[0], joint::ENTRIES[1], joint::ENTRIES[2], joint::ENTRIES[3], local::ENTRY];
/// Mechanisms for the inputs of an outsourced problem.
pub static CURATORS: &[CuratorEntry] = &[input_noise::ENTRY, projection::PROJECTION, projection::ALWAYS_LIFT];

/// Environments.
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

/// Policies.
pub static POLICIES: &[Entry<PolicyBuild>] = &[
    Entry {
        name: "ata-gp-ucb",
        summary: "GP-UCB truncated in Nystrom feature space: LDP-ATA-GP-UCB, ATA-GP-UCB",
        paper: "Zhou2021",
        build: ata_gp_ucb::parse,
    },
    Entry { name: "gp-ucb", summary: "GP-UCB with the Bayesian width", paper: "Srinivas2010", build: gp_ucb::parse },
    Entry {
        name: "igp-ucb",
        summary: "GP-UCB with the improved frequentist width",
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
