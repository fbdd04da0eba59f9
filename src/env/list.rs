//! Lists the environments that a spec can name.

use super::contextual::{Contextual, generalized_linear, logged, table};
use super::test_function::{TestEnvironment, ackley, branin, camelback, hartmann, levy, michalewicz, styblinski_tang};
use super::{EnvironmentPlan, arms_table, gp_sample, points_table, rkhs};
use privateer_config::params::{List, Named};

/// The registered environments.
pub static ENVIRONMENTS: List<EnvironmentPlan> = &[
    Named::new("rkhs", "random functions in the kernel's space", "Zhou2021", rkhs::parse),
    Named::new("gp-sample", "draws of the Gaussian process", "Srinivas2010", gp_sample::parse),
    Named {
        name: "arms-table",
        summary: "a CSV of readings: arms by columns, rounds by rows",
        paper: "Zhou2021",
        build: arms_table::parse,
    },
    Named::new("points-table", "a CSV of points with values", "Kharkovskii2020", points_table::parse),
    Named::new("branin", "the Branin function of two coordinates", "", |args| TestEnvironment::parse(&branin::BRANIN, args)),
    Named::new("camelback", "the six-hump camel of two coordinates", "Mutny2018", |args| {
        TestEnvironment::parse(&camelback::CAMELBACK, args)
    }),
    Named {
        name: "styblinski-tang",
        summary: "the Styblinski-Tang function, additive",
        paper: "Mutny2018",
        build: |args| TestEnvironment::parse(&styblinski_tang::STYBLINSKI_TANG, args),
    },
    Named {
        name: "michalewicz",
        summary: "the Michalewicz function, additive",
        paper: "Mutny2018",
        build: |args| TestEnvironment::parse(&michalewicz::MICHALEWICZ, args),
    },
    Named::new("hartmann-6", "the Hartmann function of six coordinates", "", |args| {
        TestEnvironment::parse(&hartmann::HARTMANN_6, args)
    }),
    Named::new("ackley", "the Ackley function", "", |args| TestEnvironment::parse(&ackley::ACKLEY, args)),
    Named::new("levy", "the Levy function", "", |args| TestEnvironment::parse(&levy::LEVY, args)),
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
    Named::new("logged-replay", "a log with propensities: what a policy would have earned is estimated", "Li2011", logged::parse),
];
