//! Lists the learners that a spec can name, and the noises that they take.

use super::{
    LearnerPlan, dp_ftrl, dp_pofw, dp_tofw, local_md, noisy_giga, noisy_sfw, noisy_sgd, ofw, phased_sgd, projected_sgd,
    snowball_sgd,
};
use privateer_config::params::{List, Named};

/// A private learner without keys of its own.
macro_rules! private {
    ($learner:ident) => {
        |_| LearnerPlan::new(true, $learner::prepare)
    };
}

pub static LEARNERS: List<LearnerPlan> = &[
    Named::new("dp-tofw", "Frank-Wolfe on noisy prefix sums of recursive gradients", "Han2022", private!(dp_tofw)),
    Named::new("dp-pofw", "Frank-Wolfe on noisily chosen vertices", "Han2022", private!(dp_pofw)),
    Named::new(
        "dp-ftrl",
        "follow the regularised leader on noisy prefix sums of gradients, mean iterate",
        "Kairouz2021",
        dp_ftrl::parse,
    ),
    Named::new(
        "noisy-sfw",
        "Frank-Wolfe on noisy batch gradients, each sample in one batch",
        "BassilyGuzmanNandi2021",
        private!(noisy_sfw),
    ),
    Named::new("noisy-sgd", "n² noisy steps over stored samples; answers once", "Bassily2020", private!(noisy_sgd)),
    Named::new("local-md", "mirror descent in phases, 1 < p <= 2; one pass, our reading", "Asi2021", private!(local_md)),
    Named::new("phased-sgd", "descent in phases, one noisy mean a phase", "FeldmanKorenTalwar2020", private!(phased_sgd)),
    Named::new(
        "snowball-sgd",
        "noisy descent on growing batches; last iterate, our reading",
        "FeldmanKorenTalwar2020",
        private!(snowball_sgd),
    ),
    Named::new(
        "noisy-giga",
        "hidden descent on the regularised loss; every iterate is released, our reading",
        "JainKothariThakurta2012",
        private!(noisy_giga),
    ),
    Named::new("ofw", "online Frank-Wolfe without privacy", "Xie2020", |_| LearnerPlan::new(false, ofw::prepare)),
    Named::new("projected-sgd", "projected gradient descent without privacy, mean iterate", "Zinkevich2003", |_| {
        LearnerPlan::new(false, projected_sgd::prepare)
    }),
];

/// Noises on gradients and choices; each learner decides which of them it supports.
pub static GRADIENT_NOISES: &[Named<()>] = &[
    Named::new("none", "no noise", "", ()),
    Named::new("gaussian", "independent normals; what `auto` is for vectors in the tight calibration", "Han2022", ()),
    Named::new(
        "privunit",
        "a point of a sphere in place of one vector; what `auto` is for single gradients where it has less noise",
        "Bhowmick2018",
        (),
    ),
    Named::new("generalized-gaussian", "exp(-|z|_+² / 2 sigma²) for a smooth norm", "Han2022", ()),
    Named::new("laplace", "Laplace noise on the score of each vertex", "Han2022", ()),
    Named::new("gumbel", "the exponential mechanism; what `auto` is for choices in the tight calibration", "CesarRogers2021", ()),
];
