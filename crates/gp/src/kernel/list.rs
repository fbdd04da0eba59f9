//! Lists the kernels that a spec can name, and reads them.

use super::empirical::Normalise;
use super::{Kernel, additive, empirical, linear, matern, squared_exponential};
use privateer_config::params::{Args, Items, Named, find};
use std::sync::Arc;

/// States how a kernel is constructed.
#[derive(Debug, Clone, Copy)]
pub enum KernelBuild {
    /// A function of two points.
    Function(fn(&Args<'_>) -> Arc<dyn Kernel>),
    /// A function of two points that is built from another kernel; `None` after a mistake.
    Composed(fn(&Args<'_>) -> Option<Arc<dyn Kernel>>),
    /// A covariance computed from a table of samples.
    Empirical(fn(&Args<'_>) -> Normalise),
}

/// Describes a kernel as a spec can name it.
#[derive(Clone)]
pub enum KernelChoice {
    /// A function of two points.
    Function(Arc<dyn Kernel>),
    /// A covariance computed from a table of samples.
    Empirical(Normalise),
}

/// The registered kernels.
pub static KERNELS: &[Named<KernelBuild>] = &[
    Named::new("squared-exponential", "exp(-r² / 2 l²)", "Rasmussen2006", KernelBuild::Function(squared_exponential::parse)),
    Named::new("matern", "Matern of any smoothness nu > 0", "Rasmussen2006", KernelBuild::Function(matern::parse)),
    Named::new("additive", "mean of a kernel over groups of coordinates", "Mutny2018", KernelBuild::Composed(additive::parse)),
    Named::new("linear", "x · y", "Rasmussen2006", KernelBuild::Function(linear::parse)),
    Named::new(
        "empirical-covariance",
        "covariance of a train table's arms",
        "Srinivas2010",
        KernelBuild::Empirical(empirical::parse),
    ),
];

/// Reads a kernel under `key`; `None` if it is wrong (an error is then recorded).
pub fn parse_kernel(args: &Args<'_>, key: &'static str) -> Option<KernelChoice> {
    parse(args, key, "prior covariance", |_| true)
}

/// Reads the kernel of which a composed one is made; `None` if it is wrong (an error is then recorded).
pub(super) fn parse_part(args: &Args<'_>, key: &'static str) -> Option<Arc<dyn Kernel>> {
    let is_plain = |build: &KernelBuild| matches!(build, KernelBuild::Function(_));
    match parse(args, key, "the kernel of which this one is made", is_plain)? {
        KernelChoice::Function(kernel) => Some(kernel),
        KernelChoice::Empirical(_) => None,
    }
}

/// Reads one of the listed kernels that are `allowed`, or of those that the program adds.
fn parse(args: &Args<'_>, key: &'static str, doc: &'static str, allowed: fn(&KernelBuild) -> bool) -> Option<KernelChoice> {
    let added: Items<'_, Arc<dyn Kernel>> = args.items(&[]);
    let listed = KERNELS.iter().filter(|entry| allowed(&entry.build)).map(|entry| entry.name);
    let kinds: Vec<&'static str> = listed.chain(added.names()).collect();
    let variant = args.required_variant(key, doc, &kinds)?;
    let choice = match find(KERNELS, &variant.kind).map(|entry| entry.build) {
        Some(KernelBuild::Function(build)) => KernelChoice::Function(build(&variant.args)),
        Some(KernelBuild::Composed(build)) => KernelChoice::Function(build(&variant.args)?),
        Some(KernelBuild::Empirical(build)) => KernelChoice::Empirical(build(&variant.args)),
        None => KernelChoice::Function(added.read(&variant.kind, &variant.args)?),
    };
    args.absorb(&variant.args);
    Some(choice)
}
