//! Lists the environments that a spec can name.

use super::contextual::{Contextual, generalized_linear, logged, table};
use super::test_function::{TestEnvironment, ackley, branin, camelback, hartmann, levy, michalewicz, styblinski_tang};
use super::{EnvironmentPlan, arms_table, gp_sample, points_table, rkhs};
use privateer_config::params::{List, Named};

pub static ENVIRONMENTS: List<EnvironmentPlan> = &[
    Named::new("rkhs", "random functions in the kernel's space", "Zhou2021", rkhs::parse),
    Named::new("gp-sample", "draws of the Gaussian process", "Srinivas2010", gp_sample::parse),
    Named::new("arms-table", "a CSV of readings: arms by columns, rounds by rows", "Zhou2021", arms_table::parse),
    Named::new("points-table", "a CSV of points with values", "Kharkovskii2020", points_table::parse),
    Named::new("branin", "the Branin function of two coordinates", "", |args| TestEnvironment::parse(&branin::BRANIN, args)),
    Named::new("camelback", "the six-hump camel of two coordinates", "Mutny2018", |args| {
        TestEnvironment::parse(&camelback::CAMELBACK, args)
    }),
    Named::new("styblinski-tang", "the Styblinski-Tang function, additive", "Mutny2018", |args| {
        TestEnvironment::parse(&styblinski_tang::STYBLINSKI_TANG, args)
    }),
    Named::new("michalewicz", "the Michalewicz function, additive", "Mutny2018", |args| {
        TestEnvironment::parse(&michalewicz::MICHALEWICZ, args)
    }),
    Named::new("hartmann-6", "the Hartmann function of six coordinates", "", |args| {
        TestEnvironment::parse(&hartmann::HARTMANN_6, args)
    }),
    Named::new("ackley", "the Ackley function", "", |args| TestEnvironment::parse(&ackley::ACKLEY, args)),
    Named::new("levy", "the Levy function", "", |args| TestEnvironment::parse(&levy::LEVY, args)),
];

/// Environments that show arms to users with contexts.
pub static CONTEXTUAL_ENVIRONMENTS: List<EnvironmentPlan<Contextual>> = &[
    Named::new(
        "generalized-linear",
        "fresh contexts, a parameter vector an arm, linear or logistic rewards",
        "Han2022",
        generalized_linear::parse,
    ),
    Named::new("contexts-table", "the users of a CSV, with every arm's reward or the right arm", "Bastani2020", table::parse),
    Named::new("logged-replay", "a log with propensities: what a policy would have earned is estimated", "Li2011", logged::parse),
];
