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

/// The posterior made ready for one problem, with the bound on the prior variance that its trials share.
#[derive(Debug, Clone)]
pub enum PreparedPosterior {
    /// See [`PosteriorPlan::Exact`].
    Exact(Arc<dyn GramSource>, f64),
    /// See [`PosteriorPlan::Features`].
    Features(Arc<FeatureTable>, f64),
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
            Self::Exact => {
                PreparedPosterior::Exact(Arc::clone(&problem.gram), ExactPosterior::prior_bound(problem.gram.as_ref()))
            }
            Self::Features(plan) => {
                let table = problem.tables.table(plan.as_ref(), problem)?;
                let prior_bound = FeaturePosterior::prior_bound(&table);
                PreparedPosterior::Features(table, prior_bound)
            }
        })
    }
}

impl PreparedPosterior {
    /// The basis of the scores.
    pub fn basis(&self) -> Basis {
        match self {
            Self::Exact(gram, _) => Basis::Gram(Arc::clone(gram)),
            Self::Features(table, _) => Basis::Table(Arc::clone(table)),
        }
    }

    /// The prior of one trial.
    pub fn prior(&self, ridge: f64) -> Box<dyn Posterior> {
        match self {
            Self::Exact(gram, bound) => Box::new(ExactPosterior::with_prior_bound(Arc::clone(gram), *bound, ridge)),
            Self::Features(table, bound) => Box::new(FeaturePosterior::with_prior_bound(Arc::clone(table), *bound, ridge)),
        }
    }

    /// The posterior whose state was saved.
    pub fn restore(&self, state: serde_json::Value) -> Result<Box<dyn Posterior>, serde_json::Error> {
        Ok(match self {
            Self::Exact(gram, _) => Box::new(ExactPosterior::restore(Arc::clone(gram), state)?),
            Self::Features(table, _) => Box::new(FeaturePosterior::restore(Arc::clone(table), state)?),
        })
    }
}
