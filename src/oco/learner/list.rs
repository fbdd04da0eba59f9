//! Lists the learners that a spec can name, and the noises that they take.

use super::{
    LearnerPlan, dp_ftrl, dp_pofw, dp_tofw, local_md, noisy_giga, noisy_sfw, noisy_sgd, ofw, phased_sgd, projected_sgd,
    snowball_sgd,
};
use privateer_config::params::{List, Named};

/// Learners of online convex optimization.
pub static LEARNERS: List<LearnerPlan> = &[
    Named {
        name: "dp-tofw",
        summary: "Frank-Wolfe on noisy prefix sums of recursive gradients",
        paper: "Han2022",
        build: |_| LearnerPlan::new(true, dp_tofw::prepare),
    },
    Named {
        name: "dp-pofw",
        summary: "Frank-Wolfe on noisily chosen vertices",
        paper: "Han2022",
        build: |_| LearnerPlan::new(true, dp_pofw::prepare),
    },
    Named {
        name: "dp-ftrl",
        summary: "follow the regularised leader on noisy prefix sums of gradients, mean iterate",
        paper: "Kairouz2021",
        build: dp_ftrl::parse,
    },
    Named {
        name: "noisy-sfw",
        summary: "Frank-Wolfe on noisy batch gradients, each sample in one batch",
        paper: "BassilyGuzmanNandi2021",
        build: |_| LearnerPlan::new(true, noisy_sfw::prepare),
    },
    Named {
        name: "noisy-sgd",
        summary: "n² noisy steps over stored samples; answers once",
        paper: "Bassily2020",
        build: |_| LearnerPlan::new(true, noisy_sgd::prepare),
    },
    Named {
        name: "local-md",
        summary: "mirror descent in phases, 1 < p <= 2; one pass, our reading",
        paper: "Asi2021",
        build: |_| LearnerPlan::new(true, local_md::prepare),
    },
    Named {
        name: "phased-sgd",
        summary: "descent in phases, one noisy mean a phase",
        paper: "FeldmanKorenTalwar2020",
        build: |_| LearnerPlan::new(true, phased_sgd::prepare),
    },
    Named {
        name: "snowball-sgd",
        summary: "noisy descent on growing batches; last iterate, our reading",
        paper: "FeldmanKorenTalwar2020",
        build: |_| LearnerPlan::new(true, snowball_sgd::prepare),
    },
    Named {
        name: "noisy-giga",
        summary: "hidden descent on the regularised loss; every iterate is released, our reading",
        paper: "JainKothariThakurta2012",
        build: |_| LearnerPlan::new(true, noisy_giga::prepare),
    },
    Named {
        name: "ofw",
        summary: "online Frank-Wolfe without privacy",
        paper: "Xie2020",
        build: |_| LearnerPlan::new(false, ofw::prepare),
    },
    Named {
        name: "projected-sgd",
        summary: "projected gradient descent without privacy, mean iterate",
        paper: "Zinkevich2003",
        build: |_| LearnerPlan::new(false, projected_sgd::prepare),
    },
];

/// Noises on gradients and choices; each learner decides which of them it supports.
pub static GRADIENT_NOISES: &[Named<()>] = &[
    Named { name: "none", summary: "no noise", paper: "", build: () },
    Named {
        name: "gaussian",
        summary: "independent normals; what `auto` is for vectors in the tight calibration",
        paper: "Han2022",
        build: (),
    },
    Named {
        name: "privunit",
        summary: "a point of a sphere in place of one vector; what `auto` is for single gradients where it has less noise",
        paper: "Bhowmick2018",
        build: (),
    },
    Named { name: "generalized-gaussian", summary: "exp(-|z|_+² / 2 sigma²) for a smooth norm", paper: "Han2022", build: () },
    Named { name: "laplace", summary: "Laplace noise on the score of each vertex", paper: "Han2022", build: () },
    Named {
        name: "gumbel",
        summary: "the exponential mechanism; what `auto` is for choices in the tight calibration",
        paper: "CesarRogers2021",
        build: (),
    },
];
