//! Lists the contextual policies that a spec can name.

use super::{ContextPolicyPlan, dp_hdb, dp_linucb, epsilon_greedy, lasso_bandit, linucb, random_arm};
use privateer_config::params::{List, Named};

/// Policies that choose by contexts.
pub static CONTEXTUAL_POLICIES: List<ContextPolicyPlan> = &[
    Named {
        name: "dp-hdb",
        summary: "private high-dimensional bandit: Frank-Wolfe over the l1 ball, one stream an arm",
        paper: "Han2022",
        build: dp_hdb::parse,
    },
    Named::new("dp-linucb", "upper confidence bounds from noisy running sums: joint privacy", "Shariff2018", dp_linucb::parse),
    Named::new("ldp-linucb", "the same where everybody adds their own noise: local privacy", "Zheng2020", dp_linucb::parse_local),
    Named {
        name: "linucb",
        summary: "upper confidence bounds of ridge models, not private",
        paper: "AbbasiYadkori2011",
        build: linucb::parse,
    },
    Named {
        name: "lasso-bandit",
        summary: "sparse models of arms with forced samples, not private",
        paper: "Bastani2020",
        build: lasso_bandit::parse,
    },
    Named {
        name: "epsilon-greedy",
        summary: "the largest ridge estimate, now and then a random arm; not private",
        paper: "",
        build: epsilon_greedy::parse,
    },
    Named::new("random-arm", "a uniformly random arm every round", "", random_arm::parse),
];
