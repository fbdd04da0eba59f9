//! Lists the environments that a spec can name.

use super::contextual::{Contextual, generalized_linear, logged, table};
use super::test_function::{ackley, branin, camelback, hartmann, levy, michalewicz, styblinski_tang};
use super::{EnvironmentPlan, arms_table, gp_sample, points_table, rkhs};
use privateer_config::params::{List, Named};

/// The registered environments.
pub static ENVIRONMENTS: List<EnvironmentPlan> = &[
    Named { name: "rkhs", summary: "random functions in the kernel's space", paper: "Zhou2021", build: rkhs::parse },
    Named { name: "gp-sample", summary: "draws of the Gaussian process", paper: "Srinivas2010", build: gp_sample::parse },
    Named {
        name: "arms-table",
        summary: "a CSV of readings: arms by columns, rounds by rows",
        paper: "Zhou2021",
        build: arms_table::parse,
    },
    Named { name: "points-table", summary: "a CSV of points with values", paper: "Kharkovskii2020", build: points_table::parse },
    Named { name: "branin", summary: "the Branin function of two coordinates", paper: "", build: branin::parse },
    Named { name: "camelback", summary: "the six-hump camel of two coordinates", paper: "Mutny2018", build: camelback::parse },
    Named {
        name: "styblinski-tang",
        summary: "the Styblinski-Tang function, additive",
        paper: "Mutny2018",
        build: styblinski_tang::parse,
    },
    Named { name: "michalewicz", summary: "the Michalewicz function, additive", paper: "Mutny2018", build: michalewicz::parse },
    Named { name: "hartmann-6", summary: "the Hartmann function of six coordinates", paper: "", build: hartmann::parse },
    Named { name: "ackley", summary: "the Ackley function", paper: "", build: ackley::parse },
    Named { name: "levy", summary: "the Levy function", paper: "", build: levy::parse },
];

/// Environments that show arms to users with contexts.
pub static CONTEXTUAL_ENVIRONMENTS: List<EnvironmentPlan<Contextual>> = &[
    Named {
        name: "generalized-linear",
        summary: "fresh contexts, a parameter vector an arm, linear or logistic rewards",
        paper: "Han2022",
        build: generalized_linear::parse,
    },
    Named {
        name: "contexts-table",
        summary: "the users of a CSV, with every arm's reward or the right arm",
        paper: "Bastani2020",
        build: table::parse,
    },
    Named {
        name: "logged-replay",
        summary: "a log with propensities: what a policy would have earned is estimated",
        paper: "Li2011",
        build: logged::parse,
    },
];
