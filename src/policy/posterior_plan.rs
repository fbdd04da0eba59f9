//! Which posterior a GP policy keeps.

use super::{FeaturesPlan, Parts, Problem};
use crate::error::Error;
use crate::gp::posterior::{ExactPosterior, FeaturePosterior, Posterior};
use crate::params::Args;
use crate::score::{Basis, FeatureTable, GramSource};
use std::sync::Arc;

/// The posterior as read from a spec.
#[derive(Clone)]
pub enum PosteriorPlan {
    /// Over the points visited, from the kernel itself.
    Exact,
    /// Over a feature table shared by all trials.
    Features(Arc<dyn FeaturesPlan>),
}

/// The posterior made ready for one problem.
#[derive(Debug, Clone)]
pub enum PreparedPosterior {
    /// See [`PosteriorPlan::Exact`].
    Exact(Arc<dyn GramSource>),
    /// See [`PosteriorPlan::Features`].
    Features(Arc<FeatureTable>),
}

impl PosteriorPlan {
    /// Reads the key `features`: without one, the posterior is exact.
    pub fn parse(args: &Args<'_>, parts: &dyn Parts) -> Self {
        parts.features(args, "features").map_or(Self::Exact, Self::Features)
    }

    /// Builds the feature table, if there is one.
    ///
    /// # Errors
    /// As the feature map's.
    pub fn prepare(&self, problem: &Problem) -> Result<PreparedPosterior, Error> {
        Ok(match self {
            Self::Exact => PreparedPosterior::Exact(Arc::clone(&problem.gram)),
            Self::Features(plan) => PreparedPosterior::Features(problem.tables.table(plan.as_ref(), problem)?),
        })
    }
}

impl PreparedPosterior {
    /// The basis of the scores.
    pub fn basis(&self) -> Basis {
        match self {
            Self::Exact(gram) => Basis::Gram(Arc::clone(gram)),
            Self::Features(table) => Basis::Table(Arc::clone(table)),
        }
    }

    /// The prior of one trial.
    pub fn prior(&self, ridge: f64) -> Box<dyn Posterior> {
        match self {
            Self::Exact(gram) => Box::new(ExactPosterior::new(Arc::clone(gram), ridge)),
            Self::Features(table) => Box::new(FeaturePosterior::new(Arc::clone(table), ridge)),
        }
    }

    /// The posterior whose state was saved.
    pub fn restore(&self, state: serde_json::Value) -> Result<Box<dyn Posterior>, serde_json::Error> {
        Ok(match self {
            Self::Exact(gram) => Box::new(ExactPosterior::restore(Arc::clone(gram), state)?),
            Self::Features(table) => Box::new(FeaturePosterior::restore(Arc::clone(table), state)?),
        })
    }
}
