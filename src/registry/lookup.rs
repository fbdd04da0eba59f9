//! Looks up names for parsers that need items of other modules.

use super::Entry;
use super::lists::{FEATURES, KERNELS, KernelBuild, LOSSES, SETS};
use crate::env::noise::{Noise, noise_kinds, parse_noise};
use crate::env::{EnvironmentRegistry, KernelChoice};
use crate::oco::loss::Loss;
use crate::oco::problem::ProblemRegistry;
use crate::oco::set::SetPlan;
use crate::policy::{FeatureRegistry, FeaturesPlan};
use privateer_config::params::Args;
use privateer_gp::kernel::{Kernel, KernelRegistry};
use std::sync::Arc;

/// Represents the registry as the supplier of items to parsers.
#[derive(Debug, Clone, Copy)]
pub struct Registry;

/// Returns the entry of this name.
#[must_use]
pub fn find<B>(entries: &'static [Entry<B>], name: &str) -> Option<&'static Entry<B>> {
    entries.iter().find(|entry| entry.name == name)
}

/// Returns the names of a list, in its order.
#[must_use]
pub fn names<B>(entries: &'static [Entry<B>]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.name).collect()
}

impl EnvironmentRegistry for Registry {
    fn kernel(&self, args: &Args<'_>, key: &'static str) -> Option<KernelChoice> {
        let variant = args.required_variant(key, "prior covariance", &names(KERNELS))?;
        let choice = match find(KERNELS, &variant.kind)?.build {
            KernelBuild::Function(build) => KernelChoice::Function(build(&variant.args)),
            KernelBuild::Composed(build) => KernelChoice::Function(build(&variant.args, self)?),
            KernelBuild::Empirical(build) => KernelChoice::Empirical(build(&variant.args)),
        };
        args.absorb(&variant.args);
        Some(choice)
    }

    fn noise(&self, args: &Args<'_>, key: &'static str) -> Option<Arc<dyn Noise>> {
        let variant = args.required_variant(key, "observation noise", &noise_kinds())?;
        let noise = parse_noise(&variant);
        args.absorb(&variant.args);
        Some(noise)
    }
}

impl KernelRegistry for Registry {
    fn part(&self, args: &Args<'_>, key: &'static str) -> Option<Arc<dyn Kernel>> {
        let plain = |entry: &&Entry<KernelBuild>| matches!(entry.build, KernelBuild::Function(_));
        let kinds: Vec<&'static str> = KERNELS.iter().filter(plain).map(|entry| entry.name).collect();
        let variant = args.required_variant(key, "the kernel of which this one is made", &kinds)?;
        let KernelBuild::Function(build) = find(KERNELS, &variant.kind)?.build else { return None };
        let kernel = build(&variant.args);
        args.absorb(&variant.args);
        Some(kernel)
    }
}

impl ProblemRegistry for Registry {
    fn set(&self, args: &Args<'_>, key: &'static str) -> Option<Box<dyn SetPlan>> {
        let variant = args.required_variant(key, "where parameters live", &names(SETS))?;
        let set = (find(SETS, &variant.kind)?.build)(&variant.args);
        variant.args.finish();
        args.absorb(&variant.args);
        Some(set)
    }

    fn loss(&self, args: &Args<'_>, key: &'static str, default: &'static str) -> Option<Arc<dyn Loss>> {
        let variant = args.variant(key, "what is minimised", &names(LOSSES), Some(default))?;
        let loss = (find(LOSSES, &variant.kind)?.build)(&variant.args);
        variant.args.finish();
        args.absorb(&variant.args);
        Some(loss)
    }
}

impl FeatureRegistry for Registry {
    fn features(&self, args: &Args<'_>, key: &'static str) -> Option<Arc<dyn FeaturesPlan>> {
        let variant = args.variant(
            key,
            "feature map; without one the posterior is exact, over the points visited",
            &names(FEATURES),
            None,
        )?;
        let features = (find(FEATURES, &variant.kind)?.build)(&variant.args);
        args.absorb(&variant.args);
        Some(features)
    }
}
