//! Selects the posterior of a GP policy.

use super::{FeaturesPlan, InputNoiseModel, KnownInputs, Problem, Setting, SharedInputs, parse_features};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::posterior::{CovariancePosterior, ExactPosterior, FeaturePosterior, Posterior};
use privateer_gp::score::{AxisFeatures, Basis, FeatureTable, GramSource};
use std::sync::Arc;

/// Describes the posterior as read from a spec.
#[derive(Clone)]
pub enum PosteriorPlan {
    /// Over the visited points, from the kernel itself; the field treats noise on the inputs.
    Exact(InputNoiseModel),
    /// Over a feature table shared by all trials.
    Features(Arc<dyn FeaturesPlan>),
}

/// Holds the posterior prepared for one problem, with a bound on the prior variance.
#[derive(Debug, Clone)]
pub enum PreparedPosterior {
    /// See [`PosteriorPlan::Exact`], over inputs that all trials share.
    Exact(Arc<dyn GramSource>, f64),
    /// The exact posterior over inputs that a curator releases, different ones in every trial.
    Own { n_points: usize, kernel: Arc<dyn Kernel>, input_noise: InputNoiseModel },
    /// See [`PosteriorPlan::Features`].
    Features {
        table: Arc<FeatureTable>,
        /// Axes of the table, over a product domain.
        axes: Option<Arc<[AxisFeatures]>>,
        prior_bound: f64,
        facts: Facts,
    },
}

impl PosteriorPlan {
    /// Reads the keys `features` (without it, the posterior is exact) and `input_noise`.
    pub fn parse(args: &Args<'_>) -> Self {
        let input_noise = InputNoiseModel::parse(args);
        parse_features(args).map_or(Self::Exact(input_noise), Self::Features)
    }

    pub fn prepare(&self, problem: &Problem) -> Result<PreparedPosterior, Error> {
        Ok(match (self, &problem.inputs) {
            (Self::Exact(_), KnownInputs::Shared(SharedInputs { gram, .. })) => {
                PreparedPosterior::Exact(Arc::clone(gram), ExactPosterior::prior_bound(gram.as_ref()))
            }
            (Self::Exact(input_noise), KnownInputs::Released { n_points, kernel }) => {
                PreparedPosterior::Own { n_points: *n_points, kernel: Arc::clone(kernel), input_noise: *input_noise }
            }
            (Self::Exact(_), KnownInputs::Product(_)) => {
                problem.shared()?;
                return Diagnostic::new("an exact posterior needs a list of points").refuse();
            }
            (Self::Features(plan), _) => {
                let (table, prior_bound) = problem.tables.table(plan.as_ref(), problem)?;
                let axes = plan.axes(problem);
                let facts = plan.facts(problem, &table);
                PreparedPosterior::Features { table, axes, prior_bound, facts }
            }
        })
    }
}

impl PreparedPosterior {
    pub fn basis(&self) -> Basis {
        match self {
            Self::Exact(gram, _) => Basis::Gram(Arc::clone(gram)),
            Self::Own { n_points, .. } => Basis::Own(*n_points),
            Self::Features { table, .. } => Basis::Table(Arc::clone(table)),
        }
    }

    pub fn facts(&self) -> Facts {
        if let Self::Features { facts, .. } = self { facts.clone() } else { Facts::default() }
    }

    /// Returns the number of features and their stated kernel error; zeros without features.
    pub fn feature_error(&self) -> (usize, f64) {
        if let Self::Features { table, .. } = self { (table.n_features, table.kernel_error) } else { (0, 0.0) }
    }

    pub fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        if let Self::Features { axes, .. } = self { axes.clone() } else { None }
    }

    pub fn prior(&self, setting: &Setting, ridge: f64) -> Result<Box<dyn Posterior>, Error> {
        Ok(match self {
            Self::Exact(gram, bound) if CovariancePosterior::suits(gram.n_points(), *bound, ridge) => {
                Box::new(CovariancePosterior::new(Arc::clone(gram), *bound, ridge))
            }
            Self::Exact(gram, bound) => Box::new(ExactPosterior::with_prior_bound(Arc::clone(gram), *bound, ridge)),
            Self::Own { kernel, input_noise, .. } => {
                let released_inputs = setting.released_inputs.as_ref().ok_or_else(|| Error::Failed {
                    problem: "a policy over a curator's released inputs was made without any".to_owned(),
                    hint: "this is a fault of the program, not of the spec: please report it".to_owned(),
                })?;
                let covariance = input_noise.covariance(released_inputs, kernel)?;
                Box::new(ExactPosterior::new(Arc::new(covariance), ridge).over_own_inputs())
            }
            Self::Features { table, axes, prior_bound, .. } => {
                let posterior = FeaturePosterior::with_prior_bound(Arc::clone(table), *prior_bound, ridge);
                Box::new(match axes {
                    Some(axes) => posterior.over_axes(Arc::clone(axes)),
                    None => posterior,
                })
            }
        })
    }
}
