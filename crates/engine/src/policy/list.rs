//! Lists the policies that a spec can name.

use super::{
    PolicyPlan, ata_gp_ucb, batched_elimination, batched_gp_ucb, expected_improvement, feature_ucb, fixed_design, gp_ts, gp_ucb,
    igp_ucb, jdp_gp_ucb, jdp_linucb, moma_gp_ucb, successive_elimination, tgp_ucb, ucb1, uniform,
};
use privateer_config::params::{List, Named};
use privateer_privacy::Protection;

pub static POLICIES: List<PolicyPlan> = &[
    Named {
        name: "ata-gp-ucb",
        summary: "GP-UCB truncated in Nystrom feature space: LDP-ATA-GP-UCB, ATA-GP-UCB",
        paper: "Zhou2021",
        build: ata_gp_ucb::parse,
    },
    Named {
        name: "batched-elimination",
        summary: "batches of the widest points, then elimination: BPE, also of rewards with noise of their own",
        paper: "LiScarlett2022",
        build: |args| batched_elimination::parse(args, Protection::Rewards),
    },
    Named {
        name: "batched-gp-ucb",
        summary: "GP-UCB over batches of users, of whose rewards a trusted server releases each sum once",
        paper: "",
        build: batched_gp_ucb::parse,
    },
    Named {
        name: "dp-bpe",
        summary: "batched elimination, where a trusted server releases one sum of rewards for each point and batch",
        paper: "",
        build: |args| batched_elimination::parse(args, Protection::Batches),
    },
    Named {
        name: "dp-se",
        summary: "successive elimination of arms, where a trusted server releases one sum of rewards for each arm and epoch",
        paper: "SajedSheffet2019",
        build: |args| successive_elimination::parse(args, Protection::Batches),
    },
    Named::new(
        "expected-improvement",
        "the largest expected improvement over the best point so far",
        "Mockus1978",
        expected_improvement::parse,
    ),
    Named::new("fixed-design", "scores candidates fixed beforehand, then plays one chosen among them", "", fixed_design::parse),
    Named::new(
        "gp-ts",
        "Thompson sampling: the best point of a function drawn from the posterior",
        "Chowdhury2017",
        gp_ts::parse,
    ),
    Named::new("gp-ucb", "GP-UCB with the Bayesian exploration factor", "Srinivas2010", gp_ucb::parse),
    Named::new("igp-ucb", "GP-UCB with the improved frequentist exploration factor", "Chowdhury2017", igp_ucb::parse),
    Named::new("jdp-gp-ucb", "GP-UCB over features from private sums: joint differential privacy", "Dubey2021", |args| {
        jdp_gp_ucb::parse(args, false)
    }),
    Named::new("jdp-linucb", "linear UCB from private sums: joint differential privacy", "ShariffSheffet2018", jdp_linucb::parse),
    Named::new(
        "local-jdp-gp-ucb",
        "GP-UCB over features from everybody's own noisy reward or item: local joint differential privacy",
        "Dubey2021",
        |args| jdp_gp_ucb::parse(args, true),
    ),
    Named {
        name: "moma-gp-ucb",
        summary: "median of means over Nystrom features: LDP-MoMA-GP-UCB, MoMA-GP-UCB",
        paper: "Zhou2021",
        build: moma_gp_ucb::parse,
    },
    Named {
        name: "qff-gp-ucb",
        summary: "GP-UCB over quadrature Fourier features, without privacy of its own",
        paper: "Dubey2021",
        build: |args| feature_ucb::parse(args, "quadrature-fourier"),
    },
    Named::new("rff-gp-ucb", "GP-UCB over random Fourier features", "Rahimi2007", |args| {
        feature_ucb::parse(args, "random-fourier")
    }),
    Named::new(
        "successive-elimination",
        "arms without a kernel, of which the worse ones are dropped",
        "SajedSheffet2019",
        |args| successive_elimination::parse(args, Protection::Rewards),
    ),
    Named {
        name: "tgp-ucb",
        summary: "GP-UCB on truncated rewards: LDP-TGP-UCB, TGP-UCB",
        paper: "Zhou2021",
        build: tgp_ucb::parse,
    },
    Named::new("ucb1", "arms without a kernel, by the largest upper confidence bound", "Auer2002", ucb1::parse),
    Named::new("uniform", "a uniformly random point every round", "", uniform::parse),
];
