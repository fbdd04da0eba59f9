//! Lists the kernels that a spec can name, and reads them.

use super::empirical::Normalise;
use super::{Kernel, additive, empirical, linear, matern, squared_exponential};
use privateer_config::params::{Args, Items, Named, find, names};
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

/// Returns the kernels that the program adds to the list.
fn added<'a>(args: &Args<'a>) -> Items<'a, Arc<dyn Kernel>> {
    args.items(&[])
}

/// Reads a kernel under `key`; `None` if it is wrong (an error is then recorded).
pub fn parse_kernel(args: &Args<'_>, key: &'static str) -> Option<KernelChoice> {
    let added = added(args);
    let kinds: Vec<&'static str> = names(KERNELS).into_iter().chain(added.names()).collect();
    let variant = args.required_variant(key, "prior covariance", &kinds)?;
    let choice = match find(KERNELS, &variant.kind).map(|entry| entry.build) {
        Some(KernelBuild::Function(build)) => KernelChoice::Function(build(&variant.args)),
        Some(KernelBuild::Composed(build)) => KernelChoice::Function(build(&variant.args)?),
        Some(KernelBuild::Empirical(build)) => KernelChoice::Empirical(build(&variant.args)),
        None => KernelChoice::Function(added.read(&variant.kind, &variant.args)?),
    };
    args.absorb(&variant.args);
    Some(choice)
}

/// Reads the kernel of which a composed one is made; `None` if it is wrong (an error is then recorded).
pub(super) fn parse_part(args: &Args<'_>, key: &'static str) -> Option<Arc<dyn Kernel>> {
    let plain = |entry: &&Named<KernelBuild>| matches!(entry.build, KernelBuild::Function(_));
    let added = added(args);
    let kinds: Vec<&'static str> = KERNELS.iter().filter(plain).map(|entry| entry.name).chain(added.names()).collect();
    let variant = args.required_variant(key, "the kernel of which this one is made", &kinds)?;
    let kernel = match find(KERNELS, &variant.kind).map(|entry| entry.build) {
        Some(KernelBuild::Function(build)) => build(&variant.args),
        Some(_) => return None,
        None => added.read(&variant.kind, &variant.args)?,
    };
    args.absorb(&variant.args);
    Some(kernel)
}
