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
    Features(Arc<FeatureTable>, f64, Vec<(String, serde_json::Value)>),
}

impl PosteriorPlan {
    /// Reads the key `features`: without one, the posterior is exact.
    pub fn parse(args: &Args<'_>, parts: &dyn Parts) -> Self {
        parts.features(args, "features").map_or(Self::Exact, Self::Features)
    }

    /// Reads the key `features` where only one map will do, which `build` reads; that map with its defaults when absent.
    pub fn parse_of(args: &Args<'_>, kind: &'static str, build: fn(&Args<'_>) -> Arc<dyn FeaturesPlan>) -> Self {
        let Some(variant) = args.variant("features", "the feature map, for its keys", &[kind], Some(kind)) else {
            return Self::Exact;
        };
        let features = build(&variant.args);
        args.absorb(&variant.args);
        Self::Features(features)
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
                let facts = plan.facts(problem, &table);
                PreparedPosterior::Features(table, prior_bound, facts)
            }
        })
    }
}

impl PreparedPosterior {
    /// The basis of the scores.
    pub fn basis(&self) -> Basis {
        match self {
            Self::Exact(gram, _) => Basis::Gram(Arc::clone(gram)),
            Self::Features(table, ..) => Basis::Table(Arc::clone(table)),
        }
    }

    /// What the manifest must say of the features.
    pub fn facts(&self) -> &[(String, serde_json::Value)] {
        match self {
            Self::Exact(..) => &[],
            Self::Features(.., facts) => facts,
        }
    }

    /// Number of features and their stated kernel error; zeros without features.
    pub fn feature_error(&self) -> (usize, f64) {
        match self {
            Self::Exact(..) => (0, 0.0),
            Self::Features(table, ..) => (table.n_features, table.kernel_error),
        }
    }

    /// The prior of one trial.
    pub fn prior(&self, ridge: f64) -> Box<dyn Posterior> {
        match self {
            Self::Exact(gram, bound) => Box::new(ExactPosterior::with_prior_bound(Arc::clone(gram), *bound, ridge)),
            Self::Features(table, bound, _) => Box::new(FeaturePosterior::with_prior_bound(Arc::clone(table), *bound, ridge)),
        }
    }

    /// The posterior whose state was saved.
    pub fn restore(&self, state: serde_json::Value) -> Result<Box<dyn Posterior>, serde_json::Error> {
        Ok(match self {
            Self::Exact(gram, _) => Box::new(ExactPosterior::restore(Arc::clone(gram), state)?),
            Self::Features(table, ..) => Box::new(FeaturePosterior::restore(Arc::clone(table), state)?),
        })
    }
}
